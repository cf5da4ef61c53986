//! How long processes were there.

use std::collections::BTreeMap;

use longpole_event::{ProcessId, Time};
use longpole_trace::Program;

/// From when to when a process had threads.
#[derive(Clone, Copy, Debug)]
pub(super) struct ProcessLife {
    pub start: Time,
    /// `None` where it was alive at the end of the recording.
    pub end: Option<Time>,
}

pub(super) fn lives(program: &Program) -> BTreeMap<ProcessId, ProcessLife> {
    let mut lives: BTreeMap<ProcessId, ProcessLife> = BTreeMap::new();
    for thread in &program.threads {
        let own = ProcessLife { start: thread.start, end: thread.end };
        let life = lives.entry(thread.process).or_insert(own);
        life.start = life.start.min(own.start);
        life.end = life.end.zip(own.end).map(|(one, other)| one.max(other));
    }
    lives
}
