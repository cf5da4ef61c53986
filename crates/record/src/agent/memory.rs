//! The memory that the agents of a program share with the recorder.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;

use longpole_ring::{Area, HEADER_BYTES, Header, Mode, memory_bytes, stride};

/// A file without a name, mapped.
#[derive(Debug)]
pub(super) struct Memory {
    descriptor: OwnedFd,
    base: NonNull<u8>,
    bytes: usize,
    stride: usize,
}

// SAFETY: the mapping belongs to no thread, and all its words are atomic.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Memory {
    pub(super) fn new(mode: Mode) -> io::Result<Memory> {
        // SAFETY: the name is a terminated text; the kernel makes the descriptor.
        let descriptor = unsafe {
            let descriptor = libc::memfd_create(c"longpole".as_ptr(), libc::MFD_CLOEXEC);
            if descriptor < 0 {
                return Err(io::Error::last_os_error());
            }
            OwnedFd::from_raw_fd(descriptor)
        };
        let bytes = memory_bytes(mode);
        let length = i64::try_from(bytes).expect("a few gigabytes");
        // SAFETY: a new mapping at an address of the kernel's choice; the file is as long as the mapping.
        let base = unsafe {
            if libc::ftruncate(descriptor.as_raw_fd(), length) < 0 {
                return Err(io::Error::last_os_error());
            }
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_NORESERVE,
                descriptor.as_raw_fd(),
                0,
            )
        };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base = NonNull::new(base.cast()).expect("a mapping is nowhere near zero");
        // A recorder with capabilities of its own would else be closed to the program's processes.
        // SAFETY: a plain system call.
        unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 1, 0, 0, 0) };
        Ok(Memory { descriptor, base, bytes, stride: stride(mode) })
    }

    /// A path under which every process of the same user can open the memory while the recorder lives.
    pub(super) fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.descriptor.as_raw_fd())
    }

    pub(super) fn header(&self) -> &Header {
        // SAFETY: the mapping begins with a header, is page-aligned, and lives as long as `self`.
        unsafe { self.base.cast().as_ref() }
    }

    /// The areas that were ever handed out.
    pub(super) fn areas(&self) -> impl Iterator<Item = (usize, &Area)> {
        (0..self.header().pool.used()).map(|index| {
            // SAFETY: the pool hands out no area beyond the mapping; all words of an area are atomic.
            let area = unsafe { self.base.add(HEADER_BYTES + index * self.stride).cast::<Area>().as_ref() };
            (index, area)
        })
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        self.header().close();
        // SAFETY: nobody borrows from the mapping any more.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.bytes) };
    }
}
