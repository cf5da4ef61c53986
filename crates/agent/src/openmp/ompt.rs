//! OpenMP's interface for tools (OMPT, OpenMP 5.0 §4), as LLVM's and Intel's runtimes have it.
//!
//! The runtime asks for a tool by the symbol `ompt_start_tool`. A program that has a tool keeps it: then the agent stays
//! away.

use core::ffi::{c_char, c_int, c_uint, c_void};
use core::mem::transmute;

use super::entry::symbol;
use super::{GOALS, REGION, TASK, Team, TeamWaitGoal};
use crate::frame;
use crate::memory;
use crate::stack::HookFrame;
use crate::thread::CurrentThread;

/// A word of the runtime's that belongs to a region or task, for the tool to use (`ompt_data_t`).
type Data = u64;

type Lookup = unsafe extern "C" fn(name: *const c_char) -> Option<unsafe extern "C" fn()>;
type SetCallback = unsafe extern "C" fn(event: c_int, callback: *const c_void) -> c_int;

/// What a tool tells the runtime of itself (`ompt_start_tool_result_t`).
#[repr(C)]
#[derive(Debug)]
pub struct OmptTool {
    initialise: unsafe extern "C" fn(lookup: Lookup, device: c_int, tool: *mut Data) -> c_int,
    finalise: unsafe extern "C" fn(tool: *mut Data),
    data: Data,
}

/// The runtime takes a pointer to it and changes its data only.
#[repr(transparent)]
struct SharedTool(core::cell::UnsafeCell<OmptTool>);

// SAFETY: nobody but the runtime, while it begins, looks at it.
unsafe impl Sync for SharedTool {}

static TOOL: SharedTool = SharedTool(core::cell::UnsafeCell::new(OmptTool { initialise, finalise, data: 0 }));

const SCOPE_BEGIN: c_int = 1;
const TASK_COMPLETE: c_int = 1;
const TASK_CANCEL: c_int = 3;
const TASK_SWITCH: c_int = 7;
const TASK_YIELD: c_int = 2;
const FLAG_INITIAL: c_int = 1;
const FLAG_EXPLICIT: c_int = 4;
const BARRIER_IMPLICIT: c_int = 2;
const SYNC_TASKWAIT: c_int = 5;
const SYNC_TASKGROUP: c_int = 6;
const SYNC_REDUCTION: c_int = 7;
const BARRIER_PARALLEL: c_int = 9;
const MUTEX_TEST_LOCK: c_int = 2;
const MUTEX_TEST_NEST_LOCK: c_int = 4;

/// The runtime looks for a tool.
///
/// # Safety
/// As OpenMP asks for it.
#[cfg_attr(feature = "locks", unsafe(no_mangle))]
pub unsafe extern "C" fn ompt_start_tool(version: c_uint, runtime: *const c_char) -> *mut OmptTool {
    type StartTool = unsafe extern "C" fn(c_uint, *const c_char) -> *mut OmptTool;
    let other = symbol(libc::RTLD_NEXT, c"ompt_start_tool");
    if !other.is_null() {
        // SAFETY: the type is the function's own, and the arguments are the caller's.
        let tool = unsafe { transmute::<*mut c_void, StartTool>(other)(version, runtime) };
        if !tool.is_null() {
            return tool;
        }
    }
    if memory::header().is_none() || has_libraries() {
        return core::ptr::null_mut();
    }
    TOOL.0.get()
}

/// Whether the program names tools for the runtime to load, which come second.
fn has_libraries() -> bool {
    // SAFETY: a string; what `getenv` gives stays while nobody changes the environment.
    unsafe {
        let value = libc::getenv(c"OMP_TOOL_LIBRARIES".as_ptr());
        !value.is_null() && *value != 0
    }
}

unsafe extern "C" fn initialise(lookup: Lookup, _: c_int, _: *mut Data) -> c_int {
    // SAFETY: the runtime's function, and a string.
    let Some(set) = (unsafe { lookup(c"ompt_set_callback".as_ptr()) }) else { return 0 };
    // SAFETY: the function of this name has this type.
    let set = unsafe { transmute::<unsafe extern "C" fn(), SetCallback>(set) };
    let callbacks: [(c_int, *const c_void); 8] = [
        (3, parallel_begin as *const c_void),
        (5, task_create as *const c_void),
        (6, task_schedule as *const c_void),
        (7, implicit_task as *const c_void),
        (16, sync_region_wait as *const c_void),
        (17, mutex_released as *const c_void),
        (26, mutex_acquire as *const c_void),
        (27, mutex_acquired as *const c_void),
    ];
    for (event, callback) in callbacks {
        // SAFETY: each callback has the type that OpenMP gives its event.
        unsafe { set(event, callback) };
    }
    1
}

unsafe extern "C" fn finalise(_: *mut Data) {}

/// What the tool keeps in a region's or task's word.
///
/// ```text
///   is inside:1  waits:1  goal:2  team:12  key of the region or task:48
/// ```
#[derive(Clone, Copy)]
struct PackedTaskData(u64);

impl PackedTaskData {
    const KEY_BITS: u32 = 48;
    const KEY: u64 = (1 << Self::KEY_BITS) - 1;
    const WAITS: u64 = 1 << 62;
    const INSIDE: u64 = 1 << 63;

    fn new(key: u64, team: Team) -> PackedTaskData {
        PackedTaskData((key & Self::KEY) | u64::from(team.0) << Self::KEY_BITS)
    }

    fn key(self) -> u64 {
        self.0 & Self::KEY
    }

    fn team(self) -> Team {
        Team((self.0 >> Self::KEY_BITS) as u16 & 0xfff)
    }

    /// The same, inside, and with what its thread waited for before.
    fn begun(self, waited: Option<(TeamWaitGoal, Team)>) -> PackedTaskData {
        match waited {
            Some((goal, team)) => PackedTaskData(
                PackedTaskData::new(self.key(), team).0
                    | Self::INSIDE
                    | Self::WAITS
                    | (goal as u64) << (Self::KEY_BITS + 12),
            ),
            None => PackedTaskData(self.0 | Self::INSIDE),
        }
    }

    fn ended(self) -> PackedTaskData {
        PackedTaskData(self.0 & !Self::INSIDE)
    }

    fn is_inside(self) -> bool {
        self.0 & Self::INSIDE != 0
    }

    fn waited(self) -> Option<(TeamWaitGoal, Team)> {
        // Tasks are done in these waits only, not in those for a turn.
        let goal = GOALS[(self.0 >> 60) as usize & 3];
        (self.0 & Self::WAITS != 0).then_some((goal, self.team()))
    }
}

/// What is kept in a word; `None` where there is no word.
unsafe fn kept(data: *const Data) -> Option<PackedTaskData> {
    // SAFETY: the caller gives null or a word of the runtime's.
    unsafe { data.as_ref() }.map(|&data| PackedTaskData(data))
}

/// The calling thread opens a parallel region.
unsafe extern "C" fn parallel_begin(
    _: *mut Data,
    _: *const c_void,
    region: *mut Data,
    _: c_uint,
    _: c_int,
    _: *const c_void,
) {
    let Some(me) = CurrentThread::get() else { return };
    let at = frame!();
    let team = Team::of(me);
    let key = me.spawns(at);
    me.releases_goal(TeamWaitGoal::Next, team, at);
    // SAFETY: the runtime gives a word for the tool.
    unsafe { *region = PackedTaskData::new(key, team).0 };
}

/// The calling thread begins or ends its part of a region.
unsafe extern "C" fn implicit_task(
    endpoint: c_int,
    region: *mut Data,
    task: *mut Data,
    _: c_uint,
    _: c_uint,
    flags: c_int,
) {
    let Some(me) = CurrentThread::get() else { return };
    let at = frame!();
    // SAFETY: null or words of the runtime's, both.
    let (region, own) = unsafe { (kept(region), kept(task)) };
    if flags & FLAG_INITIAL != 0 {
        return;
    }
    if endpoint == SCOPE_BEGIN {
        let Some(region) = region.filter(|region| region.key() != 0) else { return };
        me.leaves_off_waiting();
        // SAFETY: the name is a literal.
        unsafe { me.runs(region.key(), REGION.as_ptr(), at) };
        // SAFETY: the runtime gives a word for the tool.
        unsafe { *task = PackedTaskData::new(region.key(), region.team()).begun(None).0 };
    } else if own.is_some_and(PackedTaskData::is_inside) {
        me.leaves();
        // SAFETY: it is not null.
        unsafe { *task = 0 };
    }
}

/// The calling thread begins or ends a wait for others of its team, or for tasks.
unsafe extern "C" fn sync_region_wait(
    kind: c_int,
    endpoint: c_int,
    _: *mut Data,
    task: *mut Data,
    code: *const c_void,
) {
    if kind == SYNC_REDUCTION {
        return;
    }
    let Some(me) = CurrentThread::get() else { return };
    let at = frame!();
    if endpoint != SCOPE_BEGIN {
        me.leaves_off_waiting();
        return;
    }
    // SAFETY: null or a word of the runtime's.
    let Some(own) = (unsafe { kept(task) }).filter(|own| own.0 != 0) else { return };
    let team = own.team();
    // Some versions tell the barrier at the end of a region from others only by the place that is missing.
    let is_end =
        kind == BARRIER_PARALLEL || (kind == BARRIER_IMPLICIT && (code.is_null() || team == Team::of(me)));
    let goal = match kind {
        SYNC_TASKWAIT | SYNC_TASKGROUP => TeamWaitGoal::Tasks,
        _ if !is_end => TeamWaitGoal::Barrier,
        // SAFETY: `task` is not null.
        _ => return unsafe { end_of_region(me, own, task, at) },
    };
    me.waits_for(goal, team, at);
}

/// The calling thread has done its part of a region.
unsafe fn end_of_region(me: CurrentThread, own: PackedTaskData, task: *mut Data, at: HookFrame) {
    let team = own.team();
    if own.is_inside() {
        me.leaves();
        // SAFETY: it is not null.
        unsafe { *task = own.ended().0 };
    }
    if team == Team::of(me) {
        me.waits_for(TeamWaitGoal::End, team, at);
    } else {
        me.ends_part(team, at);
        me.waits_for(TeamWaitGoal::Next, team, at);
    }
}

/// The calling thread makes a task.
unsafe extern "C" fn task_create(
    encountering: *mut Data,
    _: *const c_void,
    task: *mut Data,
    flags: c_int,
    _: c_int,
    _: *const c_void,
) {
    if flags & FLAG_EXPLICIT == 0 {
        return;
    }
    let Some(me) = CurrentThread::get() else { return };
    let key = me.spawns(frame!());
    // SAFETY: null or a word of the runtime's.
    let team =
        unsafe { kept(encountering) }.filter(|own| own.0 != 0).map_or(Team::of(me), PackedTaskData::team);
    // SAFETY: the runtime gives a word for the tool.
    unsafe { *task = PackedTaskData::new(key, team).0 };
}

/// The calling thread goes from one task to another.
unsafe extern "C" fn task_schedule(prior: *mut Data, status: c_int, next: *mut Data) {
    let Some(me) = CurrentThread::get() else { return };
    let at = frame!();
    // SAFETY: null or words of the runtime's, both.
    let (before, after) = unsafe { (kept(prior), kept(next)) };
    match status {
        TASK_COMPLETE | TASK_CANCEL => {
            let Some(before) = before.filter(|before| before.is_inside()) else { return };
            me.leaves();
            // SAFETY: it is not null.
            unsafe { *prior = 0 };
            if let Some((goal, team)) = before.waited() {
                me.releases_goal(TeamWaitGoal::Tasks, team, at);
                me.waits_for(goal, team, at);
            }
        }
        TASK_SWITCH | TASK_YIELD => {
            let Some(after) = after.filter(|after| after.key() != 0 && !after.is_inside()) else { return };
            let waited = me.leaves_off_waiting();
            // SAFETY: the name is a literal.
            unsafe { me.runs(after.key(), TASK.as_ptr(), at) };
            // SAFETY: it is not null.
            unsafe { *next = after.begun(waited).0 };
        }
        _ => {}
    }
}

/// The calling thread asks for a lock.
unsafe extern "C" fn mutex_acquire(kind: c_int, _: c_uint, _: c_uint, lock: u64, _: *const c_void) {
    if kind != MUTEX_TEST_LOCK
        && kind != MUTEX_TEST_NEST_LOCK
        && let Some(me) = CurrentThread::get()
    {
        me.asks_for(lock, frame!());
    }
}

/// It has got it.
unsafe extern "C" fn mutex_acquired(_: c_int, lock: u64, code: *const c_void) {
    if let Some(me) = CurrentThread::get() {
        me.gets(lock, code as u64);
    }
}

/// It has given it back.
unsafe extern "C" fn mutex_released(_: c_int, lock: u64, _: *const c_void) {
    if let Some(me) = CurrentThread::get() {
        me.gives_back(lock, frame!());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_found_again() {
        let kept = PackedTaskData::new(0x1234_5678, Team(4095));
        assert!(!kept.is_inside() && kept.waited().is_none());
        assert_eq!((kept.key(), kept.team()), (0x1234_5678, Team(4095)));
        for goal in [TeamWaitGoal::Next, TeamWaitGoal::End, TeamWaitGoal::Barrier, TeamWaitGoal::Tasks] {
            let begun = kept.begun(Some((goal, Team(7))));
            assert!(begun.is_inside() && !begun.ended().is_inside());
            assert_eq!((begun.key(), begun.waited()), (0x1234_5678, Some((goal, Team(7)))));
        }
    }
}
