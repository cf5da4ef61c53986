//! Copies of the stacks that a thread told last, by which it finds that it is at one of them again: to compare a stack with a copy takes
//! a fraction of the time of its hash.
//!
//! They are the thread's own: the recorder neither reads nor clears them. What is found here is a key of what lies in memory now, whoever
//! put it there.

use core::cell::UnsafeCell;

/// Words of a copy; longer stacks have none.
const WORDS: usize = 256;
/// Places of calls whose stacks are kept, by their hash.
const SLOTS: usize = 8;
/// Words that are compared together.
const BLOCK: usize = 8;

/// The copies.
#[repr(C)]
#[derive(Debug)]
pub struct StackCopies {
    slots: [UnsafeCell<StackCopy>; SLOTS],
}

// SAFETY: only the thread that has the area uses them, see [`StackCopies::find`].
unsafe impl Sync for StackCopies {}

#[repr(C, align(64))]
#[derive(Debug)]
struct StackCopy {
    words: [u64; WORDS],
    /// 0 where there is none.
    key: u64,
    /// Hash of where the stack was told.
    place: u64,
    length: usize,
}

impl StackCopies {
    #[cfg(test)]
    fn new() -> Self {
        let none = |_| UnsafeCell::new(StackCopy { words: [0; WORDS], key: 0, place: 0, length: 0 });
        StackCopies { slots: core::array::from_fn(none) }
    }

    /// The key of the stack that holds this memory at this place (a hash), where a copy of it is kept. Words below `small` are taken for
    /// equal.
    ///
    /// # Safety
    /// Only the thread that has the area calls this and [`StackCopies::keep`], one at a time.
    #[inline]
    #[must_use]
    pub unsafe fn find(&self, place: u64, memory: &[u64], small: u64) -> Option<u64> {
        // SAFETY: the caller's.
        let copy = unsafe { &*self.slot(place).get() };
        if copy.key == 0 || copy.place != place || copy.length != memory.len() {
            return None;
        }
        are_alike(copy.words.get(..copy.length)?, memory, small).then_some(copy.key)
    }

    /// Keeps a copy, where it is not too long.
    ///
    /// # Safety
    /// As for [`StackCopies::find`].
    pub unsafe fn keep(&self, place: u64, memory: &[u64], key: u64) {
        // SAFETY: the caller's.
        let copy = unsafe { &mut *self.slot(place).get() };
        if let Some(words) = copy.words.get_mut(..memory.len()) {
            words.copy_from_slice(memory);
            (copy.key, copy.place, copy.length) = (key, place, memory.len());
        }
    }

    fn slot(&self, place: u64) -> &UnsafeCell<StackCopy> {
        const MIX: u64 = 0x9e37_79b9_7f4a_7c15;
        let hash = place.wrapping_mul(MIX) >> (u64::BITS - SLOTS.trailing_zeros());
        &self.slots[hash as usize % SLOTS]
    }
}

/// Whether all words are equal, or both small.
#[inline(always)]
fn are_alike(one: &[u64], other: &[u64], small: u64) -> bool {
    let (blocks, rest) = one.as_chunks::<BLOCK>();
    let (other_blocks, other_rest) = other.as_chunks::<BLOCK>();
    blocks
        .iter()
        .zip(other_blocks)
        .all(|(one, other)| are_equal(one, other) || are_words_alike(one, other, small))
        && are_words_alike(rest, other_rest, small)
}

#[inline(never)]
fn are_words_alike(one: &[u64], other: &[u64], small: u64) -> bool {
    one.iter().zip(other).all(|(&one, &other)| one == other || (one < small && other < small))
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn are_equal(one: &[u64; BLOCK], other: &[u64; BLOCK]) -> bool {
    use core::arch::x86_64::{_mm_and_si128, _mm_cmpeq_epi32, _mm_loadu_si128, _mm_movemask_epi8};
    const ALL: i32 = 0xffff;
    // SAFETY: every x86-64 processor has these instructions; each block is four vectors of two words.
    unsafe {
        let equal = |index: usize| {
            let vector = |block: &[u64; BLOCK]| _mm_loadu_si128(block.as_ptr().add(2 * index).cast());
            _mm_cmpeq_epi32(vector(one), vector(other))
        };
        let all = _mm_and_si128(_mm_and_si128(equal(0), equal(1)), _mm_and_si128(equal(2), equal(3)));
        _mm_movemask_epi8(all) == ALL
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn are_equal(one: &[u64; BLOCK], other: &[u64; BLOCK]) -> bool {
    one == other
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const SMALL: u64 = 1 << 16;

    #[test]
    fn a_stack_is_found_again_unless_an_address_in_it_is_another_one() {
        let copies = StackCopies::new();
        for length in [0, 1, 7, 8, 60, WORDS] {
            let stack: Vec<u64> = (0..length as u64).map(|word| 0x5555_0000_1000 + word).collect();
            let place = 77 + length as u64;
            // SAFETY: one thread.
            let find = |stack: &[u64]| unsafe { copies.find(place, stack, SMALL) };
            assert_eq!(find(&stack), None);
            // SAFETY: as above.
            unsafe { copies.keep(place, &stack, 5) };
            assert_eq!(find(&stack), Some(5));
            for index in 0..length {
                let mut changed = stack.clone();
                changed[index] += 1 << 20;
                assert_eq!(find(&changed), None, "{index} of {length}");
            }
            let mut longer = stack.clone();
            longer.push(1);
            assert_eq!(find(&longer), None);
            // SAFETY: as above.
            assert_eq!(unsafe { copies.find(place + 1, &stack, SMALL) }, None);
        }
    }

    #[test]
    fn small_numbers_are_alike() {
        let copies = StackCopies::new();
        let stack = |counter: u64| -> Vec<u64> {
            (0..20).map(|word| if word == 9 { counter } else { 1 << 40 }).collect()
        };
        // SAFETY: one thread.
        unsafe { copies.keep(1, &stack(3), 5) };
        for (counter, found) in [(4, Some(5)), (SMALL - 1, Some(5)), (SMALL, None), (1 << 40, None)] {
            // SAFETY: as above.
            assert_eq!(unsafe { copies.find(1, &stack(counter), SMALL) }, found, "{counter}");
        }
    }

    #[test]
    fn a_stack_that_is_too_long_is_not_kept() {
        let copies = StackCopies::new();
        let stack = vec![1 << 40; WORDS + 1];
        // SAFETY: one thread.
        unsafe {
            copies.keep(1, &stack, 5);
            assert_eq!(copies.find(1, &stack, SMALL), None);
        }
    }
}
