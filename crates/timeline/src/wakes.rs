//! Who let whom go on, in a window.

use longpole_event::Time;
use serde::Serialize;

use crate::bins::seconds;
use crate::dependences::kind_name;
use crate::index::Index;

/// Wakes that are shown at most.
const MOST_WAKES: usize = 2000;

/// Who let whom go on; `docs/page.md` has its shape.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Wakes {
    /// How many there are.
    pub total: usize,
    /// By time; of more than 2,000 every so manieth.
    pub wakes: Vec<TimelineWake>,
}

/// One thread let another go on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TimelineWake {
    /// The thread that did.
    pub source: u32,
    /// When; before `seconds` where a message was under way.
    pub source_seconds: f64,
    /// The thread that could go on.
    pub thread: u32,
    /// When.
    pub seconds: f64,
    /// How: create, spawn, join, unlock, signal, barrier, post, message or wake.
    pub kind: &'static str,
}

impl Index {
    /// Who let whom go on from `from` to `to`, both included.
    #[must_use]
    pub fn wakes(&self, from: Time, to: Time) -> Wakes {
        let found = self.dependences.arriving(from.nanoseconds(), to.nanoseconds());
        let total = found.len();
        let every = total.div_ceil(MOST_WAKES).max(1);
        let wakes = found.step_by(every).map(|number| {
            let link = self.dependences.get(number);
            TimelineWake {
                source: link.source.0,
                source_seconds: seconds(link.source_time),
                thread: link.thread.0,
                seconds: seconds(link.time),
                kind: kind_name(link.kind),
            }
        });
        Wakes { total, wakes: wakes.collect() }
    }
}
