//! Procedures: work that the run waits for.
//!
//! Predictions, of the procedure's own work made free: the run executed anew without it. Where the recording is too large
//! for that: its time on the CPU-weighted critical path, its normalised
//! processor time without its waits for devices, and, where they were computed, zeroing and slack. Slack not
//! where several threads do the same amount of it: there it is 0 whatever the procedure is worth (M §2.4).

use std::cmp::Reverse;
use std::collections::BTreeMap;

use longpole_metrics::{By, ExecutedGain, Gain, Measures, Node, NodeRow, standard_error};
use longpole_trace::{Cause, Folding, ProcedureId};

use super::held_locks::{HandedLocks, SureHold, held_locks};
use super::locks::{NamedLocks, gain_without_waits, holding, holds_of, locks};
use super::serial_work::{SerialPart, SerialWork};
use crate::findings::finding::{
    Advice, Finding, FindingBasis, FindingKind, FindingSubject, LeadingAnswer, Limit, Prediction,
};
use crate::findings::gain::{GainRange, executed, prospect, replayed};
use crate::findings::next::record_queues;
use crate::findings::sentence::{Sentence, ShareInWords, TimeInWords, sentence};
use crate::findings::threshold::{
    ALONE, BLAMED, FEWEST_OF_ROW, FOR_HOLDERS, HELD, HOLDS_MATTER, MANY_PROCESSES, UNEXPLAINED_SPINS,
};
use crate::findings::work_by_procedure::WorkByProcedure;
use crate::findings::{RankedWork, is_named, largest_caller, procedure_answer};
use crate::folded::{FoldedWork, callers, callers_text};
use crate::input::ReportTables;
use crate::name::is_program_start;
use crate::quantity::percent;

/// The entry of the table.
pub(crate) static KIND: FindingKind = FindingKind {
    what: "a procedure",
    when: "the run rests on at least 30 observations, those included that the program itself reports, and without these the procedure on at least 5: the run executed without its work; or its time on the critical path, its normalised processor time (waits for devices left out), zeroing, and slack unless several threads do it evenly (imbalance below 10 %)",
    advice: "*import less, or later* if most of it is importing modules of Python's library and of packages; *pass more at once* if most of it is passing work to other processes by Python's library; *allocate less, or a larger heap* if most of it is collecting garbage; *block and wake less often* if most of it is waking or switching threads; *hold the lock shorter* if it surely spends at least 30 % of its CPU time with a lock that others wait for, and at least 80 % on behalf of those who give it back, if the run gains where nobody waits for that lock, and no more than that, but at least a quarter of what it gains without the procedure (where one thread does at least 80 % of it, only if that gain is sure and dividing the work does not gain more); *parallelise* if it surely runs alone (U = 1, and no other thread lacks a processor) for at least half of its time; else *shorten*",
    find,
    answer,
};

/// What the predictions of all procedures depend on.
struct WorkOfThreads<'a> {
    held: BTreeMap<ProcedureId, SureHold>,
    locks: NamedLocks<'a>,
    serial: SerialWork<'a>,
    by_procedure: &'a WorkByProcedure,
    /// Time with one busy thread in which others lacked a processor, nanoseconds.
    starved: f64,
}

impl<'a> WorkOfThreads<'a> {
    fn of(basis: &'a FindingBasis<'a, '_>) -> WorkOfThreads<'a> {
        let handed = HandedLocks::of(basis.input);
        let held = held_locks(basis.input, &handed);
        WorkOfThreads {
            serial: SerialWork::of(basis.input, &handed, &held),
            held,
            locks: locks(basis.input),
            by_procedure: &basis.work,
            starved: basis.facts.starved_percent / 100.0 * basis.facts.elapsed as f64,
        }
    }
}

fn find(basis: &FindingBasis<'_, '_>) -> Vec<Finding> {
    if !basis.facts.has_observations() {
        return Vec::new();
    }
    let work = WorkOfThreads::of(basis);
    let rows = basis.input.rows(By::Procedure).iter();
    rows.filter_map(|row| finding(basis, &work, row)).collect()
}

fn finding(basis: &FindingBasis<'_, '_>, work: &WorkOfThreads<'_>, row: &NodeRow) -> Option<Finding> {
    let FindingBasis { input, facts, .. } = basis;
    let Node::Procedure(id) = row.node else { return None };
    let own = &row.own;
    // What spins most of its time only waits: that is a finding of its own.
    if own.running == 0 || own.spinning > own.running || !is_named(input, row.node) {
        return None;
    }
    let share = own.running as f64 / (input.totals().running as f64).max(1.0);
    if facts.reported == 0 && share * facts.cpu_samples < FEWEST_OF_ROW {
        return None;
    }
    // A thread that lacked a processor may have lacked it then: the rest is surely alone.
    let alone = percent((own.npt_while(1..=1) - work.starved).max(0.0), own.running as f64).min(100.0);
    let lock = work.held.get(&id).filter(|held| percent(held.cpu as f64, own.running as f64) >= HELD);
    let running = |measures: &Measures| measures.running as f64;
    let folded = FoldedWork::of(input, row.node, running(own), &running);
    let is_alone = alone >= ALONE && input.program.cpus() > 1 && !is_kernel(input, id);
    let divided = is_alone.then(|| gain(basis, work, (id, row, Advice::Parallelise)));
    let (free, predicted_by) = gain(basis, work, (id, row, Advice::Shorten));
    let shorter = shorter_holds(basis, work, (id, own, lock), divided.as_ref().map(|(range, _)| range));
    // Whose holders exclude few, as readers do, gains by doing less.
    let shorter = shorter.filter(|(shorter, _)| 100.0 * shorter.high >= HOLDS_MATTER * free.high);
    let starts = is_program_start(input.paths.procedure_named_by(id));
    let advice = match &shorter {
        _ if starts && input.program.processes.len() as f64 >= MANY_PROCESSES => Advice::StartFewer,
        _ if starts => Advice::Shorten,
        _ if folded.is_mostly(Folding::IMPORTS) => Advice::ImportLess,
        _ if folded.is_mostly(Folding::PASSING) => Advice::PassMore,
        _ if folded.is_mostly(Folding::GARBAGE) => Advice::AllocateLess,
        _ if folded.is_mostly(Folding::WAKING) || folded.is_mostly(Folding::SWITCHING) => Advice::WaitLess,
        Some(_) => Advice::HoldShorter,
        None if is_alone => Advice::Parallelise,
        None => Advice::Shorten,
    };
    let (range, predicted_by) = match (advice, &shorter, divided) {
        (Advice::Parallelise, _, Some(divided)) => divided,
        (Advice::HoldShorter, Some((shorter, _)), _) => (free.no_more_than(shorter), predicted_by),
        _ => (free, predicted_by),
    };
    let subject = FindingSubject::Procedure(id);
    let mut found = Finding::advised(basis, (&KIND, Limit::Work), subject, (advice, range), true)?;
    found.stands_for = shorter.filter(|_| advice == Advice::HoldShorter).map(|(_, lock)| lock);
    let mut evidence = evidence(basis, (row, &folded), lock, alone);
    if free.low > range.high {
        evidence.insert(0, sentence!["without it the run is ", free.share_text(facts.elapsed), " shorter"]);
    }
    if executed(basis.input, row.node).is_some_and(|executed| {
        executed.unexplained > UNEXPLAINED_SPINS && range.high > EVENED * executed.gain.free
    }) {
        evidence.insert(0, "so much only if spins or polls wait for it".into());
    }
    Some(found.without_it(free.middle()).predicted_by(predicted_by).with(evidence))
}

/// What the run gains where nobody waits for the procedure's lock, and the lock's subject, if it is to be held shorter: what is to be done
/// without the lock has to be done all the same.
fn shorter_holds(
    basis: &FindingBasis<'_, '_>,
    work: &WorkOfThreads<'_>,
    (id, own, lock): (ProcedureId, &Measures, Option<&SureHold>),
    divided: Option<&GainRange>,
) -> Option<(GainRange, FindingSubject)> {
    // Where it works for others, too, without the lock, its gain is not that of shorter holds.
    let is_for_holders = |held: &&SureHold| percent(held.possible as f64, own.running as f64) >= FOR_HOLDERS;
    let held = lock.filter(is_for_holders)?;
    let shorter = gain_without_waits(basis, &work.locks, held.object)?;
    // What one thread does may be shorter or divided with the lock, too.
    let most_gains = |shorter: &GainRange| {
        shorter.low > 0.0 && divided.is_none_or(|divided| shorter.middle() >= divided.middle())
    };
    (!work.by_procedure.is_of_one_thread(id) || most_gains(&shorter.0)).then_some(shorter)
}

/// Puts the procedures among these findings, which stand the weightiest first, in the order of what the run gains without
/// them; all else keeps its place. What runs alone would come after half as much work of several threads otherwise, since
/// the gain of dividing it is compared with that of doing without.
pub(crate) fn by_what_they_hold(findings: &mut [Finding]) {
    let places: Vec<usize> =
        (0..findings.len()).filter(|&at| std::ptr::eq(findings[at].kind, &raw const KIND)).collect();
    let mut procedures: Vec<Finding> = places.iter().map(|&at| findings[at].clone()).collect();
    procedures.sort_by_key(|finding| Reverse(finding.free as u64));
    for (at, procedure) in places.into_iter().zip(procedures) {
        findings[at] = procedure;
    }
}

/// What speaks for it, the weightiest first.
fn evidence(
    basis: &FindingBasis<'_, '_>,
    (row, folded): (&NodeRow, &FoldedWork),
    lock: Option<&SureHold>,
    alone: f64,
) -> Vec<Sentence> {
    let FindingBasis { input, facts, .. } = basis;
    let (own, Node::Procedure(id)) = (&row.own, row.node) else { return Vec::new() };
    let running = |measures: &Measures| measures.running as f64;
    let mut evidence = Vec::new();
    if let Some((caller, share)) = largest_caller(input, row, running) {
        evidence.push(sentence!["works for ", caller, " (", ShareInWords(share), ")"]);
    }
    evidence.extend(folded.evidence().map(Sentence::from));
    let callers = callers(input, id, &running);
    evidence.extend((!callers.is_empty()).then(|| callers_text(&callers)));
    if let Some(held) = lock {
        let name = Sentence::name(input, Node::Object(held.object));
        let possible = percent(held.possible as f64, own.running as f64);
        let part = (possible < FOR_HOLDERS)
            .then(|| sentence![" for up to ", ShareInWords(possible), " of its time"]);
        evidence.push(sentence!["holds ", name, part, ", wanted ", TimeInWords(held.held)]);
        evidence.extend(holding(input, &holds_of(input, held.object)));
    }
    if facts.of_run(own.caused_wait) >= BLAMED {
        evidence.push(sentence!["others waited ", TimeInWords(own.caused_wait), " for it"]);
    }
    if alone >= ALONE {
        evidence.push(sentence!["alone on the CPUs ", ShareInWords(alone), " of its time"]);
    }
    if has_unseen_queue(input, row.node) {
        evidence.push(sentence!["if threads share such work: its queue was not seen"]);
    }
    let path = percent(own.critical_cpu as f64, facts.path as f64);
    evidence.push(sentence![ShareInWords(path), " of the critical path"]);
    let cpu = percent(own.cpu() as f64, input.totals().cpu() as f64);
    evidence.push(sentence![ShareInWords(cpu), " of the CPU time"]);
    evidence
}

/// Whether it is worth more if threads share such work by a queue that was not seen.
fn has_unseen_queue(input: &ReportTables<'_>, node: Node) -> bool {
    executed(input, node).is_some_and(|executed| executed.gain.evened > EVENED * executed.gain.free)
}

/// So many times the gain that the execution shows, the gain of threads that share what is left of their work is worth a word.
const EVENED: f64 = 1.5;

/// Whether it is the kernel's: its callers can do no more than ask for less.
fn is_kernel(input: &ReportTables<'_>, id: ProcedureId) -> bool {
    input.paths.procedure_named_by(id).module == "[kernel]"
}

fn gain(
    basis: &FindingBasis<'_, '_>,
    work: &WorkOfThreads<'_>,
    (id, row, advice): (ProcedureId, &NodeRow, Advice),
) -> (GainRange, Prediction) {
    let FindingBasis { input, bounds, facts, .. } = basis;
    let own = &row.own;
    let predictions = predictions(input, work, (id, row));
    let limit = bounds.without(own.running as f64);
    let Some(executed) = executed(input, row.node) else {
        let share = (own.npt() / bounds.elapsed.max(1.0)).clamp(0.0, 1.0);
        let samples = input.analysis.effective_samples.npt;
        let error = if samples > 0.0 { standard_error(share, samples) * bounds.elapsed } else { 0.0 };
        return (GainRange::of(&predictions, error, bounds, limit), Prediction::Metrics);
    };
    let is_spread = advice == Advice::Parallelise;
    let ExecutedGain { free, spread, evened, present, least } = executed.gain;
    let (gain, least) = if is_spread { (spread, least.spread) } else { (free, least.free) };
    let share = own.running as f64 / (input.totals().running as f64).max(1.0);
    let error = |gain: f64| standard_error(share, facts.cpu_samples) / share * gain;
    // Work that stays has to be done by the processors that there are, too; and while it neither ran nor was ready to, the
    // run does not get shorter without it. An execution that misses the unchanged run may say otherwise.
    let stays = if is_spread { bounds.without(0.0) } else { limit };
    // Nor is more gained than its work takes where others have processors, too: what its threads wait for a processor they wait for
    // what comes after it.
    let most = basis.displaced(own.running as f64 + error(own.running as f64)).max(gain);
    // Others wait for its lock no longer, either.
    let wanted = work.held.get(&id).map_or(0, |held| held.held);
    let present = present.unwrap_or(u64::MAX).min(own.running + own.ready);
    let own_time = (present + wanted) as f64;
    // The rest of the critical path takes its time.
    let left = |gain: &Gain| bounds.with_path_less(gain.zeroing + error(gain.zeroing));
    let path = prospect(input, row.node).map_or(bounds.elapsed, left);
    let within = |range: GainRange, gain: f64| {
        range.at_most(stays.max(gain).min(own_time).min(most).min(path.max(gain)))
    };
    let replayed = replayed(input, row.node);
    let replayed = replayed.and_then(|gains| if is_spread { gains.spread } else { Some(gains.free) });
    // What others do may be with a lock that the threads of the changed run wait for, or is done by turns.
    let left = |part: &SerialPart<'_>| if part.procedure == id { 0.0 } else { 1.0 };
    let serial = |range: GainRange, with_locks: bool| {
        let longest = work.serial.longest(with_locks, left).map_or(0.0, |(_, time)| time);
        let least = bounds.elapsed * (1.0 - executed.off) - longest;
        GainRange { low: range.low.min(least.max(0.0)), ..range }
    };
    if let Some(gain) = replayed {
        let range = GainRange::replayed(&gain, error(gain.middle), bounds);
        return (serial(within(range, gain.middle), false), Prediction::Replay);
    }
    let range = serial(within(GainRange::around(gain, error(gain), &executed, bounds), gain), true);
    // What is left of work that threads share they may share otherwise.
    let high = if is_spread { range.high } else { range.high.max(evened.min(limit)) };
    let range = GainRange { high, ..range }.or_at_least(least, &executed);
    // Who ended those waits is not known, so work that others waited for may be worth more than the execution shows.
    if executed.unexplained > UNEXPLAINED_SPINS {
        let most = if is_spread { bounds.divided(own.running as f64).min(limit) } else { limit };
        return (range.or(GainRange::of(&predictions, error(gain), bounds, most)), Prediction::Execution);
    }
    (range, Prediction::Execution)
}

/// What metrics say that need no execution: of its own work made free.
fn predictions(
    input: &ReportTables<'_>,
    work: &WorkOfThreads<'_>,
    (id, row): (ProcedureId, &NodeRow),
) -> Vec<f64> {
    let own = &row.own;
    let devices: u64 = [Cause::Io, Cause::PageFault].map(|cause| own.blocked_for(cause)).iter().sum();
    let computing = own.running as f64 / (own.running + devices).max(1) as f64;
    let mut predictions = vec![own.critical_cpu as f64, own.npt() * computing];
    if let Some(gain) = prospect(input, row.node) {
        predictions.push(gain.zeroing);
        if !work.by_procedure.is_even(id) {
            predictions.push(gain.slack);
        }
    }
    predictions
}

fn answer(basis: &FindingBasis<'_, '_>, finding: &Finding) -> LeadingAnswer {
    let FindingSubject::Procedure(id) = finding.subject else { unreachable!("procedures lead with one") };
    let mut answer = procedure_answer(basis, RankedWork::of(&basis.facts), Node::Procedure(id));
    if has_unseen_queue(basis.input, Node::Procedure(id)) {
        // Only the first two have room.
        let at = answer.next.len().min(1);
        answer.next.splice(at..at, record_queues(basis.input));
    }
    answer
}
