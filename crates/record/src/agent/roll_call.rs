//! Which of the threads that tell something are still there.

use longpole_event::Time;
use longpole_ring::Owner;

/// Time between two looks for threads that ended without a word.
const PAUSE_NANOSECONDS: u64 = 500_000_000;
/// Areas that are looked at in one reading: a look takes some microseconds, and rings fill up meanwhile.
const AREAS_AT_ONCE: usize = 32;

/// Whose turn it is to be looked for.
#[derive(Debug)]
pub(super) struct RollCall {
    last: Time,
    /// The first area of this reading; none between two calls of the roll.
    next: Option<usize>,
}

impl RollCall {
    pub(super) fn new(now: Time) -> RollCall {
        RollCall { last: now, next: None }
    }

    /// A reading begins.
    pub(super) fn begin(&mut self, now: Time) {
        if self.next.is_none() && now.since(self.last) >= PAUSE_NANOSECONDS {
            (self.last, self.next) = (now, Some(0));
        }
    }

    /// Whether the thread of this area is to be looked for in this reading.
    pub(super) fn calls(&self, area: usize) -> bool {
        self.next.is_some_and(|next| (next..next + AREAS_AT_ONCE).contains(&area))
    }

    /// The reading ends; so many areas are there.
    pub(super) fn end(&mut self, areas: usize) {
        self.next = self.next.map(|next| next + AREAS_AT_ONCE).filter(|&next| next < areas);
    }
}

/// Whether a thread is no longer there, or only as an entry that nobody has waited for.
pub(super) fn is_gone(owner: Owner) -> bool {
    let status = std::fs::read(format!("/proc/{}/task/{}/stat", owner.pid, owner.tid)).unwrap_or_default();
    // PID (NAME) STATE …, where the name may hold anything.
    let state = status.iter().rposition(|&byte| byte == b')').and_then(|end| status.get(end + 2));
    matches!(state, None | Some(b'Z' | b'X'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_is_called_in_turn_and_then_nobody_for_a_while() {
        const AREAS: usize = 3 * AREAS_AT_ONCE + 5;
        let mut roll = RollCall::new(Time::ZERO);
        let mut called = vec![0; AREAS];
        let later = Time::ZERO + PAUSE_NANOSECONDS;
        for now in [Time::ZERO, later, later, later, later, later, later] {
            roll.begin(now);
            let turn: Vec<_> = (0..AREAS).filter(|&area| roll.calls(area)).collect();
            assert!(turn.len() <= AREAS_AT_ONCE);
            turn.into_iter().for_each(|area| called[area] += 1);
            roll.end(AREAS);
        }
        assert_eq!(called, [1; AREAS]);
    }
}
