//! A catalogue put together: names are taken in the order of their rank, then derived metrics are resolved.

use rustc_hash::{FxHashMap, FxHashSet};

use super::announced::SeriesAnnouncement;
use super::metric::{BuiltIn, CatalogueMetric};
use super::note::{self, Note};
use super::{ALIASES, Catalogue, derived, ordering};
use crate::{Description, Descriptions, MetricClass, TextError, Unit};

/// Appended to the name of a series that something else has.
const RENAMED: &str = "_external";

/// A catalogue on the way.
#[derive(Default)]
struct CatalogueBuilder {
    catalogue: Catalogue,
    /// Descriptions of external metrics, in their order, and their places by name.
    external: Vec<Description>,
    external_by_name: FxHashMap<String, usize>,
    /// Descriptions and definitions of derived metrics, in their order.
    derived: Vec<Description>,
    derived_names: FxHashSet<String>,
    notes: Vec<Note>,
}

pub fn make(
    built_in: &[BuiltIn],
    announced: &[SeriesAnnouncement],
    descriptions: Vec<Descriptions>,
    defines: &[String],
) -> (Catalogue, Vec<Note>) {
    let mut making = CatalogueBuilder::default();
    making.built_in(built_in);
    for file in descriptions {
        making.notes.extend(file.notes.into_iter().map(Note::Said));
        file.descriptions.into_iter().for_each(|description| making.describe(description));
    }
    making.series(announced);
    for text in defines {
        match Description::define(text, note::DEFINE) {
            Ok(description) => making.describe(description),
            Err(error) => {
                let metric = text.split('=').next().unwrap_or_default().trim().to_owned();
                making.notes.push(Note::Refused { metric, define: Some(text.clone()), error });
            }
        }
    }
    making.resolve();
    (making.catalogue, making.notes)
}

impl CatalogueBuilder {
    fn built_in(&mut self, built_in: &[BuiltIn]) {
        for one in built_in {
            self.catalogue.put(CatalogueMetric::built_in(one));
        }
        for (alias, name) in ALIASES {
            if let (Some(&place), None) = (self.catalogue.by_name.get(name), self.catalogue.metric(alias)) {
                self.catalogue.by_name.insert(alias.to_owned(), place);
            }
        }
    }

    /// Takes a description, unless its name is taken.
    fn describe(&mut self, description: Description) {
        if let Err(error) = self.check_free(&description) {
            self.notes.push(Note::refused(&description, error));
        } else if description.class == MetricClass::Derived {
            self.derived_names.insert(description.name.clone());
            self.derived.push(description);
        } else {
            self.external_by_name.insert(description.name.clone(), self.external.len());
            self.external.push(description);
        }
    }

    fn check_free(&self, description: &Description) -> Result<(), TextError> {
        self.catalogue.check_free(description)?;
        let name = &description.name;
        let is_derived = self.derived_names.contains(name);
        if !is_derived && !self.external_by_name.contains_key(name) {
            return Ok(());
        }
        let class = if is_derived { MetricClass::Derived } else { MetricClass::External };
        Err(note::taken(description, class.name(), name))
    }

    /// External metrics: those that have series, in the order of their names, then those that are only described.
    fn series(&mut self, announced: &[SeriesAnnouncement]) {
        let mut by_metric: FxHashMap<&str, Vec<&SeriesAnnouncement>> = FxHashMap::default();
        for one in announced {
            by_metric.entry(&one.metric).or_default().push(one);
        }
        let mut metrics: Vec<_> = by_metric.into_iter().collect();
        metrics.sort_unstable_by_key(|(metric, _)| *metric);
        let names: FxHashSet<&str> = metrics.iter().map(|(metric, _)| *metric).collect();
        for (metric, all) in &metrics {
            let mut sentences = Vec::new();
            let said = SeriesAnnouncement::joined(all, &mut sentences);
            self.notes.extend(sentences.into_iter().map(Note::Said));
            let name = self.free_name(metric, &names);
            self.external_metric(&name, &said);
        }
        for description in &self.external {
            if self.catalogue.metric(&description.name).is_none() {
                self.catalogue.put(CatalogueMetric::external(&description.name, None, Some(description)));
            }
        }
    }

    /// The name that the series' metric gets; it is said where that is another one. No other series has it.
    fn free_name(&mut self, metric: &str, series: &FxHashSet<&str>) -> String {
        let is_taken =
            |name: &str| self.catalogue.metric(name).is_some() || self.derived_names.contains(name);
        if !is_taken(metric) {
            return metric.to_owned();
        }
        let mut name = format!("{metric}{RENAMED}");
        while is_taken(&name) || series.contains(name.as_str()) {
            name.push_str(RENAMED);
        }
        let class =
            if self.derived_names.contains(metric) { MetricClass::Derived } else { MetricClass::BuiltIn };
        let said = format!("the series {metric} is shown as {name}: a {} metric has its name", class.name());
        self.notes.push(Note::Said(said));
        name
    }

    fn external_metric(&mut self, name: &str, said: &SeriesAnnouncement) {
        let described = self.external_by_name.get(name).map(|&place| &self.external[place]);
        let metric = CatalogueMetric::external(name, Some(said), described);
        let own = Unit::parse(&said.unit);
        if let (Some(stated), false) = (described.and_then(|one| one.unit.as_ref()), said.unit.is_empty()) {
            if own.as_ref() != Ok(&stated.unit) {
                self.notes.push(Note::Said(format!(
                    "{name} is described in {}, its series are in {}: nothing is converted",
                    stated.label, said.unit
                )));
            }
        } else if let Err(bad) = own {
            let told = format!("{name}: its unit {:?} is shown, but no formula can check it", bad.text);
            self.notes.push(Note::Said(told));
        }
        self.catalogue.put(metric);
    }

    /// Derived metrics, each after its operands.
    fn resolve(&mut self) {
        let ordering = ordering::order(&self.derived);
        let mut refused: FxHashSet<String> = FxHashSet::default();
        for place in ordering.order {
            let description = &self.derived[place];
            let made = match ordering.cycles.get(&place) {
                Some(names) => Err(cycle_error(description, names)),
                None => derived::derive(&self.catalogue, description, &refused),
            };
            match made {
                Ok((metric, note)) => {
                    self.notes.extend(note.map(Note::Said));
                    self.catalogue.put(metric);
                }
                Err(error) => {
                    refused.insert(description.name.clone());
                    self.notes.push(Note::refused(description, error));
                }
            }
        }
    }
}

fn cycle_error(description: &Description, names: &[String]) -> TextError {
    let formula = description.formula.as_ref().expect("what is derived has a formula");
    let at = names.get(1).and_then(|next| formula.place_of(next)).unwrap_or(0..0);
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    description.formula_error(&at, derived::cycle(&names))
}
