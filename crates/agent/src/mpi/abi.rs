//! How an implementation of MPI lays out what programs see of it.
//!
//! ```text
//!            handles            status                                 nothing    any source, no process, any tag
//!   Open MPI pointers           source, tag, error, cancelled, bytes   0          −1 −2 −1
//!   MPICH    32-bit numbers     bytes (64 bits), source, tag, error    1          −2 −1 −1
//! ```
//! The implementation says which one it is (`MPI_Get_library_version`), also before it is initialised. Intel MPI and MVAPICH have
//! MPICH's layout. Of any other nothing is read.

use core::ffi::{c_char, c_int};
use core::sync::atomic::{AtomicU8, Ordering};

use longpole_ring::MPI_ANY;

use super::Word;
use crate::openmp::entry::EntryPoint;

/// An implementation's layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MpiAbi {
    /// Open MPI.
    OpenMpi,
    /// MPICH, and those with its layout.
    Mpich,
}

const UNKNOWN: u8 = 1;
const OPEN_MPI: u8 = 2;
const MPICH: u8 = 3;

/// 0 where nobody has asked.
static ABI: AtomicU8 = AtomicU8::new(0);

/// Room that implementations ask for (MPICH the most) for their description of themselves.
const LONGEST_DESCRIPTION: usize = 8192;

/// The implementation that the caller uses; `None` where its layout is not known.
#[inline]
pub(super) fn abi(caller: u64) -> Option<MpiAbi> {
    let known = match ABI.load(Ordering::Relaxed) {
        0 => ask(caller),
        known => known,
    };
    match known {
        OPEN_MPI => Some(MpiAbi::OpenMpi),
        MPICH => Some(MpiAbi::Mpich),
        _ => None,
    }
}

#[cold]
fn ask(caller: u64) -> u8 {
    type GetLibraryVersion = unsafe extern "C-unwind" fn(*mut c_char, *mut c_int) -> c_int;
    static ENTRY: EntryPoint = EntryPoint::new(c"PMPI_Get_library_version");
    let mut text = [0_u8; LONGEST_DESCRIPTION];
    let mut length = 0;
    // SAFETY: the function's own type, and room for what it says.
    let asked = unsafe {
        ENTRY
            .find::<GetLibraryVersion>(caller)
            .map(|(function, _)| function(text.as_mut_ptr().cast(), &raw mut length))
    };
    let found = if asked.is_some() { of_description(&text) } else { UNKNOWN };
    ABI.store(found, Ordering::Relaxed);
    found
}

fn of_description(text: &[u8]) -> u8 {
    const BEGINNINGS: [(&[u8], u8); 4] =
        [(b"Open MPI", OPEN_MPI), (b"MPICH", MPICH), (b"Intel(R) MPI", MPICH), (b"MVAPICH", MPICH)];
    BEGINNINGS.iter().find(|(beginning, _)| text.starts_with(beginning)).map_or(UNKNOWN, |&(_, abi)| abi)
}

/// Words of memory that hold the largest status.
pub(super) const STATUS_WORDS: usize = 3;

/// A status of the agent's own.
pub(super) type OwnStatus = [u64; STATUS_WORDS];

/// What a status says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StatusValues {
    pub(super) source: i32,
    pub(super) tag: i32,
    pub(super) bytes: u64,
    /// The request was cancelled.
    pub(super) is_cancelled: bool,
}

impl StatusValues {
    /// Nothing.
    pub(super) const UNKNOWN: StatusValues =
        StatusValues { source: MPI_ANY, tag: MPI_ANY, bytes: 0, is_cancelled: false };
}

impl MpiAbi {
    /// Whether a program that passes this wants no status.
    pub(super) fn is_ignored(self, status: Word) -> bool {
        match self {
            MpiAbi::OpenMpi => status == 0,
            MpiAbi::Mpich => status == 1,
        }
    }

    /// `MPI_MODE_NOPRECEDE`: the fence that is said to end no accesses need not wait for any process.
    pub(super) fn ends_no_access(self, assertion: i32) -> bool {
        let no_precede = match self {
            MpiAbi::OpenMpi => 2,
            MpiAbi::Mpich => 8192,
        };
        assertion & no_precede != 0
    }

    /// `MPI_LOCK_EXCLUSIVE`.
    pub(super) fn is_exclusive(self, lock: i32) -> bool {
        lock == match self {
            MpiAbi::OpenMpi => 1,
            MpiAbi::Mpich => 234,
        }
    }

    /// A handle as a number that is the same wherever it comes from.
    pub(super) fn handle(self, word: Word) -> u64 {
        match self {
            MpiAbi::OpenMpi => word as u64,
            MpiAbi::Mpich => word as u32 as u64,
        }
    }

    /// Bytes from one handle to the next in an array.
    pub(super) fn handle_bytes(self) -> usize {
        match self {
            MpiAbi::OpenMpi => 8,
            MpiAbi::Mpich => 4,
        }
    }

    /// Bytes from one status to the next in an array.
    pub(super) fn status_bytes(self) -> usize {
        match self {
            MpiAbi::OpenMpi => 24,
            MpiAbi::Mpich => 20,
        }
    }

    /// The handle in memory; 0 where there is no memory.
    ///
    /// # Safety
    /// `at` is null or points to handles, the `index`-th of which is read.
    pub(super) unsafe fn read_handle(self, at: Word, index: usize) -> u64 {
        if at == 0 {
            return 0;
        }
        let at = at + index * self.handle_bytes();
        // SAFETY: the caller's.
        unsafe {
            match self {
                MpiAbi::OpenMpi => (at as *const u64).read_unaligned(),
                MpiAbi::Mpich => u64::from((at as *const u32).read_unaligned()),
            }
        }
    }

    /// What the `index`-th status says.
    ///
    /// # Safety
    /// `at` points to that many statuses that a call has filled in.
    pub(super) unsafe fn read_status(self, at: Word, index: usize) -> StatusValues {
        let at = (at + index * self.status_bytes()) as *const u32;
        // SAFETY: the caller's; both layouts have so many words.
        let word = |index: usize| unsafe { at.add(index).read_unaligned() };
        let bytes = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
        match self {
            MpiAbi::OpenMpi => StatusValues {
                source: word(0).cast_signed(),
                tag: word(1).cast_signed(),
                bytes: bytes(word(4), word(5)),
                is_cancelled: word(3) != 0,
            },
            // The lowest bit of the second word says whether the request was cancelled.
            MpiAbi::Mpich => StatusValues {
                source: word(2).cast_signed(),
                tag: word(3).cast_signed(),
                bytes: bytes(word(0), word(1) >> 1),
                is_cancelled: word(1) & 1 != 0,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn implementations_are_known_by_the_beginning_of_their_description() {
        assert_eq!(of_description(b"Open MPI v4.1.4, package: Debian"), OPEN_MPI);
        assert_eq!(of_description(b"MPICH Version:\t4.0.2"), MPICH);
        assert_eq!(of_description(b"Another MPI"), UNKNOWN);
    }

    #[test]
    fn a_status_is_read_as_each_implementation_lays_it_out() {
        let open: [u32; 6] = [3, 7, 0, 0, 4096, 1];
        let mpich: [u32; 5] = [4096, 3, 3, 7, 0];
        let expected = |bytes, is_cancelled| StatusValues { source: 3, tag: 7, bytes, is_cancelled };
        // SAFETY: statuses.
        unsafe {
            assert_eq!(
                MpiAbi::OpenMpi.read_status(open.as_ptr() as Word, 0),
                expected(4096 + (1 << 32), false)
            );
            assert_eq!(
                MpiAbi::Mpich.read_status(mpich.as_ptr() as Word, 0),
                expected(4096 + (1 << 32), true)
            );
        }
    }
}
