//! gcc's OpenMP runtime: its entry points, hooked.
//!
//! A region's body is wrapped, so that each thread of the team tells when it begins and ends. Where another runtime
//! answers to gcc's names (LLVM's does), the hooks stay away: it calls the tool.
#![allow(clippy::undocumented_unsafe_blocks, reason = "hooks pass on what the caller vouches for")]
#![allow(clippy::too_many_arguments, clippy::unused_unit, non_snake_case, reason = "the runtime's functions")]

use core::ffi::{c_long, c_uint, c_void};
use core::sync::atomic::AtomicU8;

use super::entry::entries;
use super::{REGION, Team, TeamWaitGoal};
use crate::frame;
use crate::stack::HookFrame;
use crate::thread::CurrentThread;

type RegionBody = unsafe extern "C-unwind" fn(*mut c_void);

/// A parallel region, on its master's stack while it lasts.
struct ParallelRegion {
    body: RegionBody,
    data: *mut c_void,
    key: u64,
    team: Team,
}

/// The body of every region: one thread's part of it.
unsafe extern "C-unwind" fn begin(region: *mut c_void) {
    let &ParallelRegion { body, data, key, team } = unsafe { &*region.cast::<ParallelRegion>() };
    let at = frame!();
    let outer = CurrentThread::get().map(|me| {
        me.leaves_off_waiting();
        unsafe { me.runs(key, REGION.as_ptr(), at) };
        me.joins(team)
    });
    unsafe { body(data) };
    let Some(me) = CurrentThread::get() else { return };
    me.leaves();
    me.rejoins(outer);
    if team == Team::of(me) {
        me.waits_for(TeamWaitGoal::End, team, at);
    } else {
        me.ends_part(team, at);
        me.waits_for(TeamWaitGoal::Next, team, at);
    }
}

impl CurrentThread {
    /// The thread works in this team from now on; gives what it worked in before.
    fn joins(self, team: Team) -> u64 {
        self.area().state.change_team(u64::from(team.0) + 1)
    }

    fn rejoins(self, outer: Option<u64>) {
        self.area().state.change_team(outer.unwrap_or(0));
    }

    /// The team in which the thread works.
    pub(super) fn team(self) -> Option<Team> {
        self.area().state.team().checked_sub(1).map(|team| Team(team as u16))
    }

    /// The thread opens a region.
    fn opens(self, body: RegionBody, data: *mut c_void, at: HookFrame) -> ParallelRegion {
        let team = Team::of(self);
        let key = self.spawns(at);
        self.releases_goal(TeamWaitGoal::Next, team, at);
        ParallelRegion { body, data, key, team }
    }
}

/// A parallel region: the body of a hook.
macro_rules! region {
    ($me:ident, $body:ident, $data:ident, $real:expr) => {{
        let Some(me) = $me else { return unsafe { $real } };
        let region = me.opens($body, $data, frame!());
        let ($body, $data): (RegionBody, _) = (begin, (&raw const region).cast_mut().cast());
        let result = unsafe { $real };
        // Its own part of the region ended with a wait for the others.
        me.leaves_off_waiting();
        result
    }};
}

/// A wait for others of the team, in which tasks may be done: the body of a hook.
macro_rules! wait {
    ($me:ident, $goal:expr, $real:expr) => {{
        let Some((me, team)) = $me.and_then(|me| Some((me, me.team()?))) else { return unsafe { $real } };
        me.waits_for($goal, team, frame!());
        let result = unsafe { $real };
        me.leaves_off_waiting();
        result
    }};
}

/// A lock is acquired: the body of a hook.
macro_rules! lock {
    ($me:ident, $lock:expr, $real:expr) => {{
        let Some(me) = $me else { return unsafe { $real } };
        let (at, subject) = (frame!(), $lock as u64);
        me.asks_for(subject, at);
        unsafe { $real };
        me.gets(subject, at.caller());
    }};
}

/// A lock is given back: the body of a hook.
macro_rules! unlock {
    ($me:ident, $lock:expr, $real:expr) => {{
        if let Some(me) = $me {
            me.gives_back($lock as u64, frame!());
        }
        unsafe { $real }
    }};
}

/// The locks of sections and updates without a name: gcc's runtime has one for each kind in a process.
static UNNAMED_SECTION: AtomicU8 = AtomicU8::new(0);
static UPDATE: AtomicU8 = AtomicU8::new(0);

entries! {
    /// A parallel region.
    fn GOMP_parallel(body: RegionBody, data: *mut c_void, threads: c_uint, flags: c_uint), else (), |real, me| {
        region!(me, body, data, real(body, data, threads, flags))
    }

    /// A parallel region with a reduction over tasks.
    fn GOMP_parallel_reductions(body: RegionBody, data: *mut c_void, threads: c_uint, flags: c_uint) -> c_uint, else 0, |real, me| {
        region!(me, body, data, real(body, data, threads, flags))
    }

    /// A parallel region of sections.
    fn GOMP_parallel_sections(body: RegionBody, data: *mut c_void, threads: c_uint, count: c_uint, flags: c_uint), else (), |real, me| {
        region!(me, body, data, real(body, data, threads, count, flags))
    }

    /// A parallel loop with a static schedule.
    fn GOMP_parallel_loop_static(body: RegionBody, data: *mut c_void, threads: c_uint, start: c_long, end: c_long, step: c_long, chunk: c_long, flags: c_uint), else (), |real, me| {
        region!(me, body, data, real(body, data, threads, start, end, step, chunk, flags))
    }

    /// A parallel loop with a dynamic schedule.
    fn GOMP_parallel_loop_dynamic(body: RegionBody, data: *mut c_void, threads: c_uint, start: c_long, end: c_long, step: c_long, chunk: c_long, flags: c_uint), else (), |real, me| {
        region!(me, body, data, real(body, data, threads, start, end, step, chunk, flags))
    }

    /// A parallel loop with a guided schedule.
    fn GOMP_parallel_loop_guided(body: RegionBody, data: *mut c_void, threads: c_uint, start: c_long, end: c_long, step: c_long, chunk: c_long, flags: c_uint), else (), |real, me| {
        region!(me, body, data, real(body, data, threads, start, end, step, chunk, flags))
    }

    /// A parallel loop with a dynamic schedule, in any order.
    fn GOMP_parallel_loop_nonmonotonic_dynamic(body: RegionBody, data: *mut c_void, threads: c_uint, start: c_long, end: c_long, step: c_long, chunk: c_long, flags: c_uint), else (), |real, me| {
        region!(me, body, data, real(body, data, threads, start, end, step, chunk, flags))
    }

    /// A parallel loop with a guided schedule, in any order.
    fn GOMP_parallel_loop_nonmonotonic_guided(body: RegionBody, data: *mut c_void, threads: c_uint, start: c_long, end: c_long, step: c_long, chunk: c_long, flags: c_uint), else (), |real, me| {
        region!(me, body, data, real(body, data, threads, start, end, step, chunk, flags))
    }

    /// A parallel loop with a schedule that is chosen when it begins.
    fn GOMP_parallel_loop_runtime(body: RegionBody, data: *mut c_void, threads: c_uint, start: c_long, end: c_long, step: c_long, flags: c_uint), else (), |real, me| {
        region!(me, body, data, real(body, data, threads, start, end, step, flags))
    }

    /// The same, in any order.
    fn GOMP_parallel_loop_nonmonotonic_runtime(body: RegionBody, data: *mut c_void, threads: c_uint, start: c_long, end: c_long, step: c_long, flags: c_uint), else (), |real, me| {
        region!(me, body, data, real(body, data, threads, start, end, step, flags))
    }

    /// The same, in an order that is chosen too.
    fn GOMP_parallel_loop_maybe_nonmonotonic_runtime(body: RegionBody, data: *mut c_void, threads: c_uint, start: c_long, end: c_long, step: c_long, flags: c_uint), else (), |real, me| {
        region!(me, body, data, real(body, data, threads, start, end, step, flags))
    }

    /// A barrier.
    fn GOMP_barrier(), else (), |real, me| {
        wait!(me, TeamWaitGoal::Barrier, real())
    }

    /// A barrier of a region that can be cancelled.
    fn GOMP_barrier_cancel() -> bool, else false, |real, me| {
        wait!(me, TeamWaitGoal::Barrier, real())
    }

    /// The end of a shared loop.
    fn GOMP_loop_end(), else (), |real, me| {
        wait!(me, TeamWaitGoal::Barrier, real())
    }

    /// The end of shared sections.
    fn GOMP_sections_end(), else (), |real, me| {
        wait!(me, TeamWaitGoal::Barrier, real())
    }

    /// A wait for the tasks that this one made.
    fn GOMP_taskwait(), else (), |real, me| {
        wait!(me, TeamWaitGoal::Tasks, real())
    }

    /// A wait for the tasks of a group.
    fn GOMP_taskgroup_end(), else (), |real, me| {
        wait!(me, TeamWaitGoal::Tasks, real())
    }

    /// A part of a loop's body that is done in the order of the loop.
    fn GOMP_ordered_start(), else (), |real, me| {
        wait!(me, TeamWaitGoal::Turn, real())
    }

    /// Its end: the next may go on.
    fn GOMP_ordered_end(), else (), |real, me| {
        if let Some((me, team)) = me.and_then(|me| Some((me, me.team()?))) {
            me.releases_goal(TeamWaitGoal::Turn, team, frame!());
        }
        unsafe { real() }
    }

    /// A critical section without a name.
    fn GOMP_critical_start(), else (), |real, me| {
        lock!(me, &raw const UNNAMED_SECTION, real())
    }

    /// Its end.
    fn GOMP_critical_end(), else (), |real, me| {
        unlock!(me, &raw const UNNAMED_SECTION, real())
    }

    /// A critical section with a name: `lock` is a variable of the program.
    fn GOMP_critical_name_start(lock: *mut c_void), else (), |real, me| {
        lock!(me, lock, real(lock))
    }

    /// Its end.
    fn GOMP_critical_name_end(lock: *mut c_void), else (), |real, me| {
        unlock!(me, lock, real(lock))
    }

    /// An update that the processor cannot do at once.
    fn GOMP_atomic_start(), else (), |real, me| {
        lock!(me, &raw const UPDATE, real())
    }

    /// Its end.
    fn GOMP_atomic_end(), else (), |real, me| {
        unlock!(me, &raw const UPDATE, real())
    }

    /// A lock.
    fn omp_set_lock(lock: *mut c_void), else (), |real, me| {
        lock!(me, lock, real(lock))
    }

    /// Its release.
    fn omp_unset_lock(lock: *mut c_void), else (), |real, me| {
        unlock!(me, lock, real(lock))
    }

    /// A lock, if it is free.
    fn omp_test_lock(lock: *mut c_void) -> core::ffi::c_int, else 0, |real, me| {
        let result = unsafe { real(lock) };
        if result != 0 && let Some(me) = me {
            me.gets(lock as u64, frame!().caller());
        }
        result
    }

    /// A lock that its owner may take again.
    fn omp_set_nest_lock(lock: *mut c_void), else (), |real, me| {
        lock!(me, lock, real(lock))
    }

    /// Its release.
    fn omp_unset_nest_lock(lock: *mut c_void), else (), |real, me| {
        unlock!(me, lock, real(lock))
    }

    /// A lock, for Fortran.
    fn omp_set_lock_(lock: *mut c_void), else (), |real, me| {
        lock!(me, lock, real(lock))
    }

    /// Its release, for Fortran.
    fn omp_unset_lock_(lock: *mut c_void), else (), |real, me| {
        unlock!(me, lock, real(lock))
    }
}
