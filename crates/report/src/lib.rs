//! Findings and view models: what a recording says, as one typed [`Report`] per [`View`], which renders
//! as text for people, as JSON and as CSV.
//!
//! In: the program's tree and call paths, an [`Analysis`](longpole_metrics::Analysis) and the
//! [`Evidence`](longpole_trace::Evidence) behind it. Out: strings; nothing here prints, opens files or ends the process.
//!
//! Invariant: the text shows only what the rows hold, so people and programs read the same numbers.
//!
//! ```
//! use longpole_report::{Input, Options, Style, View, build};
//! let (program, paths, objects, analysis, details, beside) = Default::default();
//! let evidence = longpole_trace::Evidence::default();
//! let input = Input {
//!     program: &program,
//!     paths: &paths,
//!     objects: &objects,
//!     analysis: &analysis,
//!     details: &details,
//!     evidence: &evidence,
//!     beside: &beside,
//! };
//! let report = build(View::Summary, &input, &Options::default());
//! assert!(report.text(&Style::plain(80)).contains("Nothing was recorded"));
//! ```

mod amount;
mod bar;
mod change;
mod column;
mod diagnosis;
mod documentation;
mod error;
mod evidence;
mod find;
mod guidance;
mod input;
mod lack;
mod mention;
mod name;
mod phase;
mod quantity;
mod recommendation;
mod report;
mod share;
mod sparkline;
mod style;
mod table;
mod text;
mod view;
mod views;

#[cfg(test)]
mod documents;
#[cfg(test)]
mod fixture;

pub use amount::amount_text;
pub use change::NamedChange;
pub use column::Column;
pub use documentation::{explain, list_metrics, metrics_markdown, registry_json};
pub use error::{Error, Result};
pub use evidence::Facts;
pub use find::{Found, Kind, Names};
pub use input::{Beside, Input, Options};
pub use phase::{Phase, Span};
pub use report::{Cell, Recording, Report, Row};
pub use sparkline::sparkline;
pub use style::Style;
pub use view::View;
pub use views::{build, build_what_if, name_of};
