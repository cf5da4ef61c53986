//! The first reading of one machine's log: its definitions, its threads, and its counts.

use longpole_event::{
    Blocking, Event, EventKind, LossKind, MachineId, Process, TextId, ThreadId, Time, Waker,
};
use longpole_recording::{Defects, Folder, LogName, Tables};
use rustc_hash::FxHashMap;

use crate::error::Result;
use crate::state::{Cause, State};
use crate::stream::LogStream;
use crate::transitions::Foreknowledge;

/// One machine's log, as the first reading finds it. Times are the machine's own.
#[derive(Debug, Default)]
pub(crate) struct Inventory {
    pub(crate) tables: Tables,
    pub(crate) threads: Vec<Found>,
    /// Messages sent: key, thread and time.
    pub(crate) sent: Vec<(u64, ThreadId, Time)>,
    pub(crate) first: Option<Time>,
    pub(crate) last: Time,
    pub(crate) counts: Counts,
    pub(crate) outside: FxHashMap<TextId, u64>,
    pub(crate) defects: Defects,
}

/// Numbers of events.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) events: u64,
    pub(crate) switches: u64,
    pub(crate) wakes: u64,
    pub(crate) samples: u64,
    pub(crate) lost_events: u64,
    pub(crate) lost_samples: u64,
    pub(crate) lost_stacks: u64,
    pub(crate) lost_threads: u64,
    pub(crate) lost_calls: u64,
}

/// One thread, as the first reading finds it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Found {
    pub(crate) start: Option<Time>,
    pub(crate) end: Option<Time>,
    pub(crate) creator: Option<ThreadId>,
    pub(crate) name: Option<TextId>,
    pub(crate) program: Option<TextId>,
    has_history: bool,
    pub(crate) known: Foreknowledge,
}

impl Inventory {
    /// Reads the whole log of a machine.
    pub(crate) fn read(folder: &Folder, machine: MachineId) -> Result<Self> {
        let mut inventory = Inventory::default();
        let Some(mut log) = LogStream::open(folder, machine, LogName::Events)? else { return Ok(inventory) };
        let mut tables = Tables::default();
        log.read_all(&mut tables, &mut |event| inventory.take(event))?;
        inventory.defects = log.defects();
        if tables.processes.is_empty() && !tables.threads.is_empty() {
            // Only in a damaged log: its threads need a process to belong to.
            tables.processes.push(Process { pid: 0, parent: None });
        }
        inventory.threads.truncate(tables.threads.len());
        inventory.threads.resize(tables.threads.len(), Found::default());
        inventory.tables = tables;
        inventory.find_new_processes();
        Ok(inventory)
    }

    fn take(&mut self, event: &Event) {
        self.counts.events += 1;
        self.first = Some(self.first.map_or(event.time, |first| first.min(event.time)));
        self.last = self.last.max(event.time);
        match event.kind {
            EventKind::Value { .. } => return,
            EventKind::Lost { kind, count } => {
                let lost = match kind {
                    LossKind::Events => &mut self.counts.lost_events,
                    LossKind::Samples => &mut self.counts.lost_samples,
                    LossKind::Stacks => &mut self.counts.lost_stacks,
                    LossKind::Threads => &mut self.counts.lost_threads,
                    LossKind::Calls => &mut self.counts.lost_calls,
                };
                *lost = lost.saturating_add(count);
                return;
            }
            _ => {}
        }
        let Some(thread) = self.thread(event.thread) else { return };
        thread.start = thread.start.or(Some(event.time));
        thread.foresee(event);
        match event.kind {
            EventKind::Start { creator, .. } => thread.creator = creator,
            EventKind::Name { name } => thread.name = Some(name),
            EventKind::Exec { program } => thread.program = Some(program),
            EventKind::Exit => thread.end = thread.end.or(Some(event.time)),
            EventKind::Out { blocking: Blocking::Dead, .. } => {
                thread.end = Some(event.time);
                thread.known.dies_at_switch = true;
            }
            EventKind::Send { key } => self.sent.push((key, event.thread, event.time)),
            EventKind::Wake { waker: Waker::Outside(name), .. } => {
                *self.outside.entry(name).or_default() += 1;
            }
            _ => {}
        }
        match event.kind {
            EventKind::Out { .. } => self.counts.switches += 1,
            EventKind::Wake { .. } => self.counts.wakes += 1,
            EventKind::Sample { .. } => self.counts.samples += 1,
            _ => {}
        }
    }

    /// The thread's row; ids far beyond the log's definitions are damage and have none.
    fn thread(&mut self, id: ThreadId) -> Option<&mut Found> {
        const MORE_THAN_ANY_MACHINE_HAS: usize = 1 << 26;
        let index = id.index();
        if index >= self.threads.len() {
            if index > self.threads.len() + 1024 || index > MORE_THAN_ANY_MACHINE_HAS {
                return None;
            }
            self.threads.resize(index + 1, Found::default());
        }
        Some(&mut self.threads[index])
    }

    fn find_new_processes(&mut self) {
        let processes: Vec<_> = self.tables.threads.iter().map(|thread| thread.process).collect();
        for (index, thread) in self.threads.iter_mut().enumerate() {
            let creator = thread.creator.and_then(|creator| processes.get(creator.index()));
            thread.known.is_new_process = creator.is_some_and(|&process| process != processes[index]);
        }
    }
}

impl Found {
    /// What the first event after the start proves about the state before it.
    fn foresee(&mut self, event: &Event) {
        let state = match event.kind {
            EventKind::In => State::Ready,
            EventKind::Out { .. } | EventKind::Sample { .. } => State::Running,
            EventKind::Await { .. }
            | EventKind::Proceed
            | EventKind::Held { .. }
            | EventKind::Enter { .. }
            | EventKind::Leave
            | EventKind::Spawn { .. }
            | EventKind::Overhead { .. } => State::Running,
            EventKind::Wake { .. } => State::Blocked(Cause::Other),
            _ => {
                // A thread that is never seen again is blocked all the time.
                self.known.initial = self.known.initial.or(Some(State::Blocked(Cause::Other)));
                return;
            }
        };
        if !self.has_history {
            self.has_history = true;
            self.known.initial = Some(state);
        }
    }
}
