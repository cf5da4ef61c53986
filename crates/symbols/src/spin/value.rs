//! What is known of a value inside a loop: whether it is the same in every round.
//!
//! ```text
//!   fixed      the same in every round
//!   polled     loaded from an address that is fixed or polled: the same unless another thread changes memory
//!   counting   made of counters: what a round adds a fixed step to
//!   moving     anything else: loaded from an address that a counter changes, or computed from its own past
//! ```

use crate::spin::variables::Set;

/// The origin of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ValueOrigin {
    /// It is made of something loaded from where each round loads it, or of a clock.
    pub polled: bool,
    /// The counters that it is made of.
    pub counters: Set,
    /// It is at most one counter, with fixed steps added: what a counter may become.
    pub steady: bool,
    /// It is something else in every round.
    pub moving: bool,
}

impl ValueOrigin {
    pub const FIXED: ValueOrigin = ValueOrigin { polled: false, counters: 0, steady: true, moving: false };
    pub const POLLED: ValueOrigin = ValueOrigin { polled: true, ..ValueOrigin::FIXED };
    pub const MOVING: ValueOrigin = ValueOrigin { moving: true, steady: false, ..ValueOrigin::FIXED };

    /// The value of counters at the beginning of a round.
    pub fn counter(variable: Set) -> Self {
        ValueOrigin { counters: variable, ..ValueOrigin::FIXED }
    }

    /// Either of two values.
    pub fn or(self, other: ValueOrigin) -> ValueOrigin {
        let one_counter = self.counters == 0 || other.counters == 0 || self.counters == other.counters;
        ValueOrigin {
            polled: self.polled || other.polled,
            counters: self.counters | other.counters,
            steady: self.steady && other.steady && one_counter,
            moving: self.moving || other.moving,
        }
    }

    /// What is computed from two values.
    pub fn with(self, other: ValueOrigin) -> ValueOrigin {
        let counters = self.counters | other.counters;
        ValueOrigin { steady: counters == 0, counters, ..self.or(other) }
    }

    /// The outcome of comparing two values: counters may be compared with each other.
    pub fn compared(self, other: ValueOrigin) -> ValueOrigin {
        ValueOrigin { steady: self.steady && other.steady, ..self.with(other) }
    }

    /// Whether it is the same in every round, whatever other threads do.
    pub fn is_fixed(self) -> bool {
        !self.polled && self.repeats()
    }

    /// Whether it is the same in every round unless another thread changes memory.
    pub fn repeats(self) -> bool {
        self.counters == 0 && !self.moving
    }

    /// Whether nothing but another thread, or the time, can change it.
    pub fn is_poll(self) -> bool {
        self.polled && self.repeats()
    }
}
