//! Waits of a run as another run can be compared with them.

use longpole_metrics::By;
use longpole_trace::ProcedureId;

use super::causes::{WaitCauses, class_name};
use super::sources::{WaitSource, sources};
use crate::input::ReportTables;

/// Causes that are named.
const NAMED: usize = 2;

/// The waits at one place for one thing, of those that are to be explained.
#[derive(Clone, Debug, Default)]
pub(in crate::views) struct ComparedWait {
    /// Where.
    pub procedure: Option<ProcedureId>,
    /// What kind of thing was waited for.
    pub kind: &'static str,
    /// Its name; empty where it has none.
    pub object: String,
    /// Nanoseconds of all threads.
    pub time: u64,
    /// Waits.
    pub count: u64,
    /// The kind of cause that has the largest part.
    pub class: &'static str,
    /// The step that has the largest part of the cause, without its size; empty where many small ones have it.
    pub main: String,
    /// The largest steps, with their parts.
    pub cause: String,
}

impl ComparedWait {
    /// Adds waits that are the same; the explanation is that of the longer ones.
    pub fn add(&mut self, other: ComparedWait) {
        let (time, count) = (self.time + other.time, self.count + other.count);
        if other.time > self.time {
            *self = other;
        }
        (self.time, self.count) = (time, count);
    }
}

/// All waits of a run that are to be explained.
pub(in crate::views) fn compared_waits(input: &ReportTables<'_>) -> Vec<ComparedWait> {
    let Some(waits) = &input.details.waits else { return Vec::new() };
    let compared = |source: &WaitSource| {
        let causes = WaitCauses::of(&source.roots, source.time, input, waits);
        let main = causes.counted(input, waits, 1).into_iter().next().map(|(_, name)| name);
        let (procedure, kind, object) = source.subject(input);
        ComparedWait {
            procedure,
            kind,
            object,
            time: source.time,
            count: source.count,
            class: class_name(&source.split).unwrap_or_default(),
            main: main.unwrap_or_default(),
            cause: causes.texts(input, waits, NAMED).join(", "),
        }
    };
    let all = sources(input, waits, By::Procedure);
    all.iter().filter(|source| source.unwanted.is_none()).map(compared).collect()
}
