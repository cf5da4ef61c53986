//! How a call's arguments come, by the language of the caller.
//!
//! ```text
//!            numbers and handles    handles                          status        nothing                       first index
//!   C        in the argument        as the implementation has them   as abi says   a number                      0
//!   Fortran  behind the argument    numbers, which `MPI_Comm_f2c`    the same      where `MPI_F_STATUS_IGNORE`   1
//!                                   and the like take to those of C                points to
//! ```
//! A Fortran program's handles are told as those of C: so a program of both languages has one of each thing.

use longpole_ring::{MPI_ANY, MPI_NO_PROCESS};

use super::Word;
use super::abi::{MpiAbi, OwnStatus};
use super::call::ToldCall;
use super::communicators::object;
use crate::openmp::entry::EntryPoint;

/// A caller's language, as far as arguments differ by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Language {
    /// C, and what calls as it does.
    C,
    /// Fortran, with `mpif.h`, `use mpi` or `use mpi_f08`.
    Fortran,
}

type FromFortran = unsafe extern "C-unwind" fn(i32) -> Word;

/// A handle of C for one of Fortran, by the function of this name. MPICH's are the same.
macro_rules! from_fortran {
    ($told:expr, $name:literal, $number:expr) => {{
        static ENTRY: EntryPoint = EntryPoint::new($name);
        match $told.abi {
            MpiAbi::Mpich => $number as u32 as Word,
            // SAFETY: the function's own type; it answers from a table.
            MpiAbi::OpenMpi => unsafe {
                ENTRY.find::<FromFortran>($told.caller).map_or(0, |(function, _)| function($number))
            },
        }
    }};
}

impl ToldCall {
    /// A number.
    #[inline]
    pub(super) fn number(self, word: Word) -> i32 {
        match self.language {
            Language::C => (word as u32).cast_signed(),
            // SAFETY: a Fortran program passes where the number is.
            Language::Fortran => unsafe { self.fortran_number(word, 0) },
        }
    }

    /// A number of 64 bits.
    pub(super) fn wide_number(self, word: Word) -> i64 {
        match self.language {
            Language::C => word.cast_signed() as i64,
            Language::Fortran if word == 0 => 0,
            // SAFETY: a Fortran program passes where the number is.
            Language::Fortran => unsafe { (word as *const i64).read_unaligned() },
        }
    }

    /// # Safety
    /// `at` is null or points to that many numbers.
    unsafe fn fortran_number(self, at: Word, index: usize) -> i32 {
        // SAFETY: the caller's.
        if at == 0 { 0 } else { unsafe { (at as *const i32).add(index).read_unaligned() } }
    }

    /// How many of something: not negative.
    pub(super) fn count(self, word: Word) -> usize {
        usize::try_from(self.number(word)).unwrap_or(0)
    }

    /// A rank as the recorder knows it.
    pub(super) fn rank(self, word: Word) -> i32 {
        let rank = self.number(word);
        match (self.abi, rank) {
            (MpiAbi::OpenMpi, -1) | (MpiAbi::Mpich, -2) => MPI_ANY,
            (MpiAbi::OpenMpi, -2) | (MpiAbi::Mpich, -1) => MPI_NO_PROCESS,
            _ => rank,
        }
    }

    /// A tag as the recorder knows it.
    pub(super) fn tag(self, word: Word) -> i32 {
        match self.number(word) {
            -1 => MPI_ANY,
            tag => tag,
        }
    }

    /// An index that a call has written, from 0; `None` where it stands for none.
    pub(super) fn index(self, written: i32) -> Option<usize> {
        let first = i32::from(self.language == Language::Fortran);
        usize::try_from(written.checked_sub(first)?).ok()
    }

    /// A communicator's handle of C.
    pub(super) fn communicator(self, word: Word) -> Word {
        match self.language {
            Language::C => word,
            Language::Fortran => from_fortran!(self, c"MPI_Comm_f2c", self.number(word)),
        }
    }

    /// The same of the handle that a call has written there.
    pub(super) fn communicator_at(self, at: Word) -> Word {
        match self.language {
            // SAFETY: the call has written it.
            Language::C => unsafe { self.abi.read_handle(at, 0) as Word },
            Language::Fortran => self.communicator(at),
        }
    }

    /// A window's handle of C.
    pub(super) fn window(self, word: Word) -> Word {
        match self.language {
            Language::C => word,
            Language::Fortran => from_fortran!(self, c"MPI_Win_f2c", self.number(word)),
        }
    }

    /// The same of the handle that is there.
    pub(super) fn window_at(self, at: Word) -> Word {
        match self.language {
            // SAFETY: the program's or the call's handle.
            Language::C => unsafe { self.abi.read_handle(at, 0) as Word },
            Language::Fortran => self.window(at),
        }
    }

    /// A group's handle of C.
    pub(super) fn group(self, word: Word) -> Word {
        match self.language {
            Language::C => word,
            Language::Fortran => from_fortran!(self, c"MPI_Group_f2c", self.number(word)),
        }
    }

    /// A datatype's handle of C.
    pub(super) fn datatype(self, word: Word) -> Word {
        match self.language {
            Language::C => word,
            Language::Fortran => from_fortran!(self, c"MPI_Type_f2c", self.number(word)),
        }
    }

    /// The handle of C of the `index`-th of the requests there.
    pub(super) fn request(self, at: Word, index: usize) -> u64 {
        match self.language {
            Language::C => self.c_handle(at, index),
            Language::Fortran => {
                let number = self.fortran_handle(at, index);
                self.abi.handle(from_fortran!(self, c"MPI_Request_f2c", number))
            }
        }
    }

    /// The same of messages that were found.
    pub(super) fn message(self, at: Word, index: usize) -> u64 {
        match self.language {
            Language::C => self.c_handle(at, index),
            Language::Fortran => {
                let number = self.fortran_handle(at, index);
                self.abi.handle(from_fortran!(self, c"MPI_Message_f2c", number))
            }
        }
    }

    fn c_handle(self, at: Word, index: usize) -> u64 {
        // SAFETY: what the program passes to the real function are so many handles, or nothing.
        unsafe { self.abi.read_handle(at, index) }
    }

    fn fortran_handle(self, at: Word, index: usize) -> i32 {
        // SAFETY: as above.
        unsafe { self.fortran_number(at, index) }
    }

    /// Whether a program that passes this wants no status.
    pub(super) fn is_ignored(self, status: Word) -> bool {
        match self.language {
            Language::C => self.abi.is_ignored(status),
            Language::Fortran => status == 0 || ignored_by_fortran(self.caller).contains(&status),
        }
    }

    /// Where a call is to write its status: where the program wants it, else into `own`.
    pub(super) fn status_or(self, status: Word, own: *mut OwnStatus) -> Word {
        if self.is_ignored(status) { own as Word } else { status }
    }
}

/// What Fortran programs pass where they want no status, or no statuses; those of MPICH with `mpi_f08` pass others.
fn ignored_by_fortran(caller: u64) -> [Word; 4] {
    macro_rules! ignored {
        ($($name:literal)*) => {
            [$({
                static ELSEWHERE: EntryPoint = EntryPoint::new($name);
                // SAFETY: a variable of the library, which holds an address.
                object($name, &ELSEWHERE, caller).map_or(0, |at| unsafe { *(at as *const Word) })
            }),*]
        };
    }
    ignored!(c"MPI_F_STATUS_IGNORE" c"MPI_F_STATUSES_IGNORE" c"MPI_F08_STATUS_IGNORE" c"MPI_F08_STATUSES_IGNORE")
}
