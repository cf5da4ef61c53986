//! For how much of a run each lock excluded threads from what it protects.
//!
//! ```text
//!   T1  =mmm=======mmmm=     held by their own word: 3 + 4 + 2; the thread that waits says the same of 2 of them
//!   T2  ==========...mm=     a lock is taken for as long as it was held, and where that is not known, wanted
//! ```
//! A hold is known where the program says how long it lasted. A lock for which some thread waits is held
//! meanwhile, so the time for which it was wanted is a lower bound of the time for which it was held.
//!
//! Where two threads that wait for it are there for a part of the run only, it can exclude them only then: that part counts
//! in place of the run. A program that starts for long (ranks of MPI do) has the same answer as one that does not.
//!
//! Constant time per item, and for each thread that waits for a lock for the first time, one in proportion to those that did. A
//! few words per thread and per object; of each object, up to 64 threads that waited for it.

use longpole_event::{ThreadId, Time};

use crate::objects::{ObjectId, ObjectKind};
use crate::state::State;
use crate::timeline::{Item, ItemKind};

/// Adds up holds and waits, item by item in time order.
#[derive(Clone, Debug, Default)]
pub struct ExclusionTimes {
    threads: Vec<LockWaiter>,
    objects: Vec<LockTime>,
    /// Threads that waited for each object, in the order of their first wait.
    waiters: Vec<Vec<ThreadId>>,
}

#[derive(Clone, Copy, Debug, Default)]
struct LockWaiter {
    /// What it is about to wait for.
    next: Option<ObjectId>,
    /// What it waits for.
    object: Option<ObjectId>,
    spins: bool,
    /// When it began, and ended.
    life: Option<(Time, Option<Time>)>,
}

#[derive(Clone, Copy, Debug, Default)]
struct LockTime {
    held: u64,
    wanted: u64,
    /// Threads that wait.
    waiting: u32,
    since: Time,
}

/// Threads whose waits for a lock are kept apart; one for which more wait is there for all.
const MOST_WAITERS: usize = 64;

impl ExclusionTimes {
    /// Takes the next item.
    pub fn take(&mut self, item: &Item) {
        match item.what {
            ItemKind::Await(object) => self.thread(item.thread).next = Some(object),
            ItemKind::Held(hold) => self.object(hold.object).held += hold.nanoseconds,
            ItemKind::State(state) => self.enter(item.thread, item.time, state),
            _ => {}
        }
    }

    /// For how long the object, of this kind, excluded threads, nanoseconds. Readers hold a lock together: of a lock for
    /// readers and writers only the time for which it was wanted counts.
    #[must_use]
    pub fn of(&self, object: ObjectId, kind: ObjectKind) -> u64 {
        let Some(time) = self.objects.get(object.index()) else { return 0 };
        if kind == ObjectKind::RwLock { time.wanted } else { time.held.max(time.wanted) }
    }

    /// For which part of the time in which it can exclude threads it does: of the run, or of that part of it in which at least
    /// two threads are there that wait for it. Lengths are nanoseconds.
    #[must_use]
    pub fn share(&self, object: ObjectId, kind: ObjectKind, run: u64) -> f64 {
        let together = self.together(object, run).unwrap_or(run).max(1);
        (self.of(object, kind) as f64 / together as f64).min(1.0)
    }

    /// For how long at least two threads that wait for the object are there; `None` where fewer do, or very many.
    fn together(&self, object: ObjectId, run: u64) -> Option<u64> {
        let waiters = self.waiters.get(object.index())?;
        if !(2..MOST_WAITERS).contains(&waiters.len()) {
            return None;
        }
        let mut ends: Vec<(Time, i32)> = Vec::new();
        for waiter in waiters {
            let (begin, end) = self.threads.get(waiter.index())?.life?;
            ends.extend([(begin, 1), (end.unwrap_or(Time::from_nanoseconds(run)).max(begin), -1)]);
        }
        ends.sort_unstable();
        let (mut alive, mut since, mut together) = (0, Time::from_nanoseconds(0), 0);
        for (time, change) in ends {
            if alive >= 2 {
                together += time.since(since);
            }
            (alive, since) = (alive + change, time);
        }
        (together > 0).then_some(together)
    }

    fn is_waiting(&mut self, thread: ThreadId, object: ObjectId) {
        if object.index() >= self.waiters.len() {
            self.waiters.resize(object.index() + 1, Vec::new());
        }
        let waiters = &mut self.waiters[object.index()];
        if waiters.len() < MOST_WAITERS && !waiters.contains(&thread) {
            waiters.push(thread);
        }
    }

    fn thread(&mut self, thread: ThreadId) -> &mut LockWaiter {
        if thread.index() >= self.threads.len() {
            self.threads.resize(thread.index() + 1, LockWaiter::default());
        }
        &mut self.threads[thread.index()]
    }

    fn object(&mut self, object: ObjectId) -> &mut LockTime {
        if object.index() >= self.objects.len() {
            self.objects.resize(object.index() + 1, LockTime::default());
        }
        &mut self.objects[object.index()]
    }

    fn enter(&mut self, thread: ThreadId, time: Time, state: State) {
        let waiter = self.thread(thread);
        waiter.life = match (waiter.life, state) {
            (None, State::Absent) => None,
            (life, State::Absent) => life.map(|(begin, _)| (begin, Some(time))),
            (life, _) => Some((life.map_or(time, |(begin, _)| begin), None)),
        };
        let is_waiting = match state {
            State::Blocked(_) | State::Spinning => true,
            // A thread that spins waits on while it has no processor; one that was woken does not.
            State::Ready => waiter.spins,
            State::Running | State::Overhead | State::Absent => false,
        };
        if state != State::Ready {
            waiter.spins = state == State::Spinning;
        }
        let wanted = waiter.next.take().or(waiter.object).filter(|_| is_waiting);
        let before = std::mem::replace(&mut waiter.object, wanted);
        if before == wanted {
            return;
        }
        if let Some(lock) = before.map(|object| self.object(object)) {
            lock.waiting -= 1;
            if lock.waiting == 0 {
                lock.wanted += time.since(lock.since);
            }
        }
        if let Some(object) = wanted {
            self.is_waiting(thread, object);
        }
        if let Some(lock) = wanted.map(|object| self.object(object)) {
            if lock.waiting == 0 {
                lock.since = time;
            }
            lock.waiting += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paths::Paths;
    use crate::state::Cause;
    use crate::timeline::LockHold;

    const LOCK: ObjectId = ObjectId(0);

    fn of(items: &[(u64, u32, ItemKind)], kind: ObjectKind) -> u64 {
        let mut times = ExclusionTimes::default();
        for &(time, thread, what) in items {
            times.take(&Item { time: Time::from_nanoseconds(time), thread: ThreadId(thread), what });
        }
        times.of(LOCK, kind)
    }

    #[test]
    fn a_lock_excludes_only_while_two_are_there_that_want_it() {
        let blocked = ItemKind::State(State::Blocked(Cause::Lock));
        let running = ItemKind::State(State::Running);
        let mut times = ExclusionTimes::default();
        let items = [
            (0, 0, running),
            // Two of 20 at 60, in a run of 100: the lock is wanted for 8.
            (60, 1, running),
            (60, 2, running),
            (62, 1, ItemKind::Await(LOCK)),
            (62, 1, blocked),
            (66, 1, running),
            (66, 2, ItemKind::Await(LOCK)),
            (66, 2, blocked),
            (70, 2, running),
            (80, 1, ItemKind::State(State::Absent)),
            (80, 2, ItemKind::State(State::Absent)),
        ];
        for (time, thread, what) in items {
            times.take(&Item { time: Time::from_nanoseconds(time), thread: ThreadId(thread), what });
        }
        assert_eq!(times.share(LOCK, ObjectKind::Mutex, 100), 0.4);
        // One that is there all the time waits too: two are there from 60 to 80 still.
        times.take(&Item {
            time: Time::from_nanoseconds(90),
            thread: ThreadId(0),
            what: ItemKind::Await(LOCK),
        });
        times.take(&Item { time: Time::from_nanoseconds(90), thread: ThreadId(0), what: blocked });
        times.take(&Item { time: Time::from_nanoseconds(92), thread: ThreadId(0), what: running });
        assert_eq!(times.share(LOCK, ObjectKind::Mutex, 100), 0.5);
    }

    #[test]
    fn a_lock_for_which_one_thread_waits_is_looked_at_over_the_run() {
        let mut times = ExclusionTimes::default();
        let what = [
            ItemKind::Await(LOCK),
            ItemKind::State(State::Blocked(Cause::Lock)),
            ItemKind::State(State::Running),
        ];
        for (time, what) in [10, 10, 30].into_iter().zip(what) {
            times.take(&Item { time: Time::from_nanoseconds(time), thread: ThreadId(1), what });
        }
        assert_eq!(times.share(LOCK, ObjectKind::Mutex, 100), 0.2);
    }

    #[test]
    fn a_lock_is_held_at_least_while_some_thread_wants_it() {
        let blocked = ItemKind::State(State::Blocked(Cause::Lock));
        let waits = [
            (2, 1, ItemKind::Await(LOCK)),
            (2, 1, blocked),
            (3, 2, ItemKind::Await(LOCK)),
            (3, 2, ItemKind::State(State::Spinning)),
            (5, 1, ItemKind::State(State::Ready)),
            (6, 2, ItemKind::State(State::Ready)),
            (7, 2, ItemKind::State(State::Spinning)),
            (9, 2, ItemKind::State(State::Running)),
            // No wait for the lock any more.
            (10, 1, ItemKind::State(State::Running)),
            (11, 1, blocked),
            (15, 1, ItemKind::State(State::Ready)),
        ];
        assert_eq!(of(&waits, ObjectKind::Mutex), 7);
        let hold = |nanoseconds| LockHold {
            object: LOCK,
            path: Paths::ROOT,
            outer: None,
            acquisitions: 1,
            contended: 0,
            nanoseconds,
            longest: nanoseconds,
        };
        let held = [(12, 1, ItemKind::Held(hold(4))), (20, 2, ItemKind::Held(hold(5)))];
        assert_eq!(of(&[&waits[..], &held].concat(), ObjectKind::Mutex), 9);
        assert_eq!(of(&[&waits[..], &held].concat(), ObjectKind::RwLock), 7, "readers hold it together");
    }
}
