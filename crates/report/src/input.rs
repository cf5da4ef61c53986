//! What reports are made from.

use std::cell::OnceCell;
use std::ops::Deref;
use std::sync::Arc;

use longpole_communication::RecordedCommunication;
use longpole_event::{MachineId, ThreadId};
use longpole_metrics::{
    Analysis, By, ChangeSubject, Details, FoldedLeaf, GainsOf, Measures, Node, NodeRow, Order, Split, Weight,
};
use longpole_series::{NodeMetrics, SeriesCorrelations};
use longpole_trace::{Evidence, Folding, ObjectId, Objects, Paths, Program};

use crate::find::FoundNodes;
use crate::phase::Span;

/// Everything a report is made from.
#[derive(Clone, Copy, Debug)]
pub struct ReportInput<'a> {
    /// The program's tree.
    pub program: &'a Program,
    /// The call paths.
    pub paths: &'a Paths,
    /// To whom paths belong; the analysis and the details are folded by it.
    pub folding: &'a Folding,
    /// What threads waited for.
    pub objects: &'a Objects,
    /// What only some views need; what the view's [`demand`](crate::View::demand) asks for is in it.
    pub details: &'a Details,
    /// The metrics.
    pub analysis: &'a Analysis,
    /// What they rest on.
    pub evidence: &'a Evidence,
    /// What was computed of outside series, for the views that want it ([`View::outside`](crate::View::outside)).
    pub outside_answers: &'a OutsideAnswers,
}

/// What was computed beside the analysis, of outside series and metrics that are made of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OutsideAnswers {
    /// Metrics of nodes, in the order of the tree: of one, all that it has; of several, those that were asked for.
    pub figures: Vec<NodeMetrics>,
    /// How long processors were idle by the kernel's accounts, where a view wants it and they were collected.
    pub idle_processors: Vec<IdleProcessor>,
    /// Outside series that move with what the program does; `None` where nobody asked.
    pub correlations: Option<SeriesCorrelations>,
    /// The recorded accesses to memory, simulated; `None` where nobody asked, or there are none.
    pub communication: Option<Arc<RecordedCommunication>>,
    /// What leaving something out was measured to gain.
    pub zeroings: Vec<MeasuredZeroing>,
}

/// What the program was measured to gain without something (metrics.md §5, true zeroing).
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredZeroing {
    /// What was left out.
    pub subject: ChangeSubject,
    /// The median gain, per cent of the unchanged run.
    pub percent: f64,
    /// The interval that holds this median in 95 of 100 cases; `None` of too few runs.
    pub interval: Option<(f64, f64)>,
}

/// How long a processor was idle, whoever ran on it otherwise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IdleProcessor {
    /// Its machine.
    pub machine: MachineId,
    /// Its number there.
    pub processor: u16,
    /// Idle time of the run, or the phase.
    pub seconds: f64,
}

/// What ranks the rows of a view.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sort {
    /// A row's own share.
    #[default]
    Own,
    /// With all that was done on its behalf (Q §3.1).
    Inclusive,
}

impl Sort {
    /// What ranks: of the own value and the inclusive one.
    pub(crate) fn of<'a, V>(self, own: &'a V, inclusive: &'a V) -> &'a V {
        match self {
            Sort::Own => own,
            Sort::Inclusive => inclusive,
        }
    }
}

/// Choices of a report.
#[derive(Clone, Debug)]
pub struct ReportOptions {
    /// What a row is.
    pub by: By,
    /// What ranks rows.
    pub sort: Sort,
    /// Rows shown in text and written to JSON and CSV; `None`: 20 in text, all elsewhere.
    pub top: Option<usize>,
    /// Which critical path ranks the rows of `critical-path` and `tree`.
    pub weight: Weight,
    /// The analysis was made with waits for devices and pages counted as idle.
    pub io_idle: bool,
    /// Which hand-offs of locks hold when the run is executed again.
    pub order: Order,
    /// The part of the run that the input is about; `None`: all of it.
    pub phase: Option<Span>,
    /// Shows also what is left out otherwise: waits that nobody wants explained.
    pub all: bool,
    /// The row of `waits` or `communication` whose explanation is shown in full, from 1.
    pub explain: Option<usize>,
    /// The one thing that the report is about, in views that have reports of one; `None`: the whole program.
    pub of: Option<FoundNodes>,
}

impl Default for ReportOptions {
    fn default() -> Self {
        ReportOptions {
            by: By::Procedure,
            sort: Sort::Own,
            top: None,
            weight: Weight::Cpu,
            io_idle: false,
            order: Order::default(),
            phase: None,
            all: false,
            explain: None,
            of: None,
        }
    }
}

impl ReportOptions {
    /// The objects that the report is about, where it is about objects.
    pub(crate) fn chosen_objects(&self) -> Vec<ObjectId> {
        match &self.of {
            Some(FoundNodes::Objects(ids)) => ids.clone(),
            _ => Vec::new(),
        }
    }

    /// The gains whose rows are asked for.
    pub(crate) fn gains(&self) -> GainsOf {
        GainsOf { by: self.by, weight: self.weight }
    }
}

/// An input with its tables, each summed once, when it is first asked for.
#[derive(Debug)]
pub(crate) struct ReportTables<'a> {
    input: ReportInput<'a>,
    totals: OnceCell<Measures>,
    rows: [OnceCell<Vec<NodeRow>>; 7],
    working: OnceCell<Vec<NodeRow>>,
}

impl<'a> Deref for ReportTables<'a> {
    type Target = ReportInput<'a>;

    fn deref(&self) -> &ReportInput<'a> {
        &self.input
    }
}

impl<'a> ReportTables<'a> {
    pub(crate) fn new(input: ReportInput<'a>) -> ReportTables<'a> {
        ReportTables { input, totals: OnceCell::new(), rows: Default::default(), working: OnceCell::new() }
    }

    /// What it was made of.
    pub(crate) fn input(&self) -> &ReportInput<'a> {
        &self.input
    }

    /// Rows of the whole program, in the order of their nodes.
    pub(crate) fn rows(&self, by: By) -> &[NodeRow] {
        let ReportInput { program, paths, analysis, .. } = self.input;
        let sum = || longpole_metrics::rows(analysis, program, paths, by, |_| true);
        self.rows[by as usize].get_or_init(sum)
    }

    /// Procedures of the threads that work; those of idle pools and services say nothing by their waits.
    pub(crate) fn working_rows(&self) -> &[NodeRow] {
        let ReportInput { program, paths, analysis, .. } = self.input;
        let is_working = analysis.working_threads();
        let select = |thread: ThreadId| is_working.get(thread.index()) == Some(&true);
        let sum = || longpole_metrics::rows(analysis, program, paths, By::Procedure, select);
        self.working.get_or_init(sum)
    }

    /// What was folded into a procedure or a line; nothing into others.
    pub(crate) fn folded_into(&self, node: Node) -> impl Iterator<Item = &'a FoldedLeaf> {
        let is_into = move |leaf: &&FoldedLeaf| match node {
            Node::Procedure(id) => leaf.owner.procedure == id,
            Node::Line(id, line) => leaf.owner.procedure == id && leaf.owner.line == line,
            _ => false,
        };
        self.input.analysis.folded.iter().filter(is_into)
    }

    /// What the waits at barriers come from, all together, where they were explained.
    pub(crate) fn barrier_split(&self) -> Option<Split> {
        let waits = self.details.waits.as_ref()?;
        let mut sum = Split::default();
        waits.at_barriers().for_each(|class| sum.add(&class.split));
        Some(sum)
    }

    /// Everything charged in the run.
    pub(crate) fn totals(&self) -> &Measures {
        self.totals.get_or_init(|| longpole_metrics::total(self.input.analysis, |_| true))
    }

    /// Mean effective parallelism: the mean of U over the run.
    pub(crate) fn effective_parallelism(&self) -> f64 {
        mean_level(&self.analysis.busy)
    }

    /// Mean nominal parallelism: the mean of N over the run.
    pub(crate) fn nominal_parallelism(&self) -> f64 {
        mean_level(&self.analysis.nominal)
    }
}

/// Mean level of a histogram of times by level.
fn mean_level(times: &[u64]) -> f64 {
    let whole: u64 = times.iter().sum();
    if whole == 0 {
        return 0.0;
    }
    let weighted: f64 = times.iter().enumerate().map(|(level, &time)| level as f64 * time as f64).sum();
    weighted / whole as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_level_weighs_levels_by_their_time() {
        // 10 × 0 + 30 × 1 + 60 × 2 = 150 over 100.
        assert_eq!(mean_level(&[10, 30, 60]), 1.5);
        assert_eq!(mean_level(&[]), 0.0);
    }
}
