//! OpenMP's interface for tools (OMPT, OpenMP 5.0 §4), as LLVM's and Intel's runtimes have it.
//!
//! The runtime asks for a tool by the symbol `ompt_start_tool`. It keeps a word for us with each region and each thread's
//! part of it: a team, in memory that the last of its members gives back.

use core::ffi::{c_char, c_int, c_uint, c_void};
use core::mem::transmute;
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use super::{AccessTeam, pass_barrier};
use crate::format::{OpenMpToken, Operation};
use crate::return_address;
use crate::runtime::synchronisation::note_of_any;
use crate::runtime::thread_local::words;
use crate::runtime::{modules, stream};

unsafe extern "C" {
    fn __libc_malloc(size: usize) -> *mut c_void;
    fn __libc_free(memory: *mut c_void);
}

/// A word of the runtime's that belongs to a region or task, for the tool to use (`ompt_data_t`).
type ToolWord = *mut OmptRegion;

type OmptLookup = unsafe extern "C" fn(name: *const c_char) -> Option<unsafe extern "C" fn()>;
type OmptSetCallback = unsafe extern "C" fn(event: c_int, callback: *const c_void) -> c_int;

/// What a tool tells the runtime of itself (`ompt_start_tool_result_t`).
#[repr(C)]
pub struct AccessOmptTool {
    initialise: unsafe extern "C" fn(lookup: OmptLookup, device: c_int, tool: *mut u64) -> c_int,
    finalise: unsafe extern "C" fn(tool: *mut u64),
    data: u64,
}

/// The runtime takes a pointer to it and changes its data only.
#[repr(transparent)]
struct RuntimeOwned(core::cell::UnsafeCell<AccessOmptTool>);

// SAFETY: only the runtime, while it begins, looks at it.
unsafe impl Sync for RuntimeOwned {}

static TOOL: RuntimeOwned =
    RuntimeOwned(core::cell::UnsafeCell::new(AccessOmptTool { initialise, finalise, data: 0 }));

/// A runtime calls this tool.
static IS_AT_WORK: AtomicBool = AtomicBool::new(false);

pub fn is_at_work() -> bool {
    IS_AT_WORK.load(Ordering::Relaxed)
}

const SCOPE_BEGIN: c_int = 1;
const SCOPE_END: c_int = 2;
const FLAG_INITIAL: c_int = 1;
const BARRIER_IMPLICIT: c_int = 2;
const SYNC_TASKWAIT: c_int = 5;
const SYNC_TASKGROUP: c_int = 6;
const SYNC_REDUCTION: c_int = 7;
const BARRIER_PARALLEL: c_int = 9;
const MUTEX_CRITICAL: c_int = 5;
const MUTEX_ATOMIC: c_int = 6;
const MUTEX_ORDERED: c_int = 7;

/// A region, and how many of its team have not ended their part of it.
struct OmptRegion {
    team: AccessTeam,
    left: AtomicU32,
}

/// The runtime looks for a tool.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn ompt_start_tool(_: c_uint, _: *const c_char) -> *mut AccessOmptTool {
    if !stream::is_on() {
        return ptr::null_mut();
    }
    modules::add_runtime(return_address!());
    TOOL.0.get()
}

unsafe extern "C" fn initialise(lookup: OmptLookup, _: c_int, _: *mut u64) -> c_int {
    let Some(set) = (unsafe { lookup(c"ompt_set_callback".as_ptr()) }) else { return 0 };
    // SAFETY: the function of this name has this type.
    let set = unsafe { transmute::<unsafe extern "C" fn(), OmptSetCallback>(set) };
    let callbacks: [(c_int, *const c_void); 5] = [
        (3, parallel_begin as *const c_void),
        (7, implicit_task as *const c_void),
        (23, sync_region as *const c_void),
        (17, mutex_released as *const c_void),
        (27, mutex_acquired as *const c_void),
    ];
    for (event, callback) in callbacks {
        // SAFETY: each callback has the type that OpenMP gives its event.
        unsafe { set(event, callback) };
    }
    IS_AT_WORK.store(true, Ordering::Relaxed);
    1
}

unsafe extern "C" fn finalise(_: *mut u64) {}

/// The calling thread opens a parallel region.
unsafe extern "C" fn parallel_begin(
    _: *mut c_void,
    _: *const c_void,
    region: *mut ToolWord,
    _: c_uint,
    _: c_int,
    code: u64,
) {
    let Some(team) = AccessTeam::open(code) else { return };
    unsafe {
        let room: *mut OmptRegion = __libc_malloc(size_of::<OmptRegion>()).cast();
        if !room.is_null() {
            room.write(OmptRegion { team, left: AtomicU32::new(u32::MAX) });
        }
        *region = room;
    }
}

/// What a thread keeps of the region that it is in.
struct OmptMember {
    team: AccessTeam,
    outer: *const AccessTeam,
    has_ended: bool,
}

/// The calling thread begins or ends its part of a region.
unsafe extern "C" fn implicit_task(
    endpoint: c_int,
    region: *mut ToolWord,
    task: *mut *mut OmptMember,
    members: c_uint,
    _: c_uint,
    flags: c_int,
) {
    if flags & FLAG_INITIAL != 0 || task.is_null() {
        return;
    }
    unsafe {
        if endpoint == SCOPE_BEGIN {
            let Some(region) = region.as_ref().and_then(|region| region.as_ref()) else { return };
            let member: *mut OmptMember = __libc_malloc(size_of::<OmptMember>()).cast();
            if member.is_null() {
                return;
            }
            let words = words();
            member.write(OmptMember { team: region.team, outer: words.team.get(), has_ended: false });
            (*member).team.begin(members);
            words.team.set(&raw const (*member).team);
            *task = member;
            // The last member that has what it needs of the region gives that back.
            let _ = region.left.compare_exchange(u32::MAX, members, Ordering::Relaxed, Ordering::Relaxed);
            if region.left.fetch_sub(1, Ordering::AcqRel) == 1 {
                __libc_free(core::ptr::from_ref(region).cast_mut().cast());
            }
        } else if let Some(member) = (*task).as_ref() {
            // Workers come here when they go on to the next region, and have said before that they ended.
            end(*task);
            words().team.set(member.outer);
            __libc_free((*task).cast());
            *task = ptr::null_mut();
        }
    }
}

/// The thread's part of its region ends.
unsafe fn end(member: *mut OmptMember) {
    unsafe {
        if !(*member).has_ended {
            (*member).has_ended = true;
            (*member).team.end();
        }
    }
}

/// The calling thread waits for others of its team.
unsafe extern "C" fn sync_region(
    kind: c_int,
    endpoint: c_int,
    _: *mut ToolWord,
    task: *mut *mut OmptMember,
    code: u64,
) {
    if matches!(kind, SYNC_TASKWAIT | SYNC_TASKGROUP | SYNC_REDUCTION) || task.is_null() {
        return;
    }
    let member = unsafe { *task };
    let Some(own) = (unsafe { member.as_ref() }) else { return };
    // The barrier at the end of a region: some versions tell it from others only by the place that is missing for workers
    // and that is the region's for its master.
    let is_end =
        kind == BARRIER_PARALLEL || (kind == BARRIER_IMPLICIT && (code == 0 || code == own.team.place));
    if is_end {
        unsafe { end(member) };
    } else if endpoint == SCOPE_END {
        pass_barrier(code);
    }
}

/// The token of a lock of this kind. The runtime says that an ordered part has ended when the next one may have begun,
/// so which came first is not known: they exclude each other as those of a lock do.
fn token_of(kind: c_int, lock: u64) -> u64 {
    match (kind, super::current_team()) {
        (MUTEX_CRITICAL, _) => OpenMpToken::Critical.of_address(lock),
        (MUTEX_ATOMIC, _) => OpenMpToken::Update.of_team(0, 0),
        (MUTEX_ORDERED, Some(team)) => team.token(OpenMpToken::Ordered),
        _ => lock,
    }
}

unsafe extern "C" fn mutex_acquired(kind: c_int, lock: u64, code: u64) {
    note_of_any(Operation::Lock, [token_of(kind, lock), code]);
}

unsafe extern "C" fn mutex_released(kind: c_int, lock: u64, code: u64) {
    note_of_any(Operation::Unlock, [token_of(kind, lock), code]);
}
