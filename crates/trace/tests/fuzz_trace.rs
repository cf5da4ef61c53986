//! Opening damaged recordings: an error or timelines that hold together, never a panic.

#![allow(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

mod support;

use std::path::Path;
use std::time::Duration;

use longpole_event::{EventKind, PrimitiveKind};
use longpole_testkit::{Drawing, Mutations};
use longpole_trace::Trace;

/// A chunk: magic, stored and raw size, checksum, counts of definitions, payload.
const CHUNK_HEADER: usize = 52;
const FILE_HEADER: usize = longpole_recording::LOG_HEADER_BYTES;

/// The chunk with its checksum made right again, so that damage reaches the readers behind it.
fn resealed(mut log: Vec<u8>, payload: &[u8]) -> Vec<u8> {
    let packed = zstd::bulk::compress(payload, 1).expect("compression");
    log.truncate(FILE_HEADER + CHUNK_HEADER);
    let header = &mut log[FILE_HEADER..];
    header[4..8].copy_from_slice(&(packed.len() as u32).to_le_bytes());
    header[8..12].copy_from_slice(&(payload.len() as u32).to_le_bytes());
    log.extend(packed);
    let checksum = crc32fast::hash(&log[FILE_HEADER + 16..]);
    log[FILE_HEADER + 12..FILE_HEADER + 16].copy_from_slice(&checksum.to_le_bytes());
    log
}

fn payload(log: &[u8]) -> Vec<u8> {
    zstd::stream::decode_all(&log[FILE_HEADER + CHUNK_HEADER..]).expect("one chunk")
}

#[test]
fn damaged_recordings_are_refused_or_opened() {
    let folder = tempfile::tempdir().expect("a folder");
    let recording = folder.path().join("r");
    Drawing::example().write(&recording).expect("a recording");
    damage(&recording);
}

#[test]
fn damaged_recordings_of_programs_that_mark_what_they_do_are_refused_or_opened() {
    let (folder, _trace) = support::recording(vec![support::machine("a", 0)], 100, |logs| {
        let log = &mut logs[0];
        let process = log.process(10, None);
        let [one, two] = [10, 11].map(|tid| log.thread(process, tid));
        let (region, task) = (log.mark("load"), log.mark("tile"));
        let lock = log.primitive(process, PrimitiveKind::Mutex, 0x10, "m");
        let procedure = log.frame("/bin/program", &["inlined", "work"], false);
        let (outer, inner) = (log.plain(&["main", "plan"]), log.stack(&[procedure]));
        for thread in [one, two] {
            log.start(0, thread, None);
            log.switch_in(0, thread);
        }
        let enter = |frame, stack, task| EventKind::Enter { frame, stack, task };
        log.event(5, one, enter(region, Some(outer), None));
        log.event(10, one, EventKind::Spawn { task: 7, stack: Some(outer) });
        log.event(20, two, enter(task, Some(inner), Some(7)));
        log.event(21, two, enter(procedure, None, None));
        log.sample(25, two, inner);
        log.awaits(30, two, lock, Some(inner));
        log.futex(31, two, inner);
        log.wake(40, two, one, outer);
        log.switch_in(41, two);
        log.proceed(42, two);
        log.event(43, two, EventKind::Overhead { nanoseconds: 9 });
        log.event(44, two, EventKind::Leave);
        log.event(45, two, EventKind::Leave);
        log.event(46, one, EventKind::Leave);
        log.dead(50, two);
    });
    damage(&folder.path().join("r.longpole"));
}

/// Opens the recording with every kind of damage.
fn damage(recording: &Path) {
    for name in ["machine-0/events.log", "machine-0/symbols.log"] {
        let file = recording.join(name);
        let log = std::fs::read(&file).expect("a log");
        let runs = Mutations::new(vec![payload(&log)], 41).run_for(Duration::from_secs(3), |payload| {
            std::fs::write(&file, resealed(log.clone(), payload)).expect("a file");
            let Ok(trace) = Trace::open(recording) else { return };
            let mut last = None;
            let threads = trace.program().threads.len();
            let _ = trace.items(&mut |item| {
                assert!(last <= Some(item.time), "{:?} after {last:?}", item.time);
                assert!(item.thread.index() < threads, "{:?} of {threads} threads", item.thread);
                last = Some(item.time);
            });
        });
        assert!(runs > 50, "{runs} inputs");
        std::fs::write(&file, log).expect("a file");
    }
}
