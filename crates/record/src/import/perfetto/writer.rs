//! Events of a Perfetto trace as those of a recording.

use std::io::{Read, Seek};

use longpole_event::{Blocking, StackId};
use longpole_perfetto::{
    CallstackKey, PerfettoContents, PerfettoEvent, PerfettoFrame, PerfettoKind, PerfettoThreads,
    PerfettoTrace, PerfettoWaker,
};
use rustc_hash::{FxHashMap, FxHashSet};

use super::super::error::ImportResult;
use super::super::named::{NamedLog, NamedProcedure, NamedTask, NamedWaker};

/// The module of slices.
const SLICES: &str = "slices";
/// The module of frames of which the trace does not say the file.
const UNKNOWN_MODULE: &str = "[unknown]";
/// Call stacks that are remembered.
const MOST_STACKS: usize = 1 << 20;

/// Writes a recording.
pub(super) struct PerfettoWriter {
    pub(super) log: NamedLog,
    has_switches: bool,
    stacks: FxHashMap<CallstackKey, Vec<NamedProcedure>>,
    /// The only process that is recorded, by its pid or program.
    only: Option<String>,
    left_out: FxHashSet<u32>,
    /// Threads of the kernel, and of processes that were not asked for.
    pub(super) kernel_threads: u64,
    pub(super) other_threads: u64,
    /// Switches of which the previous task is not known.
    pub(super) unknown_switches: u64,
    /// Threads that left a processor that they had not got.
    pub(super) missing_switches: u64,
}

impl PerfettoWriter {
    pub(super) fn new(log: NamedLog, contents: &PerfettoContents, only: Option<&str>) -> PerfettoWriter {
        PerfettoWriter {
            log,
            has_switches: contents.switches > 0,
            stacks: FxHashMap::default(),
            only: only.map(str::to_owned),
            left_out: FxHashSet::default(),
            kernel_threads: 0,
            other_threads: 0,
            unknown_switches: 0,
            missing_switches: 0,
        }
    }

    /// Writes all events of a trace.
    pub(super) fn write<R: Read + Seek>(&mut self, trace: &mut PerfettoTrace<R>) -> ImportResult<()> {
        let mut first = true;
        while let Some(event) = trace.next_event()? {
            if std::mem::take(&mut first) {
                for (cpu, tid) in trace.running_at_begin() {
                    if self.know(trace.threads(), event.time, tid)? {
                        self.log.switch_in(tid.into(), event.time, cpu as u16)?;
                    }
                }
            }
            self.take(event, trace)?;
        }
        Ok(())
    }

    fn take<R: Read + Seek>(&mut self, event: PerfettoEvent, trace: &PerfettoTrace<R>) -> ImportResult<()> {
        let (time, threads) = (event.time, trace.threads());
        match event.kind {
            PerfettoKind::Switch { cpu, previous, state, next } => {
                self.switch((time, cpu), (previous, state, next), threads)
            }
            PerfettoKind::Wake { waker, wakee, context, .. } => {
                self.wake(time, (waker, wakee, context), threads)
            }
            PerfettoKind::Fork { parent, child } => self.fork(time, (parent, child), threads),
            PerfettoKind::Rename { tid, name } if self.log.knows(tid.into()) => {
                self.log.rename(tid.into(), time, &name)
            }
            PerfettoKind::Exec { tid, program } if self.log.knows(tid.into()) => {
                self.log.execute(tid.into(), time, &program)
            }
            PerfettoKind::Rename { .. } | PerfettoKind::Exec { .. } => Ok(()),
            PerfettoKind::Exit { tid } => {
                self.log.ends(tid.into());
                Ok(())
            }
            PerfettoKind::Sample { tid, is_kernel, callstack } => {
                if !self.know(threads, time, tid)? {
                    return Ok(());
                }
                let stack = self.stack(tid, callstack, trace)?;
                self.log.sample(tid.into(), time, (stack, is_kernel))
            }
            PerfettoKind::SliceBegin { tid, name } => self.begin_slice((time, tid), name, threads),
            PerfettoKind::SliceEnd { tid } => {
                if !self.know(threads, time, tid)? {
                    return Ok(());
                }
                self.log.end_slice(tid.into(), time)?;
                if !self.has_switches && self.log.depth(tid.into()) == 0 && self.log.is_running(tid.into()) {
                    self.log.switch_out(tid.into(), time, Blocking::Interruptible)?;
                }
                Ok(())
            }
        }
    }

    /// Whether a thread is recorded; it begins where it was not known before.
    fn know(&mut self, threads: &PerfettoThreads, time: u64, tid: u32) -> ImportResult<bool> {
        if tid == 0 || self.is_left_out(threads, tid) {
            return Ok(false);
        }
        if !self.log.knows(tid.into()) {
            self.log.begin(tid.into(), time, &task(threads, tid), None)?;
        }
        Ok(true)
    }

    fn is_left_out(&mut self, threads: &PerfettoThreads, tid: u32) -> bool {
        if threads.is_kernel(tid) {
            self.kernel_threads += u64::from(self.left_out.insert(tid));
            return true;
        }
        let is_other = self.only.as_ref().is_some_and(|only| !is_named(&task(threads, tid), only));
        self.other_threads += u64::from(is_other && self.left_out.insert(tid));
        is_other
    }

    fn switch(
        &mut self,
        (time, cpu): (u64, u32),
        (previous, state, next): (Option<u32>, u64, u32),
        threads: &PerfettoThreads,
    ) -> ImportResult<()> {
        self.unknown_switches += u64::from(previous.is_none());
        if let Some(previous) = previous
            && self.know(threads, time, previous)?
        {
            if !self.log.is_running(previous.into()) {
                self.missing_switches += 1;
                self.log.switch_in(previous.into(), time, cpu as u16)?;
            }
            self.log
                .observe(previous.into(), time)
                .and_then(|()| self.log.switch_out(previous.into(), time, blocking(state)))?;
        }
        if self.know(threads, time, next)? {
            self.log.switch_in(next.into(), time, cpu as u16)?;
        }
        Ok(())
    }

    fn wake(
        &mut self,
        time: u64,
        (waker, wakee, context): (Option<u32>, u32, PerfettoWaker),
        threads: &PerfettoThreads,
    ) -> ImportResult<()> {
        if !self.know(threads, time, wakee)? {
            return Ok(());
        }
        let waker = match (waker, context) {
            (_, PerfettoWaker::Interrupt) | (Some(0), _) => NamedWaker::Interrupt,
            (None, _) => NamedWaker::Unknown,
            (Some(by), _) if self.is_left_out(threads, by) => {
                NamedWaker::Outside(threads.name(by).unwrap_or("a task without name"))
            }
            (Some(by), context) => {
                self.know(threads, time, by)?;
                match context {
                    PerfettoWaker::SoftInterrupt => NamedWaker::SoftInterrupt(by.into()),
                    _ => NamedWaker::Thread(by.into()),
                }
            }
        };
        self.log.wake(wakee.into(), time, waker)
    }

    fn fork(
        &mut self,
        time: u64,
        (parent, child): (u32, u32),
        threads: &PerfettoThreads,
    ) -> ImportResult<()> {
        if self.is_left_out(threads, child) || self.log.knows(child.into()) || child == 0 {
            return Ok(());
        }
        let creator = self.know(threads, time, parent)?.then_some(parent.into());
        self.log.begin(child.into(), time, &task(threads, child), creator)
    }

    fn stack<R: Read + Seek>(
        &mut self,
        tid: u32,
        callstack: Option<CallstackKey>,
        trace: &PerfettoTrace<R>,
    ) -> ImportResult<Option<StackId>> {
        let base = self.log.path(tid.into());
        let Some(key) = callstack else { return Ok(base) };
        if !self.stacks.contains_key(&key) {
            if self.stacks.len() >= MOST_STACKS {
                self.stacks.clear();
            }
            self.stacks.insert(key, trace.frames(key).into_iter().map(procedure).collect());
        }
        let procedures = self.stacks.get(&key).map_or(&[][..], Vec::as_slice);
        self.log.stack(base, procedures)
    }

    fn begin_slice(
        &mut self,
        (time, tid): (u64, u32),
        name: String,
        threads: &PerfettoThreads,
    ) -> ImportResult<()> {
        if !self.know(threads, time, tid)? {
            return Ok(());
        }
        if !self.has_switches && !self.log.is_running(tid.into()) {
            self.log.switch_in(tid.into(), time, tid as u16)?;
        }
        let procedure = NamedProcedure { name, module: SLICES.to_owned(), ..NamedProcedure::default() };
        self.log.begin_slice(tid.into(), time, &procedure)
    }
}

/// Whether there is such a process.
pub(super) fn has_process(threads: &PerfettoThreads, name: &str) -> bool {
    threads.tids().any(|tid| is_named(&task(threads, tid), name))
}

/// Whether a task's process has this pid, program or file name of its program.
fn is_named(task: &NamedTask, name: &str) -> bool {
    let file = task.program.rsplit('/').next().unwrap_or_default();
    name == task.program || name == file || name.parse() == Ok(task.pid)
}

fn task(threads: &PerfettoThreads, tid: u32) -> NamedTask {
    let pid = threads.process_of(tid).unwrap_or(tid);
    let name = threads.name(tid).or_else(|| threads.name(pid)).unwrap_or_default().to_owned();
    let program = threads.process(pid).map(|process| process.program.clone()).unwrap_or_default();
    let program = if program.is_empty() { threads.name(pid).unwrap_or_default().to_owned() } else { program };
    NamedTask { pid, tid, name, program, ..NamedTask::default() }
}

fn procedure(frame: PerfettoFrame) -> NamedProcedure {
    let module = if frame.module.is_empty() { UNKNOWN_MODULE.to_owned() } else { frame.module };
    let PerfettoFrame { procedure, build_id, address, file, line, .. } = frame;
    NamedProcedure { name: procedure, module, build_id, address, file, line }
}

/// Why a thread left its processor, by the bits that the kernel's tracepoint reports.
fn blocking(state: u64) -> Blocking {
    const INTERRUPTIBLE: u64 = 1;
    const UNINTERRUPTIBLE: u64 = 2;
    const STOPPED: u64 = 4 | 8;
    const DEAD: u64 = 0x10 | 0x20;
    const IDLE: u64 = 0x80;
    match state {
        _ if state & DEAD != 0 => Blocking::Dead,
        _ if state & STOPPED != 0 => Blocking::Stopped,
        _ if state & (UNINTERRUPTIBLE | IDLE) != 0 => Blocking::Uninterruptible,
        _ if state & INTERRUPTIBLE != 0 => Blocking::Interruptible,
        _ => Blocking::Runnable,
    }
}
