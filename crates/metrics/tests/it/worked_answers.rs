//! Worked answers (metrics.md §10): cases whose numbers were computed by hand.

use longpole_metrics::{Analysis, By, Measures, MetricOptions, Node, analyse, rows};
use longpole_testkit::{MemoryTimelines, draw};
use longpole_trace::Cause;

struct Case {
    timelines: MemoryTimelines,
    analysis: Analysis,
}

fn case_with(text: &str, options: MetricOptions) -> Case {
    let timelines = draw(text);
    let Ok(analysis) = analyse(&timelines, &options);
    Case { timelines, analysis }
}

fn case(text: &str) -> Case {
    case_with(text, MetricOptions::default())
}

impl Case {
    fn row(&self, name: &str) -> (Measures, Measures) {
        let node = Node::Procedure(self.timelines.procedure(name));
        let table =
            rows(&self.analysis, &self.timelines.program, &self.timelines.paths, By::Procedure, |_| true);
        let row = table.into_iter().find(|row| row.node == node).expect("the procedure has a row");
        (row.own, row.inclusive)
    }

    fn assert_critical(&self, expected: &[(&str, u64)]) {
        for &(name, time) in expected {
            assert_eq!(self.row(name).0.critical_cpu, time, "{name} on the critical path");
        }
        let sum: u64 = expected.iter().map(|(_, time)| time).sum();
        assert_eq!(self.analysis.critical_cpu.length, sum, "length of the critical path");
    }

    fn assert_elapsed(&self, expected: &[(&str, u64)]) {
        for &(name, time) in expected {
            assert_eq!(self.row(name).0.critical_elapsed, time, "{name} on the elapsed path");
        }
        let sum: u64 = expected.iter().map(|(_, time)| time).sum();
        assert_eq!(self.analysis.critical_elapsed.length, sum, "length of the elapsed path");
    }

    fn assert_npt(&self, expected: &[(&str, f64)]) {
        for &(name, time) in expected {
            let npt = self.row(name).0.npt();
            assert!((npt - time).abs() < 1e-9, "NPT of {name} is {npt}, not {time}");
        }
    }
}

/// M figure 2. NPT: for 36 three threads are busy, A 36/3, C twice 36/3; then B alone.
#[test]
fn figure_2_of_the_comparison_of_metrics() {
    let repeat = |letter: &str| letter.repeat(36);
    let figure = case(&format!(
        "T1 {}{}\nT2 {}{}\nT3 {}{}\nT1@72 -> T2, T3 signal",
        repeat("A"),
        repeat("B"),
        repeat("C"),
        repeat("c"),
        repeat("C"),
        repeat("c")
    ));
    assert_eq!(figure.analysis.elapsed, 72);
    figure.assert_critical(&[("A", 36), ("B", 36), ("C", 0)]);
    figure.assert_npt(&[("A", 12.0), ("B", 36.0), ("C", 24.0)]);
    assert_eq!(figure.analysis.busy, [0, 36, 0, 36]);
    assert_eq!(figure.row("C").0.blocked_for(Cause::Condition), 72);
}

/// Two stages: P makes an item in 2, Q uses it in 3. Q's last three pieces decide.
/// Path: P 2 (first item), then Q 3·3 = 9; together 11.
/// NPT: 0..2 P alone 2; 2..6 both: 2 each; 6..11 Q alone 5. P 4, Q 7.
#[test]
fn pipeline_of_two_stages() {
    let pipeline = case(
        "T1 PPPPPPppppp
         T2 ppQQQQQQQQQ
         T1@2 -> T2 message",
    );
    pipeline.assert_critical(&[("P", 2), ("Q", 9)]);
    pipeline.assert_elapsed(&[("P", 2), ("Q", 9)]);
    pipeline.assert_npt(&[("P", 4.0), ("Q", 7.0)]);
}

/// Three threads take a lock in turn for 4 each: L is serial, so all of it is on the path (12).
/// NPT: one thread is busy at all times: L 12. Each waits: T2 4, T3 8.
#[test]
fn lock_convoy() {
    let convoy = case(
        "T1 LLLL________
         T2 llllLLLL____
         T3 llllllllLLLL
         T1@4 -> T2 unlock
         T2@8 -> T3 unlock",
    );
    convoy.assert_critical(&[("L", 12)]);
    convoy.assert_npt(&[("L", 12.0)]);
    assert_eq!(convoy.analysis.busy, [0, 12]);
    assert_eq!(convoy.analysis.critical_cpu.segments.len(), 3);
    let waited: u64 = convoy.analysis.threads.iter().map(|t| t.blocked[Cause::Lock.index()]).sum();
    assert_eq!(waited, 12);
}

/// Work W of 3, 5 and 8 before a barrier, then E of 2 in each thread. The last to arrive decides: 8 + 2.
/// NPT of W: 0..3 three busy: 3; 3..5 two: 2; 5..8 one: 3; together 8. E: 2.
#[test]
fn barrier_with_imbalance() {
    let barrier = case(
        "T1 WWWbbbbbEE
         T2 WWWWWbbbEE
         T3 WWWWWWWWEE
         T3@8 -> T1, T2 barrier",
    );
    barrier.assert_critical(&[("W", 8), ("E", 2)]);
    barrier.assert_elapsed(&[("W", 8), ("E", 2)]);
    barrier.assert_npt(&[("W", 8.0), ("E", 2.0)]);
    let work = barrier.row("W").0;
    assert_eq!(work.npt_terms, [0.0, 3.0, 2.0, 3.0]);
    assert_eq!(work.blocked_for(Cause::Barrier), 8);
}

/// T3 waits for T2, which waits for T1: the root of T3's wait is A on T1. Path: A 6, then B 2 on T2 (6..8),
/// then C 1 on T3. B's first piece and C's first piece are hidden behind A.
#[test]
fn nested_waits_lead_to_the_root() {
    let nested = case(
        "T1 AAAAAA___
         T2 BBllllBB_
         T3 CcccccccC
         T1@6 -> T2 unlock
         T2@8 -> T3 signal",
    );
    nested.assert_critical(&[("A", 6), ("B", 2), ("C", 1)]);
    nested.assert_elapsed(&[("A", 6), ("B", 2), ("C", 1)]);
    // 0: three busy; 1: A and B; 2..6: A; 6..8: B; 8: C.
    nested.assert_npt(&[("A", 1.0 / 3.0 + 0.5 + 4.0), ("B", 1.0 / 3.0 + 0.5 + 2.0), ("C", 1.0 / 3.0 + 1.0)]);
}

/// T2 spins for 6 while T1 works: CPU time of S is 8, useful 2. Spinning is not busy: A has 2/2 + 6.
/// By CPU weight T1's 8 are the longest; T2 has 2.
#[test]
fn spinner() {
    let spinner = case(
        "T1 AAAAAAAA
         T2 SS~~~~~~",
    );
    let spins = spinner.row("S").0;
    assert_eq!((spins.cpu(), spins.running, spins.spinning), (8, 2, 6));
    spinner.assert_critical(&[("A", 8), ("S", 0)]);
    spinner.assert_npt(&[("A", 7.0), ("S", 1.0)]);
    assert_eq!((spinner.analysis.busy, spinner.analysis.nominal), (vec![0, 6, 2], vec![0, 0, 8]));
}

/// R reads for 4 between two pieces of work while W works for 6 and waits for it. CPU path: R 2 + 2, then W 1 = 5, or
/// W 6 + 1 = 7: the latter. Elapsed path: R's read explains the wait: R 8 (its io included), then W 1.
#[test]
fn a_wait_for_a_device_is_busy_or_idle_and_weighs_by_elapsed_time() {
    let text = "T1 RR::::RR_
                T2 WWWWWWccW
                T1@8 -> T2 signal";
    let busy = case(text);
    busy.assert_critical(&[("R", 0), ("W", 7)]);
    busy.assert_elapsed(&[("R", 8), ("W", 1)]);
    // io busy: 0..6 two: 3 each; 6..8 R alone; 8 W alone.
    busy.assert_npt(&[("R", 5.0), ("W", 4.0)]);
    // io idle: 0..2 two: 1 each; 2..6 W alone 4; 6..8 R alone 2; 8 W alone 1.
    let idle = case_with(text, MetricOptions { io_idle: true, ..MetricOptions::default() });
    idle.assert_npt(&[("R", 3.0), ("W", 6.0)]);
}

/// More threads than processors: each runs half of the time that it lives. CPU path: 4 of one thread. Elapsed path: ready time
/// weighs too, so the thread that ends last has all 8. NPT: always one busy.
#[test]
fn more_threads_than_processors() {
    let crowded = case(
        "cpus 1
         T1 AA--AA
         T2 --BB--BB",
    );
    assert_eq!(crowded.analysis.critical_cpu.length, 4);
    crowded.assert_critical(&[("A", 0), ("B", 4)]);
    // T2 was ready for 2 before anything was known of where it is.
    assert_eq!((crowded.row("A").0.critical_elapsed, crowded.row("B").0.critical_elapsed), (0, 6));
    assert_eq!(crowded.analysis.critical_elapsed.length, 8);
    crowded.assert_npt(&[("A", 4.0), ("B", 4.0)]);
    assert_eq!((crowded.row("A").0.ready, crowded.row("B").0.ready), (2, 2));
}

/// main starts two workers and waits for them: what they do is on main's behalf.
/// Path: main 2, W 6 of the longer worker, main 1 = 9. NPT of W: 2..5 two busy: 3; 5..8 one: 3.
#[test]
fn fork_and_join_on_behalf_of_main() {
    let forked = case(
        "M = main
         T1 MMjjjjjjM
         T2 __WWWWWW_
         T3 __WWW____
         T1@2 -> T2, T3 create
         T2@8 -> T1 join",
    );
    forked.assert_critical(&[("main", 3), ("W", 6)]);
    forked.assert_npt(&[("main", 3.0), ("W", 6.0)]);
    let (own, inclusive) = forked.row("main");
    assert_eq!((own.running, inclusive.running), (3, 12));
    assert_eq!((own.critical_cpu, inclusive.critical_cpu), (3, 9));
    assert!((inclusive.npt() - 9.0).abs() < 1e-9);
}

/// Two processes on two machines and a message that is 3 under way. T2 waits from 1 for what T1 sent at 4.
/// CPU path: A 4, then B 2 of T2 after 7 (6; T2 alone has 3). Elapsed: A 4, way 3, B 2.
#[test]
fn a_message_between_machines() {
    let message = case(
        "one:p/T1 AAAA_____
         two:q/T2 BmmmmmmBB
         T1@4 -> T2@7 message",
    );
    message.assert_critical(&[("A", 4), ("B", 2)]);
    message.assert_elapsed(&[("A", 4), ("B", 5)]);
}
