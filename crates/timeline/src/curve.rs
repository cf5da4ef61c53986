//! Curves: any metric that has a value at each time, of any node, by bins (metrics.md §8; I §2.1).
//!
//! ```text
//!   T1  AAAAllAA        cpu_seconds of T1 in four bins:    1  1  0  1
//!   T2  BBBB~~BB        cpu_seconds of the program:        2  2  1  2
//! ```
//! A value is what the metric came to in the bin, divided by the bin's length: a mean number of threads. So the values
//! of the whole run, each times the length of its bin, add up to what the tables say.
//!
//! Time: of threads, per thread and bin the states in it or the search of a sum; of a procedure, constant per state and
//! observation of every thread in the window, shared between the processors; of normalised processor time a sort more.

use longpole_event::{ThreadId, Time};
use longpole_report::RecordingNames;
use longpole_trace::State;

use crate::bins::TimeBins;
use crate::code::{StateSet, state};
use crate::error::{Error, Result};
use crate::index::Index;
use crate::node::CurveNode;
use crate::quantity::{BinMeasure, Quantity};

mod interval_edges;
mod of_program;
mod parts;
mod sums;

pub use of_program::{ProgramCurves, program_curves};
use sums::BinSums;

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub struct CurveQuestion<'a> {
    /// Name of a metric: one of [`curve_metrics`](crate::curve_metrics).
    pub metric: &'a str,
    /// Of what.
    pub node: &'a CurveNode,
    /// Begin of the window.
    pub from: Time,
    /// Its end; `None`, or later than the run: the end of the run.
    pub to: Option<Time>,
    /// Bins: at least one, at most 20,000.
    pub bins: u32,
}

impl Index {
    /// What a metric of a node came to in each bin, per second of the bin.
    ///
    /// # Errors
    /// [`Error::UnknownMetric`]; [`Error::NotOfNode`] for parallelism of anything but threads, and for what objects
    /// do not have.
    pub fn curve(&self, names: &RecordingNames<'_>, question: &CurveQuestion<'_>) -> Result<Vec<f64>> {
        let quantity = Quantity::named(question.metric)?;
        let end = Time::from_nanoseconds(self.elapsed());
        let bins = TimeBins::new(question.from, question.to.unwrap_or(end), question.bins, self.elapsed());
        Ok(self.sums(names, &quantity, question.node, &bins)?.into_values())
    }

    /// The nanoseconds in each bin.
    fn sums<'a>(
        &self,
        names: &RecordingNames<'_>,
        quantity: &Quantity,
        node: &CurveNode,
        bins: &'a TimeBins,
    ) -> Result<BinSums<'a>> {
        let refuse = |of| {
            let (metric, node) = (quantity.metric.name.to_owned(), node.kind().to_owned());
            Err(Error::NotOfNode { metric, node, of })
        };
        let of_threads = |threads: &[ThreadId], states| Ok(self.time_of_threads(threads, states, bins));
        let blocked = StateSet::those(|state| matches!(state, State::Blocked(_)));
        let busy = StateSet::those(|state| state.is_busy(self.io_idle));
        let is_all = |threads: &[ThreadId]| threads.len() == self.lanes.len();
        let all = || (0..self.lanes.len()).map(ThreadId::from_index).collect::<Vec<_>>();
        match (node, quantity.measure) {
            (CurveNode::Program, BinMeasure::Npt) => Ok(self.busy_time(bins)),
            (CurveNode::Threads(threads), BinMeasure::Npt) if is_all(threads) => Ok(self.busy_time(bins)),
            (CurveNode::Program, BinMeasure::Path) => Ok(self.path_of_threads(&all(), bins)),
            (CurveNode::Threads(threads), BinMeasure::Npt) => Ok(self.npt_of_threads(threads, busy, bins)),
            (CurveNode::Threads(threads), BinMeasure::Path) => Ok(self.path_of_threads(threads, bins)),
            (CurveNode::Program | CurveNode::Threads(_), measure) => {
                let program;
                let threads = match node {
                    CurveNode::Threads(threads) => threads,
                    _ => {
                        program = all();
                        &program
                    }
                };
                match measure {
                    BinMeasure::Effective => of_threads(threads, busy),
                    BinMeasure::Nominal => of_threads(threads, StateSet::those(State::is_runnable)),
                    BinMeasure::Time(states) => of_threads(threads, states),
                    _ => of_threads(threads, blocked),
                }
            }
            (CurveNode::Paths(_) | CurveNode::Objects(_), BinMeasure::Effective | BinMeasure::Nominal) => {
                refuse("threads")
            }
            (CurveNode::Paths(paths), BinMeasure::Npt) => Ok(self.npt_of_paths(names, (paths, busy), bins)),
            (CurveNode::Paths(paths), BinMeasure::Path) => Ok(self.path_of_paths(names, paths, bins)),
            (CurveNode::Paths(paths), BinMeasure::Time(states)) => {
                Ok(self.time_of_paths(names, (paths, states), bins))
            }
            (CurveNode::Paths(paths), BinMeasure::Wait) => {
                Ok(self.time_of_paths(names, (paths, blocked), bins))
            }
            (CurveNode::Objects(objects), BinMeasure::Wait) => {
                let waiting = StateSet::those(|state| !matches!(state, State::Running | State::Absent));
                Ok(self.time_of_objects((objects, waiting), bins))
            }
            (CurveNode::Objects(objects), BinMeasure::Time(states)) => {
                Ok(self.time_of_objects((objects, states), bins))
            }
            (CurveNode::Objects(_), BinMeasure::Npt | BinMeasure::Path) => {
                refuse("threads, procedures and lines")
            }
        }
    }
}

/// Whether time in the state of this number is work.
fn is_running(code: usize) -> bool {
    state(code) == State::Running
}

#[cfg(test)]
mod tests {
    use longpole_metrics::{MetricOptions, analyse};
    use longpole_testkit::draw;

    use super::*;

    fn curve(text: &str, metric: &str, node: &str, bins: u32) -> Result<Vec<f64>> {
        let made = draw(text);
        let Ok(analysis) = analyse(&made, &MetricOptions::default());
        let Ok(index) = Index::of(&made, &MetricOptions::default(), &analysis);
        let names = RecordingNames { program: &made.program, paths: &made.paths, objects: &made.objects };
        let node = &CurveNode::named(&names, node)?;
        index.curve(&names, &CurveQuestion { metric, node, from: Time::ZERO, to: None, bins })
    }

    fn values(text: &str, metric: &str, node: &str, bins: u32) -> Vec<f64> {
        curve(text, metric, node, bins).unwrap()
    }

    const BOTH: &str = "T1 AAAAllAA\nT2 BBBB~~BB";

    #[test]
    fn a_value_is_a_mean_number_of_threads() {
        assert_eq!(values(BOTH, "cpu_seconds", "thread:T1", 4), [1.0, 1.0, 0.0, 1.0]);
        assert_eq!(values(BOTH, "cpu_seconds", "program", 4), [2.0, 2.0, 1.0, 2.0]);
        assert_eq!(values(BOTH, "effective_parallelism", "program", 2), [2.0, 1.0]);
        assert_eq!(values(BOTH, "npt_seconds", "procedure:A", 2), [0.5, 0.25]);
    }

    #[test]
    fn a_metric_has_other_names_too() {
        assert_eq!(values(BOTH, "lock_wait_seconds", "thread:T1", 4), [0.0, 0.0, 1.0, 0.0]);
    }

    #[test]
    fn of_an_object_all_waits_for_it_count_those_told_of_by_spinning_threads_too() {
        let text = "1 = mutex m\n2 = mutex n\nT1 A¹¹-¹11A\nT2 B2222BBB";
        assert_eq!(values(text, "wait_seconds", "object:m", 4), [0.5, 1.0, 1.0, 0.5]);
        assert_eq!(values(text, "spin_seconds", "object:m", 4), [0.5, 0.5, 0.5, 0.0]);
        assert_eq!(values(text, "blocked_lock_seconds", "object:m", 4), [0.0, 0.0, 0.5, 0.5]);
        assert_eq!(values(text, "wait_seconds", "object:n", 4), [0.5, 1.0, 0.5, 0.0]);
    }

    #[test]
    fn what_a_node_does_not_have_is_refused() {
        let text = "1 = mutex m\nT1 A11A";
        let refused = |metric, node| curve(text, metric, node, 4).unwrap_err().to_string();
        assert_eq!(
            refused("npt_seconds", "object:m"),
            "draw a curve of `npt_seconds` for an object: it is of threads, procedures and lines"
        );
        assert_eq!(
            refused("effective_parallelism", "procedure:A"),
            "draw a curve of `effective_parallelism` for a procedure or line: it is of threads"
        );
        assert!(refused("cpu_seconds", "thread:T7").starts_with("find a thread named `T7`"));
        assert!(refused("slack_seconds", "program").starts_with("draw a curve of `slack_seconds`"));
    }

    #[test]
    fn a_run_of_no_length_has_curves_of_nothing() {
        assert_eq!(values("# nobody", "cpu_seconds", "program", 3), [0.0; 3]);
        assert_eq!(values("# nobody", "npt_seconds", "program", 1), [0.0]);
    }
}
