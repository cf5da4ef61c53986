//! Work that only one thread can do at a time: by a lock that threads found free in the recorded run, or by whatever it was that no two
//! threads did it at once.
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
//!
//! The same goes for a procedure, with all it calls, that several threads did, and never two of them at once though chance would have it
//! ([`longpole_metrics::SamplePairs`]). Turns that such a lock makes threads take do not count.

use std::collections::{BTreeMap, BTreeSet};

use longpole_event::ThreadId;
use longpole_metrics::{Charge, Measures, standard_error};
use longpole_trace::{CodePlace, ObjectId, ObjectKind, PathId, ProcedureId};

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

/// What lets one thread at a time do some work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SerialCause {
    /// It may be with this lock.
    Lock(ObjectId),
    /// Something that the recording does not tell: no two threads were in this procedure at once.
    Unknown(ProcedureId),
}

/// Work that only one thread at a time may do.
pub(crate) struct SerialPart<'a> {
    pub cause: SerialCause,
    pub procedure: ProcedureId,
    pub charge: &'a Charge,
    /// Which part of what is let go there this lock is.
    share: f64,
}

/// The busiest thread's part of a procedure's work from which on it is that thread's, which does one thing after the other anyway.
const OF_ONE_THREAD: f64 = 0.9;

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
            is_exclusive(object).then_some(SerialPart {
                cause: SerialCause::Lock(object),
                procedure,
                charge,
                share,
            })
        };
        let charges = input.analysis.charges.iter().filter(|charge| charge.measures.running > 0);
        let mut parts: Vec<SerialPart<'_>> = charges.filter_map(part).collect();
        let innermost = |path: PathId| input.paths.innermost(path).map(|place| place.procedure);
        let explained = |path: PathId| innermost(path).is_some_and(|procedure| held.contains_key(&procedure));
        for procedure in input.analysis.sample_pairs.exclusive(input.paths, explained) {
            parts.extend(by_turns(input, procedure));
        }
        SerialWork { parts, whole: input.totals(), samples: input.analysis.effective_samples.cpu }
    }

    /// How long the run takes at most by such work, if so much of each part's is left, and by which; nanoseconds. Work that may be with a
    /// lock counts only if `with_locks`: some executions know who waits for locks.
    pub(crate) fn longest(
        &self,
        with_locks: bool,
        left: impl Fn(&SerialPart<'_>) -> f64,
    ) -> Option<(SerialCause, f64)> {
        let causes: BTreeSet<SerialCause> = self.parts.iter().map(|part| part.cause).collect();
        let counts = |cause: &SerialCause| with_locks || matches!(cause, SerialCause::Unknown(_));
        let times = causes.into_iter().filter(counts).map(|cause| (cause, self.of_cause(cause, &left)));
        times.max_by(|(_, one), (_, other)| one.total_cmp(other))
    }

    fn of_cause(&self, cause: SerialCause, left: &impl Fn(&SerialPart<'_>) -> f64) -> f64 {
        let (mut all, mut kept) = (Vec::new(), Vec::new());
        for part in self.parts.iter().filter(|part| part.cause == cause) {
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

/// The work in a procedure and what it calls; none where it is one thread's.
fn by_turns<'a>(input: &'a ReportTables<'_>, procedure: ProcedureId) -> Vec<SerialPart<'a>> {
    let leads = input.paths.leads_through(|id| id == procedure);
    let charges = input.analysis.charges.iter();
    let is_in = |charge: &&Charge| charge.measures.running > 0 && leads[charge.path.0 as usize];
    let mut of_thread: BTreeMap<ThreadId, u64> = BTreeMap::new();
    let part = |charge: &'a Charge| {
        let own = input.paths.innermost(charge.path)?.procedure;
        *of_thread.entry(charge.thread).or_default() += charge.measures.running;
        Some(SerialPart { cause: SerialCause::Unknown(procedure), procedure: own, charge, share: 1.0 })
    };
    let parts: Vec<SerialPart<'_>> = charges.filter(is_in).filter_map(part).collect();
    let most = of_thread.values().max().copied().unwrap_or(0) as f64;
    if most >= OF_ONE_THREAD * of_thread.values().sum::<u64>() as f64 { Vec::new() } else { parts }
}

fn add(sums: &mut Vec<f64>, terms: &[f64], share: f64) {
    sums.resize(sums.len().max(terms.len()), 0.0);
    sums.iter_mut().zip(terms).for_each(|(sum, term)| *sum += share * term);
}
