//! When threads asked for locks, got them and gave them back, where all of that was told: what replay needs to let locks go to
//! whoever comes first (metrics.md §5).
//!
//! ```text
//!   T1  ==mmmm======         hold of m from 2 to 6
//!   T2  ====..mmm===         asked at 4, got it at 6, gave it back at 9
//! ```
//! A hold that is told alone is an interval. The thread asked for the lock when its wait for it began, where it had to wait, and else
//! when the hold began. Holds that are told as a sum have no times; a lock for which these are more than a small part keeps its
//! recorded order, as does one that readers share.
//!
//! Constant time per item. Memory: a few words per hold that is told alone.
//!
//! It cannot see holds of which the program does not tell: without the agent there is none.

use longpole_event::{ThreadId, Time};
use longpole_graph::{Arc, Sweep, sweep};
use longpole_trace::{LockHold, ObjectId, ObjectKind, Objects, Program, State, Timelines, Unfolded};

/// The part of a lock's held time that may have been told in sums alone.
const MOST_SUMMED: f64 = 0.02;
/// Shorter holds are told in sums where any are, and then one that stands alone in its sum has no time of its own, nanoseconds.
const SHORT: u64 = 20_000;
/// Time between the end of a wait and the hold that it was for, where the thread does not say that it waited, nanoseconds.
const CLOSE: u64 = 50_000;

/// A thread asks for a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LockRequest {
    /// When it did.
    pub time: Time,
    /// When it held it.
    pub held_from: Time,
    /// Which lock.
    pub lock: ObjectId,
}

/// In which order the holds of a lock follow each other when the run is executed anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReplayedOrder {
    /// Whoever comes first in the new timing has it.
    Arbitrated,
    /// As recorded: no hold was told, so that only waits for it are known.
    Untold,
    /// As recorded: its holds were told in sums, without their times.
    Summed,
    /// As recorded: readers hold it together.
    Shared,
    /// As recorded: with this lock arbitrated the unchanged run is not reproduced.
    AtFault,
}

/// How the holds of a lock were told; times are nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
struct ToldHolds {
    alone: u64,
    alone_time: u64,
    summed_time: u64,
    /// What threads waited for it.
    waited: u64,
}

/// All that threads told of their locks.
#[derive(Clone, Debug, Default)]
pub(crate) struct LockUses {
    /// By thread, in the order of time.
    requests: Vec<Vec<LockRequest>>,
    /// By object.
    orders: Vec<Option<ReplayedOrder>>,
    /// Of locks, by object: what threads waited for them, nanoseconds.
    waited: Vec<u64>,
    /// The shortest hold that has a time of its own, nanoseconds.
    shortest: u64,
}

impl LockUses {
    /// Reads the timelines once.
    pub fn of<T: Timelines>(timelines: &T) -> Result<LockUses, T::Error> {
        let mut collector = LockUseCollector::new(timelines.program(), timelines.objects());
        sweep(&Unfolded(timelines), false, &mut collector)?;
        Ok(collector.into_uses(timelines.objects()))
    }

    /// What the thread asks for, in the order of time.
    pub fn requests(&self, thread: ThreadId) -> &[LockRequest] {
        self.requests.get(thread.index()).map_or(&[], Vec::as_slice)
    }

    /// Whether the lock goes to whoever comes first.
    pub fn is_arbitrated(&self, object: ObjectId) -> bool {
        self.orders.get(object.index()).copied().flatten() == Some(ReplayedOrder::Arbitrated)
    }

    /// Whether this hold is one that is known from its begin to its end, of a lock that goes to whoever comes first.
    pub fn has(&self, hold: &LockHold) -> bool {
        self.is_arbitrated(hold.object) && hold.acquisitions == 1 && hold.nanoseconds >= self.shortest
    }

    /// Locks that were held or waited for, with their order; those that threads waited for longest come first.
    pub fn orders(&self) -> Vec<(ObjectId, ReplayedOrder)> {
        let known = self.orders.iter().enumerate();
        let mut orders: Vec<(ObjectId, ReplayedOrder)> =
            known.filter_map(|(index, &order)| Some((ObjectId(index as u32), order?))).collect();
        orders.sort_by_key(|&(object, _)| (std::cmp::Reverse(self.waited[object.index()]), object));
        orders
    }

    /// The same with these locks in their recorded order, as they are at fault.
    pub fn without(&self, at_fault: impl Fn(ObjectId) -> bool) -> LockUses {
        let mut uses = self.clone();
        for (index, order) in uses.orders.iter_mut().enumerate() {
            if *order == Some(ReplayedOrder::Arbitrated) && at_fault(ObjectId(index as u32)) {
                *order = Some(ReplayedOrder::AtFault);
            }
        }
        for requests in &mut uses.requests {
            requests.retain(|request| uses.orders[request.lock.index()] == Some(ReplayedOrder::Arbitrated));
        }
        uses
    }
}

/// A wait for a lock whose hold is not told yet.
#[derive(Clone, Copy, Debug)]
struct PendingRequest {
    lock: ObjectId,
    since: Time,
    until: Time,
}

struct LockUseCollector {
    /// Objects that are locks.
    are_locks: Vec<bool>,
    told: Vec<ToldHolds>,
    pending: Vec<Vec<PendingRequest>>,
    /// By thread: requests, each with the end of its hold.
    requests: Vec<Vec<(LockRequest, Time)>>,
    has_sums: bool,
}

impl LockUseCollector {
    fn new(program: &Program, objects: &Objects) -> Self {
        let threads = program.threads.len();
        LockUseCollector {
            are_locks: objects.all().iter().map(|object| is_lock(object.kind)).collect(),
            told: vec![ToldHolds::default(); objects.all().len()],
            pending: vec![Vec::new(); threads],
            requests: vec![Vec::new(); threads],
            has_sums: false,
        }
    }

    fn into_uses(mut self, objects: &Objects) -> LockUses {
        let shortest = if self.has_sums { SHORT } else { 0 };
        for (request, end) in self.requests.iter().flatten() {
            let (told, length) = (&mut self.told[request.lock.index()], end.since(request.held_from));
            if length < shortest {
                told.summed_time += length;
            } else {
                told.alone += 1;
                told.alone_time += length;
            }
        }
        let order = |index: usize| {
            let ToldHolds { alone, alone_time, summed_time, waited } = self.told[index];
            if !self.are_locks[index] || (alone == 0 && summed_time == 0 && waited == 0) {
                return None;
            }
            let all = (alone_time + summed_time) as f64;
            Some(match objects.get(ObjectId(index as u32)).kind {
                ObjectKind::RwLock => ReplayedOrder::Shared,
                _ if alone == 0 && summed_time == 0 => ReplayedOrder::Untold,
                _ if summed_time as f64 > MOST_SUMMED * all => ReplayedOrder::Summed,
                _ => ReplayedOrder::Arbitrated,
            })
        };
        let orders: Vec<Option<ReplayedOrder>> = (0..self.told.len()).map(order).collect();
        let in_order = |mut own: Vec<(LockRequest, Time)>| {
            // Of two at one time the outer one is asked for first.
            own.retain(|&(request, end)| end.since(request.held_from) >= shortest);
            own.sort_by_key(|&(request, end)| (request.time, std::cmp::Reverse(end)));
            own.into_iter().map(|(request, _)| request).collect()
        };
        let requests = self.requests.into_iter().map(in_order).collect();
        let waited = self.told.iter().map(|told| told.waited).collect();
        LockUses { requests, orders, waited, shortest }.without(|_| false)
    }
}

/// Locks that one thread holds at a time, and those for readers and writers.
fn is_lock(kind: ObjectKind) -> bool {
    matches!(kind, ObjectKind::Mutex | ObjectKind::RwLock | ObjectKind::SpinLock | ObjectKind::Lock)
}

impl Sweep for LockUseCollector {
    fn arc(&mut self, arc: Arc) {
        let Some(lock) = arc.object.filter(|object| self.are_locks[object.index()]) else { return };
        if !matches!(arc.state, State::Blocked(_) | State::Spinning | State::Ready) {
            return;
        }
        self.told[lock.index()].waited += arc.length();
        let pending = &mut self.pending[arc.thread.index()];
        match pending.iter_mut().find(|pending| pending.lock == lock) {
            Some(pending) => pending.until = arc.to,
            None => pending.push(PendingRequest { lock, since: arc.from, until: arc.to }),
        }
    }

    fn hold(&mut self, thread: ThreadId, time: Time, hold: LockHold) {
        let told = &mut self.told[hold.object.index()];
        if hold.acquisitions != 1 {
            told.summed_time += hold.nanoseconds;
            self.has_sums = true;
            return;
        }
        let held_from = time - hold.nanoseconds;
        let pending = &mut self.pending[thread.index()];
        let found = pending.iter().position(|pending| pending.lock == hold.object);
        let waited = found.map(|index| pending.swap_remove(index)).filter(|pending| {
            pending.since <= held_from
                && (hold.contended > 0 || held_from.since(pending.until.min(held_from)) < CLOSE)
        });
        let asked = waited.map_or(held_from, |pending| pending.since);
        let request = LockRequest { time: asked, held_from, lock: hold.object };
        self.requests[thread.index()].push((request, time));
    }
}

#[cfg(test)]
mod tests {
    use longpole_testkit::script::{Conditions, Script};

    use super::*;

    #[test]
    fn a_thread_asks_when_its_wait_begins_and_else_when_its_hold_does() {
        let script = Script::parse(
            "main: fork W, A 2, lock m, X 4, unlock m, join W\nW: B 4, lock m, Y 3, unlock m, B 1, lock m, Y 1, unlock m",
        );
        let timelines = script.timelines(&Conditions::unlimited());
        let Ok(uses) = LockUses::of(&timelines);
        let times = |thread: u32| -> Vec<(u64, u64)> {
            let requests = uses.requests(ThreadId(thread)).iter();
            requests.map(|asked| (asked.time.nanoseconds(), asked.held_from.nanoseconds())).collect()
        };
        assert_eq!(times(0), [(2, 2)]);
        assert_eq!(times(1), [(4, 6), (10, 10)]);
        let m = timelines.object("m");
        assert!(uses.is_arbitrated(m));
        let recorded = uses.without(|lock| lock == m);
        assert!(recorded.requests(ThreadId(1)).is_empty());
        assert_eq!(recorded.orders(), [(m, ReplayedOrder::AtFault)]);
    }
}
