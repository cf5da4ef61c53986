//! Which procedures work with a lock that others wait for.
//!
//! A hand-over says where a lock was let go, how long it was held while it was wanted, and the CPU time of its holder
//! meanwhile; not which procedures had that time. The procedure h that lets go has the inclusive CPU time R, of which c
//! was with the lock; a procedure p has r of R. What is not p's in R is R − r; if all of that were with the lock, p would
//! still have had it for c − (R − r). So much is sure.
//!
//! ```text
//!   h        |-- p --|- q -|-- p --|      R = 10, r = 8
//!   lock       =================          c = 8: of p at least 8 − (10 − 8) = 6
//! ```

use std::collections::BTreeMap;

use longpole_metrics::Handover;
use longpole_trace::{ObjectId, ProcedureId};

use super::locks::is_lock;
use crate::input::ReportTables;

/// What a procedure surely did with a lock that others wanted; nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct SureHold {
    pub object: ObjectId,
    /// For how long those held it while others wanted it who let it go on whose behalf the procedure works.
    pub held: u64,
    /// Useful CPU time of the procedure with it, at least.
    pub cpu: u64,
    /// Its useful CPU time on behalf of any who let the lock go: no more of it is with the lock.
    pub possible: u64,
}

/// The lock with which each procedure surely worked longest.
pub(super) fn held_locks(input: &ReportTables<'_>, handed: &HandedLocks) -> BTreeMap<ProcedureId, SureHold> {
    let shares = shares(input, &handed.0);
    let mut most: BTreeMap<ProcedureId, SureHold> = BTreeMap::new();
    for (&(releaser, object), handover) in &handed.0 {
        let Some((whole, parts)) = shares.get(&releaser) else { continue };
        for (&procedure, &part) in parts {
            let cpu = handover.cpu.min(*whole).saturating_sub(whole - part);
            if cpu == 0 {
                continue;
            }
            let held = SureHold { object, held: handover.held, cpu, possible: 0 };
            let kept = most.entry(procedure).or_insert(held);
            if cpu > kept.cpu {
                *kept = held;
            }
        }
    }
    add_possible(input, handed, &mut most);
    most
}

/// How long each procedure worked on behalf of those who let its lock go.
fn add_possible(input: &ReportTables<'_>, handed: &HandedLocks, most: &mut BTreeMap<ProcedureId, SureHold>) {
    if most.is_empty() {
        return;
    }
    for charge in input.analysis.charges.iter().filter(|charge| charge.measures.running > 0) {
        let own = input.paths.innermost(charge.path).map(|place| place.procedure);
        let Some(held) = own.and_then(|own| most.get_mut(&own)) else { continue };
        let lets_go =
            |place: &longpole_trace::CodePlace| handed.0.contains_key(&(place.procedure, held.object));
        if input.paths.places_of(charge.path).any(|place| lets_go(&place)) {
            held.possible += charge.measures.running;
        }
    }
}

/// Hand-overs by the procedure that lets go and the lock.
pub(super) struct HandedLocks(BTreeMap<(ProcedureId, ObjectId), Handover>);

impl HandedLocks {
    pub fn of(input: &ReportTables<'_>) -> HandedLocks {
        let mut sums: BTreeMap<(ProcedureId, ObjectId), Handover> = BTreeMap::new();
        let handovers = input.input().details.contention.iter().flat_map(|contention| &contention.handovers);
        for (&(object, place), handover) in handovers {
            if let Some(place) = place.filter(|_| is_lock(input.input().objects.get(object).kind)) {
                let procedure = input.paths.all_places()[place.0 as usize].procedure;
                sums.entry((procedure, object)).or_default().add(handover);
            }
        }
        HandedLocks(sums)
    }

    /// Which part of the time that the procedure held locks while others wanted them it held this one; `None` where it never let it go.
    pub fn share(&self, releaser: ProcedureId, object: ObjectId) -> Option<f64> {
        let own = self.0.get(&(releaser, object))?.held;
        let locks = (releaser, ObjectId(0))..=(releaser, ObjectId(u32::MAX));
        let all: u64 = self.0.range(locks).map(|(_, handover)| handover.held).sum();
        (all > 0).then(|| own as f64 / all as f64)
    }
}

/// Useful CPU time on behalf of each procedure that lets go of a lock, and whose it is.
type LockWorkShares = BTreeMap<ProcedureId, (u64, BTreeMap<ProcedureId, u64>)>;

fn shares(input: &ReportTables<'_>, handed: &BTreeMap<(ProcedureId, ObjectId), Handover>) -> LockWorkShares {
    let mut shares: LockWorkShares =
        handed.keys().map(|&(releaser, _)| (releaser, Default::default())).collect();
    if shares.is_empty() {
        return shares;
    }
    for charge in input.analysis.charges.iter().filter(|charge| charge.measures.running > 0) {
        let mut on_path: Vec<ProcedureId> =
            input.paths.places_of(charge.path).map(|place| place.procedure).collect();
        let Some(&own) = on_path.first() else { continue };
        on_path.sort_unstable();
        on_path.dedup();
        for procedure in on_path {
            if let Some((whole, parts)) = shares.get_mut(&procedure) {
                *whole += charge.measures.running;
                *parts.entry(own).or_default() += charge.measures.running;
            }
        }
    }
    shares
}
