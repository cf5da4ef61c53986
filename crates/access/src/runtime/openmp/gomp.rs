//! gcc's OpenMP runtime: its entry points, hooked.
//!
//! A region's body is wrapped, so that each thread of the team says when it begins and ends. Where another runtime answers
//! to gcc's names (LLVM's does), the hooks pass everything on: that one calls the tool.
#![allow(clippy::too_many_arguments, non_snake_case, reason = "the runtime's functions")]

use core::ffi::{c_int, c_long, c_uint, c_void};

use super::{AccessTeam, begin_turn, end_turn, ompt, pass_barrier};
use crate::access_hooks;
use crate::format::{OpenMpToken, Operation};
use crate::runtime::next::HookedFunction;
use crate::runtime::synchronisation::note_of_any;
use crate::runtime::thread_local::words;
use crate::runtime::{modules, stream};

type GompBody = unsafe extern "C-unwind" fn(*mut c_void);

/// A region that was opened, on its master's stack while it lasts.
struct GompRegion {
    body: GompBody,
    data: *mut c_void,
    team: AccessTeam,
}

static TEAM_SIZE: HookedFunction = HookedFunction::new(c"omp_get_num_threads", None);

/// The body of every region: one thread's part of it.
unsafe extern "C-unwind" fn begin(region: *mut c_void) {
    let &GompRegion { body, data, mut team } = unsafe { &*region.cast::<GompRegion>() };
    let size = unsafe { TEAM_SIZE.get::<unsafe extern "C" fn() -> c_int>()() };
    team.begin(size.cast_unsigned());
    let words = words();
    let outer = words.team.replace(&raw const team);
    unsafe { body(data) };
    team.end();
    words.team.set(outer);
}

/// Whether the runtime is gcc's, and there is something to record.
fn is_on() -> bool {
    stream::is_on() && !ompt::is_at_work()
}

/// A parallel region: the body of a hook.
macro_rules! region {
    ($body:ident, $data:ident, $caller:ident, $real:expr, $call:expr) => {{
        modules::add_runtime($real as *const () as u64);
        let Some(team) = Some($caller).filter(|_| is_on()).and_then(AccessTeam::open) else { return $call };
        let region = GompRegion { body: $body, data: $data, team };
        let ($body, $data): (GompBody, *mut c_void) = (begin, (&raw const region).cast_mut().cast());
        $call
    }};
}

/// A barrier, which is noted when it has been passed: the body of a hook.
macro_rules! barrier {
    ($caller:ident, $call:expr) => {{
        let result = $call;
        if is_on() {
            pass_barrier($caller);
        }
        result
    }};
}

macro_rules! lock {
    ($token:expr, $caller:ident, $call:expr) => {{
        let result = $call;
        if is_on() {
            note_of_any(Operation::Lock, [$token, $caller]);
        }
        result
    }};
}

macro_rules! try_lock {
    ($token:expr, $caller:ident, $call:expr) => {{
        let result = $call;
        if result != 0 && is_on() {
            note_of_any(Operation::Lock, [$token, $caller]);
        }
        result
    }};
}

macro_rules! unlock {
    ($token:expr, $caller:ident, $call:expr) => {{
        if is_on() {
            note_of_any(Operation::Unlock, [$token, $caller]);
        }
        $call
    }};
}

/// The runtime has one lock for all critical sections without a name, and one for all updates.
const CRITICAL: u64 = OpenMpToken::Critical.of_team(0, 0);
const UPDATE: u64 = OpenMpToken::Update.of_team(0, 0);

macro_rules! regions {
    ($($name:ident($($argument:ident: $kind:ty),*) $(-> $result:ty)?;)*) => {
        access_hooks! {$(
            fn $name(body: GompBody, data: *mut c_void, threads: c_uint, $($argument: $kind),*) $(-> $result)? => |real, caller| {
                region!(body, data, caller, real, real(body, data, threads, $($argument),*))
            }
        )*}
    };
}

regions! {
    GOMP_parallel(flags: c_uint);
    GOMP_parallel_reductions(flags: c_uint) -> c_uint;
    GOMP_parallel_sections(count: c_uint, flags: c_uint);
    GOMP_parallel_loop_static(start: c_long, end: c_long, step: c_long, chunk: c_long, flags: c_uint);
    GOMP_parallel_loop_dynamic(start: c_long, end: c_long, step: c_long, chunk: c_long, flags: c_uint);
    GOMP_parallel_loop_guided(start: c_long, end: c_long, step: c_long, chunk: c_long, flags: c_uint);
    GOMP_parallel_loop_nonmonotonic_dynamic(start: c_long, end: c_long, step: c_long, chunk: c_long, flags: c_uint);
    GOMP_parallel_loop_nonmonotonic_guided(start: c_long, end: c_long, step: c_long, chunk: c_long, flags: c_uint);
    GOMP_parallel_loop_runtime(start: c_long, end: c_long, step: c_long, flags: c_uint);
    GOMP_parallel_loop_nonmonotonic_runtime(start: c_long, end: c_long, step: c_long, flags: c_uint);
    GOMP_parallel_loop_maybe_nonmonotonic_runtime(start: c_long, end: c_long, step: c_long, flags: c_uint);
}

access_hooks! {
    fn GOMP_barrier() => |real, caller| { barrier!(caller, real()) }

    fn GOMP_barrier_cancel() -> bool => |real, caller| { barrier!(caller, real()) }

    fn GOMP_loop_end() => |real, caller| { barrier!(caller, real()) }

    fn GOMP_loop_end_cancel() -> bool => |real, caller| { barrier!(caller, real()) }

    fn GOMP_sections_end() => |real, caller| { barrier!(caller, real()) }

    fn GOMP_sections_end_cancel() -> bool => |real, caller| { barrier!(caller, real()) }

    // The thread that is to do the work gets nothing, and meets the others when it has.
    fn GOMP_single_copy_start() -> *mut c_void => |real, caller| {
        let copied = real();
        if !copied.is_null() && is_on() {
            pass_barrier(caller);
        }
        copied
    }

    fn GOMP_single_copy_end(data: *mut c_void) => |real, caller| { barrier!(caller, real(data)) }

    fn GOMP_ordered_start() => |real, caller| {
        real();
        if is_on() {
            begin_turn(caller);
        }
    }

    fn GOMP_ordered_end() => |real, caller| {
        if is_on() {
            end_turn(caller);
        }
        real()
    }

    fn GOMP_critical_start() => |real, caller| { lock!(CRITICAL, caller, real()) }

    fn GOMP_critical_end() => |real, caller| { unlock!(CRITICAL, caller, real()) }

    // The lock is a variable of the program.
    fn GOMP_critical_name_start(lock: *mut c_void) => |real, caller| { lock!(lock as u64, caller, real(lock)) }

    fn GOMP_critical_name_end(lock: *mut c_void) => |real, caller| { unlock!(lock as u64, caller, real(lock)) }

    fn GOMP_atomic_start() => |real, caller| { lock!(UPDATE, caller, real()) }

    fn GOMP_atomic_end() => |real, caller| { unlock!(UPDATE, caller, real()) }

    fn omp_set_lock(lock: *mut c_void) => |real, caller| { lock!(lock as u64, caller, real(lock)) }

    fn omp_unset_lock(lock: *mut c_void) => |real, caller| { unlock!(lock as u64, caller, real(lock)) }

    fn omp_test_lock(lock: *mut c_void) -> c_int => |real, caller| { try_lock!(lock as u64, caller, real(lock)) }

    fn omp_set_nest_lock(lock: *mut c_void) => |real, caller| { lock!(lock as u64, caller, real(lock)) }

    fn omp_unset_nest_lock(lock: *mut c_void) => |real, caller| { unlock!(lock as u64, caller, real(lock)) }

    fn omp_test_nest_lock(lock: *mut c_void) -> c_int => |real, caller| { try_lock!(lock as u64, caller, real(lock)) }

    fn omp_set_lock_(lock: *mut c_void) => |real, caller| { lock!(lock as u64, caller, real(lock)) }

    fn omp_unset_lock_(lock: *mut c_void) => |real, caller| { unlock!(lock as u64, caller, real(lock)) }
}
