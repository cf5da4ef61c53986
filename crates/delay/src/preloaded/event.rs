//! The perf event that counts the running time of each thread, and raises SIGTRAP in it.

use core::arch::asm;

use super::system::call;

/// Descriptors from here on are hardly used by programs.
const HIGH_DESCRIPTOR: usize = 900;

/// `PERF_EVENT_IOC_ENABLE`.
pub(super) const ENABLE: usize = 0x2400;

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
pub(super) fn open_event(period: u64, is_user_only: bool) -> Result<usize, u64> {
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
