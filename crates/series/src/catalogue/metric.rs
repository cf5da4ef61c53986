//! A metric of a catalogue.

use longpole_event::SeriesKind;

use super::announced::SeriesAnnouncement;
use crate::{Aggregation, Description, Formula, MetricClass, TableCalculation, TreeLevel, Unit};

/// A built-in metric that has curves.
#[derive(Clone, Debug, PartialEq)]
pub struct BuiltIn {
    /// Its name.
    pub name: String,
    /// Its name in headings.
    pub title: String,
    /// Unit of its curve: `threads` for times, which are seconds per second.
    pub unit: String,
    /// How a curve becomes the number of a table.
    pub calculation: TableCalculation,
}

/// A metric: what its name means, how it is added up and called.
#[derive(Clone, Debug, PartialEq)]
pub struct CatalogueMetric {
    /// Its name.
    pub name: String,
    /// Where its numbers come from.
    pub class: MetricClass,
    /// Below which level of the tree it has no value.
    pub level: TreeLevel,
    /// How values go up the tree; a derived metric is computed anew at every node and does not use it.
    pub aggregation: Aggregation,
    /// How a curve becomes the number of a table.
    pub calculation: TableCalculation,
    /// Its name in headings.
    pub title: String,
    /// Its name at the axis of a histogram.
    pub axis_title: String,
    /// Its name at the head of a table's column.
    pub table_title: String,
    /// Unit of its curve; `None` where nobody told.
    pub unit: Option<Unit>,
    /// Unit of its curve, as it is shown.
    pub unit_label: String,
    /// Unit of its number in tables, as it is shown.
    pub table_unit_label: String,
    /// How the numbers of its series are to be read, of an external metric.
    pub samples: Option<SeriesKind>,
    /// The metric that its series name, of an external metric that has some; it differs from the name when that was taken.
    pub series: Option<String>,
    /// What it is computed of, of a derived metric.
    pub formula: Option<Formula>,
}

impl CatalogueMetric {
    pub(super) fn built_in(from: &BuiltIn) -> CatalogueMetric {
        let unit = Unit::parse(&from.unit).ok();
        CatalogueMetric {
            name: from.name.clone(),
            class: MetricClass::BuiltIn,
            level: TreeLevel::Procedure,
            aggregation: Aggregation::Sum,
            calculation: from.calculation,
            title: from.title.clone(),
            axis_title: from.title.clone(),
            table_title: from.title.clone(),
            table_unit_label: table_label(from.calculation, unit.as_ref(), &from.unit),
            unit,
            unit_label: from.unit.clone(),
            samples: None,
            series: None,
            formula: None,
        }
    }

    /// An external metric: what its description says, else what its series say.
    pub(super) fn external(
        name: &str,
        said: Option<&SeriesAnnouncement>,
        described: Option<&Description>,
    ) -> CatalogueMetric {
        let samples = described.and_then(|one| one.samples).or(said.map(|said| said.samples));
        let samples = samples.unwrap_or(SeriesKind::Gauge);
        let (aggregation, calculation) = match samples {
            SeriesKind::Gauge => (Aggregation::Average, TableCalculation::Average),
            SeriesKind::Counter | SeriesKind::Amount => (Aggregation::Sum, TableCalculation::Total),
        };
        let stated = described.and_then(|one| one.aggregation).or(said.and_then(|said| said.aggregation));
        let level = described.and_then(|one| one.level).or(said.map(|said| said.level));
        let calculation = described.and_then(|one| one.calculation).unwrap_or(calculation);
        let units = ExternalUnits::of(said, described, samples, calculation);
        let metric = CatalogueMetric {
            name: name.to_owned(),
            class: MetricClass::External,
            level: level.unwrap_or(TreeLevel::Thread).min(TreeLevel::Thread),
            aggregation: stated.unwrap_or(aggregation),
            calculation,
            title: said.and_then(|said| said.title.clone()).unwrap_or_else(|| name.to_owned()),
            axis_title: String::new(),
            table_title: String::new(),
            unit: units.curve,
            unit_label: units.curve_label,
            table_unit_label: units.table_label,
            samples: Some(samples),
            series: said.map(|said| said.metric.clone()),
            formula: None,
        };
        metric.titled(described)
    }

    /// With the titles of its description; those that are not said are the title.
    pub(super) fn titled(mut self, described: Option<&Description>) -> CatalogueMetric {
        let said = |title: fn(&Description) -> &Option<String>| described.and_then(|one| title(one).clone());
        if let Some(title) = said(|one| &one.title) {
            self.title = title;
        }
        self.axis_title = said(|one| &one.axis_title).unwrap_or_else(|| self.title.clone());
        self.table_title = said(|one| &one.table_title).unwrap_or_else(|| self.title.clone());
        self
    }
}

/// Units of an external metric.
struct ExternalUnits {
    curve: Option<Unit>,
    curve_label: String,
    table_label: String,
}

impl ExternalUnits {
    /// Of the unit that its description states for its numbers, else of that of its series.
    fn of(
        said: Option<&SeriesAnnouncement>,
        described: Option<&Description>,
        samples: SeriesKind,
        calculation: TableCalculation,
    ) -> ExternalUnits {
        let (unit, label) = match (described.and_then(|one| one.unit.as_ref()), said) {
            (Some(stated), _) => (Some(stated.unit.clone()), stated.label.clone()),
            (None, Some(said)) => (Unit::parse(&said.unit).ok(), said.unit.clone()),
            (None, None) => (None, String::new()),
        };
        if samples == SeriesKind::Gauge {
            let table_label = table_label(calculation, unit.as_ref(), &label);
            return ExternalUnits { curve: unit, curve_label: label, table_label };
        }
        let curve_label = rate_label(&label);
        let is_total = calculation == TableCalculation::Total;
        ExternalUnits {
            curve: unit.map(|unit| unit.over(&Unit::seconds())),
            table_label: if is_total { label } else { curve_label.clone() },
            curve_label,
        }
    }
}

/// The unit of a curve of differences, of the unit of its numbers.
fn rate_label(label: &str) -> String {
    format!("{}/s", if label.is_empty() { "1" } else { label })
}

/// The unit of a table's number, of the unit of a curve: a total is over time.
pub(super) fn table_label(calculation: TableCalculation, unit: Option<&Unit>, label: &str) -> String {
    if calculation != TableCalculation::Total {
        return label.to_owned();
    }
    match unit {
        // What is only a label for a plain number stays one.
        Some(unit) if Unit::parse(label).is_ok_and(|meant| meant == *unit) => {
            unit.times(&Unit::seconds()).to_string()
        }
        Some(unit) if label.is_empty() => unit.times(&Unit::seconds()).to_string(),
        _ => format!("{label}*s"),
    }
}
