//! What a condition is about, measured in one recording.

use longpole_metrics::{By, Measures, Node, NodeRow};
use longpole_trace::{CodePlace, PathId};

use super::condition::{CheckCondition, CheckMetric};
use super::verdict::MeasuredTime;
use crate::error::{Error, Result};
use crate::find::{FoundNodes, NameKind, RecordingNames};
use crate::input::ReportTables;
use crate::quantity::percent;
use crate::share::{behind_cpu, behind_npt, behind_path, standard_error};

/// A time, and the whole name of what it is of: in another recording the same few letters may mean another thing.
#[derive(Clone, Debug)]
pub(crate) struct NamedTime {
    pub time: MeasuredTime,
    pub name: String,
}

/// What was found, by its whole name.
fn name_of(input: &ReportTables<'_>, found: &FoundNodes) -> String {
    let procedure = |id| input.paths.procedure_named_by(id).name.clone();
    let name = match found {
        FoundNodes::Procedure(id) => Some(procedure(*id)),
        FoundNodes::Lines(lines) => lines.first().map(|&(id, line)| format!("{}:{line}", procedure(id))),
        FoundNodes::File(file) => Some(file.clone()),
        FoundNodes::Objects(ids) => ids.first().map(|&id| input.objects.get(id).name.clone()),
        FoundNodes::Threads(ids) => ids.first().map(|id| input.program.threads[id.index()].name.clone()),
        FoundNodes::Processes(ids) => ids.first().map(|id| input.program.processes[id.index()].name.clone()),
    };
    name.unwrap_or_default()
}

/// The condition's time in a recording; `None` where it has nothing of that name.
///
/// # Errors
/// Those of [`RecordingNames::find`] but for a name that nothing has, and [`Error::BadCondition`] for a metric that the thing does
/// not have.
pub(crate) fn measured(input: &ReportTables<'_>, condition: &CheckCondition) -> Result<Option<NamedTime>> {
    let Some(name) = &condition.name else {
        return Ok(Some(NamedTime { time: of_run(input, condition.metric), name: String::new() }));
    };
    let names = RecordingNames { program: input.program, paths: input.paths, objects: input.objects };
    let kinds: &[NameKind] =
        if condition.is_own { &[NameKind::Procedure, NameKind::Region] } else { NameKind::ALL };
    match names.find(name, kinds) {
        Ok(found) => {
            let time = of_nodes(input, condition, &found)?;
            Ok(Some(NamedTime { time, name: name_of(input, &found) }))
        }
        Err(Error::NoSuchName { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The error that says what is like a name that nothing has.
pub(crate) fn unknown_name(input: &ReportTables<'_>, condition: &CheckCondition) -> Option<Error> {
    let names = RecordingNames { program: input.program, paths: input.paths, objects: input.objects };
    names.find(condition.name.as_ref()?, NameKind::ALL).err()
}

fn of_run(input: &ReportTables<'_>, metric: CheckMetric) -> MeasuredTime {
    let value = match metric {
        CheckMetric::Elapsed => input.analysis.elapsed as f64,
        CheckMetric::CriticalPath => input.analysis.critical_cpu.length as f64,
        metric => of_measures(metric, input.totals()),
    };
    MeasuredTime { value, error: 0.0 }
}

fn of_measures(metric: CheckMetric, measures: &Measures) -> f64 {
    match metric {
        CheckMetric::Elapsed => 0.0,
        CheckMetric::CriticalPath => measures.critical_cpu as f64,
        CheckMetric::Npt => measures.npt(),
        CheckMetric::Cpu => measures.cpu() as f64,
        CheckMetric::Wait => measures.synchronisation_wait() as f64,
    }
}

fn of_nodes(
    input: &ReportTables<'_>,
    condition: &CheckCondition,
    found: &FoundNodes,
) -> Result<MeasuredTime> {
    let (nodes, by): (Vec<Node>, By) = match found {
        FoundNodes::Procedure(id) => (vec![Node::Procedure(*id)], By::Procedure),
        FoundNodes::Lines(lines) => {
            (lines.iter().map(|&(procedure, line)| Node::Line(procedure, line)).collect(), By::Line)
        }
        FoundNodes::Threads(threads) => (threads.iter().copied().map(Node::Thread).collect(), By::Thread),
        FoundNodes::Processes(ids) => (ids.iter().copied().map(Node::Process).collect(), By::Process),
        FoundNodes::Objects(objects) => {
            let contention = input.details.contention.as_ref();
            let waited = |id: &longpole_trace::ObjectId| {
                contention.and_then(|all| all.objects.get(id.index())).map_or(0, |one| one.waited())
            };
            let value = objects.iter().map(waited).sum::<u64>() as f64;
            return match condition.metric {
                CheckMetric::Wait => Ok(MeasuredTime { value, error: 0.0 }),
                _ => Err(refused(condition, "an object is only waited for: `wait.NAME`")),
            };
        }
        FoundNodes::File(_) => {
            return Err(refused(condition, "a file is no part of a run: name a procedure or a line"));
        }
    };
    let measure = |row: &NodeRow| {
        let is_own = condition.is_own || by == By::Line;
        of_measures(condition.metric, if is_own { &row.own } else { &row.inclusive })
    };
    let value: f64 = input.rows(by).iter().filter(|row| nodes.contains(&row.node)).map(measure).sum();
    let is_own = condition.is_own || by == By::Line;
    let is_sampled = matches!(by, By::Procedure | By::Line) && condition.metric != CheckMetric::Wait;
    let error =
        if is_sampled { sampling_error(input, condition.metric, (&nodes, is_own), value) } else { 0.0 };
    Ok(MeasuredTime { value, error })
}

/// Standard error of an estimated time of procedures or lines, nanoseconds: of what is charged to them themselves, or to all call
/// paths through them.
fn sampling_error(
    input: &ReportTables<'_>,
    metric: CheckMetric,
    (nodes, is_own): (&[Node], bool),
    value: f64,
) -> f64 {
    let analysis = input.analysis;
    let (whole, (precision, samples)) = match metric {
        CheckMetric::CriticalPath => (analysis.critical_cpu.length as f64, behind_path(analysis)),
        CheckMetric::Npt => (of_measures(metric, input.totals()), behind_npt(analysis)),
        _ => (of_measures(metric, input.totals()), behind_cpu(analysis)),
    };
    let is_meant = |place: CodePlace| {
        nodes.contains(&Node::Procedure(place.procedure))
            || nodes.contains(&Node::Line(place.procedure, place.line))
    };
    let is_in = |path: PathId| match is_own {
        true => input.paths.innermost(path).is_some_and(is_meant),
        false => input.paths.places_of(path).any(is_meant),
    };
    let of_rows = precision.by_row(|path| is_in(path).then_some(()));
    let stratified = of_rows.error(()).filter(|_| precision.samples() > 0);
    // Where no timer sampled, each observation counts as one.
    let share = percent(value, whole).min(100.0);
    let plain = || standard_error(share, samples).map(|error| error / 100.0 * whole);
    stratified.or_else(plain).unwrap_or(0.0)
}

fn refused(condition: &CheckCondition, reason: &str) -> Error {
    Error::BadCondition { text: condition.text.clone(), reason: reason.to_owned() }
}
