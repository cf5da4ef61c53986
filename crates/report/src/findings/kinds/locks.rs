//! Locks: waits that would not be if the lock were divided, or held shorter; and semaphores that let a few threads in at a time, as to a
//! pool of connections: who posts them has waited for them too. One by which a thread tells another that something is there is none.
//!
//! Predictions: zeroing of the object (no thread ever waits for it), and what the processors leave of
//! that, since work that waited for the lock has to be done beside other work.

use std::collections::BTreeMap;

use longpole_metrics::{ContendedObject, Handover, LockHoldSums, Node};
use longpole_trace::{Cause, ObjectId, ObjectKind, ProcedureId};

use super::passed_on::is_passed_on;
use crate::findings::finding::{
    Advice, Finding, FindingBasis, FindingKind, FindingSubject, LeadingAnswer, Limit, Prediction,
};
use crate::findings::gain::{GainRange, executed, prospect, replayed};
use crate::findings::sentence::{Sentence, ShareInWords, TimeInWords, sentence};
use crate::findings::threshold::{BY_TURNS, CONTENDED, LONG_HOLD, ONE_HOLDER, SERIAL};
use crate::findings::{with_work, work_answer};
use crate::input::ReportTables;
use crate::quantity::{count_of, grouped, percent};

/// The entry of the table.
pub(crate) static KIND: FindingKind = FindingKind {
    what: "a lock, or a semaphore that threads hold",
    when: "threads waited for it (a semaphore: and most waits were ended by threads that wait for it too, or that had it again before the waiter): zeroing of the object (no thread ever waits for it), and what the processors leave of that; up to the time for which it was wanted where the unchanged execution is more than 10 % off, and for an interpreter's lock always; up to what even shares gain where those who wait do the same as those who hold it, and one did more than the others; never more than was waited for it and its calls took, than the rest of the critical path leaves, and than the CPUs leave when all work but the lock's own calls has to be done",
    advice: "*hold the lock shorter* if one procedure does at least 80 % of the holding, 1 ms or more at a time; else *split the lock*; of a semaphore *hold shorter or let more in*; of an interpreter's lock (Python's GIL) *use several processes*, which leads where that can gain 30 % of the run",
    find,
    answer,
};

/// Whether one thread holds such an object while others wait.
pub(super) fn is_lock(kind: ObjectKind) -> bool {
    matches!(kind.cause(), Cause::Lock | Cause::Kernel)
}

pub(super) struct NamedLock {
    /// Of all that have the name, waited for or not: whom gains are predicted of.
    first: ObjectId,
    all: Vec<ObjectId>,
    contended: ContendedObject,
    held: LockHoldSums,
    holders: BTreeMap<ProcedureId, Handover>,
}

fn find(basis: &FindingBasis<'_, '_>) -> Vec<Finding> {
    locks(basis.input).values().filter_map(|lock| finding(basis, lock)).collect()
}

/// By kind and name: those of one kind and name together.
pub(super) type NamedLocks<'a> = BTreeMap<(ObjectKind, &'a str), NamedLock>;

/// The locks and semaphores that were held and waited for.
pub(super) fn locks<'a>(input: &ReportTables<'a>) -> NamedLocks<'a> {
    let mut locks = NamedLocks::new();
    let Some(contention) = &input.input().details.contention else { return locks };
    let all = input.input().objects.all();
    let holds = input.input().details.holds.as_ref();
    for (index, (object, contended)) in all.iter().zip(&contention.objects).enumerate() {
        if is_lock(object.kind) || object.kind == ObjectKind::Semaphore {
            let first = ObjectId(u32::try_from(index).expect("fewer than 2^32 objects"));
            let new = || NamedLock {
                first,
                all: Vec::new(),
                contended: ContendedObject::default(),
                held: LockHoldSums::default(),
                holders: BTreeMap::new(),
            };
            let lock = locks.entry((object.kind, &object.name)).or_insert_with(new);
            lock.all.push(ObjectId(index as u32));
            lock.contended.add(contended, input.analysis.elapsed);
            if let Some(held) = holds.and_then(|holds| holds.objects.get(index)) {
                lock.held.add(held);
            }
        }
    }
    for (&(id, place), handover) in &contention.handovers {
        let object = &all[id.index()];
        if let Some(place) = place
            && let Some(lock) = locks.get_mut(&(object.kind, object.name.as_str()))
        {
            let procedure = input.paths.all_places()[place.0 as usize].procedure;
            lock.holders.entry(procedure).or_default().add(handover);
        }
    }
    let can_be_held = |kind: ObjectKind, lock: &NamedLock| is_lock(kind) || lock.contended.is_held();
    locks.retain(|&(kind, _), lock| lock.contended.waits() > 0 && can_be_held(kind, lock));
    locks
}

/// What the run gains where no thread waits for this lock, and the subject of its finding; `None` where it has none.
pub(super) fn gain_without_waits(
    basis: &FindingBasis<'_, '_>,
    locks: &NamedLocks<'_>,
    lock: ObjectId,
) -> Option<(GainRange, FindingSubject)> {
    let object = basis.input.objects.get(lock);
    let found = finding(basis, locks.get(&(object.kind, object.name.as_str()))?)?;
    let (_, gain) = found.change?;
    Some((gain, found.subject))
}

/// Whether threads do nearly all by turns while several are there, since one of the locks is held: whoever does it, it takes as long.
pub(super) fn is_done_by_turns(input: &ReportTables<'_>) -> bool {
    let objects = input.objects.all().iter().enumerate();
    let mut locks =
        objects.filter(|(_, object)| is_lock(object.kind)).map(|(index, _)| ObjectId(index as u32));
    locks.any(|lock| 100.0 * input.objects.exclusion(lock) >= BY_TURNS)
}

/// How the object was held, as far as threads reported it.
pub(super) fn holds_of(input: &ReportTables<'_>, object: ObjectId) -> LockHoldSums {
    let holds = input.input().details.holds.as_ref();
    holds.and_then(|holds| holds.objects.get(object.index())).copied().unwrap_or_default()
}

/// How long the lock is held, where that is why others wait for it: `held 93 % of the run; mean hold 4.1 ms; 120
/// acquisitions, 117 contended`.
pub(super) fn holding(input: &ReportTables<'_>, held: &LockHoldSums) -> Option<Sentence> {
    let contended = percent(held.contended as f64, held.acquisitions as f64);
    (held.acquisitions > 0 && contended >= CONTENDED).then(|| {
        let of_run = percent(held.held as f64, input.analysis.elapsed as f64);
        let acquisitions = count_of(held.acquisitions, "acquisition");
        let counts = format!("; {acquisitions}, {} contended", grouped(held.contended));
        let mean = TimeInWords(held.mean().round() as u64);
        sentence!["held ", ShareInWords(of_run), " of the run; mean hold ", mean, counts]
    })
}

/// CPU time in the calls of a lock, working and spinning, nanoseconds.
fn time_in_calls(input: &ReportTables<'_>, lock: ObjectId) -> [f64; 2] {
    let costs = input.input().details.synchronisation.iter();
    let costs = costs.filter(|cost| cost.objects.contains(&lock));
    costs.fold([0.0; 2], |[working, spinning], cost| [working + cost.running, spinning + cost.spinning])
}

fn finding(basis: &FindingBasis<'_, '_>, lock: &NamedLock) -> Option<Finding> {
    let input = basis.input;
    let zeroed = prospect(input, Node::Object(lock.first))?.zeroing;
    let lengths = &lock.contended.lengths;
    let held: u64 = lock.holders.values().map(|handover| handover.held).sum();
    let longest = lock.holders.iter().max_by_key(|(id, handover)| (handover.held, std::cmp::Reverse(*id)));
    let share = longest.map_or(0.0, |(_, handover)| percent(handover.held as f64, held as f64));
    let each = held as f64 / lock.contended.handed.count.max(1) as f64;
    let is_one = share >= ONE_HOLDER && each >= LONG_HOLD;
    let advice = match input.objects.get(lock.first).kind {
        ObjectKind::InterpreterLock => Advice::UseProcesses,
        ObjectKind::Semaphore => Advice::AdmitMore,
        _ if is_one => Advice::HoldShorter,
        _ => Advice::SplitLock,
    };
    let (gain, predicted_by) = gain(basis, lock, advice, zeroed);
    let is_limit = percent(gain.high, input.analysis.elapsed as f64) >= SERIAL;
    let subject = FindingSubject::Object(lock.first);
    let mut found = Finding::advised(basis, (&KIND, Limit::Work), subject, (advice, gain), false)?
        .predicted_by(predicted_by);
    let waits = count_of(lengths.count(), "wait");
    let mean = TimeInWords(lengths.mean().round() as u64);
    // The interpreter's own procedures are all the work of such a program: that says nothing.
    found.leads = advice == Advice::UseProcesses && is_limit;
    let mut evidence = vec![sentence![waits, " of ", mean, " on average"]];
    // An interpreter gives its lock back in procedures that do not keep it.
    if let Some((&holder, _)) = longest.filter(|_| advice != Advice::UseProcesses) {
        let holder = Sentence::name(input, Node::Procedure(holder));
        evidence.push(sentence!["held by ", holder, " for ", ShareInWords(share), " of that"]);
    }
    evidence.extend(holding(input, &lock.held));
    Some(found.with(evidence))
}

/// What the run gains where nobody waits for the lock, whose zeroing gains so much.
fn gain(
    basis: &FindingBasis<'_, '_>,
    lock: &NamedLock,
    advice: Advice,
    zeroed: f64,
) -> (GainRange, Prediction) {
    let FindingBasis { input, bounds, .. } = basis;
    let node = Node::Object(lock.first);
    let most = GainRange::up_to((lock.contended.contended() as f64).min(bounds.without(0.0)), bounds);
    // What the processors leave: the work that waited has to be done beside other work.
    let (replayed, executed) = match advice {
        // Most waits for an interpreter end by their time limit: no execution knows what they hang on.
        Advice::UseProcesses => (None, None),
        _ => (replayed(input, node), executed(input, node)),
    };
    let gain = match executed {
        _ if advice == Advice::UseProcesses => most,
        _ if let Some(replayed) = replayed => GainRange::replayed(&replayed.free, 0.0, bounds),
        Some(executed) => {
            let around = GainRange::around(executed.gain.free, 0.0, &executed, bounds)
                .or_at_least(executed.gain.least.free, &executed);
            if executed.misses() { around.or(most) } else { around }
        }
        None => GainRange::of(&[zeroed.min(bounds.without(0.0)), zeroed], 0.0, bounds, bounds.elapsed),
    };
    let shared = match advice {
        Advice::UseProcesses => 0.0,
        _ => gain_by_even_shares(basis, lock).unwrap_or(0.0),
    };
    // Without the waits the run is as long as the thread that does most; even shares make that one shorter.
    let gain = GainRange { high: gain.high + shared, ..gain };
    // Whatever becomes of the lock, what its users do has to be done; and nobody saves more than was waited for it and its calls took.
    let [working, spinning] = time_in_calls(input, lock.first);
    let most = (lock.contended.waited() as f64 + working + spinning)
        .min(bounds.with_path_less(zeroed + working + shared));
    let gain = gain.with_work_less(working, bounds).at_most(most);
    (gain, Prediction::of(replayed.is_some(), executed.is_some()))
}

/// The most that the run gains if threads share evenly what one of them did with the lock while the others waited for it to do the same,
/// as workers that keep the lock of a queue while they work; nanoseconds. Without the waits alone each would do what it did.
fn gain_by_even_shares(basis: &FindingBasis<'_, '_>, lock: &NamedLock) -> Option<f64> {
    let FindingBasis { input, facts, .. } = basis;
    // Who keeps the lock need not wait for it.
    let keepers = u64::from(!lock.contended.is_held());
    let threads = ((lock.contended.waiters + keepers) as f64).clamp(1.0, f64::from(facts.cpus.max(1)));
    let with_it = lock.contended.handed.cpu as f64 * (1.0 - 1.0 / threads);
    let uneven = facts.busiest as f64 - facts.cpu as f64 / threads;
    (is_passed_on(input, &lock.all) && uneven > 0.0).then(|| with_it.min(uneven))
}

/// Leaves out locks that one procedure is to hold shorter where its entry says so.
pub(crate) fn leave_to_holders(findings: &mut Vec<Finding>) {
    let led: Vec<FindingSubject> = findings.iter().filter_map(|finding| finding.stands_for.clone()).collect();
    findings.retain(|finding| {
        let is_shorter = matches!(finding.change, Some((Advice::HoldShorter, _)));
        !(is_shorter && std::ptr::eq(finding.kind, &raw const KIND) && led.contains(&finding.subject))
    });
}

fn answer(basis: &FindingBasis<'_, '_>, finding: &Finding) -> LeadingAnswer {
    let lock = finding.subject.text(basis.input);
    let why = Sentence::joined(finding.evidence.iter().take(2).cloned(), ", ");
    with_work(
        basis,
        work_answer(basis, sentence!["The long pole: the ", lock, ", wanted by several threads: ", why, "."]),
    )
}
