//! Who had a number of one machine at a time.
//!
//! ```text
//!   pid 7   ..|===A===|....~....|===B===|..      ~ is nobody's: the number was another program's, if anyone's
//!            a         a       b         b       but a moment before and after a life is taken as part of it
//! ```
//! A collector looks a moment after a process is there and may put its last number a moment after it has gone.

use longpole_event::{MachineId, ProcessId, ThreadId, Time};
use longpole_trace::Program;
use rustc_hash::FxHashMap;

/// How far from a life a value may be and still be of it, nanoseconds.
const MOMENT: u64 = 1_000_000_000;

/// An owner of a number.
#[derive(Clone, Copy, Debug)]
pub(super) struct OwnerLifetime<T> {
    pub(super) id: T,
    start: Time,
    /// `None`: it lived to the end of the run.
    pub(super) end: Option<Time>,
}

/// The processes and threads of one machine by their numbers, each in the order of their starts.
#[derive(Debug, Default)]
pub(super) struct OwnerLifetimes {
    processes: FxHashMap<u32, Vec<OwnerLifetime<ProcessId>>>,
    threads: FxHashMap<u32, Vec<OwnerLifetime<ThreadId>>>,
}

impl OwnerLifetimes {
    pub(super) fn of(program: &Program, machine: MachineId) -> Self {
        let mut lives = OwnerLifetimes::default();
        let mut spans: Vec<Option<(Time, Option<Time>)>> = vec![None; program.processes.len()];
        for (index, thread) in program.threads.iter().enumerate() {
            let id = ThreadId::from_index(index);
            if program.machine_of(id) != machine {
                continue;
            }
            let life = OwnerLifetime { id, start: thread.start, end: thread.end };
            lives.threads.entry(thread.tid).or_default().push(life);
            let span = spans[thread.process.index()].get_or_insert((thread.start, thread.end));
            let end = span.1.zip(thread.end).map(|(one, other)| one.max(other));
            *span = (span.0.min(thread.start), end);
        }
        for (index, span) in spans.into_iter().enumerate() {
            if let Some((start, end)) = span {
                let life = OwnerLifetime { id: ProcessId::from_index(index), start, end };
                lives.processes.entry(program.processes[index].pid).or_default().push(life);
            }
        }
        lives.processes.values_mut().for_each(|lives| lives.sort_by_key(|life| life.start));
        lives.threads.values_mut().for_each(|lives| lives.sort_by_key(|life| life.start));
        lives
    }

    /// The process that had this pid at that time.
    pub(super) fn process(&self, pid: u32, time: Time) -> Option<OwnerLifetime<ProcessId>> {
        owner(self.processes.get(&pid)?, time)
    }

    /// The thread that had this tid at that time.
    pub(super) fn thread(&self, tid: u32, time: Time) -> Option<OwnerLifetime<ThreadId>> {
        owner(self.threads.get(&tid)?, time)
    }
}

/// The one who lived then; else the nearest within a moment.
fn owner<T: Copy>(lives: &[OwnerLifetime<T>], time: Time) -> Option<OwnerLifetime<T>> {
    let following = lives.partition_point(|life| life.start <= time);
    let past = |life: &OwnerLifetime<T>| life.end.map_or(0, |end| time.since(end));
    // Mostly the last one; but a thread that executes a program takes a number whose owner still counts as alive.
    let before = lives[..following].iter().rev().map(|life| (past(life), *life)).min_by_key(|life| life.0);
    let after = lives.get(following).map(|life| (life.start.since(time), *life));
    let (distance, nearest) = before.into_iter().chain(after).min_by_key(|life| life.0)?;
    (distance <= MOMENT).then_some(nearest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(lives: &[(u64, Option<u64>)], milliseconds: u64) -> Option<usize> {
        let at = |milliseconds: u64| Time::from_nanoseconds(milliseconds * 1_000_000);
        let life = |(id, &(start, end)): (usize, &(u64, Option<u64>))| OwnerLifetime {
            id,
            start: at(start),
            end: end.map(at),
        };
        let lives: Vec<_> = lives.iter().enumerate().map(life).collect();
        owner(&lives, at(milliseconds)).map(|life| life.id)
    }

    #[test]
    fn a_number_is_of_whoever_lived_then() {
        let lives = [(1_000, Some(2_000)), (10_000, Some(11_000)), (11_500, None)];
        assert_eq!(found(&lives, 1_000), Some(0));
        assert_eq!(found(&lives, 2_000), Some(0));
        assert_eq!(found(&lives, 10_500), Some(1));
        assert_eq!(found(&lives, 90_000), Some(2));
    }

    #[test]
    fn a_moment_beside_a_life_is_of_the_nearest_and_more_is_of_nobody() {
        let lives = [(1_000, Some(2_000)), (10_000, Some(11_000)), (11_500, None)];
        assert_eq!(found(&lives, 500), Some(0));
        assert_eq!(found(&lives, 3_000), Some(0));
        assert_eq!(found(&lives, 3_001), None);
        assert_eq!(found(&lives, 8_999), None);
        assert_eq!(found(&lives, 9_000), Some(1));
        assert_eq!(found(&lives, 11_249), Some(1));
        assert_eq!(found(&lives, 11_251), Some(2));
        assert_eq!(found(&[], 1), None);
    }
}
