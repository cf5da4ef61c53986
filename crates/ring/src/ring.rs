//! The ring: events from one thread to the recorder.

use crate::atomic::{AtomicU64, Ordering};
use crate::event::{EventWords, length};

/// A ring of `WORDS` words (a power of two) with one writer and one reader.
///
/// The writer stores the words of an event, then moves `head` behind them; the reader copies them, then moves
/// `tail`. Both count words since the beginning and never go back. A writer that is stopped in between has written
/// nothing; a reader that is stopped in between has read nothing.
#[repr(C)]
#[derive(Debug)]
pub struct Ring<const WORDS: usize> {
    head: CacheLineCounter,
    tail: CacheLineCounter,
    words: [AtomicU64; WORDS],
}

/// While it reads, the reader gives room back about every so many words (a power of two, less one).
const RELEASE_MASK: u64 = if cfg!(all(loom, test)) { 1 } else { 2047 };

/// A counter on a cache line of its own.
#[repr(C, align(64))]
#[derive(Debug)]
struct CacheLineCounter(AtomicU64);

impl<const WORDS: usize> Ring<WORDS> {
    const MASK: u64 = WORDS as u64 - 1;

    /// An empty ring; the all-zero memory is one too.
    #[must_use]
    pub fn new() -> Self {
        assert!(WORDS.is_power_of_two());
        let zero = |_| AtomicU64::new(0);
        Ring {
            head: CacheLineCounter(AtomicU64::new(0)),
            tail: CacheLineCounter(AtomicU64::new(0)),
            words: core::array::from_fn(zero),
        }
    }

    /// Writes an event whole, or not at all: `false` where there is no room. Only the ring's one writer calls this.
    #[inline]
    pub fn push(&self, event: &[u64]) -> bool {
        self.push_parts(event, &[])
    }

    /// The same for an event whose words lie in two places.
    #[inline(always)]
    pub fn push_parts(&self, event: &[u64], rest: &[u64]) -> bool {
        let head = self.head.0.load(Ordering::Relaxed);
        // Pairs with the reader's release: what it has read it no longer looks at.
        let tail = self.tail.0.load(Ordering::Acquire);
        let length = (event.len() + rest.len()) as u64;
        if head.wrapping_sub(tail) + length > WORDS as u64 {
            return false;
        }
        let at = (head & Self::MASK) as usize;
        if let Some(places) = self.words.get(at..at + length as usize) {
            let (first, second) = places.split_at(event.len());
            Self::store(first, event);
            Self::store(second, rest);
        } else {
            self.store_around(at, event, rest);
        }
        self.head.0.store(head.wrapping_add(length), Ordering::Release);
        self.prepare(head);
        true
    }

    /// Stores words that go on at the beginning.
    #[cold]
    fn store_around(&self, at: usize, event: &[u64], rest: &[u64]) {
        for (index, &word) in event.iter().chain(rest).enumerate() {
            self.words[(at + index) & Self::MASK as usize].store(word, Ordering::Relaxed);
        }
    }

    #[inline]
    fn store(places: &[AtomicU64], words: &[u64]) {
        for (place, &word) in places.iter().zip(words) {
            place.store(word, Ordering::Relaxed);
        }
    }

    /// Has the processor fetch the line of memory that is written to some events later: the reader has read it last, on
    /// another processor.
    #[inline]
    fn prepare(&self, head: u64) {
        #[cfg(all(target_arch = "x86_64", not(all(loom, test))))]
        {
            const WORDS_AHEAD: u64 = 64;
            let ahead = &self.words[(head.wrapping_add(WORDS_AHEAD) & Self::MASK) as usize];
            // SAFETY: a hint, which changes nothing and needs no processor's feature.
            unsafe {
                core::arch::x86_64::_mm_prefetch::<{ core::arch::x86_64::_MM_HINT_ET0 }>(
                    core::ptr::from_ref(ahead).cast(),
                );
            }
        }
        #[cfg(not(all(target_arch = "x86_64", not(all(loom, test)))))]
        let _ = head;
    }

    /// Words that can still be written, seen from the writer.
    #[must_use]
    pub fn room(&self) -> usize {
        let used = self.head.0.load(Ordering::Relaxed).wrapping_sub(self.tail.0.load(Ordering::Acquire));
        WORDS - (used as usize).min(WORDS)
    }

    /// Whether more than half of the words can still be written, seen from the writer.
    #[must_use]
    pub fn has_spare_room(&self) -> bool {
        self.room() > WORDS / 2
    }

    /// Reads every event that was written before this call began. Only the ring's one reader calls this.
    ///
    /// Words that are no event (the writer's memory was overwritten) end the reading: everything up to the
    /// writer's place is dropped, and `false` is returned.
    pub fn drain(&self, take: &mut impl FnMut(&EventWords)) -> bool {
        let head = self.head.0.load(Ordering::Acquire);
        let mut tail = self.tail.0.load(Ordering::Relaxed);
        // Most rings are empty most of the time; the room for an event is not cheap to clear.
        if head == tail {
            return true;
        }
        let mut intact = head.wrapping_sub(tail) <= WORDS as u64;
        let mut words = EventWords::default();
        while intact && tail != head {
            let first = self.word(tail);
            let count = length(first);
            if count == 0 || count as u64 > head.wrapping_sub(tail) {
                intact = false;
                break;
            }
            words.clear();
            for index in 0..count as u64 {
                words.push(self.word(tail.wrapping_add(index)));
            }
            tail = tail.wrapping_add(count as u64);
            take(&words);
            // The writer need not wait for all of a long reading.
            if tail & RELEASE_MASK < count as u64 {
                self.tail.0.store(tail, Ordering::Release);
            }
        }
        self.tail.0.store(head, Ordering::Release);
        intact
    }

    /// Forgets everything, for the next owner. Only while nobody writes or reads.
    pub fn reset(&self) {
        self.head.0.store(0, Ordering::Relaxed);
        self.tail.0.store(0, Ordering::Relaxed);
    }

    fn word(&self, position: u64) -> u64 {
        self.words[(position & Self::MASK) as usize].load(Ordering::Relaxed)
    }
}

impl<const WORDS: usize> Default for Ring<WORDS> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::Arc;
    use std::thread;

    use proptest::prelude::*;

    use super::*;
    use crate::event::first_word;

    fn event(kind: u8, length: usize, value: u64) -> Vec<u64> {
        let mut words = vec![value; length];
        words[0] = first_word(kind, length, value);
        words
    }

    fn drained<const WORDS: usize>(ring: &Ring<WORDS>) -> Vec<Vec<u64>> {
        let mut found = Vec::new();
        assert!(ring.drain(&mut |words| found.push(words.to_vec())));
        found
    }

    #[test]
    fn a_full_ring_refuses_and_goes_on_when_it_was_read() {
        let ring = Ring::<8>::new();
        assert!(ring.push(&event(1, 5, 7)));
        assert!(!ring.push(&event(1, 4, 8)));
        assert!(ring.push(&event(1, 3, 9)));
        assert_eq!(ring.room(), 0);
        assert_eq!(drained(&ring), [event(1, 5, 7), event(1, 3, 9)]);
        assert!(ring.push(&event(1, 8, 10)));
        assert_eq!(drained(&ring), [event(1, 8, 10)]);
        assert!(drained(&ring).is_empty());
    }

    #[test]
    fn words_that_are_no_event_are_dropped_and_said() {
        let ring = Ring::<8>::new();
        assert!(ring.push(&event(1, 2, 7)));
        assert!(ring.push(&[0, 0, 0]));
        let mut count = 0;
        assert!(!ring.drain(&mut |_| count += 1));
        assert_eq!((count, ring.room()), (1, 8));
    }

    proptest! {
        #[test]
        fn what_is_accepted_comes_out_in_order(steps in prop::collection::vec((1_usize..9, any::<bool>()), 0..200)) {
            let ring = Ring::<16>::new();
            let (mut accepted, mut found) = (Vec::new(), Vec::new());
            for (number, (length, read)) in steps.into_iter().enumerate() {
                let event = event(3, length, number as u64);
                if ring.push(&event) {
                    accepted.push(event);
                }
                if read {
                    found.extend(drained(&ring));
                }
            }
            found.extend(drained(&ring));
            prop_assert_eq!(found, accepted);
        }
    }

    #[test]
    fn a_reader_beside_the_writer_sees_every_event_once_and_whole() {
        let ring = Arc::new(Ring::<64>::new());
        let writer = Arc::clone(&ring);
        let thread = thread::spawn(move || {
            let mut number = 0;
            while number < 20_000 {
                number += u64::from(writer.push(&event(2, 1 + (number % 7) as usize, number)));
            }
        });
        let mut next = 0;
        while next < 20_000 {
            assert!(ring.drain(&mut |words| {
                assert_eq!(words.to_vec(), event(2, 1 + (next % 7) as usize, next));
                next += 1;
            }));
        }
        thread.join().unwrap();
    }
}

#[cfg(all(test, loom))]
mod model {
    use loom::sync::Arc;
    use loom::thread;

    use super::*;
    use crate::event::first_word;

    #[test]
    fn every_interleaving_hands_events_over_whole_and_in_order() {
        loom::model(|| {
            let ring = Arc::new(Ring::<4>::new());
            let writer = Arc::clone(&ring);
            let thread = thread::spawn(move || {
                let mut accepted = Vec::new();
                for number in 0..3_u64 {
                    let event = [first_word(1, 2, number), number];
                    if writer.push(&event) {
                        accepted.push(event.to_vec());
                    }
                }
                accepted
            });
            let mut found = Vec::new();
            for _ in 0..2 {
                assert!(ring.drain(&mut |words| found.push(words.to_vec())));
            }
            let accepted = thread.join().unwrap();
            assert!(ring.drain(&mut |words| found.push(words.to_vec())));
            assert_eq!(found, accepted);
        });
    }
}
