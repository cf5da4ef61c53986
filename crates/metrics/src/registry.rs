//! The registry: every number and every idea that reports show, with its name, unit, meaning and source.
//!
//! Column titles, `longpole metrics`, `longpole explain` and the documentation all come from these two tables, so
//! that they cannot disagree. Names are the keys of machine-readable output and stay the same within a major
//! release. Sources: Q Quartz, I IPS-2, M the comparison of metrics, C Carnival; § a section of metrics.md.

mod contention;
mod critical_path;
mod evidence;
mod gains;
mod identity;
mod npt;
mod parallelism;
mod profile;
mod recording;
mod topics;
mod view;
mod waits;

pub use topics::TOPICS;

/// What a number is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MetricUnit {
    /// Seconds.
    Seconds,
    /// Parts of a hundred.
    Percent,
    /// Percentage points.
    PercentagePoints,
    /// A number of things.
    Count,
    /// A mean number of threads.
    Threads,
    /// Not a number.
    Text,
}

impl MetricUnit {
    /// The unit as machine-readable output names it; empty for counts and texts.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            MetricUnit::Seconds => "s",
            MetricUnit::Percent => "%",
            MetricUnit::PercentagePoints => "percentage points",
            MetricUnit::Threads => "threads",
            MetricUnit::Count | MetricUnit::Text => "",
        }
    }
}

/// Which part of the output a metric belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MetricGroup {
    /// Says what a row is about.
    Identity,
    /// The view's own metric, whichever that is.
    View,
    /// The critical path.
    CriticalPath,
    /// What a change would gain.
    Gains,
    /// Normalised processor time.
    Npt,
    /// Profiles and thread states.
    Profile,
    /// Contention for objects.
    Contention,
    /// Parallelism over the run.
    Parallelism,
    /// Explained waits.
    Waits,
    /// The run as a whole.
    Recording,
    /// What the answer rests on.
    Evidence,
}

impl MetricGroup {
    /// Every group, in the order of documentation.
    pub const ALL: &'static [MetricGroup] = &[
        MetricGroup::Identity,
        MetricGroup::View,
        MetricGroup::CriticalPath,
        MetricGroup::Gains,
        MetricGroup::Npt,
        MetricGroup::Profile,
        MetricGroup::Contention,
        MetricGroup::Parallelism,
        MetricGroup::Waits,
        MetricGroup::Recording,
        MetricGroup::Evidence,
    ];

    /// The group's heading.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            MetricGroup::Identity => "What a row is about",
            MetricGroup::View => "The view's own metric",
            MetricGroup::CriticalPath => "Critical path",
            MetricGroup::Gains => "Slack, zeroing and what-if",
            MetricGroup::Npt => "Normalised processor time",
            MetricGroup::Profile => "Profiles and thread states",
            MetricGroup::Contention => "Objects",
            MetricGroup::Parallelism => "Parallelism",
            MetricGroup::Waits => "Explained waits",
            MetricGroup::Recording => "The run",
            MetricGroup::Evidence => "Evidence",
        }
    }
}

/// A metric or another column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetricDefinition {
    /// Key in machine-readable output.
    pub name: &'static str,
    /// Column title for people.
    pub title: &'static str,
    /// Unit.
    pub unit: MetricUnit,
    /// Where it belongs.
    pub group: MetricGroup,
    /// What it means, in one paragraph.
    pub explanation: &'static str,
    /// Where it is defined.
    pub source: &'static str,
}

/// An idea that more than one metric rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Topic {
    /// Name, as `longpole explain` takes it.
    pub name: &'static str,
    /// Heading.
    pub title: &'static str,
    /// What it is.
    pub explanation: &'static str,
    /// Where it is defined.
    pub source: &'static str,
}

/// The metric with this name.
#[must_use]
pub fn metric(name: &str) -> Option<&'static MetricDefinition> {
    METRICS.iter().find(|metric| metric.name == name)
}

/// The topic with this name; case, spaces and hyphens do not matter.
#[must_use]
pub fn topic(name: &str) -> Option<&'static Topic> {
    let plain = |text: &str| text.to_lowercase().replace([' ', '_'], "-");
    TOPICS.iter().find(|topic| plain(topic.name) == plain(name))
}

/// The name of the metric that holds the time blocked for a cause.
#[must_use]
pub fn blocked_metric(cause: longpole_trace::Cause) -> String {
    format!("blocked_{}_seconds", cause.name().replace(' ', "_"))
}

/// Every metric and column, by group.
pub const METRICS: &[MetricDefinition] = &joined::<{ length(PARTS) }>(PARTS);

const PARTS: &[&[MetricDefinition]] = &[
    identity::METRICS,
    view::METRICS,
    critical_path::METRICS,
    gains::METRICS,
    npt::METRICS,
    profile::METRICS,
    contention::METRICS,
    parallelism::METRICS,
    waits::METRICS,
    recording::METRICS,
    evidence::METRICS,
];

const fn length(parts: &[&[MetricDefinition]]) -> usize {
    let (mut sum, mut at) = (0, 0);
    while at < parts.len() {
        sum += parts[at].len();
        at += 1;
    }
    sum
}

const fn joined<const LENGTH: usize>(parts: &[&[MetricDefinition]]) -> [MetricDefinition; LENGTH] {
    let mut all = [parts[0][0]; LENGTH];
    let (mut part, mut next) = (0, 0);
    while part < parts.len() {
        let mut at = 0;
        while at < parts[part].len() {
            all[next] = parts[part][at];
            (next, at) = (next + 1, at + 1);
        }
        part += 1;
    }
    all
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use longpole_trace::Cause;

    use super::*;

    #[test]
    fn names_are_unique_and_fit_for_keys() {
        let names: BTreeSet<_> = METRICS.iter().map(|metric| metric.name).collect();
        assert_eq!(names.len(), METRICS.len());
        for name in names {
            let is_key_character = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
            assert!(!name.is_empty() && name.chars().all(is_key_character), "{name}");
        }
        let topics: BTreeSet<_> = TOPICS.iter().map(|topic| topic.name).collect();
        assert_eq!(topics.len(), TOPICS.len());
    }

    #[test]
    fn a_name_tells_its_unit() {
        for metric in METRICS {
            let is = |suffix: &str| metric.name.ends_with(suffix);
            assert_eq!(metric.unit == MetricUnit::Seconds, is("seconds"), "{}", metric.name);
            let is_share = matches!(metric.unit, MetricUnit::Percent | MetricUnit::PercentagePoints);
            assert_eq!(is_share, is("percent"), "{}", metric.name);
        }
    }

    #[test]
    fn everything_is_explained_by_sentences_with_a_source() {
        let metrics = METRICS.iter().map(|metric| (metric.title, metric.explanation, metric.source));
        let topics = TOPICS.iter().map(|topic| (topic.title, topic.explanation, topic.source));
        for (title, explanation, source) in metrics.chain(topics) {
            assert!(!title.is_empty());
            assert!(explanation.len() > 15 && explanation.ends_with('.'), "{title}");
            assert!(source.starts_with('§'), "{title}");
        }
    }

    #[test]
    fn groups_are_contiguous_and_in_their_order() {
        let mut groups: Vec<_> = METRICS.iter().map(|metric| metric.group).collect();
        groups.dedup();
        assert_eq!(groups, MetricGroup::ALL);
    }

    #[test]
    fn every_cause_of_a_wait_has_a_metric() {
        for &cause in Cause::ALL {
            assert!(metric(&blocked_metric(cause)).is_some(), "{cause}");
        }
    }

    #[test]
    fn topics_are_found_however_they_are_written() {
        assert_eq!(topic("Critical Path").map(|topic| topic.name), Some("critical-path"));
        assert_eq!(topic("call_path").map(|topic| topic.name), Some("call-path"));
        assert_eq!(topic("nothing"), None);
    }
}
