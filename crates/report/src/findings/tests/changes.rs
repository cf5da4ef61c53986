//! The list of changes of drawn runs.

use longpole_event::{ThreadId, Time};
use longpole_trace::{Affinity, ObjectId, PlaceId};

use crate::findings::finding::Advice;
use crate::findings::gain::GainRange;
use crate::findings::{Finding, FindingSubject, Findings};
use crate::fixture::{
    BARRIER, CROWDED, DrawnRun, LOCK_HOG, LOCK_HOG_TOLD, SERIAL_THEN_PARALLEL, SPINNER, WAITING,
};
use crate::input::{ReportOptions, ReportTables};
use crate::view::View;

fn list_of(scene: &DrawnRun) -> Vec<(String, Finding)> {
    let demand = View::Summary.demand(&ReportOptions::default());
    let named = |input: &ReportTables<'_>, finding: &Finding| match &finding.subject {
        FindingSubject::Procedure(id) => (input.paths.procedure_named_by(*id).name.clone(), finding.clone()),
        FindingSubject::Object(id) => (input.objects.get(*id).name.clone(), finding.clone()),
        subject => (subject.text(input).text(), finding.clone()),
    };
    scene.with_details(&demand, |input| {
        Findings::of(input).changes().into_iter().map(|finding| named(input, finding)).collect()
    })
}

/// The change of this.
fn entry(drawing: &str, what: &str) -> (Advice, GainRange, Vec<String>) {
    let list = list_of(&DrawnRun::of(drawing));
    let found = list.iter().find(|(name, _)| name == what);
    let finding = &found.unwrap_or_else(|| panic!("{what} is not among {list:?}")).1;
    let (advice, gain) = finding.change.expect("changes have advice");
    (advice, gain, finding.evidence.iter().map(|sentence| sentence.text()).collect())
}

fn advice(finding: &Finding) -> Option<Advice> {
    finding.change.map(|(advice, _)| advice)
}

fn milliseconds(range: GainRange) -> (f64, f64) {
    ((range.low / 1e6).round(), (range.high / 1e6).round())
}

#[test]
fn what_runs_alone_is_to_be_parallelised() {
    let (advice, gain, evidence) = entry(SERIAL_THEN_PARALLEL, "load");
    assert_eq!(advice, Advice::Parallelise);
    assert!(evidence[0].contains("without it the run is 44–49 % shorter"), "{evidence:?}");
    assert!(evidence[1].contains("alone on the CPUs 100 %"), "{evidence:?}");
    // 200 ms alone; spread over two processors they take 100.
    let (low, high) = milliseconds(gain);
    assert!((85.0..100.0).contains(&low) && (100.0..115.0).contains(&high), "{low} {high}");
}

#[test]
fn who_works_with_a_wanted_lock_in_turn_with_others_is_to_hold_it_shorter() {
    let turns = "\
cpus 4
1 = mutex table_lock
U = worker > update
one UUUUUUUU11111111UUUUUUUU11111111
two 11111111UUUUUUUU11111111UUUUUUUU
one@8 -> two unlock
two@16 -> one unlock
one@24 -> two unlock";
    let (advice, gain, evidence) = entry(turns, "update");
    assert_eq!(advice, Advice::HoldShorter);
    // Each has 160 of 320 ms to do; without the work nothing is left.
    let (low, high) = milliseconds(gain);
    assert!((130.0..=160.0).contains(&low) && (160.0..190.0).contains(&high), "{low} {high}");
    assert!(evidence.iter().any(|line| line.starts_with("without it the run is ")), "{evidence:?}");
    assert!(evidence.iter().any(|line| line.contains("holds `table_lock`")), "{evidence:?}");
    let list = list_of(&DrawnRun::of(turns));
    assert!(list.iter().all(|(name, _)| !name.contains("table_lock")), "one entry stands for both: {list:?}");
    // Where one thread does it all, that is to be done without the lock, too.
    let (advice, _, evidence) = entry(LOCK_HOG, "update");
    assert_eq!(advice, Advice::Parallelise);
    assert!(evidence.iter().any(|line| line.contains("holds `table_lock`")), "{evidence:?}");
}

/// Workers that keep the lock of a queue while they work: one has it again each time before the others are awake.
#[test]
fn what_one_worker_does_with_the_lock_the_others_would_do_without() {
    let drawing = "\
cpus 2
1 = mutex queue_lock
C = worker:3 > convert:9
one   CONE____
two   CWAITSCCCC
three CWAITS1111
one@37 -> two unlock
two@41 -> three unlock";
    let kept = drawing.replace("ONE", &"C".repeat(36)).replace("WAITS", &"1".repeat(36));
    let (advice, gain, _) = entry(&kept, "queue_lock");
    assert_eq!(advice, Advice::HoldShorter);
    // 410 ms; two processors take 210, and 370 of 420 are one thread's.
    let (low, high) = milliseconds(gain);
    assert!(low < 50.0 && (150.0..=200.0).contains(&high), "{low} {high}");
}

/// Whether they ever get what they wait for sooner is not known where others took the processors: only that the hog's work is.
#[test]
fn one_thread_is_not_told_to_hold_a_lock_shorter_where_that_may_gain_nothing() {
    let crowded = "\
cpus 2
1 = mutex table_lock
H = hog:5 > update:30
S = polite:9 > short_update:44
I = polite:10 > independent:50
hog     HHHHHH--HHHHHH--HHHHHH--HHHHHH--
polite1 II111111--I11111--I11111--I11111
polite2 I1111111--SI1111--SI1111--SI1111
hog@8 -> polite1, polite2 unlock
hog@16 -> polite1, polite2 unlock
hog@24 -> polite1, polite2 unlock";
    let (advice, gain, evidence) = entry(crowded, "update");
    assert_ne!(advice, Advice::HoldShorter, "{gain:?} {evidence:?}");
}

/// Three processes do the same, in turn on one processor: without one of them the run is a third shorter.
#[test]
fn a_process_is_an_entry_unless_it_is_one_of_several_equal_ones() {
    let row = |columns: &str| columns.repeat(3);
    let (a, b, c) = (row("ABCDEF------------"), row("------ABCDEF------"), row("------------ABCDEF"));
    let mut scene = DrawnRun::of(&format!("cpus 1\np1/a {a}\np2/b {b}\np3/c {c}"));
    let of_processes = |scene: &DrawnRun| {
        let list = list_of(scene);
        list.iter().filter(|(_, found)| matches!(found.subject, FindingSubject::Process(_))).count()
    };
    assert_eq!(of_processes(&scene), 3);
    scene.timelines.program.processes.iter_mut().for_each(|process| process.name = "worker".to_owned());
    assert_eq!(of_processes(&scene), 0);
}

#[test]
fn a_lock_that_threads_tell_of_is_explained_by_its_holds() {
    // 31 of 32 columns held, by 9 acquisitions, 6 of which found it taken.
    let (_, _, evidence) = entry(LOCK_HOG_TOLD, "update");
    let told = "held 97 % of the run; mean hold 34.4 ms; 9 acquisitions, 6 contended";
    assert!(evidence.contains(&told.to_owned()), "{evidence:?}");
    let (_, _, evidence) = entry(LOCK_HOG, "update");
    assert!(evidence.iter().all(|line| !line.contains("acquisitions")), "{evidence:?}");
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
    let holds = |drawing: &str| {
        let (_, _, evidence) = entry(drawing, "table");
        evidence.into_iter().find(|line| line.contains("holds `table_lock`"))
    };
    assert_eq!(holds(drawing).as_deref(), Some("holds `table_lock`, wanted 280 ms"));
    // Where `hog` itself works longer, nothing is sure.
    assert_eq!(holds(&drawing.replace("TTTTTTTT", "HHHHHHHH")), None);
    // Where it works for others as long, without the lock, shorter holds are not all that is promised.
    let both = format!("S = scan > table\n{drawing}\ntwo  SSSSSSSSSSSSSSSSSSSSSSSS..........");
    let (advice, _, evidence) = entry(&both, "table");
    assert_ne!(advice, Advice::HoldShorter);
    assert!(evidence.iter().any(|line| line.contains("for up to 50 % of its time")), "{evidence:?}");
}

#[test]
fn alone_for_want_of_processors_is_not_alone() {
    let drawing = "cpus 2\nA = grind\none AA--AA--AA--\ntwo --AA--AA--AA";
    assert_eq!(entry(drawing, "grind").0, Advice::Shorten);
}

#[test]
fn a_procedure_that_mostly_collects_garbage_is_to_allocate_less() {
    let collecting = "G".repeat(40);
    let drawing = format!("cpus 2\nG = serve > runtime.scanobject\nS = serve\nmain {collecting}SSSS");
    assert_eq!(entry(&drawing, "serve").0, Advice::AllocateLess);
    let working =
        drawing.replace("main G", "main SSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSS");
    assert_eq!(entry(&working, "serve").0, Advice::Parallelise);
}

/// Four compilations, two of which could run at a time, and a link behind them; other programs have the processors for most of it.
#[test]
fn several_threads_of_a_procedure_gain_no_more_than_the_time_in_which_any_could_run() {
    let drawing = "\
cpus 2
C = compile:10
L = link:10
a C---C---C---_
b C---C---C---_
c -C---C---C--_
d -C---C---C--_
l ____________L---L---L---
a@12 -> l create";
    let high = entry(drawing, "compile").1.high;
    // 120 ms of 240, in which the four wait and work for 480.
    assert!(high <= 120.5e6, "{high}");
}

/// Threads are ready to end, and none gets a processor: others have those. Meanwhile the first one sleeps.
#[test]
fn a_sleep_is_not_cut_by_times_in_which_other_programs_have_the_processors() {
    let drawing = "\
cpus 2
A = work:10
a AzzzzzzzzzzzzzzzzzzzA
b A-------------------_
c A-------------------_";
    let high = entry(drawing, "sleep in `work`").1.high;
    assert!(high >= 180e6, "{high}: 190 ms asleep");
}

/// Other programs have the processors for most of the run, which no execution shows: that is nothing that the lock costs.
#[test]
fn a_lock_that_is_hardly_waited_for_gains_nothing_on_a_busy_machine() {
    let drawing = "\
cpus 2
1 = mutex rows
A = get
B = put
one A----A----A----A----A----A----A----A----
two B1111B----B----B----B----B----B----B----
one@5 -> two unlock";
    let list = list_of(&DrawnRun::of(drawing));
    let rows = list.iter().find(|(name, _)| name == "rows");
    // Of 400 ms it was waited for 40.
    assert!(rows.is_none_or(|(_, finding)| finding.change.unwrap().1.high <= 40.5e6), "{list:?}");
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
    let drawing = drawing.collect::<Vec<_>>().join("\n");
    let lock = entry(&drawing, "rows");
    assert_eq!(lock.0, Advice::SplitLock);
    let semaphore = drawing.replace("mutex rows", "semaphore rows").replace("unlock", "post");
    assert_eq!(entry(&semaphore, "rows").0, Advice::AdmitMore);
    // Nobody can split the lock of an interpreter, and what its procedures do is all the work.
    let of_interpreter = list_of(&DrawnRun::of(&drawing.replace("mutex rows", "GIL rows")));
    assert_eq!(
        (of_interpreter[0].0.as_str(), advice(&of_interpreter[0].1)),
        ("rows", Some(Advice::UseProcesses))
    );
    assert!(lock.1.high > 0.0 && lock.2[0].contains("waits of"), "{lock:?}");
}

#[test]
fn uneven_rounds_are_to_be_balanced() {
    // The light one waits 210 ms; even shares gain half of that, as two threads take part.
    let barrier = entry(BARRIER, "barrier in `compute`");
    assert_eq!((barrier.0, milliseconds(barrier.1)), (Advice::Balance, (84.0, 105.0)));
}

#[test]
fn rounds_in_which_another_one_is_last_each_time_may_be_balanced() {
    // Both wait for 60 ms in every second round, for what they have no part in then. Even shares of A and B take 240 of 360 ms.
    let drawing = "\
cpus 2
1 = barrier b
A = rounds:8 > load_tile:30
B = rounds:9 > draw_tile:31
one AAAAAAAAABBB111111AAAAAAAAABBB111111
two BBB111111AAAAAAAAABBB111111AAAAAAAAA
one@9 -> two barrier
two@18 -> one barrier
one@27 -> two barrier
two@36 -> one barrier";
    let barrier = entry(drawing, "barrier in `draw_tile`");
    assert_eq!((barrier.0, milliseconds(barrier.1)), (Advice::Balance, (0.0, 120.0)));
}

#[test]
fn to_spin_at_a_barrier_is_to_wait_there() {
    // 300 ms beside 90 ms: even shares gain 105. Calls of the barrier are 18 % of the CPU time, and only wait.
    let drawing = "\
cpus 2
A = rounds:8 > compute:30
G = rounds:9 > pthread_barrier_wait
heavy AAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
light AAAG~~~~~~AAAG~~~~~~AAAG~~~~~~";
    let list = list_of(&DrawnRun::of(drawing));
    assert!(list.iter().all(|(_, entry)| advice(entry) != Some(Advice::SynchroniseLess)), "{list:?}");
    let (advice, gain, evidence) = entry(drawing, "barrier in `rounds`");
    assert_eq!(advice, Advice::Balance);
    assert!(gain.low < 105e6 && 105e6 <= gain.high && gain.low > 50e6, "{gain:?}");
    assert!(evidence[0].contains("100 % spinning"), "{evidence:?}");
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
    let list = list_of(&DrawnRun::of(drawing));
    let balance = list.iter().find(|(_, entry)| advice(entry) == Some(Advice::Balance));
    assert!(balance.is_none(), "{list:?}");
    assert_eq!((list[0].0.as_str(), advice(&list[0].1)), ("serial", Some(Advice::Parallelise)));
}

#[test]
fn waits_for_devices_are_to_be_overlapped_and_sleep_to_be_left() {
    let sleep = entry(WAITING, "sleep in `pause`");
    assert_eq!((sleep.0, milliseconds(sleep.1)), (Advice::AwaitEvent, (0.0, 220.0)));
    let io = entry(WAITING, "io in `write_journal`");
    assert_eq!((io.0, milliseconds(io.1)), (Advice::OverlapIo, (0.0, 80.0)));
    // Of 410 ms it computes for 20, and its waits are no computing.
    let list = list_of(&DrawnRun::of(WAITING));
    let journal = list.iter().find(|(name, _)| name == "write_journal");
    assert!(
        journal.is_none_or(|(_, entry)| entry.change.is_none_or(|(_, gain)| gain.high < 50e6)),
        "{journal:?}"
    );
}

#[test]
fn who_waits_for_a_condition_until_its_time_limit_is_to_be_signalled() {
    let drawing = "\
cpus 2
C = consume
main CCCCccccccccccccCCCC";
    let wait = entry(drawing, "condition in `consume`");
    assert_eq!((wait.0, milliseconds(wait.1)), (Advice::SignalInTime, (0.0, 120.0)));
    // It is left there: nothing ended its wait.
    let left =
        list_of(&DrawnRun::of("cpus 2\nC = consume\nmain CCCCccccccccccccCCCC\nother CCCCcccccccccccccccc"));
    assert!(left.iter().all(|(_, entry)| advice(entry) != Some(Advice::SignalInTime)), "{left:?}");
}

#[test]
fn where_processors_are_few_work_is_to_be_less_or_processors_more() {
    assert_eq!(entry(CROWDED, "grind").0, Advice::Shorten);
    let processors = entry(CROWDED, "waiting for a CPU");
    assert_eq!((processors.0, milliseconds(processors.1)), (Advice::MoreProcessors, (0.0, 120.0)));
    // On four processors of which it had two, others used them.
    let crowded = CROWDED.replace("cpus 2", "cpus 4");
    assert_eq!(entry(&crowded, "waiting for a CPU").0, Advice::FreeProcessors);
}

/// Readers take the lock in turn while the writer waits to update.
const STARVED: &str = "\
cpus 2
1 = rwlock config_lock
U = update
S = scan
writer U111111U111111U
reader SSSSSSS1SSSSSS1S
reader@7 -> writer unlock
writer@8 -> reader unlock
reader@14 -> writer unlock
writer@15 -> reader unlock";

#[test]
fn a_writer_that_readers_pass_is_to_go_first() {
    let mut scene = DrawnRun::of(STARVED);
    let starved = |scene: &DrawnRun| {
        list_of(scene).into_iter().find(|(_, entry)| advice(entry) == Some(Advice::WriterFirst))
    };
    assert!(starved(&scene).is_none(), "whether it waits to write is not known");
    let update = scene.timelines.procedure("update");
    let places = scene.timelines.paths.all_places().iter().enumerate();
    let place = places.filter(|(_, place)| place.procedure == update).map(|(index, _)| PlaceId(index as u32));
    let place = Vec::from_iter(place);
    scene.timelines.objects.set_written(ObjectId(0), place.into_iter());
    let (name, found) = starved(&scene).expect("it is known");
    assert_eq!(name, "config_lock");
    // Wanted for 14 columns of 16, for 12 of them by the writer.
    assert_eq!(milliseconds(found.change.expect("advised").1), (0.0, 140.0));
    let evidence = Vec::from_iter(found.evidence.iter().map(|sentence| sentence.text()));
    assert_eq!(evidence[1], "`update` waited for it 2 times, 60.0 ms on average");
    assert!(evidence[0].contains("which is not seen"), "{evidence:?}");
}

#[test]
fn threads_that_wait_for_each_other_s_processor_are_to_be_unpinned() {
    let mut scene = DrawnRun::of("cpus 2\nC = crunch\na CC--CC--CC--CC--\nb --CC--CC--CC--CC");
    let list = |scene: &DrawnRun| {
        let list = list_of(scene);
        Vec::from_iter(list.iter().filter_map(|(_, entry)| advice(entry)))
    };
    assert!(list(&scene).contains(&Advice::FreeProcessors) && !list(&scene).contains(&Advice::Unpin));
    scene.timelines.program.affinities = (0..2)
        .map(|thread| Affinity { time: Time::ZERO, thread: ThreadId(thread), count: 1, first: 0b10 })
        .collect();
    let all = list_of(&scene);
    let (name, found) = &all[0];
    assert_eq!((name.as_str(), advice(found)), ("threads pinned to CPU 1", Some(Advice::Unpin)), "{all:?}");
    // 160 ms of work in 160 ms; two processors need 80.
    assert_eq!(milliseconds(found.change.expect("advised").1), (0.0, 80.0));
    assert!(!list(&scene).contains(&Advice::FreeProcessors), "{all:?}");
}

#[test]
fn what_others_spin_for_gains_what_it_takes() {
    let (low, high) = milliseconds(entry(SPINNER, "compute_result").1);
    // Who ended the spin was not seen: from nothing, as it was recorded, to what two processors gain that divide its 240 ms.
    assert_eq!((low, high), (0.0, 120.0));
}

/// Three threads on two processors: two spin nearly always, while the one that they wait for is often ready.
const CROWDED_OUT: &str = "\
cpus 2
C = compute:10
W = await_round:20
a C--C--C--C--C--C--C--C--C--C--
b W~~~~-~~~~~-~~~~~-~~~~~-~~~~~-
c W~-~~~~~-~~~~~-~~~~~-~~~~~-~~~";

#[test]
fn those_who_spin_are_to_block_and_not_to_have_more_processors() {
    let spinning = entry(CROWDED_OUT, "await_round");
    assert_eq!(spinning.0, Advice::Block);
    let list = list_of(&DrawnRun::of(CROWDED_OUT));
    assert!(list.iter().all(|(_, entry)| advice(entry) != Some(Advice::MoreProcessors)), "{list:?}");
    assert_eq!(list[0].0, "await_round", "{list:?}");
    // 300 ms; the useful 120 ms, compute and the first looks, take 60 on both processors.
    let (low, high) = milliseconds(spinning.1);
    assert!(low > 0.0 && low < high && high <= 240.0, "{low} {high}");
}

#[test]
fn a_spin_with_processors_to_spare_gains_nothing_for_sure() {
    let spinning = entry(SPINNER, "wait_for_flag");
    assert_eq!(spinning.0, Advice::Block);
    // 230 ms on one of two processors: shared evenly, the work takes 115 ms less.
    let (low, high) = milliseconds(spinning.1);
    assert!(low == 0.0 && (100.0..=116.0).contains(&high), "{low} {high}");
}

/// One thread, which other programs keep from its processors: 210 ms, of which a ninth of its CPU time spins.
#[test]
fn spinning_costs_its_part_of_what_other_programs_take() {
    let drawing = "\
cpus 2
C = compute:10
W = await_round:20
a W~C---C---C---C---C---C---C---";
    let (low, high) = milliseconds(entry(drawing, "await_round").1);
    assert!(low == 0.0 && (33.0..=34.0).contains(&high), "{low} {high}: 10 ms, and a ninth of 210");
}

#[test]
fn nothing_is_recommended_where_nothing_is_known() {
    assert!(list_of(&DrawnRun::of("cpus 2\nmain kkkkkkkk")).is_empty());
}

/// In each round the call takes 2 columns and 3 of waiting, for 2 of work, one by each thread.
const REGIONS_OF_OPENMP: &str = "\
cpus 2
1 = barrier end
M = main
F = main > smooth:23 > GOMP_parallel
B = main > smooth:23 > GOMP_parallel > smooth._omp_fn.0
S = main > smooth:23
G = gomp_thread_start
W = gomp_thread_start > smooth._omp_fn.0
master MMFBS111FBS111MM
worker _Gbb1W111bb1W1bb
master@1 -> worker create
master@4 -> worker barrier
worker@8 -> master barrier";

#[test]
fn regions_that_take_longer_than_their_work_are_for_one_thread() {
    let list = list_of(&DrawnRun::of(REGIONS_OF_OPENMP));
    let found = list.iter().find(|(_, finding)| advice(finding) == Some(Advice::ExecuteOnOneThread));
    let (name, finding) = found.unwrap_or_else(|| panic!("{list:?}"));
    assert_eq!(name, "parallel region in `smooth`");
    let times = finding.evidence[0].text();
    assert_eq!(times, "100 ms in it for 40.0 ms of work, 20.0 ms of it by other threads");
    let (low, high) = milliseconds(finding.change.expect("advised").1);
    assert!((30.0..60.0).contains(&low) && (60.0..75.0).contains(&high), "{low} {high}");
}

#[test]
fn regions_that_pay_are_not() {
    // The waits are gone: 4 columns for 4 of work, of which the other thread does half.
    let paying = REGIONS_OF_OPENMP
        .replace("FBS111FBS111MM", "BBBBSMMMMMMMMM")
        .replace("_Gbb1W111bb1W1bb", "_GWWWWbbbbbbbbbb");
    let list = list_of(&DrawnRun::of(&paying));
    assert!(list.iter().all(|(_, finding)| advice(finding) != Some(Advice::ExecuteOnOneThread)), "{list:?}");
}
