//! Devices and pages: waits on the elapsed-weighted critical path that no thread of the program ends.
//!
//! Such a wait is on that path at its length; the run gains at most that.

use super::sleep::waiting_answer;
use crate::findings::facts::is_device;
use crate::findings::finding::{Advice, Finding, FindingBasis, FindingKind, LeadingAnswer, Limit};
use crate::findings::gain::GainRange;
use crate::findings::placed_waits::PlacedWait;
use crate::name;

/// The entry of the table.
pub(crate) static KIND: FindingKind = FindingKind {
    what: "io, page faults",
    when: "they are on the elapsed-weighted critical path, after the program was mapped: up to their time on it, to what the CPUs leave, and to the time in which fewer threads could run than there are CPUs, or none ran",
    advice: "*overlap the io*",
    find,
    answer,
};

fn find(basis: &FindingBasis<'_, '_>) -> Vec<Finding> {
    let facts = &basis.facts;
    // Before its first instruction a program has nothing that it could do meanwhile.
    let is_start = |wait: &PlacedWait| {
        wait.place.is_some_and(|id| name::is_program_start(basis.input.paths.procedure_named_by(id)))
    };
    let waits = facts.path_waits.iter().filter(|wait| is_device(wait.cause) && !is_start(wait));
    let found = waits.filter_map(|wait| {
        let gain = GainRange::up_to(wait.time as f64, &basis.bounds).of_shorter_waits(&basis.bounds);
        Finding::advised_wait(basis, (&KIND, Limit::Devices), wait, (Advice::OverlapIo, gain))
    });
    found.collect()
}

fn answer(basis: &FindingBasis<'_, '_>, finding: &Finding) -> LeadingAnswer {
    waiting_answer(basis, finding)
}
