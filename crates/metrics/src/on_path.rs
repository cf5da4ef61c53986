//! How much of a thread's time lies on a path.
//!
//! ```text
//!   segments of T1      |-----|      |--------|
//!   asked for               |-- 3 of 8 --|
//! ```
//! Constant time per question and segment, if the questions about a thread come in the order of time. Memory: a number per segment
//! and thread.

use longpole_event::{ThreadId, Time};

use crate::analysis::PathSegment;

const NONE: u32 = u32::MAX;

/// The segments of a path, by thread.
#[derive(Debug, Default)]
pub(crate) struct OnPath<'a> {
    segments: &'a [PathSegment],
    /// The next segment of the same thread.
    next: Vec<u32>,
    /// The segment that each thread is in or will come to.
    current: Vec<u32>,
}

impl<'a> OnPath<'a> {
    pub fn new(segments: &'a [PathSegment]) -> Self {
        let threads = segments.iter().map(|segment| segment.thread.index() + 1).max().unwrap_or(0);
        let mut current = vec![NONE; threads];
        let mut next = vec![NONE; segments.len()];
        for (index, segment) in segments.iter().enumerate().rev() {
            next[index] = std::mem::replace(&mut current[segment.thread.index()], index as u32);
        }
        OnPath { segments, next, current }
    }

    /// The time between `from` and `to` that is on the path; `from` is not before the last question's `to`.
    pub fn part(&mut self, thread: ThreadId, from: Time, to: Time) -> u64 {
        let Some(current) = self.current.get_mut(thread.index()) else { return 0 };
        let mut sum = 0;
        while let Some(segment) = self.segments.get(*current as usize) {
            let (begin, end) = (segment.from.max(from), segment.to.min(to));
            if begin < end {
                sum += end.since(begin);
            }
            if segment.to > to {
                break;
            }
            *current = self.next[*current as usize];
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_time_inside_segments_counts() {
        let at = Time::from_nanoseconds;
        let piece = |thread, from, to| PathSegment { thread: ThreadId(thread), from: at(from), to: at(to) };
        let segments = [piece(1, 0, 4), piece(0, 4, 6), piece(1, 6, 10)];
        let mut path = OnPath::new(&segments);
        assert_eq!(path.part(ThreadId(1), at(1), at(8)), 3 + 2);
        assert_eq!(path.part(ThreadId(1), at(8), at(20)), 2);
        assert_eq!(path.part(ThreadId(0), at(0), at(20)), 2);
        assert_eq!(path.part(ThreadId(7), at(0), at(20)), 0);
    }
}
