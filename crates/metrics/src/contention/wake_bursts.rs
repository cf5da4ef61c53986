//! Wakes in vain: all that wait are woken for what one of them can have, and the others wait again.
//!
//! ```text
//!   T0  produce == wakes all | produce == wakes all
//!   T1  .....................|look|...................      in vain
//!   T2  .....................|look| handle ======|....
//!   T3  .....................|look|...................      in vain
//! ```
//! A thread wakes all when it ends the waits of three threads or more in one go, and so many as waited when it began. Such a wake was
//! in vain if the thread then waits for the same object again after little work. It may have waited for locks in between, as for that of the
//! condition.
//!
//! The kernel does not tell whether a program asked it to wake all or one. Signals for one each are taken for a wake of all if they come
//! close together, are as many as waited, and each is for very little work.

use longpole_event::{ThreadId, Time};
use longpole_trace::ObjectId;

use super::Waiters;
use crate::cpu_history::SharePoint;

/// Time between two wakes in one go at most, nanoseconds.
const IN_ONE_GO: u64 = 50_000;
/// Threads that are woken in one go at least.
const FEWEST: usize = 3;
/// CPU time of a look at most, nanoseconds.
const LOOK: u64 = 50_000;

/// Wakes from one object in one go.
#[derive(Clone, Debug, Default)]
pub(super) struct WakeBurst {
    /// Which one of the object's it is.
    number: u32,
    waker: Option<ThreadId>,
    last: Time,
    /// Threads that waited when it began.
    waited: usize,
    /// Those that were woken.
    woken: Vec<ThreadId>,
    /// How many of those wait again after a look, and their CPU time until then.
    returned: usize,
    work: u64,
}

impl WakeBurst {
    /// Whether this wake goes on what the last one began.
    fn continues(&self, waker: ThreadId, time: Time) -> bool {
        self.waker == Some(waker) && time.since(self.last) <= IN_ONE_GO
    }

    /// The one after it, of an object for which so many threads wait.
    fn next(&self, waker: ThreadId, waited: usize) -> WakeBurst {
        WakeBurst { number: self.number + 1, waker: Some(waker), waited, ..WakeBurst::default() }
    }

    /// One more thread is woken.
    fn wake(&mut self, thread: ThreadId, time: Time) {
        self.last = time;
        self.woken.push(thread);
    }

    /// Whether all were woken.
    fn is_of_all(&self) -> bool {
        self.waited >= FEWEST && self.woken.len() >= self.waited
    }

    /// A thread that was woken waits again after so much work.
    fn come_back(&mut self, work: u64) {
        self.returned += 1;
        self.work += work;
    }

    /// How many of its wakes are known to have been in vain, and the work after those: one of the threads could have what it was for.
    fn in_vain(&self) -> (u64, u64) {
        if !self.is_of_all() || self.returned == 0 {
            return (0, 0);
        }
        let (vain, returned) = (self.returned.min(self.woken.len() - 1) as u64, self.returned as u64);
        (vain, self.work * vain / returned)
    }
}

/// A wake by another thread, after which the thread has not waited but for locks.
#[derive(Clone, Copy, Debug)]
pub(super) struct RecentWake {
    object: ObjectId,
    at: SharePoint,
    /// The burst's number; none where all are known to have been woken.
    burst: Option<u32>,
}

impl Waiters<'_> {
    /// The thread begins to wait: for what it was woken from, perhaps.
    pub(super) fn come_back(&mut self, thread: ThreadId, now: SharePoint, object: ObjectId) {
        if self.excludes[object.index()] {
            return;
        }
        let of_thread = self.of_thread(thread);
        let Some(woken) = of_thread.woken.take().filter(|woken| woken.object == object) else { return };
        let work = of_thread.past.at(now).cpu - of_thread.past.at(woken.at).cpu;
        if work > LOOK {
            return;
        }
        let burst = &mut self.queues[object.index()].burst;
        match woken.burst {
            Some(number) if number == burst.number => burst.come_back(work),
            Some(_) => {}
            None => self.found.objects[object.index()].wake_in_vain((1, work)),
        }
    }

    /// A thread was woken from its wait for the object.
    pub(super) fn wake(&mut self, thread: ThreadId, now: SharePoint, (object, waker): (ObjectId, ThreadId)) {
        let queue = &self.queues[object.index()];
        if !queue.burst.continues(waker, now.time) {
            let next = queue.burst.next(waker, queue.length + 1);
            self.end_burst(object);
            self.queues[object.index()].burst = next;
        }
        let burst = &mut self.queues[object.index()].burst;
        burst.wake(thread, now.time);
        let number = burst.number;
        self.of_thread(thread).woken = Some(RecentWake { object, at: now, burst: Some(number) });
    }

    /// No more wakes belong to the object's last ones.
    pub(super) fn end_burst(&mut self, object: ObjectId) {
        let burst = std::mem::take(&mut self.queues[object.index()].burst);
        self.found.objects[object.index()].wake_in_vain(burst.in_vain());
        for &thread in &burst.woken {
            let woken = &mut self.of_thread(thread).woken;
            if let Some(wake) = woken.filter(|wake| wake.object == object && wake.burst == Some(burst.number))
            {
                *woken = burst.is_of_all().then_some(RecentWake { burst: None, ..wake });
            }
        }
    }
}
