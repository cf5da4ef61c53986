//! Samples, and what a thread does that is sampled in the procedure.

use core::arch::asm;
use core::ffi::{CStr, c_int, c_void};
use core::mem;
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering};

use super::backtrace;
use super::thread_words::thread_words;
use crate::layout::{DELAY_MAGIC, DELAY_MEMORY_BYTES, DELAY_VARIABLE, DelayMemory, DelayScope};

/// `TRAP_PERF`, the code of signals that perf events raise.
const TRAP_PERF: c_int = 6;
/// Descriptors from here on are hardly used by programs.
const HIGH_DESCRIPTOR: usize = 900;
/// Looks at the clock while a thread is kept busy: this many pauses of the processor lie between two of them.
const PAUSES: u32 = 16;

static MEMORY: AtomicPtr<DelayMemory> = AtomicPtr::new(ptr::null_mut());
/// What is added to addresses of the module's file.
static BASE: AtomicU64 = AtomicU64::new(0);
/// Where the process has the module: its first address, and the one behind its last.
static FIRST: AtomicU64 = AtomicU64::new(0);
static END: AtomicU64 = AtomicU64::new(0);
/// Where the handler is installed and the process is sampled.
static ACTIVE: AtomicBool = AtomicBool::new(false);
/// Address of the handler that SIGTRAP had before.
static FORMER: AtomicUsize = AtomicUsize::new(libc::SIG_DFL);
static DESCRIPTOR: AtomicUsize = AtomicUsize::new(usize::MAX);

/// A system call; a result from −4095 to −1 is an error number, negated.
///
/// # Safety
/// As the kernel asks for the call.
#[inline]
pub(super) unsafe fn call(number: libc::c_long, arguments: [usize; 4]) -> isize {
    let [a, b, c, d] = arguments;
    let result;
    // SAFETY: the caller's; the kernel changes rcx, r11 and rax only.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number as isize => result,
            in("rdi") a,
            in("rsi") b,
            in("rdx") c,
            in("r10") d,
            in("r8") 0_usize,
            in("r9") 0_usize,
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack)
        );
    }
    result
}

fn memory() -> Option<&'static DelayMemory> {
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

/// Whether the address is in the procedure's code.
pub(super) fn is_inside(address: u64) -> bool {
    let Some(memory) = memory() else { return false };
    let address = address.wrapping_sub(BASE.load(Ordering::Relaxed));
    let code = memory.code.get(..memory.ranges as usize).unwrap_or(&[]);
    let next = code.partition_point(|range| range[0] <= address);
    next > 0 && address < code[next - 1][1]
}

/// Whether the address is in the module that holds the procedure.
pub(super) fn is_in_module(address: u64) -> bool {
    (FIRST.load(Ordering::Relaxed)..END.load(Ordering::Relaxed)).contains(&address)
}

/// The thread's CPU time, nanoseconds.
fn processor_time() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    let arguments = [libc::CLOCK_THREAD_CPUTIME_ID as usize, (&raw mut time) as usize, 0, 0];
    // SAFETY: a valid place for the answer.
    unsafe { call(libc::SYS_clock_gettime, arguments) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
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
        _ => path.is_found || words.is_started_inside.get() == 1,
    };
    memory.samples.fetch_add(1, Ordering::Relaxed);
    memory.sampled.fetch_add(covered, Ordering::Relaxed);
    if is_hit {
        memory.hits.fetch_add(1, Ordering::Relaxed);
        memory.hit.fetch_add(covered, Ordering::Relaxed);
        let wanted = (covered as u128 * memory.factor as u128 / 1_000_000) as u64;
        let begin = processor_time();
        let mut end = begin;
        while end < begin + wanted {
            for _ in 0..PAUSES {
                core::hint::spin_loop();
            }
            end = processor_time();
        }
        memory.added.fetch_add(end - begin, Ordering::Relaxed);
    }
    words.last.set(processor_time());
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
    let Some(base) = base_of_module(memory) else { return };
    BASE.store(base, Ordering::Relaxed);
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

/// The shared memory that the environment names.
fn connect() -> Option<&'static DelayMemory> {
    // SAFETY: the library is loaded by a process with one thread; the path ends with a zero.
    unsafe {
        let path = libc::getenv(DELAY_VARIABLE.as_ptr());
        if path.is_null() {
            return None;
        }
        let flags = (libc::O_RDWR | libc::O_CLOEXEC) as usize;
        let file =
            usize::try_from(call(libc::SYS_openat, [libc::AT_FDCWD as usize, path as usize, flags, 0]))
                .ok()?;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let mapped =
            libc::mmap(ptr::null_mut(), DELAY_MEMORY_BYTES, protection, libc::MAP_SHARED, file as c_int, 0);
        call(libc::SYS_close, [file, 0, 0, 0]);
        if mapped == libc::MAP_FAILED {
            return None;
        }
        let memory = &*mapped.cast::<DelayMemory>();
        (memory.magic == DELAY_MAGIC).then_some(memory)
    }
}

/// Where the process has the module that holds the procedure; 0 where there is no procedure.
fn base_of_module(memory: &DelayMemory) -> Option<u64> {
    let module = CStr::from_bytes_until_nul(&memory.module).ok()?;
    if module.is_empty() {
        return Some(0);
    }
    let mut sought = SoughtModule { module, base: None };
    // SAFETY: the procedure visits modules while `sought` lives.
    unsafe { libc::dl_iterate_phdr(Some(visit_module), (&raw mut sought).cast()) };
    sought.base
}

struct SoughtModule<'a> {
    module: &'a CStr,
    base: Option<u64>,
}

unsafe extern "C" fn visit_module(
    found: *mut libc::dl_phdr_info,
    _: libc::size_t,
    own: *mut c_void,
) -> c_int {
    // SAFETY: the loader's description, and the value that `base_of_module` passes.
    let (found, sought) = unsafe { (&*found, &mut *own.cast::<SoughtModule<'_>>()) };
    let mut program = [0_u8; 1024];
    // SAFETY: a text that ends with a zero.
    let mut name = unsafe { CStr::from_ptr(found.dlpi_name) };
    if name.is_empty() {
        let room = program.len() - 1;
        let arguments = [
            libc::AT_FDCWD as usize,
            c"/proc/self/exe".as_ptr() as usize,
            program.as_mut_ptr() as usize,
            room,
        ];
        // SAFETY: room for the answer, and for its final zero.
        unsafe { call(libc::SYS_readlinkat, arguments) };
        name = CStr::from_bytes_until_nul(&program).unwrap_or(c"");
    }
    if name == sought.module {
        sought.base = Some(found.dlpi_addr);
        let count = usize::from(found.dlpi_phnum);
        // SAFETY: the loader's table of so many entries.
        let segments = unsafe { core::slice::from_raw_parts(found.dlpi_phdr, count) };
        let loaded = segments.iter().filter(|segment| segment.p_type == libc::PT_LOAD);
        let first = loaded.clone().map(|segment| segment.p_vaddr).min().unwrap_or(0);
        let end = loaded.map(|segment| segment.p_vaddr + segment.p_memsz).max().unwrap_or(0);
        FIRST.store(found.dlpi_addr + first, Ordering::Relaxed);
        END.store(found.dlpi_addr + end, Ordering::Relaxed);
        return 1;
    }
    0
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

/// `PERF_EVENT_IOC_ENABLE`.
const ENABLE: usize = 0x2400;

/// The attributes of a perf event, as far as they are used.
#[repr(C)]
#[derive(Default)]
struct EventAttributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    rest: [u64; 10],
}

/// Opens the event of this thread, and of all that it and its like will start; an error number where that cannot be.
fn open_event(period: u64, is_user_only: bool) -> Result<usize, u64> {
    /// The software event that counts the time in which a thread runs.
    const TASK_CLOCK: u64 = 1;
    const SOFTWARE: u32 = 1;
    const DISABLED: u64 = 1;
    const INHERIT: u64 = 1 << 1;
    const EXCLUDE_KERNEL: u64 = 1 << 5;
    const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
    const INHERIT_THREAD: u64 = 1 << 35;
    const REMOVE_ON_EXEC: u64 = 1 << 36;
    const SIGTRAP: u64 = 1 << 37;
    const CLOSE_ON_EXEC: usize = 8;
    let mut attributes = EventAttributes {
        kind: SOFTWARE,
        size: size_of::<EventAttributes>() as u32,
        config: TASK_CLOCK,
        sample_period: period,
        flags: DISABLED | INHERIT | EXCLUDE_HYPERVISOR | INHERIT_THREAD | REMOVE_ON_EXEC | SIGTRAP,
        ..EventAttributes::default()
    };
    if is_user_only {
        attributes.flags |= EXCLUDE_KERNEL;
    }
    let any_processor = usize::MAX;
    // SAFETY: valid attributes of the size that they tell; the call has a fifth argument.
    let opened = unsafe { open_call((&raw const attributes) as usize, any_processor, CLOSE_ON_EXEC) };
    let Ok(opened) = usize::try_from(opened) else { return Err(opened.unsigned_abs() as u64) };
    let arguments = [opened, libc::F_DUPFD_CLOEXEC as usize, HIGH_DESCRIPTOR, 0];
    // SAFETY: copies a descriptor of the library's own.
    match usize::try_from(unsafe { call(libc::SYS_fcntl, arguments) }) {
        Ok(high) => {
            // SAFETY: the copy stays.
            unsafe { call(libc::SYS_close, [opened, 0, 0, 0]) };
            Ok(high)
        }
        Err(_) => Ok(opened),
    }
}

/// `perf_event_open` of the calling thread.
unsafe fn open_call(attributes: usize, processor: usize, flags: usize) -> isize {
    let result;
    // SAFETY: the caller's.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") libc::SYS_perf_event_open as isize => result,
            in("rdi") attributes,
            in("rsi") 0_usize,
            in("rdx") processor,
            in("r10") usize::MAX,
            in("r8") flags,
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack)
        );
    }
    result
}
