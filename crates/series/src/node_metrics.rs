//! What a metric comes to at a node: what tables show.

use crate::MetricClass;

/// A metric at a node over a part of the run.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricValue {
    /// The metric's name.
    pub metric: String,
    /// Its title.
    pub title: String,
    /// Where it comes from.
    pub class: MetricClass,
    /// Collector or formula; empty for built-in metrics.
    pub origin: String,
    /// How the value was summed up: `total`, `average`, …
    pub calculation: &'static str,
    /// What it comes to; `None` where it has no value in that part.
    pub value: Option<f64>,
    /// Unit of the value.
    pub unit: String,
    /// Values in bins of equal length, NaN where there is none.
    pub course: Vec<f64>,
    /// Unit of these.
    pub course_unit: String,
    /// What a reader has to know: where a value was taken from, what was left out.
    pub notes: Vec<String>,
}

impl MetricValue {
    /// The smallest and the largest value of the course.
    #[must_use]
    pub fn range(&self) -> Option<(f64, f64)> {
        let known = self.course.iter().copied().filter(|value| !value.is_nan());
        known.fold(None, |range, value| match range {
            None => Some((value, value)),
            Some((least, most)) => Some((value.min(least), value.max(most))),
        })
    }
}

/// Metrics of a node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeMetrics {
    /// The node, as questions name it.
    pub node: String,
    /// Its name for people.
    pub name: String,
    /// Levels of the tree above it that are among those asked for.
    pub depth: usize,
    /// The metrics.
    pub figures: Vec<MetricValue>,
    /// What holds for all of them.
    pub notes: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_that_of_the_known_values() {
        let figure = |course: &[f64]| MetricValue {
            metric: "m".to_owned(),
            title: "M".to_owned(),
            class: MetricClass::External,
            origin: "kernel".to_owned(),
            calculation: "total",
            value: None,
            unit: String::new(),
            course: course.to_vec(),
            course_unit: "1/s".to_owned(),
            notes: Vec::new(),
        };
        assert_eq!(figure(&[f64::NAN, 2.0, -1.0, f64::NAN]).range(), Some((-1.0, 2.0)));
        assert_eq!(figure(&[f64::NAN]).range(), None);
    }
}
