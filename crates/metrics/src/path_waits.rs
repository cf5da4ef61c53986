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

use longpole_event::{ThreadId, Time};
use longpole_graph::{Arc, Sweep};
use longpole_trace::{ObservationKind, PathId, Program, State};

use crate::analysis::PathSegment;
use crate::charges::{ChargeEntry, ChargeLedger};

/// No further segment.
const NONE: u32 = u32::MAX;

/// The sweep that charges the path.
#[derive(Debug)]
pub(crate) struct PathWaits<'a> {
    ledger: ChargeLedger<u64, u64>,
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
        self.ledger.into_entries()
    }

    /// Charges the way to the thread's segments that begin before `time`.
    fn arrive(&mut self, thread: ThreadId, time: Time) {
        let mut arriving = self.arriving[thread.index()];
        while let Some(segment) = self.segments.get(arriving as usize).filter(|segment| segment.from < time) {
            let before =
                (arriving as usize).checked_sub(1).map_or(Time::ZERO, |index| self.segments[index].to);
            let way = segment.from.since(before);
            if way > 0 {
                *self.ledger.wait(thread) += way;
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
            State::Spinning if arc.object.is_some() => *self.ledger.wait(arc.thread) += length,
            State::Spinning | State::Overhead => *self.ledger.work(arc.thread) += length,
            State::Ready | State::Blocked(_) => *self.ledger.wait(arc.thread) += length,
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
            *self.ledger.wait(last.thread) += end.since(last.to);
        }
    }
}
