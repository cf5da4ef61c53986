//! What is counted of an object that threads waited for, and of those who handed it over.

use longpole_trace::ObjectId;

use crate::lengths::LengthHistogram;

/// What happened at one object; times are nanoseconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ContendedObject {
    /// How long the waits were, those that were not over at the end of the run included.
    pub lengths: LengthHistogram,
    /// `queue[k]`: time for which k threads waited; `queue[0]` is the rest of the run.
    pub queue: Vec<u64>,
    /// Sums over its hand-overs.
    pub handed: Handover,
    /// Hand-overs by threads that had waited for it themselves, or that took it again at once: most of them, where it excludes threads
    /// from something.
    pub handed_by_waiters: u64,
    /// Waits from which threads were woken in vain, together with all others that waited.
    pub woken_in_vain: u64,
    /// CPU time from there until they waited again.
    pub vain_work: u64,
    /// Threads that waited for it until it was handed over, or they gave up; of several objects the most.
    pub waiters: u64,
    /// Waiting that was ended by a thread that had itself last waited for the one that waited, nanoseconds.
    pub in_lockstep: u64,
    /// What that thread had waited for; the last one.
    pub lockstep_with: Option<ObjectId>,
}

/// Sums over hand-overs; times are nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Handover {
    /// Waits that they ended.
    pub count: u64,
    /// Time for which the object was held while somebody waited for it.
    pub held: u64,
    /// Useful CPU time of the holder meanwhile.
    pub cpu: u64,
    /// Normalised processor time of the holder meanwhile.
    pub npt: f64,
}

/// Waits of one for another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WaiterPair {
    /// How many.
    pub count: u64,
    /// How long together, nanoseconds.
    pub waited: u64,
}

impl Handover {
    /// Adds the other's sums.
    pub fn add(&mut self, other: &Handover) {
        self.count += other.count;
        self.held += other.held;
        self.cpu += other.cpu;
        self.npt += other.npt;
    }
}

impl WaiterPair {
    pub(super) fn add(&mut self, waited: u64) {
        self.count += 1;
        self.waited += waited;
    }
}

impl ContendedObject {
    /// Waits that began.
    #[must_use]
    pub fn waits(&self) -> u64 {
        self.lengths.count()
    }

    /// Time waited by all threads together.
    #[must_use]
    pub fn waited(&self) -> u64 {
        self.lengths.sum()
    }

    /// Time for which anybody waited.
    #[must_use]
    pub fn contended(&self) -> u64 {
        self.queue.iter().skip(1).sum()
    }

    /// Whether who waits for it is let go by others that wait for it too, or that take it again at once, as threads that take turns
    /// with something. A semaphore may also be what one thread tells another one by.
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.handed.count > 0 && 2 * self.handed_by_waiters >= self.handed.count
    }

    /// Adds what happened at another object, in a run of this length.
    pub fn add(&mut self, other: &ContendedObject, elapsed: u64) {
        self.lengths.merge(&other.lengths);
        self.handed.add(&other.handed);
        self.handed_by_waiters += other.handed_by_waiters;
        self.woken_in_vain += other.woken_in_vain;
        self.vain_work += other.vain_work;
        self.waiters = self.waiters.max(other.waiters);
        self.in_lockstep += other.in_lockstep;
        self.lockstep_with = other.lockstep_with.or(self.lockstep_with);
        if self.queue.len() < other.queue.len() {
            self.queue.resize(other.queue.len(), 0);
        }
        for (sum, time) in self.queue.iter_mut().zip(&other.queue).skip(1) {
            *sum += time;
        }
        let contended: u64 = self.contended();
        if let Some(nobody) = self.queue.first_mut() {
            *nobody = elapsed.saturating_sub(contended);
        }
    }

    /// Notes wakes in vain, and the work after them.
    pub(super) fn wake_in_vain(&mut self, (wakes, work): (u64, u64)) {
        self.woken_in_vain += wakes;
        self.vain_work += work;
    }
}
