//! Deliveries: waits for data in a socket that another thread of the recording had written long before it arrived.
//!
//! ```text
//!   writer   write ==|~~~ waits for the answer ~~~~~~~~~~~~~~~~~~~~~~~
//!   system           | holds it back: 40 ms |
//!   reader   ~~~~~~~~ waits ~~~~~~~~~~~~~~~~| read ==
//! ```
//! No thread ends such a wait, so it is on the elapsed-weighted critical path. Nobody but the sender's system decides that it lasts so
//! long, and a program can tell it not to: the run gains at most the waits' time on that path.

use longpole_trace::Cause;

use super::sleep::waiting_answer;
use crate::findings::finding::{Advice, Finding, FindingBasis, FindingKind, LeadingAnswer, Limit};
use crate::findings::gain::GainRange;
use crate::findings::sentence::sentence;

/// The entry of the table.
pub(crate) static KIND: FindingKind = FindingKind {
    what: "data that arrives long after it was written",
    when: "threads wait on the elapsed-weighted critical path for data in a socket, most of the wait and 20 ms or more of it after another thread of the recording wrote them: up to their time on it, to what the CPUs leave, and to the time in which fewer threads could run than there are CPUs, or none ran",
    advice: "*send it at once*",
    find,
    answer,
};

fn find(basis: &FindingBasis<'_, '_>) -> Vec<Finding> {
    let waits = basis.facts.path_waits.iter().filter(|wait| wait.cause == Cause::Delivery);
    let found = waits.filter_map(|wait| {
        let gain = GainRange::up_to(wait.time as f64, &basis.bounds).of_shorter_waits(&basis.bounds);
        let mut found = Finding::advised_wait(basis, (&KIND, Limit::Idle), wait, (Advice::SendAtOnce, gain))?;
        found.evidence.insert(0, sentence!["it was written 20 ms before it arrived, or more"]);
        Some(found)
    });
    found.collect()
}

fn answer(basis: &FindingBasis<'_, '_>, finding: &Finding) -> LeadingAnswer {
    let mut answer = waiting_answer(basis, finding);
    let why = "What threads wait for had been written 20 ms before it arrived, or more: the system held it back, as Nagle's algorithm does with a \
               small write that follows another one, until the first is acknowledged. The sender can set TCP_NODELAY, or write all of it in \
               one call.";
    answer.reasons.insert(0, sentence![why]);
    answer
}
