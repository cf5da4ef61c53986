//! `waits --explain N`: the two sides of one source of waiting beside each other (C §3.4, figure 1c).

use longpole_metrics::{WaitClass, Waits};

use super::causes::{ExplainedStep, WaitCauses, words};
use super::sources::WaitSource;
use crate::input::ReportTables;
use crate::quantity::{count_of, percent, percent_text, time_text};
use crate::report::Row;
use crate::table::{Show, TextTable, shown};
use crate::text::{SideBySide, TextSection};

/// Steps shown of each side.
const STEPS: usize = 12;
/// Kinds of explanation shown.
const CLASSES: usize = 5;

/// Both sides, direct and to the roots.
pub(super) fn sections(
    input: &ReportTables<'_>,
    waits: &Waits,
    source: &WaitSource<'_>,
    (row, number): (&Row, usize),
) -> Vec<TextSection> {
    let share = row
        .value("percent")
        .map_or(String::new(), |share| format!(", {} of all waiting", percent_text(share)));
    let mean = time_text(source.time / source.count.max(1));
    let headline = format!(
        "Wait {number}: {}: {} in {}{share}, {mean} each",
        source.name(input),
        time_text(source.time),
        count_of(source.count, "wait"),
    );
    let mut sections = vec![TextSection::Headline(headline)];
    let split = source.split;
    let classes = [
        (split.imbalance, "load imbalance"),
        (split.insufficient, "insufficient parallelism"),
        (split.contention, "communication and contention"),
        (split.unexplained, "unknown"),
    ];
    let classes = classes.into_iter().filter(|(amount, _)| *amount > 0.0);
    let classes =
        classes.map(|(amount, name)| format!("{name} {}", percent_text(percent(amount, split.sum()))));
    sections.push(TextSection::Remark(format!("Causes: {}.", classes.collect::<Vec<_>>().join(", "))));
    let (direct, roots) = (
        WaitCauses::of(&source.direct, source.time, input, waits),
        WaitCauses::of(&source.roots, source.time, input, waits),
    );
    let same = two_sides(input, waits, &direct) == two_sides(input, waits, &roots);
    let title = if same {
        "Direct, and to the roots: none of the causes is itself a wait with another cause"
    } else {
        "Direct"
    };
    sections.push(TextSection::Blank);
    sections.push(TextSection::Paragraph(title.to_owned()));
    sections.push(TextSection::Sides(two_sides(input, waits, &direct)));
    sections.extend(given_up(input, waits, source));
    if !same {
        sections.push(TextSection::Blank);
        sections.push(TextSection::Paragraph("To the roots: waits replaced by what caused them".to_owned()));
        sections.push(TextSection::Sides(two_sides(input, waits, &roots)));
    }
    if source.classes.len() > 1 {
        sections.push(TextSection::Blank);
        sections.extend(kinds(input, waits, source));
    }
    sections
}

/// The comparison that explains nothing, beside what is shown in its place.
fn given_up(input: &ReportTables<'_>, waits: &Waits, source: &WaitSource<'_>) -> Vec<TextSection> {
    let (count, time) = source.given_up;
    if count == 0 {
        return Vec::new();
    }
    let title = format!(
        "Of these, {} ({}) are explained by what was done during the wait: both paths since they last met have little in \
         common and are much longer than the wait. Their difference:",
        count_of(count, "wait"),
        time_text(time),
    );
    let difference = WaitCauses::of(&source.difference, time, input, waits);
    vec![
        TextSection::Blank,
        TextSection::Paragraph(title),
        TextSection::Sides(two_sides(input, waits, &difference)),
    ]
}

fn two_sides(input: &ReportTables<'_>, waits: &Waits, causes: &WaitCauses) -> SideBySide {
    let (left_title, left) = side(input, waits, (&causes.negative, "− done by those who waited"));
    let (right_title, right) = side(input, waits, (&causes.positive, "+ done by those who ended it"));
    SideBySide { titles: [left_title, right_title], left, right }
}

/// The title and the lines of a side; threads are named once where they are the same in all lines.
fn side(
    input: &ReportTables<'_>,
    waits: &Waits,
    (causes, title): (&[ExplainedStep], &str),
) -> (String, Vec<(String, String)>) {
    let named: Vec<((String, String), &ExplainedStep)> =
        causes.iter().map(|cause| (words(input, waits, cause, true), cause)).collect();
    let mut by: Vec<&str> =
        named.iter().map(|((_, by), _)| by.as_str()).filter(|by| !by.is_empty()).collect();
    by.sort_unstable();
    by.dedup();
    let title = if let [by] = by[..] { format!("{title} ({by})") } else { title.to_owned() };
    let name = |(did, threads): &(String, String)| {
        if by.len() < 2 || threads.is_empty() { did.clone() } else { format!("{threads}: {did}") }
    };
    let mut lines: Vec<(String, String)> = named
        .iter()
        .take(STEPS)
        .map(|(words, cause)| {
            let time = time_text(cause.time.round() as u64);
            let share = percent_text(cause.percent).replace("below ", "<");
            (name(words), format!("{time:>7} {share:>7}"))
        })
        .collect();
    let rest: f64 = causes.iter().skip(STEPS).map(|cause| cause.percent).sum();
    if rest > 0.0 {
        lines.push((format!("{} more", causes.len() - STEPS), format!("{:>7}", percent_text(rest))));
    }
    (title, lines)
}

/// The kinds of explanation that the source's waits have.
fn kinds(input: &ReportTables<'_>, waits: &Waits, source: &WaitSource<'_>) -> Vec<TextSection> {
    let row = |class: &&WaitClass| {
        let shares = class
            .direct
            .iter()
            .map(|share| (share.step, (share.positive, share.negative, share.count)))
            .collect();
        let causes = WaitCauses::of(&shares, class.time, input, waits).texts(input, waits, 2).join(", ");
        (Row::default().time("seconds", class.time).count("count", class.count), causes)
    };
    let rows = source.classes.iter().take(CLASSES).map(row).collect();
    let columns = vec![shown("waited", Show::Time("seconds")), shown("waits", Show::Count("count"))];
    let title = "Not all of these waits have the same explanation:".to_owned();
    let name_title = "mostly because of (direct)".to_owned();
    let table = TextSection::Table(TextTable { columns, name_title, rows });
    let mut sections = vec![TextSection::Paragraph(title), table];
    if source.classes.len() > CLASSES {
        let rest: u64 = source.classes.iter().skip(CLASSES).map(|class| class.time).sum();
        let more = source.classes.len() - CLASSES;
        sections.push(TextSection::Remark(format!(
            "{} more, {}.",
            count_of(more as u64, "kind"),
            time_text(rest)
        )));
    }
    sections
}
