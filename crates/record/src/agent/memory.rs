//! The memory that the agents of a program share with the recorder.
//!
//! The program can write into all of it, whatever it likes. Its length is sealed, and what is read from it is taken for
//! what a stranger says: where the areas and their rings lie the recorder knows by itself.

use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;

use super::keeper::Keeper;
use longpole_ring::{AgentHeader, Area, EventWords, HEADER_BYTES, Mode, RingLength, memory_bytes, stride};

/// A file without a name, mapped.
#[derive(Debug)]
pub(super) struct AgentMemory {
    descriptor: OwnedFd,
    keeper: Option<Keeper>,
    base: NonNull<u8>,
    bytes: usize,
    stride: usize,
    ring: RingLength,
}

// SAFETY: the mapping belongs to no thread, and all its words are atomic.
unsafe impl Send for AgentMemory {}
// SAFETY: as above.
unsafe impl Sync for AgentMemory {}

impl AgentMemory {
    pub(super) fn new(mode: Mode) -> io::Result<AgentMemory> {
        let bytes = memory_bytes(mode);
        let descriptor = sealed_file(bytes)?;
        // SAFETY: a new mapping at an address of the kernel's choice; the file is as long as the mapping.
        let base = unsafe {
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
        let keeper = Keeper::where_needed(descriptor.as_fd());
        Ok(AgentMemory { descriptor, keeper, base, bytes, stride: stride(mode), ring: RingLength::of(mode) })
    }

    /// A path under which every process of the same user can open the memory while the recorder lives.
    pub(super) fn path(&self) -> String {
        let own = || format!("/proc/{}/fd/{}", std::process::id(), self.descriptor.as_raw_fd());
        self.keeper.as_ref().map_or_else(own, Keeper::path)
    }

    pub(super) fn header(&self) -> &AgentHeader {
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

    /// All of it, for tests and the fuzzer, which write into it as a program could.
    #[cfg(any(test, fuzzing))]
    pub(super) fn words(&self) -> &[std::sync::atomic::AtomicU64] {
        // SAFETY: the mapping is page-aligned and lives as long as `self`; all its words are atomic.
        unsafe { std::slice::from_raw_parts(self.base.as_ptr().cast(), self.bytes / 8) }
    }

    /// Reads the events of one of the areas, see [`Area::drain`].
    pub(super) fn drain(&self, area: &Area, take: &mut impl FnMut(&EventWords)) -> bool {
        // SAFETY: it lies in the mapping, in which its ring follows where rings are long.
        unsafe { area.drain(self.ring, take) }
    }

    /// Whether much waits to be read in one of the areas.
    pub(super) fn is_filling(&self, area: &Area) -> bool {
        // SAFETY: as above.
        unsafe { area.is_filling(self.ring) }
    }

    /// Takes one of the areas back.
    pub(super) fn take_back(&self, index: usize, area: &Area) {
        // SAFETY: as above.
        unsafe { area.reset(self.ring) };
        self.header().pool.give_back(index);
    }
}

/// A file without a name whose length nobody can change: a mapping of it never loses its pages.
fn sealed_file(bytes: usize) -> io::Result<OwnedFd> {
    let check = |result: libc::c_int| if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) };
    let length = i64::try_from(bytes).expect("a few gigabytes");
    let seals = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;
    // SAFETY: the name is a terminated text; the kernel makes the descriptor.
    unsafe {
        let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
        let descriptor = OwnedFd::from_raw_fd(check(libc::memfd_create(c"longpole".as_ptr(), flags))?);
        check(libc::ftruncate(descriptor.as_raw_fd(), length))?;
        check(libc::fcntl(descriptor.as_raw_fd(), libc::F_ADD_SEALS, seals))?;
        Ok(descriptor)
    }
}

impl Drop for AgentMemory {
    fn drop(&mut self) {
        self.header().close();
        // SAFETY: nobody borrows from the mapping any more.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.bytes) };
    }
}
