//! `longpole zero`: predictions beside what changed versions of the program truly gained (metrics.md §5, true zeroing).

use crate::column::columns;
use crate::quantity::{count_of, percent_text, time_text};
use crate::report::{Report, Row};
use crate::table::{Show, TextTable, shown};
use crate::text::TextSection;

mod plot;

pub use plot::plot_zero;

/// The name of the report in JSON.
const NAME: &str = "zero";
const COLUMNS: [&str; 29] = [
    "change",
    "factor",
    "elapsed_gain_percent",
    "gain_low_percent",
    "gain_high_percent",
    "measured_gain_percent",
    "measured_low_percent",
    "measured_high_percent",
    "best_gain_percent",
    "inside",
    "counted_pairs",
    "measured_pairs",
    "needed_pairs",
    "unchanged_seconds",
    "variant_seconds",
    "unchanged_cpu_seconds",
    "variant_cpu_seconds",
    "unchanged_page_faults",
    "variant_page_faults",
    "unchanged_switches",
    "variant_switches",
    "output",
    "variant",
    "added_seconds",
    "inserted_seconds",
    "lengthened_ratio",
    "sampled_percent",
    "recorded_percent",
    "text",
];
/// Page faults and switches of two versions that differ by less than this part are alike.
const ALIKE: f64 = 0.2;
/// So many page faults or switches more or less cost nothing that is seen.
const FEW: f64 = 500.0;
/// The samples of a slow-down and the recording agree on a procedure's share if they differ by less than this part of the larger one, or by
/// less than [`NEAR_POINTS`].
const NEAR: f64 = 0.15;
/// Per cent of the CPU time.
const NEAR_POINTS: f64 = 2.0;
/// Recorded runs longer than this many times the median run are said.
const SLOWER: f64 = 1.1;

/// Medians over the runs of one version of the program.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct VersionMedians {
    /// Elapsed time, seconds.
    pub elapsed_seconds: f64,
    /// CPU time, seconds.
    pub cpu_seconds: f64,
    /// Page faults.
    pub page_faults: f64,
    /// Context switches.
    pub switches: f64,
}

/// What a version truly gained, per cent of the unchanged run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeasuredGain {
    /// The median over pairs of runs.
    pub percent: f64,
    /// The interval that holds this median in 95 of 100 cases; `None` of too few pairs.
    pub interval: Option<(f64, f64)>,
    /// Best run against best run.
    pub best_percent: f64,
    /// Pairs that count.
    pub pairs: usize,
    /// Pairs that were measured.
    pub measured: usize,
    /// Pairs that would make the interval as narrow as wanted, where it is not.
    pub needed: Option<usize>,
}

/// What a slow-down or a virtual speed-up did to the program.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeasuredDelay {
    /// By which part of its CPU time the procedure got longer, or virtually shorter.
    pub factor: f64,
    /// CPU time that was added to the run; less than 0: that was virtually taken away.
    pub added_seconds: f64,
    /// Delay of all other threads that a virtual speed-up inserted, which the elapsed times are without; `None` of a slow-down.
    pub inserted_seconds: Option<f64>,
    /// The procedure's share of the CPU time, by the samples of the experiment.
    pub sampled_percent: f64,
    /// The same in the recording; `None` where the recording has several procedures of that name.
    pub recorded_percent: Option<f64>,
    /// The system let only the program's own code be sampled, not what the kernel does for it.
    pub is_user_only: bool,
}

/// Whether a version writes what the unchanged program writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComparedOutput {
    /// It does.
    Equal,
    /// It does not.
    Different,
    /// Two runs of the unchanged program differ.
    Varies,
}

/// A version of the program with a change.
#[derive(Clone, Debug)]
pub struct MeasuredVariant {
    /// The command that runs it.
    pub command: String,
    /// What it gained; `None` without a pair.
    pub gain: Option<MeasuredGain>,
    /// Its runs.
    pub medians: VersionMedians,
    /// What it wrote.
    pub output: ComparedOutput,
    /// Where it is the program itself with a procedure that takes longer.
    pub delay: Option<MeasuredDelay>,
}

/// All that was measured.
#[derive(Clone, Debug)]
pub struct MeasuredProgram {
    /// The command that runs the unchanged program.
    pub command: String,
    /// Its runs.
    pub unchanged: VersionMedians,
    /// The runs of the program that is sampled only, with which slow-downs are compared.
    pub sampled: Option<VersionMedians>,
    /// The same, with which virtual speed-ups are compared.
    pub sampled_virtual: Option<VersionMedians>,
    /// Versions, in the order of the predicted changes.
    pub variants: Vec<MeasuredVariant>,
    /// Why the predictions have no ranges, where they have none.
    pub refusal: Option<String>,
}

/// The predictions of a report of what-if or replay beside what was measured, change by change.
#[must_use]
pub fn build_zero(predicted: &Report, measured: &MeasuredProgram) -> Report {
    let changes = predicted.rows.iter().filter(|row| row.words("section") == "change");
    let rows: Vec<Row> =
        changes.zip(&measured.variants).map(|(row, variant)| truth_row(row, variant, measured)).collect();
    let mut report = Report {
        view: NAME,
        by: predicted.by,
        recording: predicted.recording.clone(),
        before: None,
        simulation: None,
        evidence: predicted.evidence.clone(),
        columns: columns(&COLUMNS),
        rows: Vec::new(),
        sections: vec![TextSection::Headline(headline(&rows)), TextSection::Remark(how(measured))],
    };
    report.sections.extend(measured.refusal.iter().map(|refusal| {
        TextSection::Remark(format!("Predictions are those of what-if and have no range: {refusal}."))
    }));
    report.sections.extend(warnings(predicted, measured).into_iter().map(TextSection::Warning));
    report.sections.push(TextSection::Blank);
    report.sections.push(TextSection::Table(TextTable {
        columns: vec![
            shown("predicted %", Show::Words("predicted_text")),
            shown("measured %", Show::Words("measured_text")),
            shown("inside", Show::Words("inside")),
            shown("output", Show::Words("output")),
            shown("elapsed", Show::Time("variant_seconds")).optional(),
            shown("CPU", Show::Time("variant_cpu_seconds")).optional(),
            shown("per added s", Show::Mean("lengthened_ratio")).optional(),
            shown("pairs", Show::Count("counted_pairs")).optional(),
        ],
        name_title: "change".to_owned(),
        rows: rows.iter().map(|row| (with_texts(row), label(row))).collect(),
    }));
    let remarks: Vec<String> =
        rows.iter().map(|row| row.words("text").to_owned()).filter(|text| !text.is_empty()).collect();
    if !remarks.is_empty() {
        report.sections.push(TextSection::Blank);
        report.sections.extend(remarks.into_iter().map(TextSection::Paragraph));
    }
    report.rows = rows;
    report
}

fn truth_row(predicted: &Row, variant: &MeasuredVariant, measured: &MeasuredProgram) -> Row {
    let mut row = Row::default();
    for column in ["change", "factor", "elapsed_gain_percent", "gain_low_percent", "gain_high_percent"] {
        row = row.copied(column, predicted.get(column));
    }
    let control = match variant.delay {
        Some(MeasuredDelay { inserted_seconds: Some(_), .. }) => measured.sampled_virtual,
        Some(_) => measured.sampled,
        None => None,
    };
    let before = control.unwrap_or(measured.unchanged);
    let after = variant.medians;
    let row = row
        .mean("unchanged_seconds", before.elapsed_seconds)
        .mean("variant_seconds", after.elapsed_seconds)
        .mean("unchanged_cpu_seconds", before.cpu_seconds)
        .mean("variant_cpu_seconds", after.cpu_seconds)
        .mean("unchanged_page_faults", before.page_faults)
        .mean("variant_page_faults", after.page_faults)
        .mean("unchanged_switches", before.switches)
        .mean("variant_switches", after.switches)
        .text("output", output_name(variant.output))
        .text("variant", &variant.command);
    let row = match &variant.gain {
        Some(gain) => with_gain(row, gain),
        None => row,
    };
    let row = match &variant.delay {
        Some(delay) => with_delay(row, delay, before),
        None => row,
    };
    let text = doubts(&row, variant, before);
    row.text("text", text)
}

fn with_delay(row: Row, delay: &MeasuredDelay, before: VersionMedians) -> Row {
    let longer = row.value("measured_gain_percent").map(|gain| -gain / 100.0 * before.elapsed_seconds);
    let ratio = longer.filter(|_| delay.added_seconds != 0.0).map(|longer| longer / delay.added_seconds);
    let row = row
        .fraction("added_seconds", delay.added_seconds * 1e9)
        .amount("inserted_seconds", delay.inserted_seconds)
        .percent("sampled_percent", delay.sampled_percent)
        .percent_if("recorded_percent", delay.recorded_percent);
    let row = match ratio {
        Some(ratio) => row.mean("lengthened_ratio", ratio),
        None => row,
    };
    if is_the_recorded(delay) || row.words("inside").is_empty() {
        row
    } else {
        row.text("inside", "untested")
    }
}

/// Whether the procedure that was slowed down is the one that the recording has.
fn is_the_recorded(delay: &MeasuredDelay) -> bool {
    delay.recorded_percent.is_none_or(|recorded| {
        let difference = (delay.sampled_percent - recorded).abs();
        difference < NEAR_POINTS || difference < NEAR * delay.sampled_percent.max(recorded)
    })
}

fn with_gain(row: Row, gain: &MeasuredGain) -> Row {
    let range = row.value("gain_low_percent").zip(row.value("gain_high_percent"));
    let inside = range.zip(gain.interval).map(|(range, interval)| inside(range, gain.percent, interval));
    let row = row
        .percent("measured_gain_percent", gain.percent)
        .percent("best_gain_percent", gain.best_percent)
        .percent_if("measured_low_percent", gain.interval.map(|interval| interval.0))
        .percent_if("measured_high_percent", gain.interval.map(|interval| interval.1))
        .text("inside", inside.unwrap_or_default())
        .count("counted_pairs", gain.pairs as u64)
        .count("measured_pairs", gain.measured as u64);
    match gain.needed {
        Some(needed) => row.count("needed_pairs", needed as u64),
        None => row,
    }
}

/// Whether the measured gain lies in the predicted range: `not sure` where only its interval reaches into it, or where the interval reaches
/// out of it by more than the range is wide or a point.
fn inside(range: (f64, f64), median: f64, interval: (f64, f64)) -> &'static str {
    let margin = (range.1 - range.0).max(1.0);
    let is_narrow = interval.0 >= range.0 - margin && interval.1 <= range.1 + margin;
    if range.0 <= median && median <= range.1 && is_narrow {
        "yes"
    } else if interval.0 <= range.1 && range.0 <= interval.1 {
        "not sure"
    } else {
        "no"
    }
}

fn output_name(output: ComparedOutput) -> &'static str {
    match output {
        ComparedOutput::Equal => "equal",
        ComparedOutput::Different => "different",
        ComparedOutput::Varies => "varies",
    }
}

/// What is changed, as `solve`, or `solve × 0.5` where a part of it is left.
fn label(row: &Row) -> String {
    match row.value("factor") {
        Some(factor) if factor != 0.0 => format!("{} × {factor}", row.words("change")),
        _ => row.words("change").to_owned(),
    }
}

/// The row with what the text shows of it.
fn with_texts(row: &Row) -> Row {
    let range = |middle: &str, low: &str, high: &str| {
        let middle = row.value(middle).map(|value| format!("{value:.1}"));
        let ends = row.value(low).zip(row.value(high));
        let ends = ends.map(|(low, high)| format!(" ({low:.1} to {high:.1})"));
        middle.unwrap_or_else(|| "–".to_owned()) + &ends.unwrap_or_default()
    };
    row.clone()
        .text("predicted_text", range("elapsed_gain_percent", "gain_low_percent", "gain_high_percent"))
        .text(
            "measured_text",
            range("measured_gain_percent", "measured_low_percent", "measured_high_percent"),
        )
}

fn headline(rows: &[Row]) -> String {
    let count = |wanted: &str| rows.iter().filter(|row| row.words("inside") == wanted).count();
    let (inside, outside, unsure) = (count("yes"), count("no"), count("not sure"));
    let judged = (inside + outside + unsure) as u64;
    if judged == 0 {
        return "No measured gain can be compared with a predicted range".to_owned();
    }
    let all = count_of(judged, "measured gain");
    let verb = if inside == 1 { "is" } else { "are" };
    let unsure = if unsure > 0 { format!("; {unsure} cannot be told from noise") } else { String::new() };
    format!("{inside} of {all} {verb} inside the predicted range{unsure}")
}

fn how(measured: &MeasuredProgram) -> String {
    let time = |seconds: f64| time_text((seconds * 1e9).round() as u64);
    let kernel = measured.variants.iter().filter_map(|variant| variant.delay);
    let user_only = match kernel.clone().any(|delay| delay.is_user_only) {
        true => {
            " The system does not let the kernel be sampled: its time counts where the program goes on after it."
        }
        false => "",
    };
    let compared = |what: &str, control: Option<VersionMedians>| {
        control.map_or_else(String::new, |control| {
            let (elapsed, cpu) = (time(control.elapsed_seconds), time(control.cpu_seconds));
            format!(" {what} is compared with the program that is sampled and not delayed, which takes {elapsed}, with {cpu} of CPU time.")
        })
    };
    let slowed = compared("A slow-down", measured.sampled);
    let speed_up =
        compared("A virtual speed-up, less the delays of the other threads,", measured.sampled_virtual);
    format!(
        "Each round runs the unchanged program and each variant once. A gain is the median over the rounds, with the interval that holds it in 95 of 100 cases; a negative one is a longer run. The unchanged program takes {}, with {} of CPU time.{slowed}{speed_up}{user_only}",
        time(measured.unchanged.elapsed_seconds),
        time(measured.unchanged.cpu_seconds)
    )
}

/// What makes the recording and the measured program hard to compare.
fn warnings(predicted: &Report, measured: &MeasuredProgram) -> Vec<String> {
    let mut warnings = Vec::new();
    let recorded = predicted.recording.command.join(" ");
    if recorded != measured.command {
        warnings.push(format!("The recorded command was `{recorded}`; this is `{}`", measured.command));
    }
    let (run, now) = (predicted.recording.elapsed_seconds, measured.unchanged.elapsed_seconds);
    if now > 0.0 && (run > SLOWER * now || now > SLOWER * run) {
        warnings.push(format!(
            "The recorded run took {}, the unchanged program now takes {}: predictions are of another run than this one",
            time_text((run * 1e9).round() as u64),
            time_text((now * 1e9).round() as u64)
        ));
    }
    warnings
}

/// What is said of a variant beside its row.
fn doubts(row: &Row, variant: &MeasuredVariant, unchanged: VersionMedians) -> String {
    let name = label(row);
    let mut doubts = Vec::new();
    let differs = |before: f64, after: f64| {
        (after - before).abs() > FEW && (after - before).abs() > ALIKE * before.max(after)
    };
    let pairs = [
        ("page faults", unchanged.page_faults, variant.medians.page_faults),
        ("context switches", unchanged.switches, variant.medians.switches),
    ];
    // The pauses of a virtual speed-up are switches themselves.
    let is_paused = variant.delay.is_some_and(|delay| delay.inserted_seconds.is_some());
    for (what, before, after) in pairs {
        if differs(before, after) && !is_paused {
            doubts
                .push(format!("it has {after:.0} {what} instead of {before:.0}, which is part of its gain"));
        }
    }
    if let Some(delay) = &variant.delay {
        doubts.extend(delay_doubts(delay));
    }
    match &variant.gain {
        None => doubts.push("no pair of runs was undisturbed".to_owned()),
        Some(gain) if gain.interval.is_none() => doubts.push(format!(
            "{} {} too few for an interval; raise --budget",
            count_of(gain.pairs as u64, "pair"),
            if gain.pairs == 1 { "is" } else { "are" }
        )),
        Some(gain) => {
            if let (Some(needed), Some((low, high))) = (gain.needed, gain.interval) {
                doubts.push(format!(
                    "its interval is {} wide; about {} would make it as narrow as wanted",
                    percent_text(high - low),
                    count_of(needed as u64, "pair")
                ));
            }
        }
    }
    if doubts.is_empty() { String::new() } else { format!("`{name}`: {}.", doubts.join("; ")) }
}

fn delay_doubts(delay: &MeasuredDelay) -> Option<String> {
    let recorded = delay.recorded_percent.filter(|_| !is_the_recorded(delay))?;
    let sampled = delay.sampled_percent;
    let why = match sampled < recorded {
        true => {
            "copies in other procedures (inlining) and threads that it did not start itself are not slowed down"
        }
        false => "other procedures have that name, or the runs differ",
    };
    Some(format!(
        "samples found it in {} of the CPU time, the recording in {}, so the prediction is not tested: {why}",
        percent_text(sampled),
        percent_text(recorded)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_outside_is_sure_only_where_its_interval_is_outside_too() {
        assert_eq!(inside((10.0, 20.0), 15.0, (5.0, 25.0)), "yes");
        // So wide an interval holds anything.
        assert_eq!(inside((10.0, 20.0), 15.0, (-40.0, 60.0)), "not sure");
        assert_eq!(inside((10.0, 20.0), 22.0, (19.0, 25.0)), "not sure");
        assert_eq!(inside((10.0, 20.0), 22.0, (21.0, 25.0)), "no");
        assert_eq!(inside((10.0, 20.0), 8.0, (7.0, 9.0)), "no");
    }

    #[test]
    fn a_slow_down_of_another_procedure_than_the_recorded_one_tests_nothing() {
        let delay = |sampled_percent, recorded_percent| MeasuredDelay {
            factor: 0.25,
            added_seconds: 0.5,
            inserted_seconds: None,
            sampled_percent,
            recorded_percent,
            is_user_only: false,
        };
        let before = VersionMedians { elapsed_seconds: 2.0, cpu_seconds: 4.0, ..VersionMedians::default() };
        let row = || Row::default().percent("measured_gain_percent", -20.0).text("inside", "yes");
        let agreed = with_delay(row(), &delay(50.0, Some(45.0)), before);
        // 20 % of 2 s more for 0.5 s that were added.
        assert_eq!((agreed.words("inside"), agreed.value("lengthened_ratio")), ("yes", Some(0.8)));
        let other = with_delay(row(), &delay(20.0, Some(45.0)), before);
        assert_eq!(other.words("inside"), "untested");
        let text = delay_doubts(&delay(20.0, Some(45.0))).unwrap();
        assert!(
            text.contains("20 % of the CPU time, the recording in 45 %") && text.contains("inlining"),
            "{text}"
        );
        assert_eq!(delay_doubts(&delay(20.0, None)), None);
        // Of small shares the samples say little.
        assert_eq!(with_delay(row(), &delay(1.0, Some(2.5)), before).words("inside"), "yes");
    }

    #[test]
    fn changed_memory_behaviour_and_too_few_pairs_are_said() {
        let unchanged =
            VersionMedians { elapsed_seconds: 1.0, cpu_seconds: 2.0, page_faults: 118_000.0, switches: 40.0 };
        let gain = MeasuredGain {
            percent: 24.0,
            interval: None,
            best_percent: 25.0,
            pairs: 3,
            measured: 4,
            needed: None,
        };
        let variant = MeasuredVariant {
            command: "./without".to_owned(),
            gain: Some(gain),
            medians: VersionMedians { page_faults: 80_000.0, switches: 90.0, ..unchanged },
            output: ComparedOutput::Equal,
            delay: None,
        };
        let row = Row::default().text("change", "enter_words");
        assert_eq!(
            doubts(&row, &variant, unchanged),
            "`enter_words`: it has 80000 page faults instead of 118000, which is part of its gain; 3 pairs are too few for an interval; raise --budget."
        );
    }
}
