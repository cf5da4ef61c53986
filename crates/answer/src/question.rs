//! What can be asked of a recording.

use longpole_metrics::{By, Weight};
use longpole_report::{Options, Span};

/// A question that a view answers.
#[derive(Clone, Debug)]
pub struct Question {
    /// The part of the run, as [`longpole_report::Phase::parse`] reads it; `None`: all of it.
    pub phase: Option<String>,
    /// The one thing to tell of, by its name; `None`: the whole program.
    pub of: Option<String>,
    /// What a row is.
    pub by: By,
    /// What has weight on the critical path.
    pub weight: Weight,
    /// Threads that wait for devices or pages are idle.
    pub io_idle: bool,
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
}

impl Default for Question {
    fn default() -> Self {
        Question {
            phase: None,
            of: None,
            by: By::Procedure,
            weight: Weight::Cpu,
            io_idle: false,
            all: false,
            explain: None,
            top: None,
            define: Vec::new(),
            metrics: Vec::new(),
        }
    }
}

impl Question {
    /// The report's options, but for what it is of.
    pub(crate) fn options(&self, phase: Option<Span>) -> Options {
        let &Question { by, weight, io_idle, all, explain, top, .. } = self;
        Options { by, top, weight, io_idle, phase, all, explain, of: None }
    }
}

/// What would become of the run if some work took another time.
#[derive(Clone, Debug, Default)]
pub struct Supposition {
    /// The changes, each as [`longpole_report::NamedChange::parse`] reads it.
    pub changes: Vec<String>,
    /// The part of the run; `None`: all of it.
    pub phase: Option<String>,
    /// Most rows of the new path; `None`: the form's own number.
    pub top: Option<usize>,
}
