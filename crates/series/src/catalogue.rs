//! Which name means what (`docs/series.md`, metrics): built-in, external and derived metrics of a recording, one of each
//! name, with their units, in an order in which they can be computed.
//!
//! In: the built-in metrics that have curves, what the series of a recording say of themselves, descriptions, definitions.
//! Out: a [`Catalogue`], and [`Note`]s of what was refused or taken for something else; whatever is refused, the rest is there.
//!
//! Kept true: an operand of a derived metric stands before it in [`Catalogue::metrics`].

mod announced;
mod builder;
mod derived;
mod metric;
mod note;
mod ordering;
#[cfg(test)]
mod tests;

use rustc_hash::{FxHashMap, FxHashSet};

pub use announced::SeriesAnnouncement;
pub use metric::{BuiltIn, CatalogueMetric};
pub use note::Note;

use crate::{Description, Descriptions, Evaluated, MetricClass, TextError, Window};

/// IPS-2's names of built-in metrics, and one more that explains itself.
pub(crate) const ALIASES: [(&str, &str); 3] =
    [("cpu_time", "running_seconds"), ("busy_waits", "spin_seconds"), ("spin_time", "spin_seconds")];

/// The metrics of a recording.
#[derive(Clone, Debug, Default)]
pub struct Catalogue {
    metrics: Vec<CatalogueMetric>,
    /// Places in `metrics` by name and by alias.
    by_name: FxHashMap<String, usize>,
}

impl Catalogue {
    /// Puts together what a recording has. Names are taken in this order: built-in metrics and their aliases, descriptions as
    /// they are given, series, definitions; a series whose name is taken by a built-in or a derived metric is renamed
    /// `NAME_external`, any other second metric of a name is refused. Definitions may name each other, in any order.
    #[must_use]
    pub fn new(
        built_in: &[BuiltIn],
        announced: &[SeriesAnnouncement],
        descriptions: Vec<Descriptions>,
        defines: &[String],
    ) -> (Catalogue, Vec<Note>) {
        builder::make(built_in, announced, descriptions, defines)
    }

    /// Adds a derived metric, `NAME = FORMULA`, and gives it back. It can name any metric that is there.
    ///
    /// # Errors
    /// Where the definition cannot be understood, its name is taken, an operand is unknown, or units do not fit; with the
    /// column. The catalogue is then as it was.
    pub fn define(&mut self, text: &str) -> Result<&CatalogueMetric, TextError> {
        let description = Description::define(text, note::DEFINE)?;
        self.check_free(&description)?;
        let (metric, _) = derived::derive(self, &description, &FxHashSet::default())?;
        let place = self.put(metric);
        Ok(&self.metrics[place])
    }

    /// All metrics, each after those that it is computed of.
    #[must_use]
    pub fn metrics(&self) -> &[CatalogueMetric] {
        &self.metrics
    }

    /// The metric of this name or alias.
    #[must_use]
    pub fn metric(&self, name: &str) -> Option<&CatalogueMetric> {
        self.by_name.get(name).map(|&place| &self.metrics[place])
    }

    /// A hint for a name that no metric has: `; did you mean page_faults?`, or nothing.
    #[must_use]
    pub fn hint(&self, name: &str) -> String {
        crate::nearest::did_you_mean(name, self.by_name.keys().map(String::as_str))
    }

    /// The built-in and external metrics that this one is computed of, in the order of evaluation; the metric itself, if it is
    /// one of them. Nothing for an unknown name.
    #[must_use]
    pub fn sources(&self, name: &str) -> Vec<&CatalogueMetric> {
        let needed = self.needed(name).into_iter().map(|place| &self.metrics[place]);
        needed.filter(|metric| metric.class != MetricClass::Derived).collect()
    }

    /// Computes a metric over the bins of a window; `course` gives the values of built-in and external metrics there, and is
    /// asked once for each. `None` for an unknown name.
    ///
    /// # Errors
    /// Those of `course`.
    pub fn evaluate<E>(
        &self,
        name: &str,
        window: &Window,
        course: &mut dyn FnMut(&CatalogueMetric) -> Result<Vec<f64>, E>,
    ) -> Result<Option<Evaluated>, E> {
        let mut computed: FxHashMap<usize, Vec<f64>> = FxHashMap::default();
        let (mut last, mut divided_by_zero) = (None, 0);
        for place in self.needed(name) {
            let metric = &self.metrics[place];
            let values = match &metric.formula {
                None => {
                    let mut values = course(metric)?;
                    values.resize(window.bins, f64::NAN);
                    values
                }
                Some(formula) => {
                    let mut operand = |name: &str| Ok::<_, E>(computed[&self.by_name[name]].clone());
                    let evaluated = formula.evaluate(window, &mut operand)?;
                    divided_by_zero = divided_by_zero.max(evaluated.divided_by_zero);
                    evaluated.values
                }
            };
            computed.insert(place, values);
            last = Some(place);
        }
        let values = last.and_then(|place| computed.remove(&place));
        Ok(values.map(|values| Evaluated { values, divided_by_zero }))
    }

    /// The places of a metric and of all that it is computed of, in the order of evaluation.
    fn needed(&self, name: &str) -> Vec<usize> {
        let Some(&wanted) = self.by_name.get(name) else { return Vec::new() };
        let mut needed = FxHashSet::from_iter([wanted]);
        for place in (0..=wanted).rev().collect::<Vec<_>>() {
            if let (true, Some(formula)) = (needed.contains(&place), &self.metrics[place].formula) {
                needed.extend(formula.operands().iter().map(|operand| self.by_name[operand]));
            }
        }
        let mut needed: Vec<_> = needed.into_iter().collect();
        needed.sort_unstable();
        needed
    }

    fn put(&mut self, metric: CatalogueMetric) -> usize {
        let place = self.metrics.len();
        self.by_name.insert(metric.name.clone(), place);
        self.metrics.push(metric);
        place
    }

    /// # Errors
    /// Where the description's name is that of a metric.
    fn check_free(&self, description: &Description) -> Result<(), TextError> {
        match self.metric(&description.name) {
            None => Ok(()),
            Some(metric) => Err(note::taken(description, metric.class.name(), &metric.name)),
        }
    }
}
