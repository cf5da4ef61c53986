//! Phases of a run, proposed from the changes of its parallelism (metrics.md §8).
//!
//! The curve of U is cut into pieces of nearly constant U: of all cuts into at most eight pieces, none shorter than
//! 1 % of the run, the one with the least sum of squared differences from the pieces' means, plus a penalty for
//! each piece, so that a cut has to pay:
//!
//! ```text
//!   U   4      ┌─────┐         two cuts leave no difference; a third would gain nothing and
//!       1  ────┘     └────     cost its penalty
//! ```
//! The penalty is the largest of
//! * 5 % of the squared differences from the mean of the whole run: what is repeated many times, such as the rounds
//!   between barriers, is one phase;
//! * what noise would gain: 3 σ² ln n, σ estimated from the median difference of neighbouring bins;
//! * what a piece of 5 % of the run gains that differs by 0.3 threads or by a tenth of the mean of U, whichever is more.
//!
//! Each phase comes with the procedure that has most of its normalised processor time. Work is cut at the phases' borders and divided
//! as everywhere ([`crate::charging`]): by the samples in the phase, and the rest by the shares of all work between the same sites.
//!
//! Time: constant per item, in a second pass; n² for the cuts of n ≤ 512 bins. Memory: phases × procedures.
//!
//! It cannot see phases that differ in what is done but not in how many threads do it.

use longpole_graph::sweep;
use longpole_trace::{ProcedureId, Timelines, Unfolded};

use crate::analysis::{Analysis, MetricOptions};
use crate::curve::{Bin, ParallelismCurve, ParallelismCurveSweep};
use crate::regions::{MarkedRegion, RegionSums};

mod work;

use work::PhaseWork;

/// Phases at most.
const MOST: usize = 8;
/// Length of a phase at least, as a part of the run.
const SHORTEST: f64 = 0.01;
/// Part of all squared differences that a cut has to save.
const SAVED: f64 = 0.05;
/// Length (part of the run) and difference in U (threads, or part of the mean) of the least piece that is cut out.
const LEAST: (f64, f64, f64) = (0.05, 0.3, 0.1);

/// The phases of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Phases {
    /// Parallelism over time.
    pub curve: ParallelismCurve,
    /// The phases, in the order of time, without gaps.
    pub phases: Vec<ProposedPhase>,
    /// Parts that the program itself marked, in the order of their first time.
    pub regions: Vec<MarkedRegion>,
}

/// A phase; times are nanoseconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProposedPhase {
    /// Begin.
    pub from: u64,
    /// End.
    pub to: u64,
    /// Mean of U.
    pub effective: f64,
    /// Mean of N.
    pub nominal: f64,
    /// Normalised processor time of all procedures: the time in which any thread was busy.
    pub npt: f64,
    /// The procedure with most of that, and how much it has.
    pub most: Option<(ProcedureId, f64)>,
}

/// Finds the phases, in two passes.
///
/// # Errors
/// What the timelines say when they cannot be read.
pub(crate) fn phases<T: Timelines>(
    timelines: &T,
    options: &MetricOptions,
    analysis: &Analysis,
) -> Result<Phases, T::Error> {
    let mut bins = ParallelismCurveSweep::default();
    sweep(timelines, options.io_idle, &mut bins)?;
    let curve = bins.into_curve();
    let phases: Vec<ProposedPhase> =
        cuts(&curve.bins).windows(2).map(|ends| phase_of(&curve, ends[0], ends[1])).collect();
    let regions = RegionSums::new(timelines.program(), timelines.paths());
    let mut sums = (PhaseWork::new(timelines, options.io_idle, analysis, &phases), regions);
    sweep(&Unfolded(timelines), options.io_idle, &mut sums)?;
    let (work, regions) = sums;
    let charged = work.into_charged();
    let phases = phases.into_iter().zip(charged).map(|(phase, charged)| with_most(phase, &charged));
    Ok(Phases { phases: phases.collect(), curve, regions: regions.into_regions() })
}

fn phase_of(curve: &ParallelismCurve, from: usize, to: usize) -> ProposedPhase {
    let bins = &curve.bins[from..to];
    let length: u64 = bins.iter().map(|bin| bin.length).sum();
    let mean = |of: fn(&Bin) -> f64| {
        bins.iter().map(|bin| of(bin) * bin.length as f64).sum::<f64>() / length.max(1) as f64
    };
    let from = from as u64 * curve.width;
    ProposedPhase {
        from,
        to: from + length,
        effective: mean(|bin| bin.effective),
        nominal: mean(|bin| bin.nominal),
        ..ProposedPhase::default()
    }
}

fn with_most(phase: ProposedPhase, charged: &[f64]) -> ProposedPhase {
    let most = charged.iter().enumerate().max_by(|(a, one), (b, other)| one.total_cmp(other).then(b.cmp(a)));
    let most = most
        .filter(|&(_, &time)| time > 0.0)
        .map(|(index, &time)| (ProcedureId(u32::try_from(index).expect("fewer than 2^32 procedures")), time));
    ProposedPhase { npt: charged.iter().sum(), most, ..phase }
}

/// Sums over the first bins, for the squared differences of any piece.
struct PrefixSums(Vec<[f64; 3]>);

impl PrefixSums {
    fn of(bins: &[Bin]) -> PrefixSums {
        let mut sums = vec![[0.0; 3]];
        let mut sum = [0.0; 3];
        let width = bins.first().map_or(1, |bin| bin.length).max(1) as f64;
        for bin in bins {
            // Bins of full length weigh 1.
            let weight = bin.length as f64 / width;
            for (power, sum) in sum.iter_mut().enumerate() {
                *sum += weight * bin.effective.powi(power as i32);
            }
            sums.push(sum);
        }
        PrefixSums(sums)
    }

    /// Squared differences of the bins `from..to` from their mean.
    fn spread(&self, from: usize, to: usize) -> f64 {
        let [weight, sum, squares] = [0, 1, 2].map(|power| self.0[to][power] - self.0[from][power]);
        if weight > 0.0 { (squares - sum * sum / weight).max(0.0) } else { 0.0 }
    }

    fn mean(&self) -> f64 {
        let last = self.0[self.0.len() - 1];
        if last[0] > 0.0 { last[1] / last[0] } else { 0.0 }
    }
}

/// Borders of the pieces, as numbers of bins, the begin and the end of the run included.
fn cuts(bins: &[Bin]) -> Vec<usize> {
    let count = bins.len();
    if count == 0 {
        return Vec::new();
    }
    let sums = PrefixSums::of(bins);
    let penalty = penalty(bins, &sums);
    let shortest = ((count as f64 * SHORTEST).ceil() as usize).max(1);
    // best[k][to]: least squares of the first `to` bins in k + 1 pieces, and where the last of them begins.
    let mut best: Vec<Vec<(f64, usize)>> = vec![(0..=count).map(|to| (sums.spread(0, to), 0)).collect()];
    for pieces in 1..MOST.min(count / shortest) {
        let before = &best[pieces - 1];
        let last_begin = |to: usize| {
            let begins = pieces * shortest..(to + 1).saturating_sub(shortest);
            let squares = begins.map(|begin| (before[begin].0 + sums.spread(begin, to), begin));
            squares.min_by(|one, other| one.0.total_cmp(&other.0)).unwrap_or((f64::INFINITY, 0))
        };
        best.push((0..=count).map(last_begin).collect());
    }
    let cost = |(pieces, squares): (usize, &Vec<(f64, usize)>)| squares[count].0 + penalty * pieces as f64;
    let costs = best.iter().enumerate().map(cost).enumerate();
    let chosen = costs.min_by(|one, other| one.1.total_cmp(&other.1)).map_or(0, |(pieces, _)| pieces);
    let mut borders = vec![count];
    let mut end = count;
    for pieces in (0..=chosen).rev() {
        end = best[pieces][end].1;
        borders.push(end);
    }
    borders.reverse();
    borders
}

/// What a piece costs.
fn penalty(bins: &[Bin], sums: &PrefixSums) -> f64 {
    let count = bins.len() as f64;
    let mut steps: Vec<f64> =
        bins.windows(2).map(|pair| (pair[1].effective - pair[0].effective).abs()).collect();
    steps.sort_by(f64::total_cmp);
    // The median of |x − y| of two normal numbers of deviation σ is 0.954 σ.
    let deviation = steps.get(steps.len() / 2).map_or(0.0, |median| median / 0.954);
    let noise = 3.0 * deviation * deviation * count.ln();
    let (part, threads, share) = LEAST;
    let difference = f64::max(threads, share * sums.mean());
    let least = count * part * (1.0 - part) * difference * difference;
    f64::max(SAVED * sums.spread(0, bins.len()), noise).max(least)
}

#[cfg(test)]
mod tests {
    use longpole_event::Time;
    use longpole_testkit::{MemoryTimelines, draw, random_timelines};
    use proptest::prelude::*;

    use super::*;
    use crate::{By, Node, analyse, rows};

    fn of(made: &MemoryTimelines) -> Phases {
        let Ok(analysis) = analyse(made, &MetricOptions::default());
        let Ok(phases) = phases(made, &MetricOptions::default(), &analysis);
        phases
    }

    fn spans(phases: &Phases) -> Vec<(u64, u64, f64)> {
        phases.phases.iter().map(|phase| (phase.from, phase.to, phase.effective)).collect()
    }

    /// A bin of each level.
    fn bins(levels: &[f64]) -> Vec<Bin> {
        levels.iter().map(|&effective| Bin { length: 1, effective, nominal: effective }).collect()
    }

    #[test]
    fn a_run_is_cut_where_its_parallelism_changes() {
        let serial = "LLLLLLLLLLLLLLLLLLLLjjjjjjjjjjjjjjjjjjjjMMMMMMMMMM";
        let worker = "____________________AAAAAAAAAAAAAAAAAAAA";
        let made = draw(&format!("T1 {serial}\nT2 {worker}\nT3 {worker}\nT4 {worker}"));
        let phases = of(&made);
        assert_eq!(spans(&phases), [(0, 20, 1.0), (20, 40, 3.0), (40, 50, 1.0)]);
        let most = |phase: &ProposedPhase| {
            let (procedure, time) = phase.most.expect("somebody works");
            (made.paths.procedure_named_by(procedure).name.clone(), time.round() as u64)
        };
        let named: Vec<_> = phases.phases.iter().map(most).collect();
        assert_eq!(named, [("L".to_owned(), 20), ("A".to_owned(), 20), ("M".to_owned(), 10)]);
    }

    #[test]
    fn even_parallelism_is_one_phase() {
        assert_eq!(spans(&of(&draw("T1 AAAAAAAAAA\nT2 BBBBBBBBBB"))), [(0, 10, 2.0)]);
        assert_eq!(cuts(&[]), Vec::<usize>::new());
        assert_eq!(cuts(&bins(&[1.0])), [0, 1]);
    }

    #[test]
    fn rounds_that_are_repeated_are_one_phase() {
        let rounds: Vec<f64> = (0..512).map(|bin| if bin / 8 % 2 == 0 { 4.0 } else { 1.0 }).collect();
        assert_eq!(cuts(&bins(&rounds)), [0, 512]);
    }

    #[test]
    fn noise_is_no_phase_and_a_change_within_it_is_one() {
        // A fixed sequence of pseudo-random numbers from −1 to 1.
        let mut random = 7_u64;
        let mut noise = move || {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 40) as f64 / f64::from(1 << 23) - 1.0
        };
        let flat: Vec<f64> = (0..512).map(|_| 4.0 + noise()).collect();
        assert_eq!(cuts(&bins(&flat)), [0, 512]);
        let step: Vec<f64> = (0..512).map(|bin| if bin < 200 { 4.0 } else { 6.0 } + noise()).collect();
        let found = cuts(&bins(&step));
        assert_eq!(found.len(), 3);
        assert!(found[1].abs_diff(200) <= 3, "{found:?}");
    }

    #[test]
    fn no_phase_is_shorter_than_a_hundredth_of_the_run() {
        let spikes: Vec<f64> = (0..500).map(|bin| if bin == 250 { 400.0 } else { 1.0 }).collect();
        let found = cuts(&bins(&spikes));
        assert!(found.windows(2).all(|pair| pair[1] - pair[0] >= 5), "{found:?}");
    }

    #[test]
    fn at_most_eight_phases_are_proposed() {
        let stairs: Vec<f64> = (0..480).map(|bin| f64::from(bin / 40)).collect();
        assert!(cuts(&bins(&stairs)).len() <= 9);
    }

    proptest! {
        /// The cuts cost no more than any other cuts into as many pieces, tried one by one.
        #[test]
        fn no_other_cut_is_better(levels in proptest::collection::vec(0..6_u8, 2..11)) {
            let bins = bins(&levels.iter().map(|&level| f64::from(level)).collect::<Vec<_>>());
            let sums = PrefixSums::of(&bins);
            let penalty = penalty(&bins, &sums);
            let cost = |borders: &[usize]| {
                let spread = |piece: &[usize]| {
                    let values = &bins[piece[0]..piece[1]];
                    let mean = values.iter().map(|bin| bin.effective).sum::<f64>() / values.len() as f64;
                    values.iter().map(|bin| (bin.effective - mean).powi(2)).sum::<f64>()
                };
                borders.windows(2).map(|piece| spread(piece) + penalty).sum::<f64>()
            };
            let chosen = cost(&cuts(&bins));
            for mask in 0_u32..1 << (bins.len() - 1) {
                let inner = (1..bins.len()).filter(|&at| mask & (1 << (at - 1)) != 0);
                let borders: Vec<usize> = std::iter::once(0).chain(inner).chain([bins.len()]).collect();
                if borders.len() <= MOST + 1 {
                    prop_assert!(chosen <= cost(&borders) + 1e-9, "{:?}", borders);
                }
            }
        }

        #[test]
        fn phases_have_no_gaps_and_their_time_is_that_of_the_run(made in random_timelines(4, 80)) {
            let phases = of(&made);
            let elapsed = made.program.elapsed_nanoseconds;
            let mut end = 0;
            for phase in &phases.phases {
                prop_assert_eq!(phase.from, end);
                end = phase.to;
            }
            prop_assert_eq!(end, elapsed);
            let area: f64 = phases.phases.iter().map(|phase| phase.effective * (phase.to - phase.from) as f64).sum();
            let Ok(analysis) = analyse(&made, &MetricOptions::default());
            prop_assert!((area - analysis.effective_parallelism() * elapsed as f64).abs() < 1e-6);
        }

        /// What the phases' procedures were charged is what the procedures are charged in each phase alone.
        #[test]
        fn charges_of_a_phase_are_those_of_the_phase_as_a_run(made in random_timelines(4, 80)) {
            for phase in of(&made).phases {
                let (from, to) = (Time::from_nanoseconds(phase.from), Time::from_nanoseconds(phase.to));
                let Ok(part) = longpole_trace::Phase::new(&made, from, Some(to));
                let Ok(analysis) = analyse(&part, &MetricOptions::default());
                let rows = rows(&analysis, part.program(), part.paths(), By::Procedure, |_| true);
                let npt: f64 = rows.iter().map(|row| row.own.npt()).sum();
                prop_assert!((phase.npt - npt).abs() < 1e-6, "{} {}", phase.npt, npt);
                let most = rows.iter().map(|row| row.own.npt()).fold(0.0, f64::max);
                let (node, time) = phase.most.map_or((None, 0.0), |(id, time)| (Some(Node::Procedure(id)), time));
                prop_assert!((time - most).abs() < 1e-6, "{:?} {} {}", node, time, most);
            }
        }
    }
}
