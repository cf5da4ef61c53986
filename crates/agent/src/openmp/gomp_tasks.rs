//! The tasks of gcc's OpenMP runtime: their bodies are wrapped, and what the agent needs to know of each is kept with the
//! data that the runtime copies for it.
//!
//! ```text
//!   of a task            Task | the task's own data
//!   of a part of a loop  bounds | Task | the task's own data       the runtime writes the part's bounds at the beginning
//! ```
#![allow(clippy::undocumented_unsafe_blocks, reason = "hooks pass on what the caller vouches for")]
#![allow(clippy::too_many_arguments, clippy::unused_unit, non_snake_case, reason = "the runtime's functions")]

use core::ffi::{c_int, c_long, c_uint, c_ulong, c_void};

use super::entry::entries;
use super::{TASK, Team, TeamWaitGoal};
use crate::frame;
use crate::stack::HookFrame;
use crate::thread::CurrentThread;

type TaskBody = unsafe extern "C-unwind" fn(*mut c_void);
type Copy = unsafe extern "C-unwind" fn(*mut c_void, *mut c_void);

/// What is kept before the data of a task.
#[repr(C)]
#[derive(Clone, Copy)]
struct OpenMpTask {
    body: TaskBody,
    key: u64,
    team: Team,
    /// Where the task's own data begins.
    offset: usize,
}

/// What is kept before the data of a part of a loop.
#[repr(C)]
#[derive(Clone, Copy)]
struct LoopPart {
    bounds: [u64; 2],
    task: OpenMpTask,
}

/// Tasks that are about to be made.
#[repr(C)]
struct NewTasks {
    /// A copy of what the runtime itself reads of a loop's data: the bounds, and where its reductions are.
    head: [u64; 3],
    task: OpenMpTask,
    copy: Option<Copy>,
    data: *mut c_void,
    bytes: usize,
}

impl NewTasks {
    /// Tasks of this body, with `before` bytes before their own data; and their alignment.
    fn new<Before>(
        me: CurrentThread,
        body: TaskBody,
        (copy, data, bytes): (Option<Copy>, *mut c_void, c_long),
        alignment: c_long,
        at: HookFrame,
    ) -> (NewTasks, c_long) {
        let key = me.spawns(at);
        let team = me.team().unwrap_or(Team::of(me));
        let alignment = alignment.max(align_of::<Before>() as c_long);
        let offset = size_of::<Before>().next_multiple_of(alignment as usize);
        let task = OpenMpTask { body, key, team, offset };
        (NewTasks { head: [0; 3], task, copy, data, bytes: bytes as usize }, alignment)
    }

    fn size(&self) -> c_long {
        (self.bytes + self.task.offset) as c_long
    }

    /// Copies the tasks' own data.
    unsafe fn fill(&self, to: *mut c_void) {
        unsafe {
            let own = to.byte_add(self.task.offset);
            match self.copy {
                Some(copy) => copy(own, self.data),
                None => core::ptr::copy_nonoverlapping(self.data.cast::<u8>(), own.cast(), self.bytes),
            }
        }
    }
}

/// Copies a task's data to where it is kept, behind what the agent needs to know.
unsafe extern "C-unwind" fn copy_task(to: *mut c_void, errand: *mut c_void) {
    let errand = unsafe { &*errand.cast::<NewTasks>() };
    unsafe {
        to.cast::<OpenMpTask>().write(errand.task);
        errand.fill(to);
    }
}

/// The same of a part of a loop.
unsafe extern "C-unwind" fn copy_part(to: *mut c_void, errand: *mut c_void) {
    let errand = unsafe { &*errand.cast::<NewTasks>() };
    unsafe {
        to.cast::<LoopPart>().write(LoopPart { bounds: [0; 2], task: errand.task });
        errand.fill(to);
    }
}

/// The body of every task.
unsafe extern "C-unwind" fn do_task(data: *mut c_void) {
    let task = unsafe { *data.cast::<OpenMpTask>() };
    let at = frame!();
    unsafe { run(task, data, at) };
}

/// The body of every part of a loop.
unsafe extern "C-unwind" fn do_part(data: *mut c_void) {
    let at = frame!();
    let LoopPart { bounds, task } = unsafe { *data.cast::<LoopPart>() };
    unsafe {
        data.byte_add(task.offset).cast::<[u64; 2]>().write(bounds);
        run(task, data, at);
    }
}

#[inline(always)]
unsafe fn run(task: OpenMpTask, data: *mut c_void, at: HookFrame) {
    let waited = CurrentThread::get().and_then(|me| {
        let waited = me.leaves_off_waiting();
        unsafe { me.runs(task.key, TASK.as_ptr(), at) };
        waited
    });
    unsafe { (task.body)(data.byte_add(task.offset)) };
    let Some(me) = CurrentThread::get() else { return };
    me.leaves();
    me.releases_goal(TeamWaitGoal::Tasks, task.team, at);
    if let Some((goal, team)) = waited {
        me.waits_for(goal, team, at);
    }
}

/// A loop of tasks: the body of a hook.
macro_rules! task_loop {
    ($me:ident, ($body:ident, $data:ident, $copy:ident, $size:ident, $alignment:ident), $real:expr) => {{
        // The bounds of each part are the first of its data.
        let Some(me) = $me.filter(|_| $size as usize >= size_of::<[u64; 2]>()) else {
            return unsafe { $real };
        };
        let (mut errand, $alignment) =
            NewTasks::new::<LoopPart>(me, $body, ($copy, $data, $size), $alignment, frame!());
        let words = errand.head.len().min(errand.bytes / size_of::<u64>());
        unsafe { core::ptr::copy_nonoverlapping($data.cast::<u64>(), errand.head.as_mut_ptr(), words) };
        let ($body, $copy, $size): (TaskBody, Option<Copy>, _) = (do_part, Some(copy_part), errand.size());
        let $data: *mut c_void = (&raw mut errand).cast();
        unsafe { $real }
    }};
}

entries! {
    /// A task. It has had up to ten arguments since gcc 4.4; more than the caller gave are read and passed on unused.
    fn GOMP_task(
        body: TaskBody,
        data: *mut c_void,
        copy: Option<Copy>,
        size: c_long,
        alignment: c_long,
        is_deferred: bool,
        flags: c_uint,
        depends: *mut *mut c_void,
        priority: c_int,
        detach: *mut c_void,
    ), else (), |real, me| {
        let Some(me) = me else {
            return unsafe { real(body, data, copy, size, alignment, is_deferred, flags, depends, priority, detach) };
        };
        let (errand, alignment) = NewTasks::new::<OpenMpTask>(me, body, (copy, data, size), alignment, frame!());
        let (size, data) = (errand.size(), (&raw const errand).cast_mut().cast());
        unsafe { real(do_task, data, Some(copy_task), size, alignment, is_deferred, flags, depends, priority, detach) }
    }

    /// A loop whose parts are tasks.
    fn GOMP_taskloop(
        body: TaskBody,
        data: *mut c_void,
        copy: Option<Copy>,
        size: c_long,
        alignment: c_long,
        flags: c_uint,
        tasks: c_ulong,
        priority: c_int,
        start: c_long,
        end: c_long,
        step: c_long,
    ), else (), |real, me| {
        task_loop!(me, (body, data, copy, size, alignment),
            real(body, data, copy, size, alignment, flags, tasks, priority, start, end, step))
    }

    /// The same with an unsigned variable.
    fn GOMP_taskloop_ull(
        body: TaskBody,
        data: *mut c_void,
        copy: Option<Copy>,
        size: c_long,
        alignment: c_long,
        flags: c_uint,
        tasks: c_ulong,
        priority: c_int,
        start: u64,
        end: u64,
        step: u64,
    ), else (), |real, me| {
        task_loop!(me, (body, data, copy, size, alignment),
            real(body, data, copy, size, alignment, flags, tasks, priority, start, end, step))
    }
}
