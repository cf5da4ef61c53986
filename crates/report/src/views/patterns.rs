//! `patterns`: how the threads share the units of each object, and the data in them (C §2.2).

use std::collections::BTreeSet;

use longpole_communication::{
    AccessPattern, DataTransfers, FollowedRequests, PatternTallies, RecordedCommunication, UnitClass,
};
use longpole_trace::Fold;

use super::ROWS_OF_TEXT;
use super::communication::{PATTERNS, command, doubts, head};
use super::no_accesses::no_accesses;
use super::sampled;
use crate::input::{ReportOptions, ReportTables};
use crate::quantity::{count_of, percent, percent_text};
use crate::report::{Report, Row};
use crate::simulation::SimulationNumbers;
use crate::table::{Show, TextTable, shown};
use crate::text::TextSection;
use crate::view::{OutsideAnswerKind, View, ViewDefinition};

const COLUMNS: [&str; 21] = [
    "object",
    "kind",
    "units",
    "requests",
    "transfers",
    "request_seconds",
    "percent",
    "cold_percent",
    "read_only_percent",
    "false_sharing_percent",
    "migratory_percent",
    "spsc_percent",
    "spmc_percent",
    "mpsc_percent",
    "mpmc_percent",
    "used_percent",
    "producers",
    "consumers",
    "patterns",
    "data_transfers",
    "data_patterns",
];
/// Column of the classes of units, the last one.
const CLASSES: &str = "classes";

pub(super) static VIEW: ViewDefinition = ViewDefinition {
    name: "patterns",
    about: "How threads share each object: by the units and by the data in them, in shares of the requests.",
    fold: Fold::None,
    outside: &[OutsideAnswerKind::Communication, OutsideAnswerKind::DataPatterns],
    build,
    ..ViewDefinition::PLAIN
};

/// Units that are shown together: all of an object, or those of a class.
struct SharedUnits<'a> {
    object: usize,
    classes: Vec<&'a UnitClass>,
}

impl SharedUnits<'_> {
    fn sum(&self, value: impl Fn(&UnitClass) -> u64) -> u64 {
        self.classes.iter().map(|class| value(class)).sum()
    }

    fn patterns(&self) -> PatternTallies {
        let mut sum = PatternTallies::default();
        self.classes.iter().for_each(|class| sum.merge(&class.patterns));
        sum
    }

    /// Transfers of the data; `None` where they are not known.
    fn data(&self) -> Option<DataTransfers> {
        let mut sum = None;
        for data in self.classes.iter().filter_map(|class| class.data.as_ref()) {
            sum.get_or_insert_with(DataTransfers::default).merge(data);
        }
        sum
    }

    fn threads(&self, of: impl Fn(&UnitClass) -> &BTreeSet<usize>) -> u64 {
        let all: BTreeSet<usize> = self.classes.iter().flat_map(|class| of(class)).copied().collect();
        all.len() as u64
    }

    /// What ranks: the cost of transfers, then that of all requests.
    fn weight(&self) -> (u64, u64) {
        let patterns = self.patterns();
        (patterns.transfers().cost, patterns.all().cost)
    }
}

fn build(input: &ReportTables<'_>, options: &ReportOptions) -> Report {
    let ranges = sampled::columns(input.outside_answers.communication.as_deref());
    let columns: Vec<&str> = COLUMNS.into_iter().chain(ranges.iter().copied()).chain([CLASSES]).collect();
    let mut report = Report::new(View::Patterns, input, options, &columns);
    let Some(answer) = &input.outside_answers.communication else {
        report.sections.extend(no_accesses(input));
        return report;
    };
    report.simulation = Some(SimulationNumbers::of(input, answer));
    let by_object = answer.classes.chunk_by(|one, other| one.object == other.object);
    let mut objects: Vec<SharedUnits<'_>> = by_object
        .map(|classes| SharedUnits { object: classes[0].object, classes: classes.iter().collect() })
        .collect();
    objects.sort_by_key(|object| (std::cmp::Reverse(object.weight()), object.object));
    let whole: u64 = objects.iter().map(|object| object.weight().0).sum();
    report.rows.extend(objects.iter().map(|object| row(answer, object, whole)));
    report.sections.extend(head(answer));
    let most = options.top.unwrap_or(ROWS_OF_TEXT);
    report.sections.extend(table(answer, (&objects, &report.rows), most));
    report.rows.truncate(options.top.unwrap_or(usize::MAX));
    if answer.transfers > 0 {
        report.sections.push(TextSection::Blank);
        report.sections.push(command("causality", "which places make which fetch them"));
    }
    report.sections.extend(doubts(answer).into_iter().map(TextSection::Warning));
    report
}

fn row(answer: &RecordedCommunication, object: &SharedUnits<'_>, whole: u64) -> Row {
    let named = &answer.objects[object.object];
    let row = Row::default().text("object", &named.name).text("kind", named.kind);
    let mut classes: Vec<SharedUnits<'_>> = object
        .classes
        .iter()
        .map(|&class| SharedUnits { object: object.object, classes: vec![class] })
        .collect();
    classes.sort_by_key(|class| std::cmp::Reverse(class.weight()));
    let class = |class: &SharedUnits<'_>| {
        cells(Row::default().text("pattern", class.classes[0].pattern.name()), class, (answer, whole))
    };
    cells(row, object, (answer, whole)).list(CLASSES, classes.iter().map(class).collect())
}

fn cells(row: Row, units: &SharedUnits<'_>, (answer, whole): (&RecordedCommunication, u64)) -> Row {
    let patterns = units.patterns();
    let (all, transfers) = (patterns.all(), patterns.transfers());
    let requests = all.requests;
    let mut row = row
        .count("units", units.sum(|class| class.units))
        .count("requests", requests)
        .count("transfers", transfers.requests)
        .time("request_seconds", all.cost)
        .percent("percent", percent(transfers.cost as f64, whole as f64))
        .count("producers", units.threads(|class| &class.writers))
        .count("consumers", units.threads(|class| &class.readers))
        .list("patterns", pattern_rows(&patterns, requests));
    let mut followed = FollowedRequests::default();
    units.classes.iter().for_each(|class| followed.merge(&class.followed));
    row = sampled::with_ranges(row, answer, &followed);
    if requests > 0 {
        let used = percent(units.sum(|class| class.used) as f64, units.sum(|class| class.fetched) as f64);
        row = row.percent("used_percent", used);
        for (pattern, column) in PATTERNS {
            row = row.percent(column, percent(patterns.of(pattern).requests as f64, requests as f64));
        }
    }
    match units.data() {
        Some(data) => row.count("data_transfers", data.count()).list("data_patterns", data_rows(&data)),
        None => row,
    }
}

/// The patterns that there are, each with its requests.
fn pattern_rows(patterns: &PatternTallies, requests: u64) -> Vec<Row> {
    let there = AccessPattern::ALL.into_iter().filter(|&pattern| patterns.of(pattern).requests > 0);
    there
        .map(|pattern| {
            let tally = patterns.of(pattern);
            Row::default()
                .text("pattern", pattern.name())
                .count("requests", tally.requests)
                .time("request_seconds", tally.cost)
                .percent("percent", percent(tally.requests as f64, requests as f64))
        })
        .collect()
}

fn data_rows(data: &DataTransfers) -> Vec<Row> {
    let all = data.count() as f64;
    let there = AccessPattern::ALL.iter().zip(data.patterns).filter(|(_, transfers)| *transfers > 0);
    there
        .map(|(pattern, transfers)| {
            Row::default()
                .text("pattern", pattern.name())
                .count("transfers", transfers)
                .percent("percent", percent(transfers as f64, all))
        })
        .collect()
}

/// A row for each object, below it a line for each class of its units.
fn table(
    answer: &RecordedCommunication,
    (objects, rows): (&[SharedUnits<'_>], &[Row]),
    most: usize,
) -> Vec<TextSection> {
    if objects.is_empty() {
        return vec![TextSection::Paragraph(
            "No thread accessed memory: there is nothing to share.".to_owned(),
        )];
    }
    let mut lines = Vec::new();
    for (object, row) in objects.iter().zip(rows).take(most) {
        lines.push((row.clone(), answer.objects[object.object].name.clone()));
        let Some(crate::report::Cell::List(classes)) = row.get(CLASSES) else { continue };
        for class in classes {
            lines.extend(class_lines(class).into_iter().map(|text| (Row::default(), text)));
        }
    }
    let mut columns = vec![
        shown("%", Show::Percent("percent")),
        shown("cost", Show::Time("request_seconds")),
        shown("requests", Show::Count("requests")),
        shown("transfers", Show::Count("transfers")).optional(),
    ];
    columns.extend(sampled::shown_ranges(answer));
    columns.push(shown("used %", Show::Percent("used_percent")));
    let legend = "Below each object its units by the pattern of most of their transfers, in % of their requests; “data”: the \
                  same of its words of 8 bytes, in % of their transfers.";
    let name_title = "object".to_owned();
    let mut sections = vec![
        TextSection::Blank,
        TextSection::Remark(legend.to_owned()),
        TextSection::Blank,
        TextSection::Table(TextTable { columns, name_title, rows: lines }),
    ];
    if objects.len() > most {
        let left = count_of((objects.len() - most) as u64, "more object");
        sections.push(TextSection::Remark(format!("{left}; `--top` shows them.")));
    }
    sections
}

/// Shares of patterns in a line: `96 % false sharing`.
fn shares(row: &Row, list: &str) -> Vec<String> {
    let Some(crate::report::Cell::List(patterns)) = row.get(list) else { return Vec::new() };
    let mut shares: Vec<(f64, &str)> =
        patterns.iter().map(|one| (one.value("percent").unwrap_or(0.0), one.words("pattern"))).collect();
    shares.sort_by(|one, other| other.0.total_cmp(&one.0));
    shares.into_iter().map(|(share, name)| format!("{} {name}", percent_text(share))).collect()
}

/// What is said of a class, so short that 80 columns have room for it.
fn class_lines(class: &Row) -> Vec<String> {
    let units = class.value("units").unwrap_or(0.0) as u64;
    let mut lines = Vec::new();
    let mut push = |title: String, parts: Vec<String>| {
        let titles = std::iter::once(title).chain(std::iter::repeat("    ".to_owned()));
        lines.extend(titles.zip(parts).map(|(title, part)| format!("{title}{part}")));
    };
    push(format!("  {}: ", count_of(units, "unit")), shares(class, "patterns"));
    if class.value("transfers").unwrap_or(0.0) > 0.0 || class.value("data_transfers").unwrap_or(0.0) > 0.0 {
        match class.value("data_transfers") {
            Some(0.0) => push("    data: ".to_owned(), vec!["not shared".to_owned()]),
            Some(_) => push("    data: ".to_owned(), shares(class, "data_patterns")),
            None => {}
        }
    }
    lines
}
