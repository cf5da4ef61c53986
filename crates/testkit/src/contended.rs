//! Waits, contention, blame and the state table, slowly: each wait by reading all items, the rest tick by tick.
//!
//! Nothing here is shared with the sweeps. Ticks are those of [`crate::oracle`].

use std::collections::BTreeMap;

use longpole_event::{ThreadId, Time};
use longpole_trace::{ItemKind, ObjectId, PathId, State};

use crate::memory::MemoryTimelines;
use crate::oracle::{busy_in, path_of_wait, path_of_work, runnable_in, state_in};

/// A stretch in which a thread is blocked, or spins for an object and perhaps blocks then.
#[derive(Clone, Debug, PartialEq)]
pub struct ContendedWait {
    /// The thread.
    pub thread: ThreadId,
    /// What it waits for, if that is known.
    pub object: Option<ObjectId>,
    /// First tick.
    pub from: u64,
    /// First tick after it.
    pub to: u64,
    /// Who ended it, and its path when it did.
    pub waker: Option<(ThreadId, PathId)>,
    begin: usize,
    end: usize,
}

/// What was done with an object while it was wanted, before it was handed over from one path.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Holding {
    /// Ticks.
    pub held: u64,
    /// Ticks in which the holder ran.
    pub cpu: u64,
    /// Its normalised processor time.
    pub npt: f64,
}

/// All waits; where `blocked` stands at the end of the items, the run's end ends them.
#[must_use]
pub fn waits(made: &MemoryTimelines) -> Vec<ContendedWait> {
    let elapsed = made.program.elapsed_nanoseconds;
    let mut waits = Vec::new();
    for index in 0..made.program.threads.len() {
        let thread = ThreadId::from_index(index);
        let (mut open, mut object): (Option<ContendedWait>, _) = (None, None);
        let (mut before, mut awaits) = (State::Absent, false);
        for (at, item) in made.items.iter().enumerate().filter(|(_, item)| item.thread == thread) {
            let now = item.time.nanoseconds();
            match item.what {
                ItemKind::Await(awaited) => (object, awaits) = (Some(awaited), true),
                ItemKind::State(state) => {
                    let (was, begins) = (before, std::mem::take(&mut awaits));
                    before = state;
                    let is_waiting = matches!(state, State::Blocked(_) | State::Spinning | State::Ready);
                    let was_spinning = matches!(was, State::Spinning | State::Ready);
                    if open.is_some() && !begins && was_spinning && is_waiting {
                        continue;
                    }
                    if let Some(mut wait) = open.take() {
                        (wait.to, wait.end) = (now, at);
                        wait.waker = if state == State::Absent { None } else { waker(made, &wait) };
                        waits.push(wait);
                    }
                    if matches!(state, State::Blocked(_)) || (state == State::Spinning && begins) {
                        let (from, begin) = (now, at);
                        open =
                            Some(ContendedWait { thread, object, from, to: 0, waker: None, begin, end: 0 });
                    } else {
                        object = None;
                    }
                }
                ItemKind::Observe { .. }
                | ItemKind::Held(_)
                | ItemKind::Written { .. }
                | ItemKind::Depend { .. }
                | ItemKind::Release(_)
                | ItemKind::Acquire(_) => {}
            }
        }
        if let Some(mut wait) = open {
            (wait.to, wait.end) = (elapsed, made.items.len() + index);
            wait.waker = waker(made, &wait);
            waits.push(wait);
        }
    }
    waits
}

/// The source of the last dependence that came in the wait, at the moment of its end.
fn waker(made: &MemoryTimelines, wait: &ContendedWait) -> Option<(ThreadId, PathId)> {
    let last = wait.end.min(made.items.len());
    let found = (wait.begin..last).rev().find_map(|at| match made.items[at].what {
        ItemKind::Depend { source, source_time, .. }
            if made.items[at].thread == wait.thread && source != wait.thread =>
        {
            Some((at, source, source_time))
        }
        _ => None,
    });
    let (at, source, source_time) = found?;
    let arrived = made.items[at].time.nanoseconds();
    (arrived == wait.to).then(|| (source, path_before(made, source, at, source_time)))
}

/// The thread's last path by `time`, seen before the item `at`.
fn path_before(made: &MemoryTimelines, thread: ThreadId, at: usize, time: Time) -> PathId {
    let mut path = made.program.threads[thread.index()].prefix;
    for item in made.items[..at].iter().filter(|item| item.thread == thread && item.time <= time) {
        if let ItemKind::Observe { path: seen, .. } = item.what {
            path = seen;
        }
    }
    path
}

/// Time of idle processors, tick by tick in equal parts to the waits of that tick, by the thread and path that ended them.
#[must_use]
pub fn idle_blame(made: &MemoryTimelines) -> BTreeMap<(ThreadId, PathId), f64> {
    let all = waits(made);
    let mut blame = BTreeMap::new();
    for tick in 0..made.program.elapsed_nanoseconds {
        let threads = (0..made.program.threads.len()).map(ThreadId::from_index);
        let on_cpu = threads.filter(|&thread| state_in(made, thread, tick).is_on_cpu()).count();
        let idle = (made.program.cpus() as usize).saturating_sub(on_cpu) as f64;
        let waiting: Vec<&ContendedWait> =
            all.iter().filter(|wait| wait.from <= tick && tick < wait.to).collect();
        for waker in waiting.iter().filter_map(|wait| wait.waker) {
            *blame.entry(waker).or_default() += idle / waiting.len() as f64;
        }
    }
    blame
}

/// Time that threads waited, by the thread and path that ended it.
#[must_use]
pub fn caused_waits(made: &MemoryTimelines) -> BTreeMap<(ThreadId, PathId), u64> {
    let mut blame = BTreeMap::new();
    for wait in waits(made).iter().filter(|wait| wait.to > wait.from) {
        if let Some(waker) = wait.waker {
            *blame.entry(waker).or_default() += wait.to - wait.from;
        }
    }
    blame
}

/// How many threads wait for the object in a tick.
#[must_use]
pub fn waiting_in(waits: &[ContendedWait], object: ObjectId, tick: u64) -> usize {
    waits.iter().filter(|wait| wait.object == Some(object) && wait.from <= tick && tick < wait.to).count()
}

/// What each (thread, path) did with the object before it handed over.
#[must_use]
pub fn holdings(
    made: &MemoryTimelines,
    io_idle: bool,
    object: ObjectId,
) -> BTreeMap<(ThreadId, PathId), Holding> {
    let all = waits(made);
    let mut of_object: Vec<&ContendedWait> = all.iter().filter(|wait| wait.object == Some(object)).collect();
    of_object.sort_by_key(|wait| wait.end);
    let mut holdings: BTreeMap<(ThreadId, PathId), Holding> = BTreeMap::new();
    for tick in 0..made.program.elapsed_nanoseconds {
        if waiting_in(&all, object, tick) == 0 {
            continue;
        }
        let Some((thread, path)) = next_waker(&of_object, tick) else { continue };
        let holding = holdings.entry((thread, path)).or_default();
        let state = state_in(made, thread, tick);
        holding.held += 1;
        holding.cpu += u64::from(state == State::Running);
        if state.is_busy(io_idle) {
            holding.npt += 1.0 / busy_in(made, tick, io_idle) as f64;
        }
    }
    holdings
}

/// Who next ends a wait after the tick, before the queue has run empty.
fn next_waker(by_end: &[&ContendedWait], tick: u64) -> Option<(ThreadId, PathId)> {
    for wait in by_end.iter().filter(|wait| wait.to > tick) {
        if wait.waker.is_some() {
            return wait.waker;
        }
        if !by_end.iter().any(|other| other.begin < wait.end && wait.end < other.end) {
            return None;
        }
    }
    None
}

/// Ticks by N and by U.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TickLevels {
    /// By N.
    pub nominal: BTreeMap<u32, u64>,
    /// By U.
    pub effective: BTreeMap<u32, u64>,
}

impl TickLevels {
    /// Adds a tick.
    pub fn add(&mut self, made: &MemoryTimelines, io_idle: bool, tick: u64) {
        *self.nominal.entry(runnable_in(made, tick) as u32).or_default() += 1;
        *self.effective.entry(busy_in(made, tick, io_idle) as u32).or_default() += 1;
    }
}

/// The state table by path.
#[must_use]
pub fn states(made: &MemoryTimelines, io_idle: bool) -> BTreeMap<(PathId, State), TickLevels> {
    let mut table: BTreeMap<(PathId, State), TickLevels> = BTreeMap::new();
    for tick in 0..made.program.elapsed_nanoseconds {
        for thread in (0..made.program.threads.len()).map(ThreadId::from_index) {
            let state = state_in(made, thread, tick);
            let path = match state {
                State::Absent => continue,
                State::Running | State::Spinning | State::Overhead => path_of_work(made, thread, tick),
                State::Ready | State::Blocked(_) => path_of_wait(made, thread, tick),
            };
            table.entry((path, state)).or_default().add(made, io_idle, tick);
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drawing::draw;

    #[test]
    fn a_wait_has_its_object_and_who_ended_it() {
        let made = draw("1 = mutex m\nT1 A11A\nT2 BBBB\nT2@3 -> T1 unlock");
        let waits = waits(&made);
        assert_eq!((waits[0].from, waits[0].to, waits[0].object), (1, 3, Some(made.object("m"))));
        assert_eq!(waits[0].waker.map(|waker| waker.0), Some(made.thread("T2")));
        let held: Vec<Holding> = holdings(&made, false, made.object("m")).into_values().collect();
        assert_eq!(held, [Holding { held: 2, cpu: 2, npt: 2.0 }]);
    }
}
