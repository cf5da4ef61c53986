use longpole_testkit::altered::{Altered, gain};
use longpole_testkit::{MemoryTimelines, draw, random_timelines};
use longpole_trace::Fold;
use proptest::prelude::*;

use super::*;
use crate::Order;

/// Oracles follow every arc of a random graph, whatever it stands for.
const RECORDED: MetricOptions = MetricOptions { io_idle: false, order: Order::Recorded };
use crate::analyse;

fn procedure(made: &MemoryTimelines, name: &str, factor: f64) -> WorkChange {
    WorkChange { subject: ChangeSubject::Procedure(made.procedure(name)), factor }
}

fn tried(made: &MemoryTimelines, changes: &[WorkChange]) -> WhatIf {
    let folding = Folding::new(&made.paths, Fold::Libraries);
    let Ok(analysis) = analyse(made, &RECORDED);
    let Ok(found) = what_if(made, &RECORDED, &analysis, changes, &folding);
    found
}

#[test]
fn changes_gain_less_together_than_the_sum_where_they_are_on_one_path_s_way_to_another() {
    let made = draw("T1 AAAABBBB\nT2 AACCCCCC");
    let (a, c) = (procedure(&made, "A", 0.5), procedure(&made, "C", 0.5));
    let found = tried(&made, &[a, c]);
    assert_eq!(found.before, RecordedLengths { path: 8, elapsed: 8 });
    // A: T1 2 + 4, T2 1 + 6. C: T1 still 8. Both: T1 2 + 4, T2 1 + 3.
    assert_eq!(found.alone.iter().map(|saved| saved.path).collect::<Vec<_>>(), [1.0, 0.0]);
    assert_eq!(found.together.path, 2.0);
    let path: Vec<(&str, u64)> = found
        .path
        .iter()
        .map(|charge| {
            let place = made.paths.innermost(charge.path).expect("a drawn path");
            (made.paths.procedure_named_by(place.procedure).name.as_str(), charge.measures.critical_cpu)
        })
        .collect();
    assert_eq!(path, [("A", 2), ("B", 4)]);
}

#[test]
fn work_that_two_changes_meet_is_multiplied_by_both() {
    let made = draw("T1 AAAAAAAA");
    let thread = WorkChange { subject: ChangeSubject::Threads(vec![made.thread("T1")]), factor: 0.5 };
    let found = tried(&made, &[procedure(&made, "A", 0.5), thread]);
    // 8 × 0.5 × 0.5 = 2.
    assert_eq!(
        found.together,
        PredictedGain { path: 6.0, elapsed: 6.0, elapsed_least: 6.0, elapsed_most: 6.0 }
    );
}

#[test]
fn what_a_procedure_sleeps_by_itself_goes_at_most_and_stays_at_least() {
    let made = draw("T1 AAzzzzBB");
    let found = tried(&made, &[procedure(&made, "A", 0.0), procedure(&made, "B", 0.0)]);
    let gains = |of: PredictedGain| (of.elapsed_least, of.elapsed, of.elapsed_most);
    assert_eq!(
        found.alone.iter().map(|&of| gains(of)).collect::<Vec<_>>(),
        [(2.0, 2.0, 6.0), (2.0, 2.0, 2.0)]
    );
    assert_eq!(found.own_waits, 4.0);
    // Half as long: half of it may go.
    assert_eq!(gains(tried(&made, &[procedure(&made, "A", 0.5)]).together), (1.0, 1.0, 3.0));
}

#[test]
fn what_takes_longer_makes_the_run_longer() {
    let made = draw("T1 AAAA\nT2 BBB");
    assert_eq!(tried(&made, &[procedure(&made, "A", 2.0)]).together.path, -4.0);
    // B at 2 is 6 long, 2 longer than A.
    assert_eq!(tried(&made, &[procedure(&made, "B", 2.0)]).together.path, -2.0);
}

#[test]
fn inclusive_changes_meet_what_is_done_on_behalf() {
    let made = draw("A = main\nB = main > work\nT1 ABBB");
    let main = made.procedure("main");
    let own = WorkChange { subject: ChangeSubject::Procedure(main), factor: 0.0 };
    let all = WorkChange { subject: ChangeSubject::Inclusive(main), factor: 0.0 };
    let found = tried(&made, &[own, all]);
    assert_eq!(found.alone.iter().map(|saved| saved.path).collect::<Vec<_>>(), [1.0, 4.0]);
}

#[test]
fn own_work_is_what_is_folded_into_it() {
    let made = draw("A = main\nB = main > encode\nC = main > encode > memset\nT1 ABBCCC");
    let change = |subject| WorkChange { subject, factor: 0.0 };
    let (encode, memset) = (made.procedure("encode"), made.procedure("memset"));
    let changes = [
        change(ChangeSubject::Procedure(encode)),
        change(ChangeSubject::Inclusive(memset)),
        change(ChangeSubject::Procedure(made.procedure("main"))),
    ];
    let found = tried(&made, &changes);
    assert_eq!(found.alone.iter().map(|saved| saved.path).collect::<Vec<_>>(), [5.0, 3.0, 1.0]);
}

#[test]
fn half_the_wait_for_an_object_is_half_the_way_to_none() {
    let made = draw("1 = mutex m\nT1 SSSSI\nT2 1111SSSSI\nT1@4 -> T2 unlock");
    let object = |factor| WorkChange { subject: ChangeSubject::Objects(vec![made.object("m")]), factor };
    // T2: 4 + 4 + 1 = 9; without the wait 5; with half of it 2 + 4 + 1 = 7.
    for (factor, gained) in [(0.0, 4.0), (0.5, 2.0), (1.0, 0.0)] {
        assert_eq!(
            tried(&made, &[object(factor)]).together,
            PredictedGain { path: gained, elapsed: gained, elapsed_least: gained, elapsed_most: gained }
        );
    }
}

#[test]
fn elapsed_time_is_predicted_beside_the_path() {
    // A 3, then a device for 4, then B 2: the path is 5 long, the run 9. Without A: 2, and 4 + 2.
    let made = draw("T1 AAA::::BB");
    let found = tried(&made, &[procedure(&made, "A", 0.0)]);
    assert_eq!(found.before, RecordedLengths { path: 5, elapsed: 9 });
    assert!(is_close(found.together.path, 3.0) && is_close(found.together.elapsed, 3.0));
}

/// A change of something that the run has.
fn change(made: &MemoryTimelines, choice: usize, factor: f64) -> WorkChange {
    let procedures = made.paths.procedures().len();
    let procedure = ProcedureId((choice / 4 % procedures.max(1)) as u32);
    let subject = match choice % 4 {
        _ if procedures == 0 => ChangeSubject::Threads(vec![ThreadId(0)]),
        0 => ChangeSubject::Procedure(procedure),
        1 => ChangeSubject::Inclusive(procedure),
        2 => ChangeSubject::Threads(vec![ThreadId((choice / 4 % made.program.threads.len()) as u32)]),
        _ if made.objects.all().is_empty() => ChangeSubject::Lines(vec![(procedure, 1)]),
        _ => ChangeSubject::Objects(vec![ObjectId((choice / 4 % made.objects.all().len()) as u32)]),
    };
    WorkChange { subject, factor }
}

/// The gain of the path by a walk through time.
fn slowly(made: &MemoryTimelines, changes: &[WorkChange]) -> f64 {
    let folding = Folding::new(&made.paths, Fold::Libraries);
    let tree = (&made.program, &made.paths, &folding);
    let work = |thread, path, _| {
        let is_met = |change: &&WorkChange| change.subject.has(tree, thread, path);
        changes.iter().filter(is_met).map(|change| change.factor).product()
    };
    let object = |object| {
        let is_met = |change: &&WorkChange| matches!(&change.subject, ChangeSubject::Objects(all) if all.contains(&object));
        changes.iter().filter(is_met).map(|change| change.factor).product()
    };
    gain(made, &Altered { elapsed: false, work: &work, object: &object })
}

fn is_close(one: f64, other: f64) -> bool {
    (one - other).abs() < 1e-6
}

proptest! {
    #[test]
    fn a_walk_through_time_finds_the_same(
        made in random_timelines(5, 60),
        chosen in proptest::collection::vec((any::<u16>(), 0..6_u8), 1..4),
    ) {
        let changes: Vec<WorkChange> = chosen
            .iter()
            .map(|&(choice, factor)| change(&made, choice.into(), f64::from(factor) / 4.0))
            .collect();
        let found = tried(&made, &changes);
        let slow = slowly(&made, &changes);
        prop_assert!(is_close(found.together.path, slow), "{} {slow}", found.together.path);
        for (saved, change) in found.alone.iter().zip(&changes) {
            let one = std::slice::from_ref(change);
            prop_assert!(is_close(saved.path, slowly(&made, one)));
        }
    }

    #[test]
    fn changing_nothing_gains_nothing_and_the_base_is_the_critical_path(made in random_timelines(5, 80), choice in any::<u16>()) {
        let found = tried(&made, &[change(&made, choice.into(), 1.0)]);
        let Ok(analysis) = analyse(&made, &RECORDED);
        prop_assert_eq!(found.before.path, analysis.critical_cpu.length);
        prop_assert!(is_close(found.together.path, 0.0) && is_close(found.together.elapsed, 0.0));
        let on_path: u64 = found.path.iter().map(|charge| charge.measures.critical_cpu).sum();
        prop_assert_eq!(on_path, analysis.critical_cpu.length);
    }

    #[test]
    fn zeroing_everything_leaves_no_path(made in random_timelines(5, 80)) {
        let all = (0..made.program.threads.len()).map(ThreadId::from_index).collect();
        let found = tried(&made, &[WorkChange { subject: ChangeSubject::Threads(all), factor: 0.0 }]);
        prop_assert_eq!(found.together.path, found.before.path as f64);
        prop_assert!(found.path.iter().all(|charge| charge.measures.critical_cpu == 0));
    }

    #[test]
    fn less_work_gains_more(mut made in random_timelines(5, 60), choice in any::<u16>()) {
        // On few processors less work can let others come in the way.
        made.program.machines[0].cpus = 1000;
        let gain = |factor| tried(&made, &[change(&made, choice.into(), factor)]).together;
        let gains: Vec<PredictedGain> = [1.0, 0.75, 0.5, 0.25, 0.0].map(gain).into();
        prop_assert!(gains.windows(2).all(|two| two[0].path <= two[1].path + 1e-6));
        prop_assert!(gains.windows(2).all(|two| two[0].elapsed <= two[1].elapsed + 1e-6));
    }

    #[test]
    fn the_path_after_changes_of_work_is_as_long_as_it_says(made in random_timelines(5, 60), choice in any::<u16>()) {
        // Work of half a nanosecond is no whole number of them, so all or nothing.
        let all = [change(&made, choice.into(), 0.0)];
        prop_assume!(!matches!(all[0].subject, ChangeSubject::Objects(_)));
        let found = tried(&made, &all);
        let on_path: u64 = found.path.iter().map(|charge| charge.measures.critical_cpu).sum();
        prop_assert!(is_close(found.before.path as f64 - found.together.path, on_path as f64));
    }
}
