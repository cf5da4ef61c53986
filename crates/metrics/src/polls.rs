//! Sleeps in vain: a thread that polls sleeps, looks, and sleeps again.
//!
//! ```text
//!   T1   sleep ...|look|sleep ...|look|sleep ...|look| work =====
//!        in vain       in vain        not
//! ```
//! Where a thread sleeps again after it has looked, what it waits for had not come, and no signal would have ended that sleep earlier than
//! its own limit; or it had come and gone meanwhile, as a lock that another thread gave back and took again. The last sleep before the
//! thread goes on is longer than it has to be as a rule, the others are not.
//!
//! Constant time per item, a few words per thread.
//!
//! It takes less than [`LOOK`] of CPU time between two sleeps for a look; so short is the work of some, too. A wait of another kind between
//! two sleeps ends the look, but for a poll: an event loop waits on for its descriptors.

use longpole_event::{ThreadId, Time};
use longpole_graph::Sweep;
use longpole_trace::{Cause, Program, State, stored};

/// CPU time of a look at most, nanoseconds.
const LOOK: u64 = 100_000;

/// How long a thread slept until it looked again, nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PolledTime {
    /// All such sleeps.
    pub slept: u64,
    /// Those after which it looked and slept again.
    pub in_vain: u64,
}

stored! {
    PolledTime { slept, in_vain }
}

impl PolledTime {
    /// The part of the sleeps after which it did not sleep again.
    #[must_use]
    pub fn useful_part(&self) -> f64 {
        if self.slept == 0 { 1.0 } else { 1.0 - self.in_vain as f64 / self.slept as f64 }
    }
}

#[derive(Clone, Copy, Debug)]
struct PollingThread {
    state: State,
    since: Time,
    /// The length of the sleep after which it looks.
    last: Option<u64>,
    /// CPU time since then.
    ran: u64,
    times: PolledTime,
}

/// The sweep.
#[derive(Debug)]
pub(crate) struct PollSweep(Vec<PollingThread>);

impl PollSweep {
    pub fn new(program: &Program) -> Self {
        let times = PolledTime::default();
        let thread = PollingThread { state: State::Absent, since: Time::ZERO, last: None, ran: 0, times };
        PollSweep(vec![thread; program.threads.len()])
    }

    /// By thread.
    pub fn into_times(self) -> Vec<PolledTime> {
        self.0.into_iter().map(|thread| thread.times).collect()
    }
}

/// Whether a thread looks what there is to do after such a wait: a sleep in a loop that looks, a round of an event loop.
fn looks_after(cause: Cause) -> bool {
    matches!(cause, Cause::PollingSleep | Cause::PollTimeout)
}

impl PollingThread {
    fn leave(&mut self, time: Time) {
        let length = time.since(self.since);
        match self.state {
            State::Blocked(cause) if looks_after(cause) => {
                self.times.slept += length;
                (self.last, self.ran) = (Some(length), 0);
            }
            State::Running | State::Spinning => self.ran += length,
            State::Blocked(_) | State::Absent => self.last = None,
            State::Ready | State::Overhead => {}
        }
    }
}

impl Sweep for PollSweep {
    fn enter(&mut self, thread: ThreadId, time: Time, _: State, state: State) {
        let Some(thread) = self.0.get_mut(thread.index()) else { return };
        thread.leave(time);
        (thread.state, thread.since) = (state, time);
        if matches!(state, State::Blocked(cause) if looks_after(cause) || cause == Cause::Poll)
            && let Some(length) = thread.last.take()
            && thread.ran < LOOK
        {
            thread.times.in_vain += length;
        }
    }

    fn finish(&mut self, end: Time) {
        self.0.iter_mut().for_each(|thread| {
            thread.leave(end);
            thread.state = State::Absent;
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_sleep_can_be_longer_than_it_has_to_be() {
        let program = Program { threads: Vec::new(), ..Program::default() };
        let mut sweep = PollSweep::new(&program);
        let new = PollingThread {
            state: State::Absent,
            since: Time::ZERO,
            last: None,
            ran: 0,
            times: PolledTime::default(),
        };
        sweep.0.push(new);
        let (sleep, lock) = (State::Blocked(Cause::PollingSleep), State::Blocked(Cause::Lock));
        let mut now = 0;
        let mut before = State::Absent;
        // Milliseconds: two looks in vain, one after which it works; one that a lock interrupts; one to the end.
        let stays = [
            (sleep, 10.0),
            (State::Running, 0.02),
            (sleep, 10.0),
            (State::Ready, 3.0),
            (State::Running, 0.05),
            (sleep, 10.0),
            (State::Running, 2.0),
            (sleep, 5.0),
            (lock, 1.0),
            (sleep, 5.0),
        ];
        for (state, length) in stays {
            sweep.enter(ThreadId(0), Time::from_nanoseconds(now), before, state);
            (now, before) = (now + (length * 1e6) as u64, state);
        }
        sweep.finish(Time::from_nanoseconds(now));
        let times = sweep.into_times()[0];
        assert_eq!((times.slept, times.in_vain), (40_000_000, 20_000_000));
        assert!((times.useful_part() - 0.5).abs() < 1e-9);
    }
}
