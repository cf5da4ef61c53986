//! What samples show of running threads, by their registers and the code where they are found: busy-waits, and lines that they share.

use longpole_event::Time;
use longpole_recording::SharedLineSamples;

use super::busy_waits::BusyWaits;
use super::sampled_code::SampledCode;
use super::shared_lines::LineWatch;
use super::wire::{ThreadRegisters, WatchedStore};
use crate::raw::{RawEvent, RawKind};

/// Hands each sample to those that look at it.
#[derive(Debug)]
pub(super) struct SampledThreads {
    /// Of the thread that the next sample is of.
    registers: Option<ThreadRegisters>,
    code: SampledCode,
    busy_waits: BusyWaits,
    shared_lines: LineWatch,
}

impl SampledThreads {
    /// With timers of this rate.
    pub(super) fn new(busy_waits: BusyWaits, hertz: u32) -> SampledThreads {
        let shared_lines = LineWatch::new(hertz);
        SampledThreads { registers: None, code: SampledCode::default(), busy_waits, shared_lines }
    }

    /// The registers of the thread that the next sample is of.
    pub(super) fn keep(&mut self, registers: ThreadRegisters) {
        self.registers = Some(registers);
    }

    /// Looks at an event before it is handed over, and tells what it shows.
    pub(super) fn see(&mut self, event: &RawEvent, into: &mut Vec<RawEvent>) {
        let mut found = None;
        if let RawKind::Sample { task, kernel, .. } = &event.kind {
            self.shared_lines.count();
            let of_it = |of: &ThreadRegisters| !kernel && of.time == event.time && of.task == *task;
            if let Some(of) = self.registers.take().filter(of_it)
                && let Some(place) = self.code.place(task.pid, of.ip)
            {
                self.shared_lines.see(&of, event.cpu, place);
                found = Some((of, place));
            }
        }
        self.busy_waits.see(event, found.as_ref().map(|(of, place)| (of, *place)), into);
        let ended = match &event.kind {
            RawKind::Exit { task } if task.tid == task.pid => Some(task.pid),
            RawKind::Exec { task, .. } => Some(task.pid),
            _ => None,
        };
        if let Some(pid) = ended {
            self.code.forget(pid);
            self.shared_lines.end_process(pid);
        }
    }

    /// A thread wrote a watched word.
    pub(super) fn store(&mut self, store: WatchedStore, into: &mut Vec<RawEvent>) {
        self.busy_waits.store(store, into);
    }

    /// Everything up to now was looked at.
    pub(super) fn end_round(&mut self, time: Time) {
        self.code.end_round();
        self.busy_waits.end_round(time);
    }

    /// The time of the earliest sample after which something may still be told.
    pub(super) fn kept_back(&self) -> Option<Time> {
        self.busy_waits.kept_back()
    }

    /// Nothing is watched any more.
    pub(super) fn stop(&mut self) {
        self.busy_waits.stop();
    }

    /// The lines that threads shared.
    pub(super) fn shared_lines(&self) -> SharedLineSamples {
        self.shared_lines.told()
    }
}
