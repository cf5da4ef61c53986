//! A critical path, by time and by thread.
//!
//! ```text
//!   pieces   T1 0..8   T2 8..10   T1 10..12      of T1: 0, 2    of T2: 1
//! ```
//! Memory: 24 bytes per piece.

use longpole_event::ThreadId;
use longpole_metrics::PathSegment;

/// A critical path.
#[derive(Clone, Debug, Default)]
pub(crate) struct CriticalRoute {
    threads: Vec<u32>,
    froms: Vec<u64>,
    tos: Vec<u64>,
    /// Numbers of the pieces, thread by thread.
    ordered: Vec<u32>,
    /// Where each thread's pieces begin in `ordered`; one more for the end.
    offsets: Vec<u32>,
}

impl CriticalRoute {
    /// The path of these segments.
    pub fn new(segments: &[PathSegment], threads: usize) -> CriticalRoute {
        let known = segments.iter().map(|segment| segment.thread.index() + 1).max().unwrap_or(0);
        let mut offsets = vec![0; threads.max(known) + 1];
        for segment in segments {
            offsets[segment.thread.index() + 1] += 1;
        }
        for index in 1..offsets.len() {
            offsets[index] += offsets[index - 1];
        }
        let (mut next, mut ordered) = (offsets.clone(), vec![0; segments.len()]);
        for (number, segment) in segments.iter().enumerate() {
            let place = &mut next[segment.thread.index()];
            ordered[*place as usize] = number as u32;
            *place += 1;
        }
        CriticalRoute {
            threads: segments.iter().map(|segment| segment.thread.0).collect(),
            froms: segments.iter().map(|segment| segment.from.nanoseconds()).collect(),
            tos: segments.iter().map(|segment| segment.to.nanoseconds()).collect(),
            ordered,
            offsets,
        }
    }

    /// The thread's pieces that end after `time`.
    pub fn walk(&self, thread: ThreadId, time: u64) -> RouteWalk<'_> {
        let range = match self.offsets.get(thread.index()..thread.index() + 2) {
            Some(&[begin, end]) => begin as usize..end as usize,
            _ => 0..0,
        };
        let pieces = &self.ordered[range];
        let first = pieces.partition_point(|&piece| self.tos[piece as usize] <= time);
        RouteWalk { route: self, pieces: &pieces[first..] }
    }

    /// Where the path comes to another thread between `from` and `to`: numbers of the pieces that it comes to.
    pub fn arrivals(&self, from: u64, to: u64) -> std::ops::Range<usize> {
        let first = self.froms.partition_point(|&begin| begin < from).max(1);
        first..self.froms.partition_point(|&begin| begin <= to).max(first)
    }

    /// When the path comes to this piece, from which thread and to which; `None` if it stays with its thread.
    pub fn arrival(&self, piece: usize) -> Option<(u64, ThreadId, ThreadId)> {
        let (source, thread) = (self.threads[piece - 1], self.threads[piece]);
        (source != thread).then(|| (self.froms[piece], ThreadId(source), ThreadId(thread)))
    }

    /// Bytes that it takes.
    pub fn bytes(&self) -> usize {
        self.threads.capacity() * 24 + self.offsets.capacity() * 4
    }
}

/// A thread's pieces of the path, forward in time.
#[derive(Clone, Debug)]
pub(crate) struct RouteWalk<'a> {
    route: &'a CriticalRoute,
    pieces: &'a [u32],
}

impl RouteWalk<'_> {
    /// Tells the parts of the pieces between `from`, which is not before the last question's `to`, and `to`.
    pub fn go(&mut self, from: u64, to: u64, mut add: impl FnMut(u64, u64)) {
        while let [piece, rest @ ..] = self.pieces {
            let (begin, end) = (self.route.froms[*piece as usize], self.route.tos[*piece as usize]);
            if begin >= to {
                break;
            }
            if begin.max(from) < end.min(to) {
                add(begin.max(from), end.min(to));
            }
            if end > to {
                break;
            }
            self.pieces = rest;
        }
    }

    /// When the next piece begins that is not passed yet; of one that is under way, its begin.
    pub fn next(&self) -> Option<u64> {
        self.pieces.first().map(|&piece| self.route.froms[piece as usize])
    }

    /// Whether this time, which is not before the last question's, is on the path.
    pub fn has(&mut self, time: u64) -> bool {
        let mut has = false;
        self.go(time, time + 1, |_, _| has = true);
        has
    }
}

#[cfg(test)]
mod tests {
    use longpole_event::Time;

    use super::*;

    fn route() -> CriticalRoute {
        let at = Time::from_nanoseconds;
        let piece = |thread, from, to| PathSegment { thread: ThreadId(thread), from: at(from), to: at(to) };
        CriticalRoute::new(&[piece(1, 0, 4), piece(0, 5, 6), piece(0, 6, 6), piece(1, 6, 10)], 2)
    }

    fn parts(walk: &mut RouteWalk<'_>, from: u64, to: u64) -> Vec<(u64, u64)> {
        let mut parts = Vec::new();
        walk.go(from, to, |begin, end| parts.push((begin, end)));
        parts
    }

    #[test]
    fn only_what_is_in_pieces_of_the_thread_is_on_the_path() {
        let route = route();
        let mut walk = route.walk(ThreadId(1), 0);
        assert_eq!(parts(&mut walk, 1, 3), [(1, 3)]);
        assert_eq!(parts(&mut walk, 3, 8), [(3, 4), (6, 8)]);
        assert_eq!(parts(&mut walk, 8, 20), [(8, 10)]);
        assert_eq!(parts(&mut route.walk(ThreadId(1), 7), 7, 9), [(7, 9)]);
        assert_eq!(parts(&mut route.walk(ThreadId(9), 0), 0, 9), []);
        assert!(route.walk(ThreadId(0), 5).has(5) && !route.walk(ThreadId(0), 6).has(6));
    }

    #[test]
    fn arrivals_are_hand_offs_between_threads() {
        let route = route();
        let found = |from, to| route.arrivals(from, to).filter_map(|piece| route.arrival(piece)).collect();
        let all: Vec<_> = found(0, 10);
        assert_eq!(all, [(5, ThreadId(1), ThreadId(0)), (6, ThreadId(0), ThreadId(1))]);
        let later: Vec<_> = found(6, 10);
        assert_eq!(later, all[1..]);
        let none: Vec<_> = found(7, 10);
        assert!(none.is_empty());
    }
}
