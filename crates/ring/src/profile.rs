//! The profile stack: which procedures and regions a thread is in, published for a sampling thread (Quartz §4).

use crate::atomic::{AtomicU32, AtomicU64, Ordering};

/// Entries of a profile stack; deeper ones are counted only.
pub const MOST_FRAMES: usize = 1_000;

const ADDRESS_MASK: u64 = (1 << 48) - 1;
const REPEAT: u64 = 1 << 48;
const MOST_REPEATS: u64 = (1 << 15) - 1;
const REGION: u64 = 1 << 63;
/// Of the addresses in an [`EntryPlace`] that many bits are kept.
const SITE_BITS: u32 = 10;
const SITE_MASK: u64 = (1 << SITE_BITS) - 1;
const CODE_BITS: u32 = 10;
const CODE_MASK: u64 = (1 << CODE_BITS) - 1;

/// The stack: outermost first. One writer; readers take copies at any time.
///
/// An entry is an address (48 bits), how often the procedure called itself directly (15 bits), and whether the
/// address is that of a region's name (1 bit). Beside it lies where on the thread's own stack it was entered: a jump
/// or an exception over several procedures leaves entries behind, which the next one to enter finds out.
///
/// ```text
///   entries   main   parse   item   number              number: entered at a lower address than item, and so on
///   then      main   print                              print: entered where parse was, from elsewhere: the
///                                                       procedures from parse on are gone, though none told
/// ```
#[repr(C)]
#[derive(Debug)]
pub struct ProfileStack {
    depth: AtomicU32,
    overflows: AtomicU32,
    changes: AtomicU64,
    /// Times that a procedure was entered.
    calls: AtomicU64,
    entries: [AtomicU64; MOST_FRAMES],
    places: [AtomicU64; MOST_FRAMES],
}

/// Where on its thread's stack a procedure was entered: the height of its frame's beginning, from where the procedure
/// was called, and where in its code it told that it was entered (the last two cut to a few bits).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryPlace(u64);

impl EntryPlace {
    /// Not known: the thread was on a stack that is not its own, or nobody looked.
    pub const UNKNOWN: EntryPlace = EntryPlace(0);

    /// The place at this height (an address, a multiple of 8), called from `site`, told at `code`.
    #[must_use]
    #[inline]
    pub const fn new(height: u64, site: u64, code: u64) -> Self {
        EntryPlace(
            height >> 3 << (SITE_BITS + CODE_BITS) | (site & SITE_MASK) << CODE_BITS | (code & CODE_MASK),
        )
    }

    const fn begins_at_or_below(self, height: u64) -> bool {
        self.0 >> (SITE_BITS + CODE_BITS) <= height >> 3
    }

    /// Whether a procedure that was entered here can be one that called, directly or not, the one at `later`.
    ///
    /// Stacks grow downwards. A procedure that the compiler has put into another is entered at the same height and
    /// called from the same place, but tells so at another place of the code: what tells at the same place again has
    /// been called again.
    #[inline]
    const fn can_have_called(self, later: EntryPlace) -> bool {
        let (here, there) = (self.0 >> (SITE_BITS + CODE_BITS), later.0 >> (SITE_BITS + CODE_BITS));
        here > there || (here == there && self.0 != later.0 && self.0 >> CODE_BITS == later.0 >> CODE_BITS)
    }
}

impl ProfileStack {
    /// An empty stack; the all-zero memory is one too.
    #[must_use]
    pub fn new() -> Self {
        ProfileStack {
            depth: AtomicU32::new(0),
            overflows: AtomicU32::new(0),
            changes: AtomicU64::new(0),
            calls: AtomicU64::new(0),
            entries: core::array::from_fn(|_| AtomicU64::new(0)),
            places: core::array::from_fn(|_| AtomicU64::new(0)),
        }
    }

    /// Enters an instrumented procedure; direct recursion makes no entry of its own. Those that cannot have called it
    /// are dropped first. Returns the depth then.
    #[inline]
    pub fn enter(&self, address: u64, place: EntryPlace) -> u32 {
        let depth = self.caller_depth(place);
        self.calls.store(self.calls.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
        if let Some(top) = (depth as usize).checked_sub(1).and_then(|top| self.entries.get(top)) {
            let value = top.load(Ordering::Relaxed);
            let repeats = (value >> 48) & MOST_REPEATS;
            if value & (ADDRESS_MASK | REGION) == address & ADDRESS_MASK && repeats < MOST_REPEATS {
                top.store(value + REPEAT, Ordering::Relaxed);
                return depth;
            }
        }
        self.push(depth, address & ADDRESS_MASK, place)
    }

    /// The same with an entry for each call.
    #[inline]
    pub fn enter_each(&self, address: u64, place: EntryPlace) -> u32 {
        let depth = self.caller_depth(place);
        self.calls.store(self.calls.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
        self.push(depth, address & ADDRESS_MASK, place)
    }

    /// Enters a region by the address of its name. Returns the depth then.
    #[inline]
    pub fn enter_region(&self, name: u64) -> u32 {
        let depth = self.depth.load(Ordering::Relaxed);
        self.push(depth, (name & ADDRESS_MASK) | REGION, EntryPlace::UNKNOWN)
    }

    #[inline]
    fn push(&self, depth: u32, entry: u64, place: EntryPlace) -> u32 {
        match self.entries.get(depth as usize) {
            Some(slot) => {
                slot.store(entry, Ordering::Relaxed);
                self.places[depth as usize].store(place.0, Ordering::Relaxed);
            }
            None => self
                .overflows
                .store(self.overflows.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed),
        }
        self.set_depth(depth + 1);
        depth + 1
    }

    /// Entries up to the innermost that can have called what is entered at `place`.
    #[inline]
    fn caller_depth(&self, place: EntryPlace) -> u32 {
        let depth = self.depth.load(Ordering::Relaxed);
        let Some(top) = (depth as usize).checked_sub(1).map(|top| top.min(MOST_FRAMES - 1)) else { return 0 };
        let innermost = EntryPlace(self.places[top].load(Ordering::Relaxed));
        if place == EntryPlace::UNKNOWN || innermost.can_have_called(place) {
            return depth;
        }
        self.find_caller(depth, place)
    }

    /// Entries at unknown places stay where nothing below them is gone.
    #[cold]
    fn find_caller(&self, depth: u32, place: EntryPlace) -> u32 {
        let mut caller_depth = depth;
        for index in (0..(depth as usize).min(MOST_FRAMES)).rev() {
            let earlier = EntryPlace(self.places[index].load(Ordering::Relaxed));
            if earlier == EntryPlace::UNKNOWN {
                continue;
            }
            if earlier.can_have_called(place) {
                break;
            }
            caller_depth = index as u32;
        }
        caller_depth
    }

    /// Leaves the procedure. Entries above it belong to procedures that were left without a word. Returns the depth
    /// that the procedure had; `None` where it has no entry.
    #[inline]
    pub fn leave(&self, address: u64) -> Option<u32> {
        let depth = self.depth.load(Ordering::Relaxed);
        let top = depth.checked_sub(1)?;
        let Some(slot) = self.entries.get(top as usize) else {
            self.set_depth(top);
            return Some(depth);
        };
        let value = slot.load(Ordering::Relaxed);
        if value & (ADDRESS_MASK | REGION) != address & ADDRESS_MASK {
            return self.leave_below(top, address & ADDRESS_MASK);
        }
        if (value >> 48) & MOST_REPEATS > 0 {
            slot.store(value - REPEAT, Ordering::Relaxed);
        } else {
            self.set_depth(top);
        }
        Some(depth)
    }

    #[cold]
    fn leave_below(&self, top: u32, address: u64) -> Option<u32> {
        let is_it = |&index: &u32| {
            self.entries[index as usize].load(Ordering::Relaxed) & (ADDRESS_MASK | REGION) == address
        };
        let index = (0..top).rev().find(is_it)?;
        self.set_depth(index + 1);
        self.leave(address)
    }

    /// The innermost entry, if its procedure's frame is known to begin at this height or below.
    #[must_use]
    pub fn innermost_below(&self, height: u64) -> Option<u64> {
        let top = self.depth.load(Ordering::Relaxed).checked_sub(1)? as usize;
        let place = EntryPlace(self.places.get(top)?.load(Ordering::Relaxed));
        let is_below = place != EntryPlace::UNKNOWN && place.begins_at_or_below(height);
        is_below.then(|| self.entries[top].load(Ordering::Relaxed) & ADDRESS_MASK)
    }

    /// Leaves the region that was entered last, and procedures above it.
    #[inline]
    pub fn leave_region(&self) -> bool {
        let depth = self.depth.load(Ordering::Relaxed).min(MOST_FRAMES as u32);
        let is_region = |&index: &u32| self.entries[index as usize].load(Ordering::Relaxed) & REGION != 0;
        let Some(index) = (0..depth).rev().find(is_region) else { return false };
        self.set_depth(index);
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

    /// Changes since the beginning, direct recursion aside: as long as the number is the same, so is the stack.
    #[must_use]
    pub fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    /// Entries that did not fit, since the beginning.
    #[must_use]
    pub fn overflows(&self) -> u32 {
        self.overflows.load(Ordering::Relaxed)
    }

    /// Times that a procedure was entered, since the beginning.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
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
        self.calls.store(0, Ordering::Relaxed);
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

    const NOWHERE: EntryPlace = EntryPlace::UNKNOWN;

    fn copy(stack: &ProfileStack) -> Vec<(u64, bool)> {
        let mut entries = Vec::new();
        assert!(stack.copy(&mut entries));
        entries
    }

    fn addresses(stack: &ProfileStack) -> Vec<u64> {
        copy(stack).into_iter().map(|(address, _)| address).collect()
    }

    /// Entered at a height, called from `site`, told at the procedure's own beginning.
    fn at(height: u64, site: u64, address: u64) -> EntryPlace {
        EntryPlace::new(0x7ffe_0000_0000 + 8 * height, site, address)
    }

    #[test]
    fn entries_come_and_go() {
        let stack = ProfileStack::new();
        assert_eq!(
            (stack.enter(0x1000, NOWHERE), stack.enter_region(0x2000), stack.enter(0x3000, NOWHERE)),
            (1, 2, 3)
        );
        assert_eq!(copy(&stack), [(0x1000, false), (0x2000, true), (0x3000, false)]);
        assert_eq!(stack.leave(0x3000), Some(3));
        assert!(stack.leave_region() && !stack.leave_region());
        assert_eq!(copy(&stack), [(0x1000, false)]);
        assert_eq!((stack.leave(0x1000), stack.leave(0x1000), stack.calls()), (Some(1), None, 2));
        assert!(copy(&stack).is_empty());
    }

    #[test]
    fn direct_recursion_is_one_entry_and_indirect_recursion_is_not() {
        let stack = ProfileStack::new();
        let depths = [1, 1, 1, 2, 1].map(|address| stack.enter(address, NOWHERE));
        assert_eq!(depths, [1, 1, 1, 2, 3]);
        assert_eq!(addresses(&stack), [1, 2, 1]);
        assert_eq!([1, 2, 1, 1].map(|address| stack.leave(address)), [Some(3), Some(2), Some(1), Some(1)]);
        assert_eq!(addresses(&stack), [1]);
        assert_eq!((stack.leave(1), stack.leave(1)), (Some(1), None));
    }

    #[test]
    fn each_call_is_an_entry_where_that_is_asked_for() {
        let stack = ProfileStack::new();
        assert_eq!([1, 1, 1].map(|address| stack.enter_each(address, NOWHERE)), [1, 2, 3]);
        assert_eq!([1, 1, 1, 1].map(|address| stack.leave(address)), [Some(3), Some(2), Some(1), None]);
    }

    #[test]
    fn a_stack_that_is_too_deep_is_counted_and_comes_back() {
        let stack = ProfileStack::new();
        let deepest = MOST_FRAMES as u64 + 10;
        (0..deepest).for_each(|number| assert_eq!(u64::from(stack.enter(number + 1, NOWHERE)), number + 1));
        assert_eq!((stack.overflows(), copy(&stack).len()), (10, MOST_FRAMES));
        (1..deepest).rev().for_each(|number| assert_eq!(stack.leave(number + 1), Some(number as u32 + 1)));
        assert_eq!(addresses(&stack), [1]);
    }

    #[test]
    fn a_jump_out_of_a_stack_that_is_too_deep_is_found_out() {
        let stack = ProfileStack::new();
        let deepest = MOST_FRAMES as u64 + 10;
        for number in 0..deepest {
            stack.enter(number + 1, at(9_000 - number, number, number + 1));
        }
        assert_eq!(stack.enter(77, at(8_998, 1_000, 77)), 3);
        assert_eq!(addresses(&stack), [1, 2, 77]);
    }

    #[test]
    fn a_jump_that_says_where_it_goes_leaves_what_begins_below() {
        let stack = ProfileStack::new();
        stack.enter(1, at(100, 500, 1));
        stack.enter(2, at(80, 101, 2));
        stack.enter(3, at(60, 201, 3));
        // `at` takes words; the frame of 1 holds the words from 80 to 100.
        let target = 0x7ffe_0000_0000 + 8 * 84;
        assert_eq!(stack.innermost_below(target), Some(3));
        assert_eq!((stack.leave(3), stack.innermost_below(target)), (Some(3), Some(2)));
        assert_eq!((stack.leave(2), stack.innermost_below(target)), (Some(2), None));
        stack.enter(4, NOWHERE);
        assert_eq!((stack.innermost_below(target), addresses(&stack)), (None, vec![1, 4]));
    }

    #[test]
    fn what_a_jump_left_behind_goes_when_the_next_is_entered_or_the_outer_one_left() {
        let stack = ProfileStack::new();
        for round in 0..3 {
            let depth = stack.enter(1, at(100, 500, 1));
            assert_eq!((round, depth), (round, 1), "called again from the same place");
            stack.enter(2, at(80, 101, 2));
            stack.enter(3, at(60, 201, 3));
        }
        // A jump to 1, which calls 4 and then, from the same place as before, 2.
        assert_eq!((stack.enter(4, at(80, 102, 4)), addresses(&stack)), (2, vec![1, 4]));
        assert_eq!((stack.enter(2, at(80, 101, 2)), addresses(&stack)), (2, vec![1, 2]));
        stack.enter(3, at(60, 201, 3));
        assert_eq!((stack.leave(1), addresses(&stack)), (Some(1), vec![]));
    }

    #[test]
    fn procedures_within_procedures_and_on_other_stacks_stay() {
        let stack = ProfileStack::new();
        stack.enter(1, EntryPlace::new(0x7ffe_0000_0000, 500, 1));
        // 2 stands within 1; it is told of at another place.
        stack.enter(2, EntryPlace::new(0x7ffe_0000_0000, 500, 2));
        // A signal handler on a stack of its own.
        stack.enter(3, NOWHERE);
        assert_eq!(stack.enter(4, at(0, 500, 4).min_height()), 4);
        assert_eq!(addresses(&stack), [1, 2, 3, 4]);
        // Back in what called 1, which calls 5: everything is gone.
        assert_eq!(stack.enter(5, EntryPlace::new(0x7ffe_0000_0000, 501, 5)), 1);
    }

    impl EntryPlace {
        fn min_height(self) -> EntryPlace {
            EntryPlace(self.0 - (1 << 40))
        }
    }

    #[test]
    fn leaving_what_was_never_entered_changes_nothing() {
        let stack = ProfileStack::new();
        stack.enter(1, NOWHERE);
        assert_eq!((stack.leave(9), addresses(&stack)), (None, vec![1]));
    }

    #[test]
    fn a_copy_beside_a_change_is_whole_or_refused() {
        let stack = ProfileStack::new();
        stack.enter(1, NOWHERE);
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| {
                for number in 0..200_000_u64 {
                    stack.enter(2 + number % 5, NOWHERE);
                    stack.enter(100 + 2 + number % 5, NOWHERE);
                    stack.leave(100 + 2 + number % 5);
                    stack.leave(2 + number % 5);
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
