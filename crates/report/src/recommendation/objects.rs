//! Locks: waits that would not be if the lock were divided, or held shorter.
//!
//! Predictions: zeroing of the object (nobody ever waits for it), and what the processors leave of
//! that, since work that waited for the lock has to be done beside other work.

use std::collections::BTreeMap;

use longpole_metrics::{Contended, Handover, Held, Node};
use longpole_trace::{Cause, ObjectId, ObjectKind, ProcedureId};

use super::gain::{Bounds, Range};
use super::{Recommendation, Remedy, Subject};
use crate::input::Source;
use crate::name;
use crate::quantity::{count_of, grouped, percent, percent_text, time_text};

/// Share of the holding that one procedure has from which on it is the one to be shortened, percent.
const ONE_HOLDER: f64 = 80.0;
/// Share of acquisitions that found the lock taken from which on its holds are worth a word, percent.
const CONTENDED: f64 = 10.0;
/// Holding so long at a time is not a matter of many users, nanoseconds.
const LONG: u64 = 1_000_000;

/// Whether one thread holds such an object while others wait.
pub(super) fn is_lock(kind: ObjectKind) -> bool {
    matches!(kind.cause(), Cause::Lock | Cause::Kernel)
}

struct Lock {
    /// Of all that have the name, waited for or not: whom gains are told of.
    first: ObjectId,
    contended: Contended,
    held: Held,
    holders: BTreeMap<ProcedureId, Handover>,
}

pub(super) fn recommendations(input: &Source<'_>, bounds: &Bounds) -> Vec<Recommendation> {
    let locks = locks(input).into_iter();
    locks.filter_map(|((kind, name), lock)| recommendation(input, bounds, (kind, name), &lock)).collect()
}

/// The locks that were waited for, those of one kind and name together.
fn locks<'a>(input: &Source<'a>) -> BTreeMap<(ObjectKind, &'a str), Lock> {
    let mut locks: BTreeMap<(ObjectKind, &'a str), Lock> = BTreeMap::new();
    let Some(contention) = &input.input().details.contention else { return locks };
    let all = input.input().objects.all();
    let holds = input.input().details.holds.as_ref();
    for (index, (object, contended)) in all.iter().zip(&contention.objects).enumerate() {
        if is_lock(object.kind) {
            let first = ObjectId(u32::try_from(index).expect("fewer than 2^32 objects"));
            let new = || Lock {
                first,
                contended: Contended::default(),
                held: Held::default(),
                holders: BTreeMap::new(),
            };
            let lock = locks.entry((object.kind, &object.name)).or_insert_with(new);
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
    locks.retain(|_, lock| lock.contended.waits() > 0);
    locks
}

/// How the object was held, as far as threads told.
pub(super) fn holds_of(input: &Source<'_>, object: ObjectId) -> Held {
    let holds = input.input().details.holds.as_ref();
    holds.and_then(|holds| holds.objects.get(object.index())).copied().unwrap_or_default()
}

/// How long the lock is held, where that is why others wait for it: `held 93 % of the run; mean hold 4.1 ms; 120
/// acquisitions, 117 contended`.
pub(super) fn holding(input: &Source<'_>, held: &Held) -> Option<String> {
    let contended = percent(held.contended as f64, held.acquisitions as f64);
    (held.acquisitions > 0 && contended >= CONTENDED).then(|| {
        format!(
            "held {} of the run; mean hold {}; {}, {} contended",
            percent_text(percent(held.held as f64, input.analysis.elapsed as f64)),
            time_text(held.mean().round() as u64),
            count_of(held.acquisitions, "acquisition"),
            grouped(held.contended),
        )
    })
}

fn recommendation(
    input: &Source<'_>,
    bounds: &Bounds,
    (kind, name): (ObjectKind, &str),
    lock: &Lock,
) -> Option<Recommendation> {
    let prospects = input.details.prospects.as_ref();
    let gain = prospects?.gains.iter().find(|gain| gain.node == Node::Object(lock.first))?.zeroing;
    let lengths = &lock.contended.lengths;
    let held: u64 = lock.holders.values().map(|handover| handover.held).sum();
    let longest = lock.holders.iter().max_by_key(|(id, handover)| (handover.held, std::cmp::Reverse(*id)));
    let share = longest.map_or(0.0, |(_, handover)| percent(handover.held as f64, held as f64));
    let each = held / lock.contended.handed.count.max(1);
    let remedy = if share >= ONE_HOLDER && each >= LONG { Remedy::HoldShorter } else { Remedy::SplitLock };
    let mut evidence = vec![format!(
        "{} of {} on average",
        count_of(lengths.count(), "wait"),
        time_text(lengths.mean().round() as u64)
    )];
    if let Some((&holder, _)) = longest {
        let holder = name::procedure(input.paths, input.program, holder);
        evidence.push(format!("held by `{holder}` for {} of that", percent_text(share)));
    }
    evidence.extend(holding(input, &lock.held));
    // What the processors leave: the work that waited has to be done beside other work.
    let possible = gain.min(bounds.without(0.0));
    Some(Recommendation {
        subject: Subject::Object(kind, name.to_owned()),
        remedy,
        gain: Range::of(&[possible, gain], 0.0, bounds, bounds.elapsed),
        evidence,
    })
}
