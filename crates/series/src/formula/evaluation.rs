//! Formulas computed bin by bin.
//!
//! `NaN` means that a bin has no value, and what is computed of it has none either. What is too large for a number
//! has no value.

use super::Formula;
use super::function::FormulaFunction;
use super::step::{FormulaStep, Operator};
use crate::Window;

/// What came of a formula.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluated {
    /// A value per bin of the window, `NaN` where there is none.
    pub values: Vec<f64>,
    /// Bins that have none because something was divided by zero there.
    pub divided_by_zero: usize,
}

/// The stack, and what was seen on the way.
struct FormulaMachine {
    stack: Vec<Vec<f64>>,
    by_zero: Vec<bool>,
    width_seconds: f64,
}

impl Formula {
    /// Computes the formula over the bins of a window; `operand` gives the values of a metric there, and is asked once for
    /// each. Of a list that is too short the rest has no value.
    ///
    /// # Errors
    /// Those of `operand`.
    pub fn evaluate<E>(
        &self,
        window: &Window,
        operand: &mut dyn FnMut(&str) -> Result<Vec<f64>, E>,
    ) -> Result<Evaluated, E> {
        let mut operands = Vec::with_capacity(self.operands.len());
        for name in &self.operands {
            let mut values = operand(name)?;
            values.resize(window.bins, f64::NAN);
            operands.push(values);
        }
        let mut machine = FormulaMachine {
            stack: Vec::new(),
            by_zero: vec![false; window.bins],
            width_seconds: window.width_seconds(),
        };
        for placed in &self.steps {
            match &placed.step {
                FormulaStep::Number(value, _) => machine.stack.push(vec![*value; window.bins]),
                FormulaStep::Metric(index) => machine.stack.push(operands[*index].clone()),
                step => machine.apply(step),
            }
        }
        Ok(machine.finish())
    }
}

impl FormulaMachine {
    fn apply(&mut self, step: &FormulaStep) {
        match step {
            FormulaStep::Negate => self.top().iter_mut().for_each(|value| *value = -*value),
            FormulaStep::Binary(operator) => self.binary(*operator),
            FormulaStep::Call(function, 1) => {
                let width = self.width_seconds;
                function.over_time(self.top(), width);
            }
            FormulaStep::Call(function, arguments) => {
                (1..*arguments).for_each(|_| self.bin_by_bin(*function))
            }
            FormulaStep::Number(..) | FormulaStep::Metric(_) => {}
        }
        for value in self.top().iter_mut().filter(|value| value.is_infinite()) {
            *value = f64::NAN;
        }
    }

    fn binary(&mut self, operator: Operator) {
        let right = self.pop();
        if operator == Operator::Divide {
            let left = self.stack.last().expect("the parser puts operands before their operators");
            for (bin, by_zero) in self.by_zero.iter_mut().enumerate() {
                *by_zero |= right[bin] == 0.0 && !left[bin].is_nan();
            }
        }
        for (left, right) in self.top().iter_mut().zip(right) {
            *left = operator.apply(*left, right);
        }
    }

    fn bin_by_bin(&mut self, function: FormulaFunction) {
        let right = self.pop();
        for (left, right) in self.top().iter_mut().zip(right) {
            *left = function.of_two(*left, right);
        }
    }

    fn pop(&mut self) -> Vec<f64> {
        self.stack.pop().expect("the parser puts operands before their operators")
    }

    fn top(&mut self) -> &mut Vec<f64> {
        self.stack.last_mut().expect("the parser puts operands before their operators")
    }

    fn finish(mut self) -> Evaluated {
        let values = self.pop();
        // A function of time can go on without the bins that have no value.
        let is_lost = |(bin, by_zero): (usize, &bool)| *by_zero && values[bin].is_nan();
        let divided_by_zero = self.by_zero.iter().enumerate().filter(|&place| is_lost(place)).count();
        Evaluated { values, divided_by_zero }
    }
}
