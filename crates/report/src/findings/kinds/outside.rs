//! Waits for what is not in the recording: users, other programs, sockets, terminals, signals.
//!
//! Such waits are on the elapsed-weighted critical path, because no thread of the program ends them. Nothing in the program
//! makes them shorter, so nothing is advised; the answer says so. While the program is idle for most of the run, waits
//! with an unknown end are among them, whatever they are for.

use longpole_trace::Cause;

use super::sleep::waiting_answer;
use crate::findings::facts::is_device;
use crate::findings::finding::{Finding, FindingBasis, FindingKind, FindingSubject, LeadingAnswer, Limit};
use crate::findings::sentence::sentence;
use crate::findings::threshold::{IDLE, UNMATCHED};

/// The entry of the table.
pub(crate) static KIND: FindingKind = FindingKind {
    what: "waits for what is outside of the recording",
    when: "they are on the elapsed-weighted critical path: their time on it",
    advice: "none: no thread of the program ends them",
    find,
    answer,
};

fn find(basis: &FindingBasis<'_, '_>) -> Vec<Finding> {
    let facts = &basis.facts;
    let is_idle = facts.of_run(facts.idle) >= IDLE;
    let is_outside = |cause: Cause| match cause {
        Cause::Sleep => false,
        cause if is_device(cause) => false,
        Cause::Terminal | Cause::Signal | Cause::Stopped | Cause::Poll | Cause::Socket => true,
        Cause::Pipe | Cause::Message | Cause::Child | Cause::Other => is_idle || facts.unmatched < UNMATCHED,
        _ => is_idle,
    };
    let waits = facts.path_waits.iter().filter(|wait| is_outside(wait.cause));
    let found = waits.filter_map(|wait| {
        let subject = FindingSubject::Wait(wait.clone());
        Finding::without_advice(basis, (&KIND, Limit::Idle), subject, wait.time)
    });
    found.collect()
}

fn answer(basis: &FindingBasis<'_, '_>, finding: &Finding) -> LeadingAnswer {
    let mut answer = waiting_answer(basis, finding);
    let why =
        "No thread of the program is known to end these waits: what they wait for is not in the recording.";
    answer.reasons.insert(0, sentence![why]);
    answer
}
