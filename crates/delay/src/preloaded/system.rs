//! System calls that do not pass the C library: they change no `errno`, and no function of this library stands in for them.

use core::arch::asm;

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

fn timespec(nanoseconds: u64) -> libc::timespec {
    libc::timespec {
        tv_sec: (nanoseconds / 1_000_000_000) as i64,
        tv_nsec: (nanoseconds % 1_000_000_000) as i64,
    }
}

fn time_of(clock: libc::clockid_t) -> u64 {
    let mut time = timespec(0);
    // SAFETY: a valid place for the answer.
    unsafe { call(libc::SYS_clock_gettime, [clock as usize, (&raw mut time) as usize, 0, 0]) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// The thread's CPU time, nanoseconds.
pub(super) fn processor_time() -> u64 {
    time_of(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// Sleeps for so long at least, whatever signals come; how long it was, nanoseconds.
pub(super) fn sleep(nanoseconds: u64) -> u64 {
    let begin = time_of(libc::CLOCK_MONOTONIC);
    let end = timespec(begin + nanoseconds);
    let arguments =
        [libc::CLOCK_MONOTONIC as usize, libc::TIMER_ABSTIME as usize, (&raw const end) as usize, 0];
    // SAFETY: a valid time; the time that is left is not asked for.
    while unsafe { call(libc::SYS_clock_nanosleep, arguments) } == -(libc::EINTR as isize) {}
    time_of(libc::CLOCK_MONOTONIC).saturating_sub(begin)
}
