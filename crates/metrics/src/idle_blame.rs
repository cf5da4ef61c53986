//! Idle blame (metrics.md §3; Q §3.2.5): who kept others waiting, and where in the program.
//!
//! When a thread enables another that was blocked, or that said that it spins for something, the whole of that wait
//! is charged to the path at which it did.
//!
//! ```text
//!   T1  AAAABB          T1 signals T2 at 4, from A: A is blamed for 3
//!   T2  C...CC          T3 at 6, from B:            B is blamed for 5
//!   T3  C.....
//! ```
//! All blame together is the blocked time that a dependence ended. Waits that a device, a clock or something
//! outside the program ended blame nobody.
//!
//! Time: constant per item and wait. Memory: one number per (thread, path) that ended a wait.
//!
//! It cannot see whether the blamed thread could have been sooner: it may itself have waited. What two threads wait
//! for at a time is blamed twice, so blame can exceed the elapsed time.

use longpole_event::{ThreadId, Time};
use longpole_graph::{Dependence, Sweep};
use longpole_trace::{ObjectId, PathId, Program, State};
use rustc_hash::FxHashMap;

use crate::wait_ends::{Ended, WaitEnds};

/// The sweep of idle blame.
#[derive(Debug)]
pub(crate) struct IdleBlame {
    ends: WaitEnds,
    charges: FxHashMap<(ThreadId, PathId), u64>,
}

impl IdleBlame {
    pub fn new(program: &Program) -> Self {
        IdleBlame { ends: WaitEnds::new(program), charges: FxHashMap::default() }
    }

    fn blame(&mut self, ended: Option<Ended>, time: Time) {
        if let Some(Ended { since, by: Some(ender) }) = ended
            && since < time
        {
            *self.charges.entry((ender.thread, ender.path)).or_default() += time.since(since);
        }
    }

    /// What each (thread, path) is blamed for.
    pub fn into_charges(self) -> impl Iterator<Item = ((ThreadId, PathId), u64)> {
        self.charges.into_iter()
    }
}

impl Sweep for IdleBlame {
    fn begin_wait(&mut self, thread: ThreadId, _time: Time, _object: ObjectId) {
        self.ends.begin_wait(thread);
    }

    fn enter(&mut self, thread: ThreadId, time: Time, _before: State, state: State) {
        let ended = self.ends.enter(thread, time, state);
        self.blame(ended, time);
    }

    fn observe(&mut self, thread: ThreadId, time: Time, path: PathId) {
        self.ends.observe(thread, time, path);
    }

    fn depend(&mut self, dependence: Dependence) {
        self.ends.depend(dependence);
    }

    fn finish(&mut self, end: Time) {
        for thread in self.ends.threads() {
            let ended = self.ends.end(thread, end);
            self.blame(ended, end);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::drawn::Drawn;

    #[test]
    fn the_path_that_ends_a_wait_is_blamed_for_all_of_it() {
        let drawn =
            Drawn::new("T1 AAAABB\nT2 C...CC\nT3 C.....CC\nT1@4 -> T2 signal\nT1@6 -> T3 signal\nT1@4 look");
        assert_eq!((drawn.own("A").idle_blame, drawn.own("B").idle_blame), (3, 5));
        assert_eq!(drawn.own("C").idle_blame, 0);
    }

    #[test]
    fn blame_is_inclusive_of_what_was_done_on_behalf() {
        let drawn = Drawn::new("A = main > step > unlock\nT1 AAAA\nT2 BllB\nT1@3 -> T2 unlock");
        let (own, inclusive) = drawn.procedure("main");
        assert_eq!((own.idle_blame, inclusive.idle_blame), (0, 2));
        assert_eq!(drawn.own("unlock").idle_blame, 2);
    }

    #[test]
    fn waits_that_nobody_in_the_program_ended_blame_nobody() {
        let drawn = Drawn::new("T1 AAAA\nT2 B::B");
        assert_eq!(drawn.own("A").idle_blame + drawn.own("B").idle_blame, 0);
    }

    #[test]
    fn a_message_is_blamed_where_it_was_sent() {
        // Sent from A at 2, received at 5, when the sender is in B.
        let drawn = Drawn::new("T1 AABBBB\nT2 CmmmmC\nT1@2 -> T2@5 message");
        assert_eq!((drawn.own("A").idle_blame, drawn.own("B").idle_blame), (4, 0));
    }

    #[test]
    fn a_dependence_that_does_not_end_the_wait_is_not_to_blame() {
        // T1 signals at 2, T2 goes on only at 4, by T3.
        let drawn = Drawn::new("T1 AAAAAA\nT2 BcccBB\nT3 DDDDDD\nT1@2 -> T2 signal\nT3@4 -> T2 signal");
        assert_eq!((drawn.own("A").idle_blame, drawn.own("D").idle_blame), (0, 3));
    }
}
