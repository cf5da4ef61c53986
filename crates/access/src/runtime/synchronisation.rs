//! Threads, locks, barriers, conditions and semaphores of the C library.
//!
//! What has an order is noted when it has succeeded, what gives one on before it does, so that each stream has its own order.

use core::ffi::{c_int, c_void};
use core::ptr;

use libc::timespec;

use super::thread_local::words;
use super::{followed, lifecycle, modules, stream, versions};
use crate::access_hooks;
use crate::format::Operation;

type HookedThreadFunction = unsafe extern "C-unwind" fn(*mut c_void) -> *mut c_void;

unsafe extern "C" {
    fn __libc_malloc(size: usize) -> *mut c_void;
    fn __libc_free(memory: *mut c_void);
}

/// What a new thread is to do.
struct RecordedThreadStart {
    start: HookedThreadFunction,
    argument: *mut c_void,
    number: u32,
}

unsafe extern "C-unwind" fn begin(start: *mut c_void) -> *mut c_void {
    let RecordedThreadStart { start: function, argument, number } =
        unsafe { ptr::read(start.cast::<RecordedThreadStart>()) };
    unsafe { __libc_free(start) };
    lifecycle::begin_thread(number);
    unsafe { function(argument) }
}

/// Creates a thread that begins with its number; null where nothing is recorded or there is no room.
fn new_start(start: HookedThreadFunction, argument: *mut c_void, caller: u64) -> *mut c_void {
    if !stream::is_on() {
        return ptr::null_mut();
    }
    let room = unsafe { __libc_malloc(size_of::<RecordedThreadStart>()) };
    if !room.is_null() {
        let number = stream::next_thread();
        unsafe { ptr::write(room.cast(), RecordedThreadStart { start, argument, number }) };
        note_of_any(Operation::Fork, [number.into(), caller]);
    }
    room
}

/// A call of `pthread_once` or `call_once` that may have to initialise.
pub struct OnceCall {
    control: u64,
    initialise: unsafe extern "C-unwind" fn(),
    caller: u64,
    outer: *const OnceCall,
}

/// Stands in for what initialises: what it did is handed on to all who call later.
unsafe extern "C-unwind" fn initialise_once() {
    let words = words();
    let Some(call) = (unsafe { words.once.get().as_ref() }) else { return };
    words.once.set(call.outer);
    unsafe { (call.initialise)() };
    note_published(call.control, call.caller);
    words.once.set(call);
}

macro_rules! once {
    ($control:expr, $initialise:expr, $caller:expr, $real:expr) => {{
        if !stream::is_on() {
            return $real($control, $initialise);
        }
        let words = words();
        let outer = words.once.get();
        let call = OnceCall { control: $control as u64, initialise: $initialise, caller: $caller, outer };
        words.once.set(&raw const call);
        let result = $real($control, initialise_once);
        words.once.set(outer);
        note_observed($control as u64, $caller);
        result
    }};
}

/// A barrier's members are known where it is initialised only.
fn set_members(barrier: u64, members: u32) {
    if let Some(entry) = versions::entry(barrier ^ BARRIER) {
        entry.set(members.into());
    }
}

/// Tells the members of a barrier from versions of what was at its address before.
const BARRIER: u64 = 1 << 62;

/// The last word is the caller. How the threads of an OpenMP runtime wait for each other is left out: it has hooks of its own.
fn note<const N: usize>(operation: Operation, words: [u64; N]) {
    if !modules::is_runtime(words[N - 1]) {
        note_of_any(operation, words);
    }
}

/// The same, whoever calls.
pub fn note_of_any<const N: usize>(operation: Operation, words: [u64; N]) {
    match operation {
        Operation::Fork => followed::creates(),
        Operation::Join => followed::joins(),
        _ => {}
    }
    stream::with(|stream| stream.operation_of(operation, words, words[N - 1]));
}

/// What a wait for a condition saw.
fn note_condition(condition: u64, before: u64, caller: u64) {
    let now = versions::entry(condition).map_or(0, versions::VersionEntry::now);
    if now > before {
        note(Operation::Observe, [condition, now << 3 | 1, caller]);
    }
}

fn version_of(condition: u64) -> u64 {
    versions::entry(condition).map_or(0, versions::VersionEntry::now)
}

/// Publishes the next version of what hands this on.
pub fn note_published(token: u64, caller: u64) {
    if let Some(entry) = versions::entry(token) {
        note_of_any(Operation::Publish, [token, entry.raise() << 3 | 1, caller]);
    }
}

/// Takes over what was published last, if anything was.
pub fn note_observed(token: u64, caller: u64) {
    let now = version_of(token);
    if now > 0 {
        note_of_any(Operation::Observe, [token, now << 3 | 1, caller]);
    }
}

fn note_signal(condition: u64, caller: u64) {
    if stream::is_on()
        && let Some(entry) = versions::entry(condition)
    {
        note(Operation::Publish, [condition, entry.raise() << 3 | 1, caller]);
    }
}

const BUSY_OWNER: c_int = libc::EOWNERDEAD;

/// Whether the call took the lock.
fn is_taken(result: c_int) -> bool {
    result == 0 || result == BUSY_OWNER
}

macro_rules! lock {
    ($lock:expr, $caller:expr, $take:expr) => {{
        let result = $take;
        if is_taken(result) {
            note(Operation::Lock, [$lock as u64, $caller]);
        }
        result
    }};
}

macro_rules! unlock {
    ($lock:expr, $caller:expr, $give:expr) => {{
        note(Operation::Unlock, [$lock as u64, $caller]);
        $give
    }};
}

macro_rules! wait_for_condition {
    ($condition:expr, $mutex:expr, $caller:expr, $wait:expr) => {{
        let before = version_of($condition as u64);
        note(Operation::Unlock, [$mutex as u64, $caller]);
        let result = $wait;
        if result == 0 {
            note_condition($condition as u64, before, $caller);
        }
        note(Operation::Lock, [$mutex as u64, $caller]);
        result
    }};
}

macro_rules! await_semaphore {
    ($semaphore:expr, $caller:expr, $wait:expr) => {{
        let result = $wait;
        if result == 0 {
            note(Operation::Await, [$semaphore as u64, $caller]);
        }
        result
    }};
}

access_hooks! {
    fn pthread_create(
        thread: *mut libc::pthread_t,
        attributes: *const libc::pthread_attr_t,
        start: HookedThreadFunction,
        argument: *mut c_void,
    ) -> c_int => |real, caller| {
        let room = new_start(start, argument, caller);
        if room.is_null() {
            return real(thread, attributes, start, argument);
        }
        let result = real(thread, attributes, begin, room);
        if result != 0 {
            __libc_free(room);
        }
        result
    }

    fn thrd_create(
        thread: *mut libc::pthread_t,
        start: HookedThreadFunction,
        argument: *mut c_void,
    ) -> c_int => |real, caller| {
        // Its function returns a number: the lower half of the same register.
        let room = new_start(start, argument, caller);
        if room.is_null() {
            return real(thread, start, argument);
        }
        let result = real(thread, begin, room);
        if result != 0 {
            __libc_free(room);
        }
        result
    }

    fn thrd_join(thread: libc::pthread_t, result: *mut c_int) -> c_int => |real, caller| {
        let known = stream::find_thread(thread);
        let status = real(thread, result);
        if status == 0 && let Some(number) = known.or_else(|| stream::find_thread(thread)) {
            note_of_any(Operation::Join, [number.into(), caller]);
        }
        status
    }

    fn mtx_lock(mutex: *mut c_void) -> c_int => |real, caller| { lock!(mutex, caller, real(mutex)) }

    fn mtx_trylock(mutex: *mut c_void) -> c_int => |real, caller| { lock!(mutex, caller, real(mutex)) }

    fn mtx_timedlock(mutex: *mut c_void, until: *const timespec) -> c_int => |real, caller| {
        lock!(mutex, caller, real(mutex, until))
    }

    fn mtx_unlock(mutex: *mut c_void) -> c_int => |real, caller| { unlock!(mutex, caller, real(mutex)) }

    fn cnd_wait(condition: *mut c_void, mutex: *mut c_void) -> c_int => |real, caller| {
        wait_for_condition!(condition, mutex, caller, real(condition, mutex))
    }

    fn cnd_timedwait(condition: *mut c_void, mutex: *mut c_void, until: *const timespec) -> c_int => |real, caller| {
        wait_for_condition!(condition, mutex, caller, real(condition, mutex, until))
    }

    fn cnd_signal(condition: *mut c_void) -> c_int => |real, caller| {
        note_signal(condition as u64, caller);
        real(condition)
    }

    fn cnd_broadcast(condition: *mut c_void) -> c_int => |real, caller| {
        note_signal(condition as u64, caller);
        real(condition)
    }

    fn pthread_once(control: *mut c_int, initialise: unsafe extern "C-unwind" fn()) -> c_int => |real, caller| {
        once!(control, initialise, caller, real)
    }

    fn call_once(control: *mut c_int, initialise: unsafe extern "C-unwind" fn()) => |real, caller| {
        once!(control, initialise, caller, real)
    }

    fn pthread_join(thread: libc::pthread_t, result: *mut *mut c_void) -> c_int => |real, caller| {
        let known = stream::find_thread(thread);
        let status = real(thread, result);
        // A thread that had not begun has by now.
        if status == 0 && let Some(number) = known.or_else(|| stream::find_thread(thread)) {
            note_of_any(Operation::Join, [number.into(), caller]);
        }
        status
    }

    fn pthread_mutex_lock(mutex: *mut libc::pthread_mutex_t) -> c_int => |real, caller| {
        lock!(mutex, caller, real(mutex))
    }

    fn pthread_mutex_trylock(mutex: *mut libc::pthread_mutex_t) -> c_int => |real, caller| {
        lock!(mutex, caller, real(mutex))
    }

    fn pthread_mutex_timedlock(mutex: *mut libc::pthread_mutex_t, until: *const timespec) -> c_int => |real, caller| {
        lock!(mutex, caller, real(mutex, until))
    }

    fn pthread_mutex_clocklock(mutex: *mut libc::pthread_mutex_t, clock: c_int, until: *const timespec) -> c_int => |real, caller| {
        lock!(mutex, caller, real(mutex, clock, until))
    }

    fn pthread_mutex_unlock(mutex: *mut libc::pthread_mutex_t) -> c_int => |real, caller| {
        unlock!(mutex, caller, real(mutex))
    }

    fn pthread_spin_lock(lock: *mut c_int) -> c_int => |real, caller| { lock!(lock, caller, real(lock)) }

    fn pthread_spin_trylock(lock: *mut c_int) -> c_int => |real, caller| { lock!(lock, caller, real(lock)) }

    fn pthread_spin_unlock(lock: *mut c_int) -> c_int => |real, caller| { unlock!(lock, caller, real(lock)) }

    fn pthread_rwlock_rdlock(lock: *mut libc::pthread_rwlock_t) -> c_int => |real, caller| {
        lock!(lock, caller, real(lock))
    }

    fn pthread_rwlock_tryrdlock(lock: *mut libc::pthread_rwlock_t) -> c_int => |real, caller| {
        lock!(lock, caller, real(lock))
    }

    fn pthread_rwlock_wrlock(lock: *mut libc::pthread_rwlock_t) -> c_int => |real, caller| {
        lock!(lock, caller, real(lock))
    }

    fn pthread_rwlock_trywrlock(lock: *mut libc::pthread_rwlock_t) -> c_int => |real, caller| {
        lock!(lock, caller, real(lock))
    }

    fn pthread_rwlock_unlock(lock: *mut libc::pthread_rwlock_t) -> c_int => |real, caller| {
        unlock!(lock, caller, real(lock))
    }

    fn pthread_barrier_init(
        barrier: *mut libc::pthread_barrier_t,
        attributes: *const libc::pthread_barrierattr_t,
        members: u32,
    ) -> c_int => |real, caller| {
        set_members(barrier as u64, members);
        real(barrier, attributes, members)
    }

    fn pthread_barrier_wait(barrier: *mut libc::pthread_barrier_t) -> c_int => |real, caller| {
        if let Some(entry) = versions::entry(barrier as u64 ^ BARRIER) {
            note(Operation::Barrier, [barrier as u64, entry.now(), caller]);
        }
        real(barrier)
    }

    fn pthread_cond_wait(condition: *mut libc::pthread_cond_t, mutex: *mut libc::pthread_mutex_t) -> c_int, version c"GLIBC_2.3.2" => |real, caller| {
        wait_for_condition!(condition, mutex, caller, real(condition, mutex))
    }

    fn pthread_cond_timedwait(
        condition: *mut libc::pthread_cond_t,
        mutex: *mut libc::pthread_mutex_t,
        until: *const timespec,
    ) -> c_int, version c"GLIBC_2.3.2" => |real, caller| {
        wait_for_condition!(condition, mutex, caller, real(condition, mutex, until))
    }

    fn pthread_cond_clockwait(
        condition: *mut libc::pthread_cond_t,
        mutex: *mut libc::pthread_mutex_t,
        clock: c_int,
        until: *const timespec,
    ) -> c_int => |real, caller| {
        wait_for_condition!(condition, mutex, caller, real(condition, mutex, clock, until))
    }

    fn pthread_cond_signal(condition: *mut libc::pthread_cond_t) -> c_int, version c"GLIBC_2.3.2" => |real, caller| {
        note_signal(condition as u64, caller);
        real(condition)
    }

    fn pthread_cond_broadcast(condition: *mut libc::pthread_cond_t) -> c_int, version c"GLIBC_2.3.2" => |real, caller| {
        note_signal(condition as u64, caller);
        real(condition)
    }

    fn sem_post(semaphore: *mut libc::sem_t) -> c_int => |real, caller| {
        note(Operation::Post, [semaphore as u64, caller]);
        real(semaphore)
    }

    fn sem_wait(semaphore: *mut libc::sem_t) -> c_int => |real, caller| {
        await_semaphore!(semaphore, caller, real(semaphore))
    }

    fn sem_trywait(semaphore: *mut libc::sem_t) -> c_int => |real, caller| {
        await_semaphore!(semaphore, caller, real(semaphore))
    }

    fn sem_timedwait(semaphore: *mut libc::sem_t, until: *const timespec) -> c_int => |real, caller| {
        await_semaphore!(semaphore, caller, real(semaphore, until))
    }

    fn sem_init(semaphore: *mut libc::sem_t, shared: c_int, value: u32) -> c_int => |real, caller| {
        let result = real(semaphore, shared, value);
        if result == 0 {
            // What it holds at first was posted by whoever made it.
            for _ in 0..value {
                note(Operation::Post, [semaphore as u64, caller]);
            }
        }
        result
    }

    fn _exit(status: c_int) => |real, caller| {
        lifecycle::end_process();
        real(status);
    }

    fn quick_exit(status: c_int) => |real, caller| {
        lifecycle::end_process();
        real(status);
    }
}
