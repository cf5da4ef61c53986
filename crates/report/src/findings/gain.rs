//! What a change would gain: a range, what no gain can exceed, and what no gain is promised below.

use longpole_metrics::{ExecutedGain, Gain, Node, ReplayedChange, ReplayedGain};

use super::RunFacts;
use super::threshold::{
    LEAST_GAIN, LOSSES_HIDE, MISSED, MODEL_ERROR, NEGLIGIBLE_LOW, SHORTEST_GAIN, UNEXPLAINED_SPINS,
};
use crate::input::ReportTables;
use crate::quantity::{percent, percent_text, time_text};

/// From the least to the most that the metrics predict, nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct GainRange {
    pub low: f64,
    pub high: f64,
}

/// What a thing gains on the processors that there are.
#[derive(Clone, Copy, Debug)]
pub(super) struct ExecutedChange {
    pub gain: ExecutedGain,
    /// By what part of its time the unchanged run is off.
    pub(super) off: f64,
    /// Busy-waits that nothing is known to have ended, as a part of the run, percent.
    pub unexplained: f64,
    /// Whether threads may have been told to end, or locks may change hands in another order.
    is_open: bool,
}

impl ExecutedChange {
    /// Whether the execution of the unchanged run is so far off that a small gain by it means nothing.
    pub(super) fn misses(&self) -> bool {
        100.0 * self.off >= MISSED
    }
}

/// What the thing gains where the run was executed anew.
pub(super) fn executed(input: &ReportTables<'_>, node: Node) -> Option<ExecutedChange> {
    let gain = *input.details.executions.as_ref()?.gains.get(&node)?;
    Some(ExecutedChange { gain, ..executed_run(input)? })
}

/// What the thing gains where the run was replayed.
pub(super) fn replayed(input: &ReportTables<'_>, node: Node) -> Option<ReplayedChange> {
    input.details.executions.as_ref()?.replayed.as_ref()?.gains.get(&node).copied()
}

/// What the critical path and other metrics of the recorded run say of the thing.
pub(super) fn prospect<'a>(input: &ReportTables<'a>, node: Node) -> Option<&'a Gain> {
    input.details.prospects.as_ref()?.gains.iter().find(|gain| gain.node == node)
}

/// How sure executions of this run are.
pub(super) fn executed_run(input: &ReportTables<'_>) -> Option<ExecutedChange> {
    let executions = input.details.executions.as_ref()?;
    let (off, unexplained) = (executions.error.abs(), 100.0 * executions.unexplained);
    let is_open = executions.may_be_stopped || executions.keeps_order || executions.keeps_step;
    Some(ExecutedChange { gain: ExecutedGain::default(), off, unexplained, is_open })
}

impl GainRange {
    /// The range of these predictions, widened by one standard error, which is a part of the run.
    pub(super) fn of(predictions: &[f64], error: f64, bounds: &GainBounds, limit: f64) -> GainRange {
        let low = predictions.iter().copied().fold(f64::INFINITY, f64::min) - error;
        let high = predictions.iter().copied().fold(0.0, f64::max) + error;
        let limit = limit.min(bounds.elapsed).max(0.0);
        let high = high.min(limit);
        GainRange { low: low.clamp(0.0, high), high }
    }

    /// What an execution of the changed run gains, give or take an error of sampling; nanoseconds.
    pub(super) fn around(gain: f64, error: f64, executed: &ExecutedChange, bounds: &GainBounds) -> GainRange {
        // What is missed may stay or go with the change. Where that is little, it is no more than the gain.
        let missed = executed.off * bounds.elapsed;
        let model = if executed.misses() { missed } else { missed.min(gain) }.max(MODEL_ERROR / 100.0 * gain);
        let error = error.hypot(model);
        GainRange { low: (gain - error).max(0.0), high: (gain + error).clamp(0.0, bounds.elapsed) }
    }

    /// What the replays of the changed run gain, give or take an error of sampling; nanoseconds.
    pub(super) fn replayed(gain: &ReplayedGain, error: f64, bounds: &GainBounds) -> GainRange {
        let low = gain.middle - (gain.middle - gain.low).hypot(error);
        let high = gain.middle + (gain.high - gain.middle).hypot(error);
        GainRange { low: low.max(0.0), high: high.clamp(0.0, bounds.elapsed) }
    }

    /// From the least to the most of both.
    pub(super) fn or(self, other: GainRange) -> GainRange {
        GainRange { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    /// Lower where busy-waits of unknown end may become longer, or things may happen in another order, so that the change gains as little
    /// as this.
    pub(super) fn or_at_least(self, least: f64, executed: &ExecutedChange) -> GainRange {
        let is_open = executed.unexplained > UNEXPLAINED_SPINS || executed.is_open;
        GainRange { low: if is_open { self.low.min(least.max(0.0)) } else { self.low }, ..self }
    }

    /// At most this much.
    pub(super) fn up_to(high: f64, bounds: &GainBounds) -> GainRange {
        GainRange { low: 0.0, high: high.min(bounds.elapsed).max(0.0) }
    }

    /// No more than this.
    pub(super) fn at_most(self, most: f64) -> GainRange {
        let high = self.high.min(most.max(0.0));
        GainRange { low: self.low.min(high), high }
    }

    /// No more than another change.
    pub(super) fn no_more_than(self, other: &GainRange) -> GainRange {
        GainRange { low: self.low.min(other.low), high: self.high.min(other.high) }
    }

    /// Of a change that leaves all work to be done, by the processors that there are.
    pub(super) fn with_all_work(self, bounds: &GainBounds) -> GainRange {
        self.with_work_less(0.0, bounds)
    }

    /// Of waits that end earlier, with all work to be done: no more than the time in which a processor had room for it.
    pub(super) fn of_shorter_waits(self, bounds: &GainBounds) -> GainRange {
        self.with_all_work(bounds).at_most(bounds.with_room)
    }

    /// Of a change that leaves all work to be done but this much, nanoseconds of CPU time.
    pub(super) fn with_work_less(self, less: f64, bounds: &GainBounds) -> GainRange {
        self.at_most(bounds.without(less))
    }

    /// The middle, nanoseconds: what changes are ranked by.
    pub(crate) fn middle(&self) -> f64 {
        (self.low + self.high) / 2.0
    }

    /// `0.69–0.91 s`, `up to 0.40 s`.
    pub(crate) fn text(&self) -> String {
        let [low, high] = [self.low, self.high].map(|time| time_text(time.round() as u64));
        if self.is_from_nothing() {
            return format!("up to {high}");
        }
        between(&low, &high)
    }

    /// `69–91 %` of the run.
    pub(crate) fn share_text(&self, elapsed: u64) -> String {
        let [low, high] = [self.low, self.high].map(|time| percent_text(percent(time, elapsed as f64)));
        if self.is_from_nothing() { high } else { between(&low, &high) }
    }

    fn is_from_nothing(&self) -> bool {
        self.low < NEGLIGIBLE_LOW / 100.0 * self.high
    }
}

/// Two quantities as one where they read the same, with one unit where they share it.
fn between(low: &str, high: &str) -> String {
    let unit = |text: &str| text.rsplit(' ').next().unwrap_or_default().to_owned();
    match low.rsplit_once(' ') {
        _ if low == high => high.to_owned(),
        Some((number, _)) if unit(low) == unit(high) => format!("{number}–{high}"),
        _ => format!("{low} – {high}"),
    }
}

/// What no gain exceeds, and what none is promised below.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GainBounds {
    /// Length of the run, nanoseconds.
    pub elapsed: f64,
    /// The critical path's CPU time.
    path: f64,
    /// Useful CPU time.
    cpu: f64,
    processors: f64,
    /// Time in which fewer threads could run than there are processors, or pins kept threads from these.
    with_room: f64,
    /// The run's own noise: smaller gains cannot be told from a repetition of the run; nanoseconds.
    pub noise: f64,
    /// What events were lost may change, nanoseconds: each ends one stay in a state and begins another, and both are wrong
    /// without it.
    lost: f64,
    /// Whether the division of CPU time among procedures is not reliable.
    is_in_step: bool,
}

impl GainBounds {
    pub(super) fn of(facts: &RunFacts) -> GainBounds {
        let elapsed = facts.elapsed as f64;
        GainBounds {
            elapsed,
            path: facts.path as f64,
            cpu: facts.cpu as f64,
            with_room: if facts.pinned.is_empty() { elapsed * facts.room_percent / 100.0 } else { elapsed },
            processors: if facts.cpus == 0 { f64::INFINITY } else { f64::from(facts.cpus) },
            noise: (LEAST_GAIN / 100.0 * elapsed).max(SHORTEST_GAIN),
            lost: 2.0 * facts.lost / 100.0 * elapsed,
            is_in_step: facts.is_in_step,
        }
    }

    /// What is gained at most when `less` of the useful CPU time is left out: the rest has to be done by the
    /// processors that there are.
    pub(super) fn without(&self, less: f64) -> f64 {
        (self.elapsed - (self.cpu - less).max(0.0) / self.processors).max(0.0)
    }

    /// What is gained at most when the critical path becomes `less` shorter: the rest of it takes its CPU time.
    pub(super) fn with_path_less(&self, less: f64) -> f64 {
        (self.elapsed - (self.path - less).max(0.0)).max(0.0)
    }

    /// What is gained at most when `work` that runs alone is divided among the processors that there are.
    pub(super) fn divided(&self, work: f64) -> f64 {
        work * (1.0 - 1.0 / self.processors.max(1.0))
    }

    /// The range as it may be promised: nothing below the run's noise, wider by twice the share of the events that were lost; `None` where
    /// not even its high end is above the noise, or so much was lost that any gain would be in the range. `is_divided`: it rests on the division of CPU time among procedures.
    pub(super) fn promised(&self, range: GainRange, is_divided: bool) -> Option<GainRange> {
        if range.high < self.noise || self.lost >= 2.0 * LOSSES_HIDE / 100.0 * self.elapsed {
            return None;
        }
        let low = range.low - self.lost;
        let is_nothing = low < self.noise || (is_divided && self.is_in_step);
        let high = (range.high + self.lost).min(self.elapsed);
        Some(GainRange { low: if is_nothing { 0.0 } else { low }, high })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: GainBounds = GainBounds {
        elapsed: 10e9,
        path: 7e9,
        cpu: 12e9,
        processors: 2.0,
        with_room: 10e9,
        noise: 0.2e9,
        lost: 0.0,
        is_in_step: false,
    };

    #[test]
    fn a_range_is_of_all_predictions_and_their_error() {
        let range = GainRange::of(&[3e9, 5e9], 0.5e9, &BOUNDS, 10e9);
        assert_eq!((range.low, range.high), (2.5e9, 5.5e9));
        assert_eq!(range.text(), "2.50–5.50 s");
        assert_eq!(range.share_text(10_000_000_000), "25–55 %");
    }

    #[test]
    fn nothing_gains_more_than_the_processors_leave() {
        // 12 s of work on two processors take 6 s; without 4 s of it 4 s.
        assert_eq!(BOUNDS.without(0.0), 4e9);
        assert_eq!(BOUNDS.without(4e9), 6e9);
        assert_eq!(BOUNDS.divided(4e9), 2e9);
        let range = GainRange::of(&[3e9, 9e9], 0.0, &BOUNDS, BOUNDS.without(4e9));
        assert_eq!((range.low, range.high), (3e9, 6e9));
        let range = GainRange { low: 5e9, high: 9e9 };
        assert_eq!(range.with_all_work(&BOUNDS), GainRange { low: 4e9, high: 4e9 });
        assert_eq!(range.of_shorter_waits(&BOUNDS), range.with_all_work(&BOUNDS));
        // Others took half of the processors while more threads could run than there are.
        let crowded = GainBounds { with_room: 1e9, ..BOUNDS };
        assert_eq!(range.of_shorter_waits(&crowded), GainRange { low: 1e9, high: 1e9 });
        assert_eq!(range.with_work_less(4e9, &BOUNDS), GainRange { low: 5e9, high: 6e9 });
    }

    #[test]
    fn what_is_left_of_the_critical_path_takes_its_time() {
        assert_eq!(BOUNDS.with_path_less(0.0), 3e9);
        assert_eq!(BOUNDS.with_path_less(2e9), 5e9);
        assert_eq!(BOUNDS.with_path_less(9e9), 10e9);
    }

    #[test]
    fn a_range_from_nothing_is_told_by_its_end() {
        assert_eq!(GainRange::up_to(0.4e9, &BOUNDS).text(), "up to 400 ms");
        assert_eq!(GainRange { low: 1e9, high: 1e9 }.text(), "1.00 s");
        assert_eq!(GainRange { low: 0.9e9, high: 1.2e9 }.text(), "900 ms – 1.20 s");
    }

    #[test]
    fn nothing_is_promised_below_the_noise_of_the_run() {
        let range = |low, high| GainRange { low, high };
        assert_eq!(BOUNDS.promised(range(0.1e9, 0.19e9), false), None);
        assert_eq!(BOUNDS.promised(range(0.1e9, 0.3e9), false), Some(range(0.0, 0.3e9)));
        assert_eq!(BOUNDS.promised(range(0.3e9, 0.4e9), false), Some(range(0.3e9, 0.4e9)));
        let in_step = GainBounds { is_in_step: true, ..BOUNDS };
        assert_eq!(in_step.promised(range(0.3e9, 0.4e9), true), Some(range(0.0, 0.4e9)));
        assert_eq!(in_step.promised(range(0.3e9, 0.4e9), false), Some(range(0.3e9, 0.4e9)));
        let lossy = GainBounds { lost: 1e9, ..BOUNDS };
        assert_eq!(lossy.promised(range(3e9, 9.5e9), false), Some(range(2e9, 10e9)));
        let hardly_seen = GainBounds { lost: 7e9, ..BOUNDS };
        assert_eq!(hardly_seen.promised(range(3e9, 9.5e9), false), None);
    }
}
