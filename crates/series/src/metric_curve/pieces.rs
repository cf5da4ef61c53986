//! A series as pieces of constant value, and bins that they are added to.

use longpole_event::{SeriesKind, Time};

use super::MetricCurve;
use crate::{Series, Window};

/// A stretch in which a series has one value.
#[derive(Clone, Copy, Debug, PartialEq)]
struct ValuePiece {
    from: Time,
    to: Time,
    /// The gauge's value, or what came in the whole stretch.
    value: f64,
}

/// The piece that ends with the number at `index`, or of a gauge the one that begins with it.
///
/// What came at a moment is spread over the nanosecond before it.
fn piece(series: &Series, index: usize) -> Option<ValuePiece> {
    let (time, value) = series.values[index];
    let before = index.checked_sub(1).map(|before| series.values[before]);
    let since = |from: Time| if from < time { (from, time) } else { moment(time) };
    let ((from, to), value) = match series.samples {
        SeriesKind::Gauge => {
            let next = series.values.get(index + 1).map_or(NEVER, |next| next.0);
            ((time, series.end.map_or(next, |end| end.min(next))), value)
        }
        SeriesKind::Counter => {
            let (from, last) = before?;
            (since(from), if value < last { value } else { value - last })
        }
        SeriesKind::Amount => (before.map_or(moment(time), |(from, _)| since(from)), value),
    };
    (from < to).then_some(ValuePiece { from, to, value })
}

const NEVER: Time = Time::from_nanoseconds(u64::MAX);

/// The nanosecond before a time, at the begin of the run the first.
fn moment(time: Time) -> (Time, Time) {
    (time - 1, (time - 1) + 1)
}

/// The part of the window in which the series has values, if any.
pub(super) fn span(series: &Series, window: Window) -> Option<(Time, Time)> {
    let (first, last) = (series.values.first()?.0, series.values.last()?.0);
    let (from, to) = match series.samples {
        SeriesKind::Gauge => (first, series.end.unwrap_or(NEVER)),
        SeriesKind::Counter if series.values.len() < 2 => return None,
        SeriesKind::Counter if first == last => moment(first),
        // What came between two numbers of one time came in the nanosecond before it.
        SeriesKind::Counter if series.values[1].0 == first => (moment(first).0, last),
        SeriesKind::Counter => (first, last),
        SeriesKind::Amount => (moment(first).0, last.max(moment(first).1)),
    };
    let (from, to) = (from.max(window.from), to.min(window.to));
    (from < to).then_some((from, to))
}

/// The bins of a window.
#[derive(Debug)]
pub(super) struct WindowBins {
    window: Window,
    is_gauge: bool,
    edges: Vec<u64>,
    /// By bin: of gauges value × nanoseconds, of others what came.
    sums: Vec<f64>,
    /// Nanoseconds by bin at which there is a value.
    covered: Vec<u64>,
    total: f64,
    /// Where the last piece was.
    bin: usize,
}

impl WindowBins {
    pub(super) fn new(window: Window, is_gauge: bool) -> Self {
        WindowBins {
            edges: (0..=window.bins).map(|bin| window.edge(bin).nanoseconds()).collect(),
            sums: vec![0.0; window.bins],
            covered: vec![0; window.bins],
            total: 0.0,
            bin: 0,
            window,
            is_gauge,
        }
    }

    /// Adds what the series has from `from` to `to`, within the window, times the weight.
    pub(super) fn add(&mut self, series: &Series, (from, to): (Time, Time), weight: f64) {
        // A gauge's piece begins with its number, the others' end with it.
        let first = series.values.partition_point(|&(time, _)| time <= from).saturating_sub(1);
        for index in first..series.values.len() {
            if index > first && series.values[index - 1].0 > to {
                break;
            }
            if let Some(piece) = piece(series, index) {
                self.add_piece(piece, (from.max(piece.from), to.min(piece.to)), weight);
            }
        }
    }

    fn add_piece(&mut self, piece: ValuePiece, (from, to): (Time, Time), weight: f64) {
        if from >= to {
            return;
        }
        let (from, to) = (from.nanoseconds(), to.nanoseconds());
        let whole = piece.to.since(piece.from) as f64;
        let is_gauge = self.is_gauge;
        let sum = |nanoseconds: u64| {
            let share = if is_gauge { nanoseconds as f64 } else { nanoseconds as f64 / whole };
            piece.value * weight * share
        };
        self.total += sum(to - from);
        self.each_overlap(from, to, |bins, bin, nanoseconds| bins.sums[bin] += sum(nanoseconds));
    }

    /// Calls `each` with the bins that a stretch within the window overlaps, and by how much.
    fn each_overlap(&mut self, from: u64, to: u64, each: impl Fn(&mut Self, usize, u64)) {
        if from < self.edges[self.bin] || from >= self.edges[self.bin + 1] {
            // Mostly the next one; a bin that begins where it ends holds nothing.
            let is_next = self.bin + 2 < self.edges.len()
                && (self.edges[self.bin + 1]..self.edges[self.bin + 2]).contains(&from);
            self.bin =
                if is_next { self.bin + 1 } else { self.edges.partition_point(|&edge| edge <= from) - 1 };
        }
        let mut begin = from;
        loop {
            let end = to.min(self.edges[self.bin + 1]);
            each(self, self.bin, end - begin);
            if end == to {
                return;
            }
            begin = end;
            self.bin += 1;
        }
    }

    /// Marks where there are values: wherever any of the spans is.
    pub(super) fn cover(&mut self, mut spans: Vec<(Time, Time)>) {
        spans.sort_unstable();
        let mut reached = Time::ZERO;
        for (from, to) in spans {
            let from = from.max(reached);
            if from < to {
                self.each_overlap(from.nanoseconds(), to.nanoseconds(), |bins, bin, nanoseconds| {
                    bins.covered[bin] += nanoseconds;
                });
                reached = to;
            }
        }
    }

    pub(super) fn into_course(self) -> MetricCurve {
        let value = |bin: usize| {
            let (covered, length) = (self.covered[bin], self.edges[bin + 1] - self.edges[bin]);
            match (covered, self.is_gauge) {
                (0, _) => f64::NAN,
                (_, true) => self.sums[bin] / covered as f64,
                (_, false) => self.sums[bin] / (length as f64 / 1e9),
            }
        };
        MetricCurve {
            values: (0..self.window.bins).map(value).collect(),
            window: self.window,
            total: if self.is_gauge { self.total / 1e9 } else { self.total },
            covered_seconds: self.covered.iter().sum::<u64>() as f64 / 1e9,
            is_gauge: self.is_gauge,
        }
    }
}
