//! Numbers of tokens, and rounds of barriers that threads have still to leave.
//!
//! Every reading makes the same tokens in the same order. Several machines number theirs by turns, so that no two are
//! alike.

use longpole_event::ThreadId;
use rustc_hash::FxHashMap;

use crate::timeline::{QueueId, TokenId};

/// Hands out the tokens of one machine.
#[derive(Debug)]
pub(crate) struct TokenNumbers {
    machine: u32,
    next: u32,
    step: u32,
}

impl TokenNumbers {
    /// Those of one of so many machines.
    pub(crate) fn new(machine: u32, machines: u32) -> Self {
        TokenNumbers { machine, next: machine, step: machines.max(1) }
    }

    /// The next token.
    pub(crate) fn make(&mut self) -> TokenId {
        let token = TokenId(self.next);
        // Tokens are short-lived: a number is free again long before it comes round.
        self.next = self.next.wrapping_add(self.step);
        token
    }

    /// The queue that has this number on the machine: an even one of a condition, an odd one of a semaphore.
    pub(crate) fn queue(&self, number: usize) -> QueueId {
        QueueId((number as u32).wrapping_mul(self.step).wrapping_add(self.machine))
    }
}

/// Rounds of barriers that are over and that not all of their threads have left.
#[derive(Debug, Default)]
pub(crate) struct Departures {
    /// The round that each thread has still to leave.
    of_thread: FxHashMap<ThreadId, TokenId>,
    /// How many threads have still to leave it.
    left: FxHashMap<TokenId, u32>,
}

impl Departures {
    /// All of a round have arrived.
    pub(crate) fn close(&mut self, token: TokenId, threads: &[ThreadId]) {
        for &thread in threads {
            self.depart(thread);
            self.of_thread.insert(thread, token);
            *self.left.entry(token).or_default() += 1;
        }
    }

    /// The thread leaves its round: which, and whether it is the last one.
    pub(crate) fn depart(&mut self, thread: ThreadId) -> Option<(TokenId, bool)> {
        let token = self.of_thread.remove(&thread)?;
        let left = self.left.get_mut(&token)?;
        *left -= 1;
        let is_last = *left == 0;
        if is_last {
            self.left.remove(&token);
        }
        Some((token, is_last))
    }

    /// Whether the thread has still to leave a round.
    pub(crate) fn has(&self, thread: ThreadId) -> bool {
        self.of_thread.contains_key(&thread)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_of_two_machines_are_never_alike() {
        let (mut first, mut second) = (TokenNumbers::new(0, 2), TokenNumbers::new(1, 2));
        assert_eq!([first.make(), first.make()], [TokenId(0), TokenId(2)]);
        assert_eq!([second.make(), second.make()], [TokenId(1), TokenId(3)]);
    }

    #[test]
    fn the_last_to_leave_a_round_is_known() {
        let mut departures = Departures::default();
        let (one, two) = (ThreadId(1), ThreadId(2));
        departures.close(TokenId(7), &[one, two]);
        assert_eq!(departures.depart(two), Some((TokenId(7), false)));
        assert_eq!(departures.depart(two), None);
        // It is in the next round before the other one has left this one.
        departures.close(TokenId(8), &[two]);
        assert_eq!(departures.depart(one), Some((TokenId(7), true)));
        assert_eq!(departures.depart(two), Some((TokenId(8), true)));
    }
}
