//! Charging of what needs no estimate (metrics.md §1): waits, and time on a processor that is no useful work.
//!
//! ```text
//!   thread     ~~~~~ spinning ~~~~~|.. blocked ..|~~~ spinning ~~|
//!   observed            p          q                             r
//!   charged    |-- p ---|--- q ----|------ q ----|------ r ------|
//! ```
//! Spinning goes to the observation that comes after it, which found it; so does the collector's own time. *Waits* go to the
//! observation before them: there they are suffered. Before its first observation a thread is at the path that created it.
//! Useful work is divided by strata ([`crate::strata`]).
//!
//! Memory: one entry per (thread, path) that was charged anything. Constant time per observation.

use longpole_event::ThreadId;
use longpole_trace::{PathId, Program};
use rustc_hash::FxHashMap;

/// Something that takes over pending work.
pub(crate) trait ChargeAccount<Pending>: Default {
    /// Moves what is pending here, leaving none.
    fn take(&mut self, pending: &mut Pending);
}

impl ChargeAccount<u64> for u64 {
    fn take(&mut self, pending: &mut u64) {
        *self += std::mem::take(pending);
    }
}

/// What one (thread, path) was charged.
#[derive(Debug)]
pub(crate) struct ChargeEntry<Value> {
    pub thread: ThreadId,
    pub path: PathId,
    pub value: Value,
}

/// Charges of all threads and paths.
#[derive(Debug)]
pub(crate) struct ChargeLedger<Pending, Value> {
    per_thread: Vec<ChargedThread<Pending>>,
    index: FxHashMap<(ThreadId, PathId), u32>,
    entries: Vec<ChargeEntry<Value>>,
}

/// Where a thread was seen last, and what it did since.
#[derive(Clone, Debug, Default)]
struct ChargedThread<Pending> {
    path: Option<PathId>,
    /// Entry of (thread, path), once there is one.
    entry: Option<u32>,
    pending: Pending,
}

impl<Pending: Clone + Default, Value: ChargeAccount<Pending>> ChargeLedger<Pending, Value> {
    /// No charges yet; each thread is where it was created.
    pub fn new(program: &Program) -> Self {
        let of_thread = |thread: &longpole_trace::Thread| ChargedThread {
            path: Some(thread.prefix),
            ..ChargedThread::default()
        };
        ChargeLedger {
            per_thread: program.threads.iter().map(of_thread).collect(),
            index: FxHashMap::default(),
            entries: Vec::new(),
        }
    }

    /// The time of the thread since its last observation that goes to the next.
    pub fn work(&mut self, thread: ThreadId) -> &mut Pending {
        &mut self.of_thread(thread).pending
    }

    /// What the path of the thread's last observation has been charged.
    pub fn wait(&mut self, thread: ThreadId) -> &mut Value {
        &mut self.entry(thread).value
    }

    /// Charges what is pending to this path, which is where the thread is from now on.
    pub fn observe(&mut self, thread: ThreadId, path: PathId)
    where
        Pending: PartialEq,
    {
        let of_thread = self.of_thread(thread);
        if of_thread.path != Some(path) {
            of_thread.path = Some(path);
            of_thread.entry = None;
        }
        self.settle(thread);
    }

    /// Charges what is left to the last path of each thread; gives the charges, in the order of their
    /// first occurrence.
    pub fn into_entries(mut self) -> Vec<ChargeEntry<Value>>
    where
        Pending: PartialEq,
    {
        for index in 0..self.per_thread.len() {
            self.settle(ThreadId::from_index(index));
        }
        self.entries
    }

    fn settle(&mut self, thread: ThreadId)
    where
        Pending: PartialEq,
    {
        if self.of_thread(thread).pending == Pending::default() {
            return;
        }
        let mut pending = std::mem::take(&mut self.of_thread(thread).pending);
        self.entry(thread).value.take(&mut pending);
        // Hands an emptied buffer back, so that the next work needs no new one.
        self.of_thread(thread).pending = pending;
    }

    fn of_thread(&mut self, thread: ThreadId) -> &mut ChargedThread<Pending> {
        if thread.index() >= self.per_thread.len() {
            self.per_thread.resize(thread.index() + 1, ChargedThread::default());
        }
        &mut self.per_thread[thread.index()]
    }

    fn entry(&mut self, thread: ThreadId) -> &mut ChargeEntry<Value> {
        let of_thread = self.of_thread(thread);
        let path = of_thread.path.unwrap_or(longpole_trace::Paths::ROOT);
        let index = match of_thread.entry {
            Some(index) => index,
            None => {
                let next = self.entries.len() as u32;
                let index = *self.index.entry((thread, path)).or_insert(next);
                if index == next {
                    self.entries.push(ChargeEntry { thread, path, value: Value::default() });
                }
                self.per_thread[thread.index()].entry = Some(index);
                index
            }
        };
        &mut self.entries[index as usize]
    }
}
