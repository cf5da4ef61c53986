//! Threads: creation and joins.

use core::cell::UnsafeCell;
use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use longpole_ring::{Kind, WaitKind};

use crate::thread::Me;
use crate::{frame, hooks, lifecycle};

type Start = unsafe extern "C-unwind" fn(*mut c_void) -> *mut c_void;

/// What a new thread is to do.
#[derive(Clone, Copy, Debug)]
struct Errand {
    start: Start,
    argument: *mut c_void,
    key: u64,
    stack_bytes: u64,
}

/// Room for the errand of one thread that has been created and has not begun.
struct Desk {
    is_taken: AtomicU32,
    errand: UnsafeCell<Option<Errand>>,
}

// SAFETY: `is_taken` gives the desk to one thread at a time, and creating a thread orders its accesses.
unsafe impl Sync for Desk {}

/// Threads that can be about to begin at a time; further ones go their way without a word of their creator.
const DESKS: usize = 1024;
const FREE: Desk = Desk { is_taken: AtomicU32::new(0), errand: UnsafeCell::new(None) };

static DESK: [Desk; DESKS] = [FREE; DESKS];
static NEXT: AtomicUsize = AtomicUsize::new(0);

/// Puts an errand on a free desk.
fn leave(errand: Errand) -> Option<&'static Desk> {
    const ATTEMPTS: usize = 64;
    for _ in 0..ATTEMPTS {
        let desk = &DESK[NEXT.fetch_add(1, Ordering::Relaxed) % DESKS];
        if desk.is_taken.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_ok() {
            // SAFETY: the desk is ours now.
            unsafe { *desk.errand.get() = Some(errand) };
            return Some(desk);
        }
    }
    None
}

/// Takes the errand from its desk, which is free then.
///
/// # Safety
/// `desk` is one that [`leave`] gave, and nobody else takes from it.
unsafe fn take(desk: *mut c_void) -> Option<Errand> {
    // SAFETY: the caller's.
    let desk = unsafe { &*desk.cast::<Desk>() };
    // SAFETY: the desk is ours until it is given back.
    let errand = unsafe { (*desk.errand.get()).take() };
    desk.is_taken.store(0, Ordering::Release);
    errand
}

/// The first procedure of a thread that was created through the hook.
unsafe extern "C-unwind" fn begin(desk: *mut c_void) -> *mut c_void {
    // SAFETY: the hook gave this desk to this thread only.
    let Some(errand) = (unsafe { take(desk) }) else { return core::ptr::null_mut() };
    lifecycle::begin_thread(errand.key, frame!().frame, errand.stack_bytes);
    // SAFETY: what the program asked for.
    unsafe { (errand.start)(errand.argument) }
}

/// Size of the stack of a thread with these attributes.
fn stack_bytes(attributes: *const libc::pthread_attr_t) -> u64 {
    let mut bytes = 0;
    // SAFETY: the program gave the attributes; without any, the defaults are read from the limits, as the system does.
    unsafe {
        if !attributes.is_null() {
            libc::pthread_attr_getstacksize(attributes, &raw mut bytes);
            return bytes as u64;
        }
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        libc::getrlimit(libc::RLIMIT_STACK, &raw mut limit);
        const DEFAULT: u64 = 2 << 20;
        if limit.rlim_cur == libc::RLIM_INFINITY { DEFAULT } else { limit.rlim_cur }
    }
}

hooks! {
    /// Creates a thread.
    fn pthread_create(
        thread: *mut libc::pthread_t,
        attributes: *const libc::pthread_attr_t,
        start: Start,
        argument: *mut c_void,
    ) -> c_int, else libc::ENOSYS, |real| {
        let Some(me) = Me::get() else { return unsafe { real(thread, attributes, start, argument) } };
        let key = me.header().key();
        let errand = Errand { start, argument, key, stack_bytes: stack_bytes(attributes) };
        let Some(desk) = leave(errand) else { return unsafe { real(thread, attributes, start, argument) } };
        me.tell_with_stack::<3>(Kind::Creates, key, &mut [0], frame!());
        let desk = core::ptr::from_ref(desk).cast_mut().cast();
        let result = unsafe { real(thread, attributes, begin, desk) };
        if result != 0 {
            // SAFETY: no thread was created, so the errand is still ours.
            let _ = unsafe { take(desk) };
        }
        result
    }

    /// Waits for the end of a thread.
    fn pthread_join(thread: libc::pthread_t, result: *mut *mut c_void) -> c_int, else libc::ENOSYS, |real| {
        let Some(me) = Me::get() else { return unsafe { real(thread, result) } };
        me.waits(WaitKind::Join, thread, 0, frame!());
        let status = unsafe { real(thread, result) };
        me.goes_on(thread, status == 0);
        status
    }
}
