//! Laws that hold on every run, and agreement of the sweeps with the slow oracles, on random runs.

use std::collections::BTreeMap;

use longpole_event::{ThreadId, Time};
use longpole_metrics::{
    Analysis, By, CriticalPath, Measures, MetricOptions, Node, Order, PathWaitKind, analyse, rows,
};
use longpole_testkit::{MemoryTimelines, oracle, random_timelines};
use longpole_trace::{Cause, DependenceKind, Item, ItemKind, ObservationKind, PathId, State};
use proptest::prelude::*;

/// The slow oracles follow every arc of a random graph, whatever it stands for.
fn analysis(made: &MemoryTimelines, io_idle: bool) -> Analysis {
    let Ok(analysis) = analyse(made, &MetricOptions { io_idle, order: Order::Recorded });
    analysis
}

fn sum(analysis: &Analysis, of: impl Fn(&Measures) -> u64) -> u64 {
    analysis.charges.iter().map(|charge| of(&charge.measures)).sum()
}

fn is_on(path: &CriticalPath, thread: ThreadId, tick: u64) -> bool {
    path.segments.iter().any(|segment| {
        segment.thread == thread && segment.from.nanoseconds() <= tick && tick < segment.to.nanoseconds()
    })
}

fn ticks(made: &MemoryTimelines) -> impl Iterator<Item = (ThreadId, u64)> + '_ {
    let threads = (0..made.program.threads.len()).map(ThreadId::from_index);
    threads.flat_map(|thread| (0..made.program.elapsed_nanoseconds).map(move |tick| (thread, tick)))
}

/// The path begins where its first thread begins, and each hand-off is a dependence of the run, or leads from a thread that begins to wait
/// for what another one has to what the others do from then on until it goes on.
fn is_connected(made: &MemoryTimelines, path: &CriticalPath) -> bool {
    let begin = |thread: ThreadId| made.program.threads[thread.index()].start;
    let first = path.segments.first().is_none_or(|first| first.from == begin(first.thread));
    first
        && path.segments.windows(2).all(|pair| {
            let (left, arrived) = ((pair[0].thread, pair[0].to), (pair[1].thread, pair[1].from));
            let is_release = |item: &Item, token| {
                (item.thread, item.time) == left && item.what == ItemKind::Release(token)
            };
            let excludes = |item: &Item| match item.what {
                ItemKind::Await(object) => made.objects.get(object).kind.excludes(),
                _ => false,
            };
            let mut begun = made.items.iter().filter(|item| (item.thread, item.time) == left);
            let goes_on =
                path.segments.iter().any(|segment| segment.thread == left.0 && segment.from > left.1);
            if goes_on && begun.any(excludes) {
                return true;
            }
            let mut arrivals = made.items.iter().filter(|item| (item.thread, item.time) == arrived);
            arrivals.any(|item| match item.what {
                ItemKind::Depend { source, source_time, .. } => (source, source_time) == left,
                ItemKind::Acquire(acquisition) => {
                    made.items.iter().any(|item| is_release(item, acquisition.token))
                }
                _ => false,
            })
        })
}

/// The same run with the threads' ids in reverse.
fn relabelled(made: &MemoryTimelines) -> MemoryTimelines {
    let mut other = made.clone();
    let last = made.program.threads.len() - 1;
    let renamed = |id: ThreadId| ThreadId::from_index(last - id.index());
    other.program.threads.reverse();
    for thread in &mut other.program.threads {
        thread.creator = thread.creator.map(renamed);
    }
    for item in &mut other.items {
        item.thread = renamed(item.thread);
        if let ItemKind::Depend { source, .. } = &mut item.what {
            *source = renamed(*source);
        }
    }
    other
}

/// By procedure: CPU time, blocked time, and normalised processor time in millionths of a tick.
fn by_procedure(made: &MemoryTimelines, analysis: &Analysis) -> Vec<(String, u64, u64, u64)> {
    rows(analysis, &made.program, &made.paths, By::Procedure, |_| true)
        .into_iter()
        .map(|row| {
            let own = row.own;
            let npt = (own.npt() * 1e6).round() as u64;
            (format!("{:?}", row.node), own.cpu(), own.blocked_in_all(), npt)
        })
        // Of two equally long critical paths, the names decide; a row may have nothing but its part in one.
        .filter(|&(_, cpu, blocked, npt)| cpu + blocked + npt > 0)
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn charges_equal_those_counted_tick_by_tick(made in random_timelines(4, 60), io_idle: bool) {
        let analysis = analysis(&made, io_idle);
        let slow = oracle::charges(&made, io_idle);
        let mut fast: BTreeMap<(ThreadId, PathId), &Measures> = BTreeMap::new();
        for charge in &analysis.charges {
            prop_assert!(fast.insert((charge.thread, charge.path), &charge.measures).is_none());
        }
        for (key, slow) in &slow {
            let fast = fast.get(key).copied().cloned().unwrap_or_default();
            prop_assert_eq!((fast.running, fast.spinning, fast.overhead, fast.ready), (slow.running, slow.spinning, slow.overhead, slow.ready));
            for (index, &time) in fast.blocked.iter().enumerate() {
                prop_assert_eq!(time, slow.blocked.get(&index).copied().unwrap_or(0));
            }
            prop_assert_eq!(fast.blocked_in_all(), slow.blocked.values().sum::<u64>());
            for level in 0..fast.npt_terms.len().max(8) {
                let term = fast.npt_terms.get(level).copied().unwrap_or(0.0);
                prop_assert!((term - slow.npt.get(&level).copied().unwrap_or(0.0)).abs() < 1e-9);
            }
        }
        for (key, fast) in fast {
            prop_assert!(slow.contains_key(&key) || fast.cpu() + fast.overhead + fast.ready + fast.blocked_in_all() == 0);
        }
    }

    #[test]
    fn parallelism_equals_that_counted_tick_by_tick(made in random_timelines(4, 60), io_idle: bool) {
        let analysis = analysis(&made, io_idle);
        let (mut busy, mut nominal) = (vec![0; 8], vec![0; 8]);
        for tick in 0..made.program.elapsed_nanoseconds {
            busy[oracle::busy_in(&made, tick, io_idle)] += 1;
            nominal[oracle::runnable_in(&made, tick)] += 1;
        }
        let trimmed = |mut histogram: Vec<u64>| {
            while histogram.last() == Some(&0) {
                histogram.pop();
            }
            histogram
        };
        prop_assert_eq!(trimmed(analysis.busy.clone()), trimmed(busy));
        prop_assert_eq!(trimmed(analysis.nominal.clone()), trimmed(nominal));
        prop_assert_eq!(analysis.elapsed, made.program.elapsed_nanoseconds);
    }

    #[test]
    fn normalised_processor_time_adds_up_to_the_busy_time(made in random_timelines(5, 80), io_idle: bool) {
        let analysis = analysis(&made, io_idle);
        let npt: f64 = analysis.charges.iter().map(|charge| charge.measures.npt()).sum();
        let idle = analysis.busy.first().copied().unwrap_or(0);
        prop_assert!((npt + idle as f64 - analysis.elapsed as f64).abs() < 1e-6);
    }

    #[test]
    fn charges_add_up_to_the_states_of_the_threads(made in random_timelines(5, 80)) {
        let analysis = analysis(&made, false);
        for (index, states) in analysis.threads.iter().enumerate() {
            let mut charged = Measures::default();
            for charge in analysis.charges.iter().filter(|charge| charge.thread.index() == index) {
                charged.add(&charge.measures);
            }
            prop_assert_eq!(charged.running, states.running);
            prop_assert_eq!(charged.spinning, states.spinning);
            prop_assert_eq!((charged.overhead, charged.ready), (states.overhead, states.ready));
            prop_assert_eq!(charged.blocked_in_all(), states.blocked.iter().sum::<u64>());
        }
    }

    /// Inclusive times, by walking every charged path and counting each procedure on it once.
    #[test]
    fn rows_equal_those_counted_path_by_path(made in random_timelines(4, 80)) {
        let analysis = analysis(&made, false);
        let mut slow: BTreeMap<_, (u64, u64)> = BTreeMap::new();
        for charge in &analysis.charges {
            let mut on_path: Vec<_> = made.paths.places_of(charge.path).map(|place| place.procedure).collect();
            let cpu = charge.measures.cpu();
            if let Some(&innermost) = on_path.first() {
                slow.entry(Node::Procedure(innermost)).or_default().0 += cpu;
            }
            on_path.sort_unstable();
            on_path.dedup();
            for procedure in on_path {
                slow.entry(Node::Procedure(procedure)).or_default().1 += cpu;
            }
        }
        let rows = rows(&analysis, &made.program, &made.paths, By::Procedure, |_| true);
        let fast: BTreeMap<_, _> =
            rows.iter().map(|row| (row.node, (row.own.cpu(), row.inclusive.cpu()))).collect();
        prop_assert_eq!(fast, slow);
    }

    #[test]
    fn the_critical_path_is_as_long_as_the_longest_of_all_paths(made in random_timelines(4, 50)) {
        let analysis = analysis(&made, false);
        prop_assert_eq!(analysis.critical_cpu.length, oracle::critical_path_length(&made));
    }

    #[test]
    fn the_critical_path_is_a_path_and_weighs_what_it_says(made in random_timelines(4, 60)) {
        let analysis = analysis(&made, false);
        let path = &analysis.critical_cpu;
        prop_assert!(is_connected(&made, path), "{:?}", path);
        let mut slow: BTreeMap<(ThreadId, PathId), u64> = BTreeMap::new();
        for (thread, tick) in ticks(&made) {
            if is_on(path, thread, tick) && oracle::state_in(&made, thread, tick) == State::Running {
                *slow.entry((thread, oracle::path_of_work(&made, thread, tick))).or_default() += 1;
            }
        }
        prop_assert_eq!(slow.values().sum::<u64>(), path.length);
        let charged = analysis.charges.iter().filter(|charge| charge.measures.critical_cpu > 0);
        let fast: BTreeMap<_, _> =
            charged.map(|charge| ((charge.thread, charge.path), charge.measures.critical_cpu)).collect();
        prop_assert_eq!(fast, slow);
    }

    #[test]
    fn the_elapsed_path_is_a_path_as_long_as_the_run(made in random_timelines(4, 60)) {
        let analysis = analysis(&made, false);
        let path = &analysis.critical_elapsed;
        prop_assert_eq!(path.length, made.program.elapsed_nanoseconds);
        prop_assert_eq!(sum(&analysis, |measures| measures.critical_elapsed), path.length);
        prop_assert!(is_connected(&made, path), "{:?}", path);
        prop_assert!(path.segments.windows(2).all(|pair| pair[0].to <= pair[1].from));
    }

    /// The last tick of a wait that a working thread ended is explained by that thread, and not on the path.
    #[test]
    fn a_wait_that_another_thread_ended_is_not_on_the_elapsed_path(made in random_timelines(4, 60)) {
        let path = analysis(&made, false).critical_elapsed;
        for item in &made.items {
            let ItemKind::Depend { source, source_time, .. } = item.what else { continue };
            let time = item.time.nanoseconds();
            if source_time != item.time || time == 0 {
                continue;
            }
            let before = time - 1;
            let waited = matches!(oracle::state_in(&made, item.thread, before), State::Blocked(_));
            if waited && oracle::state_in(&made, source, before) == State::Running {
                prop_assert!(!is_on(&path, item.thread, before), "{:?} {:?}", item, path);
            }
        }
    }

    #[test]
    fn waits_on_the_elapsed_path_are_waits_of_that_cause(made in random_timelines(4, 60)) {
        for charge in &analysis(&made, false).charges {
            let Measures { path_waits, critical_elapsed, ready, .. } = &charge.measures;
            prop_assert!(path_waits.values().sum::<u64>() <= *critical_elapsed);
            for (&kind, &time) in path_waits {
                match kind {
                    PathWaitKind::Ready => prop_assert!(time <= *ready),
                    PathWaitKind::Blocked(cause) => prop_assert!(time <= charge.measures.blocked_for(cause)),
                    PathWaitKind::Spinning | PathWaitKind::Overhead | PathWaitKind::UnderWay => {}
                }
            }
        }
    }

    #[test]
    fn who_is_called_what_changes_nothing(made in random_timelines(4, 60), io_idle: bool) {
        let other = relabelled(&made);
        let (one, two) = (analysis(&made, io_idle), analysis(&other, io_idle));
        prop_assert_eq!(by_procedure(&made, &one), by_procedure(&other, &two));
        prop_assert_eq!(one.critical_cpu.length, two.critical_cpu.length);
        prop_assert_eq!(one.busy, two.busy);
    }

    /// A serial run is the same run when every piece of it is done by a thread of its own, one after the other.
    #[test]
    fn one_thread_equals_many_threads_in_turn(pieces in proptest::collection::vec((0..4_u8, 1..6_usize), 1..8)) {
        let letter = |piece: u8| char::from(b'A' + piece);
        let run = |&(piece, length): &(u8, usize)| letter(piece).to_string().repeat(length);
        let one = longpole_testkit::draw(&format!("T0 {}", pieces.iter().map(run).collect::<String>()));
        let (mut many, mut before) = (String::new(), 0);
        for (index, piece) in pieces.iter().enumerate() {
            many += &format!("T{index} {}{}\n", "_".repeat(before), run(piece));
            if index > 0 {
                many += &format!("T{}@{before} -> T{index} create\n", index - 1);
            }
            before += piece.1;
        }
        let many = longpole_testkit::draw(&many);
        let table = |made: &MemoryTimelines| {
            let analysis = analysis(made, false);
            let rows = rows(&analysis, &made.program, &made.paths, By::Procedure, |_| true);
            let mut table: Vec<_> = rows
                .iter()
                .map(|row| (format!("{:?}", row.node), row.own.running, row.own.critical_cpu, row.own.critical_elapsed, row.own.npt() as u64))
                .collect();
            table.sort();
            (table, analysis.critical_cpu.length)
        };
        prop_assert_eq!(table(&one), table(&many));
    }
}

/// Items that no recording has: states, dependences and times at random.
fn nonsense() -> impl Strategy<Value = MemoryTimelines> {
    let state = prop_oneof![
        Just(State::Absent),
        Just(State::Running),
        Just(State::Spinning),
        Just(State::Overhead),
        Just(State::Ready),
        (0..Cause::ALL.len()).prop_map(|index| State::Blocked(Cause::ALL[index])),
    ];
    let what = prop_oneof![
        4 => state.prop_map(ItemKind::State),
        2 => (0..4_u32).prop_map(|path| ItemKind::Observe { path: PathId(path), kind: ObservationKind::Boundary }),
        3 => (0..4_u32, 0..60_u64).prop_map(|(source, time)| ItemKind::Depend {
            source: ThreadId(source),
            source_time: Time::from_nanoseconds(time),
            kind: DependenceKind::Wake,
        }),
    ];
    proptest::collection::vec((0..60_u64, 0..4_u32, what), 0..80).prop_map(|items| {
        // Four threads and at least four paths.
        let mut made = longpole_testkit::draw("T0 ABCD\nT1 A\nT2 A\nT3 A");
        let item = |(time, thread, what)| Item {
            time: Time::from_nanoseconds(time),
            thread: ThreadId(thread),
            what,
        };
        made.items = items.into_iter().map(item).collect();
        made
    })
}

proptest! {
    #[test]
    fn whatever_the_items_say_sums_are_sums(made in nonsense()) {
        let analysis = analysis(&made, false);
        prop_assert_eq!(analysis.busy.iter().sum::<u64>(), analysis.elapsed);
        prop_assert_eq!(analysis.nominal.iter().sum::<u64>(), analysis.elapsed);
        prop_assert_eq!(sum(&analysis, |measures| measures.critical_cpu), analysis.critical_cpu.length);
        prop_assert_eq!(sum(&analysis, |measures| measures.critical_elapsed), analysis.critical_elapsed.length);
        let npt: f64 = analysis.charges.iter().map(|charge| charge.measures.npt()).sum();
        let idle = analysis.busy.first().copied().unwrap_or(0);
        prop_assert!((npt + idle as f64 - analysis.elapsed as f64).abs() < 1e-6);
    }
}

#[test]
fn time_goes_on_where_it_was_when_an_item_is_late() {
    let mut made = longpole_testkit::draw("T1 AAAABB");
    made.items[2].time = Time::from_nanoseconds(1);
    let analysis = analysis(&made, false);
    assert_eq!(sum(&analysis, Measures::cpu), 6);
}
