//! Curves of the whole program in one reading of the timelines: for who asks of nothing else, and needs no [`Index`](crate::Index).
//!
//! Time: constant per item. Memory: the bins.

use longpole_event::Time;
use longpole_graph::{Arc, Sweep, sweep};
use longpole_trace::{State, Timelines};

use super::sums::BinSums;
use crate::bins::TimeBins;

/// What the threads of the program did over time, a mean number of threads in each bin.
#[derive(Clone, Debug, PartialEq)]
pub struct ProgramCurves {
    /// Threads that were busy.
    pub effective_parallelism: Vec<f64>,
    /// Threads that waited for other threads.
    pub synchronisation_wait: Vec<f64>,
}

/// The curves of the program between two times of the run, in so many bins. `io_idle` is as for [`sweep`].
///
/// # Errors
/// What the timelines say when they cannot be read.
pub fn program_curves<T: Timelines>(
    timelines: &T,
    io_idle: bool,
    (from, to): (Time, Time),
    bins: u32,
) -> Result<ProgramCurves, T::Error> {
    let bins = TimeBins::new(from, to, bins, to.nanoseconds());
    let mut sums = ProgramSums { io_idle, busy: BinSums::new(&bins), waiting: BinSums::new(&bins) };
    sweep(timelines, io_idle, &mut sums)?;
    Ok(ProgramCurves {
        effective_parallelism: sums.busy.into_values(),
        synchronisation_wait: sums.waiting.into_values(),
    })
}

struct ProgramSums<'a> {
    io_idle: bool,
    busy: BinSums<'a>,
    waiting: BinSums<'a>,
}

impl Sweep for ProgramSums<'_> {
    fn arc(&mut self, arc: Arc) {
        let (begin, end) = self.busy.span();
        let (from, to) = (arc.from.nanoseconds().max(begin), arc.to.nanoseconds().min(end));
        if from >= to {
            return;
        }
        if arc.state.is_busy(self.io_idle) {
            self.busy.add(from, to);
        }
        if matches!(arc.state, State::Blocked(cause) if cause.is_synchronisation()) {
            self.waiting.add(from, to);
        }
    }
}

#[cfg(test)]
mod tests {
    use longpole_metrics::{MetricOptions, analyse};
    use longpole_report::RecordingNames;
    use longpole_testkit::random_timelines;
    use proptest::prelude::*;

    use super::*;
    use crate::{CurveNode, CurveQuestion, Index};

    proptest! {
        #[test]
        fn they_are_those_of_the_index(
            made in random_timelines(5, 60),
            io_idle in any::<bool>(),
            bins in 1_u32..9,
            part in 0.0..1.0_f64,
        ) {
            let options = MetricOptions { io_idle, ..MetricOptions::default() };
            let Ok(analysis) = analyse(&made, &options);
            let Ok(index) = Index::of(&made, &options, &analysis);
            let names = RecordingNames { program: &made.program, paths: &made.paths, objects: &made.objects };
            let to = Time::from_nanoseconds(index.elapsed());
            let from = Time::from_nanoseconds((index.elapsed() as f64 * part) as u64);
            let of_index = |metric: &str| {
                let question = CurveQuestion { metric, node: &CurveNode::Program, from, to: Some(to), bins };
                index.curve(&names, &question).ok()
            };
            let Ok(curves) = program_curves(&made, io_idle, (from, to), bins);
            prop_assert_eq!(Some(curves.effective_parallelism), of_index("effective_parallelism"));
            prop_assert_eq!(Some(curves.synchronisation_wait), of_index("synchronisation_wait_seconds"));
        }
    }
}
