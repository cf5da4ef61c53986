//! How many threads were busy (U) over time, which is what normalised processor time is made of (metrics.md §3; Q eq. 1).
//!
//! ```text
//!   U         2      1        0     3             a thread that runs all the time is charged what passes, divided by U
//! ```
//! Memory: 12 bytes per change of U.

use crate::search::last_from;

/// U over time.
#[derive(Clone, Debug, Default)]
pub(crate) struct LevelSteps {
    times: Vec<u64>,
    busy: Vec<u32>,
    end: u64,
}

impl LevelSteps {
    /// From `from` to `to`, which comes after what was told before, so many were busy.
    pub fn pass(&mut self, from: u64, to: u64, busy: u32) {
        if self.busy.last() != Some(&busy) {
            self.times.push(from);
            self.busy.push(busy);
        }
        self.end = to;
    }

    /// Gives back the memory that is not needed, once all is told.
    pub fn finish(&mut self) {
        self.times.shrink_to_fit();
        self.busy.shrink_to_fit();
    }

    /// A walk along the levels from this time on.
    pub fn walk(&self, time: u64) -> LevelWalk<'_> {
        LevelWalk { levels: self, at: self.times.partition_point(|&begin| begin <= time).saturating_sub(1) }
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
        self.times.capacity() * 8 + self.busy.capacity() * 4
    }
}

/// A walk along the levels, forward in time.
#[derive(Clone, Debug)]
pub(crate) struct LevelWalk<'a> {
    levels: &'a LevelSteps,
    at: usize,
}

impl LevelWalk<'_> {
    /// Tells the parts between `from`, which is not before the last question's `to`, and `to`, with 1/U in each; parts
    /// with nobody busy are left out.
    pub fn go(&mut self, from: u64, to: u64, mut add: impl FnMut(u64, u64, f64)) {
        let LevelSteps { times, busy, .. } = self.levels;
        if times.get(self.at + 1).is_some_and(|&next| next <= from) {
            self.at = last_from(self.at, |at| times.get(at).is_some_and(|&begin| begin <= from));
        }
        let mut now = from;
        while now < to {
            let next = times.get(self.at + 1).copied().unwrap_or(u64::MAX);
            let end = next.min(to);
            if let Some(&busy) = busy.get(self.at).filter(|&&busy| busy > 0) {
                add(now, end, 1.0 / f64::from(busy));
            }
            self.at += usize::from(next <= to);
            now = end;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_stretch_are_told_wherever_it_begins() {
        let mut levels = LevelSteps::default();
        let (mut ticks, mut from) = (Vec::new(), 0);
        for number in 0..100_u32 {
            let (length, busy) = (u64::from(1 + number % 7), number * number % 5);
            levels.pass(from, from + length, busy);
            ticks.extend(std::iter::repeat_n(busy, length as usize));
            from += length;
        }
        levels.finish();
        for (width, gap) in [(1, 0), (2, 3), (17, 0), (40, 90), (1000, 0)] {
            let mut walk = levels.walk(0);
            for from in (0..ticks.len()).step_by(width + gap) {
                let to = (from + width).min(ticks.len());
                let mut shares = vec![0.0; to - from];
                let mut tell = |begin: u64, end: u64, share: f64| {
                    (begin..end).for_each(|tick| shares[tick as usize - from] = share);
                };
                walk.go(from as u64, to as u64, &mut tell);
                levels.walk(from as u64).go(from as u64, to as u64, &mut tell);
                for (tick, share) in shares.into_iter().enumerate() {
                    let busy = f64::from(ticks[from + tick]);
                    assert_eq!(
                        share,
                        if busy > 0.0 { 1.0 / busy } else { 0.0 },
                        "{from} + {tick} of {width}"
                    );
                }
            }
        }
    }

    #[test]
    fn nobody_is_busy_in_a_run_of_no_length() {
        LevelSteps::default().walk(7).go(7, 9, |_, _, _| panic!("nobody is busy"));
    }
}
