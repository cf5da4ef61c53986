//! Memory that threads have one after the other: each has data of its own there.
//!
//! ```text
//!   thread 2   malloc p ==== free p              nothing in the streams orders the two, so the simulation may run them side by side;
//!   thread 3                     malloc p ====   the same with the stack of a thread that has ended
//! ```
//! Accesses to memory that another thread had before get addresses that no program has. Memory that a thread gets again stays the same.
//!
//! What it cannot see: which data a thread means that has a pointer into memory of another one, where that was given to a third one
//! meanwhile. It is taken for the latest.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

/// Bits of an address that programs use.
const USED_BITS: u32 = 48;

/// A stack or an allocation.
#[derive(Clone, Copy, Debug)]
struct MemoryRegion {
    end: u64,
    thread: u32,
    /// What the addresses of its data have besides; 0 of the first thread that has the memory.
    mark: u64,
    is_free: bool,
}

/// Where no other region than one begins or ends, and its mark.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MarkedSpan {
    lowest: u64,
    end: u64,
    mark: u64,
    /// Until when that is so.
    change: u64,
}

/// Who has which memory.
#[derive(Debug, Default)]
pub(crate) struct MemoryOwners {
    /// The latest regions, by their lowest address; they do not overlap.
    latest: BTreeMap<u64, MemoryRegion>,
    /// Those of each thread that others have taken since.
    older: FxHashMap<u32, BTreeMap<u64, MemoryRegion>>,
    /// Changes so far.
    changes: u64,
    are_reused: bool,
}

impl MemoryOwners {
    /// The first thread begins: so does a reading of the streams.
    pub(crate) fn clear(&mut self) {
        let changes = self.changes + 1;
        *self = MemoryOwners { changes, ..MemoryOwners::default() };
    }

    /// The thread gets this memory.
    pub(crate) fn take(&mut self, thread: u32, lowest: u64, size: u64) {
        let end = lowest.saturating_add(size);
        if size == 0 || end > 1 << USED_BITS {
            return;
        }
        let before = self.latest.range(..end).rev();
        let others: Vec<(u64, MemoryRegion)> =
            before.take_while(|(_, region)| region.end > lowest).map(|(&at, &region)| (at, region)).collect();
        let own = others.first().map_or(0, |(_, region)| region.mark);
        let is_others = others.iter().any(|(_, region)| region.thread != thread);
        let mark = if is_others { u64::from(thread + 1) << USED_BITS } else { own };
        for (at, region) in others {
            self.latest.remove(&at);
            if region.thread != thread && !region.is_free {
                self.older.entry(region.thread).or_default().insert(at, region);
            }
        }
        if let Some(older) = self.older.get_mut(&thread) {
            older.retain(|&at, region| at >= end || region.end <= lowest);
        }
        self.latest.insert(lowest, MemoryRegion { end, thread, mark, is_free: false });
        self.are_reused |= mark > 0;
        self.changes += 1;
    }

    /// The thread gives memory back.
    pub(crate) fn free(&mut self, thread: u32, lowest: u64) {
        let own = self.older.get_mut(&thread).and_then(|older| older.remove(&lowest));
        if own.is_none()
            && let Some(region) = self.latest.get_mut(&lowest)
        {
            region.is_free = true;
        }
        self.changes += 1;
    }

    /// The address of the data that the thread means; `last` is what the thread's access before this one found.
    pub(crate) fn address_for(&self, thread: u32, address: u64, last: &mut MarkedSpan) -> u64 {
        if !self.are_reused {
            return address;
        }
        if last.change != self.changes || !(last.lowest..last.end).contains(&address) {
            *last = self.span(thread, address);
        }
        address | last.mark
    }

    fn span(&self, thread: u32, address: u64) -> MarkedSpan {
        let mut span = MarkedSpan { lowest: 0, end: u64::MAX, mark: 0, change: self.changes };
        let older = self.older.get(&thread);
        for regions in older.into_iter().chain([&self.latest]) {
            let below = regions.range(..=address).next_back();
            if let Some((&lowest, &MemoryRegion { end, mark, .. })) = below {
                if end > address {
                    return MarkedSpan {
                        lowest: lowest.max(span.lowest),
                        end: end.min(span.end),
                        mark,
                        ..span
                    };
                }
                span.lowest = span.lowest.max(end);
            }
            if let Some((&above, _)) = regions.range(address.saturating_add(1)..).next() {
                span.end = span.end.min(above);
            }
        }
        span
    }
}

/// The address as the program has it.
pub(crate) const fn program_address(address: u64) -> u64 {
    address & ((1 << USED_BITS) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(owners: &MemoryOwners, thread: u32, address: u64) -> u64 {
        let found = owners.address_for(thread, address, &mut MarkedSpan::default());
        assert_eq!(program_address(found), address);
        found
    }

    #[test]
    fn each_thread_has_data_of_its_own_in_memory_that_another_one_had() {
        let mut owners = MemoryOwners::default();
        owners.take(1, 0x1000, 0x1000);
        owners.take(2, 0x4000, 0x1000);
        assert_eq!(found(&owners, 2, 0x1900), 0x1900);
        owners.take(3, 0x1000, 0x1000);
        owners.take(4, 0x1800, 0x2000);
        let [a, b, c] = [1, 3, 4].map(|thread| found(&owners, thread, 0x1900));
        assert!(a == 0x1900 && b != a && c != a && c != b, "{a:#x} {b:#x} {c:#x}");
        // Another thread means the latest.
        assert_eq!(found(&owners, 2, 0x1900), c);
        assert_eq!([found(&owners, 2, 0x4100), found(&owners, 1, 0x5000)], [0x4100, 0x5000]);
    }

    #[test]
    fn memory_that_a_thread_gets_again_stays_the_same() {
        let mut owners = MemoryOwners::default();
        owners.take(1, 0x1000, 64);
        owners.free(1, 0x1000);
        owners.take(1, 0x1000, 32);
        assert_eq!(found(&owners, 1, 0x1010), 0x1010);
        owners.take(2, 0x1000, 64);
        let second = found(&owners, 2, 0x1010);
        owners.free(2, 0x1000);
        owners.take(2, 0x1000, 64);
        assert_eq!(found(&owners, 2, 0x1010), second);
    }

    #[test]
    fn a_thread_that_gave_memory_back_means_who_has_it_now() {
        let mut owners = MemoryOwners::default();
        owners.take(1, 0x1000, 64);
        owners.free(2, 0x1000);
        owners.take(3, 0x1000, 64);
        assert_ne!(found(&owners, 3, 0x1000), 0x1000);
        assert_eq!(found(&owners, 1, 0x1000), found(&owners, 3, 0x1000));
    }

    #[test]
    fn a_span_that_was_found_serves_until_something_changes() {
        let mut owners = MemoryOwners::default();
        owners.take(1, 0x1000, 64);
        owners.take(2, 0x1000, 64);
        let mut last = MarkedSpan::default();
        let marked = owners.address_for(2, 0x1000, &mut last);
        assert_eq!(owners.address_for(2, 0x1001, &mut last), marked + 1);
        assert_eq!(owners.address_for(2, 0x1040, &mut last), 0x1040);
        owners.take(1, 0x1000, 64);
        assert_ne!(owners.address_for(3, 0x1000, &mut last), marked);
    }

    #[test]
    fn a_thread_whose_stack_is_not_known_has_none() {
        let mut owners = MemoryOwners::default();
        owners.take(1, 0, 0);
        owners.take(2, 0, 0);
        assert_eq!(found(&owners, 2, 0), 0);
    }
}
