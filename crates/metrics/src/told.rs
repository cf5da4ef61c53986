//! Waits that threads tell of, as states: who spins for an object by its own word waits as if it was blocked for that, up
//! to where it runs or is woken, whether or not it loses its processor or blocks meanwhile.
//!
//! ```text
//!   states      running | spinning for m | ready | spinning | blocked | ready | running
//!   as waits    running | blocked ································ | ready | running
//! ```
//! Constant time per item; two bits per thread.

use longpole_event::ThreadId;
use longpole_trace::{Cause, State};

use crate::wait_ends::goes_on;

/// Follows the told waits of all threads.
#[derive(Debug, Default)]
pub(crate) struct ToldWaits {
    seats: Vec<Seat>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Seat {
    /// It is about to wait for an object.
    awaits: bool,
    is_told: bool,
}

impl ToldWaits {
    fn seat(&mut self, thread: ThreadId) -> &mut Seat {
        if thread.index() >= self.seats.len() {
            self.seats.resize(thread.index() + 1, Seat::default());
        }
        &mut self.seats[thread.index()]
    }

    /// The thread is about to wait for an object.
    pub fn begin_wait(&mut self, thread: ThreadId) {
        self.seat(thread).awaits = true;
    }

    /// A change of state as waits have it: the state before and the new one. `None`: the thread waits on.
    pub fn enter(&mut self, thread: ThreadId, before: State, state: State) -> Option<(State, State)> {
        const WAITING: State = State::Blocked(Cause::Other);
        let seat = self.seat(thread);
        let awaits = std::mem::take(&mut seat.awaits);
        if seat.is_told && !awaits && goes_on(before, state) {
            return None;
        }
        let before = if seat.is_told { WAITING } else { before };
        seat.is_told = awaits && state == State::Spinning;
        Some((before, if seat.is_told { WAITING } else { state }))
    }
}
