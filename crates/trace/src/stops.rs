//! Threads that end since another one told them to: a background thread looks for that after each of its sleeps.
//!
//! ```text
//!   A   work work work work  stop = 1, join ..........    A tells and joins
//!   B   . sleep . sleep . sleep . sleep ........... end   B would have slept on and on
//! ```
//! The flag is an access to memory that no collector sees. It is known by what follows: a thread that has slept at one place
//! [`LOOKS`] times or more is joined in such a sleep, sleeps nowhere twice from then on, and works no longer than between two waits before.
//! The sleep in which it was joined then depends on the one that joins it. Who works for longer may as well have waited for a lock by
//! trying it again and again, which it has got now.
//!
//! ```text
//!   A   has the lock ========= join .................................   A came to its join
//!   B   try . sleep . try . sleep . has the lock =========== end        B had not finished
//! ```
//!
//! Threads of Python and Java wait for the end of another one by a lock or a condition that it lets go of as its last act: that is no join in
//! the log. Who is let go of so, and began to wait in the last sleep, may have told the thread to end.
//!
//! It cannot be told from a thread that had as many sleeps to do, if another one came to its join in the last of them. With fewer
//! sleeps than that, but one before, either may be so: [`PossibleStop`].
//!
//! Constant time per event; a few words per thread that sleeps.

use longpole_event::{StackId, ThreadId, Time, Waker};

/// Sleeps at one place from which on they are a loop.
const LOOKS: u32 = 4;
/// How long the end of a thread takes at most, beside the last round, nanoseconds.
const END: u64 = 1_000_000;
/// Places of which sleeps are counted, per thread.
const MOST_PLACES: usize = 8;

/// A thread may have been told to end while it slept: it slept there once or a few times before, and not again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PossibleStop {
    /// The thread.
    pub thread: ThreadId,
    /// Who waits for its end.
    pub joiner: ThreadId,
    /// Since when.
    pub told: Time,
    /// When the sleep was over; of one that works its end.
    pub woken: Time,
    /// Whether it worked instead, up to its end.
    pub works: bool,
}

/// One thread's sleeps.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sleeps {
    /// How often it slept at each place.
    slept: Vec<(StackId, u32)>,
    /// Where it waits now and since when, if it waits.
    waits_at: Option<(StackId, Time)>,
    last: Option<LastSleep>,
    joined: Option<JoinedSleep>,
    /// How long it has run since its last wait, nanoseconds; `None` before its first wait and while it waits.
    worked: Option<u64>,
    /// Since when it runs, if it does.
    runs_since: Option<Time>,
    /// How long it ran at most between two waits, nanoseconds.
    longest_work: u64,
}

/// The last sleep that is over.
#[derive(Clone, Copy, Debug)]
struct LastSleep {
    place: StackId,
    since: Time,
    woken: Time,
    is_first_there: bool,
}

/// A sleep in which the thread was joined.
#[derive(Clone, Debug)]
struct JoinedSleep {
    /// The number of the wake that ends it; `None` where the thread let go of who waited for its end.
    wake: Option<u64>,
    joiner: ThreadId,
    told: Time,
    woken: Option<Time>,
    /// Whether it is one of many at that place.
    is_in_loop: bool,
    /// How long it ran since, nanoseconds.
    work: u64,
    /// How long at most between two waits before.
    longest_work: u64,
    /// Where it has slept since.
    later: Vec<StackId>,
}

impl Sleeps {
    /// The thread waits there.
    pub(crate) fn wait(&mut self, place: StackId, since: Time) {
        self.waits_at = Some((place, since));
        self.finish_work();
    }

    /// It runs from now on.
    pub(crate) fn run(&mut self, time: Time) {
        self.runs_since = Some(time);
    }

    /// It runs no longer. Time without a processor is no work.
    pub(crate) fn leave(&mut self, time: Time) {
        let ran = self.runs_since.take().map_or(0, |since| time.since(since));
        if let Some(worked) = &mut self.worked {
            *worked += ran;
        }
    }

    /// Its work since the last wait is over.
    fn finish_work(&mut self) {
        let Some(work) = self.worked.take() else { return };
        self.longest_work = self.longest_work.max(work);
        if let Some(joined) = self.joined.as_mut().filter(|joined| joined.woken.is_some()) {
            joined.work += work;
        }
    }

    /// Its wait is over.
    pub(crate) fn wake(&mut self, waker: Waker, time: Time) {
        self.finish_work();
        self.worked = Some(0);
        if matches!(waker, Waker::Thread(_)) {
            // Its end was not its next act.
            self.joined.take_if(|joined| joined.wake.is_none());
        }
        let Some((place, since)) = self.waits_at.take().filter(|_| waker.is_interrupt()) else { return };
        if let Some(joined) = &mut self.joined {
            joined.woken.get_or_insert(time);
            if joined.later.contains(&place) {
                self.joined = None;
            } else {
                joined.later.push(place);
            }
        }
        let slept = self.slept.iter_mut().find(|(at, _)| *at == place);
        self.last = Some(LastSleep { place, since, woken: time, is_first_there: slept.is_none() });
        if let Some((_, count)) = slept {
            *count += 1;
        } else if self.slept.len() < MOST_PLACES {
            self.slept.push((place, 1));
        }
    }

    /// Another thread waits for its end from now on; it was woken so often before.
    pub(crate) fn join(&mut self, wakes: u64, joiner: ThreadId, told: Time) {
        let Some((place, _)) = self.waits_at else { return };
        let Some(&(_, count)) = self.slept.iter().find(|&&(at, _)| at == place) else { return };
        self.joined = Some(JoinedSleep {
            wake: Some(wakes),
            joiner,
            told,
            woken: None,
            is_in_loop: count >= LOOKS,
            work: 0,
            longest_work: self.longest_work,
            later: Vec::new(),
        });
    }

    /// It wakes a thread that has waited since then.
    pub(crate) fn let_go(&mut self, joiner: ThreadId, told: Time) {
        if self.joined.as_ref().is_some_and(|joined| joined.wake.is_some()) {
            return;
        }
        let was_told = |last: &LastSleep| (last.since..last.woken).contains(&told) && !last.is_first_there;
        self.joined = self.last.filter(was_told).map(|LastSleep { place, woken, .. }| JoinedSleep {
            wake: None,
            joiner,
            told,
            woken: Some(woken),
            is_in_loop: false,
            work: 0,
            longest_work: self.longest_work,
            later: vec![place],
        });
    }

    /// It ends.
    pub(crate) fn end(&mut self, time: Time) {
        self.leave(time);
        self.finish_work();
    }

    /// Its end is not in the recording.
    pub(crate) fn cut(&mut self) {
        self.finish_work();
        self.joined.take_if(|joined| joined.woken.is_none());
    }

    /// Whether it slept at one place again and again.
    pub(crate) fn are_a_loop(&self) -> bool {
        self.slept.iter().any(|&(_, count)| count >= LOOKS)
    }

    /// Of a thread that ends: the number, from 0, of the wake that ended the sleep in which it was told to.
    pub(crate) fn stopped(&self) -> Option<u64> {
        self.joined.as_ref().filter(|joined| joined.was_told())?.wake
    }

    /// Of a thread that ends: that it may have been told to.
    pub(crate) fn possible_stop(&self, thread: ThreadId) -> Option<PossibleStop> {
        let &JoinedSleep { joiner, told, woken, .. } =
            self.joined.as_ref().filter(|joined| !joined.was_told())?;
        Some(PossibleStop { thread, joiner, told, woken: woken?, works: false })
    }
}

impl JoinedSleep {
    /// Whether nothing else explains that it slept no more. It may end a little later than it slept again.
    fn was_told(&self) -> bool {
        self.is_in_loop && self.work <= self.longest_work + END
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const JOINER: ThreadId = ThreadId(1);

    /// After so many sleeps the thread is joined in one more, at 5, which ends at 8; then it sleeps at these places and ends.
    fn joined(before: u32, later: &[u32]) -> Sleeps {
        let mut sleeps = Sleeps::default();
        let at = Time::from_nanoseconds;
        let sleep = |sleeps: &mut Sleeps, place: u32, time: u64| {
            sleeps.wait(StackId(place), at(time - 2));
            sleeps.wake(Waker::Interrupt, at(time));
        };
        (0..before).for_each(|_| sleep(&mut sleeps, 7, 3));
        sleeps.wait(StackId(7), at(3));
        sleeps.join(before.into(), JOINER, at(5));
        sleeps.wake(Waker::Interrupt, at(8));
        later.iter().for_each(|&place| sleep(&mut sleeps, place, 9));
        sleeps
    }

    fn stopped(before: u32, later: &[u32]) -> Option<u64> {
        joined(before, later).stopped()
    }

    #[test]
    fn a_thread_that_is_joined_in_one_of_many_sleeps_and_ends_then_was_told_to() {
        assert_eq!(stopped(6, &[]), Some(6));
        // Another part of its loop.
        assert_eq!(stopped(6, &[8]), Some(6));
    }

    #[test]
    fn one_whose_end_came_after_the_recording_s_was_told_to_if_its_sleep_was_over() {
        let mut sleeps = joined(6, &[8]);
        sleeps.cut();
        assert_eq!(sleeps.stopped(), Some(6));
        let at = Time::from_nanoseconds;
        let mut sleeps = Sleeps::default();
        for time in [3, 6, 9, 12] {
            sleeps.wait(StackId(7), at(time - 2));
            sleeps.wake(Waker::Interrupt, at(time));
        }
        sleeps.wait(StackId(7), at(13));
        sleeps.join(4, JOINER, at(14));
        sleeps.cut();
        assert!(sleeps.stopped().is_none() && sleeps.possible_stop(ThreadId(0)).is_none());
    }

    #[test]
    fn one_that_goes_on_or_that_slept_a_few_times_was_not() {
        for (before, later) in [(6, &[7, 7][..]), (6, &[8, 8]), (LOOKS - 1, &[])] {
            assert_eq!(stopped(before, later), None, "{before} {later:?}");
        }
    }

    #[test]
    fn one_that_works_for_longer_than_ever_between_its_looks_may_have_waited_for_a_lock() {
        let told = |works: u64| {
            let mut sleeps = joined(6, &[]);
            // It waits for a processor first.
            sleeps.run(Time::from_nanoseconds(5 + 2 * END));
            sleeps.end(Time::from_nanoseconds(5 + 2 * END + works));
            (sleeps.stopped(), sleeps.possible_stop(ThreadId(0)).is_some())
        };
        assert_eq!(told(END), (Some(6), false));
        assert_eq!(told(END + 1), (None, true));
    }

    #[test]
    fn one_that_slept_a_few_times_may_have_been_told_to() {
        let possible = |before: u32, later: &[u32]| joined(before, later).possible_stop(ThreadId(0));
        let [told, woken] = [5, 8].map(Time::from_nanoseconds);
        let expected = Some(PossibleStop { thread: ThreadId(0), joiner: JOINER, told, woken, works: false });
        for (before, later) in [(1, &[][..]), (LOOKS - 1, &[8])] {
            assert_eq!(possible(before, later), expected, "{before} {later:?}");
        }
        // Not in its first sleep, nor if it goes on; of a loop it is known.
        for (before, later) in [(0, &[][..]), (2, &[7, 7]), (LOOKS, &[])] {
            assert_eq!(possible(before, later), None, "{before} {later:?}");
        }
    }

    #[test]
    fn one_that_lets_go_of_who_came_in_its_last_sleep_as_its_last_act_may_have_been_told_to() {
        let at = Time::from_nanoseconds;
        let slept = |times: &[(u64, u64)]| {
            let mut sleeps = Sleeps::default();
            for &(since, woken) in times {
                sleeps.wait(StackId(7), at(since));
                sleeps.wake(Waker::Interrupt, at(woken));
            }
            sleeps
        };
        let possible =
            |sleeps: &Sleeps| sleeps.possible_stop(ThreadId(0)).map(|stop| (stop.told, stop.woken));
        let mut sleeps = slept(&[(1, 3), (4, 8)]);
        sleeps.let_go(JOINER, at(5));
        assert_eq!(possible(&sleeps), Some((at(5), at(8))));
        assert_eq!(sleeps.stopped(), None);
        // It waits for another thread before it ends, as for its next task.
        let mut later = sleeps.clone();
        later.wait(StackId(9), at(9));
        later.wake(Waker::Thread(JOINER), at(10));
        assert_eq!(possible(&later), None);
        // It sleeps once more.
        let mut later = sleeps.clone();
        later.wait(StackId(7), at(9));
        later.wake(Waker::Interrupt, at(12));
        assert_eq!(possible(&later), None);
        // It was waited for earlier, or in its first sleep.
        for (times, told) in [(&[(1, 3), (4, 8)][..], 2), (&[(4, 8)], 5)] {
            let mut sleeps = slept(times);
            sleeps.let_go(JOINER, at(told));
            assert_eq!(possible(&sleeps), None, "{times:?} {told}");
        }
    }
}
