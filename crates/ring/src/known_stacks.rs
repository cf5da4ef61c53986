//! Keys of the stacks that a thread remembers to have told.

use crate::atomic::{AtomicU32, AtomicU64, Ordering};

/// Sets of keys.
const SETS: usize = 128;
/// Keys of a set, the latest first: a few stacks that take turns never push each other out, whatever their keys.
const WAYS: usize = 4;

/// The keys, none of which is 0.
#[repr(C)]
#[derive(Debug)]
pub struct KnownStacks {
    /// 1 where there is any.
    has_any: AtomicU32,
    sets: [[AtomicU64; WAYS]; SETS],
}

impl KnownStacks {
    /// None; the all-zero memory is that too.
    pub(crate) fn new() -> Self {
        let none = |_| core::array::from_fn(|_| AtomicU64::new(0));
        KnownStacks { has_any: AtomicU32::new(0), sets: core::array::from_fn(none) }
    }

    /// Keys are odd for stacks and even for texts: the lowest bit tells no two stacks apart.
    fn set(&self, key: u64) -> &[AtomicU64; WAYS] {
        &self.sets[(key >> 1) as usize % SETS]
    }

    /// Whether this stack is known as told.
    #[inline]
    #[must_use]
    pub fn knows(&self, key: u64) -> bool {
        self.set(key).iter().any(|known| known.load(Ordering::Relaxed) == key)
    }

    /// Notes that a stack was told; `false` where it is known as told.
    pub fn tell(&self, key: u64) -> bool {
        if self.knows(key) {
            return false;
        }
        self.has_any.store(1, Ordering::Relaxed);
        let mut key = key;
        for known in self.set(key) {
            key = known.swap(key, Ordering::Relaxed);
        }
        true
    }

    /// Forgets that a stack was told: its event found no room.
    pub fn forget(&self, key: u64) {
        for known in self.set(key) {
            if known.load(Ordering::Relaxed) == key {
                known.store(0, Ordering::Relaxed);
            }
        }
    }

    /// Forgets all. Memory that was never written to is left alone, so that it stays none.
    pub(crate) fn reset(&self) {
        if self.has_any.swap(0, Ordering::Relaxed) != 0 {
            self.sets.iter().flatten().for_each(|key| key.store(0, Ordering::Relaxed));
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// A key of the same set for each number.
    fn key(number: u64) -> u64 {
        (number * SETS as u64 + 5) << 1 | 1
    }

    #[test]
    fn stacks_that_take_turns_are_told_once_whatever_their_keys() {
        let known = KnownStacks::new();
        let told = (0..100).flat_map(|_| 1..=WAYS as u64).filter(|&number| known.tell(key(number))).count();
        assert_eq!(told, WAYS);
    }

    #[test]
    fn the_stack_that_was_told_first_is_forgotten_first() {
        let known = KnownStacks::new();
        (0..=WAYS as u64).for_each(|number| assert!(known.tell(key(number))));
        let numbers = 0..=WAYS as u64;
        assert_eq!(
            numbers.map(|number| known.knows(key(number))).collect::<Vec<_>>(),
            [false, true, true, true, true]
        );
    }

    #[test]
    fn what_found_no_room_is_told_again() {
        let known = KnownStacks::new();
        assert!(known.tell(key(1)));
        known.forget(key(1));
        assert!(known.tell(key(1)));
        known.reset();
        assert!(!known.knows(key(1)));
    }
}
