//! The list of what to change, as the summary leads with it (metrics.md §12).

use longpole_metrics::{By, Measures, Node};

use super::identity;
use crate::findings::{Finding, FindingSubject, Prediction, Sentence};
use crate::folded::FoldedWork;
use crate::input::ReportTables;
use crate::name::shorten;
use crate::quantity::percent;
use crate::report::{Report, Row};
use crate::text::TextSection;

/// Columns that the list adds to the report.
pub(super) const COLUMNS: [&str; 12] = [
    "rank",
    "remedy",
    "object",
    "kind",
    "gain_low_seconds",
    "gain_high_seconds",
    "gain_low_percent",
    "gain_high_percent",
    "predicted_by",
    "about",
    "spans",
    "about_spans",
];
/// Columns of the gain, and of the screen.
const GAIN: usize = 26;
const SCREEN: usize = 80;

/// How much of the list there is room for.
#[derive(Clone, Copy)]
pub(super) struct Changes {
    /// Entries.
    entries: usize,
    /// Entries with their evidence, from the first on.
    explained: usize,
}

/// So many entries, so many of them with their evidence.
pub(super) const fn changes(entries: usize, explained: usize) -> Changes {
    Changes { entries, explained }
}

/// Adds the list: all of it to the rows, what there is room for to the text.
pub(super) fn add_changes(report: &mut Report, input: &ReportTables<'_>, list: &[&Finding], room: Changes) {
    let rows = list.iter().enumerate().map(|(index, entry)| row(input, index, entry));
    report.rows.extend(rows);
    if list.is_empty() {
        return;
    }
    let is_replayed = list.iter().take(room.entries).any(|entry| entry.predicted_by == Prediction::Replay);
    let how = if is_replayed { "replayed; gains overlap" } else { "gains overlap" };
    let title = format!("{:<GAIN$}What to change, each alone ({how}):", "Gain, of the run");
    report.sections.push(TextSection::Line(title));
    for (index, entry) in list.iter().take(room.entries).enumerate() {
        let Some((advice, gain)) = &entry.change else { continue };
        let gain = format!("{}, {}", gain.text(), gain.share_text(input.analysis.elapsed));
        let what = format!(": {}", advice.name());
        let width = SCREEN.saturating_sub(GAIN.max(gain.chars().count() + 1) + what.chars().count());
        let name = shorten(&subject(input, entry).1, width);
        report.sections.push(TextSection::Line(format!("{:<GAIN$}{name}{what}", gain + " ")));
        if index < room.explained {
            let evidence = fitting(&entry.evidence, SCREEN - GAIN - 2);
            report.sections.push(TextSection::Line(format!("{:GAIN$}  {evidence}", "")));
        }
    }
}

/// As many of the sentences as fit; at least the first, or as many of its parts as fit, or its first part: a name in it is shortened, and
/// else it ends after a word.
fn fitting(evidence: &[Sentence], width: usize) -> String {
    let mut text = String::new();
    for piece in evidence.iter().map(Sentence::text) {
        let gap = if text.is_empty() { "" } else { "; " };
        if !text.is_empty() && text.chars().count() + gap.len() + piece.chars().count() > width {
            continue;
        }
        text = format!("{text}{gap}{piece}");
    }
    while text.chars().count() > width
        && let Some(end) = last_part(&text)
    {
        text.truncate(end);
    }
    let is_sentence = text.chars().count() > width && !text.contains('`');
    is_sentence.then(|| whole_words(&text, width)).flatten().unwrap_or_else(|| shorten(&text, width))
}

/// The first words of the text, and that there are more; `None` where not even one fits.
fn whole_words(text: &str, width: usize) -> Option<String> {
    let cut: String = text.chars().take(width.saturating_sub(1)).collect();
    Some(format!("{} …", &cut[..cut.rfind(' ')?]))
}

/// Where the last of several parts begins; a comma within a name begins none.
fn last_part(text: &str) -> Option<usize> {
    let is_outside = |at: &usize| text[..*at].matches('`').count().is_multiple_of(2);
    text.rmatch_indices(", ").map(|(at, _)| at).find(is_outside)
}

/// The cells that say what the entry is about, and its name for people.
fn subject(input: &ReportTables<'_>, finding: &Finding) -> (Row, String) {
    let name = finding.subject.text(input);
    match &finding.subject {
        FindingSubject::Procedure(id) => {
            let node = Node::Procedure(*id);
            let (row, name) = identity(input, node);
            let running = |measures: &Measures| measures.running as f64;
            let rows = input.rows(By::Procedure);
            let own = rows.iter().find(|row| row.node == node).map_or(0.0, |row| running(&row.own));
            let folded = FoldedWork::of(input, node, own, &running);
            (folded.add_to(input, row), name + &folded.suffix())
        }
        FindingSubject::Object(id) => (identity(input, Node::Object(*id)).0, name.text().replace('`', "")),
        FindingSubject::Wait(wait) => {
            let row = Row::default().text("cause", wait.cause.name()).list("spans", name.rows(input));
            let of_place = |id| {
                let (place, _) = identity(input, Node::Procedure(id));
                let copied =
                    ["procedure", "module", "file"].map(|column| (column, place.get(column).cloned()));
                copied.into_iter().fold(row.clone(), |row, (column, cell)| row.copied(column, cell.as_ref()))
            };
            (wait.place.map_or(row.clone(), of_place), name.text())
        }
        FindingSubject::ParallelRegions(place, _) => {
            (identity(input, Node::Line(place.procedure, place.line)).0, name.text().replace('`', ""))
        }
        FindingSubject::LateRank(_, id) => {
            let (row, _) = identity(input, Node::Procedure(*id));
            (row, name.text().replace('`', ""))
        }
        _ => (Row::default(), name.text()),
    }
}

fn row(input: &ReportTables<'_>, index: usize, finding: &Finding) -> Row {
    let elapsed = input.analysis.elapsed as f64;
    let (row, name) = subject(input, finding);
    let Some((advice, gain)) = &finding.change else { return row };
    let about = Sentence::joined(finding.evidence.iter().cloned(), "; ");
    row.text("section", "change")
        .count("rank", index as u64 + 1)
        .text("text", name)
        .text("remedy", advice.name())
        .fraction("gain_low_seconds", gain.low)
        .fraction("gain_high_seconds", gain.high)
        .percent("gain_low_percent", percent(gain.low, elapsed))
        .percent("gain_high_percent", percent(gain.high, elapsed))
        .text("predicted_by", finding.predicted_by.name())
        .text("about", about.text())
        .list("about_spans", about.rows(input))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evidence_is_told_as_far_as_it_fits() {
        let evidence =
            ["holds the lock", "a very long remark that does not fit", "alone"].map(Sentence::from);
        assert_eq!(fitting(&evidence, 30), "holds the lock; alone");
        assert_eq!(fitting(&["abcdefghij".into()], 7), "ab…ghij");
        assert_eq!(fitting(&["threads use the same bytes".into()], 20), "threads use the …");
        assert_eq!(fitting(&["in `f(a, b)` 20 %, in `g(a, b)` 18 %".into()], 20), "in `f(a, b)` 20 %");
        assert_eq!(fitting(&[], 7), "");
    }
}
