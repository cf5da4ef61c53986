//! How many threads were busy (U) over time, and the integral of 1/U, which is what normalised processor time is made
//! of (metrics.md §3; Q eq. 1).
//!
//! ```text
//!   U         2      1        0     3             a thread that runs from a to b is charged share(b) − share(a)
//!   share     |  /2  |  1:1   |  —  |  /3
//! ```
//! Memory: 12 bytes per change of U, and 1 for the sums at every 16th change.

use crate::search::last_from;

/// Changes from one sum to the next.
const EVERY: usize = 16;

/// U over time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Levels {
    times: Vec<u64>,
    busy: Vec<u32>,
    /// Every sixteenth change: its time, and the integral up to there.
    marks: Vec<(u64, f64)>,
    end: u64,
}

impl Levels {
    /// From `from` to `to`, which comes after what was told before, so many were busy.
    pub fn pass(&mut self, from: u64, to: u64, busy: u32) {
        if self.busy.last() != Some(&busy) {
            self.times.push(from);
            self.busy.push(busy);
        }
        self.end = to;
    }

    /// Makes the sums, once all is told.
    pub fn finish(&mut self) {
        let mut share = 0.0;
        self.times.shrink_to_fit();
        self.busy.shrink_to_fit();
        self.marks.reserve_exact(self.times.len().div_ceil(EVERY));
        for at in 0..self.times.len() {
            if at % EVERY == 0 {
                self.marks.push((self.times[at], share));
            }
            let end = self.times.get(at + 1).copied().unwrap_or(self.end);
            share += normalised(end - self.times[at], self.busy[at]);
        }
    }

    /// A walk along the levels from the begin of the run.
    pub fn walk(&self) -> ShareWalk<'_> {
        ShareWalk { levels: self, at: 0, share: 0.0, last: (0, 0.0) }
    }

    /// Tells the parts between `from` and `to` in which any thread was busy.
    pub fn busy(&self, from: u64, to: u64, mut add: impl FnMut(u64, u64)) {
        let first = self.times.partition_point(|&time| time <= from).saturating_sub(1);
        for at in first..self.times.len() {
            let begin = self.times[at];
            if begin >= to {
                break;
            }
            let end = self.times.get(at + 1).copied().unwrap_or(self.end).min(to);
            if self.busy[at] > 0 && begin.max(from) < end {
                add(begin.max(from), end);
            }
        }
    }

    /// Bytes that it takes.
    pub fn bytes(&self) -> usize {
        self.times.capacity() * 8 + self.busy.capacity() * 4 + self.marks.capacity() * size_of::<(u64, f64)>()
    }
}

fn normalised(time: u64, busy: u32) -> f64 {
    if busy == 0 { 0.0 } else { time as f64 / f64::from(busy) }
}

/// A walk along the levels, forward in time.
#[derive(Clone, Debug)]
pub(crate) struct ShareWalk<'a> {
    levels: &'a Levels,
    at: usize,
    /// The integral up to where the level `at` begins.
    share: f64,
    /// The last question and its answer.
    last: (u64, f64),
}

impl ShareWalk<'_> {
    /// The integral of 1/U up to this time, which is not before the last one that was asked for.
    pub fn share(&mut self, time: u64) -> f64 {
        if self.last.0 == time {
            return self.last.1;
        }
        let Levels { times, busy, marks, .. } = self.levels;
        let is_reached = |block: usize| marks.get(block).is_some_and(|mark| mark.0 <= time);
        let block = self.at / EVERY;
        if is_reached(block + 1) {
            let block = last_from(block + 1, is_reached);
            (self.at, self.share) = (block * EVERY, marks[block].1);
        }
        while let Some(&next) = times.get(self.at + 1).filter(|&&next| next <= time) {
            self.share += normalised(next - times[self.at], busy[self.at]);
            self.at += 1;
        }
        if let Some(&begin) = times.get(self.at) {
            self.last = (time, self.share + normalised(time.saturating_sub(begin), busy[self.at]));
        }
        self.last.1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_integral_is_the_same_however_far_apart_the_questions_are() {
        let mut levels = Levels::default();
        let (mut ticks, mut from) = (Vec::new(), 0);
        for number in 0..500_u32 {
            let (length, busy) = (u64::from(1 + number % 7), number * number % 5);
            levels.pass(from, from + length, busy);
            ticks.extend(std::iter::repeat_n(busy, length as usize));
            from += length;
        }
        levels.finish();
        let share = |to: usize| -> f64 {
            ticks[..to].iter().filter(|&&busy| busy > 0).map(|&busy| 1.0 / f64::from(busy)).sum()
        };
        for step in [1, 2, 17, 100, 777] {
            let mut walk = levels.walk();
            for time in (0..=ticks.len()).step_by(step) {
                assert!((walk.share(time as u64) - share(time)).abs() < 1e-6, "{time} by {step}");
            }
        }
    }

    #[test]
    fn nothing_is_shared_in_a_run_of_no_length() {
        assert_eq!(Levels::default().walk().share(7), 0.0);
    }
}
