//! Recordings of any length, made without running anything.
//!
//! ```text
//!   cpu 0   T0 ── wakes T2, blocks ─┐ T2 ── wakes T4, blocks ─┐ T4 ...
//!   cpu 1   T1 ── wakes T3, blocks ─┐ T3 ── ...
//! ```
//! Eight threads on two processors; a step is a wake, a switch out (in a futex wait) and a switch in, which are
//! three scheduling events, and one step in sixteen has a timer sample. Call paths are ten frames deep, in a
//! tree of some thousands with 1,000 procedures, as programs have them. Waits are for 64 mutexes; whoever wakes
//! a thread unlocks the mutex that it waits for.

use std::collections::VecDeque;
use std::path::Path;

use anyhow::{Context, Result};
use longpole_event::{
    Blocking, BusyWaiting, CallDefinition, CallId, Event, EventKind, FileKind, FrameDefinition, FrameId,
    MachineId, ModuleDefinition, ModuleKind, ProcessDefinition, StackDefinition, StackId, Symbol,
    SymbolPlace, ThreadDefinition, ThreadId, Time, Waker,
};
use longpole_recording::{
    CollectorDescription, FORMAT_VERSION, LogBuilder, LogName, MachineDescription, Manifest, RecordingFolder,
    RunOutcome,
};

const THREADS: u32 = 8;
const CPUS: u16 = 2;
/// The last two are `pthread_mutex_lock` and `pthread_mutex_unlock`.
const PROCEDURES: u64 = 1002;
const PATHS: u64 = 2000;
/// Those that compute.
const WORKING: u64 = PROCEDURES - 2;
const OBJECTS: u64 = 64;
const DEPTH: u64 = 10;
const BEGIN: u64 = 1_000_000_000;
/// x86-64 system call number of futex, and its private operations.
const FUTEX: i32 = 202;
const FUTEX_WAIT_PRIVATE: u64 = 0x80;
const FUTEX_WAKE_PRIVATE: u64 = 0x81;

/// Writes a recording with `events` scheduling events.
pub fn write(path: &Path, events: u64) -> Result<()> {
    let mut manifest = Manifest {
        format_version: FORMAT_VERSION,
        longpole: env!("CARGO_PKG_VERSION").to_owned(),
        command: vec!["synthetic".to_owned(), events.to_string()],
        machines: vec![MachineDescription {
            name: "synthetic".to_owned(),
            cpus: CPUS.into(),
            collector: CollectorDescription {
                name: "synthetic".to_owned(),
                sample_hertz: 997,
                ..CollectorDescription::default()
            },
            ..MachineDescription::default()
        }],
        ..Manifest::default()
    };
    let folder = RecordingFolder::create(path, &manifest).context("create a recording")?;
    let mut writer = SyntheticWriter::new(&folder)?;
    writer.start()?;
    for _ in 0..events / 3 {
        writer.step()?;
    }
    let end = writer.finish()?;
    write_symbols(&folder)?;
    manifest.outcome = Some(RunOutcome {
        begin_nanoseconds: BEGIN,
        end_nanoseconds: end,
        exit_code: Some(0),
        signal: None,
        truncated: false,
    });
    folder.write_manifest(&manifest).context("finish a recording")
}

struct SyntheticWriter {
    log: LogBuilder,
    random: u64,
    time: u64,
    steps: u64,
    threads: Vec<ThreadId>,
    running: Vec<ThreadId>,
    /// With the object it waits for.
    blocked: VecDeque<(ThreadId, usize)>,
    paths: Vec<SyntheticPath>,
    objects: Vec<MutexCalls>,
}

/// A call path, alone and with a lock operation at its end.
#[derive(Clone, Copy)]
struct SyntheticPath {
    work: StackId,
    lock: StackId,
    unlock: StackId,
}

/// The system calls of a mutex.
#[derive(Clone, Copy)]
struct MutexCalls {
    wait: CallId,
    wake: CallId,
}

impl SyntheticWriter {
    fn new(folder: &RecordingFolder) -> Result<Self> {
        let mut log = LogBuilder::new(folder.create_log(MachineId(0), LogName::Events)?);
        let path = log.text("/usr/bin/synthetic")?;
        let module = ModuleDefinition { path, build_id: vec![7; 20], kind: ModuleKind::File, process: None };
        let module = log.module(module)?;
        let library = log.text("/usr/lib/libc.so.6")?;
        let library =
            ModuleDefinition { path: library, build_id: vec![8; 20], kind: ModuleKind::File, process: None };
        let library = log.module(library)?;
        let frame = |number: u64| {
            let module = if number < WORKING { module } else { library };
            FrameDefinition { module, address: 0x1000 + 0x40 * number }
        };
        let frames: Vec<_> =
            (0..PROCEDURES).map(|number| log.frame(frame(number))).collect::<Result<_, _>>()?;
        let mut random = 0x1234_5678_9abc_def1;
        let paths = (0..PATHS).map(|_| route(&mut log, &frames, &mut random)).collect::<Result<_>>()?;
        let objects = (0..OBJECTS).map(|number| object(&mut log, number)).collect::<Result<_>>()?;
        let process = log.process(ProcessDefinition { pid: 1000, parent: None })?;
        let threads: Vec<_> = (0..THREADS)
            .map(|number| log.thread(ThreadDefinition { process, tid: 1000 + number }))
            .collect::<Result<_, _>>()?;
        let running = threads[..usize::from(CPUS)].to_vec();
        let blocked = threads[usize::from(CPUS)..].iter().map(|&thread| (thread, 0)).collect();
        Ok(SyntheticWriter { log, random, time: BEGIN, steps: 0, threads, running, blocked, paths, objects })
    }

    fn event(&mut self, cpu: u16, thread: ThreadId, kind: EventKind) -> Result<()> {
        Ok(self.log.event(Event { time: Time::from_nanoseconds(self.time), cpu, thread, kind })?)
    }

    fn path(&mut self) -> SyntheticPath {
        let index = next(&mut self.random) % PATHS;
        self.paths[index as usize]
    }

    /// The thread leaves the processor to wait for some object, which is given.
    fn wait(&mut self, cpu: u16, thread: ThreadId) -> Result<usize> {
        let object = (next(&mut self.random) % OBJECTS) as usize;
        let (call, stack) = (Some(self.objects[object].wait), Some(self.path().lock));
        self.event(cpu, thread, EventKind::Out { blocking: Blocking::Interruptible, call, stack })?;
        Ok(object)
    }

    /// All threads start; the first ones run, the others block at once.
    fn start(&mut self) -> Result<()> {
        for thread in self.threads.clone() {
            let creator = (thread.0 > 0).then_some(ThreadId(0));
            let stack = if creator.is_some() { Some(self.path().work) } else { None };
            self.event(0, thread, EventKind::Start { creator, stack })?;
            let name = self.log.text(&format!("worker {}", thread.0))?;
            self.event(0, thread, EventKind::Name { name })?;
        }
        for at in 0..self.blocked.len() {
            let (thread, _) = self.blocked[at];
            self.time += 500;
            let cpu = CPUS + thread.0 as u16;
            self.event(cpu, thread, EventKind::In)?;
            self.time += 500;
            self.blocked[at].1 = self.wait(cpu, thread)?;
        }
        for cpu in 0..CPUS {
            self.event(cpu, self.running[usize::from(cpu)], EventKind::In)?;
        }
        Ok(())
    }

    /// One wake, one switch out, one switch in.
    fn step(&mut self) -> Result<()> {
        let cpu = (self.steps % u64::from(CPUS)) as u16;
        self.steps += 1;
        let current = self.running[usize::from(cpu)];
        let (woken, object) = self.blocked.pop_front().expect("more threads than processors");
        self.time += 1000 + next(&mut self.random) % 20_000;
        if self.steps.is_multiple_of(16) {
            let stack = Some(self.path().work);
            self.event(cpu, current, EventKind::Sample { stack, kernel: false, gap: 0 })?;
            self.time += 400;
        }
        let (call, stack) = (Some(self.objects[object].wake), Some(self.path().unlock));
        self.event(cpu, woken, EventKind::Wake { waker: Waker::Thread(current), call, stack })?;
        self.time += 300;
        let object = self.wait(cpu, current)?;
        self.event(cpu, woken, EventKind::In)?;
        self.blocked.push_back((current, object));
        self.running[usize::from(cpu)] = woken;
        Ok(())
    }

    /// All threads end.
    fn finish(&mut self) -> Result<u64> {
        for thread in self.threads.clone() {
            self.time += 100;
            self.event(0, thread, EventKind::Exit)?;
        }
        self.log.flush()?;
        Ok(self.time)
    }
}

/// A call path of its own.
fn route(log: &mut LogBuilder, frames: &[FrameId], random: &mut u64) -> Result<SyntheticPath> {
    let mut caller = None;
    for depth in 0..DEPTH {
        // Near the root few procedures, at the leaf any of them.
        let choice = next(random) % (1 + depth * depth * (WORKING - 1) / ((DEPTH - 1) * (DEPTH - 1)));
        caller = Some(log.stack(StackDefinition { caller, frame: frames[choice as usize] })?);
    }
    let work = caller.context("make a path of no frames")?;
    let mut below = |number: u64| log.stack(StackDefinition { caller, frame: frames[number as usize] });
    Ok(SyntheticPath { work, lock: below(WORKING)?, unlock: below(WORKING + 1)? })
}

/// A mutex by its number.
fn object(log: &mut LogBuilder, number: u64) -> Result<MutexCalls> {
    let call = |operation: u64, value: u64| CallDefinition {
        number: FUTEX,
        arguments: [0x7f00_0000_1000 + 64 * number, operation, value],
        file: FileKind::None,
    };
    Ok(MutexCalls {
        wait: log.call(call(FUTEX_WAIT_PRIVATE, 2))?,
        wake: log.call(call(FUTEX_WAKE_PRIVATE, 1))?,
    })
}

/// Names for all frames.
fn write_symbols(folder: &RecordingFolder) -> Result<()> {
    let mut log = LogBuilder::new(folder.create_log(MachineId(0), LogName::Symbols)?);
    let file = log.text("synthetic.c")?;
    for number in 0..PROCEDURES {
        let name = match number.checked_sub(WORKING) {
            None => format!("procedure_{number}"),
            Some(0) => "pthread_mutex_lock".to_owned(),
            Some(_) => "pthread_mutex_unlock".to_owned(),
        };
        let procedure = log.text(&name)?;
        let places = vec![SymbolPlace { procedure, file: Some(file), line: 10 + number as u32 }];
        let frame = FrameId(number as u32);
        log.symbol(Symbol { frame, places, waiting: BusyWaiting::Work })?;
    }
    Ok(log.flush()?)
}

/// The next of a fixed sequence of random numbers.
fn next(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

#[cfg(test)]
mod tests {
    use longpole_event::{Decoder, Record};

    use super::*;

    #[test]
    fn a_recording_has_as_many_scheduling_events_as_asked_for_in_time_order() {
        let path = std::env::temp_dir().join(format!("longpole-synthetic-{}.longpole", std::process::id()));
        write(&path, 3000).unwrap();
        let (folder, _) = RecordingFolder::open(&path).unwrap();
        let mut log = folder.open_log(MachineId(0), LogName::Events).unwrap().unwrap();
        let (mut scheduling, mut last) = (0, Time::ZERO);
        while let Some(chunk) = log.next_chunk().unwrap() {
            for record in Decoder::new(chunk.bytes) {
                let Record::Event(event) = record.unwrap() else { continue };
                assert!(event.time >= last);
                last = event.time;
                let is_scheduling =
                    matches!(event.kind, EventKind::In | EventKind::Out { .. } | EventKind::Wake { .. });
                scheduling += u32::from(is_scheduling);
            }
        }
        std::fs::remove_dir_all(&path).unwrap();
        // The steps, and what brings the threads into their first places.
        assert_eq!(scheduling, 3000 + 2 * (THREADS - u32::from(CPUS)) + u32::from(CPUS));
    }
}
