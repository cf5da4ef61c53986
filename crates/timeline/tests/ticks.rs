//! Frames, curves, moments and wakes of random runs against the same things found tick by tick from the items alone,
//! and against the tables of the analysis.

use std::collections::BTreeMap;

use longpole_event::{ThreadId, Time};
use longpole_metrics::{Analysis, By, Measures, MetricOptions, Node, Weight, analyse, rows, total};
use longpole_report::RecordingNames;
use longpole_testkit::{MemoryTimelines, oracle, random_timelines};
use longpole_timeline::{CurveNode, CurveQuestion, FrameWindow, Index, TimelineFrame, state_names};
use longpole_trace::{Cause, ItemKind, PathId, State};
use proptest::prelude::*;

struct Run {
    made: MemoryTimelines,
    analysis: Analysis,
    index: Index,
    io_idle: bool,
}

impl Run {
    fn new(made: MemoryTimelines, io_idle: bool) -> Run {
        let options = MetricOptions { io_idle, ..MetricOptions::default() };
        let Ok(analysis) = analyse(&made, &options);
        let Ok(index) = Index::of(&made, &options, &analysis);
        Run { made, analysis, index, io_idle }
    }

    fn elapsed(&self) -> u64 {
        self.made.program.elapsed_nanoseconds
    }

    fn threads(&self) -> Vec<ThreadId> {
        (0..self.made.program.threads.len()).map(ThreadId::from_index).collect()
    }

    fn names(&self) -> RecordingNames<'_> {
        RecordingNames { program: &self.made.program, paths: &self.made.paths, objects: &self.made.objects }
    }

    fn values(&self, metric: &str, node: &str, bins: u64) -> Vec<f64> {
        let (from, to) = (Time::ZERO, None);
        let node = &CurveNode::named(&self.names(), node).expect("the node is there");
        let question = CurveQuestion { metric, node, from, to, bins: bins as u32 };
        self.index.curve(&self.names(), &question).expect("the node has the metric")
    }

    /// Where a tick of a thread is charged.
    fn path(&self, thread: ThreadId, tick: u64, state: State) -> PathId {
        if state.is_on_cpu() {
            oracle::path_of_work(&self.made, thread, tick)
        } else {
            oracle::path_of_wait(&self.made, thread, tick)
        }
    }

    fn passes(&self, path: PathId, name: &str) -> bool {
        let procedure =
            |place: longpole_trace::CodePlace| self.made.paths.procedure_named_by(place.procedure);
        self.made.paths.places_of(path).any(|place| procedure(place).name == name)
    }

    fn is_on_path(&self, thread: ThreadId, tick: u64, weight: Weight) -> bool {
        let path = match weight {
            Weight::Cpu => &self.analysis.critical_cpu,
            Weight::Elapsed => &self.analysis.critical_elapsed,
        };
        let tick = Time::from_nanoseconds(tick);
        path.segments
            .iter()
            .any(|segment| segment.thread == thread && segment.from <= tick && tick < segment.to)
    }

    /// What a tick of a thread counts in a metric.
    fn amount(&self, metric: &str, thread: ThreadId, tick: u64) -> f64 {
        let state = oracle::state_in(&self.made, thread, tick);
        let is = |is: bool| f64::from(u8::from(is));
        match metric {
            "effective_parallelism" => is(state.is_busy(self.io_idle)),
            "nominal_parallelism" => is(state.is_runnable()),
            "cpu_seconds" => is(matches!(state, State::Running | State::Spinning)),
            "spin_seconds" => is(state == State::Spinning),
            "ready_seconds" => is(state == State::Ready),
            "wait_seconds" => is(matches!(state, State::Blocked(_))),
            "synchronisation_wait_seconds" => {
                is(matches!(state, State::Blocked(cause) if cause.is_synchronisation()))
            }
            "page_fault_wait_seconds" => is(state == State::Blocked(Cause::PageFault)),
            "blocked_lock_seconds" => is(state == State::Blocked(Cause::Lock)),
            "npt_seconds" => {
                let busy = oracle::busy_in(&self.made, tick, self.io_idle);
                is(state.is_busy(self.io_idle)) / (busy as f64).max(1.0)
            }
            "critical_path_seconds" => {
                is(state == State::Running && self.is_on_path(thread, tick, Weight::Cpu))
            }
            _ => panic!("{metric}"),
        }
    }
}

const METRICS: [&str; 9] = [
    "cpu_seconds",
    "spin_seconds",
    "ready_seconds",
    "wait_seconds",
    "synchronisation_wait_seconds",
    "page_fault_wait_seconds",
    "blocked_lock_seconds",
    "npt_seconds",
    "critical_path_seconds",
];

fn edges((from, to): (u64, u64), bins: u64) -> Vec<u64> {
    (0..=bins).map(|bin| from + (to - from) * bin / bins).collect()
}

fn close(one: f64, other: f64) -> bool {
    (one - other).abs() < 1e-6
}

/// Runs of numbers, one by one.
fn unrolled(runs: &[u32]) -> Vec<u32> {
    runs.chunks(2).flat_map(|run| std::iter::repeat_n(run[1], run[0] as usize)).collect()
}

fn name(state: State) -> String {
    match state {
        State::Absent => "absent".to_owned(),
        State::Running => "running".to_owned(),
        State::Spinning => "spinning".to_owned(),
        State::Overhead => "overhead".to_owned(),
        State::Ready => "ready".to_owned(),
        State::Blocked(cause) => format!("blocked_{}", cause.name().replace(' ', "_")),
    }
}

/// Eighths by state of a bin, one after the other to whom most is missing.
fn eighths(run: &Run, thread: ThreadId, (from, to): (u64, u64)) -> BTreeMap<usize, u8> {
    let names = state_names();
    let number = |state: State| {
        names.iter().position(|known| known.name == name(state)).expect("every state has a name")
    };
    let mut ticks: BTreeMap<usize, u64> = BTreeMap::new();
    for tick in from..to.max(from + 1) {
        *ticks.entry(number(oracle::state_in(&run.made, thread, tick))).or_default() += 1;
    }
    let length: u64 = ticks.values().sum();
    let mut parts: BTreeMap<usize, u8> =
        ticks.iter().map(|(&state, &time)| (state, (time * 8 / length) as u8)).collect();
    let mut rests: Vec<_> = ticks.iter().map(|(&state, &time)| (time * 8 % length, state)).collect();
    rests.sort_by_key(|&(rest, state)| (std::cmp::Reverse(rest), state));
    for (_, state) in rests {
        if parts.values().sum::<u8>() < 8 {
            *parts.entry(state).or_default() += 1;
        }
    }
    parts.retain(|_, part| *part > 0);
    parts
}

fn check_frame(run: &Run, frame: &TimelineFrame, (from, to): (u64, u64), bins: u64, weight: Weight) {
    let edges = edges((from, to), bins);
    assert_eq!(frame.threads.len(), run.made.program.threads.len());
    for row in &frame.threads {
        let thread = ThreadId(row.id);
        let (runs, path) = (unrolled(&row.runs), unrolled(&row.path));
        assert_eq!((runs.len() as u64, path.len() as u64), (bins, bins));
        for (bin, span) in edges.windows(2).enumerate() {
            let mix = &frame.mixes[runs[bin] as usize];
            assert!(mix.is_sorted_by_key(|part| std::cmp::Reverse(part.1)), "the largest first");
            assert_eq!(mix.iter().map(|part| part.1).sum::<u8>(), 8);
            let shown: BTreeMap<usize, u8> = mix.iter().map(|&(state, part)| (state.into(), part)).collect();
            assert_eq!(shown, eighths(run, thread, (span[0], span[1])), "{span:?} of {thread:?}");
            let on_path = (span[0]..span[1]).filter(|&tick| run.is_on_path(thread, tick, weight)).count();
            let exact = on_path as f64 * 8.0 / (span[1] - span[0]).max(1) as f64;
            let shown = f64::from(path[bin]);
            assert!((shown - exact).abs() <= 0.5 || (shown == 1.0 && on_path > 0), "{shown} for {exact}");
            assert_eq!(on_path > 0, shown > 0.0);
        }
    }
}

proptest! {
    #[test]
    fn every_bin_of_a_frame_is_the_mix_of_its_ticks(
        made in random_timelines(5, 60), window in (0.0..1.0_f64, 0.0..1.0_f64), bins in 1..40_u32, is_cpu: bool,
    ) {
        let run = Run::new(made, false);
        let at = |share: f64| (share * run.elapsed() as f64) as u64;
        let (from, to) = (at(window.0.min(window.1)), at(window.0.max(window.1)) + 1);
        let weight = if is_cpu { Weight::Cpu } else { Weight::Elapsed };
        let (begin, end) = (Time::from_nanoseconds(from), Time::from_nanoseconds(to));
        let window = FrameWindow { from: begin, to: end, bins, first: 0, count: None, weight };
        let frame = run.index.frame(&run.made.program, &window);
        check_frame(&run, &frame, (from, to), bins.into(), weight);
    }

    #[test]
    fn a_part_of_the_threads_is_that_part_of_the_frame(
        made in random_timelines(6, 60), first in 0..8_usize, count in 0..8_usize,
    ) {
        let run = Run::new(made, false);
        let to = Time::from_nanoseconds(run.elapsed());
        let whole = FrameWindow { from: Time::ZERO, to, bins: 9, first: 0, count: None, weight: Weight::Cpu };
        let some = FrameWindow { first, count: Some(count), ..whole };
        let (whole, some) = (run.index.frame(&run.made.program, &whole), run.index.frame(&run.made.program, &some));
        prop_assert_eq!(whole.thread_count, some.thread_count);
        let expected: Vec<_> = whole.threads.iter().skip(first).take(count).collect();
        prop_assert_eq!(some.threads.len(), expected.len());
        for (one, other) in some.threads.iter().zip(expected) {
            prop_assert_eq!(one.id, other.id);
            prop_assert_eq!(&one.path, &other.path);
            let mixes = |frame: &TimelineFrame, runs: &[u32]| -> Vec<_> {
                unrolled(runs).iter().map(|&mix| frame.mixes[mix as usize].clone()).collect()
            };
            prop_assert_eq!(mixes(&some, &one.runs), mixes(&whole, &other.runs));
        }
    }

    #[test]
    fn every_tick_of_a_curve_is_what_its_threads_do(made in random_timelines(5, 60), io_idle: bool) {
        let run = Run::new(made, io_idle);
        let (ticks, threads) = (run.elapsed(), run.threads());
        for metric in METRICS.into_iter().chain(["effective_parallelism", "nominal_parallelism"]) {
            let all = run.values(metric, "program", ticks);
            let machine = run.values(metric, "machine:random", ticks);
            let first = run.values(metric, "thread:100", ticks);
            for tick in 0..ticks {
                let amount = |thread: &ThreadId| run.amount(metric, *thread, tick);
                let expected: f64 = threads.iter().map(amount).sum();
                let at = tick as usize;
                prop_assert!(close(all[at], expected), "{} at {}: {} is {}", metric, tick, all[at], expected);
                prop_assert!(close(machine[at], expected), "{} of the machine at {}", metric, tick);
                prop_assert!(close(first[at], amount(&threads[0])), "{} of a thread at {}", metric, tick);
            }
        }
    }

    #[test]
    fn every_tick_of_a_procedure_s_curve_is_what_is_charged_to_it(
        made in random_timelines(5, 60), io_idle: bool,
    ) {
        let run = Run::new(made, io_idle);
        for procedure in run.made.paths.procedures() {
            for metric in METRICS {
                let values = run.values(metric, &format!("procedure:{}", procedure.name), run.elapsed());
                for (tick, &value) in values.iter().enumerate() {
                    let tick = tick as u64;
                    let charged = |thread: ThreadId| {
                        let state = oracle::state_in(&run.made, thread, tick);
                        let is_there = run.passes(run.path(thread, tick, state), &procedure.name);
                        if is_there { run.amount(metric, thread, tick) } else { 0.0 }
                    };
                    let expected: f64 = run.threads().into_iter().map(charged).sum();
                    prop_assert!(close(value, expected), "{metric} of {} at {tick}", procedure.name);
                }
            }
        }
    }

    #[test]
    fn a_whole_curve_adds_up_to_the_tables(
        made in random_timelines(5, 80), io_idle: bool, bins in 1..30_u64,
    ) {
        let run = Run::new(made, io_idle);
        let edges = edges((0, run.elapsed()), bins);
        let sum = |metric: &str, node: &str| -> f64 {
            let values = run.values(metric, node, bins);
            values.iter().zip(edges.windows(2)).map(|(value, edge)| value * (edge[1] - edge[0]) as f64).sum()
        };
        let check = |node: &str, measures: &Measures| {
            let synchronisation = measures.synchronisation_wait() as f64;
            let expected = [
                measures.cpu() as f64,
                measures.spinning as f64,
                measures.ready as f64,
                measures.blocked_in_all() as f64,
                synchronisation,
                measures.blocked_for(Cause::PageFault) as f64,
                measures.blocked_for(Cause::Lock) as f64,
                measures.npt(),
                measures.critical_cpu as f64,
            ];
            for (metric, expected) in METRICS.into_iter().zip(expected) {
                assert!(close(sum(metric, node), expected), "{metric} of {node}: {expected}");
            }
        };
        check("program", &total(&run.analysis, |_| true));
        prop_assert!(close(sum("critical_path_seconds", "program"), run.analysis.critical_cpu.length as f64));
        let Run { made, analysis, .. } = &run;
        for row in rows(analysis, &made.program, &made.paths, By::Procedure, |_| true) {
            let Node::Procedure(id) = row.node else { continue };
            check(&format!("procedure:{}", made.paths.procedure_named_by(id).name), &row.inclusive);
        }
        for row in rows(analysis, &made.program, &made.paths, By::Thread, |_| true) {
            let Node::Thread(id) = row.node else { continue };
            check(&format!("thread:#{}", made.program.threads[id.index()].tid), &row.own);
        }
    }

    #[test]
    fn a_moment_is_the_tick_of_its_thread(made in random_timelines(5, 60)) {
        let run = Run::new(made, false);
        for tick in 0..run.elapsed() {
            for thread in run.threads() {
                let moment = run.index.moment(&run.names(), thread, Time::from_nanoseconds(tick)).unwrap();
                let state = oracle::state_in(&run.made, thread, tick);
                prop_assert_eq!(&moment.state, &name(state));
                prop_assert_eq!(moment.on_critical_path, run.is_on_path(thread, tick, Weight::Cpu));
                let path = run.path(thread, tick, state);
                let places = run.made.paths.places_of(path).filter(|_| state != State::Absent);
                let expected: Vec<_> = places
                    .map(|place| (run.made.paths.procedure_named_by(place.procedure).name.clone(), place.line))
                    .collect();
                let shown: Vec<_> =
                    moment.path.iter().map(|place| (place.procedure.clone(), place.line)).collect();
                prop_assert_eq!(shown, expected);
                let (from, to) = (moment.from_seconds * 1e9, moment.to_seconds * 1e9);
                let span = from.round() as u64..to.round() as u64;
                prop_assert!(span.contains(&tick));
                for other in span {
                    prop_assert_eq!(oracle::state_in(&run.made, thread, other), state);
                }
                if let Some(ended) = moment.ended_by {
                    let enabled = |item: &longpole_trace::Item| {
                        let ItemKind::Depend { source, .. } = item.what else { return false };
                        (item.thread, item.time.nanoseconds()) == (thread, to.round() as u64)
                            && source.0 == ended.thread
                    };
                    prop_assert!(run.made.items.iter().any(enabled));
                }
            }
        }
    }

    #[test]
    fn wakes_are_the_dependences_that_arrive_in_the_window(
        made in random_timelines(5, 80), window in (0..60_u64, 0..60_u64),
    ) {
        let run = Run::new(made, false);
        let (from, to) = (window.0.min(window.1), window.0.max(window.1));
        let wakes = run.index.wakes(Time::from_nanoseconds(from), Time::from_nanoseconds(to));
        let expected: Vec<_> = run.made.items.iter().filter_map(|item| match item.what {
            ItemKind::Depend { source, source_time, .. } => {
                Some((source.0, source_time.nanoseconds(), item.thread.0, item.time.nanoseconds()))
            }
            _ => None,
        }).filter(|wake| (from..=to).contains(&wake.3)).collect();
        let nanoseconds = |seconds: f64| (seconds * 1e9).round() as u64;
        let shown: Vec<_> = wakes.wakes.iter().map(|wake| {
            (wake.source, nanoseconds(wake.source_seconds), wake.thread, nanoseconds(wake.seconds))
        }).collect();
        prop_assert_eq!(wakes.total, expected.len());
        prop_assert_eq!(shown, expected);
    }
}
