//! Beginnings and ends of the process and its threads.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

use longpole_ring::RingEventKind;

use crate::thread::CurrentThread;
use crate::{hooks, memory, stack, system, tls};

/// Name of the variable that holds the path of the shared memory.
const VARIABLE: &CStr = c"LONGPOLE_AGENT";
const NO_KEY: u32 = u32::MAX;
/// Keys below this one take no memory of their own when they are set.
const KEYS_IN_THREAD: u32 = 32;
/// The system calls destructors this often at most while they set their keys anew.
const ROUNDS: u32 = 4;

/// Where glibc's description of a thread has its tid.
const TID: usize = 0x2d0;

/// [`TID`], or 0 where that is not so.
static TID_OFFSET: AtomicUsize = AtomicUsize::new(0);
static END_KEY: AtomicU32 = AtomicU32::new(NO_KEY);
/// Size of a thread's stack where nothing else is asked for, from the limits as they were at the beginning.
static DEFAULT_STACK: AtomicU64 = AtomicU64::new(2 << 20);
/// Key of the process that is being forked.
static FORK: AtomicU64 = AtomicU64::new(0);

/// Runs when the library is loaded.
#[cfg_attr(all(feature = "preload", not(test)), unsafe(link_section = ".init_array"), used)]
#[allow(dead_code)]
static INITIALISE: extern "C" fn() = initialise;

extern "C" fn initialise() {
    #[cfg(all(feature = "locks", not(test)))]
    crate::real::find_all();
    // SAFETY: the library is loaded by a process with one thread; both functions are called once.
    unsafe {
        let path = libc::getenv(VARIABLE.as_ptr());
        if path.is_null() {
            return;
        }
        memory::connect(path.cast::<c_char>());
        if memory::header().is_none() {
            return;
        }
        // SAFETY: a thread's description is larger than this.
        if *((libc::pthread_self() as usize + TID) as *const u32) == system::tid() {
            TID_OFFSET.store(TID, Ordering::Relaxed);
        }
        watch_forks();
        let mut key = 0;
        if libc::pthread_key_create(&raw mut key, Some(end)) == 0 && key < KEYS_IN_THREAD {
            END_KEY.store(key, Ordering::Relaxed);
        }
    }
    begin_program();
}

/// Runs when the process ends by itself; other threads may still run.
#[cfg_attr(all(feature = "preload", not(test)), unsafe(link_section = ".fini_array"), used)]
#[allow(dead_code)]
static FINISH: extern "C" fn() = finish;

extern "C" fn finish() {
    end_process();
}

/// The process is about to end.
pub fn end_process() {
    if let Some(me) = CurrentThread::get() {
        me.hands_over_all();
        me.tell::<2>(RingEventKind::Exits, 0, &[]);
    }
}

/// The process is about to end at once, unless this is a child of `vfork`, which is its parent's thread in all but this.
/// Only the system knows; where it cannot be asked, nothing is said of the end, and the recorder finds it later.
pub fn end_process_at_once() {
    if let Some(me) = CurrentThread::get() {
        if !memory::may_call() {
            me.hands_over_all();
        } else if system::pid() == memory::pid() {
            end_process();
        }
    }
}

/// Size of the stack of a thread for which none is asked: libc reads the limit once, when the program begins.
#[must_use]
pub fn default_stack() -> u64 {
    DEFAULT_STACK.load(Ordering::Relaxed)
}

fn begin_program() {
    let Some(me) = CurrentThread::get() else { return };
    me.header().count_process();
    note_main_stack(me);
    me.tell::<3>(RingEventKind::Began, 0, &[0]);
    hooks::instrumentation::begin(me);
}

/// The first thread's stack ends at the environment, and is as large as its limit says.
fn note_main_stack(me: CurrentThread) {
    const LARGEST: u64 = 8 << 20;
    unsafe extern "C" {
        static environ: *const *const c_char;
    }
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is a valid place for the answer, and `environ` is set before any library is initialised.
    let (top, bytes) = unsafe {
        libc::getrlimit(libc::RLIMIT_STACK, &raw mut limit);
        (environ as u64, limit.rlim_cur.min(LARGEST))
    };
    if limit.rlim_cur != libc::RLIM_INFINITY {
        DEFAULT_STACK.store(limit.rlim_cur, Ordering::Relaxed);
    }
    let here = &raw const limit as u64;
    // A program that has moved its environment has told nothing about its stack.
    if here < top && top - here < bytes {
        stack::note_extent(me.area(), top & !7, bytes);
    }
}

/// Asks to be told of forks. What libc calls this differs, and a name that it lacks would keep programs from starting:
/// so it is looked for.
fn watch_forks() {
    type Handler = Option<extern "C" fn()>;
    type Register = unsafe extern "C" fn(Handler, Handler, Handler, *mut c_void) -> c_int;
    // SAFETY: the texts end with a zero. The second function has the same arguments but for the last, which is not
    // looked at then.
    unsafe {
        let mut register = libc::dlsym(libc::RTLD_DEFAULT, c"__register_atfork".as_ptr());
        if register.is_null() {
            register = libc::dlsym(libc::RTLD_DEFAULT, c"pthread_atfork".as_ptr());
        }
        if !register.is_null() {
            let register = core::mem::transmute::<*mut c_void, Register>(register);
            register(Some(before_fork), None, Some(begin_child), core::ptr::null_mut());
        }
    }
}

extern "C" fn before_fork() {
    announce_copy();
}

/// This process is about to be copied.
pub fn announce_copy() {
    let Some(me) = CurrentThread::get() else { return };
    let key = me.header().key();
    FORK.store(key, Ordering::Relaxed);
    me.tell::<3>(RingEventKind::Forks, key, &[0]);
}

extern "C" fn begin_child() {
    begin_copy();
}

/// This process is a copy of the one that announced it.
pub fn begin_copy() {
    let former = CurrentThread::get();
    let extent = former.map(|me| me.area().stack());
    let parent = memory::pid();
    tls::forget();
    if memory::header().is_none() {
        return;
    }
    // A process has one thread first, which has its number. Where libc was not asked it does not know.
    if memory::may_call() {
        memory::renew(system::pid());
        if tid() != Some(memory::pid()) {
            TID_OFFSET.store(0, Ordering::Relaxed);
        }
    } else {
        match tid().filter(|&tid| former.is_none_or(|me| me.tid() != tid)) {
            Some(tid) => memory::renew(tid),
            None => return memory::leave(),
        }
    }
    let Some(me) = CurrentThread::get() else { return };
    me.header().count_process();
    if let Some((bottom, top)) = extent {
        me.area().set_stack(bottom, top);
    }
    me.tell::<3>(RingEventKind::Forked, FORK.load(Ordering::Relaxed), &[u64::from(parent)]);
}

/// Where a thread's description has its tid, if that is known.
#[must_use]
pub fn tid_offset() -> Option<usize> {
    match TID_OFFSET.load(Ordering::Relaxed) {
        0 => None,
        offset => Some(offset),
    }
}

/// The calling thread's tid: without a system call, where that can be. `None` where it takes one that must not be made.
#[must_use]
pub fn tid() -> Option<u32> {
    // SAFETY: a thread's own description, whose layout was checked.
    let known =
        tid_offset().map_or(0, |offset| unsafe { *((libc::pthread_self() as usize + offset) as *const u32) });
    match known {
        0 => memory::may_call().then(system::tid),
        known => Some(known),
    }
}

/// A new thread begins: it was announced under `key`.
pub fn begin_thread(key: u64, first_frame: u64, stack_bytes: u64) {
    let Some(me) = CurrentThread::get() else { return };
    stack::note_extent(me.area(), first_frame & !7, stack_bytes);
    // SAFETY: no arguments.
    me.tell::<3>(RingEventKind::Created, key, &[unsafe { libc::pthread_self() }]);
}

/// Asks to be told when the calling thread ends.
pub fn watch_end() {
    let end_key = END_KEY.load(Ordering::Relaxed);
    if end_key != NO_KEY {
        // SAFETY: the key is ours; setting one of the first keys allocates nothing.
        unsafe { libc::pthread_setspecific(end_key, core::ptr::dangling()) };
    }
}

/// Called when a thread ends, however it ends; destructors of the program may still run after it.
unsafe extern "C" fn end(_: *mut c_void) {
    let slot = tls::slot();
    // What the agent was at when the thread was cancelled, or left a signal handler for good, will not go on.
    slot.busy.set(0);
    let rounds = slot.rounds.get() + 1;
    slot.rounds.set(rounds);
    if rounds < ROUNDS {
        // SAFETY: as in `begin_thread`.
        unsafe { libc::pthread_setspecific(END_KEY.load(Ordering::Relaxed), core::ptr::dangling()) };
        return;
    }
    if let Some(me) = CurrentThread::get() {
        me.ends();
    }
}

/// Whether `errno` says that a lock was taken together with a warning about its last holder.
#[must_use]
pub fn is_acquired(result: c_int) -> bool {
    result == 0 || result == libc::EOWNERDEAD
}
