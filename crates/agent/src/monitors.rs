//! Mutexes with which threads wait for conditions: of these every critical section is told, held or free, since what a
//! thread does in one lets others go on later (metrics.md §1).
//!
//! A mutex is one from the first wait with it on, or from the first signal while it is held. A table of addresses that
//! only grows: an address that is used for something else later costs events that nobody needs.

use core::sync::atomic::{AtomicU64, Ordering};

const BITS: u32 = 12;
const PROBES: usize = 8;

static MUTEXES: [AtomicU64; 1 << BITS] = [const { AtomicU64::new(0) }; 1 << BITS];

fn slots(mutex: u64) -> impl Iterator<Item = &'static AtomicU64> {
    const MIX: u64 = 0x9e37_79b9_7f4a_7c15;
    let first = (mutex.wrapping_mul(MIX) >> (64 - BITS)) as usize;
    (first..first + PROBES).map(|slot| &MUTEXES[slot % MUTEXES.len()])
}

/// Whether threads wait for conditions with this mutex.
#[inline(always)]
#[must_use]
pub fn has(mutex: u64) -> bool {
    for slot in slots(mutex) {
        match slot.load(Ordering::Relaxed) {
            0 => return false,
            found if found == mutex => return true,
            _ => {}
        }
    }
    false
}

/// Marks a mutex that is acquired too often to tell of its sections; addresses of mutexes are even.
const GIVEN_UP: u64 = 1;

/// Whether threads wait for conditions with this mutex, and its sections are no longer told.
#[must_use]
pub fn is_given_up(mutex: u64) -> bool {
    slots(mutex).any(|slot| slot.load(Ordering::Relaxed) == mutex | GIVEN_UP)
}

/// The sections of this mutex are told no longer: they would fill the rings, and other events would be lost.
pub fn give_up(mutex: u64) {
    for slot in slots(mutex) {
        let given_up = mutex | GIVEN_UP;
        if slot.compare_exchange(mutex, given_up, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            return;
        }
    }
}

/// A thread waits with this mutex, or signals. Whether that is new; one that finds no room goes untold.
#[must_use]
pub fn add(mutex: u64) -> bool {
    for slot in slots(mutex) {
        match slot.compare_exchange(0, mutex, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => return true,
            Err(found) if found & !GIVEN_UP == mutex => return false,
            Err(_) => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mutex_is_known_from_its_first_wait_on() {
        assert!(!has(0x1000));
        assert!(add(0x1000));
        assert!(!add(0x1000));
        assert!(has(0x1000) && !has(0x1040));
    }

    #[test]
    fn a_mutex_that_is_given_up_stays_so() {
        assert!(add(0x2000));
        give_up(0x2000);
        assert!(!has(0x2000) && is_given_up(0x2000) && !is_given_up(0x2040));
        assert!(!add(0x2000) && !has(0x2000));
    }
}
