//! The functions of formulas, and what each makes of the bins of a phase.
//!
//! ```text
//!   x          2    4    -    1     bins of half a second; - has no value
//!   sum(x)     3.5  3.5  3.5  3.5   (2 + 4 + 1) × 0.5 s
//!   mean(x)    7/3  …               of the bins that have a value
//!   delta(x)   -    2    -    -
//!   rate(x)    -    4    -    -     2 in half a second
//! ```

/// A function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FormulaFunction {
    /// The total over time.
    Sum,
    /// The mean over time.
    Mean,
    /// The smallest over time; of several, bin by bin.
    Minimum,
    /// The largest over time; of several, bin by bin.
    Maximum,
    /// The change per second.
    Rate,
    /// The change to the bin before.
    Delta,
}

impl FormulaFunction {
    /// All of them.
    pub const ALL: [FormulaFunction; 6] = [
        FormulaFunction::Sum,
        FormulaFunction::Mean,
        FormulaFunction::Minimum,
        FormulaFunction::Maximum,
        FormulaFunction::Rate,
        FormulaFunction::Delta,
    ];

    /// Its name in formulas.
    pub fn name(self) -> &'static str {
        match self {
            FormulaFunction::Sum => "sum",
            FormulaFunction::Mean => "mean",
            FormulaFunction::Minimum => "min",
            FormulaFunction::Maximum => "max",
            FormulaFunction::Rate => "rate",
            FormulaFunction::Delta => "delta",
        }
    }

    /// The one of this name.
    pub fn named(name: &str) -> Option<FormulaFunction> {
        Self::ALL.into_iter().find(|function| function.name() == name)
    }

    /// Whether it takes more than one argument, bin by bin.
    pub fn takes_several(self) -> bool {
        matches!(self, FormulaFunction::Minimum | FormulaFunction::Maximum)
    }

    /// What comes of two values in one bin, for functions that take several.
    pub fn of_two(self, left: f64, right: f64) -> f64 {
        if left.is_nan() || right.is_nan() {
            f64::NAN
        } else if self == FormulaFunction::Minimum {
            left.min(right)
        } else {
            left.max(right)
        }
    }

    /// What comes of all bins of one argument, in place.
    pub fn over_time(self, values: &mut [f64], width_seconds: f64) {
        match self {
            FormulaFunction::Rate => change(values, width_seconds),
            FormulaFunction::Delta => change(values, 1.0),
            FormulaFunction::Sum
            | FormulaFunction::Mean
            | FormulaFunction::Minimum
            | FormulaFunction::Maximum => {
                let one = self.summary(values, width_seconds);
                values.fill(one);
            }
        }
    }

    fn summary(self, values: &[f64], width_seconds: f64) -> f64 {
        let there = || values.iter().copied().filter(|value| !value.is_nan());
        let count = there().count();
        match self {
            _ if count == 0 => f64::NAN,
            FormulaFunction::Minimum => there().fold(f64::INFINITY, f64::min),
            FormulaFunction::Maximum => there().fold(f64::NEG_INFINITY, f64::max),
            FormulaFunction::Mean => there().sum::<f64>() / count as f64,
            _ => there().sum::<f64>() * width_seconds,
        }
    }
}

/// Each value becomes its difference to the one before, divided; the first has none before it.
fn change(values: &mut [f64], divisor: f64) {
    let mut before = f64::NAN;
    for value in values {
        let now = *value;
        *value = (now - before) / divisor;
        before = now;
    }
}
