//! The time while the program runs: what was read from the buffers is sorted and assembled, signals are passed on.

use std::time::Duration;

use longpole_event::Time;
use longpole_recording::{ClockReading, CollectorDescription};

use crate::agent::Interpreter;
use crate::assembler::{Assembled, Assembler};
use crate::clock::now;
use crate::clock_readings::ClockReadings;
use crate::collector::Collector;
use crate::error::{Error, Result, describe};
use crate::going_on::GoingOn;
use crate::launch::{ExitStatus, Running};
use crate::lock_owners::BETWEEN_LOOKS;
use crate::naming::FramesToName;
use crate::raw::{RawEvent, RawKind};
use crate::reading::{DrainedBatch, ROUND, ReadingThread};
use crate::session::Progress;
use crate::signals::{HeldSignals, SNAPSHOT_SIGNAL};
use crate::snapshots::Snapshots;
use crate::sorter::Sorter;
use crate::started_program::StartedProgram;
use crate::wait::{PollSource, Waiter, Woken};

/// Time after which what was recorded is in the file, so that it survives a kill of the recorder.
const FLUSH_NANOSECONDS: u64 = 900_000_000;
/// What was read so long ago is not compared with the program as it is now.
const LATE_NANOSECONDS: u64 = 100_000_000;
const PROGRESS_NANOSECONDS: u64 = 250_000_000;

/// What is known when collecting begins.
pub(crate) struct Started {
    /// Beginning of the run.
    pub(crate) begin: Time,
    /// The program, where we started it.
    pub(crate) program: Option<StartedProgram>,
    /// Tids that were there before the recording.
    pub(crate) attached: Vec<u32>,
    /// Copies of the last part of the run, where only that is kept.
    pub(crate) snapshots: Option<Snapshots>,
}

/// What is known when it is over.
pub(crate) struct EndedRun {
    pub(crate) end: Time,
    pub(crate) status: Option<ExitStatus>,
    pub(crate) truncated: bool,
    /// Processes of the program go on.
    pub(crate) outlived: bool,
    pub(crate) notes: Vec<String>,
    pub(crate) frames: FramesToName,
    pub(crate) assembled: Assembled,
    /// The collector, stopped.
    pub(crate) collector: Box<dyn Collector>,
    /// The program that we started and that goes on.
    pub(crate) going_on: Option<GoingOn>,
    /// What the machine's clocks said.
    pub(crate) clock_readings: Vec<ClockReading>,
}

/// A recording in progress.
pub(crate) struct RecordingRun {
    reading: ReadingThread,
    interpreter: Option<Interpreter>,
    assembler: Assembler,
    sorter: Sorter,
    child: Running,
    started: Started,
    signals: HeldSignals,
    waiter: Waiter,
    ready: Vec<RawEvent>,
    /// When tasks that were there before stopped being announced.
    attached_until: Time,
    last_flush: Time,
    last_look: Time,
    last_progress: Time,
    end: Option<Time>,
    /// The recording ends before the program.
    truncated: bool,
    /// The program that we started goes on.
    goes_on: bool,
    /// Why nothing more could be written or read.
    failure: Option<String>,
    notes: Vec<String>,
    clock_readings: ClockReadings,
}

impl RecordingRun {
    pub(crate) fn new(
        collector: Box<dyn Collector>,
        interpreter: Option<Interpreter>,
        assembler: Assembler,
        child: Running,
        started: Started,
    ) -> Result<RecordingRun> {
        let waiting = Error::system("wait for the program");
        let prepare = || {
            let signals = HeldSignals::hold(started.snapshots.is_some())?;
            let waiter = Waiter::new()?;
            waiter.add(child.descriptor(), PollSource::Program)?;
            waiter.add(signals.descriptor(), PollSource::Signal)?;
            // Signals are held back by now: the thread gets none.
            let reading = ReadingThread::start(collector)?;
            waiter.add(reading.descriptor(), PollSource::Batch)?;
            Ok((signals, waiter, reading))
        };
        let (signals, waiter, reading) = prepare().map_err(waiting)?;
        let time = now();
        Ok(RecordingRun {
            reading,
            interpreter,
            assembler,
            sorter: Sorter::default(),
            child,
            started,
            signals,
            waiter,
            ready: Vec::new(),
            attached_until: time,
            last_flush: time,
            last_look: time,
            last_progress: time,
            end: None,
            truncated: false,
            goes_on: false,
            failure: None,
            notes: Vec::new(),
            clock_readings: ClockReadings::default(),
        })
    }

    /// Records until the program ends, `duration` is over, nothing more can be written, or, when attached, a signal
    /// comes. Where the recording ends earlier than the program, the program goes on.
    pub(crate) fn until_end(
        &mut self,
        duration: Option<Duration>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<()> {
        let deadline = duration
            .map(|duration| self.started.begin + u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX));
        let mut has_more = false;
        loop {
            let time = now();
            self.clock_readings.look(time);
            let round = if has_more { Duration::ZERO } else { ROUND };
            let left = deadline.map_or(round, |deadline| {
                round.min(Duration::from_nanos(deadline.since(time)) + Duration::from_millis(1))
            });
            let woken = self.waiter.wait(left).map_err(Error::system("wait for the program"))?;
            let stop = self.handle_signals(woken);
            has_more = self.round();
            self.show_snapshots(progress);
            self.report(progress);
            let is_over = deadline.is_some_and(|deadline| now() >= deadline);
            if woken.program_ended {
                self.end.get_or_insert_with(now);
                return Ok(());
            }
            if stop || is_over || self.truncated {
                self.truncated |= self.is_launched();
                self.goes_on = self.is_launched();
                self.end.get_or_insert_with(now);
                return Ok(());
            }
        }
    }

    fn is_launched(&self) -> bool {
        self.started.program.is_some()
    }

    /// Passes signals on to a program that we started; any signal ends a recording that is attached.
    fn handle_signals(&mut self, woken: Woken) -> bool {
        if !woken.signalled {
            return false;
        }
        while let Some(signal) = self.signals.take() {
            if signal.number == SNAPSHOT_SIGNAL && self.started.snapshots.is_some() {
                self.take_snapshot();
                continue;
            }
            if !self.is_launched() {
                return true;
            }
            if !signal.from_terminal {
                self.child.signal(signal.number);
            }
        }
        false
    }

    /// Copies what is kept; names are looked up in a thread of their own.
    fn take_snapshot(&mut self) {
        let asked = now();
        self.reading.ask();
        while !self.truncated
            && let Some(batch) = self.reading.wait()
        {
            let is_new = batch.begun >= asked;
            self.write_down(batch, true);
            if is_new {
                break;
            }
        }
        if self.truncated {
            return;
        }
        if let Err(error) = self.assembler.close_segment() {
            self.give_up(describe(&error));
            return;
        }
        let frames = self.assembler.frames_to_name();
        if let Some(snapshots) = &mut self.started.snapshots {
            snapshots.take(self.started.begin, now(), frames);
        }
    }

    fn show_snapshots(&mut self, progress: &mut dyn FnMut(Progress)) {
        let snapshots = self.started.snapshots.as_mut();
        snapshots
            .into_iter()
            .flat_map(Snapshots::taken)
            .for_each(|taken| progress(Progress::Snapshot(taken)));
    }

    /// Writes down what was read by one look into the buffers; whether there is more.
    fn round(&mut self) -> bool {
        if self.truncated {
            return false;
        }
        let taken = self.reading.take();
        let has_more = taken.as_ref().is_some_and(|(_, has_more)| *has_more);
        if let Some((batch, _)) = taken {
            self.write_down(batch, has_more);
        }
        has_more
    }

    /// `is_late`: more was read meanwhile.
    fn write_down(&mut self, batch: DrainedBatch, is_late: bool) {
        let DrainedBatch { mut events, reached, begun: time, failure, .. } = batch;
        if let Some(error) = failure {
            self.give_up(format!("collecting failed: {error}"));
        }
        self.sorter.round(reached, &mut events, &mut self.ready);
        self.assemble();
        // Owners are read from the program as it is now: only while what is known of its waits is about as new.
        let is_late = is_late || now().since(time) > LATE_NANOSECONDS;
        if !is_late && time.since(self.last_look) >= BETWEEN_LOOKS {
            self.last_look = time;
            self.assembler.look_at_owners(now(), false);
        }
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
            if self.was_there(&event) {
                continue;
            }
            let mut event = event;
            let execution = self.started.program.as_mut().and_then(|program| program.look_at(&mut event));
            let mut told = execution.into_iter().chain([event]);
            if let Err(error) = told.try_for_each(|event| self.assembler.push(event)) {
                self.give_up(describe(&error));
                break;
            }
        }
    }

    /// A task that was found when we attached needs no announcement.
    fn was_there(&self, event: &RawEvent) -> bool {
        let RawKind::Fork { child, .. } = &event.kind else { return false };
        event.time < self.attached_until && self.started.attached.contains(&child.tid)
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
    pub(crate) fn close(mut self) -> EndedRun {
        let end = self.end.unwrap_or_else(now);
        let clock_readings = std::mem::take(&mut self.clock_readings).finish();
        self.reading.stop();
        if self.failure.is_none() {
            self.drain_the_rest();
            // What has ended meanwhile is not there to be looked at.
            self.assembler.look_at_owners(end, true);
        }
        let status = if self.is_launched() && !self.goes_on { self.child.wait().ok() } else { None };
        let others = self.assembler.living();
        if others > 0 && self.is_launched() && !self.truncated {
            self.notes.push(format!("{others} {}", CollectorDescription::OUTLIVED));
        }
        if let Some(snapshots) = self.started.snapshots.take() {
            self.notes.extend(snapshots.finish());
        }
        let outlived = others > 0 || self.truncated;
        let assembled = self.assembler.assembled();
        let frames = self.assembler.frames_to_name();
        if let Err(error) = self.assembler.finish() {
            self.truncated = true;
            self.failure.get_or_insert(describe(&error));
        }
        if let Some(failure) = self.failure {
            self.notes.push(format!("{}{failure}", CollectorDescription::FAILURE));
        }
        let RecordingRun { reading, child, signals, waiter, truncated, notes, .. } = self;
        let collector = reading.finish();
        let going_on = self.goes_on.then_some(GoingOn { child, signals, waiter });
        EndedRun {
            end,
            status,
            truncated,
            outlived,
            notes,
            frames,
            assembled,
            collector,
            going_on,
            clock_readings,
        }
    }

    fn drain_the_rest(&mut self) {
        while let Some(batch) = self.reading.wait() {
            let DrainedBatch { mut events, reached, failure, .. } = batch;
            if let Some(error) = failure {
                self.notes.push(format!("the last events could not be read: {error}"));
            }
            self.sorter.round(reached, &mut events, &mut self.ready);
            self.assemble();
        }
        self.sorter.finish(&mut self.ready);
        self.assemble();
        if let Some(mut interpreter) = self.interpreter.take() {
            let mut meant = Vec::new();
            interpreter.finish(now(), &mut |event| meant.push(event));
            self.push(&mut meant);
            self.notes.extend(interpreter.findings());
        }
    }
}
