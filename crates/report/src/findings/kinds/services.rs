//! Services outside of the recording: waits for connections that the program itself asked for.
//!
//! ```text
//!   thread   render ==| ask, wait for the answer ........ | render ==
//!   service           | what it does is not recorded      |
//! ```
//! No thread of the program ends such a wait, so it is on the elapsed-weighted critical path. What the service does is not seen; but the
//! program can ask before it needs the answer, or ask for several at once, and gains at most the waits' time on that path. Connections
//! that others asked for are none: who serves waits for requests. Nor are waits by `poll` and the like for any of many connections.

use std::collections::BTreeMap;

use longpole_trace::Cause;

use super::sleep::waiting_answer;
use crate::findings::finding::{Advice, Finding, FindingBasis, FindingKind, LeadingAnswer, Limit};
use crate::findings::gain::GainRange;
use crate::findings::placed_waits::PlacedWait;
use crate::findings::sentence::{Sentence, sentence};
use crate::input::ReportTables;

/// The entry of the table.
pub(crate) static KIND: FindingKind = FindingKind {
    what: "a service outside of the recording",
    when: "threads wait on the elapsed-weighted critical path in reads of connections that the program asked for, of which the other end is not recorded: up to their time on it, to what the CPUs leave, and to the time in which fewer threads could run than there are CPUs, or none ran",
    advice: "*ask earlier, or several at once*",
    find,
    answer,
};

/// The services for which threads wait at this place, those of most waits first.
pub(super) fn services(input: &ReportTables<'_>, wait: &PlacedWait) -> Vec<String> {
    if wait.cause != Cause::Socket {
        return Vec::new();
    }
    let mut waits: BTreeMap<&str, u64> = BTreeMap::new();
    for (object, count) in wait.objects(input) {
        if let Some(service) = object.service() {
            *waits.entry(service).or_default() += count;
        }
    }
    let mut waits = Vec::from_iter(waits);
    waits.sort_by(|(a, x), (b, y)| y.cmp(x).then_with(|| a.cmp(b)));
    waits.into_iter().map(|(service, _)| service.to_owned()).collect()
}

fn find(basis: &FindingBasis<'_, '_>) -> Vec<Finding> {
    let found = basis.facts.path_waits.iter().filter_map(|wait| {
        let services = services(basis.input, wait);
        let named = named(&services)?;
        let gain = GainRange::up_to(wait.time as f64, &basis.bounds).of_shorter_waits(&basis.bounds);
        let mut found = Finding::advised_wait(basis, (&KIND, Limit::Idle), wait, (Advice::AskEarlier, gain))?;
        found.evidence.insert(0, named);
        Some(found)
    });
    found.collect()
}

/// `for 192.0.2.7:5432`, with how many more there are.
fn named(services: &[String]) -> Option<Sentence> {
    let (first, others) = services.split_first()?;
    let more = match others.len() {
        0 => String::new(),
        1 => " and one more service".to_owned(),
        more => format!(" and {more} more services"),
    };
    Some(sentence!["for ", Sentence::code(first), more])
}

fn answer(basis: &FindingBasis<'_, '_>, finding: &Finding) -> LeadingAnswer {
    let mut answer = waiting_answer(basis, finding);
    let why = ". What that does is not in the recording; the program can ask it earlier, or for several things at once.";
    answer.reasons.insert(0, sentence!["Threads wait ", finding.evidence.first().cloned(), why]);
    answer
}
