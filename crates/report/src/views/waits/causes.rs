//! Causes of waits: the steps of one side, the largest first.

use std::collections::HashMap;

use longpole_metrics::{Category, GroupId, Node, Split, StepAction, StepId, WaitStep, Waits};
use longpole_trace::CodePlace;

use super::super::identity;
use super::sources::Shares;
use crate::input::ReportTables;
use crate::quantity::{percent, percent_text};
use crate::report::Row;

/// Causes below this part of the waiting are put together.
const LEAST_PERCENT: f64 = 0.1;
/// Causes below this part of the waiting are not told in the map.
const LEAST_TOLD: f64 = 4.95;

/// The two sides of an explanation.
#[derive(Debug)]
pub(super) struct WaitCauses {
    /// The largest first.
    pub positive: Vec<ExplainedStep>,
    pub negative: Vec<ExplainedStep>,
}

/// A step with its part of the waiting; `None` for many small ones.
#[derive(Clone, Copy, Debug)]
pub(super) struct ExplainedStep {
    pub step: Option<StepId>,
    /// Nanoseconds.
    pub time: f64,
    pub percent: f64,
    /// Waits in which it occurs; 0 where that is not told.
    pub count: u64,
}

/// The class that has the largest part.
pub(super) fn class_name(split: &Split) -> Option<&'static str> {
    let classes = [
        (split.imbalance, "load imbalance"),
        (split.insufficient, "insufficient parallelism"),
        (split.contention, "communication and contention"),
    ];
    let most = classes.into_iter().reduce(|best, other| if other.0 > best.0 { other } else { best });
    most.filter(|&(amount, _)| amount > 0.0 && amount >= split.unexplained).map(|(_, name)| name)
}

impl WaitCauses {
    pub(super) fn of(shares: &Shares, time: u64, input: &ReportTables<'_>, waits: &Waits) -> WaitCauses {
        // Threads of several groups may be called the same, such as the processes of a server.
        let mut alike: HashMap<(StepAction, String), StepId> = HashMap::new();
        let mut sums = Shares::new();
        for (&id, share) in shares {
            let WaitStep { group, deed } = waits.steps.step(id);
            let by = group.map_or(String::new(), |group| threads(input, waits, group));
            let sum = sums.entry(*alike.entry((deed, by)).or_insert(id)).or_default();
            // Groups that are called the same mostly stand in the same wait once.
            *sum = (sum.0 + share.0, sum.1 + share.1, sum.2 + share.2);
        }
        WaitCauses {
            positive: side(&sums, time, |share| share.0),
            negative: side(&sums, time, |share| share.1),
        }
    }

    /// As rows within a row, the largest `most` of each side apart.
    pub(super) fn rows(&self, input: &ReportTables<'_>, waits: &Waits, most: usize) -> Vec<Row> {
        let side = |causes: &[ExplainedStep], side: &'static str| -> Vec<Row> {
            let most = most.min(causes.len());
            let rest = &causes[most..];
            let sum = |of: fn(&ExplainedStep) -> f64| rest.iter().map(of).sum();
            let rest = (!rest.is_empty()).then(|| ExplainedStep {
                step: None,
                time: sum(|cause| cause.time),
                percent: sum(|cause| cause.percent),
                count: 0,
            });
            let told = causes[..most].iter().chain(&rest);
            told.map(|cause| row(input, waits, cause).text("side", side)).collect()
        };
        let mut rows = side(&self.positive, "positive");
        rows.extend(side(&self.negative, "negative"));
        rows
    }

    /// The largest of the positive side in words, at most so many.
    pub(super) fn texts(&self, input: &ReportTables<'_>, waits: &Waits, most: usize) -> Vec<String> {
        let told = self.positive.iter().filter(|cause| cause.step.is_some());
        let told = told.take_while(|cause| cause.percent >= LEAST_TOLD).take(most);
        let text = |cause: &ExplainedStep| {
            let (did, by) = words(input, waits, cause, false);
            let by = if by.is_empty() { by } else { format!(" in {by}") };
            format!("{} {did}{by}", percent_text(cause.percent))
        };
        let texts: Vec<String> = told.map(text).collect();
        if texts.is_empty() { vec!["many small causes".to_owned()] } else { texts }
    }

    /// What is to be taken off them in words: the largest of what those did who waited, where the positive side is more than all the waiting.
    pub(super) fn less(&self, input: &ReportTables<'_>, waits: &Waits) -> Option<String> {
        let sum = |causes: &[ExplainedStep]| causes.iter().map(|cause| cause.percent).sum::<f64>();
        let largest = self.negative.iter().find(|cause| cause.step.is_some())?;
        let rest = sum(&self.negative) - largest.percent;
        let (did, _) = words(input, waits, largest, false);
        let others =
            if rest >= LEAST_TOLD { format!(", {} other steps", percent_text(rest)) } else { String::new() };
        let text = || format!("less {} {did}{others}", percent_text(largest.percent));
        (sum(&self.positive) >= 100.0 + LEAST_TOLD).then(text)
    }

    /// The largest of the positive side as cells and words, at most so many.
    pub(super) fn counted(&self, input: &ReportTables<'_>, waits: &Waits, most: usize) -> Vec<(Row, String)> {
        let told = self.positive.iter().filter(|cause| cause.step.is_some()).take(most);
        let line = |cause: &ExplainedStep| {
            let (did, by) = words(input, waits, cause, true);
            let by = if by.is_empty() { by } else { format!(" in {by}") };
            let row = Row::default().fraction("seconds", cause.time).percent("percent", cause.percent);
            (row.count("count", cause.count), format!("{did}{by}"))
        };
        told.map(line).collect()
    }
}

fn side(shares: &Shares, time: u64, of: fn(&(f64, f64, u64)) -> f64) -> Vec<ExplainedStep> {
    let cause = |(step, share): (&StepId, &(f64, f64, u64))| ExplainedStep {
        step: Some(*step),
        time: of(share),
        percent: percent(of(share), time as f64),
        count: share.2,
    };
    let mut causes: Vec<ExplainedStep> = shares.iter().map(cause).filter(|cause| cause.time > 0.0).collect();
    causes.sort_by(|one, other| other.time.total_cmp(&one.time).then(one.step.cmp(&other.step)));
    let large = causes.iter().take_while(|cause| cause.percent >= LEAST_PERCENT).count();
    let small = causes.split_off(large);
    let rest: f64 = small.iter().map(|cause| cause.time).sum();
    if rest > 0.0 {
        causes.push(ExplainedStep { step: None, time: rest, percent: percent(rest, time as f64), count: 0 });
    }
    causes
}

fn row(input: &ReportTables<'_>, waits: &Waits, cause: &ExplainedStep) -> Row {
    let row = Row::default().fraction("seconds", cause.time).percent("percent", cause.percent);
    let Some(step) = cause.step else { return row.text("what", "other steps") };
    let row = row.count("count", cause.count);
    let WaitStep { group, deed } = waits.steps.step(step);
    let mut row = row.text("what", what(deed.category));
    if let Some(place) = deed.scope {
        let (named, _) = identity(input, Node::Procedure(place.procedure));
        for column in ["procedure", "module", "file"] {
            row = row.text(column, named.words(column));
        }
        let line = line(waits, place);
        row = if line > 0 { row.count("line", u64::from(line)) } else { row };
    }
    row.text("by_threads", group.map_or(String::new(), |group| threads(input, waits, group)))
}

fn line(waits: &Waits, place: CodePlace) -> u32 {
    if place.line > 0 {
        return place.line;
    }
    waits.lines.get(place.procedure.0 as usize).copied().unwrap_or(0)
}

fn what(category: Category) -> &'static str {
    match category {
        Category::Running => "running",
        Category::Spinning => "spinning",
        Category::Overhead => "overhead",
        Category::Ready => "ready",
        Category::Blocked(cause) => cause.name(),
        Category::Written => "written",
        Category::UnderWay => "hand-over",
        Category::Released => "released later",
        Category::Absent => "not there",
        Category::Rest => "other steps",
    }
}

/// A cause in words, and whose it is: what was done, with its line if wanted.
pub(super) fn words(
    input: &ReportTables<'_>,
    waits: &Waits,
    cause: &ExplainedStep,
    with_line: bool,
) -> (String, String) {
    let Some(step) = cause.step else { return ("other steps".to_owned(), String::new()) };
    let WaitStep { group, deed } = waits.steps.step(step);
    let place = match deed.scope {
        Some(place) if with_line => identity(input, Node::Line(place.procedure, line(waits, place))).1,
        Some(place) => identity(input, Node::Procedure(place.procedure)).1,
        None => "[no procedure known]".to_owned(),
    };
    let did = match deed.category {
        Category::Running => place,
        Category::Spinning => format!("busy-waiting: {place}"),
        Category::Overhead => "the collector".to_owned(),
        Category::Ready => "no CPU".to_owned(),
        Category::Blocked(cause) => format!("{cause} wait: {place}"),
        Category::Written => format!("written by {place}"),
        Category::UnderWay => "the hand-over itself".to_owned(),
        Category::Released => "released later".to_owned(),
        Category::Absent => "not there".to_owned(),
        Category::Rest => "other steps".to_owned(),
    };
    (did, group.map_or(String::new(), |group| threads(input, waits, group)))
}

/// What the threads of a group are called: their name, or what they start with.
pub(super) fn threads(input: &ReportTables<'_>, waits: &Waits, group: GroupId) -> String {
    let group = waits.steps.group(group);
    let names: Vec<&str> =
        group.threads.iter().map(|thread| input.program.threads[thread.index()].name.as_str()).collect();
    let stem =
        |name: &str| name.trim_end_matches(|c: char| c.is_ascii_digit() || "-_#: ".contains(c)).to_owned();
    let first = names.first().copied().unwrap_or_default();
    if names.iter().all(|name| *name == first) {
        return first.to_owned();
    }
    let common = stem(first);
    if !common.is_empty() && names.iter().all(|name| stem(name) == common) {
        return format!("{common}…");
    }
    input.paths.procedure_named_by(group.start).name.clone()
}
