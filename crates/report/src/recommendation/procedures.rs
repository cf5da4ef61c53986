//! Procedures: work that the run waits for.
//!
//! Predictions, of the procedure's own work made free: its time on the CPU-weighted critical path, its normalised
//! processor time without its waits for devices, and, where they were computed, zeroing and slack. Slack not
//! where several threads do the same amount of it: there it is 0 whatever the procedure is worth (M §2.4).

use std::collections::BTreeMap;

use longpole_event::ThreadId;
use longpole_metrics::{By, Node, Row};
use longpole_trace::{Cause, ProcedureId};

use super::gain::{Bounds, Range};
use super::held::{Held, held_locks};
use super::objects::{holding, holds_of};
use super::{Recommendation, Remedy, Subject};
use crate::diagnosis::{Facts, is_named, largest_caller};
use crate::input::Source;
use crate::quantity::{percent, percent_text, time_text};

/// Imbalance of a procedure's work from which on slack says something.
const UNBALANCED: f64 = 0.1;
/// Share of a procedure's time alone from which on it is called serial, percent.
const ALONE: f64 = 50.0;
/// Share of its time with a wanted lock from which on the lock is what is to be changed, percent.
const HELD: f64 = 30.0;
/// Waits of others that are told, as a part of the run.
const BLAMED: f64 = 0.05;

/// What the predictions of all procedures depend on.
struct Run {
    held: BTreeMap<ProcedureId, Held>,
    /// Useful CPU time of each procedure by the threads that have any.
    spread: BTreeMap<ProcedureId, BTreeMap<ThreadId, u64>>,
    /// Time with one busy thread in which others lacked a processor, nanoseconds.
    starved: f64,
}

impl Run {
    fn of(input: &Source<'_>, facts: &Facts) -> Run {
        Run {
            held: held_locks(input),
            spread: spread(input),
            starved: facts.starved_percent / 100.0 * facts.elapsed as f64,
        }
    }

    /// Whether several threads do the same amount of it: then slack says nothing.
    fn is_even(&self, id: ProcedureId) -> bool {
        let Some(threads) = self.spread.get(&id).filter(|threads| threads.len() > 1) else { return false };
        let most = threads.values().copied().max().unwrap_or(0) as f64;
        let mean = threads.values().sum::<u64>() as f64 / threads.len() as f64;
        1.0 - mean / most < UNBALANCED
    }
}

fn spread(input: &Source<'_>) -> BTreeMap<ProcedureId, BTreeMap<ThreadId, u64>> {
    let mut spread: BTreeMap<ProcedureId, BTreeMap<ThreadId, u64>> = BTreeMap::new();
    for charge in input.analysis.charges.iter().filter(|charge| charge.measures.running > 0) {
        if let Some(place) = input.paths.innermost(charge.path) {
            let threads = spread.entry(place.procedure).or_default();
            *threads.entry(charge.thread).or_default() += charge.measures.running;
        }
    }
    spread
}

pub(super) fn recommendations(input: &Source<'_>, facts: &Facts, bounds: &Bounds) -> Vec<Recommendation> {
    let run = Run::of(input, facts);
    let rows = input.rows(By::Procedure).iter();
    rows.filter_map(|row| recommendation(input, bounds, &run, row)).collect()
}

fn recommendation(input: &Source<'_>, bounds: &Bounds, run: &Run, row: &Row) -> Option<Recommendation> {
    let Node::Procedure(id) = row.node else { return None };
    let own = &row.own;
    if own.running == 0 || !is_named(input, row.node) {
        return None;
    }
    // Whoever lacked a processor may have lacked it then: the rest is surely alone.
    let alone = percent((own.npt_while(1..=1) - run.starved).max(0.0), own.running as f64).min(100.0);
    let lock = run.held.get(&id).filter(|held| percent(held.cpu as f64, own.running as f64) >= HELD);
    let remedy = match lock {
        Some(_) => Remedy::HoldShorter,
        None if alone >= ALONE && input.program.cpus() > 1 && !is_kernel(input, id) => Remedy::Parallelise,
        None => Remedy::Shorten,
    };
    let mut evidence = Vec::new();
    if let Some((caller, share)) = largest_caller(input, row, |measures| measures.running) {
        evidence.push(format!("works for {caller} ({})", percent_text(share)));
    }
    if let Some(held) = lock {
        let name = &input.input().objects.get(held.object).name;
        evidence.push(format!("holds {name}, wanted {}", time_text(held.held)));
        evidence.extend(holding(input, &holds_of(input, held.object)));
    }
    if own.idle_blame as f64 >= BLAMED * bounds.elapsed {
        evidence.push(format!("others waited {} for it", time_text(own.idle_blame)));
    }
    if alone >= ALONE {
        evidence.push(format!("alone on the CPUs {} of its time", percent_text(alone)));
    }
    let path = percent(own.critical_cpu as f64, input.analysis.critical_cpu.length as f64);
    evidence.push(format!("{} of the critical path", percent_text(path)));
    let cpu = percent(own.cpu() as f64, input.totals().cpu() as f64);
    evidence.push(format!("{} of the CPU time", percent_text(cpu)));
    Some(Recommendation {
        subject: Subject::Procedure(id),
        remedy,
        gain: gain(input, bounds, run, (id, row)),
        evidence,
    })
}

/// Whether it is the kernel's: its callers can do no more than ask for less.
fn is_kernel(input: &Source<'_>, id: ProcedureId) -> bool {
    input.paths.procedure_named_by(id).module == "[kernel]"
}

fn gain(input: &Source<'_>, bounds: &Bounds, run: &Run, (id, row): (ProcedureId, &Row)) -> Range {
    let own = &row.own;
    let devices: u64 = [Cause::Io, Cause::PageFault].map(|cause| own.blocked_for(cause)).iter().sum();
    let computing = own.running as f64 / (own.running + devices).max(1) as f64;
    let mut predictions = vec![own.critical_cpu as f64, own.npt() * computing];
    let prospects = input.details.prospects.as_ref();
    let gain = prospects.and_then(|gains| gains.gains.iter().find(|gain| gain.node == row.node));
    if let Some(gain) = gain {
        predictions.push(gain.zeroing);
        if !run.is_even(id) {
            predictions.push(gain.slack);
        }
    }
    let share = (own.npt() / bounds.elapsed.max(1.0)).clamp(0.0, 1.0);
    let samples = input.analysis.effective_samples.npt;
    let error =
        if samples > 0.0 { longpole_metrics::standard_error(share, samples) * bounds.elapsed } else { 0.0 };
    Range::of(&predictions, error, bounds, bounds.without(own.running as f64))
}
