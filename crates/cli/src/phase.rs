//! The part of a recording that `--phase` asks for.

use anyhow::{Context, Result};
use longpole_report::{Error, Names, Phase as Asked, Span};
use longpole_trace::{Evidence, Item, Objects, Paths, Phase, Program, Timelines, Trace, span_of};

/// A recording, or a part of one.
#[derive(Debug)]
pub enum Run<'a> {
    /// All of it.
    Whole(&'a Trace),
    /// A phase.
    Part(Box<Phase<'a, Trace>>, Span),
}

impl<'a> Run<'a> {
    /// The phase of the trace; all of it without one.
    pub fn new(trace: &'a Trace, phase: Option<&str>) -> Result<Run<'a>> {
        let Some(text) = phase else { return Ok(Run::Whole(trace)) };
        let names = Names { program: trace.program(), paths: trace.paths(), objects: trace.objects() };
        let span = match Asked::parse(text, &names)? {
            Asked::Span(span) => span,
            Asked::Procedure(procedure) => {
                let length = trace.program().elapsed_nanoseconds;
                let span = span_of(trace, procedure).with_context(|| unreadable(trace))?;
                let (first, last) = span.ok_or_else(|| Error::NeverSeen { name: text.to_owned() })?;
                Span::new(text, first.nanoseconds(), last.nanoseconds().min(length), length)?
            }
        };
        let part = Phase::new(trace, span.begin(), span.end()).with_context(|| unreadable(trace))?;
        Ok(Run::Part(Box::new(part), span))
    }

    /// Where the part lies; `None` for all of the recording.
    pub fn span(&self) -> Option<Span> {
        match self {
            Run::Whole(_) => None,
            Run::Part(_, span) => Some(*span),
        }
    }

    /// The recording's evidence. The cost of collecting is counted for the whole recording; the part gets its share.
    pub fn evidence(&self) -> Evidence {
        match self {
            Run::Whole(trace) => trace.evidence().clone(),
            Run::Part(phase, _) => {
                let whole = phase.whole().evidence();
                let kernel_seconds = whole.kernel_seconds.map(|seconds| seconds * phase.cpu_share());
                Evidence { kernel_seconds, ..whole.clone() }
            }
        }
    }

    /// Share of the recording's CPU time that lies in it.
    pub fn cpu_share(&self) -> f64 {
        match self {
            Run::Whole(_) => 1.0,
            Run::Part(phase, _) => phase.cpu_share(),
        }
    }
}

fn unreadable(trace: &Trace) -> String {
    format!("read the recording {}", trace.path().display())
}

impl Timelines for Run<'_> {
    type Error = longpole_trace::Error;

    fn program(&self) -> &Program {
        match self {
            Run::Whole(trace) => trace.program(),
            Run::Part(phase, _) => phase.program(),
        }
    }

    fn paths(&self) -> &Paths {
        match self {
            Run::Whole(trace) => trace.paths(),
            Run::Part(phase, _) => phase.paths(),
        }
    }

    fn objects(&self) -> &Objects {
        match self {
            Run::Whole(trace) => trace.objects(),
            Run::Part(phase, _) => phase.objects(),
        }
    }

    fn for_each(&self, visit: &mut dyn FnMut(&Item)) -> Result<(), longpole_trace::Error> {
        match self {
            Run::Whole(trace) => trace.for_each(visit),
            Run::Part(phase, _) => phase.for_each(visit),
        }
    }
}
