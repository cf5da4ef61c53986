//! Time of a whole analysis by the number of items: threads that hand work to each other.
//!
//! `cargo bench -p longpole-metrics`. With `LONGPOLE_BENCH_ITEMS=10000000` one analysis of that many items is timed
//! instead, and its peak memory shown.

use std::convert::Infallible;
use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion, Throughput};
use longpole_event::{MachineId, ProcessId, ThreadId, Time};
use longpole_metrics::{By, Demand, GainsOf, Options, Weight, analyse, details};
use longpole_trace::{
    Cause, DependenceKind, Item, Machine, Object, ObjectId, ObjectKind, Objects, PathId, Paths, Place,
    Procedure, Process, Program, State, Thread, Timelines, What,
};

const THREADS: u32 = 64;
const RUNNING: u32 = 8;
const PATHS: u32 = 1000;
const OBJECTS: u32 = 16;

/// Eight running threads of 64; in turn one of them wakes the thread that has waited longest, and blocks. Made while
/// it is read, so that the reader's memory is seen alone.
struct Relay {
    program: Program,
    paths: Paths,
    objects: Objects,
    paths_by_number: Vec<PathId>,
    items: u64,
}

impl Relay {
    fn new(items: u64) -> Relay {
        let mut paths = Paths::default();
        let mut paths_by_number = Vec::new();
        for number in 0..PATHS {
            let procedure = Procedure {
                name: format!("procedure_{}", number % 200),
                module: "relay".into(),
                file: "relay.c".into(),
            };
            let procedure = paths.procedure(procedure);
            let place = paths.place(Place { procedure, line: number });
            let caller = paths_by_number.get(number as usize / 3).copied().unwrap_or(Paths::ROOT);
            paths_by_number.push(paths.path(caller, place));
        }
        let mut objects = Objects::default();
        for number in 0..OBJECTS {
            objects.add(Object { kind: ObjectKind::Mutex, name: format!("lock_{number}") });
        }
        let process = Process { machine: MachineId(0), pid: 1, name: "relay".into(), parent: None };
        let thread = |tid| Thread {
            process: ProcessId(0),
            tid,
            name: "relay".into(),
            start: Time::ZERO,
            end: None,
            creator: None,
            prefix: Paths::ROOT,
        };
        let program = Program {
            command: vec!["relay".into()],
            machines: vec![Machine { name: "bench".into(), cpus: RUNNING }],
            processes: vec![process],
            threads: (0..THREADS).map(thread).collect(),
            elapsed_nanoseconds: items * 200,
        };
        Relay { program, paths, objects, paths_by_number, items }
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
        let blocked = State::Blocked(Cause::Lock);
        for thread in 0..THREADS {
            emit(0, thread, What::State(if thread < RUNNING { State::Running } else { blocked }));
        }
        let mut random = 1_u64;
        for step in 0..(self.items - u64::from(THREADS)) / 7 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let time = step * 1000 + (random >> 54);
            let from = (step % u64::from(THREADS)) as u32;
            let to = (from + RUNNING) % THREADS;
            let path = |shift: u32| {
                // Few paths are hot.
                let draw = (random >> shift) % u64::from(PATHS);
                self.paths_by_number[(draw * draw / u64::from(PATHS)) as usize]
            };
            let (source, source_time) = (ThreadId(from), Time::from_nanoseconds(time));
            emit(time, from, What::Observe(path(33)));
            emit(time, to, What::Depend { source, source_time, kind: DependenceKind::Unlock });
            emit(time, to, What::State(State::Ready));
            emit(time + 100, to, What::State(State::Running));
            emit(time + 200, from, What::Observe(path(43)));
            emit(time + 200, from, What::Await(ObjectId(from % OBJECTS)));
            emit(time + 200, from, What::State(blocked));
        }
        Ok(())
    }
}

/// Largest resident memory of this process so far, mebibytes.
fn peak_mebibytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok()).unwrap_or(0) / 1024
}

#[allow(clippy::print_stderr, reason = "a benchmark tells its result")]
fn time_once(items: u64) {
    let relay = Relay::new(items);
    let begin = Instant::now();
    let Ok(analysis) = analyse(&relay, &Options::default());
    let time: Duration = begin.elapsed();
    eprintln!(
        "{items} items: {:.2} s, {:.0} ns per item, peak {} MiB, {} hand-offs on the critical path",
        time.as_secs_f64(),
        time.as_secs_f64() * 1e9 / items as f64,
        peak_mebibytes(),
        analysis.critical_cpu.segments.len()
    );
    for (name, demand) in parts() {
        let begin = Instant::now();
        let Ok(_) = details(&relay, &Options::default(), &demand, &analysis);
        eprintln!("{name}: {:.2} s, peak {} MiB", begin.elapsed().as_secs_f64(), peak_mebibytes());
    }
}

/// Parts that views want beside the analysis.
fn parts() -> [(&'static str, Demand); 7] {
    let phases = Demand { phases: true, ..Demand::default() };
    let prospects = Demand { prospects: true, ..Demand::default() };
    let contention = Demand { contention: true, ..Demand::default() };
    let states = |by| Demand { states: Some(by), ..Demand::default() };
    let gains = |by| Demand { gains: Some(GainsOf { by, weight: Weight::Cpu }), ..Demand::default() };
    [
        ("gains of procedures", gains(By::Procedure)),
        ("gains of lines", gains(By::Line)),
        ("phases", phases),
        ("prospects", prospects),
        ("contention", contention),
        ("states", states(By::Procedure)),
        ("states of objects", states(By::Object)),
    ]
}

fn main() {
    if let Some(items) = std::env::var("LONGPOLE_BENCH_ITEMS").ok().and_then(|items| items.parse().ok()) {
        return time_once(items);
    }
    let mut criterion = Criterion::default().configure_from_args().sample_size(10);
    let mut group = criterion.benchmark_group("analyse");
    for items in [10_000_u64, 100_000, 1_000_000] {
        let relay = Relay::new(items);
        group.throughput(Throughput::Elements(items));
        group.bench_function(BenchmarkId::from_parameter(items), |bencher| {
            bencher.iter(|| analyse(black_box(&relay), &Options::default()));
        });
    }
    group.finish();
    for (name, demand) in parts() {
        let mut group = criterion.benchmark_group(name);
        for items in [10_000_u64, 100_000, 1_000_000] {
            let relay = Relay::new(items);
            let Ok(analysis) = analyse(&relay, &Options::default());
            group.throughput(Throughput::Elements(items));
            group.bench_function(BenchmarkId::from_parameter(items), |bencher| {
                bencher.iter(|| details(black_box(&relay), &Options::default(), &demand, &analysis));
            });
        }
        group.finish();
    }
    criterion.final_summary();
}
