//! Time of frames and curves from a recording of many scheduling events: threads that hand work to each other.
//!
//! `cargo bench -p longpole-timeline`. With `LONGPOLE_BENCH_EVENTS=10000000` each question about that many events is
//! asked a few times instead, with the size of the index, and the time that it takes to make it.

use std::convert::Infallible;
use std::hint::black_box;
use std::time::Instant;

use criterion::Criterion;
use longpole_event::{MachineId, ProcessId, ThreadId, Time};
use longpole_graph::{Sweep, sweep};
use longpole_metrics::{MetricOptions, Weight, analyse};
use longpole_report::RecordingNames;
use longpole_timeline::{CurveNode, CurveQuestion, FrameWindow, Index};
use longpole_trace::{
    Cause, CodePlace, DependenceKind, Item, ItemKind, Machine, Object, ObjectId, ObjectKind, Objects,
    ObservationKind, PathId, Paths, Procedure, Process, Program, State, Thread, Timelines,
};

const RUNNING: u32 = 8;
const PATHS: u32 = 1000;
const OBJECTS: u32 = 16;
/// Nanoseconds between two steps.
const STEP: u64 = 1000;

/// Eight running threads of many; in turn one of them wakes the thread that has waited longest, and blocks. Made while
/// it is read, so that the index's memory is seen alone. A step is three scheduling events: a wake, a switch out, a
/// switch in.
struct Relay {
    program: Program,
    paths: Paths,
    objects: Objects,
    paths_by_number: Vec<PathId>,
    steps: u64,
}

impl Relay {
    fn new(threads: u32, events: u64) -> Relay {
        let (mut paths, mut paths_by_number) = (Paths::default(), Vec::new());
        for number in 0..PATHS {
            let name = format!("procedure_{}", number % 200);
            let procedure =
                paths.procedure(Procedure { name, module: "relay".into(), file: "relay.c".into() });
            let place = paths.place(CodePlace { procedure, line: number });
            let caller = paths_by_number.get(number as usize / 3).copied().unwrap_or(Paths::ROOT);
            paths_by_number.push(paths.path(caller, place));
        }
        let mut objects = Objects::default();
        for number in 0..OBJECTS {
            objects.add(Object { kind: ObjectKind::Mutex, name: format!("lock_{number}") });
        }
        let steps = events / 3;
        let (start, end, creator, prefix) = (Time::ZERO, None, None, Paths::ROOT);
        let process = ProcessId(0);
        let thread = |tid| Thread { process, tid, name: "relay".into(), start, end, creator, prefix };
        let program = Program {
            command: vec!["relay".into()],
            file: String::new(),
            machines: vec![Machine { name: "bench".into(), cpus: RUNNING, ..Machine::default() }],
            processes: vec![Process {
                machine: MachineId(0),
                pid: 1,
                name: "relay".into(),
                title: String::new(),
                parent: None,
                rank: None,
            }],
            threads: (0..threads).map(thread).collect(),
            owners: Vec::new(),
            affinities: Vec::new(),
            killed_at_work: Vec::new(),
            possible_stops: Vec::new(),
            begin_nanoseconds: 0,
            elapsed_nanoseconds: steps * STEP + STEP,
        };
        Relay { program, paths, objects, paths_by_number, steps }
    }

    fn names(&self) -> RecordingNames<'_> {
        RecordingNames { program: &self.program, paths: &self.paths, objects: &self.objects }
    }
}

impl Timelines for Relay {
    type Error = Infallible;

    fn program(&self) -> &Program {
        &self.program
    }

    fn paths(&self) -> &Paths {
        &self.paths
    }

    fn objects(&self) -> &Objects {
        &self.objects
    }

    fn for_each(&self, visit: &mut dyn FnMut(&Item)) -> Result<(), Infallible> {
        let mut emit = |time, thread, what| {
            visit(&Item { time: Time::from_nanoseconds(time), thread: ThreadId(thread), what });
        };
        let (blocked, threads) = (State::Blocked(Cause::Lock), self.program.threads.len() as u32);
        for thread in 0..threads {
            emit(0, thread, ItemKind::State(if thread < RUNNING { State::Running } else { blocked }));
        }
        let mut random = 1_u64;
        for step in 0..self.steps {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let time = step * STEP + (random >> 55);
            let from = (step % u64::from(threads)) as u32;
            let to = (from + RUNNING) % threads;
            let path = |shift: u32| {
                // Few paths are hot.
                let draw = (random >> shift) % u64::from(PATHS);
                self.paths_by_number[(draw * draw / u64::from(PATHS)) as usize]
            };
            let (source, source_time) = (ThreadId(from), Time::from_nanoseconds(time));
            emit(time, from, ItemKind::Observe { path: path(33), kind: ObservationKind::Sample { gap: 0 } });
            emit(time, to, ItemKind::Depend { source, source_time, kind: DependenceKind::Unlock });
            emit(time, to, ItemKind::State(State::Ready));
            emit(time + 100, to, ItemKind::State(State::Running));
            emit(
                time + 200,
                from,
                ItemKind::Observe { path: path(43), kind: ObservationKind::Sample { gap: 0 } },
            );
            emit(time + 200, from, ItemKind::Await(ObjectId(from % OBJECTS)));
            emit(time + 200, from, ItemKind::State(blocked));
        }
        Ok(())
    }
}

/// Looks at nothing.
struct Nothing;

impl Sweep for Nothing {}

/// A relay with its index.
struct Scene {
    relay: Relay,
    index: Index,
}

impl Scene {
    fn new(relay: Relay) -> Scene {
        let Ok(analysis) = analyse(&relay, &MetricOptions::default());
        let Ok(index) = Index::of(&relay, &MetricOptions::default(), &analysis);
        Scene { relay, index }
    }

    /// A frame of 1,200 bins of a part of the run.
    fn frame(&self, part: f64, count: usize) -> usize {
        let elapsed = self.index.elapsed() as f64;
        let at = |share: f64| Time::from_nanoseconds((share * elapsed) as u64);
        let (from, to) = (at(0.5 - part / 2.0), at(0.5 + part / 2.0));
        let window = FrameWindow { from, to, bins: 1200, first: 0, count: Some(count), weight: Weight::Cpu };
        self.index.frame(&self.relay.program, &window).mixes.len()
    }

    fn curve(&self, metric: &str, node: &str) -> f64 {
        let node = &CurveNode::named(&self.relay.names(), node).expect("the relay has all of these");
        let question = CurveQuestion { metric, node, from: Time::ZERO, to: None, bins: 1000 };
        let curve = self.index.curve(&self.relay.names(), &question).expect("the relay has all of these");
        curve.iter().sum()
    }
}

type Question = Box<dyn Fn(&Scene) -> f64>;

/// What is asked: its name, and the question.
fn questions() -> Vec<(String, Question)> {
    let mut all: Vec<(String, Question)> = Vec::new();
    for (count, part) in [(200, 1.0), (200, 0.1), (200, 0.001), (40, 1.0), (40, 0.01)] {
        let name = format!("frame: {count} rows, {} % of the run", part * 100.0);
        all.push((name, Box::new(move |scene| scene.frame(part, count) as f64)));
    }
    let metrics = ["cpu_seconds", "wait_seconds", "npt_seconds", "critical_path_seconds"];
    for node in ["thread:#7", "process:relay", "program", "procedure:procedure_0", "procedure:procedure_9"] {
        for metric in metrics {
            let name = format!("curve: {metric} of {node}");
            all.push((name, Box::new(move |scene| scene.curve(metric, node))));
        }
    }
    all.push((
        "curve: waits for an object".into(),
        Box::new(|scene| scene.curve("wait_seconds", "object:lock_3")),
    ));
    all
}

#[allow(clippy::print_stderr, reason = "a benchmark tells its result")]
fn time_once(events: u64) {
    for threads in [16, 200, 1000] {
        let relay = Relay::new(threads, events);
        let begin = Instant::now();
        let Ok(()) = sweep(&relay, false, &mut Nothing);
        let bare = begin.elapsed();
        let Ok(analysis) = analyse(&relay, &MetricOptions::default());
        let begin = Instant::now();
        let Ok(index) = Index::of(&relay, &MetricOptions::default(), &analysis);
        let (time, bytes) = (begin.elapsed(), index.bytes() as f64);
        eprintln!(
            "{threads} threads, {events} events: a sweep {bare:.2?}, the index {time:.2?}, {:.1} bytes per event",
            bytes / events as f64
        );
        let scene = Scene { relay, index };
        for (name, ask) in questions() {
            let mut times: Vec<_> = (0..9)
                .map(|_| {
                    let begin = Instant::now();
                    black_box(ask(&scene));
                    begin.elapsed()
                })
                .collect();
            times.sort();
            eprintln!("  {name}: {:.2?} (at best {:.2?})", times[4], times[0]);
        }
    }
}

fn main() {
    if let Some(events) = std::env::var("LONGPOLE_BENCH_EVENTS").ok().and_then(|events| events.parse().ok()) {
        return time_once(events);
    }
    let mut criterion = Criterion::default().configure_from_args().sample_size(10);
    let relay = Relay::new(200, 300_000);
    let Ok(analysis) = analyse(&relay, &MetricOptions::default());
    criterion.bench_function("index of 300,000 events", |bencher| {
        bencher.iter(|| Index::of(black_box(&relay), &MetricOptions::default(), &analysis));
    });
    let scene = Scene::new(relay);
    for (name, ask) in questions() {
        criterion.bench_function(&name, |bencher| bencher.iter(|| ask(black_box(&scene))));
    }
    criterion.final_summary();
}
