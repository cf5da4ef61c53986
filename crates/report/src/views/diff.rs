//! `longpole diff`: two recordings of a program, before and after a change, and why the elapsed time differs (metrics.md §14).
//!
//! The run takes as long as its critical path by elapsed time, so the difference of two runs is the difference of two paths. Each
//! path is divided among procedures and what they did on it; the differences of the parts add up to that of the whole:
//!
//! ```text
//!   before   read 600 | transform 400 | write 200                         1200
//!   after    read 600 | transform 800 | no CPU 30 | write 200             1630
//!   because  transform: work +400, write: waiting for a CPU +30           +430
//! ```
//! What no call path is known of is a row of its own. Things are the same in both runs if they have the same name: procedures also
//! the same module, where the program's own file counts as one module whatever it is called.

mod because;
mod pairs;
mod predictions;
mod tables;

use longpole_metrics::{By, DetailsDemand, Measures};

use crate::evidence;
use crate::findings::threshold::{LEAST_GAIN, SHORTEST_GAIN};
use crate::input::{ReportInput, ReportOptions, ReportTables};
use crate::name::{self, shorten};
use crate::quantity::{count_of, percent, percent_text, time_text};
use crate::report::{RecordingNumbers, Report, Row};
use crate::table::{Show, TextTable, shown};
use crate::text::TextSection;
use because::because;
use pairs::{ComparedAmount, ComparedPair};
pub use predictions::EarlierPrediction;
use predictions::prediction_rows;
use tables::{objects, phases, procedures, waits};

/// The name of the report in JSON.
const NAME: &str = "diff";
const COLUMNS: [&str; 25] = [
    "section",
    "name",
    "procedure",
    "module",
    "object",
    "kind",
    "before_seconds",
    "after_seconds",
    "change_seconds",
    "change_error_seconds",
    "change_percent",
    "verdict",
    "only_in",
    "before_count",
    "after_count",
    "explanation",
    "before_class",
    "after_class",
    "before_cause",
    "after_cause",
    "elapsed_gain_percent",
    "gain_low_percent",
    "gain_high_percent",
    "achieved_gain_percent",
    "inside",
];

/// The two runs.
#[derive(Clone, Copy)]
struct BothRuns<'a, 'b> {
    before: &'a ReportTables<'b>,
    after: &'a ReportTables<'b>,
}

impl<'a, 'b> BothRuns<'a, 'b> {
    /// The same of both.
    fn map<V>(self, of: impl Fn(&'a ReportTables<'b>) -> V) -> [V; 2] {
        [of(self.before), of(self.after)]
    }
}

/// What [`build_diff`] needs of each recording beside the analysis.
#[must_use]
pub fn diff_demand() -> DetailsDemand {
    DetailsDemand { contention: true, phases: true, waits: Some(By::Procedure), ..DetailsDemand::default() }
}

/// Builds the comparison of two recordings, with what was predicted of the first one.
#[must_use]
pub fn build_diff(
    (before, earlier): (&ReportInput<'_>, &[EarlierPrediction]),
    after: &ReportInput<'_>,
    options: &ReportOptions,
) -> Report {
    let (before, after) = (ReportTables::new(*before), ReportTables::new(*after));
    let runs = BothRuns { before: &before, after: &after };
    let mut report = Report::named(NAME, &after, options, &COLUMNS);
    report.before = Some(RecordingNumbers::of(&before, options));
    let elapsed = elapsed(runs);
    let because = because(runs);
    report.rows.extend(run_rows(runs));
    report.sections.push(TextSection::Headline(headline(&elapsed, &because)));
    report.sections.extend(lack_of_cpus(&elapsed, &because).map(TextSection::Remark));
    report.sections.extend(doubts(runs).into_iter().map(TextSection::Warning));
    report.sections.extend([TextSection::Blank]);
    report.sections.extend(because::sections(&because, &elapsed));
    report.rows.extend(because.into_iter().map(|(row, _)| row));
    let predictions = prediction_rows(earlier, &elapsed);
    report.sections.extend(predictions::sections(&predictions, options.top.unwrap_or(ROWS)));
    report.rows.extend(predictions);
    for part in [procedures(runs), objects(runs), waits(runs), phases(runs)] {
        report.sections.push(TextSection::Blank);
        report.sections.extend(part.sections(options));
        report.rows.extend(part.rows.into_iter().map(|(row, _)| row));
    }
    report.sections.push(TextSection::Blank);
    report.sections.push(TextSection::Remark(reading()));
    report.drop_empty_columns(&["section", "before_seconds", "after_seconds", "change_seconds", "verdict"]);
    report
}

fn elapsed(runs: BothRuns<'_, '_>) -> ComparedPair {
    let [before, after] = runs.map(|run| ComparedAmount::exact(run.analysis.elapsed as f64));
    ComparedPair { before, after }
}

/// The run as a whole.
fn run_rows(runs: BothRuns<'_, '_>) -> Vec<Row> {
    let of_totals = |of: fn(&Measures) -> u64| {
        let [before, after] = runs.map(|run| ComparedAmount::exact(of(run.totals()) as f64));
        ComparedPair { before, after }
    };
    let [before, after] = runs.map(|run| ComparedAmount::exact(run.analysis.critical_cpu.length as f64));
    let rows = [
        ("elapsed", elapsed(runs)),
        ("critical_path", ComparedPair { before, after }),
        ("useful_cpu_time", of_totals(|measures| measures.running)),
        ("spinning", of_totals(|measures| measures.spinning)),
        ("ready", of_totals(|measures| measures.ready)),
        ("blocked", of_totals(Measures::blocked_in_all)),
    ];
    rows.into_iter()
        .map(|(name, pair)| pair.fill(Row::default().text("section", "run").text("name", name)))
        .collect()
}

/// What became of the elapsed time, and the largest reason.
fn headline(elapsed: &ComparedPair, because: &[(Row, String)]) -> String {
    let [before, after] = [elapsed.before.value, elapsed.after.value].map(|time| time_text(time as u64));
    let change = elapsed.change();
    if !elapsed.is_changed() {
        return format!(
            "No difference in the elapsed time: {before} before, {after} after; less than {} or {} is chance",
            percent_text(LEAST_GAIN),
            time_text(SHORTEST_GAIN as u64)
        );
    }
    let more = if change > 0.0 { "longer" } else { "shorter" };
    let share = percent_text(percent(change.abs(), elapsed.before.value));
    let mut text = format!(
        "The run takes {} {more}: {after} instead of {before} ({share})",
        time_text(change.abs() as u64)
    );
    let reasons: Vec<String> = because::by_kind(because).iter().take(REASONS).map(reason).collect();
    if !reasons.is_empty() {
        text.push_str(&format!(". On its path: {}", reasons.join("; ")));
    }
    text
}

/// A kind of time on the path, and whose most of its change is.
fn reason(&(kind, change, (row, name)): &(&str, f64, &(Row, String))) -> String {
    let sign = if change > 0.0 { "more" } else { "less" };
    let time = time_text(change.abs().round() as u64);
    let of = row.value("change_seconds").unwrap_or(0.0) * 1e9;
    match kind {
        because::WORK => {
            let procedure = name.trim_end_matches(": work");
            let part = of / change;
            let of = match part {
                part if part > 1.05 => "most".to_owned(),
                part if part > 0.95 => "nearly all".to_owned(),
                _ => time_text((of * change.signum()).max(0.0).round() as u64),
            };
            format!("{time} {sign} work, {of} of it in `{procedure}`")
        }
        _ => format!("{time} {sign} {name}"),
    }
}

/// What the time on the path without a CPU means, where that is a large part of the change.
fn lack_of_cpus(elapsed: &ComparedPair, because: &[(Row, String)]) -> Option<String> {
    let kinds = because::by_kind(because);
    let (_, change, _) = kinds.iter().find(|(kind, ..)| *kind == because::READY)?;
    let is_large = elapsed.is_changed() && change.abs() >= 0.1 * elapsed.change().abs();
    is_large.then(|| {
        "Time without a CPU is not the program's work: other programs, or more threads than CPUs. `longpole report --view processors` of each recording says which.".to_owned()
    })
}

fn reading() -> String {
    format!(
        "± is one standard error, from the samples of both runs. A change within two of them, or below {} or {}, is said to be none. One run of each side does not show what differs by chance from run to run: `longpole check` compares several.",
        time_text(SHORTEST_GAIN as u64),
        percent_text(LEAST_GAIN)
    )
}

/// What makes the runs hard to compare.
fn doubts(runs: BothRuns<'_, '_>) -> Vec<String> {
    let mut doubts = Vec::new();
    let mut differ = |what: &str, [before, after]: [String; 2]| {
        if before != after {
            doubts.push(format!("{what} differs: {before} before, {after} after"));
        }
    };
    let file = |run: &ReportTables<'_>| shorten(name::program_file(run.program), 40);
    differ("the number of CPUs", runs.map(|run| run.program.cpus().to_string()));
    differ("the collector", runs.map(|run| run.evidence.collector.clone()));
    let arguments = |run: &ReportTables<'_>| {
        let arguments: Vec<String> = run.program.command.iter().skip(1).cloned().collect();
        if arguments.is_empty() { "none".to_owned() } else { shorten(&arguments.join(" "), 40) }
    };
    differ("the command's arguments", runs.map(arguments));
    if let Some(doubt) = other_program(runs, runs.map(file)) {
        doubts.push(doubt);
    }
    for (run, when) in [(runs.before, "before"), (runs.after, "after")] {
        let lead = evidence::leading_warning(run);
        let part = evidence::kept_part(run).map(|text| text.trim_end_matches('.').to_owned());
        doubts.extend(lead.into_iter().chain(part).map(|text| format!("{when}: {text}")));
    }
    doubts
}

/// Whether the recordings are of two programs, by what they have in common.
fn other_program(runs: BothRuns<'_, '_>, [before, after]: [String; 2]) -> Option<String> {
    let (common, all) = pairs::common_procedures(runs);
    let is_other = before != after && 2 * common < all;
    is_other.then(|| {
        format!(
            "these are different programs, `{before}` and `{after}`: {common} of {} have the same name; what only one of them has is marked",
            count_of(all as u64, "procedure")
        )
    })
}

/// A table of changes, with what it leaves out.
struct ChangeTable {
    /// The rows, the largest changes first.
    rows: Vec<(Row, String)>,
    title: &'static str,
    /// What a row is.
    noun: &'static str,
    /// What the numbers are.
    amount: &'static str,
    /// Why there are no rows.
    nothing: &'static str,
    /// What is said in place of the table.
    instead: Option<String>,
}

/// Reasons that the headline names.
const REASONS: usize = 3;
/// Rows of each table of text.
const ROWS: usize = 10;

impl ChangeTable {
    fn sections(&self, options: &ReportOptions) -> Vec<TextSection> {
        let head = format!("{}, by {}", self.title, self.amount);
        if self.rows.is_empty() {
            return vec![TextSection::Paragraph(format!("{}: {}", self.title, self.nothing))];
        }
        if let Some(instead) = &self.instead {
            return vec![TextSection::Paragraph(instead.clone())];
        }
        let changed: Vec<&(Row, String)> =
            self.rows.iter().filter(|(row, _)| row.words("verdict") != "none").collect();
        let same = self.rows.len() - changed.len();
        if changed.is_empty() {
            let all = count_of(same as u64, self.noun);
            return vec![TextSection::Paragraph(format!("{head}: no change beyond the errors of {all}."))];
        }
        let limit = options.top.unwrap_or(ROWS);
        let mut rows = Vec::new();
        for (row, name) in changed.iter().take(limit) {
            let only = match row.words("only_in") {
                "" => String::new(),
                when => format!(" (only {when})"),
            };
            rows.push((row.clone(), format!("{name}{only}")));
            if row.words("explanation") == "changed" {
                for when in ["before", "after"] {
                    let text = row.words(if when == "before" { "before_cause" } else { "after_cause" });
                    rows.push((Row::default(), format!("    {when}: {text}")));
                }
            }
        }
        let columns = vec![
            shown("change", Show::Change("change_seconds", "change_error_seconds")),
            shown("before", Show::Time("before_seconds")),
            shown("after", Show::Time("after_seconds")),
        ];
        let table = TextTable { columns, name_title: self.noun.to_owned(), rows };
        let mut sections = vec![TextSection::Paragraph(format!("{head}:")), TextSection::Table(table)];
        let mut rest = Vec::new();
        if changed.len() > limit {
            rest.push(format!("{} more with a change (--top {})", changed.len() - limit, changed.len()));
        }
        if same > 0 {
            rest.push(format!("{}: no change beyond the errors", count_of(same as u64, self.noun)));
        }
        if !rest.is_empty() {
            sections.push(TextSection::Remark(format!("{}.", rest.join("; "))));
        }
        sections
    }
}

#[cfg(test)]
mod tests;
