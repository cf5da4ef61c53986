//! The steps of a formula: operands are put on a stack, operators take theirs from it.

use std::ops::Range;

use super::function::FormulaFunction;
use crate::Unit;

/// A step, and the part of the text that it computes.
#[derive(Clone, Debug)]
pub struct PlacedStep {
    /// What to do.
    pub step: FormulaStep,
    /// The bytes of the whole expression, operands and all.
    pub at: Range<usize>,
}

/// What to do with the stack.
#[derive(Clone, Debug, PartialEq)]
pub enum FormulaStep {
    /// Put a number; one without a unit has that of what it stands beside.
    Number(f64, Option<Unit>),
    /// Put the metric of this place in the operands.
    Metric(usize),
    /// Take one, put its negative.
    Negate,
    /// Take two, put what comes of them.
    Binary(Operator),
    /// Take so many, put what comes of them.
    Call(FormulaFunction, usize),
}

/// An operator between two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Less,
    AtMost,
    Greater,
    AtLeast,
    Equal,
    Unequal,
}

/// How tightly an operator binds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Binding {
    Comparison,
    Sum,
    Product,
    Sign,
    Operand,
}

impl Operator {
    /// All of them, longer ones before those that they begin with.
    pub const ALL: [Operator; 10] = [
        Operator::AtMost,
        Operator::AtLeast,
        Operator::Equal,
        Operator::Unequal,
        Operator::Less,
        Operator::Greater,
        Operator::Add,
        Operator::Subtract,
        Operator::Multiply,
        Operator::Divide,
    ];

    /// As it is written.
    pub fn sign(self) -> &'static str {
        match self {
            Operator::Add => "+",
            Operator::Subtract => "-",
            Operator::Multiply => "*",
            Operator::Divide => "/",
            Operator::Less => "<",
            Operator::AtMost => "<=",
            Operator::Greater => ">",
            Operator::AtLeast => ">=",
            Operator::Equal => "==",
            Operator::Unequal => "!=",
        }
    }

    /// How tightly it binds.
    pub fn binding(self) -> Binding {
        match self {
            Operator::Add | Operator::Subtract => Binding::Sum,
            Operator::Multiply | Operator::Divide => Binding::Product,
            _ => Binding::Comparison,
        }
    }

    /// What comes of two numbers; comparisons give 1 or 0, and nothing (`NaN`) comes of nothing.
    pub fn apply(self, left: f64, right: f64) -> f64 {
        let told =
            |holds: bool| if left.is_nan() || right.is_nan() { f64::NAN } else { f64::from(u8::from(holds)) };
        match self {
            Operator::Add => left + right,
            Operator::Subtract => left - right,
            Operator::Multiply => left * right,
            Operator::Divide if right == 0.0 => f64::NAN,
            Operator::Divide => left / right,
            Operator::Less => told(left < right),
            Operator::AtMost => told(left <= right),
            Operator::Greater => told(left > right),
            Operator::AtLeast => told(left >= right),
            Operator::Equal => told(left == right),
            Operator::Unequal => told(left != right),
        }
    }
}
