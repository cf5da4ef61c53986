//! What every collector offers to the session that drives it.

use std::io;
use std::os::fd::RawFd;
use std::time::Duration;

use longpole_event::Time;
use longpole_recording::SharedLineSamples;

use crate::raw::{KernelTask, RawEvent};

/// A source of events about a program that runs.
///
/// A collector is made before the program starts and sees everything of it from then on. Between two
/// calls it buffers; it never waits. While the program runs, a thread of its own drains it.
pub trait Collector: Send {
    /// Records this task, and whatever it creates, from now on.
    ///
    /// # Errors
    /// When there is no room for it.
    fn track(&mut self, task: KernelTask) -> io::Result<()>;

    /// Appends what arrived since the last call, in any order. Everything that happened before the call
    /// *before* this one began has been handed over when this call returns, but for what
    /// [`Collector::kept_back`] tells: that is what the sorter relies on. Losses are events too ([`crate::raw::RawKind::Lost`]).
    ///
    /// # Errors
    /// When the kernel refuses; the recording ends then.
    fn drain(&mut self, into: &mut Vec<RawEvent>) -> io::Result<()>;

    /// Where the last drain left events in the buffers, to bound the memory of the reader: the time up to
    /// which it came. The next drain should follow at once.
    fn behind(&self) -> Option<Time> {
        None
    }

    /// The time of the earliest event that the last drain kept back, because something of it is still to come. Earlier ones have
    /// been handed over.
    fn kept_back(&self) -> Option<Time> {
        None
    }

    /// The longest time between two drains, where buffers are small.
    fn round(&self) -> Option<Duration> {
        None
    }

    /// The program goes on after the recording.
    fn outlived(&mut self) {}

    /// Stops collecting; [`Collector::drain`] still hands over what was buffered.
    fn stop(&mut self);

    /// Descriptors that become readable when a buffer is close to full, for `poll`.
    fn alarms(&self) -> Vec<RawFd>;

    /// Time spent in and number of runs of kernel programs, where the kernel counts them.
    fn kernel_cost(&mut self) -> Option<KernelCost> {
        None
    }

    /// CPU time of the collector's own sampling threads, when it was stopped.
    fn sampler_cpu(&self) -> Option<Duration> {
        None
    }

    /// CPU time of another process that collects for this one, since it began to.
    fn privileged_cpu(&self) -> Duration {
        Duration::ZERO
    }

    /// What a reader of the results has to know about how this collector worked.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// Cache lines that threads were found to share, when the run has ended.
    fn shared_lines(&self) -> SharedLineSamples {
        SharedLineSamples::default()
    }

    /// What a reader has to know of this run, when it has ended.
    fn findings(&self) -> Vec<String> {
        Vec::new()
    }
}

/// What a collector's kernel programs cost.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct KernelCost {
    /// Nanoseconds.
    pub nanoseconds: u64,
    /// Runs.
    pub runs: u64,
}
