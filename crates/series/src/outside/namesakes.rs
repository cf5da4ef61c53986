//! Series of one name that are not of one metric: of other units, or read in another way.

use std::collections::BTreeMap;

use longpole_event::SeriesKind;

use super::Series;

/// Whether the collector is one of longpole's own: its name goes before what others call theirs.
fn is_own(collector: &str) -> bool {
    ["kernel", "process", "program"].contains(&collector) || collector.starts_with("counters")
}

/// Keeps a name for the series that agree with the first of longpole's own collectors that has it, else with the first
/// at all; the others are renamed `NAME_external`. What was renamed is told.
pub(super) fn part(series: &mut [Series]) -> Vec<String> {
    let mut first: BTreeMap<String, (bool, SeriesKind, String)> = BTreeMap::new();
    for one in series.iter() {
        let own = is_own(&one.collector);
        let kind = || (own, one.samples, one.unit.clone());
        let kept = first.entry(one.metric.clone()).or_insert_with(kind);
        if own && !kept.0 {
            *kept = kind();
        }
    }
    let mut notes = Vec::new();
    for one in series {
        let (_, samples, unit) = &first[&one.metric];
        if (one.samples, &one.unit) == (*samples, unit) {
            continue;
        }
        let Series { metric, collector, samples, unit, .. } = &*one;
        let renamed = format!("{metric}_external");
        let unit = if unit.is_empty() { "no unit" } else { unit };
        notes.push(format!(
            "{metric} of {collector} is a {} in {unit}, other than the metric of that name: it is shown as {renamed}",
            samples.name()
        ));
        one.metric = renamed;
    }
    notes.sort_unstable();
    notes.dedup();
    notes
}

#[cfg(test)]
mod tests {
    use longpole_event::MachineId;

    use super::*;
    use crate::OutsideNode;

    fn series(metric: &str, collector: &str, samples: SeriesKind, unit: &str) -> Series {
        Series {
            metric: metric.to_owned(),
            unit: unit.to_owned(),
            samples,
            node: OutsideNode::Machine(MachineId(0)),
            label: String::new(),
            collector: collector.to_owned(),
            end: None,
            values: Vec::new(),
        }
    }

    #[test]
    fn a_namesake_of_another_unit_does_not_hide_the_metric() {
        let mut all = [
            series("page_faults", "cmd:x", SeriesKind::Gauge, "pages"),
            series("page_faults", "process", SeriesKind::Counter, "faults"),
            series("page_faults", "counters", SeriesKind::Counter, "faults"),
            series("mine", "cmd:x", SeriesKind::Gauge, ""),
        ];
        let notes = part(&mut all);
        let names: Vec<&str> = all.iter().map(|one| one.metric.as_str()).collect();
        assert_eq!(names, ["page_faults_external", "page_faults", "page_faults", "mine"]);
        let told = "page_faults of cmd:x is a gauge in pages, other than the metric of that name";
        assert!(notes.len() == 1 && notes[0].starts_with(told), "{notes:?}");
    }
}
