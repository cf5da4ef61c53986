//! A recording of the last part of a run has the numbers that the whole recording has of that part.
//!
//! The oracle is a whole recording and [`Phase`], which know nothing of segments: its records are written again into a
//! window, which drops the beginning, and both are analysed.

#![allow(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use longpole_event::{Event, EventKind, IdKind, MachineId, Record, Time};
use longpole_metrics::{Analysis, By, MetricOptions, Node, Order, analyse, rows};
use longpole_recording::{LogBuilder, LogName, Manifest, RecordingFolder, WindowLimits};
use longpole_testkit::{define_again, read_log};
use longpole_trace::{Phase, Program, Timelines, Trace};

/// A recording that is kept for ever: lock_hog.c of `programs/`.
fn kept() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../cli/tests/fixtures/version-4.longpole")
}

const MACHINE: MachineId = MachineId(0);

/// The symbols of the whole recording under the ids of the window.
fn name(whole: &RecordingFolder, window: &RecordingFolder) {
    let mut log = window.open_window(MACHINE, LogName::Events).unwrap().unwrap();
    while log.next_records(|_| false).unwrap().is_some() {}
    let (symbols, _) = read_log(whole, MACHINE, LogName::Symbols);
    let mut to = LogBuilder::new(window.create_log(MACHINE, LogName::Symbols).unwrap());
    symbols.texts.iter().for_each(|text| _ = to.text(text).unwrap());
    let records = symbols.symbols.into_iter().map(Record::Symbol);
    for mut record in records.chain(symbols.variables.into_iter().map(Record::Variable)) {
        let is_there = record.renumber(&mut |kind, number| match kind {
            IdKind::Text => Some(number),
            kind => log.id(kind, number),
        });
        match record {
            Record::Symbol(symbol) if is_there => to.symbol(symbol).unwrap(),
            Record::Variable(variable) if is_there => to.variable(variable).unwrap(),
            _ => {}
        }
    }
    to.flush().unwrap();
}

struct Window {
    _place: tempfile::TempDir,
    path: PathBuf,
    begin: Time,
    folder: RecordingFolder,
}

/// Records the run of the whole recording again, as one of which only the last part is kept.
fn record_again(limits: WindowLimits, mut meanwhile: impl FnMut(usize, &mut LogBuilder)) -> Window {
    let (whole, manifest) = RecordingFolder::open(&kept()).unwrap();
    let (tables, events) = read_log(&whole, MACHINE, LogName::Events);
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("w.longpole");
    let folder = RecordingFolder::create(&path, &manifest).unwrap();
    let mut log = folder.create_window(MACHINE, LogName::Events, limits).unwrap();
    define_again(&tables, &mut log);
    for (number, event) in events.into_iter().enumerate() {
        log.event(event).unwrap();
        meanwhile(number, &mut log);
    }
    log.flush().unwrap();
    name(&whole, &folder);
    let begin = first_time(&folder);
    let mut outcome = manifest.outcome.unwrap();
    outcome.begin_nanoseconds = begin.nanoseconds();
    folder.write_manifest(&Manifest { outcome: Some(outcome), ..manifest }).unwrap();
    Window { _place: place, path, begin, folder }
}

fn first_time(folder: &RecordingFolder) -> Time {
    let mut log = folder.open_window(MACHINE, LogName::Events).unwrap().unwrap();
    while let Some(records) = log.next_records(|record| matches!(record, Record::Event(_))).unwrap() {
        if let Some(Record::Event(event)) = records.first() {
            return event.time;
        }
    }
    panic!("the window is empty")
}

fn analysis<T: Timelines<Error: std::fmt::Debug + Send> + Sync>(timelines: &T) -> Analysis {
    // Whether a lock's hand-offs are arcs depends on how busy the lock was in all of what was recorded, so that it can differ
    // between the whole and its last part. In the recorded order all are.
    let options = MetricOptions { order: Order::Recorded, ..MetricOptions::default() };
    analyse(timelines, &options).unwrap()
}

/// By tid: nanoseconds running, ready and blocked.
fn states(analysis: &Analysis, program: &Program) -> BTreeMap<u32, [u64; 3]> {
    let mut states: BTreeMap<u32, [u64; 3]> = BTreeMap::new();
    for (thread, of) in program.threads.iter().zip(&analysis.threads) {
        let times = [of.running + of.spinning, of.ready, of.blocked.iter().sum()];
        let sums = states.entry(thread.tid).or_default();
        sums.iter_mut().zip(times).for_each(|(sum, time)| *sum += time);
    }
    states.retain(|_, times| *times != [0; 3]);
    states
}

/// By the path's names, outermost first: CPU time, normalised processor time and time on the critical path, nanoseconds.
fn charges(timelines: &impl Timelines, analysis: &Analysis) -> BTreeMap<String, [f64; 3]> {
    let rows = rows(analysis, timelines.program(), timelines.paths(), By::Procedure, |_| true);
    let name = |node| match node {
        Node::Procedure(id) => timelines.paths().procedure_named_by(id).name.clone(),
        other => panic!("{other:?} in a table of procedures"),
    };
    let measures = |row: &longpole_metrics::NodeRow| {
        let of = &row.inclusive;
        [of.cpu() as f64, of.npt(), of.critical_cpu as f64]
    };
    rows.iter().map(|row| (name(row.node), measures(row))).collect()
}

fn assert_same(window: &Window) {
    let whole = Trace::open(&kept()).unwrap();
    let from = Time::from_nanoseconds(window.begin.nanoseconds() - whole.program().begin_nanoseconds);
    let phase = Phase::new(&whole, from, None).unwrap();
    let part = Trace::open(&window.path).unwrap();
    assert!(part.evidence().defects.is_none(), "{:?}", part.evidence().defects);
    assert_eq!(part.evidence().contradictions, 0);
    let (expected, found) = (analysis(&phase), analysis(&part));
    assert_eq!(found.elapsed, expected.elapsed);
    assert_eq!(states(&found, part.program()), states(&expected, phase.program()));
    assert_eq!((&found.busy, &found.nominal), (&expected.busy, &expected.nominal));
    let (expected, found) = (charges(&phase, &expected), charges(&part, &found));
    let elapsed = phase.program().elapsed_nanoseconds as f64;
    // What was running at the window's begin was seen last before it; the window only knows where it was seen next.
    let close = 0.005 * elapsed;
    for name in expected.keys().chain(found.keys()) {
        let of = |of: &BTreeMap<String, [f64; 3]>| of.get(name).copied().unwrap_or_default();
        let (one, other) = (of(&expected), of(&found));
        let is_close = one.iter().zip(other).all(|(one, other)| (one - other).abs() <= close);
        assert!(is_close, "{name}: {one:?} in the whole recording, {other:?} in the window of {elapsed} ns");
    }
}

fn segments(window: &Window) -> Vec<u64> {
    let entries = std::fs::read_dir(window.path.join("machine-0")).unwrap().flatten();
    let is_segment = |name: &str| name.starts_with("events-");
    let segments = entries.filter(|entry| is_segment(entry.file_name().to_str().unwrap()));
    segments.map(|entry| entry.metadata().unwrap().len()).collect()
}

#[test]
fn the_last_part_has_the_numbers_of_that_part_of_the_whole() {
    for milliseconds in [1, 100, 300, 700] {
        let limits = WindowLimits { nanoseconds: Some(milliseconds * 1_000_000), bytes: None };
        let window = record_again(limits, |_, _| {});
        let (_, whole) = RecordingFolder::open(&kept()).unwrap();
        let end = whole.outcome.unwrap().end_nanoseconds;
        assert!(end - window.begin.nanoseconds() >= milliseconds * 1_000_000, "{milliseconds} ms are kept");
        assert_same(&window);
    }
}

#[test]
fn a_window_longer_than_the_run_is_the_run() {
    let limits = WindowLimits { nanoseconds: Some(u64::MAX), bytes: None };
    assert_same(&record_again(limits, |_, _| {}));
}

#[test]
fn bytes_bound_what_is_kept_at_any_moment() {
    let whole = std::fs::metadata(kept().join("machine-0/events.log")).unwrap().len();
    let bytes = 2 * whole / 3;
    let limits = WindowLimits { nanoseconds: None, bytes: Some(bytes) };
    let mut most = 0;
    let window = record_again(limits, |_, log| most = most.max(log.written_bytes()));
    let kept: u64 = segments(&window).iter().sum();
    assert!(kept <= bytes && most <= bytes, "{kept} bytes at the end, {most} at most, of {bytes}");
    let folder = window.path.join("machine-0/events-0.log");
    assert!(!folder.exists() && segments(&window).len() > 1, "the beginning was dropped");
    assert_same(&window);
}

/// The ids that events name.
fn named_by(events: &[Event]) -> Vec<(IdKind, u32)> {
    let mut ids = Vec::new();
    for event in events {
        Record::Event(*event).renumber(&mut |kind, number| {
            ids.push((kind, number));
            Some(number)
        });
    }
    ids
}

#[test]
fn definitions_that_nothing_needs_are_forgotten() {
    let limits = WindowLimits { nanoseconds: Some(50_000_000), bytes: None };
    let (whole, _) = RecordingFolder::open(&kept()).unwrap();
    let (tables, events) = read_log(&whole, MACHINE, LogName::Events);
    let mut most_forgotten = 0;
    let sometimes = |number: usize, log: &mut LogBuilder| {
        if number % 500 == 499 {
            log.forget(named_by(&events[number + 1..]));
            let stacks = 0..u32::try_from(tables.stacks.len()).unwrap();
            most_forgotten = stacks.filter(|&stack| !log.knows(IdKind::Stack, stack)).count();
        }
    };
    assert_same(&record_again(limits, sometimes));
    assert!(most_forgotten > 10, "{most_forgotten} of {} stacks were forgotten", tables.stacks.len());
}

#[test]
fn a_missing_or_torn_segment_costs_what_was_before_it() {
    let limits = WindowLimits { nanoseconds: Some(700_000_000), bytes: None };
    let window = record_again(limits, |_, _| {});
    let folder = window.path.join("machine-0");
    let mut names: Vec<u32> = std::fs::read_dir(&folder)
        .unwrap()
        .flatten()
        .filter_map(|entry| {
            entry.file_name().to_str()?.strip_prefix("events-")?.strip_suffix(".log")?.parse().ok()
        })
        .collect();
    names.sort_unstable();
    assert!(names.len() > 4, "{names:?}");
    std::fs::remove_file(folder.join(format!("events-{}.log", names[1]))).unwrap();
    let shorter = first_time(&window.folder);
    assert!(shorter > window.begin);
    let trace = Trace::open(&window.path).unwrap();
    assert_eq!(trace.evidence().defects.damaged_chunks, 1, "the segment before the gap");
    // A segment whose checkpoint is torn cannot be the first.
    let second = folder.join(format!("events-{}.log", names[2]));
    let bytes = std::fs::read(&second).unwrap();
    std::fs::write(&second, &bytes[..200]).unwrap();
    assert!(first_time(&window.folder) > shorter);
    let mut events = 0;
    let mut log = window.folder.open_window(MACHINE, LogName::Events).unwrap().unwrap();
    while let Some(records) = log.next_records(|record| matches!(record, Record::Event(_))).unwrap() {
        events += records.len();
    }
    assert!(events > 0);
}

#[test]
fn a_stream_goes_on_from_where_it_was_written_to() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("w.longpole");
    let folder = RecordingFolder::create(&path, &Manifest::default()).unwrap();
    let limits = WindowLimits { nanoseconds: Some(160_000_000), bytes: None };
    let mut log = folder.create_window(MACHINE, LogName::Events, limits).unwrap();
    let process = log.process(longpole_event::ProcessDefinition { pid: 1, parent: None }).unwrap();
    let thread = log.thread(longpole_event::ThreadDefinition { process, tid: 1 }).unwrap();
    let mut at = |milliseconds: u64, kind| {
        let time = Time::from_nanoseconds(milliseconds * 1_000_000);
        log.event(Event { time, cpu: 0, thread, kind }).unwrap();
    };
    at(1, EventKind::Start { creator: None, stack: None });
    at(2, EventKind::Write { channel: 7, position: 0, bytes: 500 });
    for milliseconds in (100..2000).step_by(50) {
        at(milliseconds, EventKind::In);
    }
    at(2000, EventKind::Read { channel: 7, position: 0, bytes: 500 });
    log.flush().unwrap();
    let mut log = folder.open_window(MACHINE, LogName::Events).unwrap().unwrap();
    let mut kinds = Vec::new();
    while let Some(records) = log.next_records(|_| true).unwrap() {
        kinds.extend(records.into_iter().filter_map(|record| match record {
            Record::Event(event) => Some(event.kind),
            _ => None,
        }));
    }
    let [.., before, read] = kinds[..] else { panic!("{kinds:?}") };
    assert_eq!(before, EventKind::Write { channel: 7, position: 500, bytes: 0 });
    assert_eq!(read, EventKind::Read { channel: 7, position: 0, bytes: 500 });
    assert!(kinds.len() < 20, "the beginning was dropped: {kinds:?}");
}
