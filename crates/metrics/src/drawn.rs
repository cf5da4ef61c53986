//! Metrics of drawings, for the tests of the metrics.

use longpole_testkit::{MemoryTimelines, draw};
use longpole_trace::Timelines;

use crate::{Analysis, By, Measures, MetricOptions, Node, analyse, rows};

/// A drawing with its analysis.
pub(crate) struct Drawn {
    pub timelines: MemoryTimelines,
    pub analysis: Analysis,
}

impl Drawn {
    pub fn new(text: &str) -> Drawn {
        Drawn::with(text, &MetricOptions::default())
    }

    pub fn with(text: &str, options: &MetricOptions) -> Drawn {
        let timelines = draw(text);
        let Ok(analysis) = analyse(&timelines, options);
        Drawn { timelines, analysis }
    }

    /// The procedure's own and inclusive measures.
    pub fn procedure(&self, name: &str) -> (Measures, Measures) {
        let node = Node::Procedure(self.timelines.procedure(name));
        let (program, paths) = (self.timelines.program(), self.timelines.paths());
        let rows = rows(&self.analysis, program, paths, By::Procedure, |_| true);
        rows.into_iter().find(|row| row.node == node).map(|row| (row.own, row.inclusive)).unwrap_or_default()
    }

    /// The procedure's own measures.
    pub fn own(&self, name: &str) -> Measures {
        self.procedure(name).0
    }

    /// The CPU-weighted critical path as (thread, from, to).
    pub fn path(&self) -> Vec<(String, u64, u64)> {
        self.named(&self.analysis.critical_cpu)
    }

    /// The elapsed-weighted critical path as (thread, from, to).
    pub fn elapsed_path(&self) -> Vec<(String, u64, u64)> {
        self.named(&self.analysis.critical_elapsed)
    }

    fn named(&self, path: &crate::CriticalPath) -> Vec<(String, u64, u64)> {
        let name =
            |thread: longpole_event::ThreadId| self.timelines.program.threads[thread.index()].name.clone();
        let times = |segment: &crate::PathSegment| (segment.from.nanoseconds(), segment.to.nanoseconds());
        path.segments
            .iter()
            .map(|segment| (name(segment.thread), times(segment).0, times(segment).1))
            .collect()
    }
}
