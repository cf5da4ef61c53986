//! `longpole check`: whether recordings of a program have become worse than others, beyond their noise (metrics.md §14).

mod condition;
mod measured;
mod verdict;

use longpole_metrics::DetailsDemand;

use crate::error::{Error, Result};
use crate::input::{ReportInput, ReportOptions, ReportTables};
use crate::name::{program_file, shorten};
use crate::quantity::{count_of, percent, time_text};
use crate::report::{RecordingNumbers, Report, Row};
use crate::table::{Show, TextTable, shown};
use crate::text::TextSection;
use measured::{NamedTime, measured, unknown_name};
use verdict::{ComparedTimes, MeasuredTime, compare};

pub use condition::{CheckCondition, CheckLimit, CheckMetric};
pub use verdict::CheckOutcome;

/// The name of the report in JSON.
const NAME: &str = "check";
const COLUMNS: [&str; 11] = [
    "condition",
    "outcome",
    "before_seconds",
    "after_seconds",
    "change_seconds",
    "change_margin_seconds",
    "change_percent",
    "before_recordings",
    "after_recordings",
    "needed_recordings",
    "text",
];
/// Recordings of a side below which the text asks for more.
const ENOUGH: usize = 3;

/// What one recording says of the conditions, in their order; `None` where it has nothing of the name.
#[derive(Clone, Debug)]
pub struct CheckedRecording {
    times: Vec<Option<NamedTime>>,
    unknown: Vec<Option<String>>,
    numbers: RecordingNumbers,
    program: String,
}

impl CheckedRecording {
    /// Measures a recording.
    ///
    /// # Errors
    /// [`Error::BadCondition`], [`Error::AmbiguousName`].
    pub fn of(input: &ReportInput<'_>, conditions: &[CheckCondition]) -> Result<CheckedRecording> {
        let input = &ReportTables::new(*input);
        let unknown =
            |condition: &CheckCondition| unknown_name(input, condition).map(|error| error.to_string());
        Ok(CheckedRecording {
            times: conditions.iter().map(|condition| measured(input, condition)).collect::<Result<_>>()?,
            unknown: conditions.iter().map(unknown).collect(),
            numbers: RecordingNumbers::of(input, &ReportOptions::default()),
            program: shorten(program_file(input.program), 40),
        })
    }

    /// What is needed beside the analysis.
    #[must_use]
    pub fn demand() -> DetailsDemand {
        DetailsDemand { contention: true, ..DetailsDemand::default() }
    }
}

/// What became of all conditions.
#[derive(Clone, Debug)]
pub struct Check {
    /// The report.
    pub report: Report,
    /// Of each condition, in their order.
    pub outcomes: Vec<CheckOutcome>,
}

/// Compares recordings after with those before; `input` is one of those after. Both sides have at least one recording.
///
/// # Errors
/// [`Error::BadCondition`] where no recording has what a condition names.
pub fn build_check(
    input: &ReportInput<'_>,
    conditions: &[CheckCondition],
    (before, after): (&[CheckedRecording], &[CheckedRecording]),
) -> Result<Check> {
    let tables = &ReportTables::new(*input);
    let mut report = Report::named(NAME, tables, &ReportOptions::default(), &COLUMNS);
    report.before = before.first().map(|one| one.numbers.clone());
    let checked: Vec<(ComparedTimes, Row, String)> = conditions
        .iter()
        .enumerate()
        .map(|(at, condition)| checked(condition, at, (before, after)))
        .collect::<Result<_>>()?;
    let outcomes: Vec<CheckOutcome> = checked.iter().map(|(compared, ..)| compared.outcome).collect();
    report.rows = checked.iter().map(|(_, row, _)| row.clone()).collect();
    report.sections.push(TextSection::Headline(headline(&outcomes)));
    report.sections.push(TextSection::Remark(how(before.len(), after.len())));
    report.sections.extend(doubts(before, after).into_iter().map(TextSection::Warning));
    report.sections.push(TextSection::Blank);
    let columns = vec![
        shown("", Show::Words("outcome")),
        shown("before", Show::Words("before_text")),
        shown("after", Show::Words("after_text")),
        shown("change", Show::Words("change_text")),
    ];
    let rows = checked
        .iter()
        .zip(conditions)
        .map(|((compared, row, _), condition)| (with_texts(row.clone(), compared), condition.text.clone()));
    report.sections.push(TextSection::Table(TextTable {
        columns,
        name_title: "fails if".to_owned(),
        rows: rows.collect(),
    }));
    report.sections.push(TextSection::Blank);
    report.sections.extend(checked.into_iter().map(|(.., text)| TextSection::Paragraph(text)));
    Ok(Check { report, outcomes })
}

/// What became of one condition.
fn checked(
    condition: &CheckCondition,
    at: usize,
    (before, after): (&[CheckedRecording], &[CheckedRecording]),
) -> Result<(ComparedTimes, Row, String)> {
    let all = || before.iter().chain(after);
    if all().all(|one| one.times[at].is_none()) {
        let reason = all().find_map(|one| one.unknown[at].clone()).unwrap_or_default();
        let reason = format!("no recording has it: failed to {reason}");
        return Err(Error::BadCondition { text: condition.text.clone(), reason });
    }
    let times = |side: &[CheckedRecording]| -> Vec<MeasuredTime> {
        let time = |one: &CheckedRecording| one.times[at].as_ref().map(|named| named.time);
        side.iter().map(|one| time(one).unwrap_or_default()).collect()
    };
    let mut names: Vec<&str> =
        all().filter_map(|one| one.times[at].as_ref()).map(|named| named.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    if names.len() > 1 {
        let reason = format!("its name means several things: {}; write the whole name", names.join(", "));
        return Err(Error::BadCondition { text: condition.text.clone(), reason });
    }
    let compared = compare(&times(before), &times(after), condition.limit, condition.is_upper);
    let text = reason(condition, &compared, at, (before, after));
    let change = compared.after - compared.before;
    let row = Row::default()
        .text("condition", &condition.text)
        .text("outcome", outcome_name(compared.outcome))
        .fraction("before_seconds", compared.before)
        .fraction("after_seconds", compared.after)
        .fraction("change_seconds", change)
        .fraction("change_margin_seconds", compared.margin)
        .count("before_recordings", before.len() as u64)
        .count("after_recordings", after.len() as u64)
        .text("text", &text);
    let row = if compared.before > 0.0 {
        row.percent("change_percent", percent(change, compared.before))
    } else {
        row
    };
    let row = match compared.needed {
        Some(needed) => row.count("needed_recordings", needed),
        None => row,
    };
    Ok((compared, row, text))
}

fn outcome_name(outcome: CheckOutcome) -> &'static str {
    match outcome {
        CheckOutcome::Passed => "passed",
        CheckOutcome::Failed => "FAILED",
        CheckOutcome::NotSure => "not sure",
    }
}

/// Why it came out so.
fn reason(
    condition: &CheckCondition,
    compared: &ComparedTimes,
    at: usize,
    (before, after): (&[CheckedRecording], &[CheckedRecording]),
) -> String {
    let text = |time: f64| time_text(time.abs().round() as u64);
    let margin = text(compared.margin);
    let mut reason = match compared.outcome {
        CheckOutcome::Failed => format!("`{condition}` holds, by more than the noise of {margin}."),
        CheckOutcome::Passed => format!("`{condition}` does not hold, by more than the noise of {margin}."),
        CheckOutcome::NotSure => {
            let more = match compared.needed {
                Some(needed) => format!("; about {needed} recordings of each side would tell"),
                None => "; more recordings of each side would tell".to_owned(),
            };
            format!("`{condition}` cannot be told from noise, {margin} here{more}. That is no failure.")
        }
    };
    for (side, when) in [(before, "before"), (after, "after")] {
        let without = side.iter().filter(|one| one.times[at].is_none()).count();
        if without > 0 {
            let of = count_of(side.len() as u64, "recording");
            reason.push_str(&format!(" Not in {without} of {of} {when}, which counts as 0."));
        }
    }
    reason
}

/// The row with what the text shows of it.
fn with_texts(row: Row, compared: &ComparedTimes) -> Row {
    let text = |time: f64| time_text(time.round().max(0.0) as u64);
    let change = compared.after - compared.before;
    let sign = if change < 0.0 { "−" } else { "+" };
    let change = match compared.before {
        before if before > 0.0 => format!("{sign}{:.1} %", percent(change, before).abs()),
        _ => format!("{sign}{}", text(change.abs())),
    };
    row.text("before_text", text(compared.before))
        .text("after_text", text(compared.after))
        .text("change_text", change)
}

fn headline(outcomes: &[CheckOutcome]) -> String {
    let count = |wanted| outcomes.iter().filter(|&&outcome| outcome == wanted).count();
    let (failed, unsure) = (count(CheckOutcome::Failed), count(CheckOutcome::NotSure));
    let all = count_of(outcomes.len() as u64, "condition");
    match (failed, unsure) {
        (0, 0) => format!("Passed: none of {all} holds"),
        (0, unsure) => format!("Passed: none of {all} holds for sure; {unsure} cannot be told from noise"),
        (failed, _) => format!("FAILED: {failed} of {all} holds"),
    }
}

fn how(before: usize, after: usize) -> String {
    let sides = format!(
        "{} compared with {}, by their means.",
        count_of(after as u64, "recording"),
        count_of(before as u64, "recording")
    );
    match before.min(after) {
        1 if before.max(after) == 1 => format!(
            "{sides} One of each side does not show how much runs differ: 1 ms and 2 % are taken for that. Record {ENOUGH} or more of each."
        ),
        few if few < ENOUGH => {
            format!(
                "{sides} A condition fails where it holds with 99 % confidence; {ENOUGH} or more of each side make that easier."
            )
        }
        _ => format!("{sides} A condition fails where it holds with 99 % confidence."),
    }
}

/// What makes the sides hard to compare.
fn doubts(before: &[CheckedRecording], after: &[CheckedRecording]) -> Vec<String> {
    let all = || before.iter().chain(after);
    let mut doubts = Vec::new();
    let mut differ = |what: &str, of: &dyn Fn(&CheckedRecording) -> String| {
        let mut values: Vec<String> = all().map(of).collect();
        values.sort();
        values.dedup();
        if values.len() > 1 {
            doubts.push(format!("the recordings are not alike: {what} {}", values.join(", ")));
        }
    };
    differ("CPUs", &|one| one.numbers.cpus.to_string());
    differ("programs", &|one| one.program.clone());
    differ("arguments", &|one| {
        let arguments = one.numbers.command.get(1..).unwrap_or_default().join(" ");
        if arguments.is_empty() { "none".to_owned() } else { shorten(&arguments, 30) }
    });
    doubts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{DrawnRun, LOCK_HOG, SERIAL_THEN_PARALLEL};
    use crate::style::Style;

    fn checked(before: &[&str], after: &[&str], conditions: &[&str]) -> Result<Check> {
        let conditions: Vec<CheckCondition> =
            conditions.iter().map(|text| CheckCondition::parse(text)).collect::<Result<_>>()?;
        let measure = |drawing: &&str| {
            DrawnRun::of(drawing).with_details(&CheckedRecording::demand(), |tables| {
                CheckedRecording::of(tables.input(), &conditions)
            })
        };
        let before: Vec<_> = before.iter().map(measure).collect::<Result<_>>()?;
        let of_after: Vec<_> = after.iter().map(measure).collect::<Result<_>>()?;
        DrawnRun::of(after[0])
            .with_source(|tables| build_check(tables.input(), &conditions, (&before, &of_after)))
    }

    fn slower() -> String {
        LOCK_HOG.replace("HHHHHHHHHHHHHHHH\n", "HHHHHHHHHHHHHHHHHHHHHHHH\n")
    }

    #[test]
    fn what_became_worse_fails_and_the_text_says_why() {
        let slower = slower();
        let conditions = ["critical_path.update > +5%", "cpu.independent > +5%", "elapsed > +50ms"];
        let check = checked(&[LOCK_HOG; 3], &[slower.as_str(); 3], &conditions).unwrap();
        let expected = [CheckOutcome::Failed, CheckOutcome::NotSure, CheckOutcome::Failed];
        assert_eq!(check.outcomes[0], expected[0]);
        assert_eq!(check.outcomes[2], expected[2]);
        assert_ne!(check.outcomes[1], CheckOutcome::Failed);
        let text = check.report.text(&Style::plain(80));
        assert!(text.starts_with("FAILED: 2 of 3 conditions"), "{text}");
        assert!(text.contains("320 ms") && text.contains("400 ms") && text.contains("+25.0 %"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }

    #[test]
    fn the_same_recordings_pass() {
        let conditions = ["elapsed > +1%", "critical_path > +1%", "wait.table_lock > +10%", "npt < -5%"];
        let check = checked(&[LOCK_HOG; 3], &[LOCK_HOG; 3], &conditions).unwrap();
        assert_eq!(check.outcomes, [CheckOutcome::Passed; 4]);
    }

    #[test]
    fn a_name_that_no_recording_has_is_an_error_and_one_that_a_side_lacks_counts_as_0() {
        let error = checked(&[LOCK_HOG], &[LOCK_HOG], &["cpu.updaet > +5%"]).unwrap_err().to_string();
        assert!(error.contains("no recording has it") && error.contains("update"), "{error}");
        let check = checked(&[SERIAL_THEN_PARALLEL], &[LOCK_HOG], &["cpu.update > +50ms"]).unwrap();
        assert_eq!(check.outcomes, [CheckOutcome::Failed]);
        let text = check.report.text(&Style::plain(200));
        assert!(text.contains("Not in 1 of 1 recording before"), "{text}");
    }

    #[test]
    fn a_name_is_of_the_same_thing_in_every_recording() {
        // Part of a name is enough where only one has it, but not for another one in another recording.
        let other = LOCK_HOG.replace("update", "rebuild").replace("short_rebuild", "rebuild_dates");
        let error = checked(&[LOCK_HOG], &[&other], &["cpu.procedure:hog > +5%"]);
        assert!(error.is_ok(), "{error:?}");
        let other = LOCK_HOG.replace("> update", "> updater").replace("short_update", "short");
        let error = checked(&[LOCK_HOG], &[&other], &["cpu.update > +5%"]).unwrap_err().to_string();
        assert!(error.contains("update, updater; write the whole name"), "{error}");
    }

    #[test]
    fn an_object_is_only_waited_for() {
        let error = checked(&[LOCK_HOG], &[LOCK_HOG], &["npt.table_lock > +5%"]).unwrap_err().to_string();
        assert!(error.contains("only waited for"), "{error}");
    }
}
