//! The functions that instrumented code calls.

use super::{modules, stream};
use crate::format::{ENTER, READ, UPDATE, WRITE, place};
use crate::return_address;

macro_rules! accesses {
    ($($name:ident $kind:ident $power:literal),* $(,)?) => {$(
        #[cfg_attr(not(test), unsafe(no_mangle))]
        pub unsafe extern "C" fn $name(address: u64) {
            let place = place(return_address!(), $kind, $power);
            stream::with(|stream| stream.access(place, address));
        }
    )*};
}

accesses! {
    __tsan_read1 READ 0,
    __tsan_read2 READ 1,
    __tsan_read4 READ 2,
    __tsan_read8 READ 3,
    __tsan_read16 READ 4,
    __tsan_write1 WRITE 0,
    __tsan_write2 WRITE 1,
    __tsan_write4 WRITE 2,
    __tsan_write8 WRITE 3,
    __tsan_write16 WRITE 4,
    __tsan_unaligned_read1 READ 0,
    __tsan_unaligned_read2 READ 1,
    __tsan_unaligned_read4 READ 2,
    __tsan_unaligned_read8 READ 3,
    __tsan_unaligned_read16 READ 4,
    __tsan_unaligned_write1 WRITE 0,
    __tsan_unaligned_write2 WRITE 1,
    __tsan_unaligned_write4 WRITE 2,
    __tsan_unaligned_write8 WRITE 3,
    __tsan_unaligned_write16 WRITE 4,
    __tsan_volatile_read1 READ 0,
    __tsan_volatile_read2 READ 1,
    __tsan_volatile_read4 READ 2,
    __tsan_volatile_read8 READ 3,
    __tsan_volatile_read16 READ 4,
    __tsan_volatile_write1 WRITE 0,
    __tsan_volatile_write2 WRITE 1,
    __tsan_volatile_write4 WRITE 2,
    __tsan_volatile_write8 WRITE 3,
    __tsan_volatile_write16 WRITE 4,
    __tsan_unaligned_volatile_read1 READ 0,
    __tsan_unaligned_volatile_read2 READ 1,
    __tsan_unaligned_volatile_read4 READ 2,
    __tsan_unaligned_volatile_read8 READ 3,
    __tsan_unaligned_volatile_read16 READ 4,
    __tsan_unaligned_volatile_write1 WRITE 0,
    __tsan_unaligned_volatile_write2 WRITE 1,
    __tsan_unaligned_volatile_write4 WRITE 2,
    __tsan_unaligned_volatile_write8 WRITE 3,
    __tsan_unaligned_volatile_write16 WRITE 4,
    __tsan_read_write1 UPDATE 0,
    __tsan_read_write2 UPDATE 1,
    __tsan_read_write4 UPDATE 2,
    __tsan_read_write8 UPDATE 3,
    __tsan_read_write16 UPDATE 4,
    __tsan_unaligned_read_write1 UPDATE 0,
    __tsan_unaligned_read_write2 UPDATE 1,
    __tsan_unaligned_read_write4 UPDATE 2,
    __tsan_unaligned_read_write8 UPDATE 3,
    __tsan_unaligned_read_write16 UPDATE 4,
    __tsan_vptr_read READ 3,
}

macro_rules! accesses_of_an_inner_call {
    ($($name:ident $kind:ident $power:literal),* $(,)?) => {$(
        #[cfg_attr(not(test), unsafe(no_mangle))]
        pub unsafe extern "C" fn $name(address: u64, caller: u64) {
            let place = place(caller, $kind, $power);
            stream::with(|stream| stream.access(place, address));
        }
    )*};
}

accesses_of_an_inner_call! {
    __tsan_read1_pc READ 0,
    __tsan_read2_pc READ 1,
    __tsan_read4_pc READ 2,
    __tsan_read8_pc READ 3,
    __tsan_read16_pc READ 4,
    __tsan_write1_pc WRITE 0,
    __tsan_write2_pc WRITE 1,
    __tsan_write4_pc WRITE 2,
    __tsan_write8_pc WRITE 3,
    __tsan_write16_pc WRITE 4,
}

#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn __tsan_vptr_update(address: u64, _value: u64) {
    let place = place(return_address!(), WRITE, 3);
    stream::with(|stream| stream.access(place, address));
}

/// An access of any size by a function of the C library that `caller` calls. What other libraries copy is left out, as
/// their own accesses are.
#[inline(always)]
pub fn range_of_library(address: u64, size: u64, kind: u64, caller: u64) {
    if modules::is_instrumented(caller) {
        range(address, size, kind, caller);
    }
}

/// An access of any size.
#[inline(always)]
pub fn range(address: u64, size: u64, kind: u64, caller: u64) {
    if size > 0 {
        stream::with(|stream| stream.range((address, size), kind, caller));
    }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn __tsan_read_range(address: u64, size: u64) {
    range(address, size, READ, return_address!());
}

#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn __tsan_write_range(address: u64, size: u64) {
    range(address, size, WRITE, return_address!());
}

#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn __tsan_read_range_pc(address: u64, size: u64, caller: u64) {
    range(address, size, READ, caller);
}

#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn __tsan_write_range_pc(address: u64, size: u64, caller: u64) {
    range(address, size, WRITE, caller);
}

#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn __tsan_func_entry(caller: u64) {
    stream::with(|stream| stream.enter(place(caller, ENTER, 0)));
}

#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn __tsan_func_exit() {
    stream::with(stream::ThreadStream::exit);
}

/// Called by each module of the program that is instrumented, when it is loaded.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn __tsan_init() {
    modules::add(return_address!());
}

#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn __tsan_flush_memory() {}

#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn __tsan_ignore_thread_begin() {}

#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn __tsan_ignore_thread_end() {}

/// What clang calls in place of `memcpy`: the function, and its accesses.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn __tsan_memcpy(to: *mut u8, from: *const u8, size: usize) -> *mut u8 {
    let caller = return_address!();
    range(from as u64, size as u64, READ, caller);
    range(to as u64, size as u64, WRITE, caller);
    unsafe { libc::memmove(to.cast(), from.cast(), size).cast() }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn __tsan_memmove(to: *mut u8, from: *const u8, size: usize) -> *mut u8 {
    let caller = return_address!();
    range(from as u64, size as u64, READ, caller);
    range(to as u64, size as u64, WRITE, caller);
    unsafe { libc::memmove(to.cast(), from.cast(), size).cast() }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn __tsan_memset(to: *mut u8, value: i32, size: usize) -> *mut u8 {
    range(to as u64, size as u64, WRITE, return_address!());
    unsafe { libc::memset(to.cast(), value, size).cast() }
}
