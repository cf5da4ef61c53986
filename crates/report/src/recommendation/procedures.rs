//! Procedures: work that the run waits for.
//!
//! Predictions, of the procedure's own work made free: its time on the CPU-weighted critical path, its normalised
//! processor time without its waits for devices, and, where they were computed, zeroing and slack by elapsed time. Slack only
//! where the threads are not balanced: else it is 0 whatever the procedure is worth (M §2.4). Neither where threads
//! spin: nothing tells for whom they do, so that the time counts as work of their own.

use std::collections::BTreeMap;

use longpole_metrics::{By, Handover, Node, Row};
use longpole_trace::{Cause, ObjectId, ProcedureId};

use super::gain::{Bounds, Range};
use super::{Recommendation, Remedy, Subject};
use crate::diagnosis::{Facts, is_named, largest_caller};
use crate::input::Source;
use crate::quantity::{percent, percent_text, time_text};

/// Imbalance from which on slack says something.
const UNBALANCED: f64 = 0.1;
/// Share of a procedure's time alone from which on it is called serial, percent.
const ALONE: f64 = 50.0;
/// Share of its time with a wanted lock from which on the lock is what is to be changed, percent.
const HELD: f64 = 30.0;
/// Share of the CPU time that spins from which on elapsed weight is not followed, percent.
const SPINS: f64 = 5.0;
/// Waits of others that are told, as a part of the run.
const BLAMED: f64 = 0.05;

pub(super) fn recommendations(input: &Source<'_>, facts: &Facts, bounds: &Bounds) -> Vec<Recommendation> {
    let held = held_locks(input);
    let spun = percent(facts.spinning as f64, (facts.cpu + facts.spinning) as f64);
    let measures =
        Trusted { elapsed_weight: spun < SPINS, slack: input.analysis.balance().imbalance() >= UNBALANCED };
    let rows = input.rows(By::Procedure).iter();
    rows.filter_map(|row| recommendation(input, bounds, (&held, measures), row)).collect()
}

/// Which metrics apply to this run.
#[derive(Clone, Copy)]
struct Trusted {
    elapsed_weight: bool,
    slack: bool,
}

/// The lock that each procedure held longest while others wanted it.
type Held = BTreeMap<ProcedureId, (ObjectId, Handover)>;

fn recommendation(
    input: &Source<'_>,
    bounds: &Bounds,
    (held, trusted): (&Held, Trusted),
    row: &Row,
) -> Option<Recommendation> {
    let Node::Procedure(id) = row.node else { return None };
    if row.own.running == 0 || !is_named(input, row.node) {
        return None;
    }
    let alone = percent(row.own.npt_while(1..=1), row.own.running as f64).min(100.0);
    let lock =
        held.get(&id).filter(|(_, handover)| percent(handover.cpu as f64, row.own.running as f64) >= HELD);
    let remedy = match lock {
        Some(_) => Remedy::HoldShorter,
        None if alone >= ALONE && input.program.cpus() > 1 => Remedy::Parallelise,
        None => Remedy::Shorten,
    };
    let mut evidence = Vec::new();
    if let Some((object, handover)) = lock {
        let name = &input.input().objects.get(*object).name;
        evidence.push(format!("holds {name} while others want it, {} in all", time_text(handover.held)));
    }
    if row.own.idle_blame as f64 >= BLAMED * bounds.elapsed {
        evidence.push(format!("others waited {} for it", time_text(row.own.idle_blame)));
    }
    if alone >= ALONE {
        evidence.push(format!("alone on the CPUs {} of its time", percent_text(alone)));
    }
    let path = percent(row.own.critical_cpu as f64, input.analysis.critical_cpu.length as f64);
    evidence.push(format!("{} of the critical path", percent_text(path)));
    let cpu = percent(row.own.cpu() as f64, input.totals().cpu() as f64);
    evidence.push(format!("{} of the CPU time", percent_text(cpu)));
    if let Some((caller, share)) = largest_caller(input, row, |measures| measures.running) {
        evidence.insert(0, format!("works for {caller} ({})", percent_text(share)));
    }
    Some(Recommendation {
        subject: Subject::Procedure(id),
        remedy,
        gain: gain(input, bounds, trusted, row),
        evidence,
    })
}

fn gain(input: &Source<'_>, bounds: &Bounds, trusted: Trusted, row: &Row) -> Range {
    let own = &row.own;
    let devices = [Cause::Io, Cause::PageFault].map(|cause| own.blocked_for(cause)).iter().sum::<u64>();
    let computing = own.running as f64 / (own.running + devices).max(1) as f64;
    let mut predictions = vec![own.critical_cpu as f64, own.npt() * computing];
    let prospects = input.details.prospects.as_ref();
    let gain = prospects.and_then(|gains| gains.gains.iter().find(|gain| gain.node == row.node));
    if let Some(gain) = gain.filter(|_| trusted.elapsed_weight) {
        predictions.push(gain.zeroing);
        if trusted.slack {
            predictions.push(gain.slack);
        }
    }
    let share = (own.npt() / bounds.elapsed.max(1.0)).clamp(0.0, 1.0);
    let samples = input.analysis.effective_samples.npt;
    let error =
        if samples > 0.0 { longpole_metrics::standard_error(share, samples) * bounds.elapsed } else { 0.0 };
    Range::of(&predictions, error, bounds, bounds.without(own.running as f64))
}

fn held_locks(input: &Source<'_>) -> Held {
    let mut sums: BTreeMap<(ProcedureId, ObjectId), Handover> = BTreeMap::new();
    let handovers = input.details.contention.iter().flat_map(|contention| &contention.handovers);
    for (&(object, place), handover) in handovers {
        if let Some(place) = place.filter(|_| super::objects::is_lock(input.input().objects.get(object).kind))
        {
            let procedure = input.paths.all_places()[place.0 as usize].procedure;
            sums.entry((procedure, object)).or_default().add(handover);
        }
    }
    let mut most = Held::new();
    for ((procedure, object), handover) in sums {
        let kept = most.entry(procedure).or_insert((object, handover));
        if handover.held > kept.1.held {
            *kept = (object, handover);
        }
    }
    most
}
