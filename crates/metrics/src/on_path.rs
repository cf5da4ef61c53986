//! Which of a thread's time lies on the critical paths.
//!
//! ```text
//!   by CPU time of T1      |-----|      |--------|
//!   by elapsed time              |---------|
//!   asked for                 |-- 2 one, 3 other, 1 both … --|
//! ```
//! Constant time per question and segment, if the questions about a thread come in the order of time. Memory: a number per segment
//! and thread.

use longpole_event::{ThreadId, Time};
use longpole_trace::{Stored, StoredBytes};

use crate::analysis::{Analysis, PathSegment, Weight};

const NONE: u32 = u32::MAX;

/// On which of the two critical paths time lies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Membership(u8);

impl Membership {
    /// How many there are.
    pub const ALL: usize = 4;
    /// On neither.
    pub const NONE: Membership = Membership(0);
    const CPU: u8 = 1;
    const ELAPSED: u8 = 2;

    /// Its number, less than [`Self::ALL`].
    pub fn index(self) -> usize {
        self.0.into()
    }

    /// The one of this number.
    pub fn of_index(index: usize) -> Membership {
        Membership(index as u8)
    }

    /// Whether the time is on the path of this weight.
    pub fn has(self, weight: Weight) -> bool {
        let bit = match weight {
            Weight::Cpu => Membership::CPU,
            Weight::Elapsed => Membership::ELAPSED,
        };
        self.0 & bit != 0
    }
}

impl Stored for Membership {
    fn store(&self, bytes: &mut Vec<u8>) {
        self.0.store(bytes);
    }

    fn restore(bytes: &mut StoredBytes<'_>) -> Option<Self> {
        let index = u8::restore(bytes)?;
        (usize::from(index) < Membership::ALL).then_some(Membership(index))
    }
}

/// Time by membership, nanoseconds.
pub(crate) type ByMembership = [u64; Membership::ALL];

/// The segments of a path, by thread.
#[derive(Debug, Default)]
struct OnPath<'a> {
    segments: &'a [PathSegment],
    /// The next segment of the same thread.
    next: Vec<u32>,
    /// The segment that each thread is in or will come to.
    current: Vec<u32>,
}

impl<'a> OnPath<'a> {
    fn new(segments: &'a [PathSegment]) -> Self {
        let threads = segments.iter().map(|segment| segment.thread.index() + 1).max().unwrap_or(0);
        let mut current = vec![NONE; threads];
        let mut next = vec![NONE; segments.len()];
        for (index, segment) in segments.iter().enumerate().rev() {
            next[index] = std::mem::replace(&mut current[segment.thread.index()], index as u32);
        }
        OnPath { segments, next, current }
    }

    /// Whether the thread is on the path from this time on, and until when that stays so.
    fn at(&mut self, thread: ThreadId, time: Time) -> (bool, Option<Time>) {
        let Some(current) = self.current.get_mut(thread.index()) else { return (false, None) };
        loop {
            let Some(segment) = self.segments.get(*current as usize) else { return (false, None) };
            if segment.from > time {
                return (false, Some(segment.from));
            }
            if segment.to > time {
                return (true, Some(segment.to));
            }
            *current = self.next[*current as usize];
        }
    }
}

/// Both critical paths.
#[derive(Debug, Default)]
pub(crate) struct OnPaths<'a> {
    cpu: OnPath<'a>,
    elapsed: OnPath<'a>,
}

impl<'a> OnPaths<'a> {
    /// The paths of an analysis.
    pub fn of(analysis: &'a Analysis) -> Self {
        OnPaths::new(&analysis.critical_cpu.segments, &analysis.critical_elapsed.segments)
    }

    /// Paths of these segments.
    pub fn new(cpu: &'a [PathSegment], elapsed: &'a [PathSegment]) -> Self {
        OnPaths { cpu: OnPath::new(cpu), elapsed: OnPath::new(elapsed) }
    }

    /// The time between `from` and `to` by membership, and what it is at the end; `from` is not before the last
    /// question's `to`, but before this one's.
    pub fn split(&mut self, thread: ThreadId, from: Time, to: Time) -> (ByMembership, Membership) {
        let mut times = [0; Membership::ALL];
        let (mut at, mut last) = (from, Membership::default());
        while at < to {
            let (cpu, elapsed) = (self.cpu.at(thread, at), self.elapsed.at(thread, at));
            let until = cpu.1.into_iter().chain(elapsed.1).fold(to, Time::min);
            let bit = |is_on: bool, bit: u8| if is_on { bit } else { 0 };
            last = Membership(bit(cpu.0, Membership::CPU) | bit(elapsed.0, Membership::ELAPSED));
            times[last.index()] += until.since(at);
            at = until;
        }
        (times, last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_time_inside_segments_counts() {
        let at = Time::from_nanoseconds;
        let piece = |thread, from, to| PathSegment { thread: ThreadId(thread), from: at(from), to: at(to) };
        let cpu = [piece(1, 0, 4), piece(0, 4, 6), piece(1, 6, 10)];
        let elapsed = [piece(1, 3, 7)];
        let mut paths = OnPaths::new(&cpu, &elapsed);
        let split = |paths: &mut OnPaths, thread, from, to| {
            let (times, last) = paths.split(ThreadId(thread), at(from), at(to));
            (times, last.index())
        };
        // 1..3 by CPU time alone, 3..4 and 6..7 both, 4..6 by elapsed time, 7..8 by CPU time.
        assert_eq!(split(&mut paths, 1, 1, 8), ([0, 3, 2, 2], 1));
        assert_eq!(split(&mut paths, 1, 8, 20), ([10, 2, 0, 0], 0));
        assert_eq!(split(&mut paths, 0, 0, 20), ([18, 2, 0, 0], 0));
        assert_eq!(split(&mut paths, 7, 0, 20), ([20, 0, 0, 0], 0));
    }
}
