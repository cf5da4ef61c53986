//! Stacks of threads: memory of their own, also where a thread gets the stack of one that has ended.
//!
//! ```text
//!   thread 2   ==== ends                the C library keeps the stack, and gives it to thread 3. Nothing in the streams orders the two,
//!   thread 3            begins ====     so the simulation may run them side by side; their data is different all the same
//! ```
//! Accesses to a stack that another thread had too get addresses that no program has.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

/// Bits of an address that programs use.
const USED_BITS: u32 = 48;

/// The part of the address space that a thread has for its stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ThreadStack {
    lowest: u64,
    end: u64,
    /// What the addresses of its data have besides; 0 of the first thread with this stack.
    mark: u64,
}

impl ThreadStack {
    fn has(&self, address: u64) -> bool {
        (self.lowest..self.end).contains(&address)
    }
}

/// Who had which stack last.
#[derive(Debug, Default)]
pub(crate) struct ThreadStacks {
    latest: BTreeMap<u64, ThreadStack>,
    /// By thread: streams are read more than once.
    known: FxHashMap<u32, ThreadStack>,
    are_reused: bool,
}

impl ThreadStacks {
    /// The thread begins with this stack; where it is the first one, a reading begins.
    pub(crate) fn begin(&mut self, thread: u32, lowest: u64, size: u64) -> ThreadStack {
        if thread == 0 {
            self.latest.clear();
            self.are_reused = false;
        }
        let end = lowest.saturating_add(size);
        let overlaps = |stack: &ThreadStack| lowest < stack.end && stack.lowest < end;
        let others: Vec<u64> =
            self.latest.values().filter(|&stack| overlaps(stack)).map(|stack| stack.lowest).collect();
        let mark = if others.is_empty() { 0 } else { u64::from(thread + 1) << USED_BITS };
        others.iter().for_each(|lowest| _ = self.latest.remove(lowest));
        let stack = *self.known.entry(thread).or_insert(ThreadStack { lowest, end, mark });
        self.are_reused |= stack.mark > 0;
        if size > 0 {
            self.latest.insert(lowest, stack);
        }
        stack
    }

    /// The address of the data that a thread with this stack means; on the stack of another one it is the latest one's.
    pub(crate) fn address_for(&self, own: &ThreadStack, address: u64) -> u64 {
        if own.has(address) {
            return address | own.mark;
        }
        if !self.are_reused {
            return address;
        }
        let other = self.latest.range(..=address).next_back().filter(|(_, stack)| stack.has(address));
        address | other.map_or(0, |(_, stack)| stack.mark)
    }
}

/// The address as the program has it.
pub(crate) const fn program_address(address: u64) -> u64 {
    address & ((1 << USED_BITS) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thread_has_data_of_its_own_on_a_stack_that_was_used_before() {
        let mut stacks = ThreadStacks::default();
        let first = stacks.begin(1, 0x1000, 0x1000);
        let apart = stacks.begin(2, 0x4000, 0x1000);
        assert_eq!(stacks.address_for(&apart, 0x1800), 0x1800);
        let second = stacks.begin(3, 0x1000, 0x1000);
        let third = stacks.begin(4, 0x1800, 0x2000);
        let [a, b, c] = [first, second, third].map(|own| stacks.address_for(&own, 0x1900));
        assert!(a == 0x1900 && b != a && c != a && c != b, "{a:#x} {b:#x} {c:#x}");
        assert_eq!([a, b, c].map(program_address), [0x1900; 3]);
        // Another thread means the latest.
        assert_eq!(stacks.address_for(&apart, 0x1900), c);
        assert_eq!(stacks.address_for(&apart, 0x4100), 0x4100);
        assert_eq!(stacks.address_for(&first, 0x5000), 0x5000);
    }

    #[test]
    fn a_second_reading_gives_the_same_addresses() {
        let mut stacks = ThreadStacks::default();
        let mut read =
            || [(0, 0x9000), (1, 0x1000), (2, 0x1000)].map(|(thread, at)| stacks.begin(thread, at, 0x1000));
        assert_eq!(read(), read());
    }

    #[test]
    fn a_thread_whose_stack_is_not_known_has_none() {
        let mut stacks = ThreadStacks::default();
        let unknown = [1, 2].map(|thread| stacks.begin(thread, 0, 0));
        assert_eq!(unknown.map(|own| stacks.address_for(&own, 0)), [0; 2]);
    }
}
