//! `correlation`: which outside series move with low parallelism, or with waiting (IPS-2 §6.1, the curves one above the
//! other).

use longpole_series::{SeriesCorrelation, SeriesCorrelations};

use crate::amount::amount_text;
use crate::input::{ReportOptions, ReportTables};
use crate::quantity::time_text;
use crate::report::{Report, Row};
use crate::table::{Show, TextTable, shown};
use crate::text::TextSection;
use crate::view::{OutsideAnswerKind, View, ViewDefinition};

const COLUMNS: [&str; 13] = [
    "target",
    "metric",
    "title",
    "node",
    "unit",
    "strength",
    "lag_seconds",
    "bins",
    "worth",
    "while_low",
    "otherwise",
    "trivial",
    "text",
];

pub(super) static VIEW: ViewDefinition = ViewDefinition {
    name: "correlation",
    about: "Which outside series move with low parallelism, or with waiting.",
    outside: &[OutsideAnswerKind::Correlations],
    build,
    ..ViewDefinition::PLAIN
};

fn build(input: &ReportTables<'_>, options: &ReportOptions) -> Report {
    let mut report = Report::new(View::Correlation, input, options, &COLUMNS);
    let none = SeriesCorrelations::default();
    let SeriesCorrelations { found, notes } = input.outside_answers.correlations.as_ref().unwrap_or(&none);
    let is_shown = |kinship: &&SeriesCorrelation| options.all || !kinship.is_trivial;
    report.rows = found.iter().map(row).collect();
    report.rows.extend(notes.iter().map(|note| Row::default().text("text", note)));
    let telling: Vec<&SeriesCorrelation> = found.iter().filter(is_shown).collect();
    let headline = match telling.iter().find(|one| one.there > one.elsewhere) {
        Some(first) => format!("{}: {}", first.moments, told(first)),
        None => {
            "No series from outside is clearly higher while few threads are busy, or many wait".to_owned()
        }
    };
    report.sections.push(TextSection::Headline(capitalised(&headline)));
    let mut targets: Vec<(&str, &str)> =
        telling.iter().map(|one| (one.target.as_str(), one.moments)).collect();
    targets.dedup();
    for (target, moments) in targets {
        let rows = telling.iter().filter(|one| one.target == target);
        let rows: Vec<_> = rows
            .take(options.top.unwrap_or(super::ROWS_OF_TEXT))
            .map(|one| (as_text(one), format!("{} of {}", one.metric, one.node)))
            .collect();
        let columns = vec![
            shown("strength", Show::Mean("strength")),
            shown("samples", Show::Words("worth")).optional(),
            shown("then", Show::Words("while_low")),
            shown("otherwise", Show::Words("otherwise")),
            shown("first by", Show::Words("lag_seconds")).optional(),
        ];
        let name_title = format!("series {moments}");
        report
            .sections
            .extend([TextSection::Blank, TextSection::Table(TextTable { columns, name_title, rows })]);
    }
    report.sections.push(TextSection::Blank);
    report.sections.extend(notes.iter().map(|note| TextSection::Remark(note.clone())));
    let doubt = "That two things go together does not make one the cause of the other.";
    report.sections.push(TextSection::Remark(doubt.to_owned()));
    report
}

/// The sentence of the summary: the first that is not trivial.
pub(super) fn in_a_line(correlations: &SeriesCorrelations) -> Option<String> {
    let first = correlations.found.iter().find(|one| !one.is_trivial && one.there > one.elsewhere)?;
    Some(capitalised(&format!("{}: {} (--view correlation)", first.moments, told(first))))
}

/// What a series does, in words: `page_faults 5,600 faults/s, otherwise 300 faults/s`.
pub(super) fn told(kinship: &SeriesCorrelation) -> String {
    let SeriesCorrelation { metric, unit, there, elsewhere, .. } = kinship;
    format!("`{metric}` {}, otherwise {}", amount_text(*there, unit), amount_text(*elsewhere, unit))
}

fn row(kinship: &SeriesCorrelation) -> Row {
    Row::default()
        .text("target", &kinship.target)
        .text("metric", &kinship.metric)
        .text("title", &kinship.title)
        .text("node", &kinship.node)
        .text("unit", &kinship.unit)
        .amount("strength", kinship.strength)
        .amount("lag_seconds", kinship.strength.map(|_| kinship.lead_seconds))
        .count("bins", kinship.bins as u64)
        .amount("worth", kinship.strength.map(|_| kinship.samples))
        .amount("while_low", Some(kinship.there))
        .amount("otherwise", Some(kinship.elsewhere))
        .flag("trivial", kinship.is_trivial)
        .text("text", format!("{}: {}", kinship.moments, told(kinship)))
}

/// The same with amounts as people read them.
fn as_text(kinship: &SeriesCorrelation) -> Row {
    let lead = kinship.lead_seconds;
    let sign = if lead < 0.0 { "-" } else { "" };
    let lead = match kinship.strength {
        Some(_) if lead != 0.0 => format!("{sign}{}", time_text((lead.abs() * 1e9).round() as u64)),
        _ => String::new(),
    };
    row(kinship)
        .text("while_low", amount_text(kinship.there, &kinship.unit))
        .text("otherwise", amount_text(kinship.elsewhere, &kinship.unit))
        .text(
            "worth",
            if kinship.strength.is_some() {
                format!("{:.0}", kinship.samples)
            } else {
                "may be chance".to_owned()
            },
        )
        .text("lag_seconds", if lead.is_empty() { "—" } else { &lead })
}

fn capitalised(text: &str) -> String {
    let mut characters = text.chars();
    let first = characters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    first + characters.as_str()
}
