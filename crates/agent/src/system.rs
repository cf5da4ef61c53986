//! System calls without libc: they change no `errno` and are no cancellation points.

use core::arch::asm;
use core::ffi::CStr;

/// A system call; a result from −4095 to −1 is an error number, negated.
///
/// # Safety
/// As the kernel asks for the call.
#[inline]
pub unsafe fn call(number: libc::c_long, arguments: [usize; 6]) -> isize {
    let [a, b, c, d, e, f] = arguments;
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
            in("r8") e,
            in("r9") f,
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack)
        );
    }
    result
}

/// The calling process.
#[must_use]
pub fn pid() -> u32 {
    // SAFETY: no arguments.
    unsafe { call(libc::SYS_getpid, [0; 6]) as u32 }
}

/// Lets other threads have the processor.
pub fn give_way() {
    // SAFETY: no arguments.
    unsafe { call(libc::SYS_sched_yield, [0; 6]) };
}

/// The calling thread.
#[must_use]
pub fn tid() -> u32 {
    // SAFETY: no arguments.
    unsafe { call(libc::SYS_gettid, [0; 6]) as u32 }
}

/// Opens a file for reading and writing; it closes at an execution.
#[must_use]
pub fn open(path: &CStr) -> Option<usize> {
    let flags = (libc::O_RDWR | libc::O_CLOEXEC | libc::O_NONBLOCK | libc::O_NOCTTY) as usize;
    // SAFETY: the path ends with a zero.
    let descriptor =
        unsafe { call(libc::SYS_openat, [libc::AT_FDCWD as usize, path.as_ptr() as usize, flags, 0, 0, 0]) };
    usize::try_from(descriptor).ok()
}

/// Whether the file can be opened for reading now, as a loader opens a library.
#[must_use]
pub fn is_readable(path: &CStr) -> bool {
    let flags = (libc::O_RDONLY | libc::O_CLOEXEC) as usize;
    // SAFETY: the path ends with a zero.
    let descriptor =
        unsafe { call(libc::SYS_openat, [libc::AT_FDCWD as usize, path.as_ptr() as usize, flags, 0, 0, 0]) };
    usize::try_from(descriptor).map(close).is_ok()
}

/// Whether the file is memory whose length stays what it is.
#[must_use]
pub fn is_sealed(descriptor: usize) -> bool {
    const SEALS: isize = (libc::F_SEAL_SHRINK | libc::F_SEAL_GROW) as isize;
    // SAFETY: a question about a descriptor; files of other kinds give an error number.
    let seals = unsafe { call(libc::SYS_fcntl, [descriptor, libc::F_GET_SEALS as usize, 0, 0, 0, 0]) };
    seals >= 0 && seals & SEALS == SEALS
}

/// Closes a descriptor.
pub fn close(descriptor: usize) {
    // SAFETY: the caller gives a descriptor of its own.
    unsafe { call(libc::SYS_close, [descriptor, 0, 0, 0, 0, 0]) };
}

/// Maps `length` bytes of a file, shared; `None` where the system refuses.
#[must_use]
pub fn map(descriptor: usize, offset: usize, length: usize) -> Option<*mut u8> {
    let protection = (libc::PROT_READ | libc::PROT_WRITE) as usize;
    // SAFETY: a new mapping at an address of the kernel's choice touches no memory in use.
    let address = unsafe {
        call(libc::SYS_mmap, [0, length, protection, libc::MAP_SHARED as usize, descriptor, offset])
    };
    if address <= 0 {
        return None;
    }
    // The recorder's memory is no part of what went wrong in a program that leaves a core file.
    // SAFETY: the new mapping.
    unsafe { call(libc::SYS_madvise, [address as usize, length, libc::MADV_DONTDUMP as usize, 0, 0, 0]) };
    Some(address as *mut u8)
}

/// Undoes a part of a mapping.
///
/// # Safety
/// Nobody uses that memory any more.
pub unsafe fn unmap(address: *mut u8, length: usize) {
    // SAFETY: the caller's.
    unsafe { call(libc::SYS_munmap, [address as usize, length, 0, 0, 0, 0]) };
}

/// A core dump of the program does not hold this mapping.
pub fn leave_out_of_core_dumps(address: *mut u8, length: usize) {
    // SAFETY: advice on a mapping of the agent's own.
    unsafe { call(libc::SYS_madvise, [address as usize, length, libc::MADV_DONTDUMP as usize, 0, 0, 0]) };
}

/// Ends the process.
pub fn exit(status: i32) {
    // SAFETY: a plain system call.
    unsafe { call(libc::SYS_exit_group, [status as usize, 0, 0, 0, 0, 0]) };
}

/// Ends the process: only after a fault of the agent's own.
pub fn abort() -> ! {
    loop {
        // SAFETY: plain system calls.
        unsafe {
            call(libc::SYS_kill, [pid() as usize, libc::SIGABRT as usize, 0, 0, 0, 0]);
            call(libc::SYS_exit_group, [134, 0, 0, 0, 0, 0]);
        }
    }
}
