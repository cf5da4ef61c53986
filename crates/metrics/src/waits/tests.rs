//! Waits of drawings, worked by hand; laws; agreement with the slow oracle.

use longpole_testkit::{MemoryTimelines, draw};
use longpole_trace::ItemKind;

use super::explanation::Explained;
use super::*;

/// A wait as it was explained.
#[derive(Clone, Debug)]
pub(super) struct Logged {
    pub thread: ThreadId,
    pub from: u64,
    pub to: u64,
    pub direct: Vec<(WaitStep, f64)>,
    pub roots: Vec<(WaitStep, f64)>,
}

impl Logged {
    pub(super) fn new(question: &WaitQuestion, explained: &Explained, steps: &StepTable) -> Logged {
        let direct = explained
            .direct
            .iter()
            .map(|&(step, positive, negative)| (steps.step(step), positive - negative));
        let roots = explained.roots.entries.iter().map(|&(step, amount)| (steps.step(step), amount));
        Logged {
            thread: question.thread,
            from: question.from,
            to: question.to,
            direct: direct.collect(),
            roots: roots.collect(),
        }
    }
}

/// A drawing with all its waits.
struct Case {
    made: MemoryTimelines,
    log: Vec<Logged>,
    waits: Waits,
}

fn exact() -> Limits {
    Limits { tolerance: 0, roots: usize::MAX, ..Limits::DEFAULT }
}

fn case_of(made: MemoryTimelines, limits: Limits) -> Case {
    let mut sweep = Explanations::new(&made.program, &made.paths, &made.objects, (By::Procedure, limits));
    let Ok(()) = longpole_graph::sweep(&made, false, &mut sweep);
    let log = std::mem::take(&mut sweep.log);
    let waits = sweep.into_waits();
    Case { made, log, waits }
}

fn case(text: &str) -> Case {
    case_of(draw(text), exact())
}

impl Case {
    fn words(&self, steps: &[(WaitStep, f64)]) -> Vec<String> {
        let mut words: Vec<String> = steps
            .iter()
            .map(|(step, amount)| {
                let what = match step.deed.category {
                    Category::Running => String::new(),
                    Category::Blocked(cause) => format!("{cause} in "),
                    other => format!("{other:?} "),
                };
                let place = step
                    .deed
                    .scope
                    .map(|place| self.made.paths.procedure_named_by(place.procedure).name.as_str());
                let who = step.group.map(|group| {
                    let threads = &self.waits.steps.group(group).threads;
                    let name = |thread: &ThreadId| self.made.program.threads[thread.index()].name.as_str();
                    format!(" of {}", threads.iter().map(name).collect::<Vec<_>>().join("+"))
                });
                let text = format!("{what}{}{}", place.unwrap_or_default(), who.unwrap_or_default());
                format!("{} {amount:+}", text.trim().replace("  ", " "))
            })
            .collect();
        words.sort();
        words
    }

    /// The wait of the thread that began then.
    fn wait(&self, thread: &str, from: u64) -> &Logged {
        let thread = self.made.thread(thread);
        self.log.iter().find(|wait| (wait.thread, wait.from) == (thread, from)).expect("there is such a wait")
    }

    fn direct(&self, thread: &str, from: u64) -> Vec<String> {
        self.words(&self.wait(thread, from).direct)
    }

    fn roots(&self, thread: &str, from: u64) -> Vec<String> {
        self.words(&self.wait(thread, from).roots)
    }

    /// Time of waits by why nobody wants them explained.
    fn unwanted(&self) -> std::collections::BTreeMap<Option<Unwanted>, u64> {
        let mut times = std::collections::BTreeMap::new();
        for class in &self.waits.classes {
            *times.entry(class.unwanted).or_default() += class.time;
        }
        times
    }
}

/// M figure 2, a twelfth of its size: T2 and T3 ran C for 3 and wait 3 for T1, which ran A 3 and B 3.
/// Since the begin: T1 A 3 + B 3, T2 C 3. Positive A 3, B 3, negative C 3: together 3.
#[test]
fn figure_2_of_the_comparison_of_metrics() {
    let case = case("T1 AAABBB\nT2 CCCccc\nT3 CCCccc\nT1@6 -> T2, T3 signal");
    for thread in ["T2", "T3"] {
        assert_eq!(case.direct(thread, 3), ["A of T1 +3", "B of T1 +3", "C of T2+T3 -3"]);
    }
}

/// A thread's first work may be an estimate of what other threads did: it starts with its own procedure still.
#[test]
fn an_estimate_does_not_tell_how_a_thread_starts() {
    let mut made = draw("T1 AAABBB\nT2 CCCccc\nT1@6 -> T2 signal");
    let (first, other) = (made.thread("T1"), made.thread("T2"));
    let observed = |item: &longpole_trace::Item, thread| match item.what {
        ItemKind::Observe { path, .. } if item.thread == thread => Some(path),
        _ => None,
    };
    let path = made.items.iter().find_map(|item| observed(item, first)).expect("it works");
    let at = made.items.iter().position(|item| observed(item, other).is_some()).expect("it works");
    let what = ItemKind::Observe { path, kind: longpole_trace::ObservationKind::Estimate };
    made.items.insert(at, longpole_trace::Item { what, ..made.items[at] });
    let case = case_of(made, exact());
    // By the estimate both did A.
    assert_eq!(case.direct("T2", 3), ["B of T1 +3"]);
}

/// T2 requests from 2 to 6 what T1 wrote in V, and T1 waits for T2. The request is explained by the write; the wait for T2 by the
/// request: since the begin T2 ran R 3 and requested 4, T1 ran V 1 and W 2.
#[test]
fn a_request_is_explained_by_the_write_and_waits_for_it_by_the_request() {
    let mut made = draw("T1 VWWbbbbW\nT2 RRqqqqRR\nT2@7 -> T1 barrier");
    let (writer, thread) = (made.thread("T1"), made.thread("T2"));
    let written_at = made.items.iter().find_map(|item| match item.what {
        ItemKind::Observe { path, .. } if item.thread == writer => Some(path),
        _ => None,
    });
    let begins = |item: &longpole_trace::Item| {
        item.thread == thread && item.what == ItemKind::State(State::Blocked(Cause::Request))
    };
    let at = made.items.iter().position(begins).unwrap();
    let what = ItemKind::Written { writer, path: written_at.unwrap() };
    made.items.insert(at, longpole_trace::Item { what, ..made.items[at] });
    let case = case_of(made, exact());
    assert_eq!(case.direct("T2", 2), ["Written V of T1 +4"]);
    assert_eq!(case.roots("T2", 2), ["Written V of T1 +4"]);
    let of_waiter = ["R of T2 +3", "V of T1 -1", "W of T1 -2", "request in R of T2 +4"];
    assert_eq!(case.direct("T1", 3), of_waiter);
    assert_eq!(case.roots("T1", 3), of_waiter);
    let contention: f64 = case.waits.classes.iter().map(|class| class.split.contention).sum();
    assert!(contention >= 4.0, "{:#?}", case.waits.classes);
}

/// A reads 2 per item, B works 4 per item, C writes 1 per item; each waits for the one before it.
/// B's first wait [0, 2]: A's read 2. C's first wait [0, 6]: B has waited 2 and worked 4 since the begin: direct work 4 + wait 2;
/// root: work 4, read 2. C's second wait [7, 10] since B released C at 6: B worked 4, C wrote 1: work 4 − write 1 = 3.
#[test]
fn pipeline_of_three_stages() {
    let case = case(
        "R = read\nW = work\nO = output
         A RRRRRRRRRR
         B mmWWWWWWWW
         C mmmmmmOmmmO
         A@2 -> B message
         B@6 -> C message
         B@10 -> C message",
    );
    assert_eq!(case.direct("B", 0), ["read of A +2"]);
    assert_eq!(case.direct("C", 0), ["message in +2", "work of B +4"]);
    assert_eq!(case.roots("C", 0), ["read of A +2", "work of B +4"]);
    assert_eq!(case.direct("C", 7), ["output of C -1", "work of B +4"]);
    // Each is alone at its queue.
    assert_eq!(case.unwanted(), [(None, 2 + 6 + 3)].into());
}

/// It spins for 1, by its own word, and is blocked for 3: one wait of 4, all of them T1's hold, and the lock is known.
#[test]
fn a_wait_that_begins_with_a_told_spin_is_for_the_same_object() {
    let case = case("1 = mutex m\nL = hold\nT1 LLLL__\nT2 ¹111LL\nT1@4 -> T2 unlock");
    assert_eq!(case.direct("T2", 0), ["hold of T1+T2 +4"]);
    let blocked = case.waits.classes.iter().find(|class| class.kind == WaitClassKind::Blocked(Cause::Lock));
    assert!(blocked.is_some_and(|class| class.source.object.is_some()), "{:?}", case.waits.classes);
}

/// T2 has the lock of the interpreter at 4, T1 looks after 8 whether it has it, and at 13 has it although nobody woke it. T2, which waits then,
/// waits for T1.
#[test]
fn waits_for_an_interpreter_that_nobody_ends_are_explained_by_who_has_it() {
    let drawing = |kind| {
        format!(
            "1 = {kind} gil\nL = script\nM = other
             T1 LLLL1111L1111LLLLLLLLL__
             T2 M111MMMMMMMMM11111111MM
             T1@4 -> T2 unlock"
        )
    };
    let of_interpreter = case(&drawing("GIL"));
    assert_eq!(of_interpreter.direct("T2", 1), ["script of T1 +3"]);
    assert_eq!(of_interpreter.direct("T1", 4), ["other of T2 +4"]);
    assert_eq!(of_interpreter.direct("T1", 9), ["other of T2 +4"]);
    assert_eq!(of_interpreter.direct("T2", 13), ["script of T1 +8"]);
    let of_mutex = case(&drawing("mutex"));
    assert_eq!(of_mutex.direct("T1", 9), ["lock in script of T1 +4"], "nobody knows");
}

/// T2 waits for all of T1's hold, T3 for that and for T2's: 4 by T1, 4 by T2.
#[test]
fn lock_convoy() {
    let case = case(
        "1 = mutex m\nL = hold
         T1 LLLL________
         T2 1111LLLL____
         T3 11111111LLLL
         T1@4 -> T2 unlock
         T2@8 -> T3 unlock",
    );
    assert_eq!(case.direct("T2", 0), ["hold of T1+T2+T3 +4"]);
    assert_eq!(case.direct("T3", 0), ["hold of T1+T2+T3 +8"]);
    let contention: f64 = case.waits.classes.iter().map(|class| class.split.contention).sum();
    assert_eq!(contention, 12.0);
}

/// Both meet at 4 and at 10. Until 4 H has done work 4, L work 1: its wait of 3 is 3 of the same work.
/// From 4 to 10 H has done work 4 and extra 2, L work 2: its wait of 4 is work 2 and extra 2.
#[test]
fn barrier_imbalance() {
    let case = case(
        "W = work\nE = extra
         H WWWWWWWWEEW
         L WbbbWWbbbbW
         H@4 -> L barrier
         H@10 -> L barrier",
    );
    assert_eq!(case.direct("L", 1), ["work of L+H +3"]);
    assert_eq!(case.direct("L", 6), ["extra of L+H +2", "work of L+H +2"]);
    let (imbalance, insufficient) = case
        .waits
        .classes
        .iter()
        .fold((0.0, 0.0), |sum, class| (sum.0 + class.split.imbalance, sum.1 + class.split.insufficient));
    assert_eq!((imbalance, insufficient), (3.0 + 2.0, 2.0));
}

/// A waits from 1 to 8 for B, which waited from 1 to 6 for C. All are there from 0 on.
/// B's wait: C has done root 6, B start 1: root 6 − start 1 = 5. A's: B has done start 1, waited 5, and finish 2; A start 1:
/// start cancels, wait 5 + finish 2 = 7; to the roots: root 6 + finish 2 − start 1 (of B) = 7.
#[test]
fn a_nested_wait_leads_to_the_root() {
    let case = case(
        "S = start\nR = root\nF = finish
         A SccccccccF
         B SccccccFFF
         C RRRRRRR___
         C@7 -> B signal
         B@9 -> A signal",
    );
    // Everything is one later than in the sum above: C runs 7, A waits 8.
    assert_eq!(case.direct("B", 1), ["root of C +7", "start of A+B -1"]);
    assert_eq!(case.direct("A", 1), ["condition in start of A+B +6", "finish of A+B +2"]);
    assert_eq!(case.roots("A", 1), ["finish of A+B +2", "root of C +7", "start of A+B -1"]);
}

/// The writer W asks at 2 and gets the lock when the second reader leaves, at 6: that one read for all of 4. Readers P and Q ask at 7
/// and 8 and wait for the writer until 10: it wrote 3 and 2 of that.
#[test]
fn reader_writer_lock() {
    let case = case(
        "1 = rwlock table\nR = read\nX = rewrite\nO = other
         P RRROOOO111RR
         Q RRRRRROO11RR
         W OO1111XXXXOO
         Q@6 -> W unlock
         W@10 -> P, Q unlock",
    );
    assert_eq!(case.direct("W", 2), ["read of P+Q +4"]);
    assert_eq!(case.direct("P", 7), ["rewrite of W +3"]);
    assert_eq!(case.direct("Q", 8), ["rewrite of W +2"]);
}

/// Three workers wait for one queue; work comes at 4 for the first, at 8 for the second. The first waited beside two others who
/// stayed, the second beside the third: both were spare. The third is there to the end, which ends nothing.
#[test]
fn workers_of_a_pool_with_some_to_spare_are_not_wanted() {
    let case = case(
        "1 = condition work
         main   AAAAAAAAAAAAAA
         first  B1111BBBBBBBBB
         second B11111111BBBBB
         third  B1111111111111
         main@5 -> first signal
         main@9 -> second signal",
    );
    assert_eq!(case.unwanted(), [(Some(Unwanted::Spare), 4 + 8), (Some(Unwanted::End), 13)].into());
}

/// Where each worker has something of its own to wait for, none can take the other's work; parked threads are alike by place.
#[test]
fn spare_is_who_waits_for_the_same_object() {
    let alike = "main AAAAAAAA\nfirst _B111BBB\nsecond _B222222\nmain@5 -> first signal";
    let own = case(&format!("1 = condition one\n2 = condition two\n{alike}"));
    assert_eq!(own.unwanted(), [(None, 3), (Some(Unwanted::End), 6)].into());
    let parked = case(&format!("1 = parker one\n2 = parker two\n{alike}"));
    assert_eq!(parked.unwanted(), [(Some(Unwanted::Spare), 3), (Some(Unwanted::End), 6)].into());
    // Stages that are started differently do different work, even where they wait in the same procedure.
    let stages = "P = produce\nQ = produce > take\nR = consume > take\nmain AAAAAAAA\nfirst _PQ11BBB\nsecond _R222222\nmain@5 -> first signal";
    let stages = case(&format!("1 = parker one\n2 = parker two\n{stages}"));
    assert_eq!(stages.unwanted(), [(None, 2), (Some(Unwanted::End), 6)].into());
}

/// main works alone for 4 and lets all of them go at once: nobody was spare.
#[test]
fn a_team_that_is_started_by_one_broadcast_is_wanted() {
    let case = case(
        "1 = condition start
         main  AAAAAAAAA
         first B1111BBBB
         other B1111BBBB
         main@5 -> first, other signal",
    );
    assert_eq!(case.unwanted(), [(None, 8)].into());
    assert_eq!(case.direct("first", 1), ["A of main +5", "B of first+other -1"]);
}

#[test]
fn one_who_is_alone_for_a_part_of_the_wait_is_not_spare() {
    // The second comes at 2: until then the first was the only one to take work.
    let case =
        case("1 = condition work\nmain AAAAAAAA\nfirst B111BBBB\nsecond BB111111\nmain@4 -> first signal");
    assert_eq!(case.unwanted(), [(None, 3), (Some(Unwanted::End), 6)].into());
}

#[test]
fn joins_and_children_are_not_wanted() {
    let case = case("main AjjjAwwwA\nT1 AAAA\nT2 AAAAAAAA\nT1@4 -> main join\nT2@8 -> main join");
    assert_eq!(case.unwanted(), [(Some(Unwanted::Join), 6)].into());
}

#[test]
fn what_the_outside_world_ends_is_not_wanted_and_devices_are() {
    let case = case("T1 AzzAooAttA::AffAllA");
    assert_eq!(case.unwanted(), [(None, 6), (Some(Unwanted::Outside), 6)].into());
    assert_eq!(case.direct("T1", 10), ["io in A of T1 +2"]);
}

/// The idler waits for 18 of the run's 20 and then ends: it was told to end. In a run of 30 it may have waited for something.
#[test]
fn a_thread_that_only_waited_to_be_told_to_end_is_not_wanted() {
    let idler = format!("idler I{}I\nmain@19 -> idler signal", "c".repeat(18));
    let run = |length: usize| case(&format!("main {}\n{idler}", "M".repeat(length)));
    assert_eq!(run(20).unwanted(), [(Some(Unwanted::End), 18)].into());
    assert_eq!(run(30).unwanted(), [(None, 18)].into());
}

#[test]
fn a_poll_that_another_thread_ends_is_wanted() {
    let case = case("T1 AoooA\nT2 BBBBB\nT2@4 -> T1 message");
    assert_eq!(case.unwanted(), [(None, 3)].into());
}

#[test]
fn busy_waiting_is_a_wait_that_nobody_is_known_to_have_ended() {
    let case = case("T1 AAAAA\nT2 B~~~B");
    let class = &case.waits.classes[0];
    assert_eq!((class.kind, class.count, class.time), (WaitClassKind::Spinning, 1, 3));
    assert_eq!(class.split.unexplained, 3.0);
}

/// B was created 2 after A, by the same thread, and does the same work of 3: A waits for 2 because B began later.
#[test]
fn who_was_created_later_arrives_later() {
    let case = case(
        "M = main\nW = work
         main MMMMMMMM
         A _WWWbb__
         B ___WWW__
         main@1 -> A create
         main@3 -> B create
         B@6 -> A barrier",
    );
    assert_eq!(case.direct("A", 4), ["Released +2"]);
}

/// The message left at 3 and was under way for 3.
#[test]
fn a_message_under_way_is_a_step() {
    let case = case("A AAAAAA\nB BmmmmmB\nA@3 -> B@6 message");
    assert_eq!(case.direct("B", 1), ["A of A +3", "B of B -1", "UnderWay +3"]);
}

/// Two threads that never met have done A 20 and B 21 when one waits 1 for the other: that it did B meanwhile explains the wait.
#[test]
fn paths_with_little_in_common_are_not_compared() {
    let case = case(&format!("T1 {}c\nT2 {}\nT2@21 -> T1 signal", "A".repeat(20), "B".repeat(22)));
    assert_eq!(case.direct("T1", 20), ["B of T2 +1"]);
    assert_eq!(case.roots("T1", 20), ["B of T2 +1"]);
}

/// L does the first line of the work that H does: with lines, H's second is one in which L had no part.
#[test]
fn classes_are_those_of_procedures_where_lines_are_compared() {
    let made = draw("A = work:1\nB = work:2\nH AABBBBBBW\nL AbbbbbbbW\nH@8 -> L barrier");
    let classes = |by: By| {
        let mut sweep = Explanations::new(&made.program, &made.paths, &made.objects, (by, exact()));
        let Ok(()) = longpole_graph::sweep(&made, false, &mut sweep);
        let classes = sweep.into_waits().classes;
        classes
            .iter()
            .fold((0.0, 0.0), |sum, class| (sum.0 + class.split.imbalance, sum.1 + class.split.insufficient))
    };
    assert_eq!(classes(By::Procedure), (7.0, 0.0));
    assert_eq!(classes(By::Line), classes(By::Procedure));
}

#[test]
fn lines_of_a_procedure_are_told_apart_when_asked_for() {
    let made = draw("A = work:3\nB = work:7\nT1 AAAcccc\nT2 AAABBBB\nT2@7 -> T1 signal");
    let scopes = |by: By| {
        let mut sweep = Explanations::new(&made.program, &made.paths, &made.objects, (by, exact()));
        let Ok(()) = longpole_graph::sweep(&made, false, &mut sweep);
        let lines = sweep.log[0]
            .direct
            .iter()
            .map(|(step, amount)| (step.deed.scope.map(|place| place.line), *amount));
        lines.collect::<Vec<_>>()
    };
    assert_eq!(scopes(By::Procedure), [(Some(0), 4.0)]);
    assert_eq!(scopes(By::Line), [(Some(7), 4.0)]);
}

#[test]
fn equal_explanations_make_one_class() {
    let signals = "B@5 -> A signal\nB@10 -> A signal\nB@15 -> A signal";
    let case = case(&format!("A SccccSccccSccccS\nB WWWWWWWWWWWWWWWW\n{signals}"));
    let wanted: Vec<(u64, u64)> = case.waits.classes.iter().map(|class| (class.count, class.time)).collect();
    assert_eq!(wanted, [(3, 12)]);
}

#[test]
fn few_threads_are_remembered_for_longer() {
    use longpole_testkit::script::{Conditions, Script};
    let steps = "A 10, B 20, ".repeat(2000);
    let script = Script::parse(&format!("main: fork T, join T\nT: {}", steps.trim_end_matches(", ")));
    let direct = |limits: Limits| {
        let case = case_of(script.timelines(&Conditions::unlimited()), limits);
        case.words(&case.log.first().expect("a join").direct)
    };
    assert_eq!(direct(exact()), ["A of T +20000", "B of T +40000"]);
    let forgotten = direct(Limits { few_steps: 0, ..exact() });
    assert!(forgotten.iter().any(|step| step.starts_with("Rest")), "{forgotten:?}");
    let kept = [1, 4, 100, 256, 1024, 2048, 1 << 20].map(|alive| Limits::DEFAULT.steps_of(alive));
    assert_eq!(kept, [131_072, 32_768, 1_310, 1_024, 1_024, 512, 64]);
}

mod laws {
    use longpole_testkit::explained::explained_waits;
    use longpole_testkit::random_timelines;
    use proptest::prelude::*;

    use super::*;

    fn sum(steps: &[(WaitStep, f64)]) -> f64 {
        steps.iter().map(|(_, amount)| amount).sum()
    }

    /// Time of all threads blocked, spinning, ready.
    fn times(made: &MemoryTimelines) -> [u64; 3] {
        let Ok(analysis) = crate::analyse(made, &crate::MetricOptions::default());
        let sum = |of: fn(&crate::ThreadStates) -> u64| analysis.threads.iter().map(of).sum();
        [sum(|states| states.blocked.iter().sum()), sum(|states| states.spinning), sum(|states| states.ready)]
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

        #[test]
        fn every_explanation_adds_up_to_its_wait(made in random_timelines(5, 120), tight: bool) {
            let tight_limits = Limits { steps: 64, few_steps: 0, releases: 1, holders: 2, roots: 2, credit: 8, looks_per_step: 1, steps_without_credit: 2, ..exact() };
            let case = case_of(made, if tight { tight_limits } else { exact() });
            for wait in &case.log {
                let length = (wait.to - wait.from) as f64;
                prop_assert!((sum(&wait.direct) - length).abs() < 1e-6, "{:?}", wait);
                prop_assert!((sum(&wait.roots) - length).abs() < 1e-6, "{:?}", wait);
            }
        }

        #[test]
        fn explanations_equal_those_made_tick_by_tick(made in random_timelines(5, 90)) {
            let slow = explained_waits(&made);
            let case = case_of(made, exact());
            let fast: Vec<&Logged> = case.log.iter().filter(|wait| wait.from < wait.to).collect();
            prop_assert_eq!(fast.len(), slow.len());
            for (fast, slow) in fast.into_iter().zip(&slow) {
                prop_assert_eq!((fast.thread, fast.from, fast.to), (slow.thread, slow.from, slow.to));
                for (name, fast_steps, slow_deeds) in [("direct", &fast.direct, &slow.direct), ("roots", &fast.roots, &slow.roots)] {
                    let mut left = slow_deeds.clone();
                    for (step, amount) in fast_steps {
                        let deed = (format!("{:?}", step.deed.category), step.deed.scope.map(|place| place.procedure));
                        *left.entry(deed).or_default() -= amount;
                    }
                    prop_assert!(left.values().all(|amount| amount.abs() < 1e-6), "{name}: {:?} {:?}", fast, slow);
                }
            }
        }

        #[test]
        fn all_waiting_is_in_some_class(made in random_timelines(5, 120)) {
            let waited: u64 = explained_waits(&made).iter().map(|wait| wait.to - wait.from).sum();
            let case = case_of(made, Limits::DEFAULT);
            let blocked_classes = case.waits.classes.iter().filter(|class| class.kind != WaitClassKind::Spinning);
            prop_assert_eq!(blocked_classes.map(|class| class.time).sum::<u64>(), waited);
            // What was spun without a word, and, while it was waited, without a processor.
            let all: u64 = case.waits.classes.iter().map(|class| class.time).sum();
            let [blocked, spun, ready] = times(&case.made);
            prop_assert!(blocked + spun <= all && all <= blocked + spun + ready, "{all} {blocked} {spun} {ready}");
            for class in &case.waits.classes {
                let sum = |shares: &[StepShare]| shares.iter().map(|share| share.positive - share.negative).sum::<f64>();
                prop_assert!((sum(&class.direct) - class.time as f64).abs() < 1e-6);
                prop_assert!((sum(&class.roots) - class.time as f64).abs() < 1e-6);
            }
        }
    }
}

#[test]
fn a_thread_that_ends_before_the_others_of_its_fork_is_load_imbalance() {
    let mut made =
        draw("T1 AjjjjjjjjA\nT2 _WWWWWWWW_\nT3 _WWW______\nT1@1 -> T2, T3 create\nT2@9 -> T1 join");
    let mut insert = |at: u64, thread: u32, what: ItemKind| {
        let time = Time::from_nanoseconds(at);
        let after = made.items.partition_point(|item| item.time <= time);
        made.items.insert(after, longpole_trace::Item { time, thread: ThreadId(thread), what });
    };
    let joined = |token| {
        let token = TokenId(token);
        ItemKind::Acquire(Acquisition {
            token,
            kind: DependenceKind::Join,
            object: None,
            queue: None,
            last: true,
        })
    };
    insert(4, 2, ItemKind::Release(TokenId(0)));
    insert(9, 1, ItemKind::Release(TokenId(1)));
    insert(9, 0, joined(1));
    insert(9, 0, joined(0));
    let case = case_of(made, exact());
    let early: Vec<_> =
        case.waits.classes.iter().filter(|class| class.kind == WaitClassKind::EndedEarly).collect();
    let [class] = early[..] else { panic!("{early:?}") };
    assert_eq!((class.count, class.time, class.unwanted), (1, 5, None));
    let expected = Split { imbalance: 5.0, ..Split::default() };
    assert!((class.split.imbalance - expected.imbalance).abs() < 1e-9, "{:?}", class.split);
    assert_eq!(class.direct.iter().map(|share| share.count).collect::<Vec<_>>(), [1]);
}
