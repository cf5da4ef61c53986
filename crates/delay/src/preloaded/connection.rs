//! The memory that the library shares with `longpole zero`.

use core::ffi::c_int;
use core::ptr;

use super::system::call;
use crate::layout::{DELAY_MAGIC, DELAY_MEMORY_BYTES, DELAY_VARIABLE, DelayMemory};

/// The shared memory that the environment names.
pub(super) fn connect() -> Option<&'static DelayMemory> {
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
