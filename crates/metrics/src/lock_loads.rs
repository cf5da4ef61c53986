//! What threads did while they held locks: no run is shorter than the work under one lock, as it is no shorter than all work
//! on its processors (metrics.md §1).
//!
//! ```text
//!   T1  ==AAA===BB==      holds of m: A 3, B 2, A 2: whatever else changes, a run takes 7; without A it takes 2
//!   T2  =====AA=====
//! ```
//! A hold that is told alone is an interval, and what the thread did in it is seen. Holds that are told together are
//! somewhere since those before them; work then counts as done under the lock as far as it can have been, so that a
//! change that leaves it out is never said to gain too little. Of a lock for readers and writers nothing is known: readers
//! hold it together.
//!
//! Only CPU time counts: what a thread waited with a lock in its hands, others may have caused. Constant time per item, and
//! per hold as much as there were observations within it; memory for the last 4096 observations of each live thread,
//! and for each path under each lock.
//!
//! It cannot see holds of which the program does not tell, nor queues: a lock that is free half of the time makes threads
//! wait, too.

use std::collections::VecDeque;

use longpole_event::{ThreadId, Time};
use longpole_graph::{Arc, Sweep};
use longpole_trace::{LockHold, ObjectId, ObjectKind, Objects, ObservationKind, PathId, Program, State};
use rustc_hash::FxHashMap;

use crate::marks::{Marks, Rules};

/// Pieces of a thread's work that are kept.
const PAST: usize = 4096;
/// Locks under which less than this part of all time was spent limit nothing.
const SMALLEST: f64 = 0.02;

/// Work under each lock that can limit a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct LockLoads(Vec<LockLoad>);

/// Work under one lock, nanoseconds of CPU time.
#[derive(Clone, Debug)]
struct LockLoad {
    lock: ObjectId,
    total: f64,
    /// By thread and path, in their order.
    parts: Vec<((ThreadId, PathId), LoadPart)>,
}

/// Work at one path under a lock.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct LoadPart {
    /// At least so much of it.
    least: f64,
    /// At most.
    most: f64,
}

impl LoadPart {
    /// What it has more when it takes `factor` times as long; less than 0 when it has less. Never too much.
    fn change(self, factor: f64) -> f64 {
        (factor - 1.0) * if factor < 1.0 { self.most } else { self.least }
    }
}

impl LockLoads {
    /// The sweep that finds them.
    pub fn collector(program: &Program) -> LoadCollector {
        LoadCollector {
            threads: program.threads.iter().map(|thread| LoadedThread::new(thread.prefix)).collect(),
            locks: FxHashMap::default(),
        }
    }

    /// The longest of all locks' work.
    pub fn longest(&self) -> f64 {
        self.0.iter().map(|load| load.total).fold(0.0, f64::max)
    }

    /// In each lane, the longest of all locks' work.
    pub fn least_lengths<R: Rules>(&self, marks: &mut Marks<R>) -> Vec<f64> {
        let mut least = vec![0.0; marks.rules.lanes()];
        for load in &self.0 {
            let mut own = vec![load.total; least.len()];
            for &((thread, path), part) in &load.parts {
                for mark in marks.of(thread, path) {
                    own[mark.lane as usize] += part.change(1.0 - mark.left_out);
                }
            }
            for mark in marks.rules.object_marks(load.lock) {
                own[mark.lane as usize] *= mark.factor;
            }
            least.iter_mut().zip(own).for_each(|(least, own)| *least = own.max(*least));
        }
        least
    }

    /// The longest of the locks' work where work of a thread at a path takes `factor` times as long, and the objects for which
    /// `is_free` holds exclude nobody.
    pub fn least_length(
        &self,
        factor: impl Fn(ThreadId, PathId) -> f64,
        is_free: impl Fn(ObjectId) -> bool,
    ) -> f64 {
        let length = |load: &LockLoad| {
            let change =
                |&((thread, path), part): &((ThreadId, PathId), LoadPart)| part.change(factor(thread, path));
            load.total + load.parts.iter().map(change).sum::<f64>()
        };
        self.0.iter().filter(|load| !is_free(load.lock)).map(length).fold(0.0, f64::max)
    }
}

/// A stretch of a thread's time between two observations.
#[derive(Clone, Copy, Debug)]
struct ObservedInterval {
    from: Time,
    to: Time,
    path: PathId,
    work: u64,
    ready: u64,
}

#[derive(Debug)]
struct LoadedThread {
    /// The stretch that the next observation ends.
    open: ObservedInterval,
    past: VecDeque<ObservedInterval>,
    /// Holds that ended since the last observation.
    holds: Vec<(LockHold, Time)>,
    /// Until when holds of each lock were told.
    told: FxHashMap<ObjectId, Time>,
}

impl LoadedThread {
    fn new(path: PathId) -> Self {
        let open = ObservedInterval { from: Time::ZERO, to: Time::ZERO, path, work: 0, ready: 0 };
        LoadedThread { open, past: VecDeque::new(), holds: Vec::new(), told: FxHashMap::default() }
    }

    fn close(&mut self, path: PathId, time: Time) {
        if self.past.len() == PAST {
            self.past.pop_front();
        }
        self.past.push_back(ObservedInterval { to: time, path, ..self.open });
        self.open = ObservedInterval { from: time, to: time, path, work: 0, ready: 0 };
    }
}

/// Work under all locks of a run, as far as it has been read.
#[derive(Debug)]
pub(crate) struct LoadCollector {
    threads: Vec<LoadedThread>,
    locks: FxHashMap<ObjectId, (f64, LoadParts)>,
}

/// Work under one lock by thread and path.
type LoadParts = FxHashMap<(ThreadId, PathId), LoadPart>;

impl LoadCollector {
    /// The loads, once the sweep is finished.
    pub fn into_loads(self, objects: &Objects) -> LockLoads {
        let excludes = |lock: ObjectId| {
            let kind = objects.get(lock).kind;
            kind.excludes() && kind != ObjectKind::RwLock
        };
        let longest = self.locks.values().map(|(total, _)| *total).fold(0.0, f64::max);
        let mut loads: Vec<LockLoad> = self
            .locks
            .into_iter()
            .filter(|&(lock, (total, _))| excludes(lock) && total > longest * SMALLEST)
            .map(|(lock, (total, parts))| {
                let mut parts: Vec<_> = parts.into_iter().collect();
                parts.sort_unstable_by_key(|&(place, _)| place);
                LockLoad { lock, total, parts }
            })
            .collect();
        loads.sort_unstable_by_key(|load| load.lock);
        LockLoads(loads)
    }

    /// Adds what the thread did in a hold, or in holds somewhere since those before them.
    fn add(&mut self, thread: ThreadId, (hold, end): (LockHold, Time)) {
        let loaded = &mut self.threads[thread.index()];
        let alone = end - hold.nanoseconds;
        let before = loaded.told.insert(hold.object, end).unwrap_or(Time::ZERO);
        let from = if hold.acquisitions == 1 { alone } else { before.min(alone) };
        let within: Vec<(PathId, f64, f64)> = loaded
            .past
            .iter()
            .rev()
            .take_while(|piece| piece.to > from)
            .filter(|piece| piece.from < end && piece.to > piece.from)
            .map(|piece| {
                let overlap = piece.to.min(end).since(piece.from.max(from));
                let part = overlap as f64 / piece.to.since(piece.from) as f64;
                (piece.path, piece.work as f64 * part, piece.ready as f64 * part)
            })
            .collect();
        let (work, ready) = within.iter().fold((0.0, 0.0), |sum, piece| (sum.0 + piece.1, sum.1 + piece.2));
        if work == 0.0 {
            return;
        }
        // Holds are as long as their thread was off its processor, too.
        let held = (hold.nanoseconds as f64 * work / (work + ready)).min(work);
        let (total, parts) = self.locks.entry(hold.object).or_default();
        *total += held;
        let mut by_path: FxHashMap<PathId, f64> = FxHashMap::default();
        within.iter().for_each(|&(path, work, _)| *by_path.entry(path).or_default() += work);
        for (path, there) in by_path {
            let part = parts.entry((thread, path)).or_default();
            part.most += there.min(held);
            part.least += (held - (work - there)).max(0.0);
        }
    }
}

impl Sweep for LoadCollector {
    fn arc(&mut self, arc: Arc) {
        let open = &mut self.threads[arc.thread.index()].open;
        match arc.state {
            State::Running => open.work += arc.length(),
            State::Ready => open.ready += arc.length(),
            _ => {}
        }
    }

    fn observe(&mut self, thread: ThreadId, time: Time, path: PathId, _: ObservationKind) {
        self.threads[thread.index()].close(path, time);
        for hold in std::mem::take(&mut self.threads[thread.index()].holds) {
            self.add(thread, hold);
        }
    }

    fn hold(&mut self, thread: ThreadId, time: Time, hold: LockHold) {
        self.threads[thread.index()].holds.push((hold, time));
    }

    fn finish(&mut self, end: Time) {
        for index in 0..self.threads.len() {
            let path = self.threads[index].open.path;
            self.observe(ThreadId::from_index(index), end, path, ObservationKind::Site);
        }
    }
}
