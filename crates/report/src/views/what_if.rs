//! `longpole what-if`: the run with some work made shorter or longer (metrics.md §5).

use longpole_metrics::{
    Analysis, By, ChangeSubject, Order, PredictedGain, Replay, ReplayedGain, WhatIf, WorkChange, tells_holds,
};
use longpole_trace::ObjectId;

use super::{add_frame, identity, replay};
use crate::change::NamedChange;
use crate::evidence::{loss_error, lost_percent};
use crate::findings::threshold::{MISSED, UNEXPLAINED_SPINS};
use crate::findings::{SerialCause, SerialPart, SerialWork};
use crate::input::{ReportInput, ReportOptions, ReportTables};
use crate::quantity::{count_of, percent, percent_text, percent_with_error, time_text};
use crate::report::{Report, Row};
use crate::share::standard_error;
use crate::table::{Show, TextTable, shown};
use crate::text::TextSection;

/// The name of the report in JSON.
const NAME: &str = "what-if";
const COLUMNS: [&str; 19] = [
    "section",
    "change",
    "factor",
    "path_after_seconds",
    "path_gain_seconds",
    "path_gain_percent",
    "error_percent",
    "elapsed_after_seconds",
    "elapsed_gain_seconds",
    "elapsed_gain_percent",
    "elapsed_error_percent",
    "gain_low_percent",
    "gain_high_percent",
    "seconds",
    "percent",
    "inclusive_seconds",
    "procedure",
    "module",
    "file",
];
/// Procedures of the new path in text.
const PROCEDURES: usize = 10;

/// Builds the report of these changes; `found` is what became of the run in its recorded order, `replayed` what became of it replayed,
/// where it was: the ranges of elapsed time hold both.
#[must_use]
pub fn build_what_if(
    input: &ReportInput<'_>,
    options: &ReportOptions,
    changes: &[NamedChange],
    (found, replayed): (&WhatIf, Option<&Replay>),
) -> Report {
    let input = &ReportTables::new(*input);
    let mut order = order_text(found, replayed);
    let found = &within_path(input, changes, found);
    let held = replayed.map_or_else(|| found.clone(), |replayed| holding(input, changes, (found, replayed)));
    let asks_for_locks = replayed.is_some() && tells_holds(input.input().details.holds.as_ref());
    let (ranged, cause) = with_serial_work(input, changes, &held, !asks_for_locks);
    order.push_str(&cause.map_or_else(String::new, |cause| serial_text(input, cause)));
    let found = &ranged;
    let mut report =
        Report::named(NAME, input, &ReportOptions { by: By::Procedure, ..options.clone() }, &COLUMNS);
    let lines = lines(input, changes, found);
    let path = path_rows(input, found);
    report.rows = lines.iter().chain(&path).map(|(row, _)| row.clone()).collect();
    report.sections.push(TextSection::Headline(headline(input, changes, found)));
    report.sections.push(TextSection::Remark(limits(input, found, (&order, options.order))));
    report.sections.push(TextSection::Blank);
    let shown_lines = if changes.len() == 1 { lines[..1].to_vec() } else { lines };
    let is_range = found.alone.iter().chain([&found.together]).any(|gain| unknown(found, *gain).is_some());
    let of_range = |title, key| is_range.then(|| shown(title, Show::Percent(key)));
    report.sections.push(TextSection::Table(TextTable {
        columns: [
            Some(shown("path gain %", Show::Estimate("path_gain_percent", "error_percent"))),
            Some(shown("path gain", Show::Time("path_gain_seconds"))),
            Some(shown(
                "elapsed gain %",
                match untold_error(input, found) {
                    Some(_) => Show::Estimate("elapsed_gain_percent", "elapsed_error_percent"),
                    None => Show::Percent("elapsed_gain_percent"),
                },
            )),
            of_range("from", "gain_low_percent"),
            of_range("to", "gain_high_percent"),
            Some(shown("elapsed gain", Show::Time("elapsed_gain_seconds")).optional()),
        ]
        .into_iter()
        .flatten()
        .collect(),
        name_title: "change".to_owned(),
        rows: shown_lines,
    }));
    // With losses, or where time is missed or the order open, it is not known to be without effect.
    let is_known = untold_error(input, found).is_none() && unknown(found, found.together).is_none();
    report.sections.extend(without_effect(changes, found).filter(|_| is_known).map(TextSection::Remark));
    report.sections.extend(path_sections(found, path, options));
    add_frame(&mut report, input, options);
    report
}

/// In which order things happen in the changed run.
fn order_text(found: &WhatIf, replayed: Option<&Replay>) -> String {
    let without_own = PredictedGain {
        elapsed_most: (found.together.elapsed_most - found.own_waits).max(found.together.elapsed),
        ..found.together
    };
    let own = match percent(found.own_waits, found.before.elapsed as f64) >= UNEXPLAINED_SPINS {
        true => format!(
            "What it sleeps, and waits for devices, by itself ({} on the path by elapsed time) stays where the gain is least, and goes where it is most. ",
            time_text(found.own_waits.round() as u64)
        ),
        false => String::new(),
    };
    let polls = match unknown(found, without_own) {
        Some(_) if found.may_be_stopped => {
            "A thread slept or worked, and ended soon after another one had begun to wait for its end: if it was told to end then, the run gains up to the most, and if it had so much to do, the least. "
        }
        Some(_) if found.keeps_order => {
            "Locks that are seldom held, or that a thread takes until it is told to end, change hands in the recorded order; the range holds the run in which nobody waits for them, too. "
        }
        Some(_) if found.keeps_step => {
            "Threads pass data on through pipes or sockets whose contents were not seen: the least is gained if none of them gets further ahead of the others than it was. "
        }
        Some(_) => {
            "Threads poll by sleeping, or spin, for what was not seen: where it is the changed work, the run gains up to all of that, and where it is not, less. "
        }
        None => "",
    };
    let order = match replayed {
        Some(_) => {
            "Ranges hold the run in its recorded order, and replayed, where locks and processors go to whoever comes first (`--replay`)."
        }
        None => {
            "Everything happens in the recorded order; in the changed run, locks may change hands in another."
        }
    };
    format!("{own}{polls}{order}")
}

/// The gains with ranges of elapsed time that hold a run in which one thread at a time does what may have to be done so, and what that
/// is, where the least that all changes gain comes from it.
fn with_serial_work(
    input: &ReportTables<'_>,
    changes: &[NamedChange],
    found: &WhatIf,
    with_locks: bool,
) -> (WhatIf, Option<SerialCause>) {
    let serial = SerialWork::of_run(input);
    let least = |gain: &PredictedGain, changes: &[NamedChange]| {
        let left = |part: &SerialPart<'_>| {
            changes.iter().map(|change| left_of(input, part, &change.change)).product()
        };
        // What the execution misses of the recorded run is no work, and may stay.
        let done = found.before.elapsed as f64 * (1.0 - found.execution_error.unwrap_or(0.0).abs());
        let longest = serial.longest(with_locks, left);
        let least = longest.map_or(f64::INFINITY, |(_, time)| (done - time).max(0.0));
        let cause = longest.filter(|_| least < gain.elapsed_least).map(|(cause, _)| cause);
        (PredictedGain { elapsed_least: gain.elapsed_least.min(least), ..*gain }, cause)
    };
    let alone =
        found.alone.iter().zip(changes).map(|(gain, change)| least(gain, std::slice::from_ref(change)).0);
    let (together, cause) = least(&found.together, changes);
    (WhatIf { alone: alone.collect(), together, ..found.clone() }, cause)
}

/// Why the least is gained.
fn serial_text(input: &ReportTables<'_>, cause: SerialCause) -> String {
    match cause {
        SerialCause::Lock(_) => " Who finds a lock free is not seen: the least is gained if threads wait for it then (`record --locks` tells).".to_owned(),
        SerialCause::Unknown(procedure) => {
            let name = &input.paths.procedure_named_by(procedure).name;
            format!(" No two threads were in `{name}` at once, though chance would have it: the least is gained if they cannot be.")
        }
    }
}

/// What a change leaves of work that one thread at a time may do; nothing where waits for the lock that it may be with are what is
/// shortened.
fn left_of(input: &ReportTables<'_>, part: &SerialPart<'_>, change: &WorkChange) -> f64 {
    let is_with =
        |objects: &[ObjectId]| matches!(part.cause, SerialCause::Lock(lock) if objects.contains(&lock));
    match &change.subject {
        ChangeSubject::Objects(objects) if is_with(objects) && change.factor < 1.0 => 0.0,
        ChangeSubject::Holds(objects) if is_with(objects) => change.factor,
        subject if subject.is_of(input.program, input.paths, part.charge.thread, part.charge.path) => {
            change.factor
        }
        _ => 1.0,
    }
}

/// The gains with ranges of elapsed time that hold those of the run replayed.
fn holding(
    input: &ReportTables<'_>,
    changes: &[NamedChange],
    (found, replayed): (&WhatIf, &Replay),
) -> WhatIf {
    let replayed = replay::with_errors(input, changes, replayed);
    let both = |gain: PredictedGain, replayed: ReplayedGain| PredictedGain {
        elapsed_least: gain.elapsed_least.min(replayed.low),
        elapsed_most: gain.elapsed_most.max(replayed.high),
        ..gain
    };
    WhatIf {
        alone: found.alone.iter().zip(&replayed.alone).map(|(&gain, &of)| both(gain, of)).collect(),
        together: both(found.together, replayed.together),
        ..found.clone()
    }
}

/// What the predictions rest on.
fn limits(input: &ReportTables<'_>, found: &WhatIf, (order, kept): (&str, Order)) -> String {
    let Some(error) = found.execution_error else {
        return format!(
            "The path is that of useful CPU time. The recording is too large to be executed again: the elapsed time keeps all time without a CPU, on devices, and in waits that no thread explains. {order}"
        );
    };
    let off = percent_text(100.0 * error.abs());
    let cpus = count_of(input.program.cpus().into(), "CPU");
    let busy = if 100.0 * error.abs() < MISSED {
        String::new()
    } else {
        let has_locks = input.input().objects.all().iter().any(|object| object.kind.excludes());
        let is_left_out = has_locks && kept == Order::Busy;
        let locks =
            if is_left_out { ", the order of seldom held locks (`--order recorded` keeps it)," } else { "" };
        format!(
            " Other programs, a quota{locks} or waits that were not seen took the rest; what is missed may stay or go with any change, so the ranges are as wide."
        )
    };
    let pinned = match input.analysis.pinning.times.is_empty() {
        true => "",
        false => " There, threads that are pinned may use all of them.",
    };
    format!(
        "The path is that of useful CPU time. The elapsed time is that of the run executed again on {cpus}; unchanged, that is {off} off the recorded time.{pinned}{busy} {order}"
    )
}

/// Error of a gain as a share of the path, where the changed work is known from samples or events were lost.
fn error(input: &ReportTables<'_>, is_estimated: bool, percent: f64) -> Option<f64> {
    let samples = input.analysis.effective_samples.critical;
    let sampled = is_estimated.then(|| standard_error(percent.abs(), samples)).flatten();
    let Some(lost) = loss_error(input.evidence) else { return sampled };
    Some(sampled.unwrap_or(0.0).hypot(lost))
}

/// What is uncertain of each gain of elapsed time, % of the run, by what no execution tells: lost events, and time of the unchanged run
/// that the execution misses, which may stay or go with whatever is changed.
fn untold_error(input: &ReportTables<'_>, found: &WhatIf) -> Option<f64> {
    let missed = 100.0 * found.execution_error.unwrap_or(0.0).abs();
    let lost = loss_error(input.evidence);
    let is_untold = lost.is_some() || missed >= MISSED;
    is_untold.then(|| lost.unwrap_or(0.0).hypot(missed).min(100.0))
}

/// What may be gained, % of what it is a part of, where `error` of it is uncertain. Less work makes a run no longer, more work
/// no shorter.
fn gain_range(changes: &[NamedChange], gain: f64, error: f64) -> (f64, f64) {
    let has = |holds: fn(f64) -> bool| changes.iter().any(|change| holds(change.change.factor));
    let low = if has(|factor| factor > 1.0) { gain - error } else { (gain - error).max(0.0) };
    let high = if has(|factor| factor < 1.0) { (gain + error).min(100.0) } else { (gain + error).min(0.0) };
    (low, high.max(low))
}

/// What the run gains at least and at most, % of it, where these are 1 % apart: threads poll or spin for what was not seen, or the run
/// replayed gains another part than in its recorded order.
fn unknown(found: &WhatIf, gain: PredictedGain) -> Option<(f64, f64)> {
    let of_run = |gain: f64| percent(gain, found.before.elapsed as f64);
    let (low, high) = (of_run(gain.elapsed_least), of_run(gain.elapsed_most));
    // Less work makes no run longer.
    let low = if gain.elapsed < 0.0 { low } else { low.max(0.0) };
    (high - low >= UNEXPLAINED_SPINS).then_some((low, high))
}

/// Error of a gain of elapsed time, % of the run.
fn elapsed_error(input: &ReportTables<'_>, found: &WhatIf, is_estimated: bool, percent: f64) -> Option<f64> {
    // An execution that misses little of the unchanged run misses no more of a gain.
    let off = 100.0 * found.execution_error.unwrap_or(0.0).abs();
    error(input, is_estimated, percent).map(|error| error.hypot(off.min(percent.abs())))
}

/// What these changes gain of elapsed time at least and at most, % of the run, where that is more uncertain than an error tells.
fn elapsed_range(
    input: &ReportTables<'_>,
    changes: &[NamedChange],
    found: &WhatIf,
    gain: PredictedGain,
) -> Option<(f64, f64)> {
    let is_open = untold_error(input, found).is_some() || unknown(found, gain).is_some();
    is_open.then(|| elapsed_limits(input, changes, found, gain))
}

/// The same of any gain: as far as its error tells where nothing else is uncertain.
fn elapsed_limits(
    input: &ReportTables<'_>,
    changes: &[NamedChange],
    found: &WhatIf,
    gain: PredictedGain,
) -> (f64, f64) {
    let of_run = percent(gain.elapsed, found.before.elapsed as f64);
    let is_estimated = changes.iter().any(NamedChange::is_estimated);
    let error = untold_error(input, found).or_else(|| elapsed_error(input, found, is_estimated, of_run));
    let (low, high) = gain_range(changes, of_run, error.unwrap_or(0.0));
    let high = high.min(100.0 - left_on_path(input, found, gain, is_estimated)).max(of_run);
    let (least, most) = unknown(found, gain).unwrap_or((low, high));
    (low.min(least), high.max(most))
}

/// The gains, no larger than the rest of the critical path leaves in the recorded order, unless that may be work of a thread that was told
/// to end.
fn within_path(input: &ReportTables<'_>, changes: &[NamedChange], found: &WhatIf) -> WhatIf {
    if found.may_be_stopped {
        return found.clone();
    }
    let within = |gain: PredictedGain, of: &[NamedChange]| {
        let left = left_on_path(input, found, gain, of.iter().any(NamedChange::is_estimated));
        let most = found.before.elapsed as f64 * (1.0 - left / 100.0);
        PredictedGain { elapsed_most: gain.elapsed_most.min(most).max(gain.elapsed), ..gain }
    };
    let alone = found.alone.iter().zip(changes);
    WhatIf {
        alone: alone.map(|(&gain, change)| within(gain, std::slice::from_ref(change))).collect(),
        together: within(found.together, changes),
        ..found.clone()
    }
}

/// What the changed critical path surely has, % of the run: it takes its CPU time, whatever else becomes of the run.
fn left_on_path(input: &ReportTables<'_>, found: &WhatIf, gain: PredictedGain, is_estimated: bool) -> f64 {
    let (path, elapsed) = (found.before.path as f64, found.before.elapsed as f64);
    let uncertain = error(input, is_estimated, percent(gain.path, path)).unwrap_or(0.0) / 100.0 * path;
    percent((path - gain.path - uncertain).max(0.0), elapsed)
}

/// A row for each change alone, and one for all of them.
fn lines(input: &ReportTables<'_>, changes: &[NamedChange], found: &WhatIf) -> Vec<(Row, String)> {
    let line =
        |section: &'static str, name: &str, factor: Option<f64>, saved: PredictedGain, of: &[NamedChange]| {
            let (path, elapsed) = (found.before.path as f64, found.before.elapsed as f64);
            let is_estimated = of.iter().any(NamedChange::is_estimated);
            let share = percent(saved.path, path);
            let (low, high) = elapsed_limits(input, of, found, saved);
            let row = Row::default().text("section", section).text("change", name);
            let row = match factor {
                Some(factor) => row.mean("factor", factor),
                None => row,
            };
            row.fraction("path_after_seconds", path - saved.path)
                .fraction("path_gain_seconds", saved.path)
                .percent("path_gain_percent", share)
                .percent_if("error_percent", error(input, is_estimated, share))
                .fraction("elapsed_after_seconds", elapsed - saved.elapsed)
                .fraction("elapsed_gain_seconds", saved.elapsed)
                .percent("elapsed_gain_percent", percent(saved.elapsed, elapsed))
                .percent_if("elapsed_error_percent", untold_error(input, found))
                .percent("gain_low_percent", low)
                .percent("gain_high_percent", high)
        };
    let alone = changes.iter().zip(&found.alone).map(|(change, &saved)| {
        let factor = Some(change.change.factor);
        (line("change", &change.name, factor, saved, std::slice::from_ref(change)), change.label())
    });
    let all = "all together";
    let together = (line("together", all, None, found.together, changes), all.to_owned());
    alone.chain([together]).collect()
}

fn headline(input: &ReportTables<'_>, changes: &[NamedChange], found: &WhatIf) -> String {
    let labels: Vec<String> = changes.iter().map(NamedChange::label).collect();
    let is_estimated = changes.iter().any(NamedChange::is_estimated);
    let PredictedGain { path, elapsed, .. } = found.together;
    let becomes = |what: &str, before: u64, gain: f64, error: Option<f64>, range: Option<(f64, f64)>| {
        let after = |gain: f64| time_text((before as f64 * (1.0 - gain / 100.0)).round().max(0.0) as u64);
        if let Some((low, high)) = range {
            let share = match (low.max(0.0), high) {
                (low, high) if high >= 0.05 => {
                    format!(" ({} to {} less)", percent_text(low).trim_end_matches(" %"), percent_text(high))
                }
                _ => String::new(),
            };
            return format!(
                "{what} goes from {} to {}–{}{share}",
                time_text(before),
                after(high),
                after(low)
            );
        }
        let after = time_text((before as f64 - gain).round().max(0.0) as u64);
        let share = percent(gain, before as f64);
        let change = match share {
            share if share.abs() < 0.005 => return format!("{what} stays at {}", time_text(before)),
            share if share > 0.0 => format!("{} less", percent_with_error(share, error)),
            share => format!("{} more", percent_with_error(-share, error)),
        };
        format!("{what} goes from {} to {after} ({change})", time_text(before))
    };
    let [of_path, of_run] = [(path, found.before.path), (elapsed, found.before.elapsed)]
        .map(|(gain, before)| percent(gain, before as f64));
    let path_error = error(input, is_estimated, of_path);
    let path_range = loss_error(input.evidence).map(|lost| gain_range(changes, of_path, lost));
    let elapsed_error = elapsed_error(input, found, is_estimated, of_run);
    let elapsed_range = elapsed_range(input, changes, found, found.together);
    let lost = loss_error(input.evidence).map(|_| percent_text(lost_percent(input.evidence)));
    format!(
        "What if {}: {}, {}{}",
        labels.join(", "),
        becomes("the critical path", found.before.path, path, path_error, path_range),
        becomes("the elapsed time", found.before.elapsed, elapsed, elapsed_error, elapsed_range),
        lost.map_or_else(String::new, |lost| format!(" ({lost} of the events were lost)"))
    )
}

/// Changes that alone gain nothing, and why that can be.
fn without_effect(changes: &[NamedChange], found: &WhatIf) -> Option<String> {
    let is_idle = |saved: &PredictedGain| saved.path.abs() < 0.5 && saved.elapsed.abs() < 0.5;
    let names: Vec<String> = changes
        .iter()
        .zip(&found.alone)
        .filter(|(change, saved)| change.change.factor != 1.0 && is_idle(saved))
        .map(|(change, _)| format!("`{}`", change.name))
        .collect();
    (!names.is_empty()).then(|| {
        format!(
            "{} alone changes nothing: it is not on the longest path, or another path is as long.",
            names.join(", ")
        )
    })
}

/// Procedures on the path after all changes.
fn path_rows(input: &ReportTables<'_>, found: &WhatIf) -> Vec<(Row, String)> {
    let charged = Analysis { charges: found.path.clone(), ..Analysis::default() };
    let mut rows = longpole_metrics::rows(&charged, input.program, input.paths, By::Procedure, |_| true);
    rows.retain(|row| row.own.critical_cpu > 0);
    rows.sort_by_key(|row| (std::cmp::Reverse(row.own.critical_cpu), row.node));
    let whole: u64 = found.path.iter().map(|charge| charge.measures.critical_cpu).sum();
    let row = |charged: &longpole_metrics::NodeRow| {
        let (row, name) = identity(input, charged.node);
        let row = row
            .text("section", "path")
            .time("seconds", charged.own.critical_cpu)
            .percent("percent", percent(charged.own.critical_cpu as f64, whole as f64))
            .time("inclusive_seconds", charged.inclusive.critical_cpu);
        (row, name)
    };
    rows.iter().map(row).collect()
}

fn path_sections(found: &WhatIf, path: Vec<(Row, String)>, options: &ReportOptions) -> Vec<TextSection> {
    let length = (found.before.path as f64 - found.together.path).round().max(0.0) as u64;
    let shown_rows = options.top.unwrap_or(PROCEDURES);
    let hidden = path.len().saturating_sub(shown_rows);
    let mut sections = vec![TextSection::Blank];
    if path.is_empty() {
        let none = "After that there is no useful CPU time left on any path.";
        sections.push(TextSection::Paragraph(none.to_owned()));
        return sections;
    }
    let head = format!("The critical path after that ({} of CPU time):", time_text(length));
    sections.push(TextSection::Paragraph(head));
    sections.push(TextSection::Table(TextTable {
        columns: vec![shown("% of path", Show::Percent("percent")), shown("self", Show::Time("seconds"))],
        name_title: "procedure".to_owned(),
        rows: path.into_iter().take(shown_rows).collect(),
    }));
    if hidden > 0 {
        sections
            .push(TextSection::Remark(format!("{hidden} more procedures (--top {})", hidden + shown_rows)));
    }
    sections
}

#[cfg(test)]
mod tests {
    use longpole_metrics::what_if;
    use longpole_trace::Timelines;

    use super::*;
    use crate::find::RecordingNames;
    use crate::fixture::{DrawnRun, LOCK_HOG};
    use crate::style::Style;

    fn report(texts: &[&str]) -> Report {
        of(&DrawnRun::of(LOCK_HOG), texts)
    }

    fn of(scene: &DrawnRun, texts: &[&str]) -> Report {
        of_executed(scene, texts, None)
    }

    /// With the fraction of the run that an execution without a change is off, where it is not that of the run drawn.
    fn of_executed(scene: &DrawnRun, texts: &[&str], execution_error: Option<f64>) -> Report {
        of_replayed(scene, texts, execution_error, None)
    }

    /// And with what the replayed run gains more by all changes than in its recorded order, nanoseconds.
    fn of_replayed(
        scene: &DrawnRun,
        texts: &[&str],
        execution_error: Option<f64>,
        more: Option<f64>,
    ) -> Report {
        let made = &scene.timelines;
        let names = RecordingNames { program: made.program(), paths: made.paths(), objects: made.objects() };
        let changes: Vec<NamedChange> =
            texts.iter().map(|text| NamedChange::parse(text, &names).unwrap()).collect();
        let plain: Vec<_> = changes.iter().map(|change| change.change.clone()).collect();
        let folding = longpole_trace::Folding::new(&made.paths, longpole_trace::Fold::default());
        let choices = longpole_metrics::MetricOptions::default();
        let Ok(analysis) = longpole_metrics::analyse(made, &choices);
        let Ok(mut found) = what_if(made, &choices, &analysis, &plain, &folding);
        found.execution_error = execution_error.or(found.execution_error);
        let replayed = more.map(|more| {
            let demand = longpole_metrics::ReplayDemand { changes: plain.clone(), ..Default::default() };
            let Ok(replayed) = longpole_metrics::replay(made, &choices, &analysis, &demand, &folding);
            let mut replayed = replayed.expect("the run is reproduced");
            for (gain, own) in
                replayed.alone.iter_mut().zip(&found.alone).chain([(&mut replayed.together, &found.together)])
            {
                *gain = ReplayedGain {
                    low: own.elapsed,
                    middle: own.elapsed + more / 2.0,
                    high: own.elapsed + more,
                };
            }
            replayed
        });
        let found = (&found, replayed.as_ref());
        scene.with_source(|input| build_what_if(input, &ReportOptions::default(), &changes, found))
    }

    #[test]
    fn losses_widen_gains_by_twice_their_share_and_no_further_than_possible() {
        let mut scene = DrawnRun::of(LOCK_HOG);
        // One in five.
        scene.evidence.lost_events = scene.evidence.events / 4;
        let report = of(&scene, &["procedure:update=0"]);
        assert_eq!(report.rows[0].value("elapsed_error_percent"), Some(40.0));
        let text = |change: &str| of(&scene, &[change]).text(&Style::plain(200));
        // Of 320 ms it gains 59.4 %, and at least 19.4 %.
        let range = "update × 0: the critical path goes from 320 ms to 2.00 ms–258 ms (19 to 99 % less), the elapsed time goes from 320 ms to 2.00 ms–258 ms (19 to 99 % less) \
                     (20 % of the events were lost)";
        assert!(text("procedure:update=0").contains(range), "{}", text("procedure:update=0"));
        // 100 % more, between 60 % and 140 % more.
        assert!(text("procedure:update=2").contains("the elapsed time goes from 320 ms to 512 ms–768 ms"));
        // It is not known to be without effect, and waiting less makes no run longer.
        let lock = text("object:table_lock=0");
        assert!(lock.contains("the elapsed time goes from 320 ms to 192 ms–320 ms"), "{lock}");
        assert!(!lock.contains("changes nothing"), "{lock}");
    }

    #[test]
    fn time_that_an_execution_misses_widens_gains_of_elapsed_time_by_as_much() {
        let scene = DrawnRun::of(LOCK_HOG);
        for execution_error in [-0.25, 0.25] {
            let report = of_executed(&scene, &["procedure:update=0"], Some(execution_error));
            assert_eq!(report.rows[0].value("elapsed_error_percent"), Some(25.0));
        }
        let text = |change: &str| of_executed(&scene, &[change], Some(-0.25)).text(&Style::plain(200));
        // Of 320 ms it gains 59.4 %, give or take 25 points, and no more than the path leaves, which is counted, not executed.
        let gain = text("procedure:update=0");
        assert!(gain.contains("the elapsed time goes from 320 ms to 124 ms–210 ms"), "{gain}");
        assert!(gain.contains("the critical path goes from 320 ms to 130 ms"), "{gain}");
        let words = gain.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            words.contains("a quota, the order of seldom held locks (`--order recorded` keeps it), or"),
            "{gain}"
        );
        let lock = text("object:table_lock=0");
        assert!(!lock.contains("changes nothing"), "{lock}");
        // A tenth of the run is where it begins.
        let little = of_executed(&scene, &["procedure:update=0"], Some(0.09));
        assert_eq!(little.rows[0].value("elapsed_error_percent"), None);
    }

    #[test]
    fn a_range_holds_the_run_in_its_recorded_order_and_replayed() {
        // Of 320 ms `update` gains 190 ms (59 %) in the recorded order, and 80 ms more (84 %) where locks go to whoever comes first; both
        // ± 1.4 by sampling.
        let scene = DrawnRun::of(LOCK_HOG);
        let report = of_replayed(&scene, &["procedure:update=0"], None, Some(80e6));
        let range =
            ["gain_low_percent", "gain_high_percent"].map(|key| report.rows[0].value(key).map(f64::round));
        assert_eq!(range, [Some(57.0), Some(86.0)]);
        let text = report.text(&Style::plain(200));
        assert!(
            text.contains("the elapsed time goes from 320 ms to 44.3 ms–136 ms (57 to 86 % less)"),
            "{text}"
        );
        assert!(text.contains("Ranges hold the run in its recorded order, and"), "{text}");
    }

    #[test]
    fn a_timer_expires_at_its_moment_whatever_is_done_meanwhile() {
        // Ticks at 100 and 200 ms, and 40 ms of work after each and before the first.
        let drawing = |wait: &str| {
            format!("cpus 2\nH = main > handle_tick\nmain HHHH{wait}HHHH{wait}HHHH", wait = wait.repeat(6))
        };
        let after = |wait: &str, factor: &str| {
            let change = format!("procedure:handle_tick={factor}");
            let report = of(&DrawnRun::of(&drawing(wait)), &[&change]);
            (1000.0 * report.rows[0].value("elapsed_after_seconds").unwrap()).round()
        };
        assert_eq!([after("a", "0"), after("a", "0.5"), after("a", "2")], [200.0, 220.0, 280.0]);
        // Work that takes longer than a period is late, and no tick is waited for.
        assert_eq!(after("a", "3"), 360.0);
        // A sleep is as long as before.
        assert_eq!([after("z", "0"), after("z", "2")], [120.0, 360.0]);
    }

    #[test]
    fn hardly_any_losses_leave_gains_as_they_are() {
        let mut scene = DrawnRun::of(LOCK_HOG);
        let without = of(&scene, &["procedure:update=0"]);
        scene.evidence.lost_events = scene.evidence.events / 200;
        assert_eq!(of(&scene, &["procedure:update=0"]).rows, without.rows);
    }

    #[test]
    fn each_change_and_all_of_them_have_a_row_and_the_new_path_its_procedures() {
        // Without the hog's 320 ms of `update` the second polite thread has the most: 70 ms `independent`, 60 ms
        // `short_update`. The hog does not wait, so the lock alone gains nothing.
        let report = report(&["procedure:update=0", "object:table_lock=0"]);
        let row = |change: &str| report.rows.iter().find(|row| row.words("change") == change).unwrap();
        assert_eq!(row("update").value("path_after_seconds"), Some(0.13));
        assert_eq!(row("waiting for table_lock").value("path_gain_seconds"), Some(0.0));
        assert_eq!(row("all together").value("path_after_seconds"), Some(0.13));
        let path: Vec<_> = report
            .rows
            .iter()
            .filter(|row| row.words("section") == "path")
            .map(|row| (row.words("procedure"), row.value("seconds")))
            .collect();
        assert_eq!(path, [("independent", Some(0.07)), ("short_update", Some(0.06))]);
    }

    #[test]
    fn the_text_says_what_becomes_of_the_run() {
        for width in [80, 120] {
            let report = report(&["procedure:update=0.5", "object:table_lock=0"]);
            insta::assert_snapshot!(format!("what_if_{width}"), report.text(&Style::plain(width)));
        }
    }

    #[test]
    fn json_names_the_view_and_every_column() {
        let json: serde_json::Value = serde_json::from_str(&report(&["update=0"]).json()).unwrap();
        assert_eq!(json["view"], "what-if");
        assert_eq!(json["rows"][0]["section"], "change");
        assert_eq!(json["rows"][1]["change"], "all together");
    }
}
