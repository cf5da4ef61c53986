//! Units of formulas, carried from the operands up and checked where two must be alike.

use std::ops::Range;

use super::function::FormulaFunction;
use super::step::{FormulaStep, Operator};
use super::{Formula, FormulaError};
use crate::Unit;

/// What is known of an expression's unit.
#[derive(Clone, Debug, PartialEq)]
enum ExpressionUnit {
    /// It fits whatever it stands beside: a bare number, a metric whose unit nobody told.
    Any,
    /// It has this one.
    Of(Unit),
}

/// An expression on the stack: its unit, its place in the text.
type Term = (ExpressionUnit, Range<usize>);

impl Formula {
    /// The unit of what the formula computes, of the units of its operands; `None` where that is not known, be it that an
    /// operand's unit is not or that the formula is made of bare numbers.
    ///
    /// # Errors
    /// Where `+`, `-`, a comparison, `min` or `max` has two different units.
    pub fn unit(&self, operand: &mut dyn FnMut(&str) -> Option<Unit>) -> Result<Option<Unit>, FormulaError> {
        let mut stack: Vec<Term> = Vec::new();
        for placed in &self.steps {
            let measure = match &placed.step {
                FormulaStep::Number(_, unit) => unit.clone().map_or(ExpressionUnit::Any, ExpressionUnit::Of),
                FormulaStep::Metric(index) => {
                    operand(&self.operands[*index]).map_or(ExpressionUnit::Any, ExpressionUnit::Of)
                }
                FormulaStep::Negate => take(&mut stack, 1).remove(0).0,
                FormulaStep::Binary(operator) => self.of_two(*operator, &take(&mut stack, 2))?,
                FormulaStep::Call(function, count) => self.of_call(*function, take(&mut stack, *count))?,
            };
            stack.push((measure, placed.at.clone()));
        }
        match take(&mut stack, 1).remove(0).0 {
            ExpressionUnit::Any => Ok(None),
            ExpressionUnit::Of(unit) => Ok(Some(unit)),
        }
    }

    fn of_two(&self, operator: Operator, terms: &[Term]) -> Result<ExpressionUnit, FormulaError> {
        let (left, right) = (&terms[0].0, &terms[1].0);
        Ok(match operator {
            Operator::Multiply => match (left, right) {
                (ExpressionUnit::Of(left), ExpressionUnit::Of(right)) => {
                    ExpressionUnit::Of(left.times(right))
                }
                (ExpressionUnit::Any, other) | (other, ExpressionUnit::Any) => other.clone(),
            },
            Operator::Divide => match (left, right) {
                (ExpressionUnit::Of(left), ExpressionUnit::Of(right)) => ExpressionUnit::Of(left.over(right)),
                (ExpressionUnit::Any, ExpressionUnit::Of(right)) => {
                    ExpressionUnit::Of(Unit::none().over(right))
                }
                (left, ExpressionUnit::Any) => left.clone(),
            },
            Operator::Add | Operator::Subtract => self.alike(operator.sign(), terms)?,
            _ => {
                self.alike(operator.sign(), terms)?;
                ExpressionUnit::Of(Unit::none())
            }
        })
    }

    fn of_call(
        &self,
        function: FormulaFunction,
        mut terms: Vec<Term>,
    ) -> Result<ExpressionUnit, FormulaError> {
        if terms.len() > 1 {
            return self.alike(function.name(), &terms);
        }
        let measure = terms.remove(0).0;
        Ok(match (function, measure) {
            (FormulaFunction::Sum, ExpressionUnit::Of(unit)) => {
                ExpressionUnit::Of(unit.times(&Unit::seconds()))
            }
            (FormulaFunction::Rate, ExpressionUnit::Of(unit)) => {
                ExpressionUnit::Of(unit.over(&Unit::seconds()))
            }
            (_, measure) => measure,
        })
    }

    /// The one unit of all terms.
    fn alike(&self, operation: &str, terms: &[Term]) -> Result<ExpressionUnit, FormulaError> {
        let mut found: Option<(&Unit, &Range<usize>)> = None;
        for (measure, at) in terms {
            match (measure, found) {
                (ExpressionUnit::Of(unit), None) => found = Some((unit, at)),
                (ExpressionUnit::Of(unit), Some((first, first_at))) if unit != first => {
                    return Err(self.unlike(operation, (first, first_at), (unit, at)));
                }
                _ => {}
            }
        }
        Ok(found.map_or(ExpressionUnit::Any, |(unit, _)| ExpressionUnit::Of(unit.clone())))
    }

    fn unlike(
        &self,
        operation: &str,
        (left, left_at): (&Unit, &Range<usize>),
        (right, right_at): (&Unit, &Range<usize>),
    ) -> FormulaError {
        let on_one_line =
            |at: &Range<usize>| self.text[at.clone()].split_whitespace().collect::<Vec<_>>().join(" ");
        let (one, other) = (on_one_line(left_at), on_one_line(right_at));
        let percent = Unit::parse("%").expect("a unit");
        let hint = match (left.is_none(), right.is_none()) {
            (true, false) if *right == percent => format!("; {other} / 100% is a plain number"),
            (false, true) if *left == percent => format!("; {one} / 100% is a plain number"),
            _ => String::new(),
        };
        let message = format!(
            "{operation} needs one unit, but `{one}` is {} and `{other}` is {}{hint}",
            left.told(),
            right.told()
        );
        FormulaError { at: left_at.start..right_at.end, message }
    }
}

/// The last `count` of the stack, in the order in which they were put.
fn take(stack: &mut Vec<Term>, count: usize) -> Vec<Term> {
    let first = stack.len().checked_sub(count).expect("the parser puts operands before their operators");
    stack.split_off(first)
}
