//! Runs of many items, which are made while they are read, so that the reader's memory is seen alone.

#![allow(dead_code, reason = "each benchmark uses a part of it")]

use std::convert::Infallible;

use longpole_event::{MachineId, ProcessId, ThreadId, Time};
use longpole_trace::{
    Cause, CodePlace, DependenceKind, Item, ItemKind, Machine, Object, ObjectId, ObjectKind, Objects,
    ObservationKind, PathId, Paths, Procedure, Process, Program, State, Thread, Timelines,
};

pub const THREADS: u32 = 64;
const RUNNING: u32 = 8;
const PATHS: u64 = 1000;

/// Takes an item: its time, its thread, and what it is.
pub type Emit<'a> = &'a mut dyn FnMut(u64, u32, ItemKind);

/// A run of one process.
pub struct Made {
    pub items: u64,
    program: Program,
    paths: Paths,
    objects: Objects,
    known: Vec<PathId>,
    make: fn(&Made, Emit<'_>),
}

impl Made {
    /// A run whose items `make` makes, about so many; its paths are of so many procedures.
    pub fn new(items: u64, (procedures, objects): (u64, u32), make: fn(&Made, Emit<'_>)) -> Made {
        let mut paths = Paths::default();
        let mut known = Vec::new();
        for number in 0..PATHS {
            let name = format!("procedure_{}", number % procedures);
            let procedure = Procedure { name, module: "bench".into(), file: "bench.c".into() };
            let procedure = paths.procedure(procedure);
            let place = paths.place(CodePlace { procedure, line: number as u32 });
            let caller = known.get(number as usize / 3).copied().unwrap_or(Paths::ROOT);
            known.push(paths.path(caller, place));
        }
        let mut all = Objects::default();
        for number in 0..objects {
            all.add(Object { kind: ObjectKind::Mutex, name: format!("lock_{number}") });
        }
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
            file: String::new(),
            machines: vec![Machine { name: "bench".into(), cpus: RUNNING, ..Machine::default() }],
            processes: vec![Process {
                machine: MachineId(0),
                pid: 1,
                name: "bench".into(),
                title: String::new(),
                parent: None,
                rank: None,
            }],
            threads: (0..THREADS).map(thread).collect(),
            owners: Vec::new(),
            affinities: Vec::new(),
            killed_at_work: Vec::new(),
            possible_stops: Vec::new(),
            begin_nanoseconds: 0,
            // The slowest way of waiting has five items in a microsecond.
            elapsed_nanoseconds: items * 200 + 1000,
        };
        Made { items, program, paths, objects: all, known, make }
    }

    /// Where a thread may be. Few paths are hot.
    pub fn path(&self, random: &mut Random) -> PathId {
        let draw = random.below(PATHS);
        self.known[(draw * draw / PATHS) as usize]
    }
}

/// Eight running threads of 64; in turn one of them wakes the thread that has waited longest, and blocks.
pub fn relay(made: &Made, emit: Emit<'_>) {
    let blocked = State::Blocked(Cause::Lock);
    for thread in 0..THREADS {
        emit(0, thread, ItemKind::State(if thread < RUNNING { State::Running } else { blocked }));
    }
    let mut random = Random::default();
    let objects = made.objects.all().len() as u32;
    for step in 0..made.items.saturating_sub(u64::from(THREADS)) / 7 {
        let time = step * 1000 + random.below(1000);
        let from = (step % u64::from(THREADS)) as u32;
        let to = (from + RUNNING) % THREADS;
        emit(time, from, ItemKind::Observe { path: made.path(&mut random), kind: ObservationKind::Site });
        emit(time, to, depend(from, time, DependenceKind::Unlock));
        emit(time, to, ItemKind::State(State::Ready));
        emit(time + 100, to, ItemKind::State(State::Running));
        emit(
            time + 200,
            from,
            ItemKind::Observe { path: made.path(&mut random), kind: ObservationKind::Site },
        );
        emit(time + 200, from, ItemKind::Await(ObjectId(from % objects)));
        emit(time + 200, from, ItemKind::State(blocked));
    }
}

/// That a thread was enabled by another, just then.
pub fn depend(source: u32, time: u64, kind: DependenceKind) -> ItemKind {
    ItemKind::Depend { source: ThreadId(source), source_time: Time::from_nanoseconds(time), kind }
}

/// Numbers that are the same each time.
pub struct Random(u64);

impl Default for Random {
    fn default() -> Self {
        Random(1)
    }
}

impl Random {
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
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
        (self.make)(self, &mut |time, thread, what| {
            visit(&Item { time: Time::from_nanoseconds(time), thread: ThreadId(thread), what });
        });
        Ok(())
    }
}

/// Largest resident memory of this process so far, mebibytes.
pub fn peak_mebibytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok()).unwrap_or(0) / 1024
}

/// The items of the one run that is asked for instead of benchmarks.
pub fn items_of_one_run() -> Option<u64> {
    std::env::var("LONGPOLE_BENCH_ITEMS").ok()?.parse().ok()
}
