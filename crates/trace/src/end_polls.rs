//! Threads that sleep until another one, or a process, has ended: they look for that after each sleep.
//!
//! ```text
//!   A   work work work work work end
//!   B   . sleep . sleep . sleep .... looks: A has ended       `waitpid` with `WNOHANG`, a flag and a join
//! ```
//! Nothing but the join that follows says what the sleeps were for. The last sleep of a row depends on an end that came in
//! it and that the thread joins before it waits for anything else. A row is of sleeps at one place, with hardly any work
//! between them: who comes to a join by chance after a sleep of its own has most likely slept once, or worked meanwhile.
//!
//! Constant time per event; a few words per thread that sleeps.

use longpole_event::{StackId, ThreadId, Time, Waker};

/// The part of the shorter of two sleeps below which what is between them is a look for what the thread sleeps for.
pub const LOOK: f64 = 0.1;

/// A sleep that was over.
#[derive(Clone, Copy, Debug)]
struct RowSleep {
    place: StackId,
    since: Time,
    woken: Time,
    /// The number of the wake that ended it, from 0.
    wake: u64,
    /// Whether it follows another one of a row.
    follows: bool,
}

/// The end of a thread that another one saw after a sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SeenEnd {
    /// The number of the wake that ended the sleep, from 0.
    pub(crate) wake: u64,
    /// Which thread ended.
    pub(crate) ended: ThreadId,
}

/// One thread's sleeps in a row.
#[derive(Clone, Debug, Default)]
pub(crate) struct SleepRow {
    waits_at: Option<(StackId, Time)>,
    last: Option<RowSleep>,
}

impl SleepRow {
    /// The thread waits, there or at a place that is not known.
    pub(crate) fn wait(&mut self, place: Option<StackId>, since: Time) {
        self.waits_at = place.map(|place| (place, since));
        if place.is_none() {
            self.last = None;
        }
    }

    /// Its wait is over, by the wake of this number.
    pub(crate) fn wake(&mut self, waker: Waker, time: Time, wake: u64) {
        let before = self.last.take();
        let Some((place, since)) = self.waits_at.take().filter(|_| waker.is_interrupt()) else { return };
        let follows = before.is_some_and(|before| {
            let shorter = before.woken.since(before.since).min(time.since(since));
            before.place == place && (since.since(before.woken) as f64) < LOOK * shorter as f64
        });
        self.last = Some(RowSleep { place, since, woken: time, wake, follows });
    }

    /// The thread joins one that ended then: whether it saw that after its last sleep.
    pub(crate) fn join(&self, ended: ThreadId, end: Time) -> Option<SeenEnd> {
        let last = self.last.filter(|last| last.follows && (last.since..last.woken).contains(&end))?;
        Some(SeenEnd { wake: last.wake, ended })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENDED: ThreadId = ThreadId(1);

    /// What is seen by a thread that sleeps at these places and times, and then joins a thread that ended at that time.
    fn seen(sleeps: &[(u32, u64, u64)], end: u64) -> Option<SeenEnd> {
        row(sleeps).join(ENDED, Time::from_nanoseconds(end))
    }

    fn row(sleeps: &[(u32, u64, u64)]) -> SleepRow {
        let mut row = SleepRow::default();
        for (wake, &(place, since, woken)) in (0..).zip(sleeps) {
            row.wait(Some(StackId(place)), Time::from_nanoseconds(since));
            row.wake(Waker::HardInterrupt, Time::from_nanoseconds(woken), wake);
        }
        row
    }

    #[test]
    fn an_end_within_the_last_sleep_of_a_row_was_seen_after_it() {
        let sleeps = [(7, 0, 100), (7, 101, 200), (7, 202, 300)];
        assert_eq!(seen(&sleeps, 250), Some(SeenEnd { wake: 2, ended: ENDED }));
        // Before or after that sleep: something else was looked for.
        assert_eq!((seen(&sleeps, 201), seen(&sleeps, 300)), (None, None));
    }

    #[test]
    fn one_sleep_or_work_between_sleeps_is_no_row() {
        assert_eq!(seen(&[(7, 0, 100)], 50), None);
        assert_eq!(seen(&[(7, 0, 100), (7, 110, 200)], 150), None);
        assert_eq!(seen(&[(8, 0, 100), (7, 101, 200)], 150), None);
    }

    #[test]
    fn who_waits_for_anything_else_before_its_join_did_not_see_the_end_then() {
        let sleeps = [(7, 0, 100), (7, 101, 200)];
        let mut other = row(&sleeps);
        other.wait(None, Time::from_nanoseconds(201));
        let mut woken = row(&sleeps);
        woken.wait(Some(StackId(7)), Time::from_nanoseconds(201));
        woken.wake(Waker::Thread(ENDED), Time::from_nanoseconds(230), 2);
        for row in [other, woken] {
            assert_eq!(row.join(ENDED, Time::from_nanoseconds(150)), None);
        }
    }
}
