//! Threads: creation and joins.

use core::cell::UnsafeCell;
use core::ffi::{CStr, c_char, c_int, c_void};
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use libc::timespec;
use longpole_ring::{RingEventKind, WaitKind};

use super::c11::ERROR;
use super::wait;
use crate::thread::CurrentThread;
use crate::{frame, hooks, lifecycle};

type ThreadFunction = unsafe extern "C-unwind" fn(*mut c_void) -> *mut c_void;

/// What a new thread is to do.
#[derive(Clone, Copy, Debug)]
struct ThreadStartArguments {
    start: ThreadFunction,
    argument: *mut c_void,
    key: u64,
    stack_bytes: u64,
}

/// Room for the errand of one thread that has been created and has not begun.
struct StartArgumentsSlot {
    is_taken: AtomicU32,
    errand: UnsafeCell<Option<ThreadStartArguments>>,
}

// SAFETY: `is_taken` gives the desk to one thread at a time, and creating a thread orders its accesses.
unsafe impl Sync for StartArgumentsSlot {}

/// Threads that can be about to begin at a time; further ones go their way without a word of their creator.
const DESKS: usize = 1024;

static DESK: [StartArgumentsSlot; DESKS] =
    [const { StartArgumentsSlot { is_taken: AtomicU32::new(0), errand: UnsafeCell::new(None) } }; DESKS];
static NEXT: AtomicUsize = AtomicUsize::new(0);

/// Puts an errand on a free desk.
fn leave(errand: ThreadStartArguments) -> Option<&'static StartArgumentsSlot> {
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
unsafe fn take(desk: *mut c_void) -> Option<ThreadStartArguments> {
    // SAFETY: the caller's.
    let desk = unsafe { &*desk.cast::<StartArgumentsSlot>() };
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

/// A [`ThreadFunction`] as C11 has it, whose result is a number.
type StartC11 = unsafe extern "C-unwind" fn(*mut c_void) -> c_int;

/// The same for a thread that was created by its C11 name.
unsafe extern "C-unwind" fn begin_c11(desk: *mut c_void) -> c_int {
    // SAFETY: as above.
    let Some(errand) = (unsafe { take(desk) }) else { return 0 };
    lifecycle::begin_thread(errand.key, frame!().frame, errand.stack_bytes);
    // SAFETY: the hook kept the program's function, which is of this type.
    let start = unsafe { core::mem::transmute::<ThreadFunction, StartC11>(errand.start) };
    // SAFETY: what the program asked for.
    unsafe { start(errand.argument) }
}

/// Size of the stack of a thread with these attributes.
fn stack_bytes(attributes: *const libc::pthread_attr_t) -> u64 {
    if attributes.is_null() {
        return lifecycle::default_stack();
    }
    let mut bytes = 0;
    // SAFETY: the program gave the attributes.
    unsafe { libc::pthread_attr_getstacksize(attributes, &raw mut bytes) };
    bytes as u64
}

/// The kernel's number of a thread that has not ended; 0 where that is not known.
unsafe fn tid_of(thread: libc::pthread_t) -> u64 {
    // SAFETY: a handle that may be joined points to the thread's descriptor, whose layout was checked.
    lifecycle::tid_offset().map_or(0, |offset| unsafe { *((thread as usize + offset) as *const u32) }.into())
}

/// Creates a thread that begins in `$begin`: the body of a hook.
macro_rules! create {
    ($start:expr, $argument:expr, $stack_bytes:expr, plain $plain:expr, through $begin:ident as $desk:ident $create:expr) => {{
        let Some(me) = CurrentThread::get() else { return unsafe { $plain } };
        let key = me.header().key();
        let errand =
            ThreadStartArguments { start: $start, argument: $argument, key, stack_bytes: $stack_bytes };
        let Some(left) = leave(errand) else { return unsafe { $plain } };
        me.tell_with_stack::<3>(RingEventKind::Creates, key, &mut [0], frame!());
        let $desk = core::ptr::from_ref(left).cast_mut().cast();
        let result = unsafe { $create };
        if result != 0 {
            // SAFETY: no thread was created, so the errand is still ours.
            let _ = unsafe { take($desk) };
        }
        result
    }};
}

/// Waits for the end of a thread: the body of a hook.
macro_rules! join {
    ($thread:expr, $join:expr) => {
        wait!(WaitKind::Join, $thread, unsafe { tid_of($thread) }, $join, granted | result | result == 0)
    };
}

hooks! {
    /// Creates a thread.
    fn pthread_create(
        thread: *mut libc::pthread_t,
        attributes: *const libc::pthread_attr_t,
        start: ThreadFunction,
        argument: *mut c_void,
    ) -> c_int, else libc::ENOSYS, |real| {
        create!(start, argument, stack_bytes(attributes),
            plain real(thread, attributes, start, argument),
            through begin as desk real(thread, attributes, begin, desk))
    }

    /// Creates a thread, by its C11 name.
    fn thrd_create(thread: *mut libc::pthread_t, start: StartC11, argument: *mut c_void) -> c_int, else ERROR, |real| {
        // SAFETY: both are functions of one pointer; it is called as what it is.
        let kept = unsafe { core::mem::transmute::<StartC11, ThreadFunction>(start) };
        create!(kept, argument, stack_bytes(core::ptr::null()),
            plain real(thread, start, argument),
            through begin_c11 as desk real(thread, begin_c11, desk))
    }

    /// Waits for the end of a thread.
    fn pthread_join(thread: libc::pthread_t, result: *mut *mut c_void) -> c_int, else libc::ENOSYS, |real| {
        join!(thread, real(thread, result))
    }

    /// Waits for the end of a thread, by its C11 name.
    fn thrd_join(thread: libc::pthread_t, result: *mut c_int) -> c_int, else ERROR, |real| {
        join!(thread, real(thread, result))
    }

    /// Waits for the end of a thread, but only until a time.
    fn pthread_timedjoin_np(thread: libc::pthread_t, result: *mut *mut c_void, until: *const timespec) -> c_int, else libc::ENOSYS, |real| {
        join!(thread, real(thread, result, until))
    }

    /// The same by a chosen clock.
    fn pthread_clockjoin_np(thread: libc::pthread_t, result: *mut *mut c_void, clock: c_int, until: *const timespec) -> c_int, else libc::ENOSYS, |real| {
        join!(thread, real(thread, result, clock, until))
    }

    /// Names a thread.
    fn pthread_setname_np(thread: libc::pthread_t, name: *const c_char) -> c_int, else libc::ENOSYS, |real| {
        let result = unsafe { real(thread, name) };
        // SAFETY: the call succeeded, so the name is one; no arguments.
        if result == 0 && thread == unsafe { libc::pthread_self() } && let Some(me) = CurrentThread::get() {
            // SAFETY: as above.
            me.is_named(unsafe { CStr::from_ptr(name) });
        }
        result
    }
}
