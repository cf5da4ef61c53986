//! Who is woken by a release, where the kernel does not tell.
//!
//! A thread asks for something, blocks, and another thread lets it go on. Collectors that see these three, but no wakes,
//! find the woken thread here: who waits for a thing stands in a queue in the order of blocking, as in the kernel's futexes.
//!
//! ```text
//!   A  asks x ── blocks ················ woken by C
//!   B     asks x ── blocks ·············│················· woken by C
//!   C                         releases x (one)     releases x (one)
//! ```
//! Where the kernel woke another thread of the queue than the first, that one is seen on a processor: then it was the one,
//! and the first goes on waiting.

use std::collections::VecDeque;
use std::hash::Hash;

use rustc_hash::FxHashMap;

/// What a thread that asks for something does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum QueueState {
    /// It has not blocked.
    Running,
    /// It stands in the queue.
    Blocked,
    /// A release was meant for it, and it has not been on a processor since.
    Released,
}

/// The queues of all things, by key.
#[derive(Debug)]
pub(crate) struct Queues<Key> {
    asking: FxHashMap<u32, (Key, QueueState)>,
    blocked: FxHashMap<Key, VecDeque<u32>>,
}

impl<Key> Default for Queues<Key> {
    fn default() -> Self {
        Queues { asking: FxHashMap::default(), blocked: FxHashMap::default() }
    }
}

impl<Key: Copy + Eq + Hash> Queues<Key> {
    /// The thread asks for this from now on.
    pub(crate) fn ask(&mut self, tid: u32, key: Key) {
        self.cease(tid);
        self.asking.insert(tid, (key, QueueState::Running));
    }

    /// The thread asks for nothing any more.
    pub(crate) fn cease(&mut self, tid: u32) {
        if let Some((key, QueueState::Blocked)) = self.asking.remove(&tid) {
            self.leave(tid, key);
        }
    }

    /// The thread blocks.
    pub(crate) fn block(&mut self, tid: u32) {
        let Some((key, state)) = self.asking.get_mut(&tid) else { return };
        if *state != QueueState::Blocked {
            *state = QueueState::Blocked;
            self.blocked.entry(*key).or_default().push_back(tid);
        }
    }

    /// `count` of those who wait for this can go on: who.
    pub(crate) fn release(&mut self, key: Key, count: u64) -> Vec<u32> {
        let Some(queue) = self.blocked.get_mut(&key) else { return Vec::new() };
        let count = queue.len().min(usize::try_from(count).unwrap_or(usize::MAX));
        let woken: Vec<u32> = queue.drain(..count).collect();
        if queue.is_empty() {
            self.blocked.remove(&key);
        }
        for tid in &woken {
            if let Some((_, state)) = self.asking.get_mut(tid) {
                *state = QueueState::Released;
            }
        }
        woken
    }

    /// Those who wait for this wait for something else from now on, up to `count` of them.
    pub(crate) fn transfer(&mut self, from: Key, to: Key, count: u64) {
        for tid in self.release(from, count) {
            self.asking.insert(tid, (to, QueueState::Blocked));
            self.blocked.entry(to).or_default().push_back(tid);
        }
    }

    /// The thread is on a processor. If it waited and no release was meant for it, but one was for another thread that
    /// still has no processor, it was this one's: the other goes back to the head of the queue, and is returned.
    pub(crate) fn run(&mut self, tid: u32) -> Option<u32> {
        let (key, state) = *self.asking.get(&tid)?;
        self.asking.insert(tid, (key, QueueState::Running));
        if state != QueueState::Blocked {
            return None;
        }
        self.leave(tid, key);
        let is_other = |(other, asking): (&u32, &(Key, QueueState))| {
            (*asking == (key, QueueState::Released)).then_some(*other)
        };
        // No order of a hash map: the lowest.
        let other = self.asking.iter().filter_map(is_other).min()?;
        self.asking.insert(other, (key, QueueState::Blocked));
        self.blocked.entry(key).or_default().push_front(other);
        Some(other)
    }

    fn leave(&mut self, tid: u32, key: Key) {
        if let Some(queue) = self.blocked.get_mut(&key) {
            queue.retain(|other| *other != tid);
            if queue.is_empty() {
                self.blocked.remove(&key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocked(tids: &[u32]) -> Queues<char> {
        let mut queues = Queues::default();
        for &tid in tids {
            queues.ask(tid, 'x');
            queues.block(tid);
        }
        queues
    }

    #[test]
    fn who_blocked_first_is_woken_first() {
        let mut queues = blocked(&[7, 5, 6]);
        assert_eq!(queues.release('x', 1), [7]);
        assert_eq!(queues.release('y', 1), Vec::<u32>::new());
        assert_eq!(queues.release('x', u64::MAX), [5, 6]);
        assert_eq!(queues.release('x', 1), Vec::<u32>::new());
    }

    #[test]
    fn a_release_is_for_those_who_block_and_nobody_else() {
        let mut queues = blocked(&[7]);
        queues.ask(8, 'x');
        queues.cease(7);
        assert_eq!(queues.release('x', 2), Vec::<u32>::new());
        queues.block(8);
        queues.block(8);
        assert_eq!((queues.release('x', 2), queues.run(8)), (vec![8], None));
    }

    #[test]
    fn who_has_to_wait_again_stands_at_the_end() {
        let mut queues = blocked(&[7, 8]);
        assert_eq!(queues.release('x', 1), [7]);
        queues.run(7);
        queues.block(7);
        assert_eq!(queues.release('x', 2), [8, 7]);
    }

    #[test]
    fn where_another_than_the_first_comes_the_first_goes_on_waiting() {
        let mut queues = blocked(&[7, 8]);
        assert_eq!(queues.release('x', 1), [7]);
        assert_eq!(queues.run(8), Some(7));
        assert_eq!(queues.release('x', 1), [7]);
    }

    #[test]
    fn who_comes_without_any_release_was_woken_by_something_else() {
        let mut queues = blocked(&[7, 8]);
        assert_eq!(queues.run(7), None);
        assert_eq!(queues.release('x', 2), [8]);
    }

    #[test]
    fn who_is_moved_to_another_queue_is_woken_there() {
        let mut queues = blocked(&[7, 8]);
        queues.transfer('x', 'y', 1);
        assert_eq!((queues.release('x', 2), queues.release('y', 2)), (vec![8], vec![7]));
    }
}
