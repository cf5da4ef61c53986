//! Time of explaining all waits by the number of items, for three ways of waiting.
//!
//! * *relay*: eight running threads of 64; in turn one hands a lock to the thread that has waited longest, and blocks.
//! * *rounds*: 64 threads of many different steps meet at a barrier, where 63 wait for the last one.
//! * *strangers*: a thread waits again and again for others that it never met, each of which has long done other things.
//!
//! `cargo bench -p longpole-metrics --bench waits`. With `LONGPOLE_BENCH_ITEMS=10000000` one analysis of that many items of each kind is timed
//! instead, and the peak memory shown.

use std::convert::Infallible;
use std::hint::black_box;
use std::time::Instant;

use criterion::{BenchmarkId, Criterion, Throughput};
use longpole_event::{MachineId, ProcessId, ThreadId, Time};
use longpole_metrics::{Analysis, By, Demand, Details, Options, details};
use longpole_trace::{
    Cause, DependenceKind, Item, Machine, Object, ObjectId, ObjectKind, Objects, PathId, Paths, Place,
    Procedure, Process, Program, State, Thread, Timelines, What,
};

const THREADS: u32 = 64;
const RUNNING: u32 = 8;
const PATHS: u64 = 1000;

#[derive(Clone, Copy, Debug)]
enum Shape {
    Relay,
    Rounds,
    Strangers,
}

/// Items that are made while they are read, so that the reader's memory is seen alone.
struct Made {
    shape: Shape,
    items: u64,
    program: Program,
    paths: Paths,
    objects: Objects,
    known: Vec<PathId>,
}

impl Made {
    fn new(shape: Shape, items: u64) -> Made {
        let mut paths = Paths::default();
        let mut known = Vec::new();
        for number in 0..PATHS {
            let (module, file) = ("bench".into(), "bench.c".into());
            let procedure = paths.procedure(Procedure { name: format!("procedure_{number}"), module, file });
            let place = paths.place(Place { procedure, line: 1 });
            let caller = known.get(number as usize / 3).copied().unwrap_or(Paths::ROOT);
            known.push(paths.path(caller, place));
        }
        let mut objects = Objects::default();
        objects.add(Object { kind: ObjectKind::Mutex, name: "baton".into() });
        let thread = |tid| Thread {
            process: ProcessId(0),
            tid,
            name: "bench".into(),
            start: Time::ZERO,
            end: None,
            creator: None,
            prefix: Paths::ROOT,
        };
        let program = Program {
            command: vec!["bench".into()],
            machines: vec![Machine { name: "bench".into(), cpus: RUNNING }],
            processes: vec![Process { machine: MachineId(0), pid: 1, name: "bench".into(), parent: None }],
            threads: (0..THREADS).map(thread).collect(),
            elapsed_nanoseconds: items * 1000,
        };
        Made { shape, items, program, paths, objects, known }
    }

    fn relay(&self, emit: &mut dyn FnMut(u64, u32, What)) {
        let blocked = State::Blocked(Cause::Lock);
        for thread in 0..THREADS {
            emit(0, thread, What::State(if thread < RUNNING { State::Running } else { blocked }));
        }
        let mut random = Random(1);
        for step in 0..self.items / 7 {
            let time = step * 1000 + random.below(1000);
            let from = (step % u64::from(THREADS)) as u32;
            let to = (from + RUNNING) % THREADS;
            emit(time, from, What::Observe(self.path(&mut random)));
            emit(time, to, depend(from, time, DependenceKind::Unlock));
            emit(time, to, What::State(State::Ready));
            emit(time + 100, to, What::State(State::Running));
            emit(time + 200, from, What::Observe(self.path(&mut random)));
            emit(time + 200, from, What::Await(ObjectId(0)));
            emit(time + 200, from, What::State(blocked));
        }
    }

    /// In a round each thread is looked at `LOOKS` times; thread `round % THREADS` comes last.
    fn rounds(&self, emit: &mut dyn FnMut(u64, u32, What)) {
        const LOOKS: u64 = 40;
        let mut random = Random(1);
        for thread in 0..THREADS {
            emit(0, thread, What::State(State::Running));
        }
        let per_round = u64::from(THREADS) * (LOOKS + 4);
        for round in 0..self.items / per_round {
            let last = (round % u64::from(THREADS)) as u32;
            let begin = round * 100_000;
            for look in 1..=LOOKS {
                for thread in 0..THREADS {
                    emit(begin + look * 1000, thread, What::Observe(self.path(&mut random)));
                }
            }
            let early = begin + LOOKS * 1000 + 10;
            for thread in (0..THREADS).filter(|&thread| thread != last) {
                emit(early, thread, What::State(State::Blocked(Cause::Barrier)));
            }
            for thread in (0..THREADS).filter(|&thread| thread != last) {
                emit(begin + 90_000, thread, depend(last, begin + 90_000, DependenceKind::Barrier));
                emit(begin + 90_000, thread, What::State(State::Running));
            }
        }
    }

    fn strangers(&self, emit: &mut dyn FnMut(u64, u32, What)) {
        let mut random = Random(1);
        for thread in 0..THREADS {
            emit(0, thread, What::State(State::Running));
        }
        for step in 0..self.items / 5 {
            let time = 1 + step * 1000;
            let other = 1 + random.below(u64::from(THREADS) - 1) as u32;
            emit(time, 0, What::Observe(self.path(&mut random)));
            emit(time, 0, What::State(State::Blocked(Cause::Condition)));
            emit(time + 500, other, What::Observe(self.path(&mut random)));
            // What is under way for long is no recent meeting of the two.
            emit(time + 500, 0, depend(other, time + 500, DependenceKind::Signal));
            emit(time + 500, 0, What::State(State::Running));
        }
    }

    /// Few paths are hot.
    fn path(&self, random: &mut Random) -> PathId {
        let draw = random.below(PATHS);
        self.known[(draw * draw / PATHS) as usize]
    }
}

struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

fn depend(source: u32, time: u64, kind: DependenceKind) -> What {
    What::Depend { source: ThreadId(source), source_time: Time::from_nanoseconds(time), kind }
}

impl Timelines for Made {
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
        match self.shape {
            Shape::Relay => self.relay(&mut emit),
            Shape::Rounds => self.rounds(&mut emit),
            Shape::Strangers => self.strangers(&mut emit),
        }
        Ok(())
    }
}

fn explain(made: &Made) -> Details {
    let demand = Demand { waits: Some(By::Procedure), ..Demand::default() };
    let Ok(details) = details(made, &Options::default(), &demand, &Analysis::default());
    details
}

/// Largest resident memory of this process so far, mebibytes.
fn peak_mebibytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok()).unwrap_or(0) / 1024
}

#[allow(clippy::print_stderr, reason = "a benchmark tells its result")]
fn time_once(shape: Shape, items: u64) {
    let made = Made::new(shape, items);
    let begin = Instant::now();
    let waits = explain(&made).waits.expect("they were asked for");
    let time = begin.elapsed().as_secs_f64();
    let (classes, cut, peak) = (waits.classes.len(), waits.cut, peak_mebibytes());
    eprintln!(
        "{shape:?}, {items} items: {time:.2} s, {:.0} ns per item, peak {peak} MiB, {classes} classes, {cut} cut",
        time * 1e9 / items as f64
    );
}

fn main() {
    let shapes = [Shape::Relay, Shape::Rounds, Shape::Strangers];
    if let Some(items) = std::env::var("LONGPOLE_BENCH_ITEMS").ok().and_then(|items| items.parse().ok()) {
        return shapes.into_iter().for_each(|shape| time_once(shape, items));
    }
    let mut criterion = Criterion::default().configure_from_args().sample_size(10);
    for shape in shapes {
        let mut group = criterion.benchmark_group(format!("waits/{shape:?}"));
        for items in [10_000_u64, 100_000, 1_000_000] {
            let made = Made::new(shape, items);
            group.throughput(Throughput::Elements(items));
            group.bench_function(BenchmarkId::from_parameter(items), |bencher| {
                bencher.iter(|| explain(black_box(&made)));
            });
        }
        group.finish();
    }
    criterion.final_summary();
}
