//! The thread-local words of the agent.
//!
//! They are of the initial-exec model: two instructions to find, no allocation, no destructor, safe in a signal handler.
//! Rust offers no such variable, so it is defined in assembly. The library is loaded with the program, never by
//! `dlopen`, so there is room for it.

use core::arch::{asm, global_asm};
use core::cell::Cell;
use core::ptr;

use longpole_ring::Area;

global_asm!(
    ".pushsection .tbss,\"awT\",@nobits",
    ".balign 8",
    ".globl longpole_agent_slot",
    ".hidden longpole_agent_slot",
    ".type longpole_agent_slot, @object",
    ".size longpole_agent_slot, 112",
    "longpole_agent_slot:",
    ".zero 112",
    ".popsection",
);

/// What a thread keeps of the agent.
#[repr(C)]
#[derive(Debug)]
pub struct ThreadSlot {
    /// The thread's area; null before its first event.
    pub area: Cell<*const Area>,
    /// Where on the stack the agent is at work in this thread, else 0: a signal handler that comes now goes unrecorded.
    pub busy: Cell<u64>,
    /// The thread goes unrecorded for good.
    pub is_off: Cell<u32>,
    /// Rounds of destructors that have called the agent's.
    pub rounds: Cell<u32>,
    /// What the thread is about to run in [`crate::hooks::once`].
    pub initialisation: Cell<Option<Initialisation>>,
    /// Calls of MPI that the thread is in.
    pub mpi_calls: Cell<u64>,
    /// Looks of the loop of calls of MPI that the thread is in; 0 where it is in none.
    pub polls: Cell<u64>,
    /// When the first of them began.
    pub polls_since: Cell<u64>,
    /// Ticks of what came between them and may have been an interrupt.
    pub polls_paused: Cell<u64>,
    /// When the last of them ended.
    pub polled_until: Cell<u64>,
    /// The thread's processor time at one of them, in nanoseconds.
    pub polled_processor: Cell<u64>,
    /// The time at that one, in nanoseconds.
    pub polled_elapsed: Cell<u64>,
    /// Nanoseconds for which the thread has waited for room in its ring, and not told so.
    pub room_awaited: Cell<u64>,
    /// Of these on a processor.
    pub room_processor: Cell<u64>,
}

/// A procedure that is run once.
#[derive(Clone, Copy, Debug)]
pub struct Initialisation {
    /// The procedure. (All zeroes are no procedure: so a new thread's slot holds none.)
    pub routine: unsafe extern "C-unwind" fn(),
    /// Address of the word that says whether it was run.
    pub control: u64,
}

const _: () = assert!(size_of::<ThreadSlot>() == 112);

/// The calling thread's slot.
#[inline(always)]
#[must_use]
pub fn slot() -> &'static ThreadSlot {
    let slot: *const ThreadSlot;
    // SAFETY: the variable is defined above, lives as long as its thread, and is of this type; zeroes are a valid
    // value. Only its own thread (and signal handlers on it) gets this reference.
    unsafe {
        asm!(
            "mov {slot}, qword ptr [rip + longpole_agent_slot@GOTTPOFF]",
            "add {slot}, qword ptr fs:[0]",
            slot = out(reg) slot,
            options(pure, readonly, nostack)
        );
        &*slot
    }
}

/// Forgets the thread's area: in a child process, whose threads are new.
pub fn forget() {
    let slot = slot();
    slot.area.set(ptr::null());
    slot.busy.set(0);
    slot.is_off.set(0);
    slot.rounds.set(0);
    slot.initialisation.set(None);
    slot.mpi_calls.set(0);
    slot.polls.set(0);
    slot.room_awaited.set(0);
    slot.room_processor.set(0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_thread_has_its_own_slot() {
        slot().rounds.set(7);
        let other = std::thread::spawn(|| {
            let found = slot().rounds.get();
            slot().rounds.set(8);
            (found, ptr::from_ref(slot()) as usize)
        });
        let (found, address) = other.join().unwrap();
        assert_eq!((found, slot().rounds.get()), (0, 7));
        assert_ne!(address, ptr::from_ref(slot()) as usize);
        forget();
        assert_eq!(slot().rounds.get(), 0);
    }
}
