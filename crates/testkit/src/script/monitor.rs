//! What programs build from a mutex and conditions: queues, latches, barriers, boards on which all read the same.
//!
//! Each verb is a critical section that takes no time: acquire, wait while it must, change the count, signal, release. Who is
//! woken looks again when it gets a processor, and may have come too late. Signals are to one thread or to all, as programs
//! write them; nothing is said here of what follows from them.

use std::collections::VecDeque;

use longpole_trace::MonitorStep;

/// Something behind a mutex.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Monitor {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: MonitorKind,
}

/// What is behind a mutex.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MonitorKind {
    /// A queue of so many places, 0 for any number; `lazy`: it signals only where some thread waits.
    Queue {
        /// Places.
        places: u64,
        /// Signals only where some thread waits.
        lazy: bool,
    },
    /// A latch that goes down so often before it opens.
    Latch(u64),
    /// A barrier of so many threads.
    Meeting(u64),
    /// Something that one thread publishes and others follow.
    Board,
}

/// What a thread does to a monitor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each is the word in the text of a script")]
pub enum MonitorVerb {
    Put,
    Get,
    Down,
    Await,
    Meet,
    Publish,
    Follow,
}

impl MonitorVerb {
    const ALL: [MonitorVerb; 7] = {
        use MonitorVerb::{Await, Down, Follow, Get, Meet, Publish, Put};
        [Put, Get, Down, Await, Meet, Publish, Follow]
    };

    /// Its word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            MonitorVerb::Put => "put",
            MonitorVerb::Get => "get",
            MonitorVerb::Down => "down",
            MonitorVerb::Await => "await",
            MonitorVerb::Meet => "meet",
            MonitorVerb::Publish => "publish",
            MonitorVerb::Follow => "follow",
        }
    }

    pub(super) fn named(word: &str) -> Option<MonitorVerb> {
        MonitorVerb::ALL.into_iter().find(|verb| verb.name() == word)
    }

    /// The condition that it waits for: 0 or 1.
    pub(super) fn condition(self) -> usize {
        usize::from(self == MonitorVerb::Put)
    }
}

impl Monitor {
    /// Its declaration.
    #[must_use]
    pub fn text(&self) -> String {
        let (word, number) = match self.kind {
            MonitorKind::Queue { places, lazy: false } => ("queue", places),
            MonitorKind::Queue { places, lazy: true } => ("lazy", places),
            MonitorKind::Latch(number) => ("latch", number),
            MonitorKind::Meeting(number) => ("meeting", number),
            MonitorKind::Board => ("board", 0),
        };
        format!("{word} {} = {number}", self.name)
    }

    pub(super) fn declared(word: &str, name: &str, number: u64) -> Option<Monitor> {
        let kind = match word {
            "queue" => MonitorKind::Queue { places: number, lazy: false },
            "lazy" => MonitorKind::Queue { places: number, lazy: true },
            "latch" => MonitorKind::Latch(number),
            "meeting" => MonitorKind::Meeting(number),
            "board" => MonitorKind::Board,
            _ => return None,
        };
        Some(Monitor { name: name.to_owned(), kind })
    }
}

/// A monitor while a program is executed.
#[derive(Debug)]
pub(super) struct MonitorState {
    kind: MonitorKind,
    count: u64,
    /// Rounds of a meeting, or what was published.
    round: u64,
    /// Threads that wait for each condition.
    pub(super) waiting: [VecDeque<usize>; 2],
    /// By thread: rounds that it has followed, or the one that it meets in.
    seen: Vec<u64>,
}

/// Which threads a signal is to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Signalled {
    pub(super) condition: usize,
    pub(super) broadcast: bool,
}

impl MonitorState {
    pub(super) fn new(monitor: &Monitor, threads: usize) -> Self {
        let waiting = Default::default();
        MonitorState { kind: monitor.kind, count: 0, round: 0, waiting, seen: vec![0; threads] }
    }

    /// The thread, which comes first or again, does its verb or must wait. `Some`: done, with this signal.
    pub(super) fn attempt(
        &mut self,
        (thread, is_first): (usize, bool),
        verb: MonitorVerb,
    ) -> Option<Option<Signalled>> {
        let one = |condition| Signalled { condition, broadcast: false };
        let all = Signalled { condition: 0, broadcast: true };
        match (verb, self.kind) {
            (MonitorVerb::Put, MonitorKind::Queue { places, lazy }) => {
                if places > 0 && self.count == places {
                    return None;
                }
                self.count += 1;
                Some(Some(one(0)).filter(|_| !lazy || !self.waiting[0].is_empty()))
            }
            (MonitorVerb::Get, MonitorKind::Queue { lazy, .. }) => {
                self.count = self.count.checked_sub(1)?;
                Some(Some(one(1)).filter(|_| !lazy || !self.waiting[1].is_empty()))
            }
            (MonitorVerb::Down, MonitorKind::Latch(number)) => {
                self.count += 1;
                Some(Some(all).filter(|_| self.count == number))
            }
            (MonitorVerb::Await, MonitorKind::Latch(number)) => (self.count >= number).then_some(None),
            (MonitorVerb::Meet, MonitorKind::Meeting(number)) => {
                if !is_first {
                    return (self.seen[thread] < self.round).then_some(None);
                }
                self.seen[thread] = self.round;
                self.count += 1;
                if self.count < number {
                    return None;
                }
                (self.count, self.round) = (0, self.round + 1);
                Some(Some(all))
            }
            (MonitorVerb::Publish, MonitorKind::Board) => {
                self.round += 1;
                Some(Some(all))
            }
            (MonitorVerb::Follow, MonitorKind::Board) => {
                if self.seen[thread] == self.round {
                    return None;
                }
                self.seen[thread] += 1;
                Some(None)
            }
            _ => panic!("{verb:?} is nothing that is done to {:?}", self.kind),
        }
    }
}

/// The steps by which an agent tells of a section: its begin, a wait that is over, a signal, its end.
pub(super) fn begins(monitor: usize, verb: MonitorVerb) -> MonitorStep {
    MonitorStep::Lock { mutex: monitor as u32, site: verb as u32 }
}

pub(super) fn waited(monitor: usize, verb: MonitorVerb) -> MonitorStep {
    let condition = (2 * monitor + verb.condition()) as u32;
    MonitorStep::Waited { condition, mutex: monitor as u32, granted: true }
}

pub(super) fn signals(monitor: usize, signalled: Signalled) -> MonitorStep {
    let condition = (2 * monitor + signalled.condition) as u32;
    MonitorStep::Signal { condition, broadcast: signalled.broadcast }
}

pub(super) fn ends(monitor: usize) -> MonitorStep {
    MonitorStep::Unlock { mutex: monitor as u32 }
}
