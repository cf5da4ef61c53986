//! The time while the program runs: buffers are emptied, events sorted and assembled, signals passed on.

use std::time::Duration;

use longpole_event::Time;

use crate::agent::Interpreter;
use crate::assembler::{Assembled, Assembler};
use crate::clock::now;
use crate::collector::Collector;
use crate::error::{Error, Result};
use crate::launch::{ExitStatus, Running};
use crate::naming::FramesToName;
use crate::raw::{RawEvent, RawKind, RawStack};
use crate::session::Progress;
use crate::signals::HeldSignals;
use crate::sorter::Sorter;
use crate::wait::{Source, Waiter, Woken};

/// Time between two looks into the buffers.
const ROUND: Duration = Duration::from_millis(50);
/// Time after which what was recorded is in the file, so that it survives a kill of the recorder.
const FLUSH_NANOSECONDS: u64 = 900_000_000;
const PROGRESS_NANOSECONDS: u64 = 250_000_000;

/// What is known when collecting begins.
pub(crate) struct Started {
    /// Beginning of the run.
    pub(crate) begin: Time,
    /// The child whose stacks are our own until it executes the program.
    pub(crate) root: Option<u32>,
    /// Tids that were there before the recording.
    pub(crate) attached: Vec<u32>,
}

/// What is known when it is over.
pub(crate) struct Ended {
    pub(crate) end: Time,
    pub(crate) status: Option<ExitStatus>,
    pub(crate) truncated: bool,
    /// Processes of the program go on.
    pub(crate) outlived: bool,
    pub(crate) notes: Vec<String>,
    pub(crate) frames: FramesToName,
    pub(crate) assembled: Assembled,
}

/// A recording in progress.
pub(crate) struct Run<'a> {
    collector: &'a mut dyn Collector,
    interpreter: Option<Interpreter>,
    assembler: Assembler,
    sorter: Sorter,
    child: Running,
    started: Started,
    has_executed: bool,
    signals: HeldSignals,
    waiter: Waiter,
    batch: Vec<RawEvent>,
    ready: Vec<RawEvent>,
    /// When tasks that were there before stopped being announced.
    attached_until: Time,
    last_flush: Time,
    last_progress: Time,
    end: Option<Time>,
    /// The recording ends before the program.
    truncated: bool,
    /// Why nothing more could be written or read.
    failure: Option<String>,
    notes: Vec<String>,
}

impl<'a> Run<'a> {
    pub(crate) fn new(
        collector: &'a mut dyn Collector,
        interpreter: Option<Interpreter>,
        assembler: Assembler,
        child: Running,
        started: Started,
    ) -> Result<Run<'a>> {
        let waiting = Error::system("wait for the program");
        let prepare = || {
            let signals = HeldSignals::hold()?;
            let waiter = Waiter::new()?;
            for alarm in collector.alarms() {
                waiter.add(alarm, Source::Alarm)?;
            }
            waiter.add(child.descriptor(), Source::Program)?;
            waiter.add(signals.descriptor(), Source::Signal)?;
            Ok((signals, waiter))
        };
        let (signals, waiter) = prepare().map_err(waiting)?;
        let time = now();
        Ok(Run {
            collector,
            interpreter,
            assembler,
            sorter: Sorter::default(),
            child,
            started,
            has_executed: false,
            signals,
            waiter,
            batch: Vec::new(),
            ready: Vec::new(),
            attached_until: time,
            last_flush: time,
            last_progress: time,
            end: None,
            truncated: false,
            failure: None,
            notes: Vec::new(),
        })
    }

    /// Records until the program ends, `duration` is over, or, when attached, a signal comes. If the
    /// recording ends earlier than the program, waits for the program.
    pub(crate) fn until_end(
        &mut self,
        duration: Option<Duration>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<()> {
        let deadline = duration
            .map(|duration| self.started.begin + u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX));
        loop {
            let time = now();
            let usual = self.collector.round().unwrap_or(ROUND);
            let round = if self.collector.behind().is_some() { Duration::ZERO } else { usual };
            let left = deadline.map_or(round, |deadline| {
                round.min(Duration::from_nanos(deadline.since(time)) + Duration::from_millis(1))
            });
            let woken = self.waiter.wait(left).map_err(Error::system("wait for the program"))?;
            let stop = self.handle_signals(woken);
            self.round();
            self.report(progress);
            let is_over = deadline.is_some_and(|deadline| now() >= deadline);
            if woken.program_ended {
                self.end.get_or_insert_with(now);
                return Ok(());
            }
            if stop || is_over || self.truncated {
                self.truncated |= self.is_launched();
                self.end.get_or_insert_with(now);
                return self.wait_for_program();
            }
        }
    }

    fn is_launched(&self) -> bool {
        self.started.root.is_some()
    }

    /// Passes signals on to a program that we started; any signal ends a recording that is attached.
    fn handle_signals(&self, woken: Woken) -> bool {
        if !woken.signalled {
            return false;
        }
        while let Some(signal) = self.signals.take() {
            if !self.is_launched() {
                return true;
            }
            if !signal.from_terminal {
                self.child.signal(signal.number);
            }
        }
        false
    }

    /// After an early end: the collector is stopped, the program goes on.
    fn wait_for_program(&mut self) -> Result<()> {
        self.collector.stop();
        while self.is_launched() {
            let woken =
                self.waiter.wait(Duration::from_secs(1)).map_err(Error::system("wait for the program"))?;
            self.handle_signals(woken);
            if woken.program_ended {
                break;
            }
        }
        Ok(())
    }

    fn round(&mut self) {
        if self.truncated {
            return;
        }
        let time = now();
        if let Err(error) = self.collector.drain(&mut self.batch) {
            self.give_up(format!("collecting failed: {error}"));
        }
        let reached = self.collector.behind().map_or(time, |behind| behind.min(time));
        self.sorter.round(reached, &mut self.batch, &mut self.ready);
        self.assemble();
        if time.since(self.last_flush) >= FLUSH_NANOSECONDS {
            self.last_flush = time;
            if let Err(error) = self.assembler.flush() {
                self.give_up(describe(&error));
            }
        }
    }

    fn assemble(&mut self) {
        let mut ready = std::mem::take(&mut self.ready);
        if let Some(interpreter) = &mut self.interpreter {
            let mut meant = Vec::with_capacity(ready.len());
            for event in ready.drain(..) {
                interpreter.take(event, &mut |event| meant.push(event));
            }
            ready = meant;
        }
        self.push(&mut ready);
        self.ready = ready;
    }

    fn push(&mut self, ready: &mut Vec<RawEvent>) {
        for event in ready.drain(..) {
            let Some(event) = self.own_events_removed(event) else { continue };
            if let Err(error) = self.assembler.push(event) {
                self.give_up(describe(&error));
                break;
            }
        }
    }

    /// The child's stacks before it executes the program are the recorder's own, and a task that was found
    /// when we attached needs no announcement.
    fn own_events_removed(&mut self, mut event: RawEvent) -> Option<RawEvent> {
        if let Some(root) = self.started.root
            && !self.has_executed
        {
            match &mut event.kind {
                RawKind::Exec { task, .. } if task.tid == root => self.has_executed = true,
                RawKind::Switch { stack, call, .. } | RawKind::Wake { stack, call, .. } => {
                    *stack = RawStack::None;
                    *call = None;
                }
                RawKind::Sample { stack, .. } => *stack = RawStack::None,
                _ => {}
            }
        }
        if let RawKind::Fork { child, .. } = &event.kind
            && event.time < self.attached_until
            && self.started.attached.contains(&child.tid)
        {
            return None;
        }
        Some(event)
    }

    fn give_up(&mut self, reason: String) {
        self.truncated = true;
        self.end.get_or_insert_with(now);
        self.failure.get_or_insert(reason);
    }

    fn report(&mut self, progress: &mut dyn FnMut(Progress)) {
        let time = now();
        if time.since(self.last_progress) < PROGRESS_NANOSECONDS {
            return;
        }
        self.last_progress = time;
        progress(Progress::Recording {
            elapsed: Duration::from_nanos(time.since(self.started.begin)),
            assembled: self.assembler.assembled(),
            bytes: self.assembler.written_bytes(),
        });
    }

    /// Reads what is left in the buffers and ends the log.
    pub(crate) fn close(mut self) -> Ended {
        let end = self.end.unwrap_or_else(now);
        self.collector.stop();
        if self.failure.is_none() {
            self.drain_the_rest();
        }
        let status = self.status();
        let others = self.assembler.living();
        if others > 0 && self.is_launched() && !self.truncated {
            self.notes.push(format!("{others} tasks of the program were still there when it ended"));
        }
        let outlived = others > 0 || self.truncated;
        let assembled = self.assembler.assembled();
        let frames = self.assembler.frames_to_name();
        if let Err(error) = self.assembler.finish() {
            self.truncated = true;
            self.failure.get_or_insert(describe(&error));
        }
        if let Some(failure) = self.failure {
            self.notes.push(format!("the recording ends before the program: {failure}"));
        }
        Ended { end, status, truncated: self.truncated, outlived, notes: self.notes, frames, assembled }
    }

    fn drain_the_rest(&mut self) {
        loop {
            if let Err(error) = self.collector.drain(&mut self.batch) {
                self.notes.push(format!("the last events could not be read: {error}"));
                break;
            }
            let Some(behind) = self.collector.behind() else { break };
            self.sorter.round(behind, &mut self.batch, &mut self.ready);
            self.assemble();
        }
        self.sorter.round(now(), &mut self.batch, &mut self.ready);
        self.sorter.finish(&mut self.ready);
        self.assemble();
        if let Some(mut interpreter) = self.interpreter.take() {
            let mut meant = Vec::new();
            interpreter.finish(now(), &mut |event| meant.push(event));
            self.push(&mut meant);
            self.notes.extend(interpreter.findings());
        }
    }

    fn status(&mut self) -> Option<ExitStatus> {
        if self.is_launched() { self.child.wait().ok() } else { None }
    }
}

pub(crate) fn describe(error: &longpole_recording::Error) -> String {
    match std::error::Error::source(error) {
        Some(source) => format!("failed to {error}: {source}"),
        None => format!("failed to {error}"),
    }
}
