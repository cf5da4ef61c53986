//! Starved writers: a lock of readers and writers that readers take in turn while a writer waits for it.
//!
//! ```text
//!   reader 1  |scan ====|    |scan ====|    |scan ====|
//!   reader 2       |scan ====|    |scan ====|
//!   writer    wait ...................................|write|      there is always one who reads
//! ```
//! Many such locks let readers in though a writer waits (`pthread_rwlock` and `std::shared_mutex` of the GNU C library do). One that lets
//! writers go first makes it wait for those alone who read when it comes. The run gains at most the time for which the lock was wanted, and
//! that in which the writer had no processor beside the readers;
//! what readers do while the writer waits need perhaps not be done, so what the processors leave is no bound. That readers take turns is
//! not seen, since the kernel sees no acquisition that does not wait: the row says that it depends on it.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use longpole_metrics::{ContendedObject, Node};
use longpole_trace::{Cause, ObjectId, ProcedureId};

use super::passed_on::sites;
use crate::findings::finding::{
    Advice, Finding, FindingBasis, FindingKind, FindingSubject, LeadingAnswer, Limit,
};
use crate::findings::gain::GainRange;
use crate::findings::sentence::{Sentence, ShareInWords, TimeInWords, sentence};
use crate::findings::threshold::{SERIAL, STARVED, STARVED_FACTOR};
use crate::findings::{with_work, work_answer};
use crate::input::ReportTables;
use crate::quantity::{count_of, percent};

/// The entry of the table.
pub(crate) static KIND: FindingKind = FindingKind {
    what: "an rwlock for which a writer waits while readers use it in turn",
    when: "it is the C library's, it is wanted for 30 % of the run, at least 80 % of the waiting for it is to write at one place, nearly always alone, waits at other places are half as long at most, and others than that place hold it for 80 % of the time for which it is wanted: up to that time, and the time in which the writer is ready there",
    advice: "*let writers go first*",
    find,
    answer,
};

/// Waits for a lock at one place.
#[derive(Clone, Copy, Debug, Default)]
struct PlacedWaits {
    count: u64,
    waited: u64,
    /// Time in which those who waited were ready.
    ready: u64,
}

impl PlacedWaits {
    fn mean(self) -> f64 {
        self.waited as f64 / self.count.max(1) as f64
    }
}

fn find(basis: &FindingBasis<'_, '_>) -> Vec<Finding> {
    let Some(contention) = &basis.input.input().details.contention else { return Vec::new() };
    let all = contention.objects.iter().enumerate();
    let locks = all.filter_map(|(index, contended)| Some((ObjectId(u32::try_from(index).ok()?), contended)));
    locks.filter_map(|(id, contended)| finding(basis, id, contended)).collect()
}

fn finding(basis: &FindingBasis<'_, '_>, id: ObjectId, contended: &ContendedObject) -> Option<Finding> {
    let FindingBasis { input, facts, bounds, .. } = basis;
    let wanted: u64 = contended.queue.iter().skip(1).sum();
    let alone = contended.queue.get(1).copied().unwrap_or(0);
    let is_wanted = facts.of_run(wanted) >= SERIAL && percent(alone as f64, wanted as f64) >= STARVED;
    let written = input.objects.written(id);
    if written.is_empty() || !is_wanted {
        return None;
    }
    let waits = waits_by_place(input, id);
    let (&writer, &writes) = waits.iter().max_by_key(|(place, waits)| (waits.waited, Reverse(*place)))?;
    if !written.iter().any(|place| input.paths.all_places()[place.0 as usize].procedure == writer) {
        return None;
    }
    let others = waits.iter().filter(|(place, _)| **place != writer).fold(
        PlacedWaits::default(),
        |sum, (_, waits)| PlacedWaits {
            count: sum.count + waits.count,
            waited: sum.waited + waits.waited,
            ..sum
        },
    );
    let is_starved = percent(writes.waited as f64, (writes.waited + others.waited) as f64) >= STARVED
        && percent(held_elsewhere(input, id, writer), contended.handed.held as f64) >= STARVED
        && others.mean() * STARVED_FACTOR <= writes.mean();
    if !is_starved {
        return None;
    }
    // Readers that wait leave the processors to the writer.
    let gain = GainRange::up_to((wanted + writes.ready) as f64, bounds);
    let change = (Advice::WriterFirst, gain);
    let found = Finding::advised(basis, (&KIND, Limit::Work), FindingSubject::Object(id), change, false)?;
    let waits = sentence![
        Sentence::name(input, Node::Procedure(writer)),
        format!(" waited for it {}, ", count_of(writes.count, "time")),
        TimeInWords(writes.mean().round() as u64),
        " on average"
    ];
    Some(found.with(vec!["if readers take it in turn meanwhile, which is not seen".into(), waits]))
}

/// For how long others than this procedure held the lock while it was wanted, nanoseconds.
fn held_elsewhere(input: &ReportTables<'_>, id: ObjectId, writer: ProcedureId) -> f64 {
    let Some(contention) = &input.input().details.contention else { return 0.0 };
    let of_lock = contention.handovers.range((id, None)..).take_while(|((object, _), _)| *object == id);
    let elsewhere = of_lock.filter(|((_, place), _)| {
        place.is_none_or(|place| input.paths.all_places()[place.0 as usize].procedure != writer)
    });
    elsewhere.map(|(_, handover)| handover.held as f64).sum()
}

/// Waits for the lock, by the procedure that waited.
fn waits_by_place(input: &ReportTables<'_>, id: ObjectId) -> BTreeMap<ProcedureId, PlacedWaits> {
    let mut waits: BTreeMap<ProcedureId, PlacedWaits> = BTreeMap::new();
    let Some(contention) = &input.input().details.contention else { return waits };
    for (path, count) in sites(contention, &[id]) {
        let Some(place) = input.paths.innermost(path) else { continue };
        let sum = waits.entry(place.procedure).or_default();
        sum.count += count;
        for charge in input.analysis.charges.iter().filter(|charge| charge.path == path) {
            sum.waited += charge.measures.blocked.get(Cause::Lock.index()).copied().unwrap_or(0);
            sum.ready += charge.measures.ready;
        }
    }
    waits
}

fn answer(basis: &FindingBasis<'_, '_>, finding: &Finding) -> LeadingAnswer {
    let lock = finding.subject.text(basis.input);
    let why = Sentence::joined(finding.evidence.iter().cloned(), "; ");
    let share = finding.change.map_or(0.0, |(_, gain)| percent(gain.high, basis.bounds.elapsed));
    let headline = sentence![
        "The long pole: the ",
        lock,
        ", wanted for ",
        ShareInWords(share),
        " of the run while others use it in turn: ",
        why,
        "."
    ];
    with_work(basis, work_answer(basis, headline))
}
