//! Atomic operations: done as the program wants them, and recorded as accesses with the version that they saw or made.
//!
//! All are done in the strongest order, which every weaker one permits. Which order the program asked for says whether the
//! operation hands anything on (`SYNCHRONISES`) and whether it ends what was handed on before (`REPLACES`).

use core::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering, compiler_fence, fence};

use super::{stream, versions};
use crate::format::{Operation, READ, UPDATE, WRITE, place};
use crate::return_address;

/// Below the version: the operation acquires or releases.
const SYNCHRONISES: u64 = 1;
/// Below the version: the operation is a plain store, after which earlier releases are not seen.
const REPLACES: u64 = 2;

/// Orders as the interface has them: relaxed, consume, acquire, release, both, sequential.
const fn acquires(order: i32) -> u64 {
    matches!(order & 0x7fff, 1 | 2 | 4 | 5) as u64 * SYNCHRONISES
}

const fn releases(order: i32) -> u64 {
    matches!(order & 0x7fff, 3..=5) as u64 * SYNCHRONISES
}

/// Does what `run` does, and records it. `run` says whether it wrote.
#[inline(always)]
fn recorded<R>(
    (address, power): (u64, u64),
    order: i32,
    caller: u64,
    kinds: (u64, u64),
    run: impl FnOnce() -> (R, bool),
) -> R {
    if !stream::is_on() {
        return run().0;
    }
    let Some(entry) = versions::entry(address) else {
        let (result, has_written) = run();
        let kind = if has_written { kinds.1 } else { kinds.0 };
        stream::with(|stream| stream.access_always(place(caller, kind, power), address));
        return result;
    };
    let (result, has_written, seen) = entry.locked(|| {
        let seen = entry.now();
        let (result, has_written) = run();
        if has_written {
            entry.raise();
        }
        (result, has_written, seen)
    });
    let kind = if has_written { kinds.1 } else { kinds.0 };
    stream::with(|stream| {
        if kind != WRITE {
            stream.operation(Operation::Observe, [address, seen << 3 | acquires(order), caller]);
        }
        stream.access_always(place(caller, kind, power), address);
        if has_written {
            let replaces = if kind == WRITE { REPLACES } else { 0 };
            stream.operation(
                Operation::Publish,
                [address, (seen + 1) << 3 | releases(order) | replaces, caller],
            );
        }
    });
    result
}

macro_rules! atomics {
    ($kind:ty, $atomic:ty, $power:literal; $load:ident $store:ident $exchange:ident
     $value:ident $($exchanges:ident)*; $($fetch:ident $method:ident),*) => {
        #[cfg_attr(not(test), unsafe(no_mangle))]
        pub unsafe extern "C" fn $load(at: *const $atomic, order: i32) -> $kind {
            recorded((at as u64, $power), order, return_address!(), (READ, WRITE), || {
                (unsafe { (*at).load(Ordering::SeqCst) }, false)
            })
        }

        #[cfg_attr(not(test), unsafe(no_mangle))]
        pub unsafe extern "C" fn $store(at: *const $atomic, value: $kind, order: i32) {
            recorded((at as u64, $power), order, return_address!(), (READ, WRITE), || {
                (unsafe { (*at).store(value, Ordering::SeqCst) }, true)
            });
        }

        #[cfg_attr(not(test), unsafe(no_mangle))]
        pub unsafe extern "C" fn $exchange(at: *const $atomic, value: $kind, order: i32) -> $kind {
            recorded((at as u64, $power), order, return_address!(), (READ, UPDATE), || {
                (unsafe { (*at).swap(value, Ordering::SeqCst) }, true)
            })
        }

        // A weak one may fail for no reason, and need not.
        $(
            #[cfg_attr(not(test), unsafe(no_mangle))]
            pub unsafe extern "C" fn $exchanges(at: *const $atomic, expected: *mut $kind, value: $kind, order: i32, _: i32) -> i32 {
                let wanted = unsafe { *expected };
                let result = recorded((at as u64, $power), order, return_address!(), (READ, UPDATE), || {
                    let result = unsafe { (*at).compare_exchange(wanted, value, Ordering::SeqCst, Ordering::SeqCst) };
                    (result, result.is_ok())
                });
                match result {
                    Ok(_) => 1,
                    Err(found) => {
                        unsafe { *expected = found };
                        0
                    }
                }
            }
        )*

        #[cfg_attr(not(test), unsafe(no_mangle))]
        pub unsafe extern "C" fn $value(at: *const $atomic, expected: $kind, value: $kind, order: i32, _: i32) -> $kind {
            recorded((at as u64, $power), order, return_address!(), (READ, UPDATE), || {
                let result = unsafe { (*at).compare_exchange(expected, value, Ordering::SeqCst, Ordering::SeqCst) };
                (result.unwrap_or_else(|found| found), result.is_ok())
            })
        }

        $(
            #[cfg_attr(not(test), unsafe(no_mangle))]
            pub unsafe extern "C" fn $fetch(at: *const $atomic, value: $kind, order: i32) -> $kind {
                recorded((at as u64, $power), order, return_address!(), (READ, UPDATE), || {
                    (unsafe { (*at).$method(value, Ordering::SeqCst) }, true)
                })
            }
        )*
    };
}

atomics!(u8, AtomicU8, 0; __tsan_atomic8_load __tsan_atomic8_store __tsan_atomic8_exchange
    __tsan_atomic8_compare_exchange_val __tsan_atomic8_compare_exchange_strong __tsan_atomic8_compare_exchange_weak;
    __tsan_atomic8_fetch_add fetch_add, __tsan_atomic8_fetch_sub fetch_sub, __tsan_atomic8_fetch_and fetch_and,
    __tsan_atomic8_fetch_or fetch_or, __tsan_atomic8_fetch_xor fetch_xor, __tsan_atomic8_fetch_nand fetch_nand);
atomics!(u16, AtomicU16, 1; __tsan_atomic16_load __tsan_atomic16_store __tsan_atomic16_exchange
    __tsan_atomic16_compare_exchange_val __tsan_atomic16_compare_exchange_strong __tsan_atomic16_compare_exchange_weak;
    __tsan_atomic16_fetch_add fetch_add, __tsan_atomic16_fetch_sub fetch_sub, __tsan_atomic16_fetch_and fetch_and,
    __tsan_atomic16_fetch_or fetch_or, __tsan_atomic16_fetch_xor fetch_xor, __tsan_atomic16_fetch_nand fetch_nand);
atomics!(u32, AtomicU32, 2; __tsan_atomic32_load __tsan_atomic32_store __tsan_atomic32_exchange
    __tsan_atomic32_compare_exchange_val __tsan_atomic32_compare_exchange_strong __tsan_atomic32_compare_exchange_weak;
    __tsan_atomic32_fetch_add fetch_add, __tsan_atomic32_fetch_sub fetch_sub, __tsan_atomic32_fetch_and fetch_and,
    __tsan_atomic32_fetch_or fetch_or, __tsan_atomic32_fetch_xor fetch_xor, __tsan_atomic32_fetch_nand fetch_nand);
atomics!(u64, AtomicU64, 3; __tsan_atomic64_load __tsan_atomic64_store __tsan_atomic64_exchange
    __tsan_atomic64_compare_exchange_val __tsan_atomic64_compare_exchange_strong __tsan_atomic64_compare_exchange_weak;
    __tsan_atomic64_fetch_add fetch_add, __tsan_atomic64_fetch_sub fetch_sub, __tsan_atomic64_fetch_and fetch_and,
    __tsan_atomic64_fetch_or fetch_or, __tsan_atomic64_fetch_xor fetch_xor, __tsan_atomic64_fetch_nand fetch_nand);
atomics!(u128, AtomicPair, 4; __tsan_atomic128_load __tsan_atomic128_store __tsan_atomic128_exchange
    __tsan_atomic128_compare_exchange_val __tsan_atomic128_compare_exchange_strong __tsan_atomic128_compare_exchange_weak;
    __tsan_atomic128_fetch_add fetch_add, __tsan_atomic128_fetch_sub fetch_sub, __tsan_atomic128_fetch_and fetch_and,
    __tsan_atomic128_fetch_or fetch_or, __tsan_atomic128_fetch_xor fetch_xor, __tsan_atomic128_fetch_nand fetch_nand);

/// 16 bytes that are changed in one step: code that has atomic operations on them was compiled for processors that can.
#[repr(transparent)]
pub struct AtomicPair(core::cell::UnsafeCell<u128>);

impl AtomicPair {
    fn exchange(&self, expected: u128, value: u128) -> u128 {
        let (mut low, mut high) = (expected as u64, (expected >> 64) as u64);
        // The compiler keeps rbx for itself, so the new value's lower half comes there by an exchange and goes back.
        unsafe {
            core::arch::asm!(
                "xchg {low}, rbx",
                "lock cmpxchg16b xmmword ptr [{at}]",
                "mov rbx, {low}",
                low = inout(reg) value as u64 => _,
                at = in(reg) self.0.get(),
                in("rcx") (value >> 64) as u64,
                inout("rax") low,
                inout("rdx") high,
                options(nostack)
            );
        }
        u128::from(high) << 64 | u128::from(low)
    }

    fn change(&self, change: impl Fn(u128) -> u128) -> u128 {
        let mut expected = self.exchange(0, 0);
        loop {
            let found = self.exchange(expected, change(expected));
            if found == expected {
                return found;
            }
            expected = found;
        }
    }

    fn load(&self, _: Ordering) -> u128 {
        self.exchange(0, 0)
    }

    fn store(&self, value: u128, _: Ordering) {
        self.change(|_| value);
    }

    fn swap(&self, value: u128, _: Ordering) -> u128 {
        self.change(|_| value)
    }

    fn compare_exchange(&self, expected: u128, value: u128, _: Ordering, _: Ordering) -> Result<u128, u128> {
        let found = self.exchange(expected, value);
        if found == expected { Ok(found) } else { Err(found) }
    }

    fn fetch_add(&self, value: u128, _: Ordering) -> u128 {
        self.change(|old| old.wrapping_add(value))
    }

    fn fetch_sub(&self, value: u128, _: Ordering) -> u128 {
        self.change(|old| old.wrapping_sub(value))
    }

    fn fetch_and(&self, value: u128, _: Ordering) -> u128 {
        self.change(|old| old & value)
    }

    fn fetch_or(&self, value: u128, _: Ordering) -> u128 {
        self.change(|old| old | value)
    }

    fn fetch_xor(&self, value: u128, _: Ordering) -> u128 {
        self.change(|old| old ^ value)
    }

    fn fetch_nand(&self, value: u128, _: Ordering) -> u128 {
        self.change(|old| !(old & value))
    }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn __tsan_atomic_thread_fence(_: i32) {
    fence(Ordering::SeqCst);
}

#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn __tsan_atomic_signal_fence(_: i32) {
    compiler_fence(Ordering::SeqCst);
}
