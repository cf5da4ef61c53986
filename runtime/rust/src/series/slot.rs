//! How a series gets its slot: one slot for each series, however many threads and processes make it at once.

use core::ffi::CStr;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicU8, AtomicU32};

use super::{MetricNode, Samples, now};
use crate::interface::series::{FREE, MAKING, READY, SeriesMemory, SeriesSlot, UNSET};

/// How often one who finds a slot in the making gives way, before it takes its maker for dead.
const PATIENCE: u32 = 10_000;

/// What a series is.
#[derive(Clone, Copy)]
pub(super) struct SlotKey<'a> {
    pub name: &'a CStr,
    pub unit: &'a CStr,
    pub label: &'a CStr,
    pub samples: Samples,
    /// As in [`SeriesSlot::node`] and [`SeriesSlot::id`].
    pub node: (u32, u32),
}

/// The slot of this series; `None`, and counted, where there is no room for it.
pub(super) fn find_or_make(memory: &'static SeriesMemory, key: &SlotKey<'_>) -> Option<&'static SeriesSlot> {
    for slot in &memory.slots {
        // Slots are taken in order, so whoever makes the same series at the same time meets us here.
        let is_free = slot.state.load(Relaxed) == FREE;
        if is_free && slot.state.compare_exchange(FREE, MAKING, Acquire, Relaxed).is_ok() {
            make(slot, key);
            return Some(slot);
        }
        if is_settled(&slot.state) && is_same(slot, key) {
            return Some(slot);
        }
    }
    memory.header.refused_series.fetch_add(1, Relaxed);
    None
}

fn make(slot: &SeriesSlot, key: &SlotKey<'_>) {
    slot.count.store(0, Relaxed);
    slot.value.store(UNSET, Relaxed);
    slot.samples.store(key.samples as u32, Relaxed);
    slot.node.store(key.node.0, Relaxed);
    slot.id.store(key.node.1, Relaxed);
    slot.created.store(now(), Relaxed);
    write(&slot.name, key.name);
    write(&slot.unit, key.unit);
    write(&slot.label, key.label);
    slot.state.store(READY, Release);
}

/// Waits for a slot in the making.
fn is_settled(state: &AtomicU32) -> bool {
    for _ in 0..PATIENCE {
        if state.load(Acquire) != MAKING {
            return state.load(Acquire) == READY;
        }
        // SAFETY: a plain system call.
        unsafe { libc::sched_yield() };
    }
    false
}

fn is_same(slot: &SeriesSlot, key: &SlotKey<'_>) -> bool {
    (slot.node.load(Relaxed), slot.id.load(Relaxed)) == key.node
        && is_text(&slot.name, key.name)
        && is_text(&slot.label, key.label)
}

fn write(place: &[AtomicU8], text: &CStr) {
    // The last byte stays zero.
    for (place, &byte) in place[..place.len() - 1].iter().zip(text.to_bytes()) {
        place.store(byte, Relaxed);
    }
}

fn is_text(place: &[AtomicU8], text: &CStr) -> bool {
    let room = place.len() - 1;
    let text = text.to_bytes().iter().copied().chain(core::iter::once(0));
    place[..room].iter().zip(text).all(|(place, byte)| place.load(Relaxed) == byte)
}

/// The node as the recorder's `/proc` numbers it: in a pid namespace, `getpid` would not.
pub(super) fn numbered(node: MetricNode) -> (u32, u32) {
    match node {
        MetricNode::Program => (0, 0),
        MetricNode::Machine => (1, 0),
        MetricNode::ThisProcess => (2, own_number(c"/proc/self")),
        MetricNode::Process(pid) => (2, pid),
        MetricNode::ThisThread => (3, own_number(c"/proc/thread-self")),
        MetricNode::Thread(tid) => (3, tid),
    }
}

/// The number at the end of such a link, `PID` or `PID/task/TID`.
fn own_number(link: &CStr) -> u32 {
    let mut text = [0_u8; 64];
    // SAFETY: the kernel writes at most the buffer's length; errno is thread-local and always there.
    let length = unsafe {
        let errno = libc::__errno_location();
        let before = *errno;
        let length = libc::readlink(link.as_ptr(), text.as_mut_ptr().cast(), text.len());
        *errno = before;
        length
    };
    let text = &text[..usize::try_from(length).unwrap_or(0)];
    let digits = text.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let number = text[text.len() - digits..].iter();
    number.fold(0, |number: u32, digit| number.wrapping_mul(10).wrapping_add(u32::from(digit - b'0')))
}
