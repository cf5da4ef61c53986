use longpole_testkit::script::{Conditions, Script, random_script};
use longpole_testkit::{MemoryTimelines, draw};

use super::*;
use crate::{MetricOptions, analyse};

fn plan(script: &Script, conditions: &Conditions) -> ExecutionPlan {
    plan_of(&script.timelines(conditions))
}

fn without(plan: &ExecutionPlan, procedure: u32, factor: f64) -> f64 {
    // Each procedure of a script has the path after its own number; 0 is the root.
    plan.execute(&changed(procedure, factor), |_| false, None).elapsed
}

type NothingSpins = fn(ThreadId, PathId) -> f64;

fn changed(procedure: u32, factor: f64) -> PlaceFactors<impl Fn(ThreadId, PathId) -> f64, NothingSpins> {
    let work = move |_: ThreadId, path: PathId| if path.0 == procedure + 1 { factor } else { 1.0 };
    PlaceFactors::of_work(work)
}

#[test]
fn a_step_is_16_bytes() {
    assert_eq!(size_of::<plan::PlanStep>(), 16);
}

#[test]
fn on_enough_processors_it_is_the_program_executed_anew() {
    for seed in 0..500 {
        let script = random_script(seed, 12 + (seed % 50) as usize);
        let conditions = Conditions::unlimited();
        let plan = plan(&script, &conditions);
        assert!((plan.unchanged - plan.elapsed as f64).abs() < 1e-3, "program {seed}:\n{}", script.text());
        let procedure = seed as usize % script.procedures.len();
        for factor in [0.0, 3.0] {
            let truth = script.execute(&conditions.clone().with(procedure, factor)).elapsed as f64;
            let found = without(&plan, procedure as u32, factor);
            assert!(
                (found - truth).abs() < 1e-3,
                "program {seed}: P{procedure} at {factor}: {truth}, not {found}:\n{}",
                script.text()
            );
        }
    }
}

/// A path that is not the longest still costs time where processors are few.
#[test]
fn work_beside_the_critical_path_counts_on_one_processor() {
    let script = Script::parse("main: fork W, A 30, join W\nW: B 20");
    let one = Conditions { processors: 1, quantum: 5, ..Conditions::unlimited() };
    let plan = plan(&script, &one);
    assert_eq!(plan.unchanged, 50.0);
    assert_eq!(plan.execute(&changed(1, 0.0), |_| false, None).elapsed, 30.0);
}

#[test]
fn crowded_programs_are_predicted_within_a_few_points() {
    let (mut off, mut base, mut judged) = (0.0, 0.0, 0);
    for seed in 0..300 {
        let script = random_script(seed, 60);
        let two = Conditions { processors: 2, quantum: 3, ..Conditions::unlimited() };
        let plan = plan(&script, &two);
        base += plan.error().abs();
        let elapsed = plan.elapsed as f64;
        for procedure in 0..script.procedures.len() {
            let truth = script.execute(&two.clone().with(procedure, 0.0)).elapsed as f64;
            let found = plan.gain(&changed(procedure as u32, 0.0), |_| false);
            off += (found - (elapsed - truth)).abs() / elapsed;
            judged += 1;
        }
    }
    let (off, base) = (off / f64::from(judged), base / 300.0);
    println!("mean error of {judged} predictions: {off:.4}; of unchanged runs: {base:.4}");
    assert!(off < 0.02 && base < 0.02, "{off:.4} {base:.4}");
}

/// The plan of a drawn run, and which path is its procedure.
fn drawn_plan(text: &str) -> (ExecutionPlan, MemoryTimelines) {
    let timelines = draw(text);
    (plan_of(&timelines), timelines)
}

fn plan_of(timelines: &MemoryTimelines) -> ExecutionPlan {
    let Ok(foresight) = LaneLookahead::of(timelines, crate::Order::default());
    let Ok(analysis) = analyse(timelines, &MetricOptions::default());
    let Ok(plan) = ExecutionPlan::of(timelines, &analysis, &foresight);
    plan.expect("few steps")
}

/// How long the plan takes without the procedure's work, milliseconds.
pub(super) fn milliseconds_without(text: &str, name: &str) -> (f64, f64) {
    let (plan, timelines) = drawn_plan(text);
    lasting_without(&plan, &timelines, name)
}

/// The same of a plan of these timelines.
fn lasting_without(plan: &ExecutionPlan, timelines: &MemoryTimelines, name: &str) -> (f64, f64) {
    let procedure = timelines.procedure(name);
    let paths = timelines.paths();
    let is_it = |path| paths.innermost(path).is_some_and(|place| place.procedure == procedure);
    let work = |_: ThreadId, path: PathId| if is_it(path) { 0.0 } else { 1.0 };
    let changed = PlaceFactors::of_work(work);
    (plan.unchanged / 1e6, plan.execute(&changed, |_| false, None).elapsed / 1e6)
}

/// The lock is held for little of the run, so that its hand-offs are no arcs; both threads ask for it at the same time.
#[test]
fn a_run_that_lacks_waits_for_locks_is_executed_in_their_order() {
    let (plan, timelines) = drawn_plan(
        "1 = mutex m
         A CCCCCCCCUU__
         B CCCCCCCC11UU
         A@10 -> B unlock",
    );
    let unordered = plan.unordered.as_deref().expect("without the order it is 2 shorter");
    let without = |name| [&plan, unordered].map(|plan| lasting_without(plan, &timelines, name).1);
    let slot = timelines.program.elapsed_nanoseconds as f64 / 12e6;
    assert!(plan.error().abs() < 1e-9 && (plan.unchanged / 1e6 - 12.0 * slot).abs() < 1e-9);
    assert_eq!((without("U"), without("C")), ([8.0 * slot; 2], [4.0 * slot, 2.0 * slot]));
    // Gains of the other are what the recorded run has more than that.
    assert_eq!(unordered.unchanged, plan.unchanged);
}

/// The thread of a runtime that looks after the others every now and then, until the process ends.
#[test]
fn the_run_does_not_wait_for_threads_that_are_killed() {
    let blocked = "unit 500000\nT1 AAAABBBBBBBBBBBBBBBB\nT2 CzzzzzzzzzCzzzzzzzzz";
    assert_eq!(milliseconds_without(blocked, "A"), (10.0, 8.0));
    // What kills it wakes it; its end lets a process go on that waits for all of this one.
    let woken = "unit 500000
        q/T1 AAAABBBBBBBBBBBBBBBB
        q/T2 CzzzzzzzzzCzzzzzzzzzC
        p/T3 DjjjjjjjjjjjjjjjjjjjjD
        T1@20 -> T2 signal
        T2@21 -> T3 join";
    assert_eq!(milliseconds_without(woken, "A"), (11.0, 9.0));
}

/// A background thread that works on and on, until the process ends.
#[test]
fn the_run_does_not_wait_for_work_that_the_exit_of_the_process_cut_off() {
    let mut made = draw("unit 500000\nT1 AAAABBBBBBBBBBBBBBBB\nT2 CCCCCCCCCCCCCCCCCCCC");
    let without = |made: &MemoryTimelines| lasting_without(&plan_of(made), made, "B");
    assert_eq!(without(&made), (10.0, 10.0));
    made.program.killed_at_work = vec![made.thread("T2")];
    assert_eq!(without(&made), (10.0, 2.0));
}

/// It was joined while it worked, and ended soon: it was told to, or had as much to do. Not where it does what the joiner does, too.
#[test]
fn work_of_a_thread_that_may_have_been_told_to_stop_is_done_or_is_not() {
    let drawn = |work: &str| {
        let first = format!("T1 {}{}jB", "A".repeat(60), "B".repeat(10));
        let second = format!("T2 {}_", work.repeat(71));
        draw(&format!("unit 500000\n{first}\n{second}\nT2@71 -> T1 join"))
    };
    let without = |work: &str| {
        let mut made = drawn(work);
        let at = |slot: u64| longpole_event::Time::from_nanoseconds(500_000 * slot);
        let (thread, joiner) = (made.thread("T2"), made.thread("T1"));
        made.program.possible_stops =
            vec![longpole_trace::PossibleStop { thread, joiner, told: at(70), woken: at(71), works: true }];
        let plan = plan_of(&made);
        let lasting = |plan: &ExecutionPlan| lasting_without(plan, &made, "A");
        (lasting(&plan), plan.stopped.as_deref().map(lasting))
    };
    assert_eq!(without("C"), ((36.0, 36.0), Some((36.0, 6.0))));
    assert_eq!(without("A").1, None);
}

/// A background thread sleeps on and on; it is told to end in its last sleep, which takes 9 more.
#[test]
fn the_run_does_not_wait_for_sleeps_of_a_thread_that_is_told_to_stop() {
    let told = |works: usize, sleeps: usize| {
        let first = format!("T1 {}{}{}B", "A".repeat(50), "B".repeat(10), "j".repeat(10));
        let second = format!("T2 {}{}C{}C_", "C".repeat(works), "z".repeat(sleeps), "z".repeat(33));
        format!("unit 500000\n{first}\n{second}\nT1@60 -> T2@69 stop\nT2@70 -> T1 join")
    };
    // Its first look comes after 35.
    assert_eq!(milliseconds_without(&told(1, 34), "A"), (35.5, 19.0));
    // One that also works has that to do, when nobody tells it to end before; or, as above, has not.
    assert_eq!(milliseconds_without(&told(10, 25), "A"), (35.5, 23.5));
    let (plan, timelines) = drawn_plan(&told(10, 25));
    let stopped = plan.stopped.as_deref().expect("it may not have had to");
    assert_eq!(lasting_without(stopped, &timelines, "A"), (35.5, 19.0));
    let untold = told(1, 34).replace("T1@60 -> T2@69 stop\n", "");
    assert_eq!(milliseconds_without(&untold, "A"), (35.5, 35.5));
    // Where it may have been told, there are both: in a shorter run it looks after its first sleep.
    let made = draw(&untold);
    let at = |slot: u64| longpole_event::Time::from_nanoseconds(500_000 * slot);
    let (thread, joiner) = (made.thread("T2"), made.thread("T1"));
    let mut may_be_told = made.clone();
    may_be_told.program.possible_stops =
        vec![longpole_trace::PossibleStop { thread, joiner, told: at(60), woken: at(69), works: false }];
    let plan = plan_of(&may_be_told);
    let stopped = plan.stopped.as_ref().expect("it may have been told");
    let without = |plan: &ExecutionPlan| lasting_without(plan, &may_be_told, "A");
    assert_eq!((without(&plan), without(stopped)), ((35.5, 35.5), (35.5, 19.0)));
    assert!(plan_of(&made).stopped.is_none());
}

/// The first thread waits once for a lock of the second one, which then is told to end: in a shorter run it has not taken the lock yet.
#[test]
fn a_lock_of_a_thread_that_is_told_to_stop_may_not_be_taken_in_a_shorter_run() {
    let first = format!("T1 {}{}{}{}B", "A".repeat(10), "1".repeat(40), "A".repeat(40), "j".repeat(9));
    let second = format!("T2 C{}U{}C_", "z".repeat(48), "z".repeat(48));
    let arcs = "T2@50 -> T1 unlock\nT1@90 -> T2@98 stop\nT2@99 -> T1 join";
    let (plan, timelines) = drawn_plan(&format!("unit 500000\n1 = mutex m\n{first}\n{second}\n{arcs}"));
    let unordered = plan.unordered.as_deref().expect("nobody waits for the lock");
    // Until the lock is given back at 50, and until the first look, which is at 2.
    let without = [&plan, unordered].map(|plan| lasting_without(plan, &timelines, "A").1);
    assert_eq!(without, [26.0, 2.0]);
    // A thread that nobody tells to end takes its locks in any run.
    let untold = format!("unit 500000\n1 = mutex m\n{first}\n{second}\nT2@50 -> T1 unlock\nT2@99 -> T1 join");
    assert!(drawn_plan(&untold).0.unordered.is_none());
}

#[test]
fn the_run_waits_for_threads_that_outlive_the_first() {
    let works = "unit 500000\nT1 AAAABBBB____________\nT2 CzzzzzzzzzzzzzzzzCCC";
    assert_eq!(milliseconds_without(works, "A"), (10.0, 10.0));
    // Who still wants a lock when the first thread ends has worked, too.
    let worker = "unit 500000\nT1 AAAABBBBAAAABBBBAAAA\nT2 CCCCCCCCCCllCCCCCCll";
    assert_eq!(milliseconds_without(worker, "A"), (10.0, 9.0));
    // A worker that is joined last ends when the first thread does, and that one waits for it.
    let joined = "unit 500000
        T1 AAAAjjjjjjjjB
        T2 CzzzCCCCCCCC_
        T2@12 -> T1 join";
    assert_eq!(milliseconds_without(joined, "C"), (6.5, 2.5));
}

#[test]
fn a_thread_without_a_goroutine_holds_up_none_while_others_run_them() {
    let go = "unit 1000000\ncpus 2\nM = runtime.mcall > main.work\n";
    let idle = format!("{go}T1 AAAAAAAAAAAA\nT2 MMxxxxxxxxxxMM");
    assert_eq!(milliseconds_without(&idle, "A"), (12.0, 4.0));
    // While none runs, they wait for something else.
    let asleep = format!("{go}T1 AAAAAooooAAA\nT2 MMxxxxxxxxxxMM");
    assert_eq!(milliseconds_without(&asleep, "A"), (12.0, 8.0));
    // Threads of other programs have work of their own.
    let other = "unit 1000000\ncpus 2\nM = work\nT1 AAAAAAAAAAAA\nT2 MMxxxxxxxxxxMM";
    assert_eq!(milliseconds_without(other, "A"), (14.0, 14.0));
}

/// Who waits with a time limit, looks around for `look` units, and waits on until a signal comes; what else happens.
fn waits_with_limits(look: usize, other: &str) -> String {
    let (looks, limit) = ("B".repeat(look), "c".repeat(20));
    let done = 2 * (look + 20) + look + 10;
    let (computes, works) = ("A".repeat(done), "B".repeat(12));
    format!(
        "unit 500000\ncpus 3
        T1 {looks}{limit}{looks}{limit}{looks}cccccccccc{works}
        T2 {computes}
        T2@{done} -> T1 signal{other}"
    )
}

#[test]
fn time_limits_before_a_signal_are_no_times_of_the_program() {
    assert_eq!(milliseconds_without(&waits_with_limits(1, ""), "A"), (32.5, 7.5));
    // Who works between them does so at intervals, and who lets others go on does, too.
    assert_eq!(milliseconds_without(&waits_with_limits(3, ""), "A"), (35.5, 30.5));
    let lets_go = format!("\nT3 C{}C\nT1@22 -> T3 signal", "c".repeat(21));
    assert_eq!(milliseconds_without(&waits_with_limits(1, &lets_go), "A"), (32.5, 17.5));
    // A short sleep is part of a look; a long one is not.
    let naps = |length: usize| {
        let (nap, limit, rest, works) = ("z".repeat(length), "c".repeat(100), "c".repeat(50), "B".repeat(60));
        let done = 254 + length;
        let computes = "A".repeat(done);
        format!(
            "unit 100000\ncpus 3
            T1 B{limit}B{nap}B{limit}B{rest}{works}
            T2 {computes}
            T2@{done} -> T1 signal"
        )
    };
    assert_eq!(milliseconds_without(&naps(1), "A").1, 6.5);
    assert_eq!(milliseconds_without(&naps(30), "A").1, 19.4);
    // A lock that was held meanwhile is none of that.
    let unlocks = format!("\nT3 C{}C\nT1@22 -> T3 unlock", "l".repeat(21));
    assert_eq!(milliseconds_without(&waits_with_limits(1, &unlocks), "A"), (32.5, 7.5));
}

/// Nothing shows what a thread waits for whose limits no signal follows: as with polls by sleeping, it may be any work of others.
#[test]
fn time_limits_without_a_signal_are_polls() {
    let polls = waits_with_limits(1, "").replace("T2@53 -> T1 signal", "");
    let (plan, _) = drawn_plan(&polls);
    assert_eq!((plan.unexplained, plan.has_unknown_spins()), (25_000_000, true));
    let (plan, _) = drawn_plan(&waits_with_limits(1, ""));
    assert!(!plan.has_unknown_spins());
}

/// Who works after each limit sleeps for that long, or waits for what others make and do not tell of.
#[test]
fn limits_on_which_the_run_depends_may_be_for_any_work() {
    let consumer = "unit 1000000\ncpus 2\nT1 ccccccBBBccccccBBB\nT2 AAAAAAAAA";
    let (plan, _) = drawn_plan(consumer);
    assert_eq!((plan.unexplained, plan.has_unknown_spins()), (12_000_000, true));
    // The run does not wait for this one.
    let (plan, _) = drawn_plan(&format!("{consumer}AAAAAAAAAAAAA"));
    assert_eq!(plan.unexplained, 0);
}

/// A reader that is faster than the writer waits for each record; how far ahead the writer could get is not seen.
#[test]
fn who_passes_data_on_unseen_may_get_no_further_ahead() {
    let records = "unit 1000000\ncpus 2\n1 = pipe records
        T1 AAAAAAAAADDDD
        T2 111CC1CC1CC__
        T1@3 -> T2 message\nT1@6 -> T2 message\nT1@9 -> T2 message";
    assert_eq!(milliseconds_in_step(records, "A"), (13.0, 6.0, 8.0));
    // Nor does the one that reads what was there: the writer has written all that it wants when it waits for the reader's end.
    let held = "unit 1000000\ncpus 2\n1 = pipe records
        T1 AAAAAAjjjjjjjjA
        T2 11CCCCCCCCDDDD_
        T1@2 -> T2 message\nT2@14 -> T1 join";
    assert_eq!(milliseconds_in_step(held, "C"), (15.0, 7.0, 11.0));
    // Conditions are no streams.
    let (plan, _) = drawn_plan(&records.replace("pipe", "condition"));
    assert!(plan.in_step.is_none());
}

/// What the drawn run takes, milliseconds: recorded, without a procedure, and without it where threads keep in step.
fn milliseconds_in_step(text: &str, procedure: &str) -> (f64, f64, f64) {
    let (plan, timelines) = drawn_plan(text);
    let in_step = plan.in_step.as_ref().expect("threads pass data on unseen");
    let (recorded, without) = lasting_without(&plan, &timelines, procedure);
    let (kept, without_in_step) = lasting_without(in_step, &timelines, procedure);
    assert_eq!(recorded, kept);
    (recorded, without, without_in_step)
}
