//! `longpole what-if --remap`: the recorded accesses with the data in another layout (docs/communication.md).

use longpole_communication::{LayoutObject, LayoutOutcome, LayoutSimulator};
use longpole_metrics::By;

use crate::findings::in_shell;
use crate::input::{ReportInput, ReportOptions, ReportTables};
use crate::quantity::{count_of, grouped, percent, percent_text, time_text};
use crate::report::{Report, Row};
use crate::table::{Show, TextTable, shown};
use crate::text::TextSection;

/// The name of the report in JSON.
const NAME: &str = "what-if";
const COLUMNS: [&str; 15] = [
    "section",
    "change",
    "object",
    "kind",
    "transfers_before",
    "transfers",
    "transfers_gain_percent",
    "requests_low",
    "requests_high",
    "requests",
    "request_seconds",
    "virtual_seconds",
    "virtual_gain_seconds",
    "virtual_gain_percent",
    "percent",
];
/// Objects whose transfers are in the text.
const OBJECTS: usize = 8;

/// A layout that was simulated.
#[derive(Clone, Debug, PartialEq)]
pub struct LayoutTrial {
    /// The changes as they were asked for: `pad:counters=64`.
    pub texts: Vec<String>,
    /// What they mean: `pad counters to 64 bytes`.
    pub label: String,
    /// What it moves.
    pub outcome: LayoutOutcome,
}

/// Builds the report of layouts, each by itself, and of all changes `together` where there are several that were asked for.
#[must_use]
pub fn build_layouts(
    input: &ReportInput<'_>,
    options: &ReportOptions,
    simulator: &LayoutSimulator<'_>,
    (trials, together, are_suggested): (&[LayoutTrial], Option<&LayoutOutcome>, bool),
) -> Report {
    let input = &ReportTables::new(*input);
    let options = ReportOptions { by: By::Object, ..options.clone() };
    let mut report = Report::named(NAME, input, &options, &COLUMNS);
    let before = simulator.before();
    let mut lines = vec![(layout_row("recorded", "", before, before), "as recorded".to_owned())];
    lines.extend(trials.iter().map(|trial| {
        (layout_row("change", &trial.texts.join(" "), &trial.outcome, before), trial.label.clone())
    }));
    let all = "all together";
    lines.extend(together.map(|outcome| (layout_row("together", all, outcome, before), all.to_owned())));
    let after = match (together, trials) {
        (Some(together), _) => Some(together),
        (None, [one]) => Some(&one.outcome),
        _ => None,
    };
    let objects = after.map(|after| object_rows(simulator.objects(), after)).unwrap_or_default();
    report.rows = lines.iter().chain(&objects).map(|(row, _)| row.clone()).collect();
    report.sections.push(TextSection::Headline(headline(simulator, trials, after)));
    report.sections.push(TextSection::Remark(limits(simulator)));
    report.sections.extend([TextSection::Blank, TextSection::Table(table(lines))]);
    if !objects.is_empty() {
        report.sections.extend(object_sections(objects));
    }
    if are_suggested {
        report.sections.push(TextSection::Blank);
        report.sections.extend(trials.iter().map(command));
    }
    report.sections.extend(warnings(simulator, trials, together));
    report
}

fn layout_row(section: &'static str, change: &str, outcome: &LayoutOutcome, before: &LayoutOutcome) -> Row {
    let saved = |value: fn(&LayoutOutcome) -> u64| value(before) as f64 - value(outcome) as f64;
    let (transfers, elapsed) = (saved(|one| one.transfers), saved(|one| one.elapsed));
    let row = Row::default()
        .text("section", section)
        .text("change", change)
        .count("transfers", outcome.transfers)
        .count("requests_low", outcome.low)
        .count("requests_high", outcome.high)
        .count("requests", outcome.requests)
        .time("request_seconds", outcome.cost)
        .time("virtual_seconds", outcome.elapsed);
    if section == "recorded" {
        return row;
    }
    row.count("transfers_before", before.transfers)
        .percent("transfers_gain_percent", percent(transfers, before.transfers as f64))
        .fraction("virtual_gain_seconds", elapsed)
        .percent("virtual_gain_percent", percent(elapsed, before.elapsed as f64))
}

/// Objects whose transfers differ, those with the largest difference first.
fn object_rows(objects: &[LayoutObject], after: &LayoutOutcome) -> Vec<(Row, String)> {
    let mut changed: Vec<_> =
        objects.iter().zip(&after.objects).filter(|(object, after)| object.before != **after).collect();
    changed.sort_by_key(|(object, after)| {
        (std::cmp::Reverse(object.before.transfers.abs_diff(after.transfers)), &object.name)
    });
    let row = |(object, after): (&LayoutObject, &longpole_communication::ObjectTransfers)| {
        let before = object.before;
        let saved = before.transfers as f64 - after.transfers as f64;
        let row = Row::default()
            .text("section", "object")
            .text("object", &object.name)
            .text("kind", object.kind)
            .count("transfers_before", before.transfers)
            .count("transfers", after.transfers)
            .percent("transfers_gain_percent", percent(saved, before.transfers as f64))
            .count("requests", after.requests)
            .time("request_seconds", after.cost);
        (row, object.name.clone())
    };
    changed.into_iter().map(row).collect()
}

fn headline(
    simulator: &LayoutSimulator<'_>,
    trials: &[LayoutTrial],
    after: Option<&LayoutOutcome>,
) -> String {
    let before = simulator.before();
    let Some(after) = after else {
        return match trials {
            [] => format!(
                "Nothing to try: of {}, no object's are mostly false sharing",
                count_of(before.transfers, "transfer")
            ),
            several => format!(
                "{} for {} as recorded",
                count_of(several.len() as u64, "layout"),
                count_of(before.transfers, "transfer")
            ),
        };
    };
    let labels: Vec<&str> = trials.iter().map(|trial| trial.label.as_str()).collect();
    let gain = percent(before.elapsed as f64 - after.elapsed as f64, before.elapsed as f64);
    let change = match gain {
        gain if gain.abs() < 0.05 => "the virtual time stays the same".to_owned(),
        gain if gain > 0.0 => format!("the virtual time is {} shorter", percent_text(gain)),
        gain => format!("the virtual time is {} longer", percent_text(-gain)),
    };
    format!(
        "What if {}: {} → {}; {change}",
        labels.join(", "),
        grouped(before.transfers),
        count_of(after.transfers, "transfer"),
    )
}

fn limits(simulator: &LayoutSimulator<'_>) -> String {
    let unit = match simulator.unit() {
        64 => "cache lines of 64 bytes".to_owned(),
        bytes => format!("units of {} bytes", grouped(bytes)),
    };
    format!(
        "Each layout is simulated (protocol {}, {unit}) from the same {}, with locks and barriers in virtual time, which has \
         no other work than accesses: {} as recorded. What does not change keeps its address, and what changes lies on units \
         of its own; in a rebuilt program other data may move too. Costs are those of the model, not of this machine.",
        simulator.protocol(),
        count_of(simulator.accesses(), "access"),
        time_text(simulator.before().elapsed),
    )
}

fn table(lines: Vec<(Row, String)>) -> TextTable {
    TextTable {
        columns: vec![
            shown("transfers", Show::Count("transfers")),
            shown("less %", Show::Percent("transfers_gain_percent")),
            shown("any order from", Show::Count("requests_low")).optional(),
            shown("to", Show::Count("requests_high")).optional(),
            shown("cost", Show::Time("request_seconds")),
            shown("virtual", Show::Time("virtual_seconds")),
            shown("gain %", Show::Percent("virtual_gain_percent")),
        ],
        name_title: "layout".to_owned(),
        rows: lines,
    }
}

fn object_sections(objects: Vec<(Row, String)>) -> Vec<TextSection> {
    let left = objects.len().saturating_sub(OBJECTS);
    let table = TextTable {
        columns: vec![
            shown("recorded", Show::Count("transfers_before")),
            shown("after", Show::Count("transfers")),
        ],
        name_title: "transfers of".to_owned(),
        rows: objects.into_iter().take(OBJECTS).collect(),
    };
    let mut sections = vec![TextSection::Blank, TextSection::Table(table)];
    if left > 0 {
        let left = count_of(left as u64, "more object");
        sections.push(TextSection::Remark(format!("{left} in JSON.")));
    }
    sections
}

/// The command that asks for one layout alone.
fn command(trial: &LayoutTrial) -> TextSection {
    let changes: Vec<String> = trial.texts.iter().map(|text| format!("--remap {}", in_shell(text))).collect();
    TextSection::Command {
        command: format!("longpole what-if {}", changes.join(" ")),
        shows: "which data it moves".to_owned(),
    }
}

fn warnings(
    simulator: &LayoutSimulator<'_>,
    trials: &[LayoutTrial],
    together: Option<&LayoutOutcome>,
) -> Vec<TextSection> {
    let outcomes = trials.iter().map(|trial| &trial.outcome).chain(together);
    let unplaced = outcomes.clone().map(|outcome| outcome.unplaced).max().unwrap_or(0);
    let unfollowed = outcomes.map(|outcome| outcome.unfollowed).max().unwrap_or(0);
    let unfollowed = unfollowed.max(simulator.before().unfollowed);
    let of =
        |count: u64, what: &str, rest: &str| (count > 0).then(|| format!("{} {rest}", count_of(count, what)));
    [
        of(unplaced, "block", "kept the recorded layout: the new one is too large"),
        of(
            unfollowed,
            "step",
            "waited in the recorded run for what comes later in virtual time, and went on without",
        ),
        of(
            simulator.lost_blocks(),
            "block",
            "of the log of accesses missing or damaged: there were more accesses",
        ),
    ]
    .into_iter()
    .flatten()
    .map(TextSection::Warning)
    .collect()
}
