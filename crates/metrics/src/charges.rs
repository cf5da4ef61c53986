//! Charging: who gets what a thread did between two looks at it (metrics.md §1).
//!
//! ```text
//!   thread     ====== running =====|.. blocked ..|=== running ===|
//!   observed            p          q                             r
//!   charged    |-- p ---|--- q ----|------ q ----|------ r ------|
//! ```
//! *Work* (time on a processor) goes to the observation that comes after it, so that bursts without a timer
//! sample are charged too; work after the last observation goes to that one. *Waits* go to the observation
//! before them: there they are suffered. Before its first observation a thread is at the path that created it.
//!
//! Memory: one entry per (thread, path) that was charged anything. Constant time per observation.

use longpole_event::ThreadId;
use longpole_trace::{PathId, Program};
use rustc_hash::FxHashMap;

/// Something that takes over pending work.
pub(crate) trait Account<Pending>: Default {
    /// Moves the pending work here, leaving none; returns its weight, 0 if there was none.
    fn take(&mut self, pending: &mut Pending) -> f64;
}

impl Account<u64> for u64 {
    fn take(&mut self, pending: &mut u64) -> f64 {
        let weight = std::mem::take(pending);
        *self += weight;
        weight as f64
    }
}

/// What one (thread, path) was charged.
#[derive(Debug)]
pub(crate) struct Entry<Value> {
    pub thread: ThreadId,
    pub path: PathId,
    /// Observations that charged something.
    pub observations: u64,
    pub value: Value,
}

/// Charges of all threads and paths.
#[derive(Debug)]
pub(crate) struct Ledger<Pending, Value> {
    seats: Vec<Seat<Pending>>,
    index: FxHashMap<(ThreadId, PathId), u32>,
    entries: Vec<Entry<Value>>,
    sample: Sample,
}

/// Where a thread was seen last, and what it did since.
#[derive(Clone, Debug, Default)]
struct Seat<Pending> {
    path: Option<PathId>,
    /// Entry of (thread, path), once there is one.
    entry: Option<u32>,
    pending: Pending,
}

/// Sums over the weights of observations.
#[derive(Clone, Copy, Debug, Default)]
struct Sample {
    sum: f64,
    squares: f64,
}

impl<Pending: Clone + Default, Value: Account<Pending>> Ledger<Pending, Value> {
    /// No charges yet; each thread is where it was created.
    pub fn new(program: &Program) -> Self {
        let seat = |thread: &longpole_trace::Thread| Seat { path: Some(thread.prefix), ..Seat::default() };
        Ledger {
            seats: program.threads.iter().map(seat).collect(),
            index: FxHashMap::default(),
            entries: Vec::new(),
            sample: Sample::default(),
        }
    }

    /// The work of the thread since its last observation.
    pub fn work(&mut self, thread: ThreadId) -> &mut Pending {
        &mut self.seat(thread).pending
    }

    /// What the path of the thread's last observation has been charged.
    pub fn wait(&mut self, thread: ThreadId) -> &mut Value {
        &mut self.entry(thread).value
    }

    /// Charges the thread's work to this path, which is where the thread is from now on.
    pub fn observe(&mut self, thread: ThreadId, path: PathId)
    where
        Pending: PartialEq,
    {
        let seat = self.seat(thread);
        if seat.path != Some(path) {
            seat.path = Some(path);
            seat.entry = None;
        }
        let weight = self.settle(thread);
        if weight > 0.0 {
            self.entry(thread).observations += 1;
            self.sample.sum += weight;
            self.sample.squares += weight * weight;
        }
    }

    /// Charges what is left to the last path of each thread; gives the charges, in the order of their
    /// first occurrence.
    pub fn into_entries(mut self) -> Vec<Entry<Value>>
    where
        Pending: PartialEq,
    {
        for index in 0..self.seats.len() {
            self.settle(ThreadId::from_index(index));
        }
        self.entries
    }

    /// n = (Σw)² / Σw² over the observations, 0 without any.
    pub fn effective_samples(&self) -> f64 {
        let Sample { sum, squares } = self.sample;
        if squares > 0.0 { sum * sum / squares } else { 0.0 }
    }

    fn settle(&mut self, thread: ThreadId) -> f64
    where
        Pending: PartialEq,
    {
        if self.seat(thread).pending == Pending::default() {
            return 0.0;
        }
        let mut pending = std::mem::take(&mut self.seat(thread).pending);
        let weight = self.entry(thread).value.take(&mut pending);
        // Hands an emptied buffer back, so that the next work needs no new one.
        self.seat(thread).pending = pending;
        weight
    }

    fn seat(&mut self, thread: ThreadId) -> &mut Seat<Pending> {
        if thread.index() >= self.seats.len() {
            self.seats.resize(thread.index() + 1, Seat::default());
        }
        &mut self.seats[thread.index()]
    }

    fn entry(&mut self, thread: ThreadId) -> &mut Entry<Value> {
        let seat = self.seat(thread);
        let path = seat.path.unwrap_or(longpole_trace::Paths::ROOT);
        let index = match seat.entry {
            Some(index) => index,
            None => {
                let next = self.entries.len() as u32;
                let index = *self.index.entry((thread, path)).or_insert(next);
                if index == next {
                    self.entries.push(Entry { thread, path, observations: 0, value: Value::default() });
                }
                self.seats[thread.index()].entry = Some(index);
                index
            }
        };
        &mut self.entries[index as usize]
    }
}
