//! How old bursts are when a sample first finds them, against how old they become.
//!
//! ```text
//!   lock     |====↑=== sample ===|waits       a sample takes time, so that its thread meets another one at a lock:
//!   no lock  |===================|====...     the sample comes shortly before the end, and ends the burst
//! ```
//! So positions within bursts are uneven where the timer knows nothing of the program. But whatever a sample does to a burst comes after
//! it. A burst begins anywhere between two looks of such a timer, so one of age a that no look has found is found next with the rate
//! 1 / (period − a), however long it would have been. Each burst counts up to its first sample, or to its end; then the samples' ages are
//! uniform on the scale of the samples that all bursts of each age had to expect.
//!
//! Constant time per burst; memory: 64 counters for each power of two of nanoseconds.

/// Bins of ages in a power of two, as a binary logarithm.
const BINS_LOG: u32 = 5;
/// The part of the mean interval up to which the rate is that of an interval that varies, too.
const LATEST: f64 = 0.75;
/// Bins that all ages need.
const BINS: usize = bin(u64::MAX) + 1;

/// Bursts by their ages, in bins that are 3 % wide.
#[derive(Clone, Debug)]
pub(crate) struct BurstAges {
    /// By age at the end, of those that no sample found.
    ended: Vec<u64>,
    /// By age at the first sample.
    found: Vec<u64>,
}

/// The bin that this age is in.
const fn bin(age: u64) -> usize {
    let excess = (u64::BITS - age.leading_zeros()).saturating_sub(BINS_LOG + 1);
    ((excess as usize) << BINS_LOG) + (age >> excess) as usize
}

/// The lowest age of this bin.
fn age(bin: usize) -> u64 {
    let excess = (bin >> BINS_LOG).saturating_sub(1);
    ((bin - (excess << BINS_LOG)) as u64) << excess
}

impl Default for BurstAges {
    fn default() -> Self {
        BurstAges { ended: vec![0; BINS], found: vec![0; BINS] }
    }
}

impl BurstAges {
    /// A burst of this length, and how far into it the first sample came; nanoseconds.
    pub fn add(&mut self, length: u64, first: Option<u64>) {
        let (ages, age) = match first {
            Some(first) => (&mut self.found, first.min(length)),
            None => (&mut self.ended, length),
        };
        ages[bin(age)] += 1;
    }

    /// How many bursts were found within three quarters of the timer's mean interval, and the largest distance of the distribution of their
    /// ages from that under a timer of its own, 0 to 1; a sample's clock is read so long after it came.
    pub fn check(&self, period: f64, delay: u64) -> (u64, f64) {
        let found = counted(&self.found).map(|(age, count)| (age.saturating_sub(delay), count, true));
        let ended = counted(&self.ended).map(|(age, count)| (age, count, false));
        let mut leave: Vec<(u64, u64, bool)> = found.chain(ended).collect();
        leave.sort_unstable();
        let mut left: u64 = leave.iter().map(|(_, count, _)| count).sum();
        let (mut expected, mut samples, mut before) = (0.0, 0, 0.0);
        // Samples to be expected below each age, and those found below it and up to it.
        let mut steps = Vec::new();
        let until =
            |age: f64, before: f64, left: u64| left as f64 * ((period - before) / (period - age)).ln();
        let latest = LATEST * period;
        for &(age, count, is_found) in leave.iter().take_while(|(age, ..)| *age as f64 <= latest) {
            expected += until(age as f64, before, left);
            steps.extend(is_found.then_some((expected, samples, samples + count)));
            samples += if is_found { count } else { 0 };
            left -= count;
            before = age as f64;
        }
        expected += until(latest, before, left);
        let part = |count: u64| count as f64 / samples as f64;
        let distance = |&(at, below, up_to): &(f64, u64, u64)| {
            let at = if expected > 0.0 { at / expected } else { 0.0 };
            (at - part(below)).abs().max((part(up_to) - at).abs())
        };
        (samples, steps.iter().map(distance).fold(0.0, f64::max))
    }
}

/// Ages and numbers of those that have any.
fn counted(bins: &[u64]) -> impl Iterator<Item = (u64, u64)> {
    bins.iter().enumerate().filter(|(_, count)| **count > 0).map(|(bin, &count)| (age(bin), count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_are_exact_for_small_ages_and_a_thirtieth_wide_for_large_ones() {
        let lowest = |of: u64| age(bin(of));
        assert_eq!([0, 1, 31, 63].map(lowest), [0, 1, 31, 63]);
        assert_eq!([64, 65, 66, 128, 130, 131].map(lowest), [64, 64, 66, 128, 128, 128]);
        for large in [1_234_567, u64::MAX] {
            assert!(lowest(large) <= large && large - lowest(large) < large / 30);
        }
    }

    /// Bursts that would last 1,000 under a timer that looks every 2,000; the sample ends them after `left`.
    fn found_anywhere(left: u64) -> BurstAges {
        let mut ages = BurstAges::default();
        for look in 0..2000 {
            let end = if look < 1000 { (look + left).min(1000) } else { 1000 };
            ages.add(end, (look < end).then_some(look));
        }
        ages
    }

    #[test]
    fn samples_of_any_age_are_of_a_timer_of_its_own_whether_or_not_they_end_their_bursts() {
        for left in [1000, 50] {
            let (found, distance) = found_anywhere(left).check(2000.0, 0);
            assert!(found == 1000 && distance < 0.03, "{found} {distance}");
        }
    }

    #[test]
    fn one_age_again_and_again_is_of_a_timer_in_step() {
        let mut ages = BurstAges::default();
        for burst in 0..100 {
            ages.add(1_000_000, (burst % 2 == 0).then_some(400_000));
        }
        assert!(ages.check(2e6, 0).1 > 0.4);
        // Nothing was found below that age.
        assert_eq!(ages.check(1e5, 0), (0, 0.0));
    }
}
