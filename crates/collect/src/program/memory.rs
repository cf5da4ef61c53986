//! The memory that programs and collectors put their metrics into.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::ptr::NonNull;
use std::sync::atomic::Ordering::{Relaxed, Release};

use super::memory_socket::MemorySocket;
use longpole_runtime::interface::series::{self as layout, FILE, MAGIC, VARIABLE, VERSION};

/// A file without a name in any folder, mapped. It can neither shrink nor grow: a program that would cut it off would
/// end the recorder.
#[derive(Debug)]
pub(super) struct MappedSeriesMemory {
    /// Closed before the descriptor that is handed out there; none where the system has no such sockets.
    _door: Option<MemorySocket>,
    place: String,
    _descriptor: OwnedFd,
    base: NonNull<layout::SeriesMemory>,
}

// SAFETY: the mapping belongs to no thread, and all its words are atomic.
unsafe impl Send for MappedSeriesMemory {}

impl MappedSeriesMemory {
    /// Makes it, empty.
    ///
    /// # Errors
    /// Where the system has no such files, or no room.
    pub(super) fn new() -> io::Result<MappedSeriesMemory> {
        let descriptor = sealed_file()?;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let bytes = size_of::<layout::SeriesMemory>();
        let (none, file) = (std::ptr::null_mut(), descriptor.as_raw_fd());
        // SAFETY: a new mapping at an address of the kernel's choice; the file is as long as the mapping.
        let base = unsafe { libc::mmap(none, bytes, access, libc::MAP_SHARED, file, 0) };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base = NonNull::new(base.cast()).expect("a mapping is nowhere near zero");
        let path = format!("/proc/{}/fd/{file}", std::process::id());
        let name = format!("longpole-series-{}-{file}", std::process::id());
        let place = format!("{path}:{name}:{}", secret()?);
        let door = MemorySocket::open(&name, place.clone(), file).ok();
        let memory = MappedSeriesMemory { _door: door, place, _descriptor: descriptor, base };
        let header = &memory.words().header;
        header.recorder.store(std::process::id(), Relaxed);
        header.size.store(u32::try_from(bytes).expect("about a megabyte"), Relaxed);
        header.version.store(VERSION, Relaxed);
        header.magic.store(MAGIC, Release);
        Ok(memory)
    }

    /// What tells programs where it is, while the recorder lives.
    pub(super) fn variable(&self) -> (OsString, OsString) {
        (OsString::from_vec(VARIABLE.to_bytes().to_vec()), self.place.clone().into())
    }

    /// All of it. Other processes write there whatever they like.
    pub(super) fn words(&self) -> &layout::SeriesMemory {
        // SAFETY: the mapping is page-aligned, as long as this, and lives as long as `self`; all words are atomic.
        unsafe { self.base.as_ref() }
    }
}

impl Drop for MappedSeriesMemory {
    fn drop(&mut self) {
        // SAFETY: nobody borrows from the mapping any more.
        unsafe { libc::munmap(self.base.as_ptr().cast(), size_of::<layout::SeriesMemory>()) };
    }
}

/// What other users, who can see the socket's name, cannot guess.
fn secret() -> io::Result<String> {
    let mut bytes = [0_u8; 16];
    // SAFETY: the kernel writes at most the buffer's length.
    let length = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) };
    if usize::try_from(length) != Ok(bytes.len()) {
        return Err(io::Error::last_os_error());
    }
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn sealed_file() -> io::Result<OwnedFd> {
    let check = |result: libc::c_int| if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) };
    let length = i64::try_from(size_of::<layout::SeriesMemory>()).expect("about a megabyte");
    let seals = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;
    // SAFETY: the name is a terminated text; the kernel makes the descriptor.
    unsafe {
        let file = check(libc::memfd_create(FILE.as_ptr(), libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING))?;
        let file = OwnedFd::from_raw_fd(file);
        check(libc::ftruncate(file.as_raw_fd(), length))?;
        check(libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, seals))?;
        Ok(file)
    }
}
