//! Samples, and what a thread does that is sampled in the procedure.

use core::ffi::{c_int, c_void};
use core::mem;
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

use super::backtrace;
use super::connection::connect;
use super::event::{ENABLE, open_event};
use super::interposed;
use super::module::{self, is_inside};
use super::system::{call, processor_time};
use super::thread_words::{ThreadWords, thread_words};
use super::virtual_clock;
use crate::layout::{DelayMemory, DelayScope};

/// `TRAP_PERF`, the code of signals that perf events raise.
const TRAP_PERF: c_int = 6;
/// Looks at the clock while a thread is kept busy: this many pauses of the processor lie between two of them.
const PAUSES: u32 = 16;

static MEMORY: AtomicPtr<DelayMemory> = AtomicPtr::new(ptr::null_mut());
/// Where the handler is installed and the process is sampled.
static ACTIVE: AtomicBool = AtomicBool::new(false);
/// Address of the handler that SIGTRAP had before.
static FORMER: AtomicUsize = AtomicUsize::new(libc::SIG_DFL);
static DESCRIPTOR: AtomicUsize = AtomicUsize::new(usize::MAX);

/// The memory that is shared with `longpole zero`.
pub(super) fn memory() -> Option<&'static DelayMemory> {
    // SAFETY: set once, to a mapping that stays.
    unsafe { MEMORY.load(Ordering::Relaxed).as_ref() }
}

/// Whether threads of this process are sampled.
pub(super) fn is_active() -> bool {
    ACTIVE.load(Ordering::Relaxed)
}

/// Whether what the procedure calls and starts is slowed with it.
pub(super) fn is_followed() -> bool {
    is_active() && memory().is_some_and(|memory| memory.scope == DelayScope::INCLUSIVE)
}

extern "C" fn handle(signal: c_int, information: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel gives valid ones.
    let (code, address) = unsafe {
        let context = &*context.cast::<libc::ucontext_t>();
        ((*information).si_code, context.uc_mcontext.gregs[libc::REG_RIP as usize] as u64)
    };
    if code == TRAP_PERF {
        sample(address);
    } else {
        hand_on(signal, information, context);
    }
}

/// The handler's work at a sample of code at this address. It changes no `errno`: its system calls do not pass the C library.
fn sample(address: u64) {
    let Some(memory) = memory() else { return };
    let words = thread_words();
    let now = processor_time();
    // In a child of `fork` the clock begins again.
    let covered = if now < words.last.get() { 0 } else { now - words.last.get() };
    // Also where it decides nothing: all runs that are compared pay for it.
    let path = backtrace::look();
    let is_hit = match memory.scope {
        DelayScope::EXACT => is_inside(address),
        DelayScope::FOLDED => path.is_innermost == Some(true),
        DelayScope::HOLDING => words.holds.get() > 0,
        _ => path.is_found || words.is_started_inside.get() == 1,
    };
    memory.samples.fetch_add(1, Ordering::Relaxed);
    memory.sampled.fetch_add(covered, Ordering::Relaxed);
    if is_hit {
        memory.hits.fetch_add(1, Ordering::Relaxed);
        memory.hit.fetch_add(covered, Ordering::Relaxed);
        let wanted = (covered as u128 * memory.factor as u128 / 1_000_000) as u64;
        match memory.is_virtual() {
            true => virtual_clock::insert(memory, wanted),
            false => work(memory, words, wanted),
        }
    }
    if memory.is_virtual() {
        virtual_clock::pause_at_sample(memory);
    }
    words.last.set(processor_time());
}

/// Keeps the processor for so much CPU time, less what the thread worked too long before: CPU time goes on where the host of a virtual
/// machine takes the processor away.
fn work(memory: &DelayMemory, words: &ThreadWords, wanted: u64) {
    let begin = processor_time();
    let mut end = begin;
    while end - begin + words.prepaid.get() < wanted {
        for _ in 0..PAUSES {
            core::hint::spin_loop();
        }
        end = processor_time();
    }
    words.prepaid.set(words.prepaid.get() + (end - begin) - wanted);
    memory.added.fetch_add(end - begin, Ordering::Relaxed);
}

/// A SIGTRAP that is not of a sample goes where it would have gone.
fn hand_on(signal: c_int, information: *mut libc::siginfo_t, context: *mut c_void) {
    let former = FORMER.load(Ordering::Relaxed);
    if former == libc::SIG_IGN {
        return;
    }
    if former != libc::SIG_DFL {
        // SAFETY: the address of a handler; one that takes the number only ignores the rest.
        let former: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) =
            unsafe { mem::transmute(former) };
        return former(signal, information, context);
    }
    // SAFETY: plain calls that end the process as the signal does.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
    }
}

/// Runs when the library is loaded.
#[cfg_attr(all(feature = "preload", not(test)), unsafe(link_section = ".init_array"), used)]
#[allow(dead_code)]
static INITIALISE: extern "C" fn() = initialise;

extern "C" fn initialise() {
    let Some(memory) = connect() else { return };
    MEMORY.store(ptr::from_ref(memory).cast_mut(), Ordering::Relaxed);
    memory.processes.fetch_add(1, Ordering::Relaxed);
    // A virtual speed-up delays what other programs do for this one, too.
    if !module::find(memory) && !memory.is_virtual() {
        return;
    }
    interposed::find_all();
    // The unwinder's first call prepares it.
    backtrace::holds_procedure();
    begin(memory);
    // SAFETY: the text ends with a zero; the function registers three procedures.
    unsafe {
        type ForkHandler = Option<extern "C" fn()>;
        type RegisterForkHandlers =
            unsafe extern "C" fn(ForkHandler, ForkHandler, ForkHandler, *mut c_void) -> c_int;
        let register = libc::dlsym(libc::RTLD_DEFAULT, c"__register_atfork".as_ptr());
        if !register.is_null() {
            let register = mem::transmute::<*mut c_void, RegisterForkHandlers>(register);
            register(None, None, Some(begin_copy), ptr::null_mut());
        }
    }
}

/// Runs when the process ends by itself.
#[cfg_attr(all(feature = "preload", not(test)), unsafe(link_section = ".fini_array"), used)]
#[allow(dead_code)]
static FINISH: extern "C" fn() = finish;

extern "C" fn finish() {
    let Some(memory) = memory().filter(|_| is_active()) else { return };
    virtual_clock::end_process();
    // SAFETY: a question about a signal.
    let handler = unsafe {
        let mut action: libc::sigaction = mem::zeroed();
        libc::sigaction(libc::SIGTRAP, ptr::null(), &raw mut action);
        action.sa_sigaction
    };
    if handler != handle as *const () as usize {
        memory.replaced.fetch_add(1, Ordering::Relaxed);
    }
}

/// Installs the handler, and samples all threads of this process from now on.
fn begin(memory: &DelayMemory) {
    let descriptor = open_event(memory.period, false).or_else(|_| {
        memory.is_user_only.store(1, Ordering::Relaxed);
        open_event(memory.period, true)
    });
    let descriptor = match descriptor {
        Ok(descriptor) => descriptor,
        Err(error) => return memory.refusal.store(error, Ordering::Relaxed),
    };
    // SAFETY: the structures are plain numbers; the handler is of the right type.
    unsafe {
        let mut action: libc::sigaction = mem::zeroed();
        let mut former: libc::sigaction = mem::zeroed();
        action.sa_sigaction = handle as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
        libc::sigaction(libc::SIGTRAP, &raw const action, &raw mut former);
        if former.sa_sigaction != action.sa_sigaction {
            FORMER.store(former.sa_sigaction, Ordering::Relaxed);
        }
        let mut mask = 1_u64 << (libc::SIGTRAP - 1);
        call(libc::SYS_rt_sigprocmask, [libc::SIG_UNBLOCK as usize, (&raw mut mask) as usize, 0, 8]);
        thread_words().last.set(processor_time());
        ACTIVE.store(true, Ordering::Relaxed);
        virtual_clock::begin_process(memory);
        call(libc::SYS_ioctl, [descriptor, ENABLE, 0, 0]);
    }
    DESCRIPTOR.store(descriptor, Ordering::Relaxed);
    memory.sampled_processes.fetch_add(1, Ordering::Relaxed);
}

/// A child process begins as a copy of one thread: it has an event of its own.
extern "C" fn begin_copy() {
    let Some(memory) = memory().filter(|_| is_active()) else { return };
    let descriptor = DESCRIPTOR.swap(usize::MAX, Ordering::Relaxed);
    if descriptor != usize::MAX {
        // SAFETY: the copy of a descriptor of the library's own.
        unsafe { call(libc::SYS_close, [descriptor, 0, 0, 0]) };
    }
    begin(memory);
}
