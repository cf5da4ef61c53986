//! Derived metrics: their operands found, their units inferred and held against what is stated.

use rustc_hash::FxHashSet;

use super::Catalogue;
use super::metric::{CatalogueMetric, table_label};
use crate::{
    Aggregation, Description, MetricClass, StatedUnit, TableCalculation, TextError, TreeLevel, Unit,
};

/// The metric that the description derives, and what is to be said of it. `refused` are metrics that were described
/// but are not there.
///
/// # Errors
/// Where an operand is not there, or units do not fit.
pub fn derive(
    catalogue: &Catalogue,
    described: &Description,
    refused: &FxHashSet<String>,
) -> Result<(CatalogueMetric, Option<String>), TextError> {
    let formula = described.formula.as_ref().expect("what is derived has a formula");
    let mut level = TreeLevel::Program;
    for operand in formula.operands() {
        match catalogue.metric(operand) {
            Some(metric) => level = level.max(metric.level),
            None => return Err(missing(catalogue, described, operand, refused)),
        }
    }
    let found = formula.unit(&mut |name| catalogue.metric(name).and_then(|metric| metric.unit.clone()));
    let found = found.map_err(|error| described.formula_error(&error.at, error.message))?;
    let (unit, unit_label, note) = held_against(found, described)?;
    let calculation = described.calculation.unwrap_or(TableCalculation::Average);
    let metric = CatalogueMetric {
        name: described.name.clone(),
        class: MetricClass::Derived,
        level: described.level.unwrap_or(level),
        aggregation: described.aggregation.unwrap_or(Aggregation::Average),
        calculation,
        title: described.name.clone(),
        axis_title: String::new(),
        table_title: String::new(),
        table_unit_label: table_label(calculation, unit.as_ref(), &unit_label),
        unit,
        unit_label,
        samples: None,
        series: None,
        formula: Some(formula.clone()),
    };
    Ok((metric.titled(Some(described)), note))
}

fn missing(
    catalogue: &Catalogue,
    described: &Description,
    operand: &str,
    refused: &FxHashSet<String>,
) -> TextError {
    let formula = described.formula.as_ref().expect("what is derived has a formula");
    let at = formula.place_of(operand).unwrap_or(0..0);
    let told = if operand == described.name {
        cycle(&[operand, operand])
    } else if refused.contains(operand) {
        format!("the metric {operand} was left out itself")
    } else {
        format!("no metric is named {operand}{}", catalogue.hint(operand))
    };
    described.formula_error(&at, told)
}

/// What is said of metrics that are computed of each other.
pub fn cycle(names: &[&str]) -> String {
    format!("a metric cannot be computed of itself: {}", names.join(" → "))
}

/// The metric's unit, how it is shown, and what is to be said of that. A plain number can be labelled as one likes, but for `%`, which
/// is a unit of its own; any other unit that is stated has to be the one that was found.
fn held_against(
    found: Option<Unit>,
    described: &Description,
) -> Result<(Option<Unit>, String, Option<String>), TextError> {
    let Some(StatedUnit { label, unit: stated, at }) = &described.unit else {
        let label = found.as_ref().map(Unit::to_string).unwrap_or_default();
        return Ok((found, label, None));
    };
    let percent = Unit::parse("%").expect("a unit");
    match found {
        None => Ok((Some(stated.clone()), label.clone(), None)),
        Some(found) if found == *stated => Ok((Some(found), label.clone(), None)),
        Some(found) if found.is_none() && *stated != percent => {
            let note = label.contains("percent").then(|| {
                format!("{} is a plain number labelled {label}: it is not multiplied by 100", described.name)
            });
            Ok((Some(found), label.clone(), note))
        }
        Some(found) => {
            let hint = if found.is_none() { "; 100% * (…) makes per cent of it" } else { "" };
            let told = format!("the formula is {}, and not in {stated}{hint}", found.told());
            Err(described.source.error(at, told))
        }
    }
}
