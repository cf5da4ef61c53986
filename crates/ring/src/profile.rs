//! The profile stack: which procedures and regions a thread is in, published for a sampling thread (Quartz §4).

use crate::atomic::{AtomicU32, AtomicU64, Ordering};

/// Entries of a profile stack; deeper ones are counted only.
pub const MOST_FRAMES: usize = 1_000;

const ADDRESS_MASK: u64 = (1 << 48) - 1;
const REPEAT: u64 = 1 << 48;
const MOST_REPEATS: u64 = (1 << 15) - 1;
const REGION: u64 = 1 << 63;

/// The stack: outermost first. One writer; readers take copies at any time.
///
/// An entry is an address (48 bits), how often the procedure called itself directly (15 bits), and whether the
/// address is that of a region's name (1 bit).
#[repr(C)]
#[derive(Debug)]
pub struct ProfileStack {
    depth: AtomicU32,
    overflows: AtomicU32,
    changes: AtomicU64,
    entries: [AtomicU64; MOST_FRAMES],
}

impl ProfileStack {
    /// An empty stack; the all-zero memory is one too.
    #[must_use]
    pub fn new() -> Self {
        ProfileStack {
            depth: AtomicU32::new(0),
            overflows: AtomicU32::new(0),
            changes: AtomicU64::new(0),
            entries: core::array::from_fn(|_| AtomicU64::new(0)),
        }
    }

    /// Enters an instrumented procedure. `true` where it is a new entry, not a direct recursion.
    #[inline]
    pub fn enter(&self, address: u64) -> bool {
        self.push(address & ADDRESS_MASK)
    }

    /// Enters a region by the address of its name.
    #[inline]
    pub fn enter_region(&self, name: u64) -> bool {
        self.push((name & ADDRESS_MASK) | REGION)
    }

    #[inline]
    fn push(&self, entry: u64) -> bool {
        let depth = self.depth.load(Ordering::Relaxed) as usize;
        if let Some(top) = depth.checked_sub(1).and_then(|top| self.entries.get(top)) {
            let value = top.load(Ordering::Relaxed);
            let repeats = (value >> 48) & MOST_REPEATS;
            if value & (ADDRESS_MASK | REGION) == entry && repeats < MOST_REPEATS {
                top.store(value + REPEAT, Ordering::Relaxed);
                return false;
            }
        }
        match self.entries.get(depth) {
            Some(slot) => slot.store(entry, Ordering::Relaxed),
            None => self
                .overflows
                .store(self.overflows.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed),
        }
        self.set_depth(depth as u32 + 1);
        true
    }

    /// Leaves what was entered last. `true` where an entry is gone, not only a direct recursion.
    #[inline]
    pub fn leave(&self) -> bool {
        let depth = self.depth.load(Ordering::Relaxed);
        let Some(top) = depth.checked_sub(1) else { return false };
        if let Some(slot) = self.entries.get(top as usize) {
            let value = slot.load(Ordering::Relaxed);
            if (value >> 48) & MOST_REPEATS > 0 {
                slot.store(value - REPEAT, Ordering::Relaxed);
                return false;
            }
        }
        self.set_depth(top);
        true
    }

    #[inline]
    fn set_depth(&self, depth: u32) {
        self.depth.store(depth, Ordering::Release);
        self.changes.store(self.changes.load(Ordering::Relaxed).wrapping_add(1), Ordering::Release);
    }

    /// Entries now, those that did not fit included.
    #[must_use]
    pub fn depth(&self) -> u32 {
        self.depth.load(Ordering::Relaxed)
    }

    /// Entries that did not fit, since the beginning.
    #[must_use]
    pub fn overflows(&self) -> u32 {
        self.overflows.load(Ordering::Relaxed)
    }

    /// Cuts the stack to a depth that it had before (after a jump over several procedures).
    pub fn cut(&self, depth: u32) {
        if depth < self.depth() {
            self.set_depth(depth);
        }
    }

    /// Copies the stack, outermost first: (address, whether it is a region's name). `false` where the thread
    /// changed it meanwhile; `into` is of no use then.
    pub fn copy(&self, into: &mut impl Extend<(u64, bool)>) -> bool {
        let before = self.changes.load(Ordering::Acquire);
        let depth = (self.depth.load(Ordering::Acquire) as usize).min(MOST_FRAMES);
        for slot in &self.entries[..depth] {
            let value = slot.load(Ordering::Acquire);
            into.extend(core::iter::once((value & ADDRESS_MASK, value & REGION != 0)));
        }
        before == self.changes.load(Ordering::Acquire)
    }

    /// Empties the stack, for the next owner.
    pub fn reset(&self) {
        self.set_depth(0);
        self.overflows.store(0, Ordering::Relaxed);
    }
}

impl Default for ProfileStack {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn copy(stack: &ProfileStack) -> Vec<(u64, bool)> {
        let mut entries = Vec::new();
        assert!(stack.copy(&mut entries));
        entries
    }

    #[test]
    fn entries_come_and_go() {
        let stack = ProfileStack::new();
        assert!(stack.enter(0x1000) && stack.enter_region(0x2000) && stack.enter(0x3000));
        assert_eq!(copy(&stack), [(0x1000, false), (0x2000, true), (0x3000, false)]);
        assert!(stack.leave() && stack.leave());
        assert_eq!(copy(&stack), [(0x1000, false)]);
        assert!(stack.leave() && !stack.leave());
        assert!(copy(&stack).is_empty());
    }

    #[test]
    fn direct_recursion_is_one_entry_and_indirect_recursion_is_not() {
        let stack = ProfileStack::new();
        assert!(stack.enter(1) && !stack.enter(1) && !stack.enter(1) && stack.enter(2) && stack.enter(1));
        assert_eq!(copy(&stack), [(1, false), (2, false), (1, false)]);
        assert!(stack.leave() && stack.leave() && !stack.leave() && !stack.leave());
        assert_eq!(copy(&stack), [(1, false)]);
    }

    #[test]
    fn a_stack_that_is_too_deep_is_counted_and_comes_back() {
        let stack = ProfileStack::new();
        let deepest = MOST_FRAMES as u64 + 10;
        (0..deepest).for_each(|number| assert!(stack.enter(number + 1)));
        assert_eq!((stack.overflows(), copy(&stack).len()), (10, MOST_FRAMES));
        (0..deepest - 1).for_each(|_| assert!(stack.leave()));
        assert_eq!(copy(&stack), [(1, false)]);
    }

    #[test]
    fn a_copy_beside_a_change_is_whole_or_refused() {
        let stack = ProfileStack::new();
        stack.enter(1);
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| {
                for number in 0..200_000_u64 {
                    stack.enter(2 + number % 5);
                    stack.enter(100 + 2 + number % 5);
                    stack.leave();
                    stack.leave();
                }
            });
            while !writer.is_finished() {
                let mut entries: Vec<(u64, bool)> = Vec::new();
                if stack.copy(&mut entries) {
                    assert_eq!(entries[0], (1, false));
                    assert!(entries.len() < 3 || entries[2].0 == entries[1].0 + 100);
                }
            }
        });
    }
}
