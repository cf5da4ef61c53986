//! Waits for what is not in the recording: users, other programs, sockets, terminals, signals.
//!
//! Such waits are on the elapsed-weighted critical path, because no thread of the program ends them. Nothing in the program
//! makes them shorter, so nothing is advised; the answer says so. While the program is idle for most of the run, waits
//! with an unknown end are among them, whatever they are for.

use longpole_trace::Cause;

use super::open_pipes::is_open;
use super::services::services;
use super::sleep::{is_event_loop, waiting_answer};
use super::time_limits::is_ended_by_limit;
use crate::findings::facts::{is_device, is_for_each_other};
use crate::findings::finding::{Finding, FindingBasis, FindingKind, FindingSubject, LeadingAnswer, Limit};
use crate::findings::leading::{LeadingWork, RankedWork};
use crate::findings::placed_waits::PlacedWait;
use crate::findings::sentence::{Sentence, ShareInWords, TimeInWords, sentence};
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
    let is_outside = |wait: &PlacedWait| match wait.cause {
        Cause::PollTimeout => is_event_loop(basis, wait),
        cause if cause.is_of_clock() || matches!(cause, Cause::Request | Cause::Delivery) => false,
        cause if is_device(cause) => false,
        Cause::Terminal | Cause::Signal | Cause::Stopped | Cause::Poll | Cause::Socket => true,
        Cause::Pipe | Cause::Message | Cause::Child | Cause::Other => is_idle || facts.unmatched < UNMATCHED,
        _ => is_idle,
    };
    let is_outside = |wait: &&PlacedWait| {
        is_outside(wait)
            && !is_ended_by_limit(basis, wait)
            && services(basis.input, wait).is_empty()
            && !is_open(basis.input, wait)
    };
    let waits = facts.path_waits.iter().filter(is_outside);
    let found = waits.filter_map(|wait| {
        let subject = FindingSubject::Wait(wait.clone());
        Finding::without_advice(basis, (&KIND, Limit::Idle), subject, wait.time)
    });
    found.collect()
}

fn answer(basis: &FindingBasis<'_, '_>, finding: &Finding) -> LeadingAnswer {
    let mut answer = waiting_answer(basis, finding);
    let why = "No thread of the program is known to end these waits: what they wait for is not in the recording, or a time limit ended them.";
    answer.reasons.insert(0, sentence![why]);
    if let Some(headline) = idle_server(basis, finding) {
        answer.headline = headline;
        // The wait that lasts longest is that of a thread that only looks after the others.
        answer.reasons.retain(|reason| !reason.text().starts_with("Also "));
    }
    let work = LeadingWork::largest(basis.input, RankedWork::Cpu).filter(|_| basis.facts.has_observations());
    if let Some(work) = work {
        let said = work.sentence(RankedWork::Cpu.name());
        answer.reasons.insert(0, sentence!["While it works: ", said, "."]);
    }
    answer
}

/// The headline of an idle program whose longest wait is that of a thread that does no work: where its workers wait.
fn idle_server(basis: &FindingBasis<'_, '_>, finding: &Finding) -> Option<Sentence> {
    let FindingBasis { input, facts, .. } = basis;
    let FindingSubject::Wait(led) = &finding.subject else { return None };
    let is_same = |wait: &&PlacedWait| (wait.cause, wait.place) == (led.cause, led.place);
    let is_idle = facts.of_run(facts.idle) >= IDLE;
    let mut of_workers = facts.waits.iter().filter(|wait| wait.is_of_workers());
    if !is_idle || of_workers.clone().any(|wait| is_same(&wait)) {
        return None;
    }
    // What they wait for each other follows from what one of them waits for.
    let longest = of_workers.next().filter(|wait| !is_for_each_other(wait.cause))?;
    let idle = sentence![TimeInWords(facts.idle), " of ", TimeInWords(facts.elapsed), " elapsed ("];
    let where_to = sentence![longest.text(input), " (", TimeInWords(longest.time), ")"];
    Some(sentence![
        "The program is idle for ",
        idle,
        ShareInWords(facts.of_run(facts.idle)),
        "): the threads that work wait, most of that ",
        where_to,
        "."
    ])
}
