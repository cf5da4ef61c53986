//! The division of CPU time held to the truth, on programs of which every nanosecond is known (metrics.md §1, rule 6).
//!
//! Each run of a program gives rows: of CPU time, of normalised processor time, of time on the critical path. A row's *miss*
//! is its distance from the truth in its own standard errors. `LONGPOLE_CHARGING_RUNS=200` takes so many runs of each
//! program, prints the table of `benches/runs/`, and takes programs of up to 10^6 bursts a second at all rates (with
//! `LONGPOLE_CHARGING_BURSTS=1000` those of 1,000 bursts a second only).

#![allow(clippy::unwrap_used, reason = "a test that cannot be set up fails")]
#![allow(clippy::print_stdout, reason = "the long version prints a table")]

use std::collections::BTreeMap;

use longpole_metrics::{
    Analysis, By, DetailsDemand, Gain, GainsOf, Measures, MetricOptions, Node, Precision, Weight, analyse,
    details, total,
};
use longpole_testkit::{MemoryTimelines, SampledProgram, SampledRun, WorkPiece};
use longpole_trace::{Item, ItemKind, ObservationKind, PathId};

/// Samples that a row has to expect to be judged.
const FEWEST: f64 = 5.0;

/// What a piece of work of a run really took.
type Truth<'a> = Box<dyn Fn(&SampledRun, &WorkPiece, &Analysis) -> f64 + 'a>;

/// What is estimated of a run.
struct Figure<'a> {
    name: &'static str,
    of: fn(&Measures) -> f64,
    truth: Truth<'a>,
    precision: fn(&Analysis) -> &Precision,
}

fn figures() -> [Figure<'static>; 3] {
    [
        Figure {
            name: "CPU",
            of: |measures| measures.running as f64,
            truth: Box::new(|_, piece, _| piece.to.since(piece.from) as f64),
            precision: |analysis| &analysis.precisions.cpu,
        },
        Figure {
            name: "NPT",
            of: Measures::npt,
            truth: Box::new(|run, piece, _| run.normalised(piece)),
            precision: |analysis| &analysis.precisions.npt,
        },
        Figure {
            name: "path",
            of: |measures| measures.critical_cpu as f64,
            truth: Box::new(|_, piece, analysis| on_path(piece, analysis)),
            precision: |analysis| &analysis.precisions.critical,
        },
    ]
}

fn on_path(piece: &WorkPiece, analysis: &Analysis) -> f64 {
    let segments = &analysis.critical_cpu.segments;
    let first = segments.partition_point(|segment| segment.to <= piece.from);
    let near = segments[first..].iter().take_while(|segment| segment.from < piece.to);
    let of_thread = near.filter(|segment| segment.thread == piece.thread);
    of_thread.map(|segment| segment.to.min(piece.to).since(segment.from.max(piece.from)) as f64).sum()
}

/// Misses of rows, in standard errors.
#[derive(Default)]
struct Misses(Vec<f64>);

impl Misses {
    fn within(&self, errors: f64) -> f64 {
        let within = self.0.iter().filter(|&&miss| miss.abs() <= errors).count();
        100.0 * within as f64 / self.0.len() as f64
    }

    /// Whether so many percent are above a limit by more than two standard errors of a percentage of so many rows.
    fn is_above(&self, limit: f64, percent: f64) -> bool {
        percent > limit + 2.0 * (limit * (100.0 - limit) / self.0.len() as f64).sqrt()
    }

    /// The mean miss; what no sample found counts as three errors off.
    fn mean(&self) -> f64 {
        self.0.iter().map(|miss| miss.clamp(-3.0, 3.0)).sum::<f64>() / self.0.len() as f64
    }
}

/// The misses of all rows of so many runs, by figure; and of all rows their largest distance in points.
fn judge(program: SampledProgram, runs: u64) -> (BTreeMap<&'static str, Misses>, f64) {
    let mut misses: BTreeMap<&str, Misses> = BTreeMap::new();
    let mut worst: f64 = 0.0;
    for seed in 0..runs {
        let run = SampledProgram { seed: seed * 7919 + 1, ..program }.run();
        let Ok(analysis) = analyse(&run.timelines, &MetricOptions::default());
        for figure in figures() {
            let estimated = by_path(&analysis, figure.of);
            let mut truth: BTreeMap<PathId, f64> = BTreeMap::new();
            for piece in &run.pieces {
                *truth.entry(piece.path).or_default() += (figure.truth)(&run, piece, &analysis);
            }
            let whole = truth.values().sum::<f64>();
            let precision = (figure.precision)(&analysis);
            let (samples, precision) = (precision.samples() as f64, precision.by_row(Some));
            for (&path, &truth) in &truth {
                let miss = estimated.get(&path).copied().unwrap_or(0.0) - truth;
                worst = worst.max(100.0 * miss.abs() / whole);
                // The figure's share of the samples, as the row has it.
                if truth / whole * samples < FEWEST {
                    continue;
                }
                let error = precision.error(path).unwrap();
                misses.entry(figure.name).or_default().0.push(miss / error);
            }
        }
    }
    (misses, worst)
}

fn by_path(analysis: &Analysis, of: fn(&Measures) -> f64) -> BTreeMap<PathId, f64> {
    let mut sums = BTreeMap::new();
    for charge in &analysis.charges {
        *sums.entry(charge.path).or_default() += of(&charge.measures);
    }
    sums
}

/// A program of so many bursts a second under a timer of so many hertz, long enough for about 400 samples.
fn program(bursts: f64, hertz: f64) -> SampledProgram {
    let work = 100e9 / hertz;
    SampledProgram {
        seed: 0,
        threads: 4,
        work: work as u64,
        bursts,
        period: 1e9 / hertz,
        jitter: 0.4,
        // As the recorder's timers do.
        hold: 40e6_f64.max(8e9 / hertz),
        ticks: 0,
    }
}

/// Rates of bursts and of the timer: those that a test has time for, or all.
fn rates(is_long: bool) -> Vec<(f64, f64)> {
    let quick = [(10.0, 99.0), (10.0, 499.0), (1e3, 99.0), (1e3, 499.0), (1e4, 4999.0), (1e5, 4999.0)];
    if !is_long {
        return quick.to_vec();
    }
    let mut all = Vec::new();
    for bursts in [10.0, 100.0, 1e3, 1e4, 1e5, 1e6] {
        all.extend(
            [99.0, 499.0, 999.0, 4999.0]
                .map(|hertz| (bursts, hertz))
                .iter()
                .filter(|(bursts, hertz)| bursts / hertz <= 1100.0),
        );
    }
    let only = std::env::var("LONGPOLE_CHARGING_BURSTS").ok().and_then(|bursts| bursts.parse::<f64>().ok());
    all.retain(|&(bursts, _)| only.is_none_or(|only| bursts == only));
    all
}

/// Whether hardly any burst has two samples: one in fifty is longer than the timer's interval. There an error that is too large is no virtue:
/// all these programs have more than 100 samples. In longer bursts the timer's regularity spreads the samples more evenly than chance would.
fn has_short_bursts(bursts: f64, hertz: f64) -> bool {
    bursts >= 4.0 * hertz
}

fn long_runs() -> Option<u64> {
    std::env::var("LONGPOLE_CHARGING_RUNS").ok().and_then(|runs| runs.parse().ok())
}

fn is_long() -> bool {
    long_runs().is_some()
}

#[test]
fn rows_are_as_far_from_the_truth_as_their_errors_say() {
    let long = long_runs();
    let mut failures = Vec::new();
    for (bursts, hertz) in rates(long.is_some()) {
        for ticks in [0, 1_000_000] {
            let (misses, worst) =
                judge(SampledProgram { ticks, ..program(bursts, hertz) }, long.unwrap_or(12));
            for (figure, misses) in misses {
                let (one, two) = (misses.within(1.0), misses.within(2.0));
                let line = format!(
                    "| {bursts} | {hertz} | {} | {figure} | {} | {one:.0} % | {two:.0} % | {:+.2} | {worst:.1} |",
                    if ticks > 0 { "timer" } else { "others" },
                    misses.0.len(),
                    misses.mean()
                );
                println!("{line}");
                let is_too_large = misses.is_above(80.0, one) || misses.is_above(98.0, two);
                if one < 60.0 || two < 91.0 || (is_too_large && has_short_bursts(bursts, hertz)) {
                    failures.push(line);
                }
            }
        }
    }
    assert!(
        failures.is_empty(),
        "rate, hertz, woken by, figure, rows, within one, within two:\n{}",
        failures.join("\n")
    );
}

/// The run as a collector that sees every change of path would have recorded it.
fn told(run: &SampledRun) -> MemoryTimelines {
    let boundary = |piece: &WorkPiece| Item {
        time: piece.to,
        thread: piece.thread,
        what: ItemKind::Observe { path: piece.path, kind: ObservationKind::Boundary },
    };
    let mut told = run.timelines.clone();
    told.items
        .retain(|item| !matches!(item.what, ItemKind::Observe { kind: ObservationKind::Sample { .. }, .. }));
    // At one time a boundary comes before what the thread does there.
    let mut items: Vec<Item> = run.pieces.iter().map(boundary).collect();
    items.append(&mut told.items);
    items.sort_by_key(|item| item.time);
    told.items = items;
    told
}

/// Zeroing and slack of each procedure, in points of the path, and the standard error of its time on the path.
fn gains(made: &MemoryTimelines) -> BTreeMap<Node, [f64; 3]> {
    let options = MetricOptions::default();
    let Ok(analysis) = analyse(made, &options);
    let demand = DetailsDemand {
        gains: Some(GainsOf { by: By::Procedure, weight: Weight::Cpu }),
        ..DetailsDemand::default()
    };
    let Ok(details) = details(made, &options, &demand, &analysis);
    let found = details.gains.unwrap();
    let node = |path| made.paths.innermost(path).map(|place| Node::Procedure(place.procedure));
    let precision = analysis.precisions.critical.by_row(node);
    let points = |time: f64| 100.0 * time / found.length as f64;
    let gain = |gain: &Gain| {
        let error = precision.error(gain.node).unwrap_or(0.0);
        (gain.node, [gain.zeroing, gain.slack, error].map(points))
    };
    found.gains.iter().map(gain).collect()
}

/// Gains follow threads through time; what samples leave open must not make them larger or smaller than they are.
#[test]
fn gains_are_those_of_a_run_of_which_every_moment_is_known() {
    let runs = if is_long() { 100 } else { 6 };
    for (bursts, hertz) in rates(is_long()) {
        let mut misses: BTreeMap<Node, Vec<[f64; 3]>> = BTreeMap::new();
        for seed in 0..runs {
            let run = SampledProgram { seed: seed * 7919 + 1, ..program(bursts, hertz) }.run();
            let (found, truth) = (gains(&run.timelines), gains(&told(&run)));
            for (node, [zeroing, slack, _]) in truth {
                let [found_zeroing, found_slack, error] = found.get(&node).copied().unwrap_or_default();
                let miss = [found_zeroing - zeroing, found_slack - slack, error];
                misses.entry(node).or_default().push(miss);
            }
        }
        for (of, name) in [(0, "zeroing"), (1, "slack")] {
            let mean = |misses: &[[f64; 3]], of: usize| {
                misses.iter().map(|miss| miss[of]).sum::<f64>() / misses.len() as f64
            };
            let mut worst: f64 = 0.0;
            for misses in misses.values() {
                let (miss, error) = (mean(misses, of), mean(misses, 2));
                worst = worst.max(miss.abs());
                // Of the mean of so many runs.
                let limit = 3.0 * error / (misses.len() as f64).sqrt() + 0.25;
                assert!(
                    miss.abs() <= limit,
                    "{bursts} at {hertz} Hz: {name} off by {miss:+.2} points, {limit:.2}"
                );
            }
            println!("| {bursts} | {hertz} | {name} | {} | {runs} | {worst:.2} |", misses.len());
        }
    }
}

/// The largest distance of a row's share of CPU time from the truth, in points.
fn worst_row(run: &SampledRun) -> f64 {
    let Ok(analysis) = analyse(&run.timelines, &MetricOptions::default());
    let mut miss = by_path(&analysis, |measures| measures.running as f64);
    for piece in &run.pieces {
        *miss.entry(piece.path).or_default() -= piece.to.since(piece.from) as f64;
    }
    let whole = total(&analysis, |_| true).running as f64;
    miss.values().fold(0.0, |worst: f64, miss| worst.max(100.0 * miss.abs() / whole))
}

/// What the rules are for: were each observation charged all time before it, sites would get the time of code before them.
#[test]
fn the_later_observation_is_wrong_where_bursts_are_short() {
    let mut run = program(1e5, 4999.0).run();
    let divided = worst_row(&run);
    for item in &mut run.timelines.items {
        if let ItemKind::Observe { kind, .. } = &mut item.what {
            *kind = ObservationKind::Boundary;
        }
    }
    let later = worst_row(&run);
    assert!(divided < 5.0 && later > 20.0, "{divided} {later}");
}

/// A program that sleeps to the next millisecond, under a timer of exactly 2 ms: samples find the same place of each burst.
#[test]
fn a_timer_in_step_is_noticed() {
    let in_step = SampledProgram { ticks: 1_000_000, jitter: 0.0, period: 2e6, ..program(5e3, 499.0) };
    let varied = SampledProgram { jitter: 0.4, ..in_step };
    let check = |program: SampledProgram| {
        let Ok(analysis) = analyse(&program.run().timelines, &MetricOptions::default());
        analysis.timer
    };
    assert!(check(in_step).is_in_step(), "{:?}", check(in_step));
    assert!(!check(varied).is_in_step(), "{:?}", check(varied));
}

#[test]
fn what_is_exact_stays_exact() {
    let run = program(1e4, 4999.0).run();
    let Ok(analysis) = analyse(&run.timelines, &MetricOptions::default());
    for thread in run
        .timelines
        .program
        .threads
        .iter()
        .enumerate()
        .map(|(index, _)| longpole_event::ThreadId::from_index(index))
    {
        let truth: u64 = run
            .pieces
            .iter()
            .filter(|piece| piece.thread == thread)
            .map(|piece| piece.to.since(piece.from))
            .sum();
        assert_eq!(total(&analysis, |other| other == thread).running, truth);
        assert_eq!(analysis.threads[thread.index()].running, truth);
    }
    let all = total(&analysis, |_| true);
    let truth: f64 = run.pieces.iter().map(|piece| run.normalised(piece)).sum();
    assert!((all.npt() - truth).abs() < 1.0, "{} {truth}", all.npt());
    assert_eq!(all.critical_cpu, analysis.critical_cpu.length);
}
