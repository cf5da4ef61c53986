//! Work that only one thread can do at a time, by a lock that threads found free in the recorded run.
//!
//! Who finds a lock free is not seen, where no thread told of its locks, and an execution in the recorded order does not ask. A run that is
//! changed elsewhere may make threads wait for it:
//!
//! ```text
//!   recorded   A  pack pack [update] pack pack [update]      nobody waits
//!              B  [update] pack pack [update] pack pack
//!   no pack    A  [update] ........ [update]                 one after the other
//!              B  ........ [update] ........ [update]
//! ```
//! What procedures that surely worked with a lock do on behalf of those who let it go may all be with the lock; so the changed run may take as
//! long as that. Of the work while k threads were busy no more was with the lock than that time was long.

use std::collections::{BTreeMap, BTreeSet};

use longpole_metrics::{Charge, Measures, standard_error};
use longpole_trace::{CodePlace, ObjectId, ObjectKind, ProcedureId};

use super::held_locks::{HandedLocks, SureHold, held_locks};
use crate::input::ReportTables;

/// The work that may be serial.
pub(crate) struct SerialWork<'a> {
    parts: Vec<SerialPart<'a>>,
    /// Of the whole run: how long so many threads were busy, and its CPU time.
    whole: &'a Measures,
    /// The samples behind that.
    samples: f64,
}

/// Work that may be with a lock.
pub(crate) struct SerialPart<'a> {
    pub object: ObjectId,
    pub procedure: ProcedureId,
    pub charge: &'a Charge,
    /// Which part of what is let go there this lock is.
    share: f64,
}

impl<'a> SerialWork<'a> {
    /// Of the whole run.
    pub(crate) fn of_run(input: &'a ReportTables<'_>) -> SerialWork<'a> {
        let handed = HandedLocks::of(input);
        SerialWork::of(input, &handed, &held_locks(input, &handed))
    }

    /// The same where it is known who worked with which lock.
    pub(super) fn of(
        input: &'a ReportTables<'_>,
        handed: &HandedLocks,
        held: &BTreeMap<ProcedureId, SureHold>,
    ) -> SerialWork<'a> {
        let is_exclusive = |object: ObjectId| {
            let kind = input.input().objects.get(object).kind;
            matches!(kind, ObjectKind::Mutex | ObjectKind::SpinLock | ObjectKind::Lock)
        };
        let part = |charge: &'a Charge| {
            let procedure = input.paths.innermost(charge.path)?.procedure;
            let object = held.get(&procedure)?.object;
            let share = |place: CodePlace| handed.share(place.procedure, object);
            let share = input.paths.places_of(charge.path).find_map(share)?;
            is_exclusive(object).then_some(SerialPart { object, procedure, charge, share })
        };
        let charges = input.analysis.charges.iter().filter(|charge| charge.measures.running > 0);
        SerialWork {
            parts: charges.filter_map(part).collect(),
            whole: input.totals(),
            samples: input.analysis.effective_samples.cpu,
        }
    }

    /// How long the run takes at most by such work, if so much of each part's is left; nanoseconds.
    pub(crate) fn longest(&self, left: impl Fn(&SerialPart<'_>) -> f64) -> f64 {
        let objects: BTreeSet<ObjectId> = self.parts.iter().map(|part| part.object).collect();
        objects.into_iter().map(|object| self.of_lock(object, &left)).fold(0.0, f64::max)
    }

    fn of_lock(&self, object: ObjectId, left: &impl Fn(&SerialPart<'_>) -> f64) -> f64 {
        let (mut all, mut kept) = (Vec::new(), Vec::new());
        for part in self.parts.iter().filter(|part| part.object == object) {
            let terms = &part.charge.measures.npt_terms;
            add(&mut all, terms, part.share);
            add(&mut kept, terms, part.share * left(part));
        }
        let busy = |terms: &[f64], level: usize| level as f64 * terms[level];
        let of_level = |level: usize| {
            let most = busy(&all, level).min(self.whole.npt_terms[level]);
            if busy(&all, level) > 0.0 { most * busy(&kept, level) / busy(&all, level) } else { 0.0 }
        };
        let time: f64 = (0..all.len()).map(of_level).sum();
        let running = self.whole.running as f64;
        time + standard_error(time / running.max(1.0), self.samples) * running
    }
}

fn add(sums: &mut Vec<f64>, terms: &[f64], share: f64) {
    sums.resize(sums.len().max(terms.len()), 0.0);
    sums.iter_mut().zip(terms).for_each(|(sum, term)| *sum += share * term);
}
