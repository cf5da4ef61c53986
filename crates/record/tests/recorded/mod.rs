//! A recording read back for the tests: its events with names instead of ids.

use std::path::Path;

use longpole_event::{
    Blocking, Decoder, Event, EventKind, FrameId, MachineId, Record, StackId, ThreadId, Waker,
};
use longpole_recording::{DefinitionTables, LogName, Manifest, RecordingFolder};

/// A recording in memory.
pub struct Recorded {
    pub manifest: Manifest,
    pub events: Vec<Event>,
    pub tables: DefinitionTables,
    symbols: DefinitionTables,
}

impl Recorded {
    pub fn open(path: &Path) -> Recorded {
        let (folder, manifest) = RecordingFolder::open(path).expect("a recording");
        let (tables, events) = read(&folder, LogName::Events);
        let (symbols, _) = read(&folder, LogName::Symbols);
        Recorded { manifest, events, tables, symbols }
    }

    /// The last name of a thread.
    pub fn name(&self, thread: ThreadId) -> &str {
        let named = self.events.iter().rev().find_map(|event| match event.kind {
            EventKind::Name { name } if event.thread == thread => Some(name),
            _ => None,
        });
        named.map_or("", |name| self.tables.text(name))
    }

    /// Names of the procedures of a stack, innermost first; `?` where there is none.
    pub fn procedures(&self, stack: Option<StackId>) -> Vec<&str> {
        let mut procedures = Vec::new();
        let mut next = stack;
        while let Some(id) = next {
            let node = self.tables.stacks[id.index()];
            procedures.extend(self.places(node.frame));
            next = node.caller;
        }
        procedures
    }

    fn places(&self, frame: FrameId) -> Vec<&str> {
        let symbol = self.symbols.symbols.iter().find(|symbol| symbol.frame == frame);
        let places: Vec<_> = symbol
            .iter()
            .flat_map(|symbol| &symbol.places)
            .map(|place| self.symbols.text(place.procedure))
            .collect();
        if places.is_empty() { vec!["?"] } else { places }
    }

    /// The stacks with which threads of that name left their processors for that reason.
    pub fn stacks_at_outs(&self, name: &str, wanted: fn(Blocking) -> bool) -> Vec<Option<StackId>> {
        let stack = |event: &Event| match event.kind {
            EventKind::Out { blocking, stack, .. } if wanted(blocking) => Some(stack),
            _ => None,
        };
        self.events.iter().filter(|event| self.name(event.thread) == name).filter_map(stack).collect()
    }

    /// Times a thread of that name left its processor in a wait for a futex, by its system call or by the
    /// kernel's frames of its stack.
    pub fn futex_waits(&self, name: &str) -> usize {
        const FUTEX: i32 = 202;
        let is_wait = |event: &&Event| match event.kind {
            EventKind::Out { blocking: Blocking::Interruptible, call: Some(call), .. } => {
                self.tables.calls[call.index()].number == FUTEX
            }
            EventKind::Out { blocking: Blocking::Interruptible, call: None, stack } => {
                self.procedures(stack).iter().any(|name| name.starts_with("futex_wait"))
            }
            _ => false,
        };
        self.events.iter().filter(is_wait).filter(|event| self.name(event.thread) == name).count()
    }

    /// The stacks with which a thread of one name woke one of another.
    pub fn wakes(&self, waker_name: &str, wakee_name: &str) -> Vec<Option<StackId>> {
        let stack = |event: &Event| match event.kind {
            EventKind::Wake { waker: Waker::Thread(waker), stack, .. } if self.name(waker) == waker_name => {
                Some(stack)
            }
            _ => None,
        };
        self.events.iter().filter(|event| self.name(event.thread) == wakee_name).filter_map(stack).collect()
    }

    /// The stacks of the samples.
    pub fn samples(&self) -> Vec<Option<StackId>> {
        let stack = |event: &Event| match event.kind {
            EventKind::Sample { stack, .. } => Some(stack),
            _ => None,
        };
        self.events.iter().filter_map(stack).collect()
    }

    /// Events that were lost.
    pub fn lost(&self) -> u64 {
        let count = |event: &Event| match event.kind {
            EventKind::Lost { count, .. } => count,
            _ => 0,
        };
        self.events.iter().map(count).sum()
    }

    /// Nanoseconds that threads of that name had a processor, to the last event.
    pub fn running(&self, name: &str) -> u64 {
        let end = self.events.iter().map(|event| event.time).max();
        let mut total = 0;
        for index in 0..self.tables.threads.len() {
            let thread = ThreadId::from_index(index);
            if self.name(thread) != name {
                continue;
            }
            let mut since = None;
            for event in self.events.iter().filter(|event| event.thread == thread) {
                match event.kind {
                    EventKind::In => since = Some(event.time),
                    EventKind::Out { .. } => total += since.take().map_or(0, |since| event.time.since(since)),
                    _ => {}
                }
            }
            total += since.zip(end).map_or(0, |(since, end)| end.since(since));
        }
        total
    }
}

fn read(folder: &RecordingFolder, log: LogName) -> (DefinitionTables, Vec<Event>) {
    let (mut tables, mut events) = (DefinitionTables::default(), Vec::new());
    let mut reader = folder.open_log(MachineId(0), log).expect("a readable log").expect("a log");
    while let Some(chunk) = reader.next_chunk().expect("a readable chunk") {
        for record in Decoder::new(chunk.bytes) {
            match record.expect("an intact record") {
                Record::Event(event) => events.push(event),
                record => tables.define(record),
            }
        }
    }
    assert!(reader.defects().is_none());
    (tables, events)
}
