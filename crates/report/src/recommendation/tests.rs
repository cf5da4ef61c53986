//! The list of drawn runs.

use longpole_testkit::random_timelines;
use proptest::prelude::*;

use super::{Range, Recommendation, Remedy, Subject, recommendations};
use crate::fixture::{
    BARRIER, CROWDED, LOCK_HOG, LOCK_HOG_TOLD, SERIAL_THEN_PARALLEL, SPINNER, Scene, WAITING,
};
use crate::input::{Options, Source};
use crate::view::View;

fn list_of(scene: &Scene) -> Vec<(String, Recommendation)> {
    let demand = View::Summary.demand(&Options::default());
    let named = |input: &Source<'_>, entry: Recommendation| match &entry.subject {
        Subject::Procedure(id) => (input.paths.procedure_named_by(*id).name.clone(), entry),
        Subject::Object(_, name) | Subject::Waiting(name) => (name.clone(), entry),
    };
    scene.with_details(&demand, |input| {
        recommendations(input).into_iter().map(|entry| named(input, entry)).collect()
    })
}

/// The entry about this.
fn entry(drawing: &str, what: &str) -> Recommendation {
    let list = list_of(&Scene::of(drawing));
    let found = list.iter().find(|(name, _)| name == what);
    found.unwrap_or_else(|| panic!("{what} is not among {list:?}")).1.clone()
}

fn milliseconds(range: Range) -> (f64, f64) {
    ((range.low / 1e6).round(), (range.high / 1e6).round())
}

#[test]
fn what_runs_alone_is_to_be_parallelised() {
    let load = entry(SERIAL_THEN_PARALLEL, "load");
    assert_eq!(load.remedy, Remedy::Parallelise);
    assert!(load.evidence[0].contains("alone on the CPUs 100 %"), "{:?}", load.evidence);
    // 200 ms alone, by every metric; the error is that of 620 looks.
    let (low, high) = milliseconds(load.gain);
    assert!((190.0..200.0).contains(&low) && (200.0..210.0).contains(&high), "{low} {high}");
}

#[test]
fn what_works_with_a_wanted_lock_is_to_hold_it_shorter() {
    let list = list_of(&Scene::of(LOCK_HOG));
    assert_eq!((list[0].0.as_str(), list[0].1.remedy), ("update", Remedy::HoldShorter));
    assert!(list[0].1.evidence[0].contains("holds table_lock"), "{:?}", list[0].1.evidence);
}

#[test]
fn a_lock_that_threads_tell_of_is_explained_by_its_holds() {
    // 31 of 32 columns held, by 9 acquisitions, 6 of which found it taken.
    let lock = entry(LOCK_HOG_TOLD, "update");
    let told = "held 97 % of the run; mean hold 34.4 ms; 9 acquisitions, 6 contended";
    assert!(lock.evidence.contains(&told.to_owned()), "{:?}", lock.evidence);
    let lock = entry(LOCK_HOG, "update");
    assert!(lock.evidence.iter().all(|line| !line.contains("acquisitions")), "{:?}", lock.evidence);
}

#[test]
fn a_procedure_called_with_the_lock_held_is_found_though_its_caller_lets_go() {
    // `hog` unlocks; of its 34 columns `table` has 24, and 28 are with the wanted lock: 28 − 10 of 24 are sure.
    let drawing = "\
cpus 4
1 = mutex table_lock
H = hog
T = hog > table
I = independent
hog  HHTTTTTTTTTTTTHHHHTTTTTTTTTTTTHHHH
one  II11111111111111II11111111111111II
hog@16 -> one unlock
hog@32 -> one unlock";
    let table = entry(drawing, "table");
    assert_eq!(table.remedy, Remedy::HoldShorter, "{table:?}");
    // Where `hog` itself works longer, nothing is sure.
    let other = entry(&drawing.replace("TTTTTTTT", "HHHHHHHH"), "table");
    assert_ne!(other.remedy, Remedy::HoldShorter, "{other:?}");
}

#[test]
fn alone_for_want_of_processors_is_not_alone() {
    let drawing = "cpus 2\nA = grind\none AA--AA--AA--\ntwo --AA--AA--AA";
    assert_eq!(entry(drawing, "grind").remedy, Remedy::Shorten);
}

#[test]
fn a_lock_of_many_short_holders_is_to_be_split() {
    // Each holds the lock for a column in turn; without it all three would run side by side.
    let drawing = "\
cpus 4
1 = mutex rows
A = get
B = put
C = count
one   AAA11A11A11A11A11A
two   B11B11B11B11B11B11
three 1C11C11C11C11C11C1
one@3 -> two unlock
two@4 -> three unlock";
    let turns = "\
three@2 -> two unlock
one@6 -> two unlock
two@7 -> three unlock
three@5 -> one unlock
three@8 -> one unlock
one@9 -> two unlock
two@10 -> three unlock
three@11 -> one unlock
one@12 -> two unlock
two@13 -> three unlock
three@14 -> one unlock
one@15 -> two unlock
two@16 -> three unlock
three@17 -> one unlock";
    let drawing = drawing.lines().filter(|line| !line.contains("->")).chain(turns.lines());
    let lock = entry(&drawing.collect::<Vec<_>>().join("\n"), "rows");
    assert_eq!(lock.remedy, Remedy::SplitLock);
    assert!(lock.gain.high > 0.0 && lock.evidence[0].contains("waits of"), "{lock:?}");
}

#[test]
fn uneven_rounds_are_to_be_balanced() {
    // The light one waits 210 ms; even shares gain half of that, as two threads take part.
    let barrier = entry(BARRIER, "barrier in `compute`");
    assert_eq!((barrier.remedy, milliseconds(barrier.gain)), (Remedy::Balance, (105.0, 210.0)));
}

#[test]
fn what_one_thread_alone_does_between_barriers_is_not_to_be_balanced() {
    // The other waits for serial work, in which it has no part, not for a larger share of the same.
    let drawing = "\
1 = barrier b
S = serial
W = work
main SSSSSSSSWWSSSSSSSSWW
one  W1111111WWW1111111WW
main@8 -> one barrier
main@18 -> one barrier";
    let list = list_of(&Scene::of(drawing));
    let balance = list.iter().find(|(_, entry)| entry.remedy == Remedy::Balance);
    assert!(balance.is_none(), "{list:?}");
    assert_eq!((list[0].0.as_str(), list[0].1.remedy), ("serial", Remedy::Parallelise));
}

#[test]
fn waits_for_devices_are_to_be_overlapped_and_sleep_to_be_left() {
    let sleep = entry(WAITING, "sleep in `pause`");
    assert_eq!((sleep.remedy, milliseconds(sleep.gain)), (Remedy::AwaitEvent, (0.0, 220.0)));
    let io = entry(WAITING, "io in `write_journal`");
    assert_eq!((io.remedy, milliseconds(io.gain)), (Remedy::OverlapIo, (0.0, 80.0)));
    // Of 410 ms it computes for 20, and its waits are no computing.
    let list = list_of(&Scene::of(WAITING));
    let journal = list.iter().find(|(name, _)| name == "write_journal");
    assert!(journal.is_none_or(|(_, entry)| entry.gain.high < 50e6), "{journal:?}");
}

#[test]
fn where_processors_are_few_work_is_to_be_less_or_processors_more() {
    assert_eq!(entry(CROWDED, "grind").remedy, Remedy::Shorten);
    let processors = entry(CROWDED, "waiting for a CPU");
    assert_eq!((processors.remedy, milliseconds(processors.gain)), (Remedy::MoreProcessors, (0.0, 120.0)));
    // On four processors of which it had two, others used them.
    let crowded = CROWDED.replace("cpus 2", "cpus 4");
    assert_eq!(entry(&crowded, "waiting for a CPU").remedy, Remedy::FreeProcessors);
}

#[test]
fn what_others_spin_for_gains_what_it_takes() {
    let (low, _) = milliseconds(entry(SPINNER, "compute_result").gain);
    // 240 ms, of which 40 ms of other work stand beside it in the graph.
    assert!(low > 180.0, "{low}");
}

#[test]
fn nothing_is_recommended_where_nothing_is_known() {
    assert!(list_of(&Scene::of("cpus 2\nmain kkkkkkkk")).is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn gains_are_ranges_within_the_run_and_come_in_their_order(made in random_timelines(5, 60)) {
        let elapsed = made.program.elapsed_nanoseconds as f64;
        let list = list_of(&Scene::with(made));
        prop_assert!(list.len() <= 6);
        for (name, entry) in &list {
            let Range { low, high } = entry.gain;
            prop_assert!(0.0 <= low && low <= high && high <= elapsed, "{name}: {low} {high}");
            prop_assert!(!entry.evidence.is_empty(), "{name}");
        }
        let sums: Vec<u64> = list.iter().map(|(_, entry)| (entry.gain.low + entry.gain.high) as u64).collect();
        prop_assert!(sums.windows(2).all(|pair| pair[0] >= pair[1]));
    }
}
