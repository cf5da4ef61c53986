//! Pipes of which only one end is in the recording: `producer | longpole record -- consumer`.
//!
//! ```text
//!   consumer   read | work | read ....... | work | read ....... | work
//!   producer        |      what it does is not recorded
//! ```
//! No thread of the program ends such a wait, so it is on the elapsed-weighted critical path; whoever waits for the other end is faster than
//! that. The program gains nothing by less work of its own, unless the other end waits for it in turn.

use longpole_trace::Cause;

use super::sleep::waiting_answer;
use crate::findings::finding::{Advice, Finding, FindingBasis, FindingKind, LeadingAnswer, Limit};
use crate::findings::gain::GainRange;
use crate::findings::placed_waits::PlacedWait;
use crate::findings::sentence::sentence;
use crate::input::ReportTables;

/// The entry of the table.
pub(crate) static KIND: FindingKind = FindingKind {
    what: "a pipe whose other end is not in the recording",
    when: "threads wait for it on the elapsed-weighted critical path: up to their time on it, to what the CPUs leave, and to the time in which fewer threads could run than there are CPUs, or none ran",
    advice: "*speed up its other end*: recorded too (`record -- sh -c 'a | b'`), it tells what holds it back",
    find,
    answer,
};

/// Whether threads wait at this place for a pipe of which only one end is recorded.
pub(super) fn is_open(input: &ReportTables<'_>, wait: &PlacedWait) -> bool {
    wait.cause == Cause::Pipe && wait.objects(input).any(|(object, _)| object.has_open_end())
}

fn find(basis: &FindingBasis<'_, '_>) -> Vec<Finding> {
    let waits = basis.facts.path_waits.iter().filter(|wait| is_open(basis.input, wait));
    let found = waits.filter_map(|wait| {
        let gain = GainRange::up_to(wait.time as f64, &basis.bounds).of_shorter_waits(&basis.bounds);
        let mut found =
            Finding::advised_wait(basis, (&KIND, Limit::Idle), wait, (Advice::SpeedUpOtherEnd, gain))?;
        found.evidence.insert(0, sentence!["the other end is not in the recording"]);
        Some(found)
    });
    found.collect()
}

fn answer(basis: &FindingBasis<'_, '_>, finding: &Finding) -> LeadingAnswer {
    let mut answer = waiting_answer(basis, finding);
    let why = "Threads wait for the program at the other end of a pipe, which is not in the recording: recorded too (record -- sh -c 'a | b'), it tells what holds it back. Less work here gains nothing unless that one waits for it in turn.";
    answer.reasons.insert(0, sentence![why]);
    answer
}
