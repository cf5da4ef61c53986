//! Questions about what threads did when: frames, wakes, moments, curves. Times are seconds since the begin of the run.

use longpole_event::{ThreadId, Time};
use longpole_metrics::Weight;
use longpole_report::RecordingNames;
use longpole_timeline::{FrameWindow, ThreadMoment, TimelineFrame, Wakes};
use longpole_trace::Trace;

use crate::choice::DeviceWaits;
use crate::error::{Error, Result};
use crate::recording::Recording;

/// A time of the run.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Seconds(f64);

impl Seconds {
    /// So many seconds after its begin; `None` for what is no such time.
    #[must_use]
    pub fn new(seconds: f64) -> Option<Seconds> {
        (seconds.is_finite() && seconds >= 0.0).then_some(Seconds(seconds))
    }

    /// So many seconds after the run's begin.
    #[must_use]
    pub fn value(self) -> f64 {
        self.0
    }

    fn time(self) -> Time {
        // Times that are too large become the largest.
        Time::from_nanoseconds((self.0 * 1e9).round() as u64)
    }
}

/// A part of the time axis; the run's own ends where there are none.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TimeRange {
    /// Begin.
    pub from: Option<Seconds>,
    /// End.
    pub to: Option<Seconds>,
}

impl TimeRange {
    pub(crate) fn times(self, elapsed: u64) -> (Time, Time) {
        let end = Time::from_nanoseconds(elapsed);
        (self.from.map_or(Time::ZERO, Seconds::time), self.to.map_or(end, Seconds::time))
    }
}

/// What is asked of a window of the timeline.
#[derive(Clone, Copy, Debug)]
pub struct WindowQuestion {
    /// The window.
    pub stretch: TimeRange,
    /// Bins that it is cut into.
    pub bins: u32,
    /// The first thread, in the frame's order.
    pub first: usize,
    /// How many threads; `None`: all from the first on.
    pub count: Option<usize>,
    /// Which critical path.
    pub weight: Weight,
    /// What threads do that wait for devices or pages.
    pub io: DeviceWaits,
}

/// What is asked of a metric over time.
#[derive(Clone, Debug)]
pub struct CurveRequest {
    /// Name of the metric.
    pub metric: String,
    /// Of what: `program`, `machine:NAME`, `procedure:NAME` and so on.
    pub node: String,
    /// The window.
    pub stretch: TimeRange,
    /// Bins that it is cut into.
    pub bins: u32,
    /// What threads do that wait for devices or pages.
    pub io: DeviceWaits,
    /// Metrics defined for this question, each `NAME = FORMULA`.
    pub define: Vec<String>,
}

impl Recording {
    /// What every thread does in each bin of a window.
    ///
    /// # Errors
    /// All of [`Error`](crate::Error).
    pub fn frame(&self, question: &WindowQuestion) -> Result<TimelineFrame> {
        let &WindowQuestion { stretch, bins, first, count, weight, io } = question;
        let index = self.index(io.is_idle())?;
        let (from, to) = stretch.times(index.elapsed());
        Ok(index.frame(self.opened()?.program(), &FrameWindow { from, to, bins, first, count, weight }))
    }

    /// Who let whom go on.
    ///
    /// # Errors
    /// All of [`Error`](crate::Error).
    pub fn wakes(&self, stretch: TimeRange) -> Result<Wakes> {
        let index = self.index(false)?;
        let (from, to) = stretch.times(index.elapsed());
        Ok(index.wakes(from, to))
    }

    /// What a thread does at a time.
    ///
    /// # Errors
    /// [`Error::NoSuchMoment`](crate::Error::NoSuchMoment), and all others of [`Error`](crate::Error).
    pub fn moment(&self, thread: u32, time: Seconds) -> Result<ThreadMoment> {
        let (index, trace) = (self.index(false)?, self.opened()?);
        let moment = index.moment(&names(&trace), ThreadId(thread), time.time());
        moment.ok_or(Error::NoSuchMoment { thread, seconds: time.value() })
    }
}

/// What things of the recording are called.
pub(crate) fn names(trace: &Trace) -> RecordingNames<'_> {
    RecordingNames { program: trace.program(), paths: trace.paths(), objects: trace.objects() }
}
