//! Events that wait for their turn, and what is known of each processor when it comes.

use crate::event::PerfettoKind;

/// An event that waits for its turn.
#[derive(Debug)]
pub(crate) struct PendingTraceEvent {
    pub(crate) key: (u64, u64),
    pub(crate) cpu: u32,
    pub(crate) kind: PendingKind,
}

#[derive(Debug)]
pub(crate) enum PendingKind {
    Event(PerfettoKind),
    Interrupt { is_soft: bool, begins: bool },
}

impl PartialEq for PendingTraceEvent {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Eq for PendingTraceEvent {}

impl PartialOrd for PendingTraceEvent {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for PendingTraceEvent {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key.cmp(&other.key)
    }
}

/// What a processor does.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PerfettoCpu {
    pub(crate) task: Option<u32>,
    pub(crate) hard: u32,
    pub(crate) soft: u32,
}
