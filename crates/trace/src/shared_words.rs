//! Futexes in memory that processes share, by the numbers that the collector gives them.
//!
//! ```text
//!   process 1   0x7f1000   number 7, 8      one condition has two futexes
//!   process 2   0x7f9000   number 8         the same condition
//! ```

use longpole_event::ProcessId;
use rustc_hash::FxHashMap;

/// Futexes that processes share: each may have another address in each of them.
#[derive(Debug, Default)]
pub(crate) struct SharedWords {
    /// By number: where it was seen first.
    first: FxHashMap<u64, (ProcessId, u64)>,
    /// By where it is: where it, or another futex of the same object, was seen first.
    places: FxHashMap<(ProcessId, u64), (ProcessId, u64)>,
}

impl SharedWords {
    /// A process has the word of this number here.
    pub fn see(&mut self, place: (ProcessId, u64), number: u64) {
        let known = self.first_of(place);
        let first = *self.first.entry(number).or_insert(known);
        self.places.entry(place).or_insert(first);
    }

    /// Where what is at this place was seen first.
    pub fn first_of(&self, place: (ProcessId, u64)) -> (ProcessId, u64) {
        self.places.get(&place).copied().unwrap_or(place)
    }
}
