//! What curves show: metrics of the registry that have a value at each time.

use longpole_metrics::registry::{self, MetricDefinition, blocked_metric};
use longpole_trace::{Cause, State};

use crate::code::StateSet;
use crate::error::{Error, Result};

/// A metric that has a curve, and how it comes about.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Quantity {
    pub metric: &'static MetricDefinition,
    pub measure: BinMeasure,
}

/// What is summed up in a bin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BinMeasure {
    /// U: time in which each thread is busy.
    Effective,
    /// N: time in which each thread could run.
    Nominal,
    /// Time in these states.
    Time(StateSet),
    /// Time blocked, whatever for; of an object, time in which a thread waits for it in any way.
    Wait,
    /// Normalised processor time.
    Npt,
    /// Useful work on the critical path by CPU time.
    Path,
}

const PLAIN: &[&str] = &[
    "effective_parallelism",
    "nominal_parallelism",
    "cpu_seconds",
    "running_seconds",
    "spin_seconds",
    "overhead_seconds",
    "ready_seconds",
    "wait_seconds",
    "synchronisation_wait_seconds",
    "npt_seconds",
    "critical_path_seconds",
];

impl Quantity {
    /// The quantity of this name.
    ///
    /// # Errors
    /// [`Error::UnknownMetric`].
    pub fn named(name: &str) -> Result<Quantity> {
        let unknown = || Error::UnknownMetric { name: name.to_owned(), known: known().join(", ") };
        let (key, measure) = match cause(name) {
            Some(cause) => {
                let is = |state| state == State::Blocked(cause);
                (blocked_metric(cause), BinMeasure::Time(StateSet::those(is)))
            }
            None => (name.to_owned(), measure(name).ok_or_else(unknown)?),
        };
        let metric = registry::metric(&key).ok_or_else(unknown)?;
        Ok(Quantity { metric, measure })
    }
}

fn measure(name: &str) -> Option<BinMeasure> {
    let time = |is: fn(State) -> bool| BinMeasure::Time(StateSet::those(is));
    Some(match name {
        "effective_parallelism" => BinMeasure::Effective,
        "nominal_parallelism" => BinMeasure::Nominal,
        "cpu_seconds" => time(|state| matches!(state, State::Running | State::Spinning)),
        "running_seconds" => time(|state| state == State::Running),
        "spin_seconds" => time(|state| state == State::Spinning),
        "overhead_seconds" => time(|state| state == State::Overhead),
        "ready_seconds" => time(|state| state == State::Ready),
        "wait_seconds" => BinMeasure::Wait,
        "synchronisation_wait_seconds" => {
            time(|state| matches!(state, State::Blocked(cause) if cause.is_synchronisation()))
        }
        "npt_seconds" => BinMeasure::Npt,
        "critical_path_seconds" => BinMeasure::Path,
        _ => return None,
    })
}

/// The cause whose waits have this name: `blocked_CAUSE_seconds`, or `CAUSE_wait_seconds`.
fn cause(name: &str) -> Option<Cause> {
    let other = |cause: Cause| format!("{}_wait_seconds", cause.name().replace(' ', "_"));
    Cause::ALL.iter().copied().find(|&cause| name == blocked_metric(cause) || name == other(cause))
}

/// Names of the metrics that have curves.
fn known() -> Vec<String> {
    let blocked = Cause::ALL.iter().map(|&cause| blocked_metric(cause));
    PLAIN.iter().map(|&name| name.to_owned()).chain(blocked).collect()
}

/// The metrics that have curves.
#[must_use]
pub fn curve_metrics() -> Vec<&'static MetricDefinition> {
    known().iter().filter_map(|name| registry::metric(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_metric_that_has_a_curve_is_in_the_registry() {
        assert_eq!(curve_metrics().len(), PLAIN.len() + Cause::ALL.len());
        for name in known() {
            assert_eq!(Quantity::named(&name).unwrap().metric.name, name);
        }
    }

    #[test]
    fn waits_of_one_cause_have_two_names() {
        let lock = Quantity::named("lock_wait_seconds").unwrap();
        assert_eq!(lock.metric.name, "blocked_lock_seconds");
        assert_eq!(lock.measure, Quantity::named("blocked_lock_seconds").unwrap().measure);
        let child = Quantity::named("child_process_wait_seconds").unwrap();
        assert_eq!(child.metric.name, "blocked_child_process_seconds");
    }

    #[test]
    fn a_metric_without_a_curve_is_refused_with_those_that_have_one() {
        let error = Quantity::named("slack_seconds").unwrap_err().to_string();
        assert!(error.starts_with("draw a curve of `slack_seconds`: there are curves of effective_par"));
    }
}
