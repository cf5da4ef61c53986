//! The time of every processor, divided without rest (metrics.md §3; C §2.1): what it did for the program, and what the
//! program waited for while it did nothing for it.
//!
//! ```text
//!   T1 on 0   AAAA-----CC        processor 0: T1 works, waits for a lock until T1 makes the processor busy again
//!   T2 on 1   BB               × processor 1: T2 works and ends; T1, which created it, waits in a join: join
//! ```
//! While a thread is on a processor the processor's time is that thread's: useful, spinning, or the collector's. When it
//! is free, its time is that of the thread that makes it busy next, whatever that is doing elsewhere: it waits for a
//! cause, or it is ready and waits for a processor. Before a thread is created, and while it is busy on another processor,
//! its creator is asked instead; after the last thread the first one of the machine. So a processor that workers leave to
//! end is idle for the join of whoever started them.
//!
//! Time: constant per item, and per change of state of the thread that makes a processor busy. Memory: changes of state
//! since the processor fell free that has been free for longest, up to [`MOST_CHANGES`] of a thread.
//!
//! It cannot see on which processor a thread was where the collector does not tell: then it takes the one that the thread
//! had before, or the first that is free. What other programs did on a free processor is not its matter.

use std::collections::{BTreeSet, VecDeque};

use longpole_event::{MachineId, ThreadId, Time};
use longpole_graph::Sweep;
use longpole_trace::{Cause, Placement, Program, State};

/// Changes of state that are kept of a thread.
const MOST_CHANGES: usize = 1 << 14;

/// The time of one processor; all of it together is the length of the run. Nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessorTime {
    /// Its machine.
    pub machine: MachineId,
    /// Its number there.
    pub processor: u16,
    /// Threads of the program worked on it.
    pub useful: u64,
    /// They spun on it.
    pub spinning: u64,
    /// They were in the collector's code.
    pub overhead: u64,
    /// It was free of the program, and the thread that made it busy next was ready.
    pub ready: u64,
    /// It was free, and that thread waited; by [`Cause`] index.
    pub waiting: Vec<u64>,
    /// It was free, and that thread and those that made it were busy on other processors: there was nothing more to do.
    pub serial: u64,
    /// It was free, and what that thread did is not known any more.
    pub unexplained: u64,
}

impl ProcessorTime {
    fn new(machine: MachineId, processor: u16) -> ProcessorTime {
        ProcessorTime {
            machine,
            processor,
            useful: 0,
            spinning: 0,
            overhead: 0,
            ready: 0,
            waiting: vec![0; Cause::ALL.len()],
            serial: 0,
            unexplained: 0,
        }
    }

    /// Time in which no thread of the program was on it.
    #[must_use]
    pub fn free(&self) -> u64 {
        self.ready + self.waiting.iter().sum::<u64>() + self.serial + self.unexplained
    }

    /// All of its time.
    #[must_use]
    pub fn whole(&self) -> u64 {
        self.useful + self.spinning + self.overhead + self.free()
    }

    fn add(&mut self, what: Activity, time: u64) {
        match what {
            Activity::State(State::Running) => self.useful += time,
            Activity::State(State::Spinning) => self.spinning += time,
            Activity::State(State::Overhead) => self.overhead += time,
            Activity::State(State::Ready) => self.ready += time,
            Activity::State(State::Blocked(cause)) => self.waiting[cause.index()] += time,
            Activity::Elsewhere | Activity::State(State::Absent) => self.serial += time,
            Activity::Forgotten => self.unexplained += time,
        }
    }
}

/// What a thread does, as a processor's time is counted by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Activity {
    State(State),
    /// It is on another processor, and so are those that could make more to do.
    Elsewhere,
    /// It is not known any more.
    Forgotten,
}

/// A thread.
#[derive(Clone, Debug)]
struct ScheduledThread {
    machine: MachineId,
    creator: Option<ThreadId>,
    state: State,
    since: Time,
    born: Option<Time>,
    /// The processor that it has, or had last.
    processor: Option<usize>,
    /// Whether it has it.
    is_placed: bool,
    /// States with the times from which on they were; the oldest first.
    changes: VecDeque<(Time, State)>,
    /// Changes before this are not known any more.
    forgotten: Time,
    /// Where it was put, in the order of time.
    placements: VecDeque<(Time, u16)>,
}

/// A processor.
#[derive(Clone, Debug)]
struct ProcessorSlot {
    time: ProcessorTime,
    occupant: Option<ThreadId>,
    free_since: Time,
}

/// The sweep.
#[derive(Debug)]
pub(crate) struct ProcessorSweep {
    per_thread: Vec<ScheduledThread>,
    slots: Vec<ProcessorSlot>,
}

/// The numbers of a machine's processors: those from 0 on, but for a program that may only use others (`taskset -c 2,3`) those that
/// it was seen on.
fn numbers(count: u16, seen: &BTreeSet<u16>) -> BTreeSet<u16> {
    let mut numbers: BTreeSet<u16> = seen.iter().copied().take(count.into()).collect();
    let further = (0..u16::MAX).filter(|number| !seen.contains(number));
    numbers.extend(further.take(usize::from(count) - numbers.len()));
    numbers
}

impl ProcessorSweep {
    pub fn new(program: &Program, placements: &[Placement]) -> Self {
        let mut per_thread: Vec<ScheduledThread> = (0..program.threads.len())
            .map(|index| ScheduledThread {
                machine: program.machine_of(ThreadId::from_index(index)),
                creator: program.threads[index].creator,
                state: State::Absent,
                since: Time::ZERO,
                born: None,
                processor: None,
                is_placed: false,
                changes: VecDeque::new(),
                forgotten: Time::ZERO,
                placements: VecDeque::new(),
            })
            .collect();
        let mut seen = BTreeSet::new();
        for placement in placements {
            if let Some(seat) = per_thread.get_mut(placement.thread.index()) {
                seat.placements.push_back((placement.time, placement.processor));
                seen.insert((seat.machine, placement.processor));
            }
        }
        let slot = |machine, processor| ProcessorSlot {
            time: ProcessorTime::new(machine, processor),
            occupant: None,
            free_since: Time::ZERO,
        };
        let slots = program.machines.iter().enumerate().flat_map(|(index, machine)| {
            let told = seen.iter().filter(|(of, _)| of.index() == index).map(|(_, processor)| *processor);
            let numbers = numbers(u16::try_from(machine.cpus).unwrap_or(u16::MAX), &told.collect());
            numbers.into_iter().map(move |processor| slot(MachineId::from_index(index), processor))
        });
        ProcessorSweep { per_thread, slots: slots.collect() }
    }

    /// By machine and number.
    pub fn into_times(self) -> Vec<ProcessorTime> {
        self.slots.into_iter().map(|slot| slot.time).collect()
    }

    /// The processor on which the thread begins to run: where it was put, else where it was, else the first that is free.
    fn place(&mut self, thread: ThreadId, time: Time) -> Option<usize> {
        let seat = &mut self.per_thread[thread.index()];
        let mut told = None;
        while seat.placements.front().is_some_and(|&(since, _)| since <= time) {
            told = seat.placements.pop_front();
        }
        let (machine, before) = (seat.machine, seat.processor);
        let is_free = |&index: &usize| self.slots[index].occupant.is_none();
        let told = told.and_then(|(_, processor)| {
            let is_it =
                |slot: &ProcessorSlot| slot.time.machine == machine && slot.time.processor == processor;
            self.slots.iter().position(is_it)
        });
        told.or(before.filter(is_free)).or_else(|| {
            (0..self.slots.len()).find(|index| self.slots[*index].time.machine == machine && is_free(index))
        })
    }

    fn take_processor(&mut self, thread: ThreadId, time: Time) {
        let Some(at) = self.place(thread, time) else { return };
        match self.slots[at].occupant.replace(thread) {
            // It must have left without a word.
            Some(other) => {
                self.count(other, time);
                self.per_thread[other.index()].is_placed = false;
            }
            None => self.divide(at, thread, time),
        }
        let seat = &mut self.per_thread[thread.index()];
        (seat.processor, seat.is_placed) = (Some(at), true);
    }

    /// Counts the time of a thread that is on a processor up to now.
    fn count(&mut self, thread: ThreadId, time: Time) {
        let seat = &mut self.per_thread[thread.index()];
        let length = time.since(seat.since);
        seat.since = time;
        if let (true, Some(at)) = (seat.is_placed, seat.processor) {
            self.slots[at].time.add(Activity::State(seat.state), length);
        }
    }

    /// The processor was free up to now, when this thread makes it busy, or would be the next to.
    fn divide(&mut self, at: usize, thread: ThreadId, to: Time) {
        let from = self.slots[at].free_since;
        let mut parts = Vec::new();
        self.parts(thread, (from, to), &mut parts);
        parts.into_iter().for_each(|(what, time)| self.slots[at].time.add(what, time));
    }

    /// What the thread did between two times; before it was there, and while it was on another processor, its creator.
    fn parts(&self, thread: ThreadId, (from, to): (Time, Time), parts: &mut Vec<(Activity, u64)>) {
        let seat = &self.per_thread[thread.index()];
        let born = seat.born.unwrap_or(to).clamp(from, to);
        self.ask_creator(thread, (from, born), parts);
        let known = seat.forgotten.clamp(born, to);
        parts.push((Activity::Forgotten, known.since(born)));
        let first = seat.changes.partition_point(|&(time, _)| time <= known).saturating_sub(1);
        let changes = || seat.changes.iter().skip(first);
        let ends = changes().skip(1).map(|&(time, _)| time).chain([to]);
        for (&(begin, state), end) in changes().zip(ends) {
            let (begin, end) = (begin.clamp(known, to), end.clamp(known, to));
            match state.is_on_cpu() {
                true => self.ask_creator(thread, (begin, end), parts),
                false => parts.push((Activity::State(state), end.since(begin))),
            }
            if end >= to {
                break;
            }
        }
    }

    /// What the thread's creator did: it is who could have made more to do.
    fn ask_creator(&self, thread: ThreadId, (from, to): (Time, Time), parts: &mut Vec<(Activity, u64)>) {
        if from >= to {
            return;
        }
        // Creators come before those that they create, so this ends.
        match self.per_thread[thread.index()].creator.filter(|creator| creator.index() < thread.index()) {
            Some(creator) => self.parts(creator, (from, to), parts),
            None => parts.push((Activity::Elsewhere, to.since(from))),
        }
    }

    fn change(&mut self, thread: ThreadId, time: Time, state: State) {
        // Nobody asks for what was before every free processor fell free.
        let machine = self.per_thread[thread.index()].machine;
        let free = self.slots.iter().filter(|slot| slot.time.machine == machine && slot.occupant.is_none());
        let oldest = free.map(|slot| slot.free_since).min().unwrap_or(time);
        let seat = &mut self.per_thread[thread.index()];
        seat.state = state;
        seat.born = seat.born.or(Some(time));
        seat.changes.push_back((time, state));
        while seat.changes.get(1).is_some_and(|&(next, _)| next <= oldest) {
            seat.changes.pop_front();
        }
        if seat.changes.len() > MOST_CHANGES {
            seat.changes.pop_front();
            seat.forgotten = seat.changes[0].0;
        }
    }
}

impl Sweep for ProcessorSweep {
    fn enter(&mut self, thread: ThreadId, time: Time, before: State, state: State) {
        if thread.index() >= self.per_thread.len() {
            return;
        }
        self.count(thread, time);
        match (before.is_on_cpu(), state.is_on_cpu()) {
            (false, true) => {
                // What it did up to now is what the processor was free for.
                self.take_processor(thread, time);
            }
            (true, false) => {
                let seat = &mut self.per_thread[thread.index()];
                if let (true, Some(at)) = (std::mem::take(&mut seat.is_placed), seat.processor) {
                    let slot = &mut self.slots[at];
                    (slot.occupant, slot.free_since) = (None, time);
                }
            }
            _ => {}
        }
        self.change(thread, time, state);
    }

    fn finish(&mut self, end: Time) {
        for index in 0..self.per_thread.len() {
            self.count(ThreadId::from_index(index), end);
        }
        for at in 0..self.slots.len() {
            if self.slots[at].occupant.is_some() {
                continue;
            }
            let machine = self.slots[at].time.machine;
            match (0..self.per_thread.len()).find(|&index| self.per_thread[index].machine == machine) {
                Some(first) => self.divide(at, ThreadId::from_index(first), end),
                None => {
                    let slot = &mut self.slots[at];
                    slot.time.add(Activity::Elsewhere, end.since(slot.free_since));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
