//! A run cut in two at any time: what is charged to both parts together is what is charged to the whole.

use std::collections::BTreeMap;

use longpole_event::Time;
use longpole_metrics::{Analysis, MetricOptions, analyse};
use longpole_testkit::{MemoryTimelines, draw, random_timelines};
use longpole_trace::{PathId, Phase, Program, Timelines};
use proptest::prelude::*;

/// By tid and path: running, spinning, ready and blocked time, and normalised processor time in millionths.
type Charges = BTreeMap<(u32, PathId), [i64; 6]>;

fn add(charges: &mut Charges, analysis: &Analysis, program: &Program) {
    for charge in &analysis.charges {
        let measures = &charge.measures;
        let times = [
            measures.running,
            measures.spinning,
            measures.overhead,
            measures.ready,
            measures.blocked_in_all(),
            (measures.npt() * 1e6).round() as u64,
        ];
        if times == [0; 6] {
            continue;
        }
        let sums = charges.entry((program.threads[charge.thread.index()].tid, charge.path)).or_default();
        for (sum, time) in sums.iter_mut().zip(times) {
            *sum += time as i64;
        }
    }
}

fn analysis<T: Timelines<Error = std::convert::Infallible> + Sync>(timelines: &T, io_idle: bool) -> Analysis {
    let Ok(analysis) = analyse(timelines, &MetricOptions { io_idle, ..MetricOptions::default() });
    analysis
}

fn charges_of_parts(made: &MemoryTimelines, cuts: &[u64], io_idle: bool) -> (Charges, u64) {
    let mut charges = Charges::new();
    let mut elapsed = 0;
    for (index, &from) in cuts.iter().enumerate() {
        let to = cuts.get(index + 1).copied().map(Time::from_nanoseconds);
        let Ok(phase) = Phase::new(made, Time::from_nanoseconds(from), to);
        let analysis = analysis(&phase, io_idle);
        elapsed += analysis.elapsed;
        add(&mut charges, &analysis, phase.program());
    }
    (charges, elapsed)
}

fn is_same(parts: &Charges, whole: &Charges) -> bool {
    parts.len() == whole.len()
        && parts.iter().zip(whole).all(|((key, part), (other, all))| {
            // Each part rounds its normalised time.
            key == other && part[..4] == all[..4] && (part[4] - all[4]).abs() <= 3
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn parts_add_up_to_the_whole(made in random_timelines(5, 60), one in 0.0..1.0, two in 0.0..1.0, io_idle: bool) {
        let elapsed = made.program.elapsed_nanoseconds;
        let at = |share: f64| (share * elapsed as f64) as u64;
        let mut cuts = vec![0, at(one), at(two)];
        cuts.sort_unstable();
        cuts.dedup();
        let mut whole = Charges::new();
        add(&mut whole, &analysis(&made, io_idle), &made.program);
        let (parts, sum) = charges_of_parts(&made, &cuts, io_idle);
        prop_assert_eq!(sum, elapsed);
        prop_assert!(is_same(&parts, &whole), "cut at {:?}: {:?} is not {:?}", cuts, parts, whole);
    }

    #[test]
    fn all_of_a_run_as_a_phase_is_the_run(made in random_timelines(5, 60)) {
        let Ok(phase) = Phase::new(&made, Time::ZERO, None);
        let (one, other) = (analysis(&phase, false), analysis(&made, false));
        prop_assert_eq!(&one.busy, &other.busy);
        prop_assert_eq!(one.critical_cpu.length, other.critical_cpu.length);
        prop_assert_eq!(one.critical_elapsed.length, other.critical_elapsed.length);
    }

    #[test]
    fn the_elapsed_path_of_a_phase_is_as_long_as_the_phase(made in random_timelines(5, 60), from in 0.0..0.9, length in 0.1..1.0) {
        let elapsed = made.program.elapsed_nanoseconds;
        let begin = (from * elapsed as f64) as u64;
        let end = begin + (length * (elapsed - begin) as f64) as u64;
        prop_assume!(begin < end);
        let Ok(phase) = Phase::new(&made, Time::from_nanoseconds(begin), Some(Time::from_nanoseconds(end)));
        prop_assume!(!phase.program().threads.is_empty());
        let analysis = analysis(&phase, false);
        prop_assert_eq!(analysis.critical_elapsed.length, end - begin);
        let charged: u64 = analysis.charges.iter().map(|charge| charge.measures.critical_elapsed).sum();
        prop_assert_eq!(charged, end - begin);
    }
}

#[test]
fn work_before_the_cut_that_is_seen_after_it_is_divided_at_the_cut() {
    // Nobody looks at T1 before 8.
    let made = draw("T1 AAAAAAAA\nT2 BBBB");
    let part = |from: u64, to: Option<u64>| {
        let Ok(phase) = Phase::new(&made, Time::from_nanoseconds(from), to.map(Time::from_nanoseconds));
        let analysis = analysis(&phase, false);
        analysis
            .charges
            .iter()
            .map(|charge| (charge.measures.running, charge.measures.npt()))
            .collect::<Vec<_>>()
    };
    assert_eq!(part(0, Some(3)), [(3, 1.5), (3, 1.5)]);
    assert_eq!(part(3, None), [(5, 4.5), (1, 0.5)]);
}
