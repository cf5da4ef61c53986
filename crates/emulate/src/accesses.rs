//! What QEMU calls at each access of recorded code: the access is appended to the thread's stream.
//!
//! The data of each is the address behind the instruction, as a compiler's instrumentation has the address behind its call.

use core::ffi::{c_uint, c_void};
use std::sync::atomic::{AtomicU64, Ordering};

use longpole_access::format::{Operation, READ, UPDATE, WRITE, place};
use longpole_access::writer::stream::ThreadStream;
use longpole_access::writer::versions::VersionEntry;

use crate::qemu::{AccessInformation, qemu_plugin_mem_is_store, qemu_plugin_mem_size_shift};
use crate::threads::{self, note};
use crate::{atomic_words, shadow_stack::ShadowStack};

/// Below the version: the operation acquires or releases.
const SYNCHRONISES: u64 = 1;
/// Below the version: after the operation earlier releases are not seen.
const REPLACES: u64 = 2;

/// The bit of a call's data that says that it leads to recorded code.
pub const LEADS_TO_RECORDED: u64 = 1 << 63;

fn is_store(information: AccessInformation) -> bool {
    // SAFETY: of an access that QEMU tells of.
    unsafe { qemu_plugin_mem_is_store(information) }
}

fn size_power(information: AccessInformation) -> u64 {
    // SAFETY: the same.
    unsafe { qemu_plugin_mem_size_shift(information) }.into()
}

/// What QEMU has said of accesses, by what it knows them by: there are few kinds, and asking takes longer than the rest.
static KNOWN: [AtomicU64; 64] = [const { AtomicU64::new(0) }; 64];

/// The kind of an access, as places have it, and the power of two that is its size.
#[inline(always)]
fn kind_and_size(information: AccessInformation) -> (u64, u64) {
    const IS_KNOWN: u64 = 1 << 31;
    let slot = &KNOWN[(information ^ information >> 5 ^ information >> 16) as usize % KNOWN.len()];
    let mut known = slot.load(Ordering::Relaxed);
    if known & IS_KNOWN == 0 || known >> 32 != u64::from(information) {
        let kind = if is_store(information) { WRITE } else { READ };
        known = u64::from(information) << 32 | IS_KNOWN | kind << 8 | size_power(information);
        slot.store(known, Ordering::Relaxed);
    }
    (known >> 8 & 0xff, known & 0xff)
}

#[inline(always)]
fn settle(stream: &mut ThreadStream, calls: &mut ShadowStack) {
    if calls.is_pending() {
        calls.settle(|change| note(stream, change));
    }
}

/// An access of an instruction that has nothing special.
pub extern "C" fn plain(processor: c_uint, information: AccessInformation, address: u64, next: *mut c_void) {
    let Some(thread) = threads::known(processor) else { return };
    let (kind, size) = kind_and_size(information);
    let place = place(next as u64, kind, size);
    if thread.repeats(place, address) && kind == READ {
        atomic_words::of(address);
    }
    thread.with(|stream, calls| {
        settle(stream, calls);
        match atomic_words::known(address) {
            None => stream.place(place, address),
            Some(entry) => ordered(stream, entry, (place, address), (kind, next as u64)),
        }
    });
}

/// A plain access to an atomic word: a load acquires, a store releases.
#[cold]
#[inline(never)]
fn ordered(
    stream: &mut ThreadStream,
    entry: &VersionEntry,
    (place, address): (u64, u64),
    (kind, caller): (u64, u64),
) {
    if kind == READ {
        let seen = entry.now();
        stream.operation_of(Operation::Observe, [address, seen << 3 | SYNCHRONISES, caller], caller);
        return stream.place(place, address);
    }
    stream.place(place, address);
    let made = entry.raise();
    stream.operation_of(Operation::Publish, [address, made << 3 | SYNCHRONISES | REPLACES, caller], caller);
}

/// The access of an atomic operation, which acquires and releases.
pub extern "C" fn atomic(processor: c_uint, information: AccessInformation, address: u64, next: *mut c_void) {
    // Before the program has a second thread, QEMU loads and stores.
    if !is_store(information) {
        return;
    }
    let Some(thread) = threads::known(processor) else { return };
    let place = place(next as u64, UPDATE, size_power(information));
    let caller = next as u64;
    thread.with(|stream, calls| {
        settle(stream, calls);
        let Some(entry) = atomic_words::of(address) else { return stream.place(place, address) };
        let made = entry.raise();
        stream.operation_of(Operation::Observe, [address, (made - 1) << 3 | SYNCHRONISES, caller], caller);
        stream.place(place, address);
        stream.operation_of(Operation::Publish, [address, made << 3 | SYNCHRONISES, caller], caller);
    });
}

/// An access of a `push` of memory: what it reads.
pub extern "C" fn push(processor: c_uint, information: AccessInformation, address: u64, next: *mut c_void) {
    if !is_store(information) {
        plain(processor, information, address, next);
    }
}

/// An access of a `pop` into memory: what it writes.
pub extern "C" fn pop(processor: c_uint, information: AccessInformation, address: u64, next: *mut c_void) {
    if is_store(information) {
        plain(processor, information, address, next);
    }
}

/// An access of a call: it may read where the procedure is, and it writes the return address.
pub extern "C" fn call(processor: c_uint, information: AccessInformation, address: u64, data: *mut c_void) {
    let next = data as u64 & !LEADS_TO_RECORDED;
    if kind_and_size(information).0 == READ {
        return plain(processor, information, address, next as *mut c_void);
    }
    let Some(thread) = threads::known(processor) else { return };
    let is_recorded = data as u64 & LEADS_TO_RECORDED != 0;
    thread.with(|stream, calls| calls.call(address, next, is_recorded, |change| note(stream, change)));
}

/// A return reads its address.
pub extern "C" fn leave(processor: c_uint, _: AccessInformation, address: u64, _: *mut c_void) {
    let Some(thread) = threads::known(processor) else { return };
    thread.with(|stream, calls| calls.leave(address, |change| note(stream, change)));
}

/// The code behind a call goes on.
pub extern "C" fn come_back(processor: c_uint, address: *mut c_void) {
    let Some(thread) = threads::known(processor) else { return };
    thread.with(|stream, calls| calls.come_back(address as u64, |change| note(stream, change)));
}

/// Is never called, see [`crate::translation`].
pub extern "C" fn nothing(_: c_uint, _: AccessInformation, _: u64, _: *mut c_void) {}
