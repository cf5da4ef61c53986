//! What goes together is found, noise is not.

use super::*;

/// Random numbers, the same in each run of the tests (xorshift64*, Vigna 2016).
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Nearly normal, of variance 1.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.next()).sum::<f64>() - 6.0
    }

    fn white(&mut self, bins: usize) -> Vec<f64> {
        (0..bins).map(|_| self.normal()).collect()
    }

    fn walk(&mut self, bins: usize) -> Vec<f64> {
        let mut at = 0.0;
        (0..bins)
            .map(|_| {
                at += self.normal();
                at
            })
            .collect()
    }

    /// Parts of one level each, `true` in every other, about `switches` of them.
    fn switching(&mut self, bins: usize, switches: usize) -> Vec<bool> {
        let edges: Vec<usize> = (0..switches).map(|_| (self.next() * bins as f64) as usize).collect();
        (0..bins).map(|bin| edges.iter().filter(|&&edge| edge <= bin).count() % 2 == 1).collect()
    }
}

fn low(values: &[f64]) -> TargetCurve<'_> {
    TargetCurve { values, interest: TargetBins::Low }
}

fn candidates(all: &[Vec<f64>]) -> Vec<CandidateSeries<'_>> {
    all.iter().map(|values| CandidateSeries { values, is_trivial: false }).collect()
}

#[test]
fn noise_is_not_found_among_two_hundred_series() {
    const RUNS: usize = 100;
    let mut random = Random(20_261_121);
    let mut make = |is_walk| if is_walk { random.walk(60) } else { random.white(60) };
    let mut false_runs = 0;
    for run in 0..RUNS {
        let target = make(run % 2 == 0);
        let all: Vec<_> = (0..200).map(|index| make(index % 2 == 0)).collect();
        let found = correlate(low(&target), &candidates(&all), 3);
        assert_eq!(found.tried, 200);
        false_runs += usize::from(!found.found.is_empty());
    }
    assert!(false_runs * 100 <= RUNS, "{false_runs} of {RUNS} runs");
}

#[test]
fn what_moves_with_low_parallelism_is_found_among_noise() {
    let mut random = Random(7);
    let mut found_runs = 0;
    for _ in 0..10 {
        let is_low = random.switching(100, 10);
        let target: Vec<f64> =
            is_low.iter().map(|&low| if low { 1.0 } else { 4.0 } + 0.2 * random.normal()).collect();
        let faults: Vec<f64> =
            is_low.iter().map(|&low| if low { 5600.0 } else { 300.0 } * (0.5 + random.next())).collect();
        let mut all: Vec<_> = (0..198).map(|_| random.walk(100)).collect();
        all.push(faults);
        let found = correlate(low(&target), &candidates(&all), 5);
        if let Some(first) = found.found.first().filter(|first| first.candidate == 198) {
            found_runs += 1;
            assert!(first.strength < -0.8 && first.lag == 0 && first.samples < 100.0, "{first:?}");
            assert_eq!(first.bins, 100);
            let Comparison { there, elsewhere, .. } = first.comparison;
            assert!((4500.0..6700.0).contains(&there) && (250.0..350.0).contains(&elsewhere), "{first:?}");
        }
    }
    assert!(found_runs >= 9, "{found_runs} of 10");
}

#[test]
fn a_curve_that_comes_earlier_is_said_to_lead() {
    let mut random = Random(3);
    let cause = random.white(203);
    let all = [cause[3..].to_vec(), cause[..200].to_vec()];
    // The target does what the first did two bins ago, and the second did one bin later than that.
    let target: Vec<f64> = cause[1..201].iter().map(|value| -value).collect();
    let found = correlate(low(&target), &candidates(&all), 4);
    let lags: Vec<_> = found.found.iter().map(|one| (one.candidate, one.lag, one.strength < -0.99)).collect();
    assert_eq!(found.lags, 9);
    assert!(lags.contains(&(0, -2, true)) && lags.contains(&(1, 1, true)), "{lags:?}");
}

#[test]
fn what_only_grows_with_time_does_not_go_together() {
    let mut random = Random(5);
    let mut growing =
        |slope: f64| (0..100).map(|bin| f64::from(bin) * slope + random.normal()).collect::<Vec<_>>();
    let (target, all) = (growing(-3.0), vec![growing(100.0), growing(7.0)]);
    let found = correlate(low(&target), &candidates(&all), 3);
    assert_eq!((found.found.len(), found.tried), (0, 2));
}

#[test]
fn curves_that_cannot_tell_are_left_out_and_counted() {
    let mut random = Random(9);
    let target = random.white(100);
    let mut mostly_missing = target.clone();
    mostly_missing[..60].fill(f64::NAN);
    let mut one_outlier = vec![3.0; 100];
    one_outlier[50] = 1e300;
    let line = (0..100).map(f64::from).collect();
    let all =
        [vec![3.0; 100], one_outlier, line, mostly_missing, vec![f64::NAN; 100], vec![], target.clone()];
    let found = correlate(low(&target), &candidates(&all), 3);
    assert_eq!((found.constant, found.missing, found.tried, found.found.len()), (3, 3, 1, 1));
    assert_eq!((found.found[0].candidate, found.found[0].lag), (6, 0));
    assert!(found.found[0].strength > 0.999_999);
    let silent = |target: &[f64]| correlate(low(target), &candidates(&all), 3).silence;
    assert_eq!(silent(&target), None);
    assert_eq!(silent(&[2.0; 100]), Some(NoCorrelation::Constant));
    assert_eq!(silent(&target[..19]), Some(NoCorrelation::TooFewBins));
    assert_eq!(silent(&[]), Some(NoCorrelation::TooFewBins));
}

#[test]
fn missing_bins_are_not_compared() {
    let mut random = Random(11);
    let target = random.white(200);
    let mut values = target.clone();
    values.iter_mut().skip(1).step_by(3).for_each(|value| *value = f64::NAN);
    let found = correlate(low(&target), &candidates(&[values]), 2);
    assert_eq!((found.found[0].bins, found.found[0].lag), (133, 0));
}

#[test]
fn what_is_trivial_stands_apart_and_takes_no_part_in_the_count() {
    let mut random = Random(13);
    let target = random.white(100);
    let own = CandidateSeries { values: &target, is_trivial: true };
    let found = correlate(low(&target), &[own], 3);
    assert_eq!((found.found.len(), found.trivial.len(), found.tried), (0, 1, 0));
}

#[test]
fn a_few_coinciding_spikes_are_not_enough() {
    let mut spikes = vec![0.0; 100];
    for bin in [3, 11, 12, 40, 41, 77, 78] {
        spikes[bin] = 1.0;
    }
    let mut other = spikes.clone();
    other[3] = 0.0;
    other[4] = 1.0;
    let noise: Vec<_> = (0..200).map(|seed| Random(seed + 1).white(100)).chain([other]).collect();
    assert_eq!(correlate(low(&spikes), &candidates(&noise), 3).found, []);
}

#[test]
fn comparisons_are_of_the_bins_that_ask() {
    let values = [10.0, 20.0, 1.0, f64::NAN, 2.0, 3.0];
    let target = low(&[1.0, 1.0, 4.0, 4.0, 4.0, 4.0]);
    let found = compare(target, &values).unwrap();
    assert_eq!((found.there, found.elsewhere), (15.0, 2.0));
    assert_eq!((found.bins_there, found.bins_elsewhere), (2, 3));
    let high = TargetCurve { values: &[9.0, 9.0, 1.0, 1.0, 1.0, 1.0], interest: TargetBins::High };
    assert_eq!(compare(high, &values), Some(Comparison { limit: 5.0, ..found }));
    let noisy = compare(low(&[3.0, 3.1, 3.5, 3.4, 4.0, 3.6]), &values).unwrap();
    assert_eq!((noisy.limit, noisy.there, noisy.bins_there), (3.5, 15.0, 2));
    assert_eq!(compare(low(&[3.0; 6]), &values), None);
    assert_eq!(compare(low(&[]), &[]), None);
    assert_eq!(compare(target, &[f64::NAN; 6]), None);
}

#[test]
fn chance_is_that_of_the_tables() {
    // Two-sided, of Pearson's r: with 10 samples 0.632 at 5 %, 0.765 at 1 %; with 102 samples 0.195 at 5 %.
    for (strength, samples, expected) in [(0.632, 10.0, 0.05), (0.765, 10.0, 0.01), (0.195, 102.0, 0.05)] {
        let found = probability(strength, samples);
        assert!((found / expected - 1.0).abs() < 0.02, "{strength} of {samples}: {found}");
    }
    assert_eq!(probability(0.0, 50.0), 1.0);
    assert_eq!(probability(1.0, 2.0), 1.0);
    assert!(probability(1.0, 30.0) < 1e-12);
}
