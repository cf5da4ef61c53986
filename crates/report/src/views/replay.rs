//! `longpole what-if --replay`: the run executed again with some work, locks or processors changed (metrics.md §5).

use longpole_metrics::{
    By, LockPolicy, MOST_MISSED, ProcessorsPoint, Replay, ReplayRefusal, ReplayedGain, ReplayedOrder,
    SchedulerModel,
};
use longpole_trace::ObjectId;

use super::add_frame;
use crate::change::NamedChange;
use crate::evidence::loss_error;
use crate::input::{ReportInput, ReportOptions, ReportTables};
use crate::quantity::{count_of, percent, percent_text, time_text};
use crate::report::{Report, Row};
use crate::share::standard_error;
use crate::table::{Show, TextTable, shown};
use crate::text::TextSection;

/// The name of the report in JSON.
const NAME: &str = "replay";
const COLUMNS: [&str; 16] = [
    "section",
    "change",
    "factor",
    "elapsed_after_seconds",
    "elapsed_gain_seconds",
    "elapsed_gain_percent",
    "gain_low_seconds",
    "gain_high_seconds",
    "gain_low_percent",
    "gain_high_percent",
    "cpus",
    "speedup",
    "processors_busy_percent",
    "object",
    "lock_held_percent",
    "replayed_order",
];
/// Locks in recorded order that are named in text.
const NAMED: usize = 3;

/// Why a run is not replayed; completes "failed to replay the run: ".
#[must_use]
pub fn refusal_text(refusal: &ReplayRefusal) -> String {
    let most = percent_text(100.0 * MOST_MISSED);
    match *refusal {
        ReplayRefusal::TooLong => "it has more steps than fit into memory".to_owned(),
        ReplayRefusal::Stuck(threads) => format!(
            "unchanged, {} would wait for ever, so the recording lacks what let them go on",
            count_of(threads as u64, "thread")
        ),
        ReplayRefusal::ChangedStuck(threads) => format!(
            "with a change {} would wait for ever, so the recording lacks what lets them go on then",
            count_of(threads as u64, "thread")
        ),
        ReplayRefusal::UnknownHolds(order) => unknown_holds(order).to_owned(),
        ReplayRefusal::Missed(missed) => format!(
            "unchanged, it would take {} {} than recorded, and more than {most} is too far off",
            percent_text(100.0 * missed.abs()),
            if missed < 0.0 { "less" } else { "more" }
        ),
    }
}

/// Why holds of a lock cannot be changed.
fn unknown_holds(order: Option<ReplayedOrder>) -> &'static str {
    match order {
        None => "nobody held the lock that is to be held shorter, as far as the recording shows",
        Some(ReplayedOrder::Shared) => {
            "readers hold the lock together, so that its holds are not told one by one"
        }
        Some(ReplayedOrder::Summed) => {
            "the holds of the lock are so short that they are told in sums, and what was done in them is not known"
        }
        Some(ReplayedOrder::Untold | ReplayedOrder::AtFault | ReplayedOrder::Arbitrated) => {
            "how long the lock was held is not known: `longpole record --locks` sees it"
        }
    }
}

/// Builds the report of these changes; `found` is what became of the run.
#[must_use]
pub fn build_replay(
    input: &ReportInput<'_>,
    options: &ReportOptions,
    (changes, io_is_free): (&[NamedChange], bool),
    found: &Replay,
) -> Report {
    let input = &ReportTables::new(*input);
    let mut report =
        Report::named(NAME, input, &ReportOptions { by: By::Procedure, ..options.clone() }, &COLUMNS);
    let labels = labels(changes, io_is_free);
    let found = &with_errors(input, changes, found);
    let lines = lines(changes, io_is_free, found);
    let points: Vec<(Row, String)> = found.curve.iter().map(|point| point_row(input, found, point)).collect();
    let locks = found.locks.iter().map(|&lock| lock_row(input, lock));
    report.rows = lines.iter().chain(&points).map(|(row, _)| row.clone()).chain(locks).collect();
    report.sections.push(TextSection::Headline(headline(&labels, found)));
    report.sections.push(TextSection::Remark(limits(input, found)));
    report.sections.extend(recorded_order(input, found).map(TextSection::Remark));
    if !labels.is_empty() {
        let rows = if labels.len() == 1 { lines[..1].to_vec() } else { lines };
        report.sections.extend([TextSection::Blank, TextSection::Table(gains_table(rows))]);
    }
    if !points.is_empty() {
        report.sections.extend([TextSection::Blank, TextSection::Table(curve_table(points))]);
    }
    add_frame(&mut report, input, options);
    report
}

fn labels(changes: &[NamedChange], io_is_free: bool) -> Vec<String> {
    let label = |change: &NamedChange| match change.change.subject {
        longpole_metrics::ChangeSubject::Objects(_) => {
            format!("{} removed", change.name.trim_start_matches("waiting for "))
        }
        _ => change.label(),
    };
    changes.iter().map(label).chain(io_is_free.then(|| "devices take no time".to_owned())).collect()
}

fn gains_table(rows: Vec<(Row, String)>) -> TextTable {
    TextTable {
        columns: vec![
            shown("elapsed gain %", Show::Percent("elapsed_gain_percent")),
            shown("from", Show::Percent("gain_low_percent")),
            shown("to", Show::Percent("gain_high_percent")),
            shown("elapsed gain", Show::Time("elapsed_gain_seconds")).optional(),
        ],
        name_title: "change".to_owned(),
        rows,
    }
}

fn curve_table(rows: Vec<(Row, String)>) -> TextTable {
    TextTable {
        columns: vec![
            shown("CPUs", Show::Count("cpus")),
            shown("elapsed", Show::Time("elapsed_after_seconds")),
            shown("speed-up", Show::Mean("speedup")),
            shown("CPUs busy %", Show::Percent("processors_busy_percent")),
            shown("lock held %", Show::Percent("lock_held_percent")),
        ],
        name_title: "lock held longest".to_owned(),
        rows,
    }
}

fn headline(labels: &[String], found: &Replay) -> String {
    let ReplayedGain { low, middle, high } = found.together;
    let elapsed = found.elapsed as f64;
    let time = |gain: f64| time_text((elapsed - gain).round().max(0.0) as u64);
    if labels.is_empty() {
        return format!(
            "Replayed unchanged: {} instead of {}",
            time_text((elapsed * (1.0 + found.error)).round() as u64),
            time_text(found.elapsed)
        );
    }
    let what = format!("What if {}, replayed: the elapsed time", labels.join(", "));
    let [low_share, share, high_share] = [low, middle, high].map(|gain| percent(gain, elapsed));
    if low_share.abs().max(high_share.abs()) < 0.05 {
        return format!("{what} stays at {}", time_text(found.elapsed));
    }
    let (least, most, word) =
        if share < 0.0 { (-high_share, -low_share, "more") } else { (low_share, high_share, "less") };
    let range = match (percent_text(least), percent_text(most)) {
        (least, most) if least == most => format!("{least} {word}"),
        (least, most) => format!("{} to {most} {word}", least.trim_end_matches(" %")),
    };
    format!("{what} goes from {} to {} ({range})", time_text(found.elapsed), time(middle))
}

/// What the replay rests on.
fn limits(input: &ReportTables<'_>, found: &Replay) -> String {
    let policy = match found.policy {
        LockPolicy::HandOver => "A lock that is given back goes to who waits longest.",
        LockPolicy::Barging => "A lock that is given back goes to whoever takes it first.",
    };
    let placement = match (found.scheduler, found.is_placement_open) {
        (_, true) => {
            " When a fair scheduler moves threads between CPUs is not determined: ranges include both even sharing and moves to idle CPUs only."
        }
        (SchedulerModel::RealTime, _) => {
            " Each CPU has a queue of its own, as the recorded real-time policy has it."
        }
        _ => "",
    };
    let is_arbitrated = found.locks.iter().any(|own| own.1 == ReplayedOrder::Arbitrated);
    let policy = if is_arbitrated { format!(" {policy}") } else { String::new() };
    let displaced = found.displaced as f64 / (found.elapsed as f64).max(1.0);
    let others = if displaced < MOST_MISSED {
        String::new()
    } else {
        format!(
            " Threads were ready for {} while CPUs had other programs, or were on their way to one; that stays a part of their work.",
            time_text(found.displaced)
        )
    };
    let queues = if found.has_unseen_queues {
        " Threads of one kind wait for work that others give them, by a queue that was not seen (`record --locks` shows many): each keeps its own work here, and high ends are for threads that share what is left of it."
    } else {
        ""
    };
    format!(
        "The run is executed again on {} with turns of {}; unchanged, that is {} off the recorded time.{placement}{policy}{others}{queues}",
        count_of(input.program.cpus().into(), "CPU"),
        time_text(found.quantum),
        percent_text(100.0 * found.error.abs()),
    )
}

/// The order of a lock's holds in words.
fn order_text(order: ReplayedOrder) -> &'static str {
    match order {
        ReplayedOrder::Arbitrated => "first to come",
        ReplayedOrder::Untold => "as recorded: holds were not told (`record --locks`)",
        ReplayedOrder::Summed => "as recorded: holds too short to be told one by one",
        ReplayedOrder::Shared => "as recorded: readers hold it together",
        ReplayedOrder::AtFault => "as recorded: otherwise the unchanged run is not reproduced",
    }
}

/// Locks that keep their recorded order, with the reasons.
fn recorded_order<'a>(input: &'a ReportTables<'_>, found: &'a Replay) -> impl Iterator<Item = String> + 'a {
    let reasons =
        [ReplayedOrder::Untold, ReplayedOrder::Summed, ReplayedOrder::Shared, ReplayedOrder::AtFault];
    reasons.into_iter().filter_map(|reason| {
        let names: Vec<String> = found
            .locks
            .iter()
            .filter(|own| own.1 == reason)
            .map(|own| format!("`{}`", input.objects.get(own.0).name))
            .collect();
        let others = match names.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let named = names[..names.len().min(NAMED)].join(", ");
        (!names.is_empty()).then(|| format!("{named}{others}: {}.", order_text(reason)))
    })
}

/// A row for each change alone, and one for all of them.
fn lines(changes: &[NamedChange], io_is_free: bool, found: &Replay) -> Vec<(Row, String)> {
    let line = |section: &'static str, name: &str, factor: Option<f64>, gain: ReplayedGain| {
        let row = Row::default().text("section", section).text("change", name);
        let row = match factor {
            Some(factor) => row.mean("factor", factor),
            None => row,
        };
        with_gain(row, found, gain)
    };
    let alone =
        changes.iter().zip(&found.alone).zip(labels(changes, false)).map(|((change, &gain), label)| {
            (line("change", &change.name, Some(change.change.factor), gain), label)
        });
    let all = if changes.is_empty() && io_is_free { "devices take no time" } else { "all together" };
    alone.chain([(line("together", all, None, found.together), all.to_owned())]).collect()
}

/// The replay with ranges that hold a standard error of sampling, where the changed work is known from samples, and what lost events may
/// have changed.
pub(super) fn with_errors(input: &ReportTables<'_>, changes: &[NamedChange], found: &Replay) -> Replay {
    let samples = input.analysis.effective_samples.critical;
    let elapsed = found.elapsed as f64;
    let widened = |range: ReplayedGain, is_estimated: bool| {
        let error = standard_error(percent(range.middle, elapsed).abs(), samples).filter(|_| is_estimated);
        let lost = loss_error(input.evidence).unwrap_or(0.0);
        let margin = error.unwrap_or(0.0).hypot(lost) / 100.0 * elapsed;
        ReplayedGain { low: range.low - margin, high: (range.high + margin).min(elapsed), ..range }
    };
    let alone =
        changes.iter().zip(&found.alone).map(|(change, &range)| widened(range, change.is_estimated()));
    Replay {
        alone: alone.collect(),
        curve: found
            .curve
            .iter()
            .map(|point| ProcessorsPoint { gain: widened(point.gain, false), ..point.clone() })
            .collect(),
        together: widened(found.together, changes.iter().any(NamedChange::is_estimated)),
        ..found.clone()
    }
}

fn with_gain(row: Row, found: &Replay, gain: ReplayedGain) -> Row {
    let elapsed = found.elapsed as f64;
    row.fraction("elapsed_after_seconds", elapsed - gain.middle)
        .fraction("elapsed_gain_seconds", gain.middle)
        .percent("elapsed_gain_percent", percent(gain.middle, elapsed))
        .fraction("gain_low_seconds", gain.low)
        .fraction("gain_high_seconds", gain.high)
        .percent("gain_low_percent", percent(gain.low, elapsed))
        .percent("gain_high_percent", percent(gain.high, elapsed))
}

fn point_row(input: &ReportTables<'_>, found: &Replay, point: &ProcessorsPoint) -> (Row, String) {
    let elapsed = found.elapsed as f64;
    let row = Row::default().text("section", "processors").count("cpus", point.processors.into());
    let row = with_gain(row, found, point.gain)
        .mean("speedup", elapsed / (elapsed - point.gain.middle).max(1.0))
        .percent("processors_busy_percent", 100.0 * point.busy);
    match point.lock {
        None => (row, String::new()),
        Some((lock, held)) => {
            let name = input.objects.get(lock).name.clone();
            (row.text("object", &name).percent("lock_held_percent", 100.0 * held), name)
        }
    }
}

fn lock_row(input: &ReportTables<'_>, (lock, order): (ObjectId, ReplayedOrder)) -> Row {
    Row::default()
        .text("section", "lock")
        .text("object", &input.objects.get(lock).name)
        .text("replayed_order", order_text(order))
}

#[cfg(test)]
mod tests {
    use longpole_metrics::{MetricOptions, ReplayDemand};

    use super::*;
    use crate::find::RecordingNames;
    use crate::fixture::DrawnRun;
    use crate::style::Style;

    const TWO: &str = "\
unit 10000000
1 = mutex table
A = main > prepare
B = main > update
C = main > digest
T1 AABBBBCC
T2 AA1111BBBBCC
T1@6 -> T2 unlock
T1@6 held 1 1/0 4
T2@10 held 1 1/1 4";

    fn report(texts: &[&str], processors: &[u32]) -> Report {
        of(&DrawnRun::of(TWO), texts, processors)
    }

    #[test]
    fn losses_widen_ranges_by_twice_their_share() {
        let row = |lost: u64, section: &str| {
            let mut scene = DrawnRun::of(TWO);
            scene.evidence.lost_events = lost;
            let report = of(&scene, &["object:table=0"], &[1]);
            let row =
                report.rows.into_iter().find(|row| row.words("section") == section).expect("it is there");
            ["gain_low_percent", "elapsed_gain_percent", "gain_high_percent"]
                .map(|key| row.value(key).expect("a gain"))
        };
        // One in ten.
        let lost = DrawnRun::of(TWO).evidence.events / 9;
        for section in ["change", "processors"] {
            let ([low, middle, high], [lowest, same, highest]) = (row(0, section), row(lost, section));
            assert_eq!(middle, same);
            assert!(
                (low - lowest - 20.0).abs() < 0.1 && (highest - high - 20.0).abs() < 0.1,
                "{section}: {low} {high} {lowest} {highest}"
            );
        }
    }

    fn of(scene: &DrawnRun, texts: &[&str], processors: &[u32]) -> Report {
        let made = &scene.timelines;
        let names = RecordingNames { program: &made.program, paths: &made.paths, objects: &made.objects };
        let changes: Vec<NamedChange> =
            texts.iter().map(|text| NamedChange::parse(text, &names).expect("it is there")).collect();
        let folding = longpole_trace::Folding::new(&made.paths, longpole_trace::Fold::default());
        let options = MetricOptions::default();
        let Ok(analysis) = longpole_metrics::analyse(made, &options);
        let demand = ReplayDemand {
            changes: changes.iter().map(|change| change.change.clone()).collect(),
            processors: processors.to_vec(),
            ..ReplayDemand::default()
        };
        let Ok(found) = longpole_metrics::replay(made, &options, &analysis, &demand, &folding);
        let found = found.expect("it is reproduced");
        scene.with_source(|input| build_replay(input, &ReportOptions::default(), (&changes, false), &found))
    }

    #[test]
    fn changes_have_ranges_and_processors_a_curve() {
        let report = report(&["procedure:update=0", "object:table=0"], &[1, 2]);
        let row = |change: &str| report.rows.iter().find(|row| row.words("change") == change);
        // Both threads: 2 + 2 without updates; 2 + 4 + 2 without the lock.
        let after = |change: &str| row(change).and_then(|row| row.value("elapsed_after_seconds"));
        // Work is varied by 1 %.
        let is_near =
            |found: Option<f64>, truth: f64| found.is_some_and(|found| (found - truth).abs() < 0.001);
        assert!(
            is_near(after("update"), 0.04) && is_near(after("waiting for table"), 0.08),
            "{:?}",
            report.rows
        );
        let text = report.text(&Style::plain(80));
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(text.contains("table removed") && text.contains("lock held longest"), "{text}");
    }

    #[test]
    fn a_refusal_says_by_how_much() {
        let text = refusal_text(&ReplayRefusal::Missed(-0.073));
        assert_eq!(
            text,
            "unchanged, it would take 7.3 % less than recorded, and more than 2.0 % is too far off"
        );
    }
}
