//! Communicators: what tells one from another in all processes of a job, and who is in them.
//!
//! All that is asked for here an implementation answers without any other process.

use core::ffi::{CStr, c_char, c_int};

use longpole_ring::{MPI_ANY, RingEventKind, event, event_in};

use super::Word;
use super::abi::MpiAbi;
use super::call::ToldCall;
use crate::openmp::entry::{EntryPoint, symbol};

/// Members whose ranks are told; of larger communicators only the size is.
pub(super) const MOST_MEMBERS: usize = 512;
const FIXED: usize = 5;
/// MPICH's number for `MPI_COMM_WORLD`.
const MPICH_WORLD: Word = 0x4400_0000;
/// As [`MPICH_WORLD`], of `MPI_COMM_SELF`.
const MPICH_OWN: Word = 0x4400_0001;

type Ask2 = unsafe extern "C-unwind" fn(Word, *mut Word) -> c_int;
type Translate = unsafe extern "C-unwind" fn(Word, c_int, *const c_int, Word, *mut c_int) -> c_int;
type Free = unsafe extern "C-unwind" fn(*mut Word) -> c_int;

/// What a function of two arguments writes, which is one word at most; `None` where it fails or is not there.
pub(super) fn asked(entry: &EntryPoint, caller: u64, handle: Word) -> Option<Word> {
    let mut answer: Word = 0;
    // SAFETY: the functions asked have two arguments, and write a word at most.
    let result = unsafe { entry.find::<Ask2>(caller).map(|(function, _)| function(handle, &raw mut answer)) };
    (result == Some(0)).then_some(answer)
}

/// Asks the function of this name.
macro_rules! ask {
    ($caller:expr, $name:literal, $handle:expr) => {{
        static ENTRY: EntryPoint = EntryPoint::new($name);
        $crate::mpi::communicators::asked(&ENTRY, $caller, $handle)
    }};
}

pub(super) use ask;

impl ToldCall {
    /// The communicator of all processes of the job; `None` where it is not found.
    pub(super) fn world(self) -> Option<Word> {
        match self.abi {
            MpiAbi::Mpich => Some(MPICH_WORLD),
            MpiAbi::OpenMpi => {
                static WORLD: EntryPoint = EntryPoint::new(c"ompi_mpi_comm_world");
                object(c"ompi_mpi_comm_world", &WORLD, self.caller)
            }
        }
    }

    /// The process has joined its job.
    pub(super) fn tell_world(self) {
        let Some(world) = self.world() else { return };
        self.tell_communicator(world, 0);
        if let Some(own) = self.own() {
            self.tell_communicator(own, world);
        }
    }

    /// The communicator of this process alone.
    fn own(self) -> Option<Word> {
        match self.abi {
            MpiAbi::Mpich => Some(MPICH_OWN),
            MpiAbi::OpenMpi => {
                static OWN: EntryPoint = EntryPoint::new(c"ompi_mpi_comm_self");
                object(c"ompi_mpi_comm_self", &OWN, self.caller)
            }
        }
    }

    /// A call has made a communicator of another one: where this process is in it, tell of it.
    pub(super) fn tell_made(self, made: Word, parent: Word) {
        self.tell_communicator(made, parent);
    }

    fn tell_communicator(self, handle: Word, parent: Word) {
        let caller = self.caller;
        // The handle that stands for none gives an error, which must not reach the program's handler.
        if self.is_none(handle) {
            return;
        }
        let (Some(rank), Some(size)) =
            (ask!(caller, c"PMPI_Comm_rank", handle), ask!(caller, c"PMPI_Comm_size", handle))
        else {
            return;
        };
        let (rank, size) = (rank as u32, size as u32);
        let mut words = [0_u64; FIXED + MOST_MEMBERS / 2];
        let members = if parent == 0 { 0 } else { self.members(handle, size as usize, &mut words[FIXED..]) };
        words[2] = self.abi.handle(parent);
        words[3] = u64::from(rank) | u64::from(size) << 32;
        words[4] = job();
        let length = FIXED + members.div_ceil(2);
        let me = self.thread();
        event_in(&mut words, length, RingEventKind::Communicator, self.abi.handle(handle), me.now());
        me.with(|area| area.push(&words[..length]));
        if parent != 0 {
            self.tell_neighbours(handle, rank);
        }
    }

    /// The members of a communicator have made a window.
    pub(super) fn tell_window(self, handle: Word, communicator: Word) {
        let (me, parent) = (self.thread(), self.abi.handle(communicator));
        let event = event::<3>(RingEventKind::Window, self.abi.handle(handle), me.now(), &[parent]);
        me.with(|area| area.push(&event));
    }

    /// The call that the thread is in is about these members of the window. Groups of more than there is room for are not told.
    #[inline(never)]
    pub(super) fn tell_addressed(self, group: Word, window: Word) {
        static TRANSLATE: EntryPoint = EntryPoint::new(c"PMPI_Group_translate_ranks");
        static FREE: EntryPoint = EntryPoint::new(c"PMPI_Group_free");
        let caller = self.caller;
        let Some(size) = ask!(caller, c"PMPI_Group_size", group).filter(|&size| size <= MOST_MEMBERS) else {
            return;
        };
        let Some(mut all) = ask!(caller, c"PMPI_Win_get_group", window) else { return };
        let own: [c_int; MOST_MEMBERS] = core::array::from_fn(|rank| rank as c_int);
        let mut ranks = [MPI_ANY; MOST_MEMBERS];
        // SAFETY: the functions' own types; both arrays are as long as the group is large.
        unsafe {
            if let Some((translate, _)) = TRANSLATE.find::<Translate>(caller) {
                translate(group, size as c_int, own.as_ptr(), all, ranks.as_mut_ptr());
            }
            if let Some((free, _)) = FREE.find::<Free>(caller) {
                free(&raw mut all);
            }
        }
        let (me, subject) = (self.thread(), self.abi.handle(window));
        for rank in &ranks[..size] {
            let rest = [u64::from(rank.cast_unsigned())];
            let event = event::<3>(RingEventKind::Addresses, subject, me.now(), &rest);
            me.with(|area| area.push(&event));
        }
    }

    fn is_none(self, handle: Word) -> bool {
        const MPICH_NONE: u64 = 0x0400_0000;
        match self.abi {
            MpiAbi::Mpich => self.abi.handle(handle) == MPICH_NONE,
            MpiAbi::OpenMpi => {
                static NONE: EntryPoint = EntryPoint::new(c"ompi_mpi_comm_null");
                handle == 0 || object(c"ompi_mpi_comm_null", &NONE, self.caller) == Some(handle)
            }
        }
    }

    /// The ranks that the members have in the job, two a word. Gives how many.
    #[inline(never)]
    fn members(self, handle: Word, size: usize, into: &mut [u64]) -> usize {
        static TRANSLATE: EntryPoint = EntryPoint::new(c"PMPI_Group_translate_ranks");
        static FREE: EntryPoint = EntryPoint::new(c"PMPI_Group_free");
        let caller = self.caller;
        if size > MOST_MEMBERS {
            return 0;
        }
        let Some(world) = self.world() else { return 0 };
        let (Some(mut group), Some(mut all)) =
            (ask!(caller, c"PMPI_Comm_group", handle), ask!(caller, c"PMPI_Comm_group", world))
        else {
            return 0;
        };
        let own: [c_int; MOST_MEMBERS] = core::array::from_fn(|rank| rank as c_int);
        let mut ranks = [MPI_ANY; MOST_MEMBERS];
        // SAFETY: the functions' own types; both arrays are as long as the communicator is large.
        let translated = unsafe {
            let translate = TRANSLATE.find::<Translate>(caller);
            let translated = translate
                .map(|(translate, _)| translate(group, size as c_int, own.as_ptr(), all, ranks.as_mut_ptr()));
            if let Some((free, _)) = FREE.find::<Free>(caller) {
                free(&raw mut group);
                free(&raw mut all);
            }
            translated
        };
        if translated != Some(0) {
            return 0;
        }
        for (index, &rank) in ranks[..size].iter().enumerate() {
            into[index / 2] |= u64::from(rank.cast_unsigned()) << (index % 2 * 32);
        }
        size
    }
}

/// The address of an object of a library. A program that names it may have it in its own memory, where all others find it
/// too: so it is looked for in the program first, not behind the agent.
pub(super) fn object(name: &CStr, elsewhere: &EntryPoint, caller: u64) -> Option<Word> {
    let found = symbol(libc::RTLD_DEFAULT, name) as Word;
    if found != 0 {
        return Some(found);
    }
    // SAFETY: an address, which is not called.
    unsafe { elsewhere.find::<Word>(caller).map(|(address, _)| address) }
}

/// What the processes of one job have in common, and no other job has.
fn job() -> u64 {
    /// Launchers' own names, and what recorders of one run say, each of which may be the parent of one rank.
    const NAMES: [&[&CStr]; 2] =
        [&[c"PMIX_NAMESPACE", c"SLURM_JOB_ID", c"SLURM_STEP_ID"], &[c"LONGPOLE_JOB"]];
    if let Some(hash) = NAMES.into_iter().find_map(hash_of_variables) {
        return hash;
    }
    // Processes that one launcher has started on this machine.
    // SAFETY: no arguments.
    let parent = unsafe { libc::getppid() };
    parent.to_le_bytes().into_iter().fold(FIRST_HASH, mix)
}

/// Of what these variables say; `None` where none of them is set.
fn hash_of_variables(names: &[&CStr]) -> Option<u64> {
    let (mut hash, mut is_named) = (FIRST_HASH, false);
    for name in names {
        // SAFETY: strings; what the environment holds stays while it is read.
        let mut at: *const c_char = unsafe { libc::getenv(name.as_ptr()) };
        if at.is_null() {
            continue;
        }
        is_named = true;
        // SAFETY: as above.
        while let byte @ 1.. = unsafe { *at } as u8 {
            hash = mix(hash, byte);
            // SAFETY: this was not the end.
            at = unsafe { at.add(1) };
        }
    }
    is_named.then_some(hash)
}

const FIRST_HASH: u64 = 0xcbf2_9ce4_8422_2325;

fn mix(hash: u64, byte: u8) -> u64 {
    (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
}
