//! Causes of waits: the steps of one side, the largest first.

use std::collections::{BTreeMap, HashMap};

use longpole_metrics::{Category, Deed, GroupId, Node, Split, Step, StepId, Waits};
use longpole_trace::Place;

use super::super::identity;
use crate::input::Source;
use crate::quantity::{percent, percent_text};
use crate::report::Row;

/// Causes below this part of the waiting are put together.
const LEAST_PERCENT: f64 = 0.1;
/// Causes below this part of the waiting are not told in the map.
const LEAST_TOLD: f64 = 4.95;

/// The two sides of an explanation.
#[derive(Debug)]
pub(super) struct Causes {
    /// The largest first.
    pub positive: Vec<Cause>,
    pub negative: Vec<Cause>,
}

/// A step with its part of the waiting; `None` for many small ones.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cause {
    pub step: Option<StepId>,
    /// Nanoseconds.
    pub time: f64,
    pub percent: f64,
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

impl Causes {
    pub(super) fn of(
        shares: &BTreeMap<StepId, (f64, f64)>,
        time: u64,
        input: &Source<'_>,
        waits: &Waits,
    ) -> Causes {
        // Threads of several groups may be called the same, such as the processes of a server.
        let mut alike: HashMap<(Deed, String), StepId> = HashMap::new();
        let mut sums: BTreeMap<StepId, (f64, f64)> = BTreeMap::new();
        for (&id, share) in shares {
            let Step { group, deed } = waits.steps.step(id);
            let by = group.map_or(String::new(), |group| threads(input, waits, group));
            let sum = sums.entry(*alike.entry((deed, by)).or_insert(id)).or_default();
            *sum = (sum.0 + share.0, sum.1 + share.1);
        }
        Causes { positive: side(&sums, time, |share| share.0), negative: side(&sums, time, |share| share.1) }
    }

    /// As rows within a row, the largest `most` of each side apart.
    pub(super) fn rows(&self, input: &Source<'_>, waits: &Waits, most: usize) -> Vec<Row> {
        let side = |causes: &[Cause], side: &'static str| -> Vec<Row> {
            let most = most.min(causes.len());
            let rest = &causes[most..];
            let sum = |of: fn(&Cause) -> f64| rest.iter().map(of).sum();
            let rest = (!rest.is_empty()).then(|| Cause {
                step: None,
                time: sum(|cause| cause.time),
                percent: sum(|cause| cause.percent),
            });
            let told = causes[..most].iter().chain(&rest);
            told.map(|cause| row(input, waits, cause).text("side", side)).collect()
        };
        let mut rows = side(&self.positive, "positive");
        rows.extend(side(&self.negative, "negative"));
        rows
    }

    /// The largest of the positive side in words, at most so many.
    pub(super) fn texts(&self, input: &Source<'_>, waits: &Waits, most: usize) -> Vec<String> {
        let told = self.positive.iter().filter(|cause| cause.step.is_some());
        let told = told.take_while(|cause| cause.percent >= LEAST_TOLD).take(most);
        let text = |cause: &Cause| {
            let (did, by) = words(input, waits, cause, false);
            let by = if by.is_empty() { by } else { format!(" in {by}") };
            format!("{} {did}{by}", percent_text(cause.percent))
        };
        let texts: Vec<String> = told.map(text).collect();
        if texts.is_empty() { vec!["many small causes".to_owned()] } else { texts }
    }
}

fn side(shares: &BTreeMap<StepId, (f64, f64)>, time: u64, of: fn(&(f64, f64)) -> f64) -> Vec<Cause> {
    let cause = |(step, share): (&StepId, &(f64, f64))| Cause {
        step: Some(*step),
        time: of(share),
        percent: percent(of(share), time as f64),
    };
    let mut causes: Vec<Cause> = shares.iter().map(cause).filter(|cause| cause.time > 0.0).collect();
    causes.sort_by(|one, other| other.time.total_cmp(&one.time).then(one.step.cmp(&other.step)));
    let large = causes.iter().take_while(|cause| cause.percent >= LEAST_PERCENT).count();
    let small = causes.split_off(large);
    let rest: f64 = small.iter().map(|cause| cause.time).sum();
    if rest > 0.0 {
        causes.push(Cause { step: None, time: rest, percent: percent(rest, time as f64) });
    }
    causes
}

fn row(input: &Source<'_>, waits: &Waits, cause: &Cause) -> Row {
    let row = Row::default().fraction("seconds", cause.time).percent("percent", cause.percent);
    let Some(step) = cause.step else { return row.text("what", "other steps") };
    let Step { group, deed } = waits.steps.step(step);
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

fn line(waits: &Waits, place: Place) -> u32 {
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
        Category::UnderWay => "hand-over",
        Category::Released => "released later",
        Category::Absent => "not there",
        Category::Rest => "other steps",
    }
}

/// A cause in words, and whose it is: what was done, with its line if wanted.
pub(super) fn words(input: &Source<'_>, waits: &Waits, cause: &Cause, with_line: bool) -> (String, String) {
    let Some(step) = cause.step else { return ("other steps".to_owned(), String::new()) };
    let Step { group, deed } = waits.steps.step(step);
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
        Category::UnderWay => "the hand-over itself".to_owned(),
        Category::Released => "released later".to_owned(),
        Category::Absent => "not there".to_owned(),
        Category::Rest => "other steps".to_owned(),
    };
    (did, group.map_or(String::new(), |group| threads(input, waits, group)))
}

/// What the threads of a group are called: their name, or what they start with.
pub(super) fn threads(input: &Source<'_>, waits: &Waits, group: GroupId) -> String {
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
