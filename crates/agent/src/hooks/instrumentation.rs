//! Procedures of programs that are compiled with `-finstrument-functions`.
//!
//! Every procedure of such a program tells that it was entered and left. The thread's profile stack follows; where the
//! recorder wants all calls, each is an event too.

use core::ffi::c_void;
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

use longpole_ring::{EntryPlace, RingEventKind, call_event};

use crate::frame;
use crate::heights::{WORD, height};
use crate::real::NextFunction;
use crate::stack::HookFrame;
use crate::thread::CurrentThread;

type Hook = unsafe extern "C-unwind" fn(*mut c_void, *mut c_void);

/// Another library's procedures of these names; null where only libc has them, whose do nothing.
static OTHER_ENTER: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
static OTHER_EXIT: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());

/// Calls that are made for nothing when a program begins, one after the other, so that the recorder sees what telling
/// of one costs.
const TRIAL_CALLS: usize = 256;
/// Rounds of calls amid other work; the quickest tells what they cost there.
const TRIAL_ROUNDS: usize = 16;
const TRIAL_CALLS_PER_ROUND: u64 = 16;

const TRIAL: *mut c_void = ptr::null_mut();
const TRIAL_AMID_WORK: *mut c_void = ptr::without_provenance_mut(1);

/// A procedure was entered.
///
/// # Safety
/// As the compiler calls it: the procedure's address, and the return address of its call.
#[cfg_attr(feature = "locks", unsafe(no_mangle))]
#[inline(never)]
pub unsafe extern "C-unwind" fn __cyg_profile_func_enter(procedure: *mut c_void, site: *mut c_void) {
    if let Some(me) = CurrentThread::get() {
        enter(me, procedure as u64, site as u64, frame!());
    }
    let other = OTHER_ENTER.load(Ordering::Relaxed);
    if !other.is_null() {
        // SAFETY: the address of a procedure of this type, and the caller's arguments.
        unsafe { core::mem::transmute::<*mut c_void, Hook>(other)(procedure, site) };
    }
}

/// A procedure is about to return.
///
/// # Safety
/// As for [`__cyg_profile_func_enter`].
#[cfg_attr(feature = "locks", unsafe(no_mangle))]
#[inline(never)]
pub unsafe extern "C-unwind" fn __cyg_profile_func_exit(procedure: *mut c_void, site: *mut c_void) {
    let other = OTHER_EXIT.load(Ordering::Relaxed);
    if !other.is_null() {
        // SAFETY: the address of a procedure of this type, and the caller's arguments.
        unsafe { core::mem::transmute::<*mut c_void, Hook>(other)(procedure, site) };
    }
    if let Some(me) = CurrentThread::get() {
        exit(me, procedure as u64);
    }
}

#[inline(always)]
fn enter(me: CurrentThread, procedure: u64, site: u64, at: HookFrame) {
    if me.header().tells_calls() {
        let now = me.now();
        me.with(|area| {
            let depth = area.profile.enter_each(procedure, place(area, (procedure, site), at));
            area.push(&call_event(RingEventKind::Calls, procedure, now, depth));
        });
    } else {
        me.with(|area| area.profile.enter(procedure, place(area, (procedure, site), at)));
    }
}

#[inline(always)]
fn place(area: &longpole_ring::Area, (procedure, site): (u64, u64), at: HookFrame) -> EntryPlace {
    let (bottom, top) = area.stack();
    // On another stack (a signal handler's, a coroutine's) heights say nothing.
    if at.frame > bottom && at.frame + 2 * WORD <= top {
        EntryPlace::new(height(procedure, site, at, top), site, at.caller())
    } else {
        EntryPlace::UNKNOWN
    }
}

#[inline(always)]
fn exit(me: CurrentThread, procedure: u64) {
    if me.header().tells_calls() {
        let now = me.now();
        me.with(|area| {
            if let Some(depth) = area.profile.leave(procedure) {
                area.push(&call_event(RingEventKind::Returns, procedure, now, depth));
            }
        });
    } else {
        me.with(|area| area.profile.leave(procedure));
    }
}

/// The thread goes on at this stack pointer: procedures whose frames begin at or below it are left.
#[inline(never)]
pub fn leave_to(me: CurrentThread, stack_pointer: u64) {
    let (bottom, top) = me.with(longpole_ring::Area::stack);
    if stack_pointer <= bottom || stack_pointer > top {
        return;
    }
    while let Some(procedure) = me.with(|area| area.profile.innermost_below(stack_pointer)) {
        exit(me, procedure);
    }
}

/// Prepares for a new program, whose only thread calls this.
pub fn begin(me: CurrentThread) {
    #[cfg_attr(feature = "locks", unsafe(link_section = "longpole_real"))]
    static ENTER: NextFunction = NextFunction::new(c"__cyg_profile_func_enter");
    #[cfg_attr(feature = "locks", unsafe(link_section = "longpole_real"))]
    static EXIT: NextFunction = NextFunction::new(c"__cyg_profile_func_exit");
    OTHER_ENTER.store(outside_libc(ENTER.address()), Ordering::Relaxed);
    OTHER_EXIT.store(outside_libc(EXIT.address()), Ordering::Relaxed);
    if me.header().tells_calls() {
        for _ in 0..TRIAL_CALLS {
            try_call(TRIAL);
        }
        let ticks = ticks_amid_work(me);
        me.tell::<3>(RingEventKind::Trial, ticks, &[TRIAL_CALLS_PER_ROUND]);
    }
}

/// A call of no procedure: the recorder knows addresses below the first page as nobody's.
fn try_call(address: *mut c_void) {
    let (enter, exit): (Hook, Hook) = (__cyg_profile_func_enter, __cyg_profile_func_exit);
    let (enter, exit) = (core::hint::black_box(enter), core::hint::black_box(exit));
    // SAFETY: the hooks look at no address.
    unsafe {
        enter(address, ptr::null_mut());
        exit(address, ptr::null_mut());
    }
}

/// Ticks that the calls of one round take beyond the work that they stand in, of which each step needs the one before.
fn ticks_amid_work(me: CurrentThread) -> u64 {
    const STEPS: usize = 48;
    let work = |mut value: u64| {
        for _ in 0..STEPS {
            value = core::hint::black_box(value.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(1));
        }
        value
    };
    let (mut value, mut least) = (1, [u64::MAX; 2]);
    for round in 0..2 * TRIAL_ROUNDS {
        let calls = round % 2 == 1;
        let begin = me.now();
        for _ in 0..TRIAL_CALLS_PER_ROUND {
            value = work(value);
            if calls {
                try_call(TRIAL_AMID_WORK);
            }
        }
        let ticks = me.now().wrapping_sub(begin);
        least[usize::from(calls)] = least[usize::from(calls)].min(ticks);
    }
    core::hint::black_box(value);
    least[1].saturating_sub(least[0])
}

/// The address, unless it is in libc.
fn outside_libc(address: *mut c_void) -> *mut c_void {
    let module = |address: *const c_void| {
        let mut info = libc::Dl_info {
            dli_fname: ptr::null(),
            dli_fbase: ptr::null_mut(),
            dli_sname: ptr::null(),
            dli_saddr: ptr::null_mut(),
        };
        // SAFETY: `info` is a valid place for the answer.
        (unsafe { libc::dladdr(address, &raw mut info) } != 0).then_some(info.dli_fbase)
    };
    let libc = module(libc::getenv as *const c_void);
    if address.is_null() || module(address) == libc { ptr::null_mut() } else { address }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_c_librarys_own_are_not_called() {
        let mut own = 0_u8;
        assert!(outside_libc(libc::strlen as *mut c_void).is_null());
        assert!(outside_libc(ptr::null_mut()).is_null());
        let stack: *mut c_void = (&raw mut own).cast();
        assert_eq!(outside_libc(stack), stack);
        let here = outside_libc as *mut c_void;
        assert_eq!(outside_libc(here), here);
    }
}
