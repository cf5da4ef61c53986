//! A series that is written where it changes.
//!
//! Looking often costs little, writing all that was seen would cost the recording its size. Nothing is lost by leaving
//! out what did not change, if a counter's step stands between the two looks that it lies between:
//!
//! ```text
//! looks     0   1   2   3   4   5
//! seen      7   7   7   9   9   9
//! written   7       7   9       9     the look before a change, the change, the last look
//! ```

use longpole_event::{SeriesKind, SeriesNode, Time};

use crate::known::KnownMetric;
use crate::sink::{Handle, SeriesKey, Sink};

/// When a look is, and when the one before it was.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PollTime {
    /// This look.
    pub(crate) now: Time,
    /// The look before it; `None` for the first.
    pub(crate) before: Option<Time>,
    /// It is the last look: everything is written.
    pub(crate) is_last: bool,
}

/// What a track is of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TrackSubject<'a> {
    pub(crate) known: &'static KnownMetric,
    pub(crate) node: SeriesNode,
    pub(crate) label: &'a str,
}

/// What was seen and written of one series.
#[derive(Debug, Default)]
pub(crate) struct Track {
    handle: Option<Handle>,
    /// Too many series: it is not asked for again.
    is_refused: bool,
    /// The value seen last, and when it was written last.
    seen: Option<(f64, Time)>,
}

impl Track {
    /// A counter that was 0 at `time`, when its node began. It is not written until it moves.
    pub(crate) fn from_zero(time: Time) -> Track {
        Track { seen: Some((0.0, time)), ..Track::default() }
    }

    /// Takes the value seen at this look.
    pub(crate) fn put(&mut self, of: TrackSubject<'_>, look: PollTime, value: f64, sink: &mut Sink<'_>) {
        let Some((old, written)) = self.seen else {
            self.seen = Some((value, look.now));
            return self.write(of, look.now, value, sink);
        };
        let is_changed = value != old;
        if !is_changed && !look.is_last {
            return;
        }
        // Nothing was ever written of a counter that began at zero and did not move.
        if self.handle.is_none() && !is_changed {
            return;
        }
        if is_changed && of.known.samples == SeriesKind::Counter {
            if self.handle.is_none() {
                self.write(of, written, old, sink);
            }
            if let Some(before) = look.before.filter(|&before| before > written) {
                self.write(of, before, old, sink);
            }
        }
        if look.now > written || is_changed {
            self.write(of, look.now, value, sink);
        }
        self.seen = Some((value, look.now));
    }

    /// The node has ended: what was seen last is written at the time of that look.
    pub(crate) fn end(&mut self, of: TrackSubject<'_>, last_look: Option<Time>, sink: &mut Sink<'_>) {
        let (Some((value, written)), Some(last)) = (self.seen, last_look) else { return };
        if self.handle.is_some() && last > written {
            self.write(of, last, value, sink);
        }
    }

    fn write(&mut self, of: TrackSubject<'_>, time: Time, value: f64, sink: &mut Sink<'_>) {
        if self.handle.is_none() && !self.is_refused {
            let KnownMetric { name, unit, samples, .. } = *of.known;
            self.handle =
                sink.open(&SeriesKey { metric: name, unit, samples, node: of.node, label: of.label });
            self.is_refused = self.handle.is_none();
        }
        if let Some(handle) = self.handle {
            sink.put_to(handle, time, value);
        }
    }
}
