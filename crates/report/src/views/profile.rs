//! `profile`: the gprof and the ips2 profile side by side (metrics.md §2).

use longpole_metrics::Measures;
use longpole_trace::Cause;

use super::ranking::{RANKED, RankedRow, RankingMeasure, longest_first, ranking, table, taken, unattributed};
use super::{blocked, blocked_names, identity_columns, noun, synchronisation, with_waits};
use crate::input::{ReportOptions, ReportTables};
use crate::needs::WORK_NEEDS;
use crate::quantity::{percent, percent_text, time_text};
use crate::report::{Report, Row};
use crate::share::behind_cpu;
use crate::table::{Show, TextTable, shown};
use crate::text::TextSection;
use crate::view::{View, ViewDefinition};

const MEASURES: [&str; 5] =
    ["running_seconds", "spin_seconds", "synchronisation_wait_seconds", "ready_seconds", "wait_seconds"];
/// Rows of the text's table of waits.
const WAITS_OF_TEXT: usize = 10;

fn cpu(measures: &Measures) -> f64 {
    (measures.running + measures.spinning) as f64
}

pub(super) static VIEW: ViewDefinition = ViewDefinition {
    name: "profile",
    about: "CPU time and waiting time: the gprof and the ips2 profile side by side.",
    has_levels: true,
    counts_work_only: true,
    needs: |_| WORK_NEEDS,
    build,
    ..ViewDefinition::PLAIN
};

fn build(input: &ReportTables<'_>, options: &ReportOptions) -> Report {
    let totals = input.totals();
    let measure = RankingMeasure { of: &cpu, whole: cpu(totals), behind: behind_cpu(input.analysis) };
    let mut ranked = ranking(input, options, &measure, |row| blocked(&row.own) + row.own.ready > 0);
    for ranked in &mut ranked {
        let own = &ranked.charged.own;
        let row = std::mem::take(&mut ranked.row)
            .time("running_seconds", own.running)
            .time("spin_seconds", own.spinning)
            .time("synchronisation_wait_seconds", synchronisation(&own.blocked))
            .time("ready_seconds", own.ready)
            .time("wait_seconds", blocked(own));
        ranked.row = with_waits(row, &own.blocked);
    }
    let names: Vec<&str> = RANKED
        .iter()
        .chain(&MEASURES)
        .chain(identity_columns(options.by))
        .copied()
        .chain(blocked_names())
        .collect();
    let mut report = Report::new(View::Profile, input, options, &names);
    report.rows = taken(&ranked, options);
    report.drop_empty_columns(&[&RANKED[..], &MEASURES, identity_columns(options.by)].concat());
    report.sections.push(TextSection::Headline(title(totals)));
    report.sections.push(TextSection::Blank);
    if ranked.is_empty() {
        report.sections.push(TextSection::Paragraph("No CPU time and no waiting was recorded.".to_owned()));
        return report;
    }
    let mut columns = vec![
        shown("#", Show::Rank),
        shown("% of CPU", Show::Estimate("percent", "error_percent")),
        shown("self", Show::Time("seconds")),
        shown("incl %", Show::Percent("inclusive_percent")),
        shown("incl", Show::Time("inclusive_seconds")).optional(),
    ];
    if totals.spinning > 0 {
        columns.push(shown("spinning", Show::Time("spin_seconds")));
    }
    columns.push(shown("sync wait", Show::Time("synchronisation_wait_seconds")));
    report.sections.extend(table(input, &ranked, columns, options));
    report.sections.extend(unattributed(&ranked, options.by));
    report.sections.extend(waits(&ranked, options));
    report
}

fn title(totals: &Measures) -> String {
    let used = totals.running + totals.spinning;
    let spun = match totals.spinning {
        0 => String::new(),
        spinning => {
            let share = percent_text(percent(spinning as f64, used as f64));
            format!(", {} of it spinning ({share})", time_text(spinning))
        }
    };
    format!("Profile: {} of CPU time{spun}; {} of waiting", time_text(used), time_text(blocked(totals)))
}

/// The longest waits: what for, and where they were suffered.
fn waits(ranked: &[RankedRow], options: &ReportOptions) -> Vec<TextSection> {
    let mut longest: Vec<((usize, Option<Cause>), u64)> = Vec::new();
    for (at, ranked) in ranked.iter().enumerate() {
        let own = &ranked.charged.own;
        longest.push(((at, None), own.ready));
        longest.extend(own.blocked.iter().zip(Cause::ALL).map(|(&time, &cause)| ((at, Some(cause)), time)));
    }
    longest.retain(|&(_, time)| time > 0);
    longest_first(&mut longest);
    let whole: u64 = longest.iter().map(|&(_, time)| time).sum();
    if whole == 0 {
        return Vec::new();
    }
    let rows = longest.iter().take(options.top.unwrap_or(WAITS_OF_TEXT)).map(|&((at, cause), time)| {
        let cause = cause.map_or("a CPU", |cause| cause.name());
        let share = percent(time as f64, whole as f64);
        (
            Row::default().text("cause", cause).time("seconds", time).percent("percent", share),
            ranked[at].name.clone(),
        )
    });
    let columns = vec![
        shown("% of waiting", Show::Percent("percent")),
        shown("thread time", Show::Time("seconds")),
        shown("for", Show::Words("cause")),
    ];
    let title = format!("suffered in {}", noun(options.by));
    vec![
        TextSection::Blank,
        TextSection::Remark("Longest waits, of all threads together; waiting for a CPU included:".to_owned()),
        TextSection::Table(TextTable { columns, name_title: title, rows: rows.collect() }),
    ]
}
