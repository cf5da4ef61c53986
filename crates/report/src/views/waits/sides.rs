//! `waits --explain N`: the two sides of one source of waiting beside each other (C §3.4, figure 1c).

use longpole_metrics::Waits;

use super::causes::{Cause, Causes, words};
use super::sources::WaitSource;
use crate::input::Source;
use crate::quantity::{count_of, percent, percent_text, time_text};
use crate::report::Row;
use crate::text::Section;

/// Steps shown of each side.
const STEPS: usize = 12;
/// Kinds of explanation shown.
const CLASSES: usize = 5;

/// Both sides, direct and to the roots.
pub(super) fn sections(
    input: &Source<'_>,
    waits: &Waits,
    source: &WaitSource<'_>,
    (row, number): (&Row, usize),
) -> Vec<Section> {
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
    let mut sections = vec![Section::Headline(headline)];
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
    sections.push(Section::Remark(format!("Causes: {}.", classes.collect::<Vec<_>>().join(", "))));
    let (direct, roots) = (Causes::of(&source.direct, source.time), Causes::of(&source.roots, source.time));
    sections.push(Section::Blank);
    sections.push(Section::Paragraph(
        "Direct: what each side did that the other did not, since both last synchronised".to_owned(),
    ));
    sections.push(two_sides(input, waits, &direct));
    sections.push(Section::Blank);
    sections.push(Section::Paragraph("To the roots: waits replaced by what caused them".to_owned()));
    sections.push(two_sides(input, waits, &roots));
    if source.classes.len() > 1 {
        sections.push(Section::Blank);
        sections.extend(kinds(input, waits, source));
    }
    sections
}

fn two_sides(input: &Source<'_>, waits: &Waits, causes: &Causes) -> Section {
    let side = |causes: &[Cause]| -> Vec<(String, String)> {
        let mut lines: Vec<(String, String)> = causes
            .iter()
            .take(STEPS)
            .map(|cause| {
                let amount =
                    format!("{} {:>6}", time_text(cause.time.round() as u64), percent_text(cause.percent));
                (words(input, waits, cause, true), amount)
            })
            .collect();
        let rest: f64 = causes.iter().skip(STEPS).map(|cause| cause.percent).sum();
        if rest > 0.0 {
            lines.push((format!("{} more", causes.len() - STEPS), percent_text(rest)));
        }
        lines
    };
    let (left, right) = (side(&causes.negative), side(&causes.positive));
    Section::Sides {
        titles: ["− the waiting threads".to_owned(), "+ those who ended the waits".to_owned()],
        left,
        right,
    }
}

/// The kinds of explanation that the source's waits have.
fn kinds(input: &Source<'_>, waits: &Waits, source: &WaitSource<'_>) -> Vec<Section> {
    let mut sections =
        vec![Section::Paragraph("Not all of these waits have the same explanation:".to_owned())];
    for class in source.classes.iter().take(CLASSES) {
        let shares =
            class.direct.iter().map(|share| (share.step, (share.positive, share.negative))).collect();
        let causes = Causes::of(&shares, class.time);
        let text = causes.text(input, waits, 3);
        let line = format!("  {}, {}: {text}", time_text(class.time), count_of(class.count, "wait"));
        sections.push(Section::Paragraph(line));
    }
    if source.classes.len() > CLASSES {
        let rest: u64 = source.classes.iter().skip(CLASSES).map(|class| class.time).sum();
        let more = source.classes.len() - CLASSES;
        sections.push(Section::Remark(format!("  and {more} more kinds, {}.", time_text(rest))));
    }
    sections
}
