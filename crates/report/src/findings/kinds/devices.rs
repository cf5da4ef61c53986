//! Devices and pages: waits on the elapsed-weighted critical path that no thread of the program ends.
//!
//! Such a wait is on that path at its length; the run gains at most that.

use super::sleep::waiting_answer;
use crate::findings::facts::is_device;
use crate::findings::finding::{
    Advice, Finding, FindingBasis, FindingKind, FindingSubject, LeadingAnswer, Limit,
};
use crate::findings::gain::GainRange;
use crate::findings::sentence::{ShareInWords, sentence};

/// The entry of the table.
pub(crate) static KIND: FindingKind = FindingKind {
    what: "io, page faults",
    when: "they are on the elapsed-weighted critical path: up to their time on it",
    advice: "*overlap the io*",
    find,
    answer,
};

fn find(basis: &FindingBasis<'_, '_>) -> Vec<Finding> {
    let facts = &basis.facts;
    let waits = facts.path_waits.iter().filter(|wait| is_device(wait.cause));
    let found = waits.filter_map(|wait| {
        let gain = GainRange::up_to(wait.time as f64, &basis.bounds);
        let subject = FindingSubject::Wait(wait.clone());
        let found =
            Finding::advised(basis, (&KIND, Limit::Devices), subject, (Advice::OverlapIo, gain), false)?;
        let share = ShareInWords(facts.of_run(wait.time));
        Some(found.with(vec![sentence![share, " of the critical path by elapsed time"]]))
    });
    found.collect()
}

fn answer(basis: &FindingBasis<'_, '_>, finding: &Finding) -> LeadingAnswer {
    waiting_answer(basis, finding)
}
