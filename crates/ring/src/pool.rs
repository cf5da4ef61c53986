//! Who has which area.
//!
//! Areas are handed out in order; those that come back are marked in a bit map and handed out again. A thread claims
//! an area, the recorder gives it back when the thread is gone and its last event is read.

use crate::atomic::{AtomicU32, AtomicU64, Ordering};

/// Areas in the shared memory: threads that can be recorded at a time.
pub const AREAS: usize = 16 * 1024;

const WORDS: usize = AREAS / 64;

/// The areas that are in use and those that are free.
#[repr(C)]
#[derive(Debug)]
pub struct AreaPool<const AREA_COUNT: usize = AREAS, const WORD_COUNT: usize = WORDS> {
    /// Areas that were ever handed out.
    used: AtomicU32,
    /// Bits that are set in `free`; may lag behind.
    free_count: AtomicU32,
    free: [AtomicU64; WORD_COUNT],
}

impl<const AREA_COUNT: usize, const WORD_COUNT: usize> AreaPool<AREA_COUNT, WORD_COUNT> {
    /// A pool of unused areas; the all-zero memory is one too.
    #[must_use]
    pub fn new() -> Self {
        AreaPool {
            used: AtomicU32::new(0),
            free_count: AtomicU32::new(0),
            free: core::array::from_fn(|_| AtomicU64::new(0)),
        }
    }

    /// An area for a thread; `None` where all are in use.
    pub fn claim(&self) -> Option<usize> {
        if self.free_count.load(Ordering::Relaxed) > 0
            && let Some(index) = self.claim_again()
        {
            return Some(index);
        }
        let index = self.used.load(Ordering::Relaxed) as usize;
        if index < AREA_COUNT {
            let index = self.used.fetch_add(1, Ordering::Relaxed) as usize;
            if index < AREA_COUNT {
                return Some(index);
            }
            self.used.store(AREA_COUNT as u32, Ordering::Relaxed);
        }
        self.claim_again()
    }

    fn claim_again(&self) -> Option<usize> {
        for (at, word) in self.free.iter().enumerate() {
            let mut bits = word.load(Ordering::Relaxed);
            while bits != 0 {
                let bit = bits & bits.wrapping_neg();
                // Pairs with the recorder's release: the area is clean.
                bits = word.fetch_and(!bit, Ordering::Acquire);
                if bits & bit != 0 {
                    self.free_count.fetch_sub(1, Ordering::Relaxed);
                    return Some(at * 64 + bit.trailing_zeros() as usize);
                }
            }
        }
        None
    }

    /// Gives an area back. Only the recorder, when the area is clean.
    pub fn give_back(&self, index: usize) {
        self.free_count.fetch_add(1, Ordering::Relaxed);
        self.free[index / 64].fetch_or(1 << (index % 64), Ordering::Release);
    }

    /// Areas that were ever handed out: all that the recorder has to look at.
    #[must_use]
    pub fn used(&self) -> usize {
        (self.used.load(Ordering::Acquire) as usize).min(AREA_COUNT)
    }
}

impl<const AREA_COUNT: usize, const WORD_COUNT: usize> Default for AreaPool<AREA_COUNT, WORD_COUNT> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn areas_are_handed_out_once_until_they_come_back() {
        let pool = AreaPool::<128, 2>::new();
        let all: BTreeSet<_> = (0..128).map(|_| pool.claim().expect("128 areas")).collect();
        assert_eq!(all.len(), 128);
        assert_eq!(pool.claim(), None);
        pool.give_back(77);
        assert_eq!((pool.claim(), pool.claim()), (Some(77), None));
        assert_eq!(pool.used(), 128);
    }
}

#[cfg(all(test, loom))]
mod model {
    use loom::sync::Arc;
    use loom::thread;

    use super::*;

    /// Two threads claim while the recorder gives an area back: nobody gets one that another has.
    #[test]
    fn no_interleaving_hands_an_area_out_twice() {
        loom::model(|| {
            let pool = Arc::new(AreaPool::<2, 1>::new());
            let first = pool.claim().expect("two areas");
            let other = Arc::clone(&pool);
            let claimer = thread::spawn(move || (other.claim(), other.claim()));
            pool.give_back(first);
            let (second, third) = claimer.join().unwrap();
            let mine = pool.claim();
            let mut claimed: Vec<_> = [second, third, mine].into_iter().flatten().collect();
            let count = claimed.len();
            claimed.sort_unstable();
            claimed.dedup();
            assert_eq!((claimed.len(), count), (2, 2));
        });
    }
}
