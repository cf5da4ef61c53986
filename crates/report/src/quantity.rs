//! Numbers as people read them.

const NANOSECONDS: f64 = 1e9;

/// Nanoseconds as seconds.
pub(crate) fn seconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / NANOSECONDS
}

/// Of shares that a damaged recording makes larger than any.
const LARGEST_PERCENT: f64 = 1e9;

/// `part` of `whole` in percent; 0 of nothing and of what is no number.
pub(crate) fn percent(part: f64, whole: f64) -> f64 {
    let share = if whole > 0.0 { 100.0 * part / whole } else { 0.0 };
    if share.is_nan() { 0.0 } else { share.clamp(-LARGEST_PERCENT, LARGEST_PERCENT) }
}

/// A time in the unit that suits it: `3.21 s`, `412 ms`, `87 µs`.
pub(crate) fn time_text(nanoseconds: u64) -> String {
    let scale = Scale::of(seconds(nanoseconds));
    let value = seconds(nanoseconds) * scale.factor;
    let digits = match value {
        v if v >= 99.95 || v == 0.0 => 0,
        v if v >= 9.995 => 1,
        _ => 2,
    };
    format!("{value:.digits$} {}", scale.unit)
}

/// A share in a sentence: `61 %`, `3.4 %`, `below 0.1 %`.
pub(crate) fn percent_text(percent: f64) -> String {
    match percent {
        p if p >= LARGEST_PERCENT => "more than can be".to_owned(),
        p if p >= 9.95 || p == 0.0 => format!("{p:.0} %"),
        p if p >= 0.1 => format!("{p:.1} %"),
        _ => "below 0.1 %".to_owned(),
    }
}

/// A share with its standard error, in a sentence: `61 % ± 2`.
pub(crate) fn percent_with_error(percent: f64, error: Option<f64>) -> String {
    let text = percent_text(percent);
    match error {
        Some(error) if error >= 0.95 => format!("{text} ± {error:.0}"),
        Some(error) if error >= 0.05 => format!("{text} ± {error:.1}"),
        _ => text,
    }
}

/// A number of things: `1 thread`, `12,345 events`.
pub(crate) fn count_of(count: u64, noun: &str) -> String {
    let plural = match noun {
        _ if count == 1 => noun.to_owned(),
        noun if noun.ends_with("ss") || noun.ends_with("ch") => format!("{noun}es"),
        noun => format!("{noun}s"),
    };
    format!("{} {plural}", grouped(count))
}

/// A number of processors, with two decimals at most: `2`, `0.5`.
pub(crate) fn rounded(processors: f64) -> String {
    ((100.0 * processors).round() / 100.0).to_string()
}

/// Digits in groups of three: `1,234,567`.
pub(crate) fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The unit of a column of times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Scale {
    /// What seconds are multiplied by.
    pub factor: f64,
    /// The unit's sign.
    pub unit: &'static str,
    /// Digits after the point: four digits of the largest.
    digits: usize,
}

impl Scale {
    /// The unit in which the largest of a column's times has one to three digits before the point.
    pub(crate) fn of(largest_seconds: f64) -> Scale {
        let (factor, unit) = match largest_seconds {
            s if s >= 0.9995 || s == 0.0 => (1.0, "s"),
            s if s >= 0.999_5e-3 => (1e3, "ms"),
            _ => (1e6, "µs"),
        };
        let digits = match largest_seconds * factor {
            value if value >= 99.995 => 1,
            value if value >= 9.9995 => 2,
            _ => 3,
        };
        Scale { factor, unit, digits }
    }

    /// The time as a cell of the column.
    pub(crate) fn cell(self, seconds: f64) -> String {
        format!("{:.*}", self.digits, seconds * self.factor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_take_the_unit_that_suits_them() {
        assert_eq!(time_text(3_214_000_000), "3.21 s");
        assert_eq!(time_text(412_300_000), "412 ms");
        assert_eq!(time_text(12_340_000), "12.3 ms");
        assert_eq!(time_text(87_000), "87.0 µs");
        assert_eq!(time_text(0), "0 s");
        assert_eq!(time_text(999_900_000), "1.00 s");
    }

    #[test]
    fn a_column_of_times_has_one_unit_and_four_digits_of_the_largest() {
        assert_eq!((Scale::of(0.41).unit, Scale::of(0.41).cell(0.0213).as_str()), ("ms", "21.3"));
        assert_eq!((Scale::of(41.0).unit, Scale::of(41.0).cell(0.0213).as_str()), ("s", "0.02"));
        assert_eq!(Scale::of(1.0).cell(0.0213), "0.021");
    }

    #[test]
    fn shares_keep_the_digits_that_their_error_leaves() {
        assert_eq!(percent_with_error(61.2, Some(1.9)), "61 % ± 2");
        assert_eq!(percent_with_error(61.2, Some(0.3)), "61 % ± 0.3");
        assert_eq!(percent_with_error(61.2, None), "61 %");
        assert_eq!(percent_text(0.01), "below 0.1 %");
        assert_eq!(percent(1.0, 0.0), 0.0);
        assert_eq!(percent(f64::NAN, 1.0), 0.0);
        for part in [f64::INFINITY, f64::MAX] {
            assert_eq!(percent_text(percent(part, 1e-300)), "more than can be");
        }
    }

    #[test]
    fn counts_are_grouped_and_agree_with_their_noun() {
        assert_eq!(count_of(1, "thread"), "1 thread");
        assert_eq!(count_of(2, "process"), "2 processes");
        assert_eq!(count_of(1_234_567, "switch"), "1,234,567 switches");
        assert_eq!(count_of(0, "event"), "0 events");
        assert_eq!(grouped(100), "100");
    }
}
