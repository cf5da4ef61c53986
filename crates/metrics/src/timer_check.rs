//! Whether the timer was in step with the program (metrics.md §1, rule 5).
//!
//! ```text
//!   bursts      |====|  |====|  |====|       a timer of its own finds each place of a burst as often as any other;
//!   samples        ↑       ↑       ↑         one in step finds the same place again and again
//! ```
//! The positions of the samples within bursts shorter than the timer's period are compared with the uniform distribution
//! (Kolmogorov and Smirnov). A timer of its own differs as much as this once in more than a thousand runs: √n times the largest distance exceeds 2.2,
//! and the distance is a tenth or more. Less would move no share by more than its error says.
//!
//! A sample takes time itself, of which part passes before the clock is read, and part after that:
//! ```text
//!   burst       |==== a =====|··c₁··↑···c₂···|== b ==|      positions from c₁ to the length less c₂, and none elsewhere
//! ```
//! In a virtual machine that is tens of microseconds, so that in bursts of a tenth of a millisecond no sample is near the begin or
//! the end. So c₁ and c₂ are taken from the samples: what only one in fifty is below, at most [`MOST_COST`]. They are cut off on both sides before the comparison.
//! (Without that, one in six recordings of a program that waits for pages of memory was said to be in step.)
//!
//! One sample costs twice what another does, which moves positions in the shortest bursts to the middle. So bursts shorter than
//! [`COSTS_IN_BURST`] costs are left out; where all are as short as that, nothing can be said. (A team of OpenMP that is woken
//! every 45 us, for bursts of 20 us of which a sample takes 10, was said to be in step in nine recordings of ten.)
//!
//! Samples that end the bursts which they find are uneven, too: so their ages have to be as uneven ([`crate::burst_ages`]).
//!
//! Memory: at most [`KEPT`] samples for each length of burst.

use longpole_trace::stored;

use crate::burst_ages::BurstAges;

/// Lengths of bursts, by their binary logarithm.
const OCTAVES: usize = 48;
/// Samples of a length of burst that are kept; of more every second, fourth, ….
const KEPT: usize = 512;
/// Most that a sample is taken to cost before its clock is read, and after that; nanoseconds.
const MOST_COST: u64 = 100_000;
/// One sample in so many may have cost less.
const CHEAP_SAMPLES: usize = 50;
/// Costs of samples in the shortest burst that is compared.
const COSTS_IN_BURST: u64 = 4;
/// Most that a sample is taken to cost on one side for that; nanoseconds. What is in step shows a large cost, too.
const MOST_VARYING_COST: u64 = 20_000;
/// What √n times the distance seldom exceeds by chance.
const SELDOM: f64 = 2.2;
/// A smaller distance does no harm.
const HARMLESS: f64 = 0.1;

/// Positions of samples within bursts, by length of burst.
#[derive(Clone, Debug)]
pub(crate) struct SamplePositions {
    octaves: Vec<OctavePositions>,
    ages: BurstAges,
}

/// Positions in bursts of about one length.
#[derive(Clone, Debug, Default)]
struct OctavePositions {
    seen: u64,
    /// One in so many of those seen, as a binary logarithm.
    thinned: u32,
    kept: Vec<BurstPosition>,
}

/// So far into a burst, and so far from its end; nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct BurstPosition {
    before: u64,
    after: u64,
}

impl Default for SamplePositions {
    fn default() -> Self {
        SamplePositions { octaves: vec![OctavePositions::default(); OCTAVES], ages: BurstAges::default() }
    }
}

impl OctavePositions {
    fn add(&mut self, position: BurstPosition) {
        if self.seen.is_multiple_of(1 << self.thinned) {
            if self.kept.len() == KEPT {
                let mut index = 0;
                self.kept.retain(|_| {
                    index += 1;
                    index % 2 == 1
                });
                self.thinned += 1;
            }
            self.kept.push(position);
        }
        self.seen += 1;
    }
}

impl SamplePositions {
    /// A burst of this length with its samples, so far into it, in order; nanoseconds.
    pub fn add(&mut self, samples: &[u64], length: u64) {
        let Some(octave) = length.checked_ilog2() else { return };
        self.ages.add(length, samples.first().copied());
        let octave = &mut self.octaves[(octave as usize).min(OCTAVES - 1)];
        for &sample in samples {
            let before = sample.min(length);
            octave.add(BurstPosition { before, after: length - before });
        }
    }

    /// What the positions in bursts shorter than this period say.
    pub fn check(&self, period: f64) -> TimerCheck {
        let is_short = |octave: usize| (1_u64 << (octave + 1)) as f64 <= period;
        let short = self.octaves.iter().enumerate().filter(|&(octave, _)| is_short(octave));
        let positions: Vec<BurstPosition> =
            short.flat_map(|(_, octave)| octave.kept.iter().copied()).collect();
        let costs = SampleCosts::of(&positions);
        let parts: Vec<f64> = positions.iter().filter_map(|position| costs.part(*position)).collect();
        let (found, distance_by_age) = self.ages.check(period, costs.before);
        let (samples, distance) = (parts.len() as u64, distance_from_uniform(parts));
        TimerCheck { period, samples, distance, found, distance_by_age }
    }
}

/// What a sample costs before its clock is read, and after that; nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
struct SampleCosts {
    before: u64,
    after: u64,
}

impl SampleCosts {
    fn of(positions: &[BurstPosition]) -> Self {
        SampleCosts {
            before: least_cost(positions.iter().map(|position| position.before)),
            after: least_cost(positions.iter().map(|position| position.after)),
        }
    }

    /// Where in its burst a sample was, 0 to 1, without what samples cost; `None` in a burst too short to tell.
    fn part(self, BurstPosition { before, after }: BurstPosition) -> Option<f64> {
        let varying = self.before.min(MOST_VARYING_COST) + self.after.min(MOST_VARYING_COST);
        if before + after < COSTS_IN_BURST * varying {
            return None;
        }
        let (into, left) = (before.saturating_sub(self.before), after.saturating_sub(self.after));
        Some(if into + left == 0 { 0.5 } else { into as f64 / (into + left) as f64 })
    }
}

/// The least of these but for one in [`CHEAP_SAMPLES`].
fn least_cost(times: impl Iterator<Item = u64>) -> u64 {
    let mut times: Vec<u64> = times.collect();
    if times.is_empty() {
        return 0;
    }
    let index = times.len() / CHEAP_SAMPLES;
    let (_, &mut cost, _) = times.select_nth_unstable(index);
    cost.min(MOST_COST)
}

/// The largest distance of these numbers' distribution from the uniform one on 0 to 1.
fn distance_from_uniform(mut parts: Vec<f64>) -> f64 {
    parts.sort_unstable_by(f64::total_cmp);
    let count = parts.len() as f64;
    let distance = |(index, &part): (usize, &f64)| {
        let (below, up_to) = (index as f64 / count, (index + 1) as f64 / count);
        (part - below).abs().max((up_to - part).abs())
    };
    parts.iter().enumerate().map(distance).fold(0.0, f64::max)
}

/// How the timer stood to the program.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TimerCheck {
    /// Mean time between samples that found work, nanoseconds; 0 without any.
    pub period: f64,
    /// Samples in bursts shorter than that which were compared.
    pub samples: u64,
    /// The largest distance of their positions' distribution from the uniform one, 0 to 1.
    pub distance: f64,
    /// Bursts that a sample found before they were as old as that.
    pub found: u64,
    /// The same distance of their ages, on the scale of the time that bursts spent at each age.
    pub distance_by_age: f64,
}

stored! {
    TimerCheck { period, samples, distance, found, distance_by_age }
}

impl TimerCheck {
    /// Whether samples come at some places of bursts far more often than at others.
    #[must_use]
    pub fn is_in_step(&self) -> bool {
        let is_uneven =
            |count: u64, distance: f64| (count as f64).sqrt() * distance > SELDOM && distance > HARMLESS;
        is_uneven(self.samples, self.distance) && is_uneven(self.found, self.distance_by_age)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn even_positions_are_of_a_timer_of_its_own() {
        let mut positions = SamplePositions::default();
        (0..1000).for_each(|sample| positions.add(&[sample * 37 % 1000], 1000));
        let check = positions.check(2e6);
        assert!(!check.is_in_step() && check.samples == 500, "{check:?}");
    }

    #[test]
    fn one_place_again_and_again_is_of_a_timer_in_step() {
        let mut positions = SamplePositions::default();
        (0..100).for_each(|sample| positions.add(&[400_000 + sample % 20 * 1000], 1_000_000));
        assert!(positions.check(2e6).is_in_step());
        // Of bursts longer than the period the timer finds several places.
        let check = positions.check(5e5);
        assert!(check.samples == 0 && !check.is_in_step(), "{check:?}");
    }

    #[test]
    fn of_many_samples_some_are_kept_evenly() {
        let mut octave = OctavePositions::default();
        (0..5000).for_each(|before| octave.add(BurstPosition { before, after: 0 }));
        assert!((KEPT / 2..=KEPT).contains(&octave.kept.len()), "{}", octave.kept.len());
        let steps: Vec<u64> = octave.kept.windows(2).map(|pair| pair[1].before - pair[0].before).collect();
        assert!(steps.iter().all(|&step| step == 16), "{steps:?}");
    }

    /// Numbers that look random, 0 to 1.
    struct BurstDice(u64);

    impl BurstDice {
        fn roll(&mut self) -> f64 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
        }
    }

    /// The mean by which a sample costs more than the least.
    const COST_SPREAD: f64 = 0.3;

    /// A thread that works in bursts, and the timer that looks at it; all in nanoseconds.
    #[derive(Clone, Copy, Debug)]
    struct Bursts {
        /// Mean length, and by how much lengths differ: 0 not at all, 1 exponentially.
        length: f64,
        spread: f64,
        /// Mean pause; with `ticks` it ends at their next multiple.
        pause: f64,
        ticks: f64,
        /// Mean interval of the timer, by what part it varies, and for how long one is kept.
        period: f64,
        jitter: f64,
        hold: f64,
        /// When the timer looks first.
        first: f64,
        /// The least that a sample costs before the clock is read, and after that.
        cost: (f64, f64),
    }

    impl Bursts {
        /// Positions of about so many samples.
        fn positions(self, samples: usize, dice: &mut BurstDice) -> SamplePositions {
            let mut positions = SamplePositions::default();
            let (mut now, mut look, mut found) = (0.0, self.first, 0);
            let (mut interval, mut change) = (self.period, self.hold * dice.roll());
            while found < samples && now < 1e13 {
                let exponential = -(1.0 - dice.roll()).ln();
                let length = self.length * (1.0 - self.spread + self.spread * exponential);
                let (begin, mut end, mut inside) = (now, now + length, Vec::new());
                while look < end {
                    if look > begin {
                        let [before, after] = [self.cost.0, self.cost.1]
                            .map(|cost| cost * (1.0 - COST_SPREAD * (1.0 - dice.roll()).ln()));
                        inside.push(look + before);
                        end += before + after;
                    }
                    let mut next = look + interval;
                    while self.jitter > 0.0 && change < next {
                        interval = self.period * (1.0 + self.jitter * (2.0 * dice.roll() - 1.0));
                        next = change.max(look) + interval;
                        change += self.hold;
                    }
                    look = next;
                }
                found += inside.len();
                let inside: Vec<u64> = inside.iter().map(|at| (at - begin) as u64).collect();
                positions.add(&inside, (end - begin) as u64);
                now = end - self.pause * (1.0 - dice.roll()).ln();
                if self.ticks > 0.0 {
                    now = ((now / self.ticks).floor() + 1.0) * self.ticks;
                }
            }
            positions
        }
    }

    /// Programs and timers that know nothing of each other.
    fn strangers() -> Vec<Bursts> {
        let mut all = Vec::new();
        for period in [2.004e6, 0.2e6] {
            for length in [8e3, 90e3, 0.7e6] {
                for (spread, ticks) in [(1.0, 0.0), (1.0, 1e6), (0.3, 4e6), (0.0, 0.0)] {
                    for cost in [(0.0, 0.0), (5e3, 5e3), (15e3, 30e3)] {
                        let bursts = Bursts {
                            length,
                            spread,
                            pause: 0.7 * length,
                            ticks,
                            period,
                            jitter: 0.4,
                            hold: 50e6,
                            first: 0.0,
                            cost,
                        };
                        all.extend((length < period).then_some(bursts));
                    }
                }
            }
        }
        all
    }

    /// At most one run in a thousand: of so many runs, what a rate of 1 in 1,000 gives, and three of its standard errors more.
    #[test]
    fn a_timer_of_its_own_is_hardly_ever_taken_for_one_in_step() {
        let runs: u64 = if std::env::var_os("LONGPOLE_CHARGING_RUNS").is_some() { 1000 } else { 20 };
        let (mut alarms, mut all) = (0, 0);
        for (family, bursts) in strangers().into_iter().enumerate() {
            let mut of_family = 0;
            for run in 0..runs {
                let mut dice = BurstDice(run << 20 | family as u64);
                let bursts = Bursts { first: bursts.period * dice.roll(), ..bursts };
                let samples = 20 + (dice.roll() * 1500.0) as usize;
                let check = bursts.positions(samples, &mut dice).check(bursts.period);
                of_family += u64::from(check.is_in_step());
            }
            if of_family > 0 {
                println!("{of_family} of {runs}: {bursts:?}");
            }
            alarms += of_family;
            all += runs;
        }
        let expected = all as f64 / 1000.0;
        assert!(alarms as f64 <= expected + 3.0 * expected.sqrt(), "{alarms} of {all}");
    }

    /// As of threads that meet at a lock because a sample kept one of them.
    #[test]
    fn samples_that_end_the_bursts_they_find_are_of_a_timer_of_its_own() {
        let mut dice = BurstDice(11);
        let mut positions = SamplePositions::default();
        for _ in 0..4000 {
            let (length, look) = (1e6 * -(1.0 - dice.roll()).ln(), 2e6 * dice.roll());
            let is_kept = look < length;
            let end = if is_kept { length.min(look + 0.12e6 * dice.roll()) } else { length };
            let looks = [look as u64];
            positions.add(if is_kept { &looks } else { &[] }, end as u64);
        }
        let check = positions.check(2e6);
        assert!(check.distance > 2.0 * HARMLESS && !check.is_in_step(), "{check:?}");
    }

    /// A timer of a fixed period and a program that wakes at multiples of it, or at parts of it.
    #[test]
    fn programs_in_step_are_noticed() {
        let (mut missed, mut all) = (Vec::new(), 0);
        for ticks in [1e6, 4e6] {
            for period in [2e6, 4e6] {
                for length in [60e3, 0.2e6, 0.6e6] {
                    for first in [20e3, 60e3, 150e3, 400e3] {
                        for cost in [(0.0, 0.0), (15e3, 30e3)] {
                            let (jitter, hold, pause) = (0.0, 0.0, 10e3);
                            let bursts = Bursts {
                                length,
                                spread: 1.0,
                                pause,
                                ticks,
                                period,
                                jitter,
                                hold,
                                first,
                                cost,
                            };
                            let check = bursts.positions(400, &mut BurstDice(7)).check(period);
                            all += 1;
                            if !check.is_in_step() {
                                missed.push((bursts, check));
                            }
                        }
                    }
                }
            }
        }
        assert!(missed.is_empty(), "{} of {all}: {missed:#?}", missed.len());
    }
}
