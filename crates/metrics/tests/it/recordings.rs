//! From the folder on disk to the metrics: a drawn run that is written as a recording and opened again has the
//! numbers of the drawing.

#![allow(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

use std::collections::BTreeMap;

use longpole_metrics::{
    Analysis, By, DetailsDemand, LockHoldSums, Measures, MetricOptions, Node, Order, analyse, details, rows,
};
use longpole_testkit::Drawing;
use longpole_trace::{ObjectKind, Timelines, Trace};
use proptest::prelude::*;

fn analysis<T: Timelines<Error: std::fmt::Debug + Send> + Sync>(timelines: &T) -> Analysis {
    // A drawn wait for a lock without a name is for some lock; a recorded one is for the lock at its place.
    analyse(timelines, &MetricOptions { order: Order::Recorded, ..MetricOptions::default() }).unwrap()
}

/// Own and inclusive measures by the procedure's name.
fn table(timelines: &impl Timelines, analysis: &Analysis) -> BTreeMap<String, (Measures, Measures)> {
    let rows = rows(analysis, timelines.program(), timelines.paths(), By::Procedure, |_| true);
    let name = |node| match node {
        Node::Procedure(id) => timelines.paths().procedure_named_by(id).name.clone(),
        other => panic!("{other:?} in a table of procedures"),
    };
    rows.into_iter().map(|row| (name(row.node), (comparable(row.own), comparable(row.inclusive)))).collect()
}

/// Without the number of observations: a collector looks where a drawing does not. Trailing zeros tell nothing.
fn comparable(mut measures: Measures) -> Measures {
    measures.observations = 0;
    while measures.blocked.last() == Some(&0) {
        measures.blocked.pop();
    }
    measures.npt_terms.iter_mut().for_each(|term| *term = term.round());
    measures
}

fn assert_survives(text: &str) {
    let drawing = Drawing::parse(&format!("unit 60000\n{text}")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("drawn.longpole");
    drawing.write(&path).unwrap();
    let (drawn, trace) = (drawing.timelines(), Trace::open(&path).unwrap());
    let (expected, found) = (analysis(&drawn), analysis(&trace));
    assert_eq!(trace.evidence().contradictions, 0, "{text}");
    assert_eq!(table(&trace, &found), table(&drawn, &expected), "{text}");
    assert_eq!(found.elapsed, expected.elapsed, "{text}");
    assert_eq!((found.busy, found.nominal), (expected.busy, expected.nominal), "{text}");
    assert_eq!(found.critical_cpu.length, expected.critical_cpu.length, "{text}");
    assert_eq!(found.critical_elapsed.length, expected.critical_elapsed.length, "{text}");
}

#[test]
fn figure_2_of_the_comparison_of_metrics() {
    assert_survives("T1 AAAAAABBBBBB\nT2 CCCCCCcccccc\nT3 CCCCCCcccccc\nT1@12 -> T2, T3 signal");
}

#[test]
fn locks_barriers_joins_and_created_threads() {
    assert_survives(
        "M = main:3 > start:7
         T1 MMMWWbbMjjjM
         T2 __WWWWWllW__
         T3 ___WWWbLLLL_
         T1@2 -> T2 create
         T1@3 -> T3 create
         T2@7 -> T1, T3 barrier
         T3@9 -> T2 unlock
         T3@11 -> T1 join",
    );
}

#[test]
fn every_cause_of_a_wait() {
    assert_survives("T1 AlAcAbAjAwAsAmApAkAtAoA:AfAzAiAxAuA.A\nT2 BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB");
}

#[test]
fn spins_that_the_program_tells_of() {
    assert_survives(
        "1 = spin lock m
         2 = mutex n
         T1 AA¹¹¹AA¹¹-¹BB²²22AA
         T2 BBBBBBBBBBBBBBBBBBB
         T2@17 -> T1 unlock",
    );
}

#[test]
fn locks_that_the_program_tells_of() {
    let text = "unit 1000
         1 = mutex m
         A = main > put:3
         T1 AAA11A
         T2 BBBBBB
         T1@2 held 1 1/0 1
         T2@5 held 1 2/1 3 2
         T2@5 -> T1 unlock";
    let drawing = Drawing::parse(text).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("drawn.longpole");
    drawing.write(&path).unwrap();
    let trace = Trace::open(&path).unwrap();
    let demand = DetailsDemand { contention: true, ..DetailsDemand::default() };
    let found = details(&trace, &MetricOptions::default(), &demand, &Analysis::default()).unwrap();
    let [m] = trace.objects().all() else { panic!("{:?}", trace.objects()) };
    assert_eq!((m.kind, m.name.as_str()), (ObjectKind::Mutex, "m"));
    let held = LockHoldSums { acquisitions: 3, contended: 1, held: 4000, longest: 2000 };
    assert_eq!(found.holds.unwrap().objects, [held]);
    assert_eq!(found.contention.unwrap().objects[0].waited(), 2000);
}

#[test]
fn the_collector_s_own_time() {
    assert_survives("T1 AAAA%%AAB%%%llBB\nT2 BBBB%BBBBBBBBBBBB-%\nT2@14 -> T1 unlock");
}

#[test]
fn spinning_and_preemption() {
    assert_survives("T1 AA~~~AA--AA~~~BB\nT2 BB--BBBB~~~--BBB");
}

#[test]
fn processes_and_a_pipe() {
    assert_survives(
        "A = main > produce
         B = main > consume
         left/T1  AAAAppAA
         right/T2 _BppBBpB
         T1@1 -> T2 create
         T1@4 -> T2 message
         T2@6 -> T1 message
         T1@7 -> T2 message",
    );
}

#[test]
fn messages_between_machines() {
    assert_survives(
        "one:p/T1 AAAAmmmmmA
         two:q/T2 BmmmmmBB__
         T1@4 -> T2@6 message
         T2@7 -> T1@9 message",
    );
}

/// Rows drawn at random. Where a wait ends while another thread runs, that one may have ended it.
fn random_drawing(rows: &[String], choices: &[u8]) -> String {
    // A collector that looks at a spin when the run ends says that it is over; a drawing that is cut off there does not.
    let rows: Vec<Vec<char>> = rows.iter().map(|row| row.trim_end_matches('~').chars().collect()).collect();
    let is_wait = |character: char| character.is_ascii_lowercase() || character == ':';
    let mut text = String::new();
    for (thread, row) in rows.iter().enumerate() {
        text += &format!("T{thread} {}\n", row.iter().collect::<String>());
    }
    let mut choices = choices.iter().cycle();
    for (thread, row) in rows.iter().enumerate() {
        for column in 1..row.len() {
            if !is_wait(row[column - 1]) || is_wait(row[column]) {
                continue;
            }
            let runs = |&other: &usize| {
                other != thread && rows[other].get(column - 1).is_some_and(char::is_ascii_uppercase)
            };
            let running: Vec<usize> = (0..rows.len()).filter(runs).collect();
            let choice = usize::from(*choices.next().unwrap());
            if let Some(source) = running.get(choice % (running.len() + 1)) {
                text += &format!("T{source}@{column} -> T{thread} signal\n");
            }
        }
    }
    text
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn random_runs(
        rows in proptest::collection::vec("A[AABB~lz:-]{0,24}", 1..5),
        choices in proptest::collection::vec(any::<u8>(), 1..16),
    ) {
        assert_survives(&random_drawing(&rows, &choices));
    }
}

/// What a thread does next, for so many characters.
fn told_rows() -> impl Strategy<Value = String> {
    let piece = (prop::sample::select(vec!["A", "B", "¹", "1", "-", "%", "~"]), 1..5_usize);
    prop::collection::vec(piece, 1..12).prop_map(|pieces| {
        let row: String = pieces.into_iter().map(|(mark, length)| mark.repeat(length)).collect();
        // It begins to work, so that what it waits for is seen to begin; the collector takes of work alone.
        let row = format!("AAAA{row}A");
        row.replace("¹%", "¹A").replace("1%", "1A").replace("-%", "-A").replace("~%", "~A")
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// However waits, spins and the collector's time follow each other in a log: each thread is in one state at a time,
    /// and the charges add up to the states, the parallelism and the path.
    #[test]
    fn totals_of_what_programs_tell(rows in prop::collection::vec(told_rows(), 1..4)) {
        let text: String = rows.iter().enumerate().map(|(index, row)| format!("T{index} {row}\n")).collect();
        let drawing = Drawing::parse(&format!("unit 1000\n1 = mutex m\n{text}")).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("drawn.longpole");
        drawing.write(&path).unwrap();
        let trace = Trace::open(&path).unwrap();
        prop_assert_eq!(trace.evidence().contradictions, 0);
        let (found, drawn) = (analysis(&trace), analysis(&drawing.timelines()));
        for (index, (states, row)) in found.threads.iter().zip(&rows).enumerate() {
            let sum = states.running + states.spinning + states.overhead + states.ready
                + states.blocked.iter().sum::<u64>();
            prop_assert_eq!(sum, 1000 * row.chars().count() as u64);
            let drawn = &drawn.threads[index];
            prop_assert_eq!((states.running, states.overhead), (drawn.running, drawn.overhead));
        }
        let sum = |of: fn(&Measures) -> u64| found.charges.iter().map(|charge| of(&charge.measures)).sum::<u64>();
        let overhead: u64 = found.threads.iter().map(|states| states.overhead).sum();
        prop_assert_eq!(sum(|measures| measures.overhead), overhead);
        prop_assert_eq!(trace.evidence().overhead_nanoseconds, overhead);
        let npt: f64 = found.charges.iter().map(|charge| charge.measures.npt()).sum();
        prop_assert!((npt - (found.elapsed - found.busy[0]) as f64).abs() < 1e-3);
        prop_assert_eq!(sum(|measures| measures.critical_elapsed), found.elapsed);
        prop_assert_eq!(sum(|measures| measures.critical_cpu), found.critical_cpu.length);
    }
}
