//! Findings and view models: what a recording says, as one typed [`Report`] per [`View`], which renders
//! as text for people, as JSON and as CSV.
//!
//! In: the program's tree and call paths, an [`Analysis`](longpole_metrics::Analysis) and the
//! [`Evidence`](longpole_trace::Evidence) behind it. Out: strings; nothing here prints, opens files or ends the process.
//!
//! Invariant: the text shows only what the rows hold, so people and programs read the same numbers.
//!
//! ```
//! use longpole_report::{ReportInput, ReportOptions, Style, View, build};
//! let (program, paths, folding, objects, analysis, details, outside_answers) = Default::default();
//! let evidence = longpole_trace::Evidence::default();
//! let input = ReportInput {
//!     program: &program,
//!     paths: &paths,
//!     folding: &folding,
//!     objects: &objects,
//!     analysis: &analysis,
//!     details: &details,
//!     evidence: &evidence,
//!     outside_answers: &outside_answers,
//! };
//! let report = build(View::Summary, &input, &ReportOptions::default());
//! assert!(report.text(&Style::plain(80)).contains("Nothing was recorded"));
//! ```

mod amount;
mod bar;
mod change;
mod check;
mod column;
mod documentation;
mod error;
mod evidence;
mod find;
mod findings;
mod folded;
mod input;
mod instances;
mod layout_change;
mod layout_suggestion;
mod mpi_evidence;
mod name;
mod needs;
mod phase;
mod quantity;
mod report;
mod share;
mod shortening;
mod simulation;
mod sparkline;
mod spreadsheet;
mod style;
mod table;
mod termination;
mod text;
mod unnamed_code;
mod view;
mod views;
mod visible;

#[cfg(test)]
mod documents;
#[cfg(test)]
mod fixture;

pub use amount::amount_text;
pub use change::NamedChange;
pub use check::{
    Check, CheckCondition, CheckLimit, CheckMetric, CheckOutcome, CheckedRecording, build_check,
};
pub use column::Column;
pub use documentation::{explain, list_metrics, metrics_markdown, registry_json};
pub use error::{Error, Result};
pub use evidence::Facts;
pub use find::{FoundNodes, NameKind, RecordingNames};
pub use input::{IdleProcessor, MeasuredZeroing, OutsideAnswers, ReportInput, ReportOptions, Sort};
pub use layout_change::{NamedLayoutChange, merge_layouts};
pub use layout_suggestion::suggested_layouts;
pub use longpole_trace::Fold;
pub use phase::{PhaseArgument, Span};
pub use report::{Cell, RecordingNumbers, Report, Row};
pub use simulation::{SampleNumbers, SimulationNumbers, ThreadAccesses, UnfollowedNumbers};
pub use sparkline::sparkline;
pub use spreadsheet::CellText;
pub use style::Style;
pub use view::OutsideAnswerKind;
pub use views::{
    ComparedOutput, EarlierPrediction, LayoutTrial, MeasuredDelay, MeasuredGain, MeasuredProgram,
    MeasuredVariant, VersionMedians, View, build, build_diff, build_layouts, build_replay, build_what_if,
    build_zero, diff_demand, name_of, plot_zero, refusal_text,
};
pub use visible::{visible, visible_excerpt, visible_json, visible_output};
