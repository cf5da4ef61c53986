//! Memory from `malloc` and its kin, and what the C library copies and fills.
//!
//! The allocator is the C library's own, by the names that need no search: the loader allocates before anything can be found.

use core::ffi::{c_int, c_void};

use super::{entry, followed, stream};
use crate::format::{Operation, READ, WRITE};
use crate::{access_hooks, return_address};

unsafe extern "C" {
    fn __libc_malloc(size: usize) -> *mut c_void;
    fn __libc_calloc(count: usize, size: usize) -> *mut c_void;
    fn __libc_realloc(memory: *mut c_void, size: usize) -> *mut c_void;
    fn __libc_memalign(alignment: usize, size: usize) -> *mut c_void;
    fn __libc_free(memory: *mut c_void);
}

#[inline(always)]
fn allocated(memory: *mut c_void, size: usize, caller: u64) -> *mut c_void {
    if !memory.is_null() && size > 0 {
        stream::with(|stream| {
            followed::give_up(stream.thread, memory as u64, size as u64);
            stream.operation_of(Operation::Allocate, [memory as u64, size as u64, caller], caller);
        });
    }
    memory
}

#[inline(always)]
fn freed(memory: *mut c_void) {
    if !memory.is_null() {
        stream::with(|stream| stream.operation(Operation::Free, [memory as u64]));
    }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn malloc(size: usize) -> *mut c_void {
    allocated(unsafe { __libc_malloc(size) }, size, return_address!())
}

#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn calloc(count: usize, size: usize) -> *mut c_void {
    allocated(unsafe { __libc_calloc(count, size) }, count.wrapping_mul(size), return_address!())
}

#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn realloc(memory: *mut c_void, size: usize) -> *mut c_void {
    let moved = unsafe { __libc_realloc(memory, size) };
    if !moved.is_null() {
        freed(memory);
    }
    allocated(moved, size, return_address!())
}

#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn free(memory: *mut c_void) {
    freed(memory);
    unsafe { __libc_free(memory) }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn memalign(alignment: usize, size: usize) -> *mut c_void {
    allocated(unsafe { __libc_memalign(alignment, size) }, size, return_address!())
}

#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn aligned_alloc(alignment: usize, size: usize) -> *mut c_void {
    allocated(unsafe { __libc_memalign(alignment, size) }, size, return_address!())
}

#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn posix_memalign(room: *mut *mut c_void, alignment: usize, size: usize) -> c_int {
    if !alignment.is_power_of_two() || !alignment.is_multiple_of(size_of::<usize>()) {
        return libc::EINVAL;
    }
    let memory = allocated(unsafe { __libc_memalign(alignment, size) }, size, return_address!());
    if memory.is_null() {
        return libc::ENOMEM;
    }
    unsafe { *room = memory };
    0
}

// What C++ allocates with is called by the program, not by the library that has it: so the place is the program's.
#[allow(non_snake_case)]
mod cxx {
    use super::{access_hooks, allocated, c_void};

    access_hooks! {
        fn _Znwm(size: usize) -> *mut c_void => |real, caller| { allocated(real(size), size, caller) }

        fn _Znam(size: usize) -> *mut c_void => |real, caller| { allocated(real(size), size, caller) }

        fn _ZnwmSt11align_val_t(size: usize, alignment: usize) -> *mut c_void => |real, caller| {
            allocated(real(size, alignment), size, caller)
        }

        fn _ZnamSt11align_val_t(size: usize, alignment: usize) -> *mut c_void => |real, caller| {
            allocated(real(size, alignment), size, caller)
        }

        fn _ZnwmRKSt9nothrow_t(size: usize, tag: *const c_void) -> *mut c_void => |real, caller| {
            allocated(real(size, tag), size, caller)
        }

        fn _ZnamRKSt9nothrow_t(size: usize, tag: *const c_void) -> *mut c_void => |real, caller| {
            allocated(real(size, tag), size, caller)
        }
    }
}

access_hooks! {
    fn memcpy(to: *mut c_void, from: *const c_void, size: usize) -> *mut c_void => |real, caller| {
        entry::range_of_library(from as u64, size as u64, READ, caller);
        entry::range_of_library(to as u64, size as u64, WRITE, caller);
        real(to, from, size)
    }

    fn memmove(to: *mut c_void, from: *const c_void, size: usize) -> *mut c_void => |real, caller| {
        entry::range_of_library(from as u64, size as u64, READ, caller);
        entry::range_of_library(to as u64, size as u64, WRITE, caller);
        real(to, from, size)
    }

    fn memset(to: *mut c_void, value: c_int, size: usize) -> *mut c_void => |real, caller| {
        entry::range_of_library(to as u64, size as u64, WRITE, caller);
        real(to, value, size)
    }
}
