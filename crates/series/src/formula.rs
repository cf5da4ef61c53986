//! Formulas over metrics: read, their units found, computed bin by bin (IPS-2 §5, `docs/metrics-files.md`).
//!
//! ```text
//!   comparison  sum [ (< <= > >= == !=) sum ]
//!   sum         product { (+ -) product }
//!   product     factor { (* /) factor }
//!   factor      { - } ( number [ % | [UNIT] ] | NAME | "NAME" | function ( comparison {, comparison} ) | ( comparison ) )
//! ```
//! In: a text. Out: a [`Formula`], which is a list of steps for a stack machine, so that neither printing, nor units, nor
//! evaluation recur however long it is; only parentheses nest, and their depth is limited.

mod evaluation;
mod function;
mod measure;
mod print;
mod step;
mod syntax;
#[cfg(test)]
mod tests;

use std::ops::Range;

pub use evaluation::Evaluated;
use step::PlacedStep;
pub(crate) use syntax::is_bare_name;

/// A formula over metrics.
#[derive(Clone, Debug)]
pub struct Formula {
    /// What was read, for messages.
    text: String,
    /// What to do, operands before their operators.
    steps: Vec<PlacedStep>,
    /// Names of the metrics in it, in the order in which they first appear.
    operands: Vec<String>,
}

/// What is wrong with a formula, and where in its text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("understand a formula: {message}")]
pub struct FormulaError {
    /// The bytes of the formula's text that are meant.
    pub at: Range<usize>,
    /// What was expected or is wrong.
    pub message: String,
}

impl Formula {
    /// Reads a formula.
    ///
    /// # Errors
    /// Where it is none: the place and what was expected there.
    pub fn parse(text: &str) -> Result<Formula, FormulaError> {
        syntax::read(text)
    }

    /// The metrics in it, each once, in the order in which they first appear.
    #[must_use]
    pub fn operands(&self) -> &[String] {
        &self.operands
    }

    /// What was read.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Where in its text it names this metric first.
    #[must_use]
    pub fn place_of(&self, operand: &str) -> Option<Range<usize>> {
        let wanted = self.operands.iter().position(|name| name == operand)?;
        let names_it =
            |placed: &&PlacedStep| matches!(placed.step, step::FormulaStep::Metric(index) if index == wanted);
        self.steps.iter().find(names_it).map(|placed| placed.at.clone())
    }
}

impl PartialEq for Formula {
    /// Equal when they compute the same in the same order, however they were written.
    fn eq(&self, other: &Formula) -> bool {
        let steps =
            |formula: &Formula| formula.steps.iter().map(|placed| placed.step.clone()).collect::<Vec<_>>();
        self.operands == other.operands && steps(self) == steps(other)
    }
}
