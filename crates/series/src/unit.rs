//! Units of metrics: products of powers of named bases (`docs/metrics-files.md`, units).
//!
//! A base is any name: `s`, `B`, `faults`, `percent_bus`. Two units are the same when they have the same bases to
//! the same powers; nothing is ever scaled, so `ms` is not `s`, and `%` is a base of its own and not a hundredth.
//! `threads` (seconds per second) is the number one: a mean number of threads is a ratio of times.
//!
//! ```text
//!   faults/s  ×  s       = faults            B/s  ÷  faults/s  = B/faults
//!   threads   ÷  s/s     = a plain number    1/s  ×  B         = B/s
//! ```

use std::collections::BTreeMap;
use std::fmt;

/// Highest power of a base; products beyond it stay there.
const HIGHEST: i32 = 99;

/// A unit; the default one is that of plain numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Unit {
    /// Powers by base, none of them zero.
    powers: BTreeMap<String, i32>,
}

/// What is wrong with the text of a unit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("understand the unit {text:?}: {}", self.expectation())]
pub struct BadUnit {
    /// The text.
    pub text: String,
}

impl BadUnit {
    /// What was expected.
    #[must_use]
    pub fn expectation(&self) -> &'static str {
        "expected a unit: names joined by * and /, such as bytes/s or s^2"
    }
}

impl Unit {
    /// The unit of plain numbers.
    #[must_use]
    pub fn none() -> Unit {
        Unit::default()
    }

    /// Seconds.
    #[must_use]
    pub fn seconds() -> Unit {
        Unit { powers: BTreeMap::from([("s".to_owned(), 1)]) }
    }

    /// Reads `bytes/s`, `1/s`, `s^2`, `bytes*s`; nothing, `1` and `threads` are plain numbers. Every base after a `/` divides up
    /// to the next `*`.
    ///
    /// # Errors
    /// Where a name is missing, or a power is not a number of at most two digits.
    pub fn parse(text: &str) -> Result<Unit, BadUnit> {
        let bad = || BadUnit { text: text.to_owned() };
        let mut unit = Unit::none();
        let (mut rest, mut sign) = (text.trim(), 1);
        if rest.is_empty() {
            return Ok(unit);
        }
        loop {
            let end = rest.find(['*', '/']).unwrap_or(rest.len());
            let (base, power) = factor(rest[..end].trim()).ok_or_else(bad)?;
            unit.multiply_by(base, sign * power);
            match rest[end..].chars().next() {
                None => return Ok(unit),
                Some(operator) => sign = if operator == '/' { -1 } else { 1 },
            }
            rest = &rest[end + 1..];
        }
    }

    /// Whether it is that of plain numbers.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.powers.is_empty()
    }

    /// The unit of a product.
    #[must_use]
    pub fn times(&self, other: &Unit) -> Unit {
        self.joined(other, 1)
    }

    /// The unit of a quotient.
    #[must_use]
    pub fn over(&self, other: &Unit) -> Unit {
        self.joined(other, -1)
    }

    fn joined(&self, other: &Unit, sign: i32) -> Unit {
        let mut unit = self.clone();
        for (base, power) in &other.powers {
            unit.multiply_by(base, sign * power);
        }
        unit
    }

    fn multiply_by(&mut self, base: &str, power: i32) {
        let Some(base) = one_name(base) else { return };
        let all = self.powers.entry(base.to_owned()).or_default();
        *all = (*all + power).clamp(-HIGHEST, HIGHEST);
        if *all == 0 {
            self.powers.remove(base);
        }
    }

    /// The unit in a sentence: `a plain number` where it has none.
    #[must_use]
    pub fn told(&self) -> String {
        if self.is_none() { "a plain number".to_owned() } else { format!("in {self}") }
    }
}

/// A base and its power, of `bytes`, `s^2` or `1`.
fn factor(text: &str) -> Option<(&str, i32)> {
    let (base, power) = match text.split_once('^') {
        Some((base, power)) => (base.trim(), power.trim().parse().ok().filter(|&power| within(power))?),
        None => (text, 1),
    };
    let is_name = |character: char| character.is_alphanumeric() || "_%.-°".contains(character);
    let is_one = base == "1";
    let starts_well = base.starts_with(|first: char| !first.is_ascii_digit() && !"-.".contains(first));
    (is_one || starts_well && base.chars().all(is_name)).then_some((base, power))
}

fn within(power: i32) -> bool {
    (-HIGHEST..=HIGHEST).contains(&power)
}

/// The one name of a base that has several; nothing for what is a plain number.
fn one_name(base: &str) -> Option<&str> {
    match base {
        "1" | "thread" | "threads" => None,
        "sec" | "second" | "seconds" => Some("s"),
        "percent" => Some("%"),
        "byte" | "bytes" => Some("B"),
        other => Some(other),
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut is_first = true;
        for (base, power) in self.powers.iter().filter(|(_, power)| **power > 0) {
            out.write_str(if is_first { "" } else { "*" })?;
            write_power(out, base, *power)?;
            is_first = false;
        }
        for (base, power) in self.powers.iter().filter(|(_, power)| **power < 0) {
            out.write_str(if is_first { "1/" } else { "/" })?;
            write_power(out, base, -power)?;
            is_first = false;
        }
        Ok(())
    }
}

fn write_power(out: &mut fmt::Formatter<'_>, base: &str, power: i32) -> fmt::Result {
    if power == 1 { out.write_str(base) } else { write!(out, "{base}^{power}") }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn unit(text: &str) -> Unit {
        Unit::parse(text).unwrap()
    }

    #[test]
    fn units_are_products_of_powers() {
        assert_eq!(unit("faults/s").times(&Unit::seconds()), unit("faults"));
        assert_eq!(unit("bytes/s").over(&unit("faults/s")), unit("bytes/faults"));
        assert_eq!(unit("1/s").times(&unit("bytes")).to_string(), "B/s");
        assert_eq!(unit("a/b/c*d^2").to_string(), "a*d^2/b/c");
        assert_eq!(unit("s/s"), Unit::none());
        assert_eq!(unit("1/s").to_string(), "1/s");
        assert_eq!(unit(" kg * m ^ 2 / s ^ 2 "), unit("m^2*kg*s^-2"));
    }

    #[test]
    fn threads_are_a_plain_number_and_percent_is_not() {
        assert_eq!(unit("threads"), Unit::none());
        assert_eq!(unit(""), Unit::none());
        assert_eq!(unit("seconds/second"), Unit::none());
        assert_ne!(unit("%"), Unit::none());
        assert_eq!(unit("percent"), unit("%"));
        assert_ne!(unit("percent_cpu"), unit("%"));
        assert_ne!(unit("ms"), unit("s"));
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["/s", "bytes/", "2", "a b", "s^", "s^x", "s^100", "a**b", "(s)", "1s", "-s", "^2"] {
            assert_eq!(Unit::parse(text), Err(BadUnit { text: text.to_owned() }), "{text}");
        }
    }

    #[test]
    fn powers_stay_where_numbers_can_hold_them() {
        let mut unit = unit("s^99");
        for _ in 0..40 {
            unit = unit.times(&unit);
        }
        assert_eq!(unit.to_string(), "s^99");
    }

    proptest! {
        #[test]
        fn what_is_printed_reads_as_itself(
            powers in proptest::collection::btree_map("[a-z%_][a-z0-9_]{0,6}", -9_i32..10, 0..5)
        ) {
            let mut made = Unit::none();
            for (base, power) in &powers {
                made.multiply_by(base, *power);
            }
            prop_assert_eq!(Unit::parse(&made.to_string()), Ok(made.clone()));
            prop_assert_eq!(made.over(&made), Unit::none());
            prop_assert_eq!(made.times(&made).over(&made), made);
        }
    }
}
