//! For how much of a run each lock excluded threads from what it protects.
//!
//! ```text
//!   T1  =mmm=======mmmm=     held by their own word: 3 + 4 + 2; the thread that waits says the same of 2 of them
//!   T2  ==========...mm=     a lock is taken for as long as it was held, and where that is not known, wanted
//! ```
//! A hold is known where the program says how long it lasted. A lock for which some thread waits is held
//! meanwhile, so the time for which it was wanted is a lower bound of the time for which it was held.
//!
//! Constant time per item; a few words per thread and per object.

use longpole_event::{ThreadId, Time};

use crate::objects::{ObjectId, ObjectKind};
use crate::state::State;
use crate::timeline::{Item, ItemKind};

/// Adds up holds and waits, item by item in time order.
#[derive(Clone, Debug, Default)]
pub struct ExclusionTimes {
    threads: Vec<LockWaiter>,
    objects: Vec<LockTime>,
}

#[derive(Clone, Copy, Debug, Default)]
struct LockWaiter {
    /// What it is about to wait for.
    next: Option<ObjectId>,
    /// What it waits for.
    object: Option<ObjectId>,
    spins: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct LockTime {
    held: u64,
    wanted: u64,
    /// Threads that wait.
    waiting: u32,
    since: Time,
}

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
