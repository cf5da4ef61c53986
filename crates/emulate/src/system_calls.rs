//! System calls of the program that the plugin listens to: those that map code, and those of the library in the program.

use core::ffi::c_uint;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::{fs, ptr};

use longpole_access::writer::emulation::{ANSWER, CALL, EmulationGreeting, GREETING, ModuleTable, THREAD};
use longpole_access::writer::stream;

use crate::emulated_code::{CodeSection, path_of_descriptor};
use crate::qemu::PluginId;
use crate::{atomic_words, threads, translation};

/// The table of recorded code that the library has; null before its greeting.
static MODULES: AtomicPtr<ModuleTable> = AtomicPtr::new(ptr::null_mut());

/// Whether the program's addresses are known to be this process's.
pub fn is_greeted() -> bool {
    !MODULES.load(Ordering::Acquire).is_null()
}

/// A system call begins.
pub extern "C" fn begun(
    _: PluginId,
    processor: c_uint,
    number: i64,
    first: u64,
    second: u64,
    third: u64,
    _: u64,
    fifth: u64,
    sixth: u64,
    _: u64,
    _: u64,
) {
    match number {
        CALL if first == GREETING => greet(second),
        CALL if first == THREAD && is_greeted() => {
            if let Some(thread) = threads::of(processor) {
                // SAFETY: the library of this build says where the thread's stream is, and when it is gone.
                unsafe { thread.own(second) };
            }
        }
        libc::SYS_mmap if third & libc::PROT_EXEC as u64 != 0 => {
            let path = i32::try_from(fifth.cast_signed()).ok().and_then(path_of_descriptor);
            if let (Some(path), Some(thread)) = (path, threads::of(processor)) {
                *thread.mapping.borrow_mut() = Some((path, CodeSection { offset: sixth, size: second }));
            }
        }
        _ => {}
    }
}

/// It has ended.
pub extern "C" fn ended(_: PluginId, processor: c_uint, number: i64, result: i64) {
    if number != libc::SYS_mmap {
        return;
    }
    let mapping = threads::known(processor).and_then(|thread| thread.mapping.borrow_mut().take());
    if let (Some((path, part)), Ok(begin)) = (mapping, u64::try_from(result)) {
        let range = translation::code().map(&path, begin, &part);
        add(range.as_slice());
    }
}

/// Tells the library of recorded code.
fn add(ranges: &[(u64, u64)]) {
    // SAFETY: null, or the library's table, which stays as long as the process does.
    if let Some(modules) = unsafe { MODULES.load(Ordering::Acquire).as_ref() } {
        ranges.iter().for_each(|&(begin, end)| modules.add(begin, end));
    }
}

/// The library makes itself known.
fn greet(address: u64) {
    let greeting = address as *mut EmulationGreeting;
    // An emulator that puts the program's addresses elsewhere has something else there, or nothing.
    if !is_writable(address, address + size_of::<EmulationGreeting>() as u64) {
        return;
    }
    // SAFETY: memory that can be read and written; with this mark it is what the library of this build has.
    unsafe {
        if (*greeting).mark != GREETING {
            return;
        }
        stream::set_socket((*greeting).socket as i32);
        atomic_words::set_versions((*greeting).versions);
        MODULES.store((*greeting).modules.cast_mut(), Ordering::Release);
        (*greeting).answer = ANSWER;
    }
    add(&translation::code().recorded());
}

/// Whether memory of this process from `begin` to `end` can be read and written.
fn is_writable(begin: u64, end: u64) -> bool {
    let maps = fs::read_to_string("/proc/self/maps").unwrap_or_default();
    maps.lines().any(|line| {
        let mut words = line.split([' ', '-']);
        let mut number = || words.next().and_then(|word| u64::from_str_radix(word, 16).ok());
        let (lowest, highest) = (number(), number());
        words.next().is_some_and(|rights| rights.starts_with("rw"))
            && lowest.is_some_and(|lowest| lowest <= begin)
            && highest.is_some_and(|highest| end <= highest)
    })
}
