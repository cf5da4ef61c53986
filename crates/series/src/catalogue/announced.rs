//! What series say of themselves.

use longpole_event::SeriesKind;

use crate::{Aggregation, Series, TreeLevel};

/// What a series says of its metric.
#[derive(Clone, Debug, PartialEq)]
pub struct SeriesAnnouncement {
    /// The metric's name.
    pub metric: String,
    /// Its unit, empty where it has none.
    pub unit: String,
    /// How its numbers are to be read.
    pub samples: SeriesKind,
    /// The level of its node.
    pub level: TreeLevel,
    /// How its values go up the tree, where its collector knows.
    pub aggregation: Option<Aggregation>,
    /// Its name in headings, where its collector has one.
    pub title: Option<String>,
}

impl SeriesAnnouncement {
    /// What this series says.
    #[must_use]
    pub fn of(series: &Series) -> SeriesAnnouncement {
        SeriesAnnouncement {
            metric: series.metric.clone(),
            unit: series.unit.clone(),
            samples: series.samples,
            level: TreeLevel::from(series.node),
            aggregation: None,
            title: None,
        }
    }

    /// What several series of one metric say together: the deepest level; of what they differ in, the first says it, and
    /// `notes` get a sentence.
    pub(super) fn joined(all: &[&SeriesAnnouncement], notes: &mut Vec<String>) -> SeriesAnnouncement {
        let mut joined = all[0].clone();
        for other in &all[1..] {
            joined.level = joined.level.max(other.level);
            joined.aggregation = joined.aggregation.or(other.aggregation);
            joined.title = joined.title.or_else(|| other.title.clone());
        }
        let metric = &joined.metric;
        if let Some(other) = all.iter().find(|other| other.unit != joined.unit) {
            notes.push(format!(
                "series of {metric} have different units, \"{}\" and \"{}\": taken as \"{0}\", nothing is converted",
                joined.unit, other.unit
            ));
        }
        if let Some(other) = all.iter().find(|other| other.samples != joined.samples) {
            let (one, other) = (joined.samples.name(), other.samples.name());
            notes.push(format!("series of {metric} are read in different ways, as {one} and as {other}"));
        }
        joined
    }
}
