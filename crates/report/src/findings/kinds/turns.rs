//! Turns: threads that wait for each other, though each could do its work while the others do theirs.
//!
//! ```text
//!   reader  read ==|.........| read ==|.........|       one buffer for both: without the waits for it to be emptied
//!   writer  .......| pack ===|........| pack ===|       the reader reads the next block meanwhile
//!
//!   w1  item 1 ===========|write| item 3 ==|write|      results are written in the order of the items: without the waits
//!   w2  item 2 ==|........|write| item 4 ===========    the threads share the items evenly
//! ```
//! Predictions: the run executed without the waits for the object. Of results in order that leaves to each thread the items that it had, so
//! the waits' sum divided by the threads that waited is gained at most. What a thread needs from the other one before it goes on cannot be
//! done ahead, and no recording tells what that is: the range begins at nothing.

use std::collections::BTreeMap;

use longpole_event::ThreadId;
use longpole_metrics::{ContendedObject, Contention, Node};
use longpole_trace::{ObjectId, ObjectKind};

use super::locks::{NamedLocks, gain_without_waits, locks};
use super::passed_on::{is_passed_on, sites};
use crate::findings::finding::{
    Advice, Finding, FindingBasis, FindingKind, FindingSubject, LeadingAnswer, Limit, Prediction,
};
use crate::findings::gain::{GainRange, executed, replayed};
use crate::findings::sentence::{Sentence, TimeInWords, sentence};
use crate::findings::threshold::{IN_TURN, MODEL_ERROR, OWN_PROCEDURE};
use crate::findings::work_answer;
use crate::findings::work_by_procedure::{WorkByProcedure, largest_share};
use crate::input::ReportTables;
use crate::quantity::{count_of, percent};

/// The entry of the table.
pub(crate) static KIND: FindingKind = FindingKind {
    what: "threads that wait for each other's turn",
    when: "threads wait for a condition, semaphore, channel, pipe or socket, at least half of that time for a thread that they had let go on since it did so for them last: up to what the run executed without these waits gains. Or for a condition that is mostly signalled by threads that wait for it too, or in the procedure that waits, as those do who write results in order: up to the waits' sum divided by the threads that waited, give or take 10 %, where that is more than twice what the waits alone gain, and no more than the run takes longer than any thread works in procedures of which it does 95 %. Never more than the CPUs leave, nor, but for sockets, than the time in which a thread could run; one entry for two objects that are waited for in turn",
    advice: "*let threads work ahead*: more room between them, or results that are kept until their turn comes; of sockets *ask earlier, or several at once*",
    find,
    answer,
};

/// All objects of one kind and name.
struct NamedObject {
    first: ObjectId,
    kind: ObjectKind,
    all: Vec<ObjectId>,
    sum: ContendedObject,
}

fn find(basis: &FindingBasis<'_, '_>) -> Vec<Finding> {
    let (mut objects, locks) = (named_objects(basis.input), locks(basis.input));
    objects.sort_by_key(|object| (std::cmp::Reverse(object.sum.waited()), object.first));
    let mut found: Vec<(usize, Finding)> = Vec::new();
    for (index, object) in objects.iter().enumerate() {
        let partner = partner(object, &objects);
        let is_told = found.iter().any(|&(told, _)| Some(told) == partner);
        if !is_told
            && let Some(finding) = finding(basis, &locks, object, partner.map(|partner| &objects[partner]))
        {
            found.push((index, finding));
        }
    }
    found.into_iter().map(|(_, finding)| finding).collect()
}

/// Those by which threads tell each other to go on.
fn named_objects(input: &ReportTables<'_>) -> Vec<NamedObject> {
    let mut named: BTreeMap<(ObjectKind, &str), NamedObject> = BTreeMap::new();
    let Some(contention) = &input.input().details.contention else { return Vec::new() };
    for (index, (object, contended)) in input.objects.all().iter().zip(&contention.objects).enumerate() {
        use ObjectKind::{Channel, Condition, Future, Pipe, Semaphore, Socket};
        let lets_go_on = matches!(object.kind, Channel | Condition | Future | Pipe | Semaphore | Socket);
        let first = ObjectId(index as u32);
        if !lets_go_on || contended.waits() == 0 || is_of_virtual_machine(input, contention, first) {
            continue;
        }
        let new =
            || NamedObject { first, kind: object.kind, all: Vec::new(), sum: ContendedObject::default() };
        let own = named.entry((object.kind, &object.name)).or_insert_with(new);
        own.all.push(first);
        own.sum.add(contended, input.analysis.elapsed);
    }
    named.into_values().collect()
}

/// Whether only Java's virtual machine waits for it, where it works for nobody: threads that it has for itself.
fn is_of_virtual_machine(input: &ReportTables<'_>, contention: &Contention, object: ObjectId) -> bool {
    let objects = [object];
    let mut sites = sites(contention, &objects).peekable();
    let is_in_it = |path| {
        let place = input.paths.innermost(path);
        place.is_some_and(|place| input.paths.procedure_named_by(place.procedure).module == "libjvm.so")
    };
    sites.peek().is_some() && sites.all(|(path, _)| is_in_it(path))
}

/// What those wait for who end the waits for it.
fn partner(object: &NamedObject, objects: &[NamedObject]) -> Option<usize> {
    let with = object.sum.lockstep_with?;
    objects.iter().position(|other| other.first != object.first && other.all.contains(&with))
}

fn finding(
    basis: &FindingBasis<'_, '_>,
    locks: &NamedLocks<'_>,
    object: &NamedObject,
    partner: Option<&NamedObject>,
) -> Option<Finding> {
    let bounds = &basis.bounds;
    let subject = FindingSubject::Object(object.first);
    // While no thread can run there is no work to be done ahead; several requests may be slept for at once.
    let (advice, idle) = match object.kind {
        ObjectKind::Socket => (Advice::AskEarlier, 0),
        _ => (Advice::WorkAhead, basis.facts.idle),
    };
    let range = GainRange::up_to(most(basis, locks, object, partner)?, bounds).with_all_work(bounds);
    let range = range.at_most(bounds.elapsed - idle as f64);
    let found = Finding::advised(basis, (&KIND, Limit::Work), subject, (advice, range), false)?;
    Some(found.predicted_by(Prediction::Execution).with(evidence(basis.input, object, partner)))
}

/// The most that the run gains if these threads need not wait for each other, nanoseconds; `None` where they wait otherwise.
fn most(
    basis: &FindingBasis<'_, '_>,
    locks: &NamedLocks<'_>,
    object: &NamedObject,
    partner: Option<&NamedObject>,
) -> Option<f64> {
    let NamedObject { sum, all, kind, .. } = object;
    let in_lockstep = percent(sum.in_lockstep as f64, sum.waited() as f64);
    if !sum.is_held() && in_lockstep >= IN_TURN {
        // Which of both they wait for room by is not known.
        let partners = partner.and_then(|partner| without_waits(basis, partner));
        return Some(without_waits(basis, object)?.max(partners.unwrap_or(0.0)));
    }
    let is_passed_on = *kind == ObjectKind::Condition && (sum.is_held() || is_passed_on(basis.input, all));
    if is_passed_on { by_even_shares(basis, locks, object) } else { None }
}

/// How often and where they wait.
fn evidence(input: &ReportTables<'_>, object: &NamedObject, partner: Option<&NamedObject>) -> Vec<Sentence> {
    let waits = object.sum.waits() + partner.map_or(0, |partner| partner.sum.waits());
    let waited = object.sum.waited() + partner.map_or(0, |partner| partner.sum.waited());
    let counts = sentence![count_of(waits, "wait"), " of ", TimeInWords(waited / waits.max(1))];
    let of_partner = partner.map(|partner| {
        let name = Sentence::name(input, Node::Object(partner.first));
        sentence![" and, for ", name, ", ", place(input, partner)]
    });
    let turns = sentence!["in turn ", place(input, object), of_partner];
    vec![counts, turns, sentence!["so much only as far as none needs what the other one does next"]]
}

/// The most that the run gains without the waits for this, nanoseconds.
fn without_waits(basis: &FindingBasis<'_, '_>, object: &NamedObject) -> Option<f64> {
    let node = Node::Object(object.first);
    let executed = executed(basis.input, node)?;
    Some(match replayed(basis.input, node) {
        Some(replayed) => GainRange::replayed(&replayed.free, 0.0, &basis.bounds).high,
        None => GainRange::around(executed.gain.free, 0.0, &executed, &basis.bounds).high,
    })
}

/// The most that the run gains if threads share evenly what they do, nanoseconds; `None` where it gains about as much without the waits
/// alone, as of a lock.
fn by_even_shares(basis: &FindingBasis<'_, '_>, locks: &NamedLocks<'_>, object: &NamedObject) -> Option<f64> {
    let each = object.sum.waited() as f64 / object.sum.waiters.max(2) as f64;
    let lock = gain_without_waits(basis, locks, object.first);
    if lock.is_some_and(|(range, _)| 2.0 * range.middle() >= each) {
        return None;
    }
    let left = (basis.bounds.elapsed - alone(&basis.work)).max(0.0);
    Some(((1.0 + MODEL_ERROR / 100.0) * each).min(left))
}

/// The most that one thread works in procedures in which others hardly work, nanoseconds: that can be shared with none of them.
fn alone(work: &WorkByProcedure) -> f64 {
    let mut of_thread: BTreeMap<ThreadId, u64> = BTreeMap::new();
    let of_one = work.iter().filter(|(_, threads)| largest_share(threads) >= OWN_PROCEDURE);
    for (_, threads) in of_one {
        let most = threads.iter().max_by_key(|&(_, time)| time);
        most.into_iter().for_each(|(&thread, time)| *of_thread.entry(thread).or_default() += time);
    }
    of_thread.into_values().max().unwrap_or(0) as f64
}

/// `` in `take_item` ``: where threads wait for it most often.
fn place(input: &ReportTables<'_>, object: &NamedObject) -> Option<Sentence> {
    let contention = input.input().details.contention.as_ref()?;
    let (path, _) = sites(contention, &object.all).max_by_key(|&(_, count)| count)?;
    let place = input.paths.innermost(path)?;
    Some(sentence!["in ", Sentence::name(input, Node::Procedure(place.procedure))])
}

fn answer(basis: &FindingBasis<'_, '_>, finding: &Finding) -> LeadingAnswer {
    let subject = finding.subject.text(basis.input);
    let what = Sentence::joined(finding.evidence.iter().take(2).cloned(), " ");
    work_answer(basis, sentence!["The long pole: threads wait for each other at ", subject, ": ", what, "."])
}
