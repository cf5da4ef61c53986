//! What of the elapsed-weighted critical path is no useful work: charges it to (thread, call path), in a second pass.
//!
//! ```text
//!   T1  |AAAA|::::|                 segment of T1: 0..8      A has 4 by the division of work, and 4 here, for the device
//!   T2  |CCC|......|DD|             segment of T2: 9..11     the way from 8 to 9 is charged to T2
//! ```
//! Work inside a segment is divided with all other work ([`crate::division`]). Waits go to the observation before them, as everywhere.
//! The time between two segments (a message under way) is charged where the receiver waits for
//! it; before the first and after the last segment, to the thread of that segment. So the charges add up to
//! the path's length.
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
        PathWaits { ledger: ChargeLedger::new(program), segments, next, current, arriving }
    }

    /// What each path of each thread got.
    pub fn into_charges(self) -> Vec<ChargeEntry<u64>> {
        let sum = |entry: ChargeEntry<PathWaitSums>| {
            let ChargeEntry { thread, path, value } = entry;
            ChargeEntry { thread, path, value: value.0.iter().map(|(_, time)| time).sum() }
        };
        self.ledger.into_entries().into_iter().map(sum).collect()
    }

    /// What each path got of all threads, by what it is; `owner` gives the path that it belongs to.
    pub fn into_kinds(self, owner: impl Fn(PathId) -> PathId) -> BTreeMap<PathId, PathWaitTimes> {
        let mut kinds: BTreeMap<PathId, PathWaitTimes> = BTreeMap::new();
        for ChargeEntry { path, value, .. } in self.ledger.into_entries() {
            let of_owner = kinds.entry(owner(path)).or_default();
            value.0.into_iter().for_each(|(kind, time)| *of_owner.entry(kind).or_default() += time);
        }
        kinds
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
}

impl Sweep for PathWaits<'_> {
    fn arc(&mut self, arc: Arc) {
        if arc.thread.index() >= self.current.len() {
            return;
        }
        self.arrive(arc.thread, arc.to);
        let length = self.on_path(arc);
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
            self.wait(last.thread, PathWaitKind::UnderWay, end.since(last.to));
        }
    }
}
