//! The checkpoint of a segment, and what of a segment that is killed at any byte can be read.

use longpole_event::{
    Blocking, Event, EventKind, IdKind, MachineId, ProcessDefinition, Record, StackDefinition,
    ThreadDefinition, ThreadId, Time,
};

use super::*;
use crate::{LogBuilder, LogName, Manifest, RecordingFolder};

const MACHINE: MachineId = MachineId(0);

struct Run {
    place: tempfile::TempDir,
    folder: RecordingFolder,
    log: LogBuilder,
}

fn run(milliseconds: u64) -> Run {
    let place = tempfile::tempdir().unwrap();
    let folder = RecordingFolder::create(&place.path().join("w.longpole"), &Manifest::default()).unwrap();
    let limits = WindowLimits { nanoseconds: Some(milliseconds * 1_000_000), bytes: None };
    let log = folder.create_window(MACHINE, LogName::Events, limits).unwrap();
    Run { place, folder, log }
}

impl Run {
    fn thread(&mut self, tid: u32) -> ThreadId {
        let process = self.log.process(ProcessDefinition { pid: tid, parent: None }).unwrap();
        self.log.thread(ThreadDefinition { process, tid }).unwrap()
    }

    fn at(&mut self, milliseconds: u64, thread: ThreadId, kind: EventKind) {
        let time = Time::from_nanoseconds(milliseconds * 1_000_000);
        self.log.event(Event { time, cpu: 1, thread, kind }).unwrap();
    }

    fn records(&mut self) -> Vec<Record> {
        self.log.flush().unwrap();
        let mut window = self.folder.open_window(MACHINE, LogName::Events).unwrap().unwrap();
        let mut all = Vec::new();
        while let Some(records) = window.next_records(|_| true).unwrap() {
            all.extend(records);
        }
        assert!(window.defects().is_none(), "{:?}", window.defects());
        all
    }

    /// Events by dense thread and kind.
    fn events(&mut self) -> Vec<(u32, EventKind)> {
        let events = self.records().into_iter().filter_map(|record| match record {
            Record::Event(event) => Some((event.thread.0, event.kind)),
            _ => None,
        });
        events.collect()
    }
}

const BLOCKED: EventKind = EventKind::Out { blocking: Blocking::Interruptible, call: None, stack: None };

fn start(creator: Option<ThreadId>) -> EventKind {
    EventKind::Start { creator, stack: None }
}

fn go_on(creator: Option<u32>, is_alive: bool) -> EventKind {
    EventKind::Continue { creator: creator.map(ThreadId), stack: None, is_alive }
}

#[test]
fn threads_go_on_as_they_were() {
    let mut run = run(160);
    let [ended, creator, runs, waits, woken] = [10, 11, 12, 13, 14].map(|tid| run.thread(tid));
    run.at(1, ended, start(None));
    run.at(1, creator, start(None));
    run.at(2, runs, start(Some(creator)));
    run.at(2, waits, start(Some(runs)));
    run.at(2, woken, start(None));
    run.at(3, ended, EventKind::Exit);
    run.at(4, runs, EventKind::In);
    for (at, kind) in [(5, EventKind::In), (6, BLOCKED)] {
        run.at(at, waits, kind);
        run.at(at, woken, kind);
    }
    let waker = longpole_event::Waker::Unknown;
    run.at(7, woken, EventKind::Wake { waker, call: None, stack: None });
    run.at(8, creator, EventKind::Exit);
    // Something that happens until the beginning is dropped.
    for milliseconds in (20..400).step_by(10) {
        run.at(milliseconds, runs, EventKind::Overhead { nanoseconds: 1 });
    }
    let events = run.events();
    // Ids are dense in the order in which the checkpoint names threads; who ended and created nobody is not there.
    let checkpoint = [
        (0, go_on(None, false)),
        (1, go_on(Some(0), true)),
        (1, EventKind::In),
        (2, go_on(Some(1), true)),
        (2, EventKind::In),
        (2, BLOCKED),
        (3, go_on(None, true)),
    ];
    assert_eq!(events[..checkpoint.len()], checkpoint);
    let rest = &events[checkpoint.len()..];
    assert!(rest.iter().all(|event| *event == (1, EventKind::Overhead { nanoseconds: 1 })), "{rest:?}");
    assert!((17..25).contains(&rest.len()), "{} of 38 events are kept", rest.len());
}

#[test]
fn only_definitions_that_are_needed_are_written_and_all_of_these() {
    let mut run = run(160);
    let thread = run.thread(1);
    run.at(1, thread, start(None));
    let stack = |run: &mut Run, path: &str, caller| {
        let path = run.log.text(path).unwrap();
        let kind = longpole_event::ModuleKind::File;
        let module = longpole_event::ModuleDefinition { path, build_id: vec![], kind, process: None };
        let module = run.log.module(module).unwrap();
        let frame = run.log.frame(longpole_event::FrameDefinition { module, address: 1 }).unwrap();
        run.log.stack(StackDefinition { caller, frame }).unwrap()
    };
    let early = stack(&mut run, "early", None);
    let outer = stack(&mut run, "outer", None);
    let inner = stack(&mut run, "inner", Some(outer));
    run.at(2, thread, EventKind::Sample { stack: Some(early), kernel: false, gap: 0 });
    for milliseconds in (20..400).step_by(10) {
        run.at(milliseconds, thread, EventKind::Sample { stack: Some(inner), kernel: false, gap: 0 });
    }
    let records = run.records();
    let texts = records.iter().filter_map(|record| match record {
        Record::Text(text) => Some(text.as_str()),
        _ => None,
    });
    assert_eq!(texts.collect::<Vec<_>>(), ["outer", "inner"]);
    let stacks = records.iter().filter(|record| matches!(record, Record::Stack(_))).count();
    assert_eq!(stacks, 2);
    assert!(run.place.path().exists());
}

#[test]
fn threads_that_ended_are_forgotten_and_whoever_lives_keeps_what_it_needs() {
    let mut run = run(160);
    let parent = run.log.process(ProcessDefinition { pid: 1, parent: None }).unwrap();
    let child = run.log.process(ProcessDefinition { pid: 2, parent: Some(parent) }).unwrap();
    let creator = run.log.thread(ThreadDefinition { process: parent, tid: 1 }).unwrap();
    let lives = run.log.thread(ThreadDefinition { process: child, tid: 2 }).unwrap();
    run.at(1, creator, start(None));
    run.at(1, lives, start(Some(creator)));
    run.at(2, creator, EventKind::Exit);
    let short = run.thread(3);
    run.at(2, short, start(None));
    run.at(3, short, EventKind::Exit);
    for milliseconds in (20..60).step_by(10) {
        run.at(milliseconds, lives, EventKind::Overhead { nanoseconds: 1 });
    }
    run.log.forget([]);
    assert!(!run.log.knows(IdKind::Thread, short.0));
    for milliseconds in (60..400).step_by(10) {
        run.at(milliseconds, lives, EventKind::Overhead { nanoseconds: 1 });
    }
    // Who creates it, and the process that created its own, are there still.
    let events = run.events();
    assert_eq!(events[..2], [(0, go_on(None, false)), (1, go_on(Some(0), true))]);
    assert!(events.len() > 15, "{} events", events.len());
}

#[test]
fn a_segment_cut_at_any_byte_costs_what_came_behind() {
    let mut run = run(10_000);
    let thread = run.thread(1);
    run.at(1, thread, start(None));
    for milliseconds in 2..20 {
        run.at(milliseconds, thread, EventKind::Overhead { nanoseconds: milliseconds });
        run.log.flush().unwrap();
    }
    let whole = run.events();
    let path = run.folder.path().join("machine-0/events-0.log");
    let bytes = std::fs::read(&path).unwrap();
    for end in 0..bytes.len() {
        std::fs::write(&path, &bytes[..end]).unwrap();
        let Some(mut window) = run.folder.open_window(MACHINE, LogName::Events).unwrap() else { continue };
        let mut events = Vec::new();
        while let Some(records) = window.next_records(|record| matches!(record, Record::Event(_))).unwrap() {
            events.extend(records.into_iter().filter_map(|record| match record {
                Record::Event(event) => Some((event.thread.0, event.kind)),
                _ => None,
            }));
        }
        assert!(whole.starts_with(&events), "{end}");
    }
}
