//! Metrics that a program or a collector gives itself: counters, gauges, amounts, at a node of the program's tree.
//!
//! A number goes into memory that the recorder shares and looks at: no system call, and nothing is lost when the
//! program is killed. Where no recorder watches, a call costs one relaxed load and one branch. This needs no agent.

mod collector;
mod memory;
mod memory_request;
mod slot;

use core::ffi::CStr;
use core::sync::atomic::AtomicPtr;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

pub use collector::Looks;

use crate::interface::series::{ENTRIES, SeriesMemory, SeriesSlot};
use memory::{absent, memory};
use slot::{SlotKey, find_or_make, numbered};

/// How the numbers of a metric are to be read.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Samples {
    /// The value from now on, until the next: a length, a temperature, a depth.
    Gauge = 0,
    /// A total that only grows.
    Counter = 1,
    /// What came since the number before it.
    Amount = 2,
}

/// What a metric is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricNode {
    /// The program, on all its machines.
    Program,
    /// The machine that this runs on.
    Machine,
    /// The process that first uses the metric.
    ThisProcess,
    /// The process with this pid.
    Process(u32),
    /// The thread that first uses the metric.
    ThisThread,
    /// The thread with this tid.
    Thread(u32),
}

/// A metric at a node: a series of numbers. Made anywhere, as a `static` best; two that are the same are one series.
///
/// Numbers of a child process that is forked after the first use count for the node that it was first used for.
/// Any thread may use it, and signal handlers too. Of a name and of a label 63 bytes are kept, of a unit 31; a name is
/// letters, digits and `_`.
///
/// ```
/// use longpole_runtime::Metric;
///
/// static COMMITS: Metric = Metric::counter(c"commits").unit(c"transactions");
/// static QUEUED: Metric = Metric::gauge(c"queued").unit(c"orders");
///
/// COMMITS.add(1);
/// QUEUED.set(17.0);
/// ```
#[derive(Debug)]
pub struct Metric<'a> {
    name: &'a CStr,
    unit: &'a CStr,
    label: &'a CStr,
    samples: Samples,
    node: MetricNode,
    /// Null before the first use, [`absent`] where nobody takes it.
    slot: AtomicPtr<SeriesSlot>,
}

impl<'a> Metric<'a> {
    /// A metric of the process that uses it first.
    #[must_use]
    pub const fn new(name: &'a CStr, samples: Samples) -> Metric<'a> {
        let slot = AtomicPtr::new(core::ptr::null_mut());
        Metric { name, unit: c"", label: c"", samples, node: MetricNode::ThisProcess, slot }
    }

    /// A total that only grows.
    #[must_use]
    pub const fn counter(name: &'a CStr) -> Metric<'a> {
        Metric::new(name, Samples::Counter)
    }

    /// A value that holds until the next.
    #[must_use]
    pub const fn gauge(name: &'a CStr) -> Metric<'a> {
        Metric::new(name, Samples::Gauge)
    }

    /// The same in this unit.
    #[must_use]
    pub const fn unit(self, unit: &'a CStr) -> Metric<'a> {
        Metric { unit, ..self }
    }

    /// The same at this node.
    #[must_use]
    pub const fn at(self, node: MetricNode) -> Metric<'a> {
        Metric { node, ..self }
    }

    /// The same for a part of the node that longpole does not know (`cpu0`, `vda`).
    #[must_use]
    pub const fn label(self, label: &'a CStr) -> Metric<'a> {
        Metric { label, ..self }
    }

    /// Adds to it; to a gauge also less than zero. One atomic addition.
    #[inline]
    pub fn add(&self, count: i64) {
        if let Some(slot) = self.slot() {
            slot.count.fetch_add(count, Relaxed);
        }
    }

    /// Sets it: the value of a gauge, the total of a counter.
    #[inline]
    pub fn set(&self, value: f64) {
        if let Some(slot) = self.slot() {
            let count = slot.count.load(Relaxed);
            slot.value.store((value - count as f64).to_bits(), Release);
        }
    }

    /// Gives a number with its time, nanoseconds of `CLOCK_MONOTONIC`; see [`now`]. What [`Metric::set`] sets between
    /// two looks of the recorder (10 ms) only counts as it is at the second; all of these are kept. Where they come faster
    /// than the recorder takes them, some are lost, and counted.
    pub fn sample_at(&self, value: f64, nanoseconds: u64) {
        if let (Some(slot), Some(memory)) = (self.slot(), memory()) {
            push(memory, slot, value, nanoseconds);
        }
    }

    #[inline]
    fn slot(&self) -> Option<&'static SeriesSlot> {
        if !cfg!(feature = "enabled") {
            return None;
        }
        // Only atomic words of the slot are used by whoever has it: there is nothing to be ordered after.
        let slot = self.slot.load(Relaxed);
        if slot == absent() { None } else { self.present(slot) }
    }

    #[inline(never)]
    fn present(&self, slot: *mut SeriesSlot) -> Option<&'static SeriesSlot> {
        let slot = if slot.is_null() { self.find() } else { slot };
        // SAFETY: neither null nor absent, so it is a slot of the memory, which is never unmapped.
        (slot != absent()).then(|| unsafe { &*slot })
    }

    #[cold]
    fn find(&self) -> *mut SeriesSlot {
        let found = memory().and_then(|memory| {
            let Metric { name, unit, label, samples, node, .. } = *self;
            find_or_make(memory, &SlotKey { name, unit, label, samples, node: numbered(node) })
        });
        let slot = found.map_or(absent(), |slot| core::ptr::from_ref(slot).cast_mut());
        self.slot.store(slot, Relaxed);
        slot
    }
}

/// Puts a value into the ring, if there is room.
fn push(memory: &SeriesMemory, slot: &SeriesSlot, value: f64, time: u64) {
    let header = &memory.header;
    let mut ticket = header.tickets.0.load(Relaxed);
    loop {
        // Acquire: the recorder has read the entry before it says so.
        if ticket.wrapping_sub(header.taken.0.load(Acquire)) >= ENTRIES as u64 {
            header.refused_values.fetch_add(1, Relaxed);
            return;
        }
        match header.tickets.0.compare_exchange_weak(ticket, ticket.wrapping_add(1), Relaxed, Relaxed) {
            Ok(_) => break,
            Err(found) => ticket = found,
        }
    }
    let index = (core::ptr::from_ref(slot).addr() - memory.slots.as_ptr().addr()) / size_of::<SeriesSlot>();
    let entry = &memory.entries[ticket as usize % ENTRIES];
    entry.slot.store(index as u64, Relaxed);
    entry.value.store(value.to_bits(), Relaxed);
    entry.time.store(time, Relaxed);
    entry.sequence.store(ticket.wrapping_add(1), Release);
}

/// Now, nanoseconds of `CLOCK_MONOTONIC`: the clock of all times that the recorder takes.
#[must_use]
pub fn now() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes into `time` only; this clock exists.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
