//! Who is on the critical path: charges the weights along a found path to (thread, call path), in a second pass.
//!
//! ```text
//!   T1  |AAAA|BBBB|                 segment of T1: 0..8      A 4, B 4
//!   T2  |CCC|.....|DD|              segment of T2: 8..10     D 2
//! ```
//! Work inside a segment goes to the observation after it, waits go to the one before them, as everywhere. With
//! elapsed weight the time between two segments (a message under way) is charged where the receiver waits for
//! it; before the first and after the last segment, to the thread of that segment. So the charges add up to
//! the path's length.
//!
//! Time: constant per item and segment. Memory: a number per segment and thread.

use longpole_event::{ThreadId, Time};
use longpole_graph::{Arc, Sweep};
use longpole_trace::{PathId, Program, State};

use crate::analysis::{PathSegment, Weight};
use crate::charges::Ledger;

/// No further segment.
const NONE: u32 = u32::MAX;

/// The sweep that charges one path.
#[derive(Debug)]
pub(crate) struct PathCharges<'a> {
    pub ledger: Ledger<u64, u64>,
    weight: Weight,
    segments: &'a [PathSegment],
    /// The next segment of the same thread.
    next: Vec<u32>,
    /// The segment that each thread is in or will come to.
    current: Vec<u32>,
    /// The first segment of each thread whose way there has not been charged.
    arriving: Vec<u32>,
}

impl<'a> PathCharges<'a> {
    pub fn new(program: &Program, weight: Weight, segments: &'a [PathSegment]) -> Self {
        let threads = segments.iter().map(|segment| segment.thread.index() + 1).max().unwrap_or(0);
        let mut current = vec![NONE; threads.max(program.threads.len())];
        let mut next = vec![NONE; segments.len()];
        for (index, segment) in segments.iter().enumerate().rev() {
            next[index] = std::mem::replace(&mut current[segment.thread.index()], index as u32);
        }
        let arriving = current.clone();
        PathCharges { ledger: Ledger::new(program), weight, segments, next, current, arriving }
    }

    /// Charges the way to the thread's segments that begin before `time`.
    fn arrive(&mut self, thread: ThreadId, time: Time) {
        if self.weight == Weight::Cpu {
            return;
        }
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

impl Sweep for PathCharges<'_> {
    fn arc(&mut self, arc: Arc) {
        if arc.thread.index() >= self.current.len() {
            return;
        }
        self.arrive(arc.thread, arc.to);
        let length = self.on_path(arc);
        if length == 0 {
            return;
        }
        match (arc.state, self.weight) {
            // What it spun for by its own word it waited for.
            (State::Spinning, Weight::Elapsed) if arc.object.is_some() => {
                *self.ledger.wait(arc.thread) += length;
            }
            (State::Running, _) | (State::Spinning | State::Overhead, Weight::Elapsed) => {
                *self.ledger.work(arc.thread) += length
            }
            (State::Ready | State::Blocked(_), Weight::Elapsed) => *self.ledger.wait(arc.thread) += length,
            _ => {}
        }
    }

    fn observe(&mut self, thread: ThreadId, _time: Time, path: PathId) {
        self.ledger.observe(thread, path);
    }

    fn finish(&mut self, end: Time) {
        for index in 0..self.arriving.len() {
            self.arrive(ThreadId::from_index(index), end + 1);
        }
        if let Some(last) =
            self.segments.last().filter(|last| self.weight == Weight::Elapsed && last.to < end)
        {
            *self.ledger.wait(last.thread) += end.since(last.to);
        }
    }
}
