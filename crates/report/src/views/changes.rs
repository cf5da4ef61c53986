//! The list of what to change, as the summary leads with it (metrics.md §12).

use longpole_metrics::Node;

use super::identity;
use crate::input::Source;
use crate::name::shorten;
use crate::quantity::percent;
use crate::recommendation::{Recommendation, Subject};
use crate::report::{Report, Row};
use crate::text::Section;

/// Columns that the list adds to the report.
pub(super) const COLUMNS: [&str; 9] = [
    "rank",
    "remedy",
    "object",
    "kind",
    "gain_low_seconds",
    "gain_high_seconds",
    "gain_low_percent",
    "gain_high_percent",
    "about",
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
pub(super) fn add_changes(report: &mut Report, input: &Source<'_>, list: &[Recommendation], room: Changes) {
    let rows = list.iter().enumerate().map(|(index, entry)| row(input, index, entry));
    report.rows.extend(rows);
    if list.is_empty() {
        return;
    }
    let title = format!("{:<GAIN$}What to change, each alone (gains overlap):", "Gain, of the run");
    report.sections.push(Section::Line(title));
    for (index, entry) in list.iter().take(room.entries).enumerate() {
        let share = entry.gain.share_text(input.analysis.elapsed);
        let gain = format!("{}, {share}", entry.gain.text());
        let what = format!(": {}", entry.remedy.name());
        let width = SCREEN.saturating_sub(GAIN.max(gain.chars().count() + 1) + what.chars().count());
        let name = shorten(&subject(input, &entry.subject).1, width);
        report.sections.push(Section::Line(format!("{:<GAIN$}{name}{what}", gain + " ")));
        if index < room.explained {
            let evidence = fitting(&entry.evidence, SCREEN - GAIN - 2);
            report.sections.push(Section::Line(format!("{:GAIN$}  {evidence}", "")));
        }
    }
}

/// As many of the words as fit; at least the first, shortened.
fn fitting(evidence: &[String], width: usize) -> String {
    let mut text = String::new();
    for piece in evidence {
        let gap = if text.is_empty() { "" } else { "; " };
        if !text.is_empty() && text.chars().count() + gap.len() + piece.chars().count() > width {
            continue;
        }
        text = format!("{text}{gap}{piece}");
    }
    shorten(&text, width)
}

/// The cells that say what the entry is about, and its name for people.
fn subject(input: &Source<'_>, subject: &Subject) -> (Row, String) {
    match subject {
        Subject::Procedure(id) => identity(input, Node::Procedure(*id)),
        Subject::Object(kind, name) => {
            let row = Row::default().text("object", name).text("kind", kind.name());
            let told =
                if name.starts_with(kind.name()) { name.clone() } else { format!("{} {name}", kind.name()) };
            (row, told)
        }
        Subject::Waiting(text) => (Row::default(), text.clone()),
    }
}

fn row(input: &Source<'_>, index: usize, entry: &Recommendation) -> Row {
    let elapsed = input.analysis.elapsed as f64;
    let (row, name) = subject(input, &entry.subject);
    row.text("section", "change")
        .count("rank", index as u64 + 1)
        .text("text", name)
        .text("remedy", entry.remedy.name())
        .fraction("gain_low_seconds", entry.gain.low)
        .fraction("gain_high_seconds", entry.gain.high)
        .percent("gain_low_percent", percent(entry.gain.low, elapsed))
        .percent("gain_high_percent", percent(entry.gain.high, elapsed))
        .text("about", entry.evidence.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evidence_is_told_as_far_as_it_fits() {
        let evidence = ["holds the lock", "a very long remark that does not fit", "alone"].map(str::to_owned);
        assert_eq!(fitting(&evidence, 30), "holds the lock; alone");
        assert_eq!(fitting(&["abcdefghij".to_owned()], 7), "ab…ghij");
        assert_eq!(fitting(&[], 7), "");
    }
}
