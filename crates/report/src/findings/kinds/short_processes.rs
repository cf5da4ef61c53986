//! Many short processes, which take longer to start and to end than what they do.
//!
//! ```text
//!   script    | fork, wait ......... | fork, wait ......... | ...      600 times $(basename ...)
//!   basename          | start, 1 line |       | start, 1 line |
//! ```
//! No procedure and no process stands for them: their time is in pieces of the loader, the shell and the kernel. The run gains at most
//! what of the critical path by elapsed time is in them and in the kernel's work for those who create them, if it needs none, and a tenth
//! more.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use longpole_event::{ProcessId, Time};
use longpole_metrics::{By, Node, NodeRow};
use longpole_trace::ProcedureId;

use crate::findings::finding::{
    Advice, Finding, FindingBasis, FindingKind, FindingSubject, LeadingAnswer, Limit,
};
use crate::findings::gain::GainRange;
use crate::findings::process_lives::{ProcessLife, lives};
use crate::findings::sentence::{Sentence, TimeInWords, sentence};
use crate::findings::threshold::{MANY_PROCESSES, MODEL_ERROR, SHORT_LIFE, SHORT_WORK};
use crate::findings::work_answer;
use crate::folded::folded_work;
use crate::input::ReportTables;
use crate::quantity::count_of;

/// The entry of the table.
pub(crate) static KIND: FindingKind = FindingKind {
    what: "many short processes",
    when: "at least 50 were created that lived for 50 ms at most and worked for 10 at most, no ranks of MPI: all together up to 1.1 times their part of the critical path by elapsed time, with the kernel's part of what those do who created them, to what the CPUs leave, and to what the rest of the critical path leaves",
    advice: "*start fewer*: have one do the work of many, or the shell or a library do it",
    find,
    answer,
};

fn find(basis: &FindingBasis<'_, '_>) -> Vec<Finding> {
    finding(basis).into_iter().collect()
}

/// How long each process lived; until the end of the run where it did not end before.
fn lengths(input: &ReportTables<'_>) -> BTreeMap<ProcessId, u64> {
    let run = Time::from_nanoseconds(input.program.elapsed_nanoseconds);
    let length = |life: ProcessLife| life.end.unwrap_or(run).since(life.start);
    lives(input.program).into_iter().map(|(id, life)| (id, length(life))).collect()
}

fn finding(basis: &FindingBasis<'_, '_>) -> Option<Finding> {
    let FindingBasis { input, bounds, .. } = basis;
    let lives = lengths(input);
    let is_short = |row: &&NodeRow| {
        let Node::Process(id) = row.node else { return false };
        let process = &input.program.processes[id.index()];
        let life = lives.get(&id).copied().unwrap_or_default();
        process.parent.is_some()
            && process.rank.is_none()
            && life as f64 <= SHORT_LIFE
            && row.own.running as f64 <= SHORT_WORK
    };
    let short: Vec<&NodeRow> = input.rows(By::Process).iter().filter(is_short).collect();
    let count = short.len() as u64;
    if (count as f64) < MANY_PROCESSES {
        return None;
    }
    let sum = |of: fn(&NodeRow) -> u64| short.iter().map(|row| of(row)).sum::<u64>() as f64;
    let created = creation(basis, &short);
    let held = sum(|row| row.own.critical_elapsed) + created.held;
    let most = bounds
        .without(sum(|row| row.own.running) + created.running)
        .min(bounds.with_path_less(sum(|row| row.own.critical_cpu) + created.critical_cpu));
    let range = GainRange::up_to(held * (1.0 + MODEL_ERROR / 100.0), bounds).at_most(most);
    let subject = FindingSubject::ShortProcesses(count);
    let found = Finding::advised(basis, (&KIND, Limit::Work), subject, (Advice::StartFewer, range), false)?;
    let lived: u64 = short.iter().filter_map(|row| lives.get(&process(row)?)).sum();
    let each = sentence![TimeInWords(lived / count), " each"];
    Some(found.with(vec![sentence![largest(input, &short), ", ", each]]))
}

/// What the kernel does for those who create processes, nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
struct CreationWork {
    running: f64,
    critical_cpu: f64,
    /// On the critical path by elapsed time.
    held: f64,
}

/// That of the processes which created these: the kernel's part of each of their procedures.
fn creation(basis: &FindingBasis<'_, '_>, short: &[&NodeRow]) -> CreationWork {
    let input = basis.input;
    let ids: BTreeSet<ProcessId> = short.iter().filter_map(|row| process(row)).collect();
    let parents = ids.iter().filter_map(|id| input.program.processes[id.index()].parent);
    let creators: BTreeSet<ProcessId> = parents.filter(|parent| !ids.contains(parent)).collect();
    let in_kernel = |procedure| input.paths.procedure_named_by(procedure).module == "[kernel]";
    let folded = folded_work(input, |leaf| in_kernel(leaf.leaf));
    let kernel_share = |procedure: ProcedureId| match basis.work.total(procedure) {
        0 => 0.0,
        _ if in_kernel(procedure) => 1.0,
        all => (folded.get(&procedure).copied().unwrap_or(0) as f64 / all as f64).min(1.0),
    };
    let mut created = CreationWork::default();
    for charge in &input.analysis.charges {
        if creators.contains(&input.program.threads[charge.thread.index()].process)
            && let Some(place) = input.paths.innermost(charge.path)
        {
            let share = kernel_share(place.procedure);
            created.running += share * charge.measures.running as f64;
            created.critical_cpu += share * charge.measures.critical_cpu as f64;
            created.held += share * charge.measures.critical_elapsed as f64;
        }
    }
    created
}

fn process(row: &NodeRow) -> Option<ProcessId> {
    if let Node::Process(id) = row.node { Some(id) } else { None }
}

/// The two programs that most of them executed: ``300 `dirname`, 298 `basename` ``.
fn largest(input: &ReportTables<'_>, short: &[&NodeRow]) -> Sentence {
    let mut names: BTreeMap<&str, u64> = BTreeMap::new();
    for id in short.iter().filter_map(|row| process(row)) {
        *names.entry(input.program.processes[id.index()].name.as_str()).or_default() += 1;
    }
    let mut names: Vec<(&str, u64)> = names.into_iter().collect();
    names.sort_by_key(|&(name, count)| (Reverse(count), name));
    let named =
        names.iter().take(2).map(|&(name, count)| sentence![format!("{count} "), Sentence::code(name)]);
    Sentence::joined(named, ", ")
}

/// `600 short processes`.
pub(crate) fn name(count: u64) -> String {
    count_of(count, "short process")
}

fn answer(basis: &FindingBasis<'_, '_>, finding: &Finding) -> LeadingAnswer {
    let subject = finding.subject.text(basis.input);
    let what = Sentence::joined(finding.evidence.iter().take(1).cloned(), "");
    work_answer(basis, sentence!["The long pole: ", subject, ", ", what, "."])
}
