//! The metrics, slowly: tick by tick and path by path, from the items alone.
//!
//! Nothing here is shared with the sweeps. A *tick* is one nanosecond; tick t is the time from t to t + 1, and
//! the state in it is the one after all items of time t.

use std::collections::BTreeMap;

use longpole_event::{ThreadId, Time};
use longpole_trace::{ItemKind, PathId, State, TokenId};

use crate::memory::MemoryTimelines;

/// What one (thread, path) is charged.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TickCharges {
    /// Ticks running.
    pub running: u64,
    /// Ticks spinning.
    pub spinning: u64,
    /// Ticks in the collector's code.
    pub overhead: u64,
    /// Ticks ready.
    pub ready: u64,
    /// Ticks blocked, by cause index.
    pub blocked: BTreeMap<usize, u64>,
    /// Normalised processor time by level.
    pub npt: BTreeMap<usize, f64>,
}

/// The state of a thread in a tick.
#[must_use]
pub fn state_in(made: &MemoryTimelines, thread: ThreadId, tick: u64) -> State {
    let mut now = State::Absent;
    for item in made.items.iter().filter(|item| item.thread == thread && item.time.nanoseconds() <= tick) {
        if let ItemKind::State(state) = item.what {
            now = state;
        }
    }
    now
}

/// The path to which work in a tick is charged: of the first observation after it, else of the last one.
#[must_use]
pub fn path_of_work(made: &MemoryTimelines, thread: ThreadId, tick: u64) -> PathId {
    for item in made.items.iter().filter(|item| item.thread == thread && item.time.nanoseconds() > tick) {
        if let ItemKind::Observe { path, .. } = item.what {
            return path;
        }
    }
    path_of_wait(made, thread, tick)
}

/// The path to which waiting in a tick is charged: of the last observation before it, else the thread's prefix.
#[must_use]
pub fn path_of_wait(made: &MemoryTimelines, thread: ThreadId, tick: u64) -> PathId {
    let mut last = made.program.threads[thread.index()].prefix;
    for item in made.items.iter().filter(|item| item.thread == thread && item.time.nanoseconds() <= tick) {
        if let ItemKind::Observe { path, .. } = item.what {
            last = path;
        }
    }
    last
}

fn threads(made: &MemoryTimelines) -> impl Iterator<Item = ThreadId> + use<> {
    (0..made.program.threads.len()).map(ThreadId::from_index)
}

/// All charges of the profiles and of normalised processor time.
#[must_use]
pub fn charges(made: &MemoryTimelines, io_idle: bool) -> BTreeMap<(ThreadId, PathId), TickCharges> {
    let mut table: BTreeMap<(ThreadId, PathId), TickCharges> = BTreeMap::new();
    for tick in 0..made.program.elapsed_nanoseconds {
        let busy = busy_in(made, tick, io_idle);
        for thread in threads(made) {
            let state = state_in(made, thread, tick);
            let path = match state {
                State::Running | State::Spinning | State::Overhead => path_of_work(made, thread, tick),
                _ => path_of_wait(made, thread, tick),
            };
            if state == State::Absent {
                continue;
            }
            let charges = table.entry((thread, path)).or_default();
            match state {
                State::Absent => {}
                State::Running => charges.running += 1,
                State::Spinning => charges.spinning += 1,
                State::Overhead => charges.overhead += 1,
                State::Ready => charges.ready += 1,
                State::Blocked(cause) => *charges.blocked.entry(cause.index()).or_default() += 1,
            }
            if state.is_busy(io_idle) {
                *charges.npt.entry(busy).or_default() += 1.0 / busy as f64;
            }
        }
    }
    table
}

/// U in a tick.
#[must_use]
pub fn busy_in(made: &MemoryTimelines, tick: u64, io_idle: bool) -> usize {
    threads(made).filter(|&thread| state_in(made, thread, tick).is_busy(io_idle)).count()
}

/// N in a tick.
#[must_use]
pub fn runnable_in(made: &MemoryTimelines, tick: u64) -> usize {
    threads(made).filter(|&thread| state_in(made, thread, tick).is_runnable()).count()
}

/// Length of the longest path by CPU weight, by following every path there is.
#[must_use]
pub fn critical_path_length(made: &MemoryTimelines) -> u64 {
    longest_path(made, &|_, _| true)
}

/// Length of the longest path if only those ticks of work have weight for which `stays` holds.
#[must_use]
pub fn longest_path(made: &MemoryTimelines, stays: &dyn Fn(ThreadId, u64) -> bool) -> u64 {
    let mut dependences = Vec::new();
    let mut releases: Vec<(usize, TokenId, ThreadId, Time)> = Vec::new();
    for (order, item) in made.items.iter().enumerate() {
        let arrival = |left_order, source, left| OracleDependence {
            left_order,
            order,
            source,
            left,
            thread: item.thread,
            arrived: item.time,
        };
        match item.what {
            ItemKind::Depend { source, source_time, .. } => {
                let left_order = if source_time == item.time { order } else { usize::MAX };
                dependences.push(arrival(left_order, source, source_time));
            }
            ItemKind::Release(token) => releases.push((order, token, item.thread, item.time)),
            ItemKind::Acquire(acquisition) => {
                let of_token = releases.iter().filter(|release| release.1 == acquisition.token);
                dependences.extend(of_token.map(|&(order, _, source, left)| arrival(order, source, left)));
            }
            _ => {}
        }
    }
    let running = threads(made)
        .map(|thread| {
            let ticks = 0..made.program.elapsed_nanoseconds;
            ticks.map(|tick| state_in(made, thread, tick) == State::Running && stays(thread, tick)).collect()
        })
        .collect();
    let graph = Graph { dependences, running, end: made.program.elapsed_nanoseconds };
    threads(made).map(|thread| graph.longest_from(thread, Time::ZERO, None)).max().unwrap_or(0)
}

struct OracleDependence {
    /// What the source does from this position among the items on comes too late for it.
    left_order: usize,
    /// Position among the items; of two dependences at one time the earlier one takes effect first.
    order: usize,
    source: ThreadId,
    left: Time,
    thread: ThreadId,
    arrived: Time,
}

struct Graph {
    dependences: Vec<OracleDependence>,
    running: Vec<Vec<bool>>,
    end: u64,
}

impl Graph {
    fn work(&self, thread: ThreadId, from: Time, to: Time) -> u64 {
        (from.nanoseconds()..to.nanoseconds())
            .filter(|&tick| self.running[thread.index()][tick as usize])
            .count() as u64
    }

    /// The longest path on from this thread and time, at which it arrived by the dependence `by`.
    fn longest_from(&self, thread: ThreadId, time: Time, by: Option<usize>) -> u64 {
        let mut longest = self.work(thread, time, Time::from_nanoseconds(self.end));
        for dependence in self.dependences.iter().filter(|dependence| dependence.source == thread) {
            let is_too_early = dependence.left < time
                || (dependence.left == time && by.is_some_and(|by| dependence.left_order < by));
            if !is_too_early {
                let before = self.work(thread, time, dependence.left);
                let after = self.longest_from(dependence.thread, dependence.arrived, Some(dependence.order));
                longest = longest.max(before + after);
            }
        }
        longest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drawing::draw;

    #[test]
    fn the_longest_path_goes_through_the_dependence_that_was_waited_for() {
        // A 4 and B 4 on T1, then D 2 on T2.
        let made = draw("T1 AAAABBBB\nT2 CCC.....DD\nT1@8 -> T2 signal");
        assert_eq!(critical_path_length(&made), 10);
    }

    #[test]
    fn without_dependences_the_busiest_thread_is_the_longest_path() {
        assert_eq!(critical_path_length(&draw("T1 AAA..AA\nT2 BBBB~~~")), 5);
    }

    #[test]
    fn every_tick_of_a_thread_is_charged_once() {
        let made = draw("T1 AAB~l-:B\nT2 CC");
        let charged = charges(&made, false);
        let sum: u64 = charged
            .iter()
            .filter(|((thread, _), _)| *thread == made.thread("T1"))
            .map(|(_, c)| c.running + c.spinning + c.ready + c.blocked.values().sum::<u64>())
            .sum();
        assert_eq!(sum, 8);
        let npt: f64 = charged.values().flat_map(|c| c.npt.values()).sum();
        // Busy at 0 to 3 and at 6 to 8 (io counts).
        assert!((npt - 5.0).abs() < 1e-9);
    }
}
