//! Formulas as text, with as few parentheses as they need.

use std::fmt;

use super::Formula;
use super::step::{Binding, FormulaStep, Operator};
use super::syntax::is_bare_name;

/// An expression as text, and how tightly it holds together.
type Printed = (String, Binding);

impl fmt::Display for Formula {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut stack: Vec<Printed> = Vec::new();
        for placed in &self.steps {
            let printed = match &placed.step {
                FormulaStep::Number(value, None) => (format!("{value}"), Binding::Operand),
                FormulaStep::Number(value, Some(unit)) => (format!("{value}[{unit}]"), Binding::Operand),
                FormulaStep::Metric(index) => (name(&self.operands[*index]), Binding::Operand),
                FormulaStep::Negate => {
                    (format!("-{}", within(pop(&mut stack), Binding::Sign)), Binding::Sign)
                }
                FormulaStep::Binary(operator) => {
                    let right = pop(&mut stack);
                    binary(pop(&mut stack), *operator, right)
                }
                FormulaStep::Call(function, count) => {
                    let first = stack.len() - count;
                    let arguments: Vec<_> =
                        stack.split_off(first).into_iter().map(|(text, _)| text).collect();
                    (format!("{}({})", function.name(), arguments.join(", ")), Binding::Operand)
                }
            };
            stack.push(printed);
        }
        out.write_str(&pop(&mut stack).0)
    }
}

fn name(name: &str) -> String {
    if is_bare_name(name) { name.to_owned() } else { format!("\"{name}\"") }
}

/// Operators of one binding are taken from the left, so that the right one needs parentheses; comparisons do
/// not follow each other at all. The left text is gone on with, so that long sums are printed in one go.
fn binary(left: Printed, operator: Operator, right: Printed) -> Printed {
    let binding = operator.binding();
    let (for_left, for_right) = match binding {
        Binding::Comparison => (Binding::Sum, Binding::Sum),
        Binding::Sum => (Binding::Sum, Binding::Product),
        _ => (Binding::Product, Binding::Sign),
    };
    let mut text = within(left, for_left);
    text.push_str(&format!(" {} ", operator.sign()));
    text.push_str(&within(right, for_right));
    (text, binding)
}

/// The text, in parentheses where it would fall apart.
fn within((text, binding): Printed, least: Binding) -> String {
    if binding < least { format!("({text})") } else { text }
}

fn pop(stack: &mut Vec<Printed>) -> Printed {
    stack.pop().expect("the parser puts operands before their operators")
}
