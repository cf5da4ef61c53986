//! Processes: what a run of several programs waits for, where no procedure stands for one of them.
//!
//! A pipeline or a build has processes of many small procedures, or of code without names. What the run gains without such a
//! process is what a person asks first: whether a faster `awk`, or a compilation that is divided, is worth it.
//!
//! Its gain is that of the run executed without its work; what it waited for, and who waited for it, stays. Ranks of MPI have findings
//! of their own.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use longpole_event::{ProcessId, ThreadId};
use longpole_metrics::{By, Node, NodeRow, standard_error};
use longpole_trace::{Folding, ProcedureId};

use super::work;
use crate::findings::finding::{
    Advice, Finding, FindingBasis, FindingKind, FindingSubject, Limit, Prediction,
};
use crate::findings::gain::{GainRange, executed, prospect};
use crate::findings::is_named;
use crate::findings::sentence::{Sentence, ShareInWords, TimeInWords, sentence};
use crate::findings::threshold::{
    COARSE, EQUAL_PROCESS, FEWEST_OF_ROW, MOSTLY_FOLDED, ONE_PROCEDURE, PROCESS, WHOLE_RUN,
};
use crate::folded::folded_work;
use crate::input::ReportTables;
use crate::quantity::percent;

/// The entry of the table.
pub(crate) static KIND: FindingKind = FindingKind {
    what: "a process",
    when: "it has at least 10 % of the CPU time and less than 98, rests on at least 5 observations, is no rank of MPI, no procedure of the program has 80 % of its work, and no process of its name half as much: the run executed without its work, never more than its time, and than the CPUs and the rest of the critical path leave",
    advice: "*pass more at once* if most of its work is passing work to other processes by Python's library; else *shorten*",
    find,
    answer: work::answer,
};

fn find(basis: &FindingBasis<'_, '_>) -> Vec<Finding> {
    if !basis.facts.has_observations() {
        return Vec::new();
    }
    let rows = basis.input.rows(By::Process);
    rows.iter().filter_map(|row| finding(basis, row)).collect()
}

fn finding(basis: &FindingBasis<'_, '_>, row: &NodeRow) -> Option<Finding> {
    let FindingBasis { input, facts, bounds, .. } = basis;
    let Node::Process(id) = row.node else { return None };
    let process = &input.program.processes[id.index()];
    let (own, all) = (&row.own, (input.totals().running as f64).max(1.0));
    let share = own.running as f64 / all;
    let is_part = (PROCESS..WHOLE_RUN).contains(&(100.0 * share));
    if process.rank.is_some() || !is_part || share * facts.cpu_samples < FEWEST_OF_ROW {
        return None;
    }
    let times = times_of_procedures(basis, id);
    let named = times.iter().filter(|(id, _)| is_named(input, Node::Procedure(**id)));
    let largest = named.map(|(&id, &time)| (id, time)).max_by_key(|&(id, time)| (time, Reverse(id)));
    if largest.is_some_and(|(_, time)| percent(time as f64, own.running as f64) >= ONE_PROCEDURE) {
        return None;
    }
    if has_equals(input, row, id) {
        return None;
    }
    let executed = executed(input, row.node)?;
    let gain = executed.gain.free;
    let error = standard_error(share, facts.cpu_samples) / share * gain;
    let range = GainRange::around(gain, error, &executed, bounds);
    let path = prospect(input, row.node).map_or(bounds.elapsed, |gain| bounds.with_path_less(gain.zeroing));
    let present = executed.gain.present.unwrap_or(u64::MAX).min(own.running + own.ready);
    let most = bounds.without(own.running as f64).min(present as f64).min(path).max(gain);
    let range = range.at_most(most).or_at_least(executed.gain.least.free, &executed);
    let subject = FindingSubject::Process(id);
    let advice = if passes_work(basis, &times) { Advice::PassMore } else { Advice::Shorten };
    let found = Finding::advised(basis, (&KIND, Limit::Work), subject, (advice, range), false)?;
    Some(found.predicted_by(Prediction::Execution).with(evidence(basis, row, largest)))
}

/// What speaks for it, the weightiest first.
fn evidence(
    basis: &FindingBasis<'_, '_>,
    row: &NodeRow,
    largest: Option<(ProcedureId, u64)>,
) -> Vec<Sentence> {
    let FindingBasis { input, facts, .. } = basis;
    let own = &row.own;
    let mut evidence = Vec::new();
    if facts.of_run(own.critical_elapsed) >= COARSE {
        let held = TimeInWords(own.critical_elapsed);
        evidence.push(sentence!["held the run for ", held, " of ", TimeInWords(facts.elapsed)]);
    }
    let cpu = percent(own.running as f64, input.totals().running as f64);
    evidence.push(sentence![ShareInWords(cpu), " of the CPU time"]);
    if let Some((id, time)) = largest {
        let name = Sentence::name(input, Node::Procedure(id));
        evidence.push(sentence![
            "most of it in ",
            name,
            " (",
            ShareInWords(percent(time as f64, own.running as f64)),
            ")"
        ]);
    }
    evidence
}

/// Whether others do as it does: one of several workers is nothing to change by itself.
fn has_equals(input: &ReportTables<'_>, row: &NodeRow, id: ProcessId) -> bool {
    let label = |id: ProcessId| input.program.processes[id.index()].label();
    input.rows(By::Process).iter().any(|other| {
        matches!(other.node, Node::Process(of) if of != id && label(of) == label(id))
            && percent(other.own.running as f64, row.own.running as f64) >= EQUAL_PROCESS
    })
}

/// How long the process works in each procedure, nanoseconds.
fn times_of_procedures(basis: &FindingBasis<'_, '_>, id: ProcessId) -> BTreeMap<ProcedureId, u64> {
    let threads = &basis.input.program.threads;
    let of_process = |(procedure, work): (ProcedureId, &BTreeMap<ThreadId, u64>)| {
        let own = work.iter().filter(|(thread, _)| threads[thread.index()].process == id);
        (procedure, own.map(|(_, time)| time).sum())
    };
    basis.work.iter().map(of_process).filter(|&(_, time)| time > 0).collect()
}

/// Whether most of what a process does, by its procedures, is handing work and results to others.
fn passes_work(basis: &FindingBasis<'_, '_>, times: &BTreeMap<ProcedureId, u64>) -> bool {
    let folded = folded_work(basis.input, |leaf| leaf.action == Some(Folding::PASSING));
    let passes = |id: ProcedureId| {
        let passing = folded.get(&id).copied().unwrap_or(0) as f64;
        basis.input.paths.procedure_named_by(id).passes_work()
            || percent(passing, basis.work.total(id) as f64) >= MOSTLY_FOLDED
    };
    let passing: u64 = times.iter().filter(|(id, _)| passes(**id)).map(|(_, time)| time).sum();
    percent(passing as f64, times.values().sum::<u64>() as f64) >= MOSTLY_FOLDED
}
