//! What fails a check: `critical_path.solve > +5%` (metrics.md §14).
//!
//! ```text
//!   elapsed > +10%               the run takes over 10 % longer than before
//!   critical_path.solve > +5%    `solve`, with all that it calls, has over 5 % more time on the path
//!   wait.table_lock > +20ms      threads wait over 20 ms longer for the lock
//!   cpu.self:parse > 1.5s        the procedure's own CPU time is over 1.5 s, whatever it was before
//! ```

use std::fmt;

use longpole_series::did_you_mean;

use crate::error::{Error, Result};

macro_rules! check_metrics {
    ($($name:ident $text:literal $about:literal;)*) => {
        /// What is compared.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum CheckMetric {
            $(#[doc = $about] $name,)*
        }

        impl CheckMetric {
            /// Every one, in the order of the documentation.
            pub const ALL: &'static [CheckMetric] = &[$(CheckMetric::$name),*];

            /// Its name in conditions.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(CheckMetric::$name => $text,)* }
            }
        }
    };
}

check_metrics! {
    Elapsed "elapsed" "The elapsed time of the run.";
    CriticalPath "critical_path" "Time on the critical path by CPU time.";
    Npt "npt" "Normalised processor time.";
    Cpu "cpu" "CPU time of all threads.";
    Wait "wait" "Waiting of all threads for each other, or for an object.";
}

/// Which change fails.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CheckLimit {
    /// By this part of what it was before: 0.05 is 5 %.
    Relative(f64),
    /// By these nanoseconds from what it was before.
    Difference(f64),
    /// These nanoseconds, whatever it was before.
    Absolute(f64),
}

/// A condition that fails a check.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckCondition {
    /// As it was written, with single blanks.
    pub text: String,
    /// What is compared.
    pub metric: CheckMetric,
    /// Of what; `None`: of the whole program.
    pub name: Option<String>,
    /// Only what is charged to the procedure itself.
    pub is_own: bool,
    /// Whether more than the limit fails; else less than it.
    pub is_upper: bool,
    /// The limit.
    pub limit: CheckLimit,
}

impl CheckCondition {
    /// Reads `METRIC[.NAME] >|< LIMIT`.
    ///
    /// # Errors
    /// [`Error::BadCondition`].
    pub fn parse(text: &str) -> Result<CheckCondition> {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let bad = |reason: String| Error::BadCondition { text: text.clone(), reason };
        // The last one: names of templates have some, too.
        let at = text
            .rfind(['>', '<'])
            .ok_or_else(|| bad("it needs `>` or `<`, as in `elapsed > +5%`".to_owned()))?;
        let is_upper = text[at..].starts_with('>');
        let subject = text[..at].trim();
        let (metric, name) = match subject.split_once('.') {
            Some((metric, name)) => (metric.trim(), Some(name.trim())),
            None => (subject, None),
        };
        let metric = metric_of(metric).map_err(&bad)?;
        if metric == CheckMetric::Elapsed && name.is_some() {
            return Err(bad("only the whole run has an elapsed time".to_owned()));
        }
        if name == Some("") {
            return Err(bad("a name follows the dot, as in `critical_path.solve`".to_owned()));
        }
        let own = name.and_then(|name| name.strip_prefix("self:"));
        let limit = limit_of(text[at + 1..].trim()).map_err(&bad)?;
        Ok(CheckCondition {
            metric,
            is_own: own.is_some(),
            name: own.or(name).map(str::to_owned),
            is_upper,
            limit,
            text,
        })
    }
}

impl fmt::Display for CheckCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn metric_of(name: &str) -> std::result::Result<CheckMetric, String> {
    let found = CheckMetric::ALL.iter().find(|metric| metric.name() == name);
    found.copied().ok_or_else(|| {
        let known: Vec<&str> = CheckMetric::ALL.iter().map(|metric| metric.name()).collect();
        let near = did_you_mean(name, known.iter().copied());
        format!("there is no `{name}` to compare{near} (known: {})", known.join(", "))
    })
}

fn limit_of(text: &str) -> std::result::Result<CheckLimit, String> {
    let is_signed = text.starts_with(['+', '-', '−']);
    let plain = text.replace('−', "-");
    let units = [("%", 0.01), ("ms", 1e6), ("us", 1e3), ("µs", 1e3), ("s", 1e9)];
    let known = "a limit is a change, as +5% or +20ms, or a time, as 1.5s";
    let (number, unit, factor) = units
        .iter()
        .find_map(|&(unit, factor)| Some((plain.strip_suffix(unit)?.trim(), unit, factor)))
        .ok_or_else(|| format!("`{text}` has no unit: {known}"))?;
    let number: f64 =
        number.parse().ok().filter(|number: &f64| number.is_finite()).ok_or(format!("`{text}`: {known}"))?;
    match (unit, is_signed) {
        ("%", false) => Err(format!("`{text}` is no change: write +{text} or -{text}")),
        ("%", true) if number <= -100.0 => Err(format!("`{text}` leaves nothing")),
        ("%", true) => Ok(CheckLimit::Relative(number * factor)),
        (_, true) => Ok(CheckLimit::Difference(number * factor)),
        (_, false) => Ok(CheckLimit::Absolute(number * factor)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> (CheckMetric, Option<String>, bool, bool, CheckLimit) {
        let condition = CheckCondition::parse(text).unwrap();
        (condition.metric, condition.name, condition.is_own, condition.is_upper, condition.limit)
    }

    #[test]
    fn a_condition_has_a_metric_a_name_and_a_limit() {
        use CheckLimit::{Absolute, Difference, Relative};
        let name = |text: &str| Some(text.to_owned());
        assert_eq!(
            parsed("critical_path.solve > +5%"),
            (CheckMetric::CriticalPath, name("solve"), false, true, Relative(0.05))
        );
        assert_eq!(parsed("elapsed>+20ms"), (CheckMetric::Elapsed, None, false, true, Difference(2e7)));
        assert_eq!(
            parsed("cpu.self:Vec<T>::push > 1.5s"),
            (CheckMetric::Cpu, name("Vec<T>::push"), true, true, Absolute(1.5e9))
        );
        assert_eq!(
            parsed("wait.object:a.b < -50 %"),
            (CheckMetric::Wait, name("object:a.b"), false, false, Relative(-0.5))
        );
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, said) in [
            ("elapsed", "needs `>`"),
            ("elapst > +5%", "did you mean elapsed?"),
            ("elapsed.x > +5%", "only the whole run"),
            ("npt. > +5%", "a name follows"),
            ("npt > 5%", "write +5%"),
            ("npt > +5", "no unit"),
            ("npt > +xs", "a limit is"),
            ("npt < -100%", "leaves nothing"),
        ] {
            let error = CheckCondition::parse(text).unwrap_err().to_string();
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}
