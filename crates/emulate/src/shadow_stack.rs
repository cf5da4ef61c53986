//! The calls that a thread is in, from the calls and returns of recorded code.
//!
//! ```text
//!   main  call f          enter f ──────────── exit           f is recorded code: entered at once
//!   main  call qsort      . . enter main's call ─── exit      qsort is not; what it calls back is, and is under main's call
//!   main  call memcpy     . . . . . . . . . . . . . .         calls nothing back: never entered
//! ```
//! Code that is not recorded returns without a word. So each call is kept with the address of its return address on the
//! stack: of calls at or below the place where another one puts its own, or from where a return reads it, none goes on.

/// What the thread's stream is to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallChange {
    /// A procedure begins, by the call with this return address.
    Enter(u64),
    /// The procedure that began last ends.
    Exit,
}

#[derive(Clone, Copy, Debug)]
struct KeptCall {
    /// Where its return address is.
    at: u64,
    return_address: u64,
    is_entered: bool,
}

/// Bytes of a stack at most; what is further apart is on another one, as handlers of signals and coroutines may be.
const LARGEST_STACK: u64 = 64 << 20;

/// The calls of one thread.
#[derive(Debug, Default)]
pub struct ShadowStack {
    calls: Vec<KeptCall>,
    /// The last call may have led to code that is not recorded.
    is_pending: bool,
    /// The last thing was a return from a call that was kept.
    has_returned: bool,
}

impl ShadowStack {
    /// Whether [`ShadowStack::settle`] would enter a call.
    #[inline(always)]
    #[must_use]
    pub fn is_pending(&self) -> bool {
        self.is_pending
    }

    /// Forgets all calls.
    pub fn clear(&mut self) {
        *self = ShadowStack::default();
    }

    /// A call puts its return address there. `is_recorded`: it certainly leads to recorded code.
    pub fn call(
        &mut self,
        at: u64,
        return_address: u64,
        is_recorded: bool,
        mut change: impl FnMut(CallChange),
    ) {
        self.drop_from(at, &mut change);
        self.settle(&mut change);
        if is_recorded {
            change(CallChange::Enter(return_address));
        }
        self.calls.push(KeptCall { at, return_address, is_entered: is_recorded });
        self.is_pending = !is_recorded;
        self.has_returned = false;
    }

    /// Recorded code is at work: it is what the last call led to, if that has not come back.
    pub fn settle(&mut self, mut change: impl FnMut(CallChange)) {
        if let Some(call) = self.calls.last_mut().filter(|_| self.is_pending) {
            call.is_entered = true;
            change(CallChange::Enter(call.return_address));
        }
        self.is_pending = false;
    }

    /// Recorded code returns by the address that is there.
    pub fn leave(&mut self, at: u64, mut change: impl FnMut(CallChange)) {
        self.has_returned =
            self.calls.iter().rev().take_while(|call| call.at <= at).any(|call| call.at == at);
        self.drop_from(at, &mut change);
    }

    /// The thread is at this return address again: the last call, if it was to code that is not recorded, has come back.
    pub fn come_back(&mut self, return_address: u64, mut change: impl FnMut(CallChange)) {
        let has_returned = std::mem::take(&mut self.has_returned);
        if !has_returned && self.calls.last().is_some_and(|call| call.return_address == return_address) {
            self.pop(&mut change);
        }
    }

    /// Drops the calls whose return addresses are at this place or below it.
    fn drop_from(&mut self, at: u64, change: &mut impl FnMut(CallChange)) {
        while self.calls.last().is_some_and(|call| call.at <= at && at - call.at < LARGEST_STACK) {
            self.pop(change);
        }
    }

    fn pop(&mut self, change: &mut impl FnMut(CallChange)) {
        if self.calls.pop().is_some_and(|call| call.is_entered) {
            change(CallChange::Exit);
        }
        self.is_pending = false;
    }
}

#[cfg(test)]
mod tests {
    use super::CallChange::{Enter, Exit};
    use super::*;

    #[derive(Default)]
    struct TracedStack {
        stack: ShadowStack,
        changes: Vec<CallChange>,
    }

    impl TracedStack {
        fn call(&mut self, at: u64, return_address: u64, is_recorded: bool) {
            self.stack.call(at, return_address, is_recorded, |change| self.changes.push(change));
        }

        fn access(&mut self) {
            self.stack.settle(|change| self.changes.push(change));
        }

        fn leave(&mut self, at: u64) {
            self.stack.leave(at, |change| self.changes.push(change));
        }

        fn come_back(&mut self, return_address: u64) {
            self.stack.come_back(return_address, |change| self.changes.push(change));
        }

        fn changes(&mut self) -> Vec<CallChange> {
            std::mem::take(&mut self.changes)
        }
    }

    #[test]
    fn a_call_of_recorded_code_is_entered_and_left() {
        let mut stack = TracedStack::default();
        stack.call(1000, 1, true);
        stack.call(900, 2, true);
        stack.leave(900);
        stack.leave(1000);
        assert_eq!(stack.changes(), [Enter(1), Enter(2), Exit, Exit]);
    }

    #[test]
    fn a_call_of_other_code_is_entered_only_if_that_calls_back() {
        let mut stack = TracedStack::default();
        stack.call(1000, 1, false);
        stack.come_back(1);
        stack.access();
        assert_eq!(stack.changes(), []);
        // Called back twice, and another call inside.
        stack.call(1000, 1, false);
        stack.access();
        stack.call(800, 2, true);
        stack.leave(800);
        stack.leave(900);
        stack.access();
        stack.leave(900);
        stack.come_back(1);
        assert_eq!(stack.changes(), [Enter(1), Enter(2), Exit, Exit]);
    }

    #[test]
    fn a_recorded_procedure_behind_a_pointer_is_entered_with_its_first_access() {
        let mut stack = TracedStack::default();
        stack.call(1000, 1, false);
        stack.access();
        stack.access();
        stack.leave(1000);
        stack.come_back(1);
        assert_eq!(stack.changes(), [Enter(1), Exit]);
        // It calls itself at the same place: only the inner call has come back.
        stack.call(1000, 1, false);
        stack.access();
        stack.call(900, 1, false);
        stack.access();
        stack.leave(900);
        stack.come_back(1);
        assert_eq!(stack.changes(), [Enter(1), Enter(1), Exit]);
        stack.leave(1000);
        assert_eq!(stack.changes(), [Exit]);
    }

    #[test]
    fn calls_that_longjmp_left_end_with_the_next_call_or_return_above_them() {
        let mut stack = TracedStack::default();
        stack.call(1000, 1, true);
        stack.call(900, 2, true);
        stack.call(800, 3, true);
        stack.changes();
        stack.call(900, 4, true);
        assert_eq!(stack.changes(), [Exit, Exit, Enter(4)]);
        stack.leave(1000);
        assert_eq!(stack.changes(), [Exit, Exit]);
    }

    #[test]
    fn a_handler_on_another_stack_leaves_the_calls_of_the_first_one() {
        let mut stack = TracedStack::default();
        stack.call(1000, 1, true);
        stack.call(1000 + LARGEST_STACK, 2, true);
        stack.leave(1000 + LARGEST_STACK);
        stack.leave(1000);
        assert_eq!(stack.changes(), [Enter(1), Enter(2), Exit, Exit]);
    }
}
