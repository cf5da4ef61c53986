//! Requests of a simulated run: waits for data, or for messages of operations, on the elapsed-weighted critical path.
//!
//! No thread ends such a wait, so that it is on that path at its length; the run gains at most that.

use longpole_trace::Cause;

use super::sleep::waiting_answer;
use crate::findings::finding::{Advice, Finding, FindingBasis, FindingKind, LeadingAnswer, Limit};
use crate::findings::gain::GainRange;
use crate::findings::next::COMMUNICATION;

/// The entry of the table.
pub(crate) static KIND: FindingKind = FindingKind {
    what: "requests of a simulated run",
    when: "they are on the elapsed-weighted critical path: up to their time on it",
    advice: "*communicate less*",
    find,
    answer,
};

fn find(basis: &FindingBasis<'_, '_>) -> Vec<Finding> {
    let facts = &basis.facts;
    let waits = facts.path_waits.iter().filter(|wait| wait.cause == Cause::Request);
    let found = waits.filter_map(|wait| {
        let gain = GainRange::up_to(wait.time as f64, &basis.bounds);
        Finding::advised_wait(basis, (&KIND, Limit::Idle), wait, (Advice::CommunicateLess, gain))
    });
    found.collect()
}

fn answer(basis: &FindingBasis<'_, '_>, finding: &Finding) -> LeadingAnswer {
    let mut answer = waiting_answer(basis, finding);
    answer.next.insert(answer.next.len().min(1), COMMUNICATION);
    answer
}
