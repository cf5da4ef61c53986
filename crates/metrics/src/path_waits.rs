//! What of the elapsed-weighted critical path is no useful work: charges it to (thread, call path), in a second pass.
//!
//! ```text
//!   T1  |AAAA|::::|                 segment of T1: 0..8      A has 4 by the division of work, and 4 here, for the device
//!   T2  |CCC|......|DD|             segment of T2: 9..11     the way from 8 to 9 is charged to T2
//! ```
//! Work inside a segment is divided with all other work ([`crate::division`]). Waits go to the observation before them, as everywhere.
//! The time between two segments (a message under way) is charged where the receiver waits for
//! it; before the first and after the last segment, to the thread of that segment. So the charges add up to
//! the path's length. A wait of the last segment's thread that is not over when the run ends is its own, though.
//!
//! Time: constant per item and segment. Memory: a number per segment and thread.

use std::collections::BTreeMap;

use longpole_event::{ThreadId, Time};
use longpole_graph::{Arc, Sweep};
use longpole_trace::{Cause, ObservationKind, PathId, Program, State};

use crate::analysis::PathSegment;
use crate::charges::{ChargeAccount, ChargeEntry, ChargeLedger};

/// No further segment.
const NONE: u32 = u32::MAX;

/// What a piece of the path by elapsed time is, where it is no useful work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PathWaitKind {
    /// Ready without a processor.
    Ready,
    /// Busy-waiting.
    Spinning,
    /// In the collector's own code.
    Overhead,
    /// Off the processor, for this cause: a device, a timer, or what no other thread explains.
    Blocked(Cause),
    /// Between two threads: a message or a wake under way; and before the first and after the last event of the path.
    UnderWay,
}

/// Nanoseconds of the path by what they are.
pub type PathWaitTimes = BTreeMap<PathWaitKind, u64>;

/// Adds times to those of the same kind.
pub(crate) fn add_times(sums: &mut PathWaitTimes, times: &PathWaitTimes) {
    for (&kind, &time) in times {
        *sums.entry(kind).or_default() += time;
    }
}

/// The same for one path of one thread, which has few of them.
#[derive(Clone, Debug, Default, PartialEq)]
struct PathWaitSums(Vec<(PathWaitKind, u64)>);

impl PathWaitSums {
    fn add(&mut self, kind: PathWaitKind, time: u64) {
        match self.0.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, sum)) => *sum += time,
            None => self.0.push((kind, time)),
        }
    }
}

impl ChargeAccount<PathWaitSums> for PathWaitSums {
    fn take(&mut self, pending: &mut PathWaitSums) {
        pending.0.drain(..).for_each(|(kind, time)| self.add(kind, time));
    }
}

/// The sweep that charges the path.
#[derive(Debug)]
pub(crate) struct PathWaits<'a> {
    ledger: ChargeLedger<PathWaitSums, PathWaitSums>,
    segments: &'a [PathSegment],
    /// The next segment of the same thread.
    next: Vec<u32>,
    /// The segment that each thread is in or will come to.
    current: Vec<u32>,
    /// The first segment of each thread whose way there has not been charged.
    arriving: Vec<u32>,
    /// What the last segment's thread has been charged of the time behind that segment.
    behind: u64,
}

impl<'a> PathWaits<'a> {
    pub fn new(program: &Program, segments: &'a [PathSegment]) -> Self {
        let threads = segments.iter().map(|segment| segment.thread.index() + 1).max().unwrap_or(0);
        let mut current = vec![NONE; threads.max(program.threads.len())];
        let mut next = vec![NONE; segments.len()];
        for (index, segment) in segments.iter().enumerate().rev() {
            next[index] = std::mem::replace(&mut current[segment.thread.index()], index as u32);
        }
        let arriving = current.clone();
        PathWaits { ledger: ChargeLedger::new(program), segments, next, current, arriving, behind: 0 }
    }

    /// What each path of each thread got, by what it is.
    pub fn into_charges(self) -> impl Iterator<Item = ChargeEntry<PathWaitTimes>> {
        let by_kind = |entry: ChargeEntry<PathWaitSums>| {
            let ChargeEntry { thread, path, value } = entry;
            ChargeEntry { thread, path, value: value.0.into_iter().collect() }
        };
        self.ledger.into_entries().into_iter().map(by_kind)
    }

    /// Adds to what the path of the thread's last observation waited.
    fn wait(&mut self, thread: ThreadId, kind: PathWaitKind, time: u64) {
        self.ledger.wait(thread).add(kind, time);
    }

    /// Adds to what goes to the thread's next observation.
    fn work(&mut self, thread: ThreadId, kind: PathWaitKind, time: u64) {
        self.ledger.work(thread).add(kind, time);
    }

    /// Charges the way to the thread's segments that begin before `time`.
    fn arrive(&mut self, thread: ThreadId, time: Time) {
        let mut arriving = self.arriving[thread.index()];
        while let Some(segment) = self.segments.get(arriving as usize).filter(|segment| segment.from < time) {
            let before =
                (arriving as usize).checked_sub(1).map_or(Time::ZERO, |index| self.segments[index].to);
            let way = segment.from.since(before);
            if way > 0 {
                self.wait(thread, PathWaitKind::UnderWay, way);
            }
            arriving = self.next[arriving as usize];
        }
        self.arriving[thread.index()] = arriving;
    }

    /// The part of the arc that lies on the path.
    fn on_path(&mut self, arc: Arc) -> u64 {
        let current = &mut self.current[arc.thread.index()];
        let mut sum = 0;
        while let Some(segment) = self.segments.get(*current as usize) {
            if segment.from < arc.to {
                sum += segment.to.min(arc.to).since(segment.from.max(arc.from));
            }
            if segment.to > arc.to {
                break;
            }
            *current = self.next[*current as usize];
        }
        sum
    }

    /// The part of a wait that lies behind the last segment, where it is of that thread.
    fn behind_path(&mut self, arc: Arc) -> u64 {
        let Some(last) = self.segments.last().filter(|last| last.thread == arc.thread && last.to < arc.to)
        else {
            return 0;
        };
        if !matches!(arc.state, State::Ready | State::Blocked(_)) {
            return 0;
        }
        let length = arc.to.since(arc.from.max(last.to));
        self.behind += length;
        length
    }
}

impl Sweep for PathWaits<'_> {
    fn arc(&mut self, arc: Arc) {
        if arc.thread.index() >= self.current.len() {
            return;
        }
        self.arrive(arc.thread, arc.to);
        let length = self.on_path(arc) + self.behind_path(arc);
        if length == 0 {
            return;
        }
        match arc.state {
            // What it spun for by its own word it waited for.
            State::Spinning if arc.object.is_some() => self.wait(arc.thread, PathWaitKind::Spinning, length),
            State::Spinning => self.work(arc.thread, PathWaitKind::Spinning, length),
            State::Overhead => self.work(arc.thread, PathWaitKind::Overhead, length),
            State::Ready => self.wait(arc.thread, PathWaitKind::Ready, length),
            State::Blocked(cause) => self.wait(arc.thread, PathWaitKind::Blocked(cause), length),
            State::Running | State::Absent => {}
        }
    }

    fn observe(&mut self, thread: ThreadId, _time: Time, path: PathId, _kind: ObservationKind) {
        self.ledger.observe(thread, path);
    }

    fn finish(&mut self, end: Time) {
        for index in 0..self.arriving.len() {
            self.arrive(ThreadId::from_index(index), end + 1);
        }
        if let Some(last) = self.segments.last().filter(|last| last.to < end) {
            let rest = end.since(last.to).saturating_sub(self.behind);
            if rest > 0 {
                self.wait(last.thread, PathWaitKind::UnderWay, rest);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drawn::Drawn;

    #[test]
    fn a_wait_that_is_not_over_at_the_end_has_its_cause() {
        let measures = Drawn::new("T1 AAAzzzz").own("A");
        assert_eq!((measures.critical_elapsed, measures.running), (7, 3));
        assert_eq!(measures.path_waits, PathWaitTimes::from([(PathWaitKind::Blocked(Cause::Sleep), 4)]));
    }

    #[test]
    fn waits_of_one_procedure_are_on_the_path_by_their_own_cause() {
        let drawn = Drawn::new("T1 AAzzzAccccA\nT2 ______BBBB_\nT1@6 -> T2 create\nT2@10 -> T1 signal");
        let measures = drawn.own("A");
        assert_eq!((measures.critical_elapsed, measures.blocked_for(Cause::Condition)), (7, 4));
        assert_eq!(measures.path_waits, PathWaitTimes::from([(PathWaitKind::Blocked(Cause::Sleep), 3)]));
    }
}
