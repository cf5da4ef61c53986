//! `parallelism`: how much of the run so many threads were busy, and who ran when few were (metrics.md §1, §3).

use longpole_metrics::{By, DetailsDemand, NodeRow as Charged};

use super::stack;
use super::{identity, is_estimated};
use crate::bar::bar;
use crate::find::NameKind;
use crate::input::{ReportOptions, ReportTables};
use crate::needs::RecordingNeed;
use crate::quantity::{percent, percent_text, time_text};
use crate::report::{Report, Row};
use crate::table::{Show, TextTable, shown};
use crate::text::TextSection;
use crate::view::{View, ViewDefinition};

const COLUMNS: [&str; 8] = [
    "level",
    "effective_seconds",
    "effective_percent",
    "nominal_seconds",
    "nominal_percent",
    "procedure",
    "module",
    "procedure_percent",
];
/// Procedures named for the time in which one thread was busy.
const SERIAL_ROWS: usize = 8;
const BAR: usize = 16;

pub(super) static VIEW: ViewDefinition = ViewDefinition {
    name: "parallelism",
    about: "How much of the run so many threads were busy, and who ran when few were.",
    kinds: &[NameKind::Procedure, NameKind::Region, NameKind::Object, NameKind::Thread],
    demand,
    needs: |_| &[RecordingNeed::Switches],
    build,
    ..ViewDefinition::PLAIN
};

fn demand(options: &ReportOptions) -> DetailsDemand {
    let contended = options.chosen_objects();
    DetailsDemand { contention: !contended.is_empty(), contended, ..DetailsDemand::default() }
}

fn build(input: &ReportTables<'_>, options: &ReportOptions) -> Report {
    match &options.of {
        Some(of) => stack::build(input, options, of),
        None => of_all(input, options),
    }
}

fn of_all(input: &ReportTables<'_>, options: &ReportOptions) -> Report {
    let analysis = input.analysis;
    let charged = input.rows(By::Procedure);
    let mut report = Report::new(View::Parallelism, input, options, &COLUMNS);
    let levels = analysis.busy.len().max(analysis.nominal.len());
    let whole = analysis.elapsed as f64;
    let mut table = TextTable {
        columns: vec![
            shown("threads", Show::Count("level")),
            shown("busy %", Show::Percent("effective_percent")),
            shown("busy", Show::Time("effective_seconds")),
            shown("runnable %", Show::Percent("nominal_percent")).optional(),
            shown("", Show::Words("bar")),
        ],
        name_title: "most while so many were busy".to_owned(),
        rows: Vec::new(),
    };
    for level in 0..levels {
        let (busy, nominal) = (at(&analysis.busy, level), at(&analysis.nominal, level));
        let mut row = Row::default()
            .count("level", level as u64)
            .time("effective_seconds", busy)
            .percent("effective_percent", percent(busy as f64, whole))
            .time("nominal_seconds", nominal)
            .percent("nominal_percent", percent(nominal as f64, whole));
        let mut label = String::new();
        if let Some((node, share)) = most_charged(charged, level) {
            let (identity, name) = identity(input, node);
            row = row.text("procedure", identity.words("procedure")).text("module", identity.words("module"));
            row = row.percent("procedure_percent", share);
            label = format!("{name} {}", percent_text(share));
        }
        if busy + nominal > 0 {
            table.rows.push((row.clone().text("bar", bar(percent(busy as f64, whole), BAR)), label));
        }
        report.rows.push(row);
    }
    report.sections.extend(head(input));
    report.sections.push(TextSection::Blank);
    report.sections.push(TextSection::Table(table));
    report.sections.extend(serial(input, charged));
    report
}

fn at(times: &[u64], level: usize) -> u64 {
    times.get(level).copied().unwrap_or(0)
}

/// The procedure that was charged most while `level` threads were busy, and its share of all that was.
pub(super) fn most_charged(charged: &[Charged], level: usize) -> Option<(longpole_metrics::Node, f64)> {
    let term = |row: &Charged| row.own.npt_terms.get(level).copied().unwrap_or(0.0);
    let whole: f64 = charged.iter().map(term).sum();
    let most = charged.iter().max_by(|a, b| term(a).total_cmp(&term(b)).then(b.node.cmp(&a.node)))?;
    (level > 0 && whole > 0.0).then(|| (most.node, percent(term(most), whole)))
}

fn head(input: &ReportTables<'_>) -> Vec<TextSection> {
    let cpus = input.program.cpus();
    let title = format!(
        "Parallelism: {:.2} threads busy on average, {:.2} runnable, {cpus} CPUs, {} elapsed",
        input.effective_parallelism(),
        input.nominal_parallelism(),
        time_text(input.analysis.elapsed),
    );
    let remark = "Busy: doing useful work. Runnable: running, spinning, or ready and without a CPU. Each column adds up to the elapsed time.";
    vec![TextSection::Headline(title), TextSection::Remark(remark.to_owned())]
}

/// Who ran while one thread was busy.
fn serial(input: &ReportTables<'_>, charged: &[Charged]) -> Vec<TextSection> {
    let term = |row: &Charged| row.own.npt_terms.get(1).copied().unwrap_or(0.0);
    let whole: f64 = charged.iter().map(term).sum();
    let mut rows: Vec<&Charged> = charged.iter().filter(|row| term(row) > 0.0).collect();
    rows.sort_by(|a, b| term(b).total_cmp(&term(a)).then(a.node.cmp(&b.node)));
    if rows.is_empty() {
        return Vec::new();
    }
    let samples = is_estimated(By::Procedure).then_some(input.analysis.effective_samples.npt);
    let rows = rows.iter().take(SERIAL_ROWS).map(|row| {
        let share = percent(term(row), whole);
        let error = samples
            .and_then(|samples| crate::share::standard_error(share, samples * whole / npt_whole(charged)));
        let cells = Row::default().fraction("seconds", term(row)).percent("percent", share);
        (cells.percent_if("error_percent", error), identity(input, row.node).1)
    });
    let table = TextTable {
        columns: vec![
            shown("% of serial time", Show::Estimate("percent", "error_percent")),
            shown("self", Show::Time("seconds")),
        ],
        name_title: "procedure".to_owned(),
        rows: rows.collect(),
    };
    let text = format!("While only one thread was busy ({}):", time_text(whole.round() as u64));
    vec![TextSection::Blank, TextSection::Paragraph(text), TextSection::Table(table)]
}

fn npt_whole(charged: &[Charged]) -> f64 {
    charged.iter().map(|row| super::npt::npt(&row.own)).sum::<f64>().max(1.0)
}
