//! Outside series joined to the program's tree, and everything that is computed of them: time histograms, what
//! metrics are (descriptions), formulas over metrics, and which series move together.
//!
//! In: the `series.log`s of a recording and the [`Program`](longpole_trace::Program) they belong to; curves of built-in
//! metrics from whoever can compute them. Out: histograms, table values and correlations of any metric at any
//! node. `docs/series.md` defines all of it.

mod aggregation;
mod catalogue;
mod correlation;
mod course;
mod description;
mod expected;
mod figure;
mod formula;
mod kinship;
mod nearest;
mod outside;
mod place;
mod text_error;
mod unit;
mod window;

pub use aggregation::{Aggregation, TableCalculation};
pub use catalogue::{Announced, BuiltIn, Catalogue, Metric, Note};
pub use correlation::{
    Candidate, Comparison, Correlation, Correlations, Interest, Silence, Target, compare, correlate,
};
pub use course::{Course, course, nodes};
pub use description::{Class, Description, Descriptions, Level, StatedUnit};
pub use figure::{Figure, Figures};
pub use formula::{Evaluated, Formula, FormulaError};
pub use kinship::{Kinship, Kinships};
pub use outside::{Node, Outside, Series};
pub use place::Place;
pub use text_error::TextError;
pub use unit::{BadUnit, Unit};
pub use window::Window;
