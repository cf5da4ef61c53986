//! What can be asked of a recording.

use longpole_communication::CommunicationOptions;
use longpole_metrics::{By, Order, Weight};
use longpole_report::{ReportOptions, Sort, Span};
use longpole_trace::Fold;

use crate::choice::DeviceWaits;

/// A question that a view answers.
#[derive(Clone, Debug)]
pub struct Question {
    /// The part of the run, as [`longpole_report::Phase::parse`] reads it; `None`: all of it.
    pub phase: Option<String>,
    /// The one thing to tell of, by its name; `None`: the whole program.
    pub of: Option<String>,
    /// What a row is.
    pub by: By,
    /// What ranks rows.
    pub sort: Sort,
    /// Which procedures are folded into their callers; `None`: as the view has it.
    pub fold: Option<Fold>,
    /// What has weight on the critical path.
    pub weight: Weight,
    /// What threads do that wait for devices or pages.
    pub io: DeviceWaits,
    /// Which hand-offs of locks are arcs of the graph.
    pub order: Order,
    /// Also what is left out otherwise.
    pub all: bool,
    /// The place of the one wait to tell in full, from 1.
    pub explain: Option<usize>,
    /// Most rows; `None`: the form's own number.
    pub top: Option<usize>,
    /// Metrics defined for this question, each `NAME = FORMULA`.
    pub define: Vec<String>,
    /// The metrics that the view `metrics` shows; all that have a value where none is named.
    pub metrics: Vec<String>,
    /// What is simulated where the view is of accesses to memory.
    pub communication: CommunicationOptions,
}

impl Default for Question {
    fn default() -> Self {
        Question {
            phase: None,
            of: None,
            by: By::Procedure,
            sort: Sort::Own,
            fold: None,
            weight: Weight::Cpu,
            io: DeviceWaits::default(),
            order: Order::default(),
            all: false,
            explain: None,
            top: None,
            define: Vec::new(),
            metrics: Vec::new(),
            communication: CommunicationOptions::default(),
        }
    }
}

impl Question {
    /// What changes definitions.
    pub(crate) fn choices(&self) -> longpole_metrics::MetricOptions {
        longpole_metrics::MetricOptions { io_idle: self.io.is_idle(), order: self.order }
    }

    /// The report's options, but for what it is of.
    pub(crate) fn options(&self, phase: Option<Span>) -> ReportOptions {
        let &Question { by, sort, weight, io, order, all, explain, top, .. } = self;
        let io_idle = io.is_idle();
        ReportOptions { by, sort, top, weight, io_idle, order, phase, all, explain, of: None }
    }
}

/// What would become of the run if some work took another time.
#[derive(Clone, Debug, Default)]
pub struct WhatIfQuestion {
    /// The changes, each as [`longpole_report::NamedChange::parse`] reads it.
    pub changes: Vec<String>,
    /// The part of the run; `None`: all of it.
    pub phase: Option<String>,
    /// Which procedures are folded into their callers.
    pub fold: Fold,
    /// Which hand-offs of locks are arcs of the graph.
    pub order: Order,
    /// Most rows of the new path; `None`: the form's own number.
    pub top: Option<usize>,
}

impl WhatIfQuestion {
    /// The same question to a replay: only that knows what is done while a lock is held.
    pub(crate) fn as_replay(&self) -> ReplayQuestion {
        ReplayQuestion { changes: self.changes.clone(), fold: self.fold, ..ReplayQuestion::default() }
    }
}

/// What would become of the run if it were executed again with something changed.
#[derive(Clone, Debug, Default)]
pub struct ReplayQuestion {
    /// The changes, each as [`longpole_report::NamedChange::parse`] reads it.
    pub changes: Vec<String>,
    /// Which procedures are folded into their callers.
    pub fold: Fold,
    /// Devices take no time.
    pub io_is_free: bool,
    /// Numbers of processors to replay it on.
    pub processors: Vec<u32>,
}

/// What would become of the transfers if data lay in another layout.
#[derive(Clone, Debug, Default)]
pub struct LayoutQuestion {
    /// The changes, each as [`longpole_report::NamedLayoutChange::parse`] reads it; none: those that are suggested.
    pub changes: Vec<String>,
    /// What is simulated.
    pub communication: CommunicationOptions,
}
