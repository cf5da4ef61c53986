//! Waits for a signal that their own time limit ended: what they wait for was not signalled, or after that only.
//!
//! ```text
//!   consumer  | wait for a condition ......... ▏ limit | consume ==
//!   producer  produce == | item!  (nobody is told)
//! ```
//! Such a wait is on the elapsed-weighted critical path, because no thread ended it. The run gains at most its time on it, if who
//! makes the condition true signals it. Waits for a semaphore are the same. Where most wakes have no known waker, or the waits are of a kind
//! that runtimes use to be idle (parked threads, plain futexes), or the recording ends while a thread is in such a wait, nothing is found.
//! Of virtual machines, which sleep by conditions, too, they count where nobody could run for most of the run.

use longpole_trace::Cause;

use super::sleep::waiting_answer;
use crate::findings::finding::{
    Advice, Finding, FindingBasis, FindingKind, FindingSubject, LeadingAnswer, Limit,
};
use crate::findings::gain::GainRange;
use crate::findings::placed_waits::PlacedWait;
use crate::findings::sentence::{ShareInWords, sentence};
use crate::findings::threshold::{IDLE, UNMATCHED};

/// The entry of the table.
pub(crate) static KIND: FindingKind = FindingKind {
    what: "a wait for a condition or semaphore that its time limit ended",
    when: "it is on the elapsed-weighted critical path, who ended most waits is known, and the recording does not end in such a wait that lasted half as long: up to its time on it, to the elapsed time less the critical path, to what the CPUs leave, and to the time in which fewer threads could run than there are CPUs, or none ran; in a virtual machine where nobody could run for most of the run",
    advice: "*signal it in time*; *wait for the event* instead where a virtual machine sleeps",
    find,
    answer,
};

/// Virtual machines: their own threads wait until there is something to do, or take turns, and nobody who writes a program for them signals
/// those. That is meanwhile: where nobody can run, the program waits.
const VIRTUAL_MACHINES: [&str; 4] = ["libjvm.so", "libcoreclr.so", "libmonosgen", "libruby"];

fn is_of_virtual_machine(basis: &FindingBasis<'_, '_>, wait: &PlacedWait) -> bool {
    let module = wait.place.map(|id| basis.input.paths.procedure_named_by(id).module.as_str());
    module.is_some_and(|module| VIRTUAL_MACHINES.iter().any(|name| module.starts_with(name)))
}

/// Whether time limits ended this wait on the elapsed-weighted critical path: no thread did, nor does it last to the end.
pub(super) fn is_ended_by_limit(basis: &FindingBasis<'_, '_>, wait: &PlacedWait) -> bool {
    let last = basis.input.analysis.final_waits.iter().filter(|last| last.is_cut && last.cause == wait.cause);
    let lasting = last.map(|last| last.until.since(last.since)).max().unwrap_or(0);
    matches!(wait.cause, Cause::Condition | Cause::Semaphore)
        && basis.facts.unmatched < UNMATCHED
        && 2 * lasting < wait.time
        && (basis.facts.of_run(basis.facts.idle) >= IDLE || !is_of_virtual_machine(basis, wait))
}

fn find(basis: &FindingBasis<'_, '_>) -> Vec<Finding> {
    let facts = &basis.facts;
    let waited = facts.elapsed.saturating_sub(facts.path);
    let found = facts.path_waits.iter().filter(|wait| is_ended_by_limit(basis, wait)).filter_map(|wait| {
        let (most, advice, what) = match is_of_virtual_machine(basis, wait) {
            false => (waited, Advice::SignalInTime, "its own time limit ended it: "),
            true => (waited.min(facts.idle), Advice::AwaitEvent, "a sleep, or its time limit ended it: "),
        };
        let gain =
            GainRange::up_to(wait.time.min(most) as f64, &basis.bounds).of_shorter_waits(&basis.bounds);
        let found = Finding::advised_wait(basis, (&KIND, Limit::Idle), wait, (advice, gain))?;
        let share = ShareInWords(facts.of_run(wait.time));
        Some(found.with(vec![sentence![what, share, " of the run"]]))
    });
    found.collect()
}

fn answer(basis: &FindingBasis<'_, '_>, finding: &Finding) -> LeadingAnswer {
    let mut answer = waiting_answer(basis, finding);
    let is_sleep =
        matches!(&finding.subject, FindingSubject::Wait(wait) if is_of_virtual_machine(basis, wait));
    let why = if is_sleep {
        "No thread of the program ended these waits: they are sleeps, or their time limit did."
    } else {
        "No thread of the program ended these waits: their time limit did. Who makes true what they wait for does not signal it, or too late."
    };
    answer.reasons.insert(0, sentence![why]);
    answer
}
