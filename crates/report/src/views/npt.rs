//! `npt`: normalised processor time and its terms (metrics.md §3).

use longpole_metrics::Measures;

use super::identity_columns;
use super::ranking::{RANKED, RankingMeasure, ranking, table, taken, unattributed};
use crate::input::{ReportOptions, ReportTables};
use crate::needs::WORK_NEEDS;
use crate::quantity::{percent, percent_text, time_text};
use crate::report::Report;
use crate::share::behind_npt;
use crate::table::{Show, shown};
use crate::text::TextSection;
use crate::view::{View, ViewDefinition};

const MEASURES: [&str; 6] = [
    "npt_1_seconds",
    "npt_2_seconds",
    "npt_3_4_seconds",
    "npt_5_up_seconds",
    "idle_blame_seconds",
    "idle_blame_percent",
];
/// The terms as columns: key, title, from and to U.
pub(super) const TERMS: [(&str, &str, usize, usize); 4] = [
    ("npt_1_seconds", "U=1", 1, 1),
    ("npt_2_seconds", "U=2", 2, 2),
    ("npt_3_4_seconds", "U=3–4", 3, 4),
    ("npt_5_up_seconds", "U>4", 5, usize::MAX),
];

/// Normalised processor time, all terms.
pub(super) fn npt(measures: &Measures) -> f64 {
    measures.npt_terms.iter().sum()
}

fn terms(measures: &Measures, from: usize, to: usize) -> f64 {
    measures
        .npt_terms
        .iter()
        .enumerate()
        .filter(|(u, _)| (from..=to).contains(u))
        .map(|(_, &time)| time)
        .sum()
}

pub(super) static VIEW: ViewDefinition = ViewDefinition {
    name: "npt",
    about: "Normalised processor time: CPU time that counts for more the fewer others are busy.",
    has_levels: true,
    counts_work_only: true,
    needs: |_| WORK_NEEDS,
    build,
    ..ViewDefinition::PLAIN
};

fn build(input: &ReportTables<'_>, options: &ReportOptions) -> Report {
    let whole = npt(input.totals());
    let measure = RankingMeasure { of: &npt, whole, behind: behind_npt(input.analysis) };
    let mut ranked = ranking(input, options, &measure, |_| false);
    for ranked in &mut ranked {
        let mut row = std::mem::take(&mut ranked.row);
        for (key, _, from, to) in TERMS {
            row = row.fraction(key, terms(&ranked.charged.own, from, to));
        }
        let blame = ranked.charged.own.idle_blame;
        ranked.row = row
            .time("idle_blame_seconds", blame)
            .percent("idle_blame_percent", percent(blame as f64, input.totals().idle_blame as f64));
    }
    let names: Vec<&str> =
        RANKED.iter().chain(&MEASURES).chain(identity_columns(options.by)).copied().collect();
    let mut report = Report::new(View::Npt, input, options, &names);
    report.rows = taken(&ranked, options);
    report.sections.extend(head(input, whole, options.io_idle));
    report.sections.push(TextSection::Blank);
    if ranked.is_empty() {
        let why = match whole > 0.0 {
            true => "Too few samples to tell which procedures that was: `--by thread` is exact.",
            false => "No thread was busy: nothing was charged.",
        };
        report.sections.push(TextSection::Paragraph(why.to_owned()));
        return report;
    }
    let mut columns = vec![
        shown("#", Show::Rank),
        shown("% of NPT", Show::Estimate("percent", "error_percent")),
        shown("self", Show::Time("seconds")),
        shown("incl %", Show::Percent("inclusive_percent")),
    ];
    let used = TERMS.iter().filter(|(key, ..)| ranked.iter().any(|ranked| ranked.row.value(key) > Some(0.0)));
    columns.extend(used.map(|&(key, title, ..)| shown(title, Show::Time(key))));
    if input.totals().idle_blame > 0 {
        columns.push(shown("blame", Show::Time("idle_blame_seconds")).optional());
    }
    report.sections.extend(table(input, &ranked, columns, options));
    report.sections.extend(unattributed(&ranked, options.by));
    report
}

fn head(input: &ReportTables<'_>, whole: f64, io_idle: bool) -> Vec<TextSection> {
    let elapsed = input.analysis.elapsed;
    let idle = input.analysis.busy.first().copied().unwrap_or(0);
    let busy = time_text(whole.round() as u64);
    let title = format!(
        "Normalised processor time: {busy} = the time with any thread busy; nobody was for {} ({} of {})",
        time_text(idle),
        percent_text(percent(idle as f64, elapsed as f64)),
        time_text(elapsed),
    );
    let io = if io_idle { "do not count" } else { "count" };
    let remark = format!(
        "While U threads are busy each is charged 1/U of the time: what runs alone is charged in full (U=1). Waits for devices and pages {io} as busy."
    );
    vec![TextSection::Headline(title), TextSection::Remark(remark)]
}
