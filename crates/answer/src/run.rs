//! A recording, or the part of it that a phase asks for.

use std::sync::Arc;

use longpole_report::{Error as Refusal, PhaseArgument as Asked, RecordingNames, Span};
use longpole_trace::{Evidence, Item, Objects, Paths, Phase, Placement, Program, Timelines, Trace, span_of};

use crate::error::{Error, Result};
use crate::timeline::names;

/// A recording, or a part of one.
#[derive(Debug)]
pub enum Run {
    /// All of it.
    Whole(Arc<Trace>),
    /// A phase.
    Part(Box<Phase<Arc<Trace>>>, Span),
}

/// Where the phase that `text` names lies.
pub(crate) fn span(trace: &Trace, text: &str) -> Result<Span> {
    match Asked::parse(text, &names(trace))? {
        Asked::Span(span) => Ok(span),
        Asked::Procedure(procedure) => {
            let length = trace.program().elapsed_nanoseconds;
            let span = span_of(trace, procedure).map_err(Error::unreadable(trace.path()))?;
            let (first, last) = span.ok_or_else(|| Refusal::NeverSeen { name: text.to_owned() })?;
            Ok(Span::new(text, first.nanoseconds(), last.nanoseconds().min(length), length)?)
        }
    }
}

impl Run {
    /// The part of the trace; all of it without one.
    pub(crate) fn new(trace: Arc<Trace>, span: Option<Span>) -> Result<Run> {
        let Some(span) = span else { return Ok(Run::Whole(trace)) };
        let unreadable = Error::unreadable(trace.path());
        let part = Phase::new(trace, span.begin(), span.end()).map_err(unreadable)?;
        Ok(Run::Part(Box::new(part), span))
    }

    /// The recording that it is of.
    #[must_use]
    pub fn trace(&self) -> &Trace {
        match self {
            Run::Whole(trace) => trace,
            Run::Part(phase, _) => phase.whole(),
        }
    }

    /// Where the part lies; `None` for all of the recording.
    #[must_use]
    pub fn span(&self) -> Option<Span> {
        match self {
            Run::Whole(_) => None,
            Run::Part(_, span) => Some(*span),
        }
    }

    /// What things are called in it.
    #[must_use]
    pub fn names(&self) -> RecordingNames<'_> {
        RecordingNames { program: self.program(), paths: self.paths(), objects: self.objects() }
    }

    /// The recording's evidence. The cost of collecting is counted for the whole recording; the part gets its share.
    #[must_use]
    pub fn evidence(&self) -> Evidence {
        match self {
            Run::Whole(trace) => trace.evidence().clone(),
            Run::Part(phase, _) => {
                let whole = phase.whole().evidence();
                let kernel_seconds = whole.kernel_seconds.map(|seconds| seconds * phase.cpu_share());
                // Of the time that may be waiting the part is not known.
                Evidence { kernel_seconds, may_wait: Vec::new(), ..whole.clone() }
            }
        }
    }

    /// Share of the recording's CPU time that lies in it.
    #[must_use]
    pub fn cpu_share(&self) -> f64 {
        match self {
            Run::Whole(_) => 1.0,
            Run::Part(phase, _) => phase.cpu_share(),
        }
    }
}

impl Timelines for Run {
    type Error = longpole_trace::Error;

    fn program(&self) -> &Program {
        match self {
            Run::Whole(trace) => trace.program(),
            Run::Part(phase, _) => phase.program(),
        }
    }

    fn paths(&self) -> &Paths {
        self.trace().paths()
    }

    fn objects(&self) -> &Objects {
        self.trace().objects()
    }

    fn for_each(&self, visit: &mut dyn FnMut(&Item)) -> std::result::Result<(), longpole_trace::Error> {
        match self {
            Run::Whole(trace) => trace.for_each(visit),
            Run::Part(phase, _) => phase.for_each(visit),
        }
    }

    fn placements(&self) -> std::result::Result<Vec<Placement>, longpole_trace::Error> {
        match self {
            Run::Whole(trace) => trace.placements(),
            Run::Part(phase, _) => phase.placements(),
        }
    }
}
