//! `waits`: the waiting map (metrics.md §6; C §3.4, figure 1b).

mod causes;
mod compared;
mod sides;
mod sources;

use longpole_metrics::{DetailsDemand, StepShare, Unwanted, WaitClass, Waits};

use super::ROWS_OF_TEXT;
use crate::findings::threshold::{LEAST_GAIN, SHORTEST_GAIN, WITHOUT_CAUSE};
use crate::input::{ReportOptions, ReportTables};
use crate::needs::CHAIN_NEEDS;
use crate::quantity::{count_of, percent, percent_text, time_text};
use crate::report::{Report, Row};
use crate::share::places;
use crate::table::{Show, TextTable, shown};
use crate::text::TextSection;
use crate::view::{View, ViewDefinition};
pub(super) use compared::{ComparedWait, compared_waits};

use causes::{WaitCauses, class_name};
use sources::{Shares, WaitSource, sources};

const COLUMNS: [&str; 27] = [
    "rank",
    "seconds",
    "percent",
    "count",
    "procedure",
    "module",
    "file",
    "line",
    "object",
    "kind",
    "machine",
    "process",
    "pid",
    "thread",
    "tid",
    "class",
    "load_imbalance_percent",
    "insufficient_parallelism_percent",
    "contention_percent",
    "unexplained_percent",
    "wanted",
    "unwanted_because",
    "given_up_count",
    "causes",
    "root_causes",
    "differences",
    "explanations",
];
/// Rows that name all their causes but the smallest, of each side; those of less waiting name few.
const ROWS_IN_DETAIL: usize = 200;
const CAUSES_IN_DETAIL: usize = 200;
const CAUSES: usize = 8;
/// Kinds of explanation that a row in full has.
const EXPLANATIONS: usize = 50;
/// Causes over all waits that are named.
const CAUSES_OVER_ALL: usize = 6;
/// Causes that the map names of each place.
const CAUSES_TOLD: usize = 3;
/// Places with less than this part of the waiting are not in the map unless asked for.
const LEAST_TOLD: f64 = 0.001;

pub(super) static VIEW: ViewDefinition = ViewDefinition {
    name: "waits",
    about: "Every wait explained: where threads waited, and what those did for whom they waited.",
    has_levels: true,
    demand: |options| DetailsDemand { waits: Some(options.by), ..DetailsDemand::default() },
    needs: |_| CHAIN_NEEDS,
    build,
    ..ViewDefinition::PLAIN
};

fn build(input: &ReportTables<'_>, options: &ReportOptions) -> Report {
    let mut report = Report::new(View::Waits, input, options, &COLUMNS);
    let Some(waits) = &input.details.waits else { return report };
    let sources = sources(input, waits, options.by);
    let wanted: u64 =
        sources.iter().filter(|source| source.unwanted.is_none()).map(|source| source.time).sum();
    let share = |source: &WaitSource| percent(source.time as f64, wanted as f64);
    let shares: Vec<f64> = sources.iter().filter(|source| source.unwanted.is_none()).map(share).collect();
    let mut ranks = places(&shares, None).into_iter();
    let rows: Vec<Row> = sources
        .iter()
        .enumerate()
        .map(|(at, source)| {
            let rank = if source.unwanted.is_none() { ranks.next() } else { None };
            let causes = if at < ROWS_IN_DETAIL { CAUSES_IN_DETAIL } else { CAUSES };
            row(input, waits, (source, causes), rank.map(|rank| (rank, share(source))))
        })
        .collect();
    if let Some(number) = options.explain {
        explain(input, waits, (&sources, &rows, number), &mut report);
    } else {
        let listed: Vec<(&Row, &WaitSource)> = rows.iter().zip(&sources).collect();
        report.sections.extend(map(input, waits, &listed, options));
        report.sections.extend(over_all(input, waits, &sources));
        report.sections.extend(left_out(input, &sources, options));
        report.sections.extend(doubts(waits, &sources, input.analysis.elapsed));
        report.rows = rows;
        report.rows.truncate(options.top.unwrap_or(usize::MAX));
    }
    report.drop_empty_columns(&COLUMNS[..4]);
    report
}

fn row(
    input: &ReportTables<'_>,
    waits: &Waits,
    (source, causes): (&WaitSource, usize),
    ranked: Option<(u64, f64)>,
) -> Row {
    let mut row = source.identity(input).time("seconds", source.time).count("count", source.count);
    if let Some((rank, share)) = ranked {
        row = row.count("rank", rank).percent("percent", share);
    }
    let split = source.split;
    let part = |amount: f64| percent(amount, split.sum());
    if let Some(class) = class_name(&split) {
        row = row.text("class", class);
    }
    let row = row
        .percent("load_imbalance_percent", part(split.imbalance))
        .percent("insufficient_parallelism_percent", part(split.insufficient))
        .percent("contention_percent", part(split.contention))
        .percent("unexplained_percent", part(split.unexplained))
        .flag("wanted", source.unwanted.is_none())
        .text("unwanted_because", source.unwanted.map_or("", because));
    let (given_up, given_up_time) = source.given_up;
    let row = match given_up {
        0 => row,
        count => row.count("given_up_count", count).list(
            "differences",
            WaitCauses::of(&source.difference, given_up_time, input, waits).rows(input, waits, causes),
        ),
    };
    row.list("causes", WaitCauses::of(&source.direct, source.time, input, waits).rows(input, waits, causes))
        .list(
            "root_causes",
            WaitCauses::of(&source.roots, source.time, input, waits).rows(input, waits, causes),
        )
}

fn because(unwanted: Unwanted) -> &'static str {
    match unwanted {
        Unwanted::Join => "join",
        Unwanted::Outside => "outside",
        Unwanted::Spare => "spare",
        Unwanted::End => "end",
        Unwanted::Runtime => "runtime",
    }
}

/// The table, each row with a line of its causes.
fn map(
    input: &ReportTables<'_>,
    waits: &Waits,
    rows: &[(&Row, &WaitSource)],
    options: &ReportOptions,
) -> Vec<TextSection> {
    let wanted: Vec<&(&Row, &WaitSource)> =
        rows.iter().filter(|(_, source)| source.unwanted.is_none()).collect();
    let time: u64 = wanted.iter().map(|(_, source)| source.time).sum();
    let count: u64 = wanted.iter().map(|(_, source)| source.count).sum();
    if rows.is_empty() {
        return vec![TextSection::Paragraph(
            "No thread waited: none was blocked or busy-waiting.".to_owned(),
        )];
    }
    let mut sections = Vec::new();
    if wanted.is_empty() {
        let none = "No wait needs an explanation: all were of the kinds that nobody wants explained.";
        sections.push(TextSection::Paragraph(none.to_owned()));
    } else {
        let title = format!("Waits: threads waited {} in {}", time_text(time), count_of(count, "wait"));
        sections.push(TextSection::Headline(title));
        let reading = "Below each place its root causes: what those did who ended the waits, in % of the row's waiting; `less` is what those who waited did meanwhile. LI: load imbalance, IP: insufficient parallelism, CC: communication and contention.";
        sections.push(TextSection::Remark(reading.to_owned()));
    }
    let listed: Vec<&(&Row, &WaitSource)> = if options.all { rows.iter().collect() } else { wanted };
    if listed.is_empty() {
        return sections;
    }
    let told = listed.iter().filter(|(_, source)| source.time as f64 >= LEAST_TOLD * time as f64).count();
    let shown_rows = options.top.unwrap_or(ROWS_OF_TEXT.min(if options.all { listed.len() } else { told }));
    let mut lines = Vec::new();
    for (row, source) in listed.iter().take(shown_rows) {
        lines.push((with_classes((*row).clone()), source.name(input)));
        if let Some(unwanted) = source.unwanted {
            lines.push((Row::default(), format!("    not wanted: {}", because(unwanted))));
        }
        let roots = WaitCauses::of(&source.roots, source.time, input, waits);
        let causes = roots.texts(input, waits, CAUSES_TOLD).into_iter().chain(roots.less(input, waits));
        lines.extend(causes.map(|cause| (Row::default(), format!("    {cause}"))));
        if source.given_up.0 > 0 {
            let share = percent_text(percent(source.given_up.1 as f64, source.time as f64));
            let text = format!("    {share} by what was done during the wait");
            lines.push((Row::default(), text));
        }
    }
    let columns = vec![
        shown("#", Show::Rank),
        shown("%", Show::Percent("percent")),
        shown("waited", Show::Time("seconds")),
        shown("waits", Show::Count("count")),
        shown("LI/IP/CC", Show::Words(CLASSES)).optional(),
    ];
    sections.push(TextSection::Blank);
    let name_title = "where: for what".to_owned();
    sections.push(TextSection::Table(TextTable { columns, name_title, rows: lines }));
    let rest = &listed[shown_rows.min(listed.len())..];
    if !rest.is_empty() {
        let time: u64 = rest.iter().map(|(_, source)| source.time).sum();
        let more = count_of(rest.len() as u64, "more place");
        sections
            .push(TextSection::Remark(format!("{more}, {} in all; `--top` shows them.", time_text(time))));
    }
    sections
}

/// Root causes over all wanted waits, the one that explains most first.
fn over_all(input: &ReportTables<'_>, waits: &Waits, all: &[WaitSource]) -> Vec<TextSection> {
    let wanted: Vec<&WaitSource> = all.iter().filter(|source| source.unwanted.is_none()).collect();
    if wanted.len() < 2 {
        return Vec::new();
    }
    let mut roots = Shares::new();
    for (&step, &(positive, negative, count)) in wanted.iter().flat_map(|source| &source.roots) {
        let sum = roots.entry(step).or_default();
        *sum = (sum.0 + positive, sum.1 + negative, sum.2 + count);
    }
    let time: u64 = wanted.iter().map(|source| source.time).sum();
    let causes = WaitCauses::of(&roots, time, input, waits).counted(input, waits, CAUSES_OVER_ALL);
    let table = TextTable {
        columns: vec![
            shown("explains %", Show::Percent("percent")),
            shown("time", Show::Time("seconds")),
            shown("waits", Show::Count("count")),
        ],
        name_title: "root cause, over all waits".to_owned(),
        rows: causes,
    };
    vec![TextSection::Blank, TextSection::Table(table)]
}

/// Cell of the classes' shares; of the text only.
const CLASSES: &str = "classes";

fn with_classes(row: Row) -> Row {
    let value = |name| row.value(name).unwrap_or(0.0).round();
    let [imbalance, insufficient, contention] =
        ["load_imbalance_percent", "insufficient_parallelism_percent", "contention_percent"].map(value);
    if imbalance + insufficient + contention == 0.0 {
        return row;
    }
    row.text(CLASSES, format!("{imbalance:.0}/{insufficient:.0}/{contention:.0}"))
}

/// How much was left out, and why.
fn left_out(input: &ReportTables<'_>, sources: &[WaitSource], options: &ReportOptions) -> Vec<TextSection> {
    let outside = match input.evidence.unmatched_wakes {
        0 => "ended from outside the program or by a timer",
        _ => "ended from outside the program, by a timer, or by nobody who was seen",
    };
    let reasons = [
        (Unwanted::Join, "for the end of threads or processes that were started"),
        (Unwanted::Outside, outside),
        (Unwanted::Spare, "by threads to spare, beside others that waited for the same work"),
        (Unwanted::End, "until the thread or the run ended"),
        (Unwanted::Runtime, "by threads that the runtime has for itself"),
    ];
    let text = |(reason, words): (Unwanted, &str)| {
        let of_it = sources.iter().filter(|source| source.unwanted == Some(reason));
        let time: u64 = of_it.map(|source| source.time).sum();
        (time > 0).then(|| format!("{} {words}", time_text(time)))
    };
    let texts: Vec<String> = reasons.into_iter().filter_map(text).collect();
    if texts.is_empty() {
        return Vec::new();
    }
    let (verb, hint) = if options.all { ("Not counted", "") } else { ("Left out", "; `--all` shows them") };
    let text = format!("{verb}, as nobody wants them explained: {}{hint}.", texts.join(", "));
    vec![TextSection::Blank, TextSection::Remark(text)]
}

/// Whether so much of the waiting has no cause that it matters for the run; times in nanoseconds.
fn lacks_causes(unknown: f64, all: f64, elapsed: u64) -> bool {
    let of_run = percent(unknown, elapsed as f64);
    percent(unknown, all) >= WITHOUT_CAUSE && unknown >= SHORTEST_GAIN && of_run >= LEAST_GAIN
}

/// What the explanations lack.
fn doubts(waits: &Waits, sources: &[WaitSource], elapsed: u64) -> Vec<TextSection> {
    let wanted: Vec<&WaitSource> = sources.iter().filter(|source| source.unwanted.is_none()).collect();
    let count: u64 = wanted.iter().map(|source| source.count).sum();
    let mut doubts = Vec::new();
    let split: f64 = wanted.iter().map(|source| source.split.sum()).sum();
    let unknown: f64 = wanted.iter().map(|source| source.split.unexplained).sum();
    if lacks_causes(unknown, split, elapsed) {
        let share = percent_text(percent(unknown, split));
        doubts.push(format!("{share} of the waiting has no known cause: nobody was seen to end it, or who did was not seen before"));
    }
    if waits.cut > count / 20 {
        doubts.push(format!("{} explained from the last steps only", count_of(waits.cut, "wait")));
    }
    doubts.into_iter().map(|doubt| TextSection::Remark(format!("{doubt}."))).collect()
}

/// The kinds of explanation that the source's waits have, the one with most waiting first.
fn explanations(input: &ReportTables<'_>, waits: &Waits, source: &WaitSource) -> Vec<Row> {
    let row = |class: &&WaitClass| {
        let sides = |shares: &[StepShare]| {
            let sums = shares.iter().map(|share| (share.step, (share.positive, share.negative, share.count)));
            let sums = sums.collect();
            WaitCauses::of(&sums, class.time, input, waits).rows(input, waits, CAUSES_IN_DETAIL)
        };
        Row::default()
            .time("seconds", class.time)
            .percent("percent", percent(class.time as f64, source.time as f64))
            .count("count", class.count)
            .text("class", class_name(&class.split).unwrap_or_default())
            .list("causes", sides(&class.direct))
            .list("root_causes", sides(&class.roots))
    };
    source.classes.iter().take(EXPLANATIONS).map(row).collect()
}

/// One row in full.
fn explain(
    input: &ReportTables<'_>,
    waits: &Waits,
    (sources, rows, number): (&[WaitSource], &[Row], usize),
    report: &mut Report,
) {
    let Some((source, row)) = number.checked_sub(1).and_then(|at| sources.get(at).zip(rows.get(at))) else {
        let known = match sources.len() {
            0 => "no thread waited".to_owned(),
            1 => "`waits` has only row 1".to_owned(),
            last => format!("`waits` has the rows 1 to {last}"),
        };
        report.sections.push(TextSection::Paragraph(format!("There is no row {number}: {known}.")));
        return;
    };
    report.rows = vec![row.clone().list("explanations", explanations(input, waits, source))];
    report.sections.extend(sides::sections(input, waits, source, (row, number)));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of a run of a second: 23 µs without a cause, all of the waiting; 230 ms of 300; 230 ms of 30 s.
    #[test]
    fn causes_that_lack_are_said_where_they_matter() {
        assert!(!lacks_causes(23_000.0, 23_000.0, 1_000_000_000));
        assert!(lacks_causes(230_000_000.0, 300_000_000.0, 1_000_000_000));
        assert!(!lacks_causes(230_000_000.0, 30_000_000_000.0, 1_000_000_000));
    }
}
