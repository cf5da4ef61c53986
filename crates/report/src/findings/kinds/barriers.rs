//! Barriers: threads that have less to do wait for the one that has most.
//!
//! ```text
//!   T1  ======|======|      In each round the others wait for the slowest. With even shares every round would take
//!   T2  ==....|===...|      the mean: the run gains the waits' sum divided by the number of threads,
//!   T3  ====..|=.....|      here (4 + 3 + 2 + 5) / 3.
//! ```
//! How many threads take part is not known where the slowest never waits: that is what the range is, wider by how far
//! such sums are off. Only the part of the waits counts that comes from work which all do (load imbalance, C §3.4): no sharing
//! helps against what one thread alone has to do. What one thread does in one round and another one in the next may be shared, or not:
//! up to that. A thread that spins at a barrier waits there too; of such waits nothing tells
//! who ended them, so where they are most, the range begins at what even shares of all work would gain.

use std::collections::BTreeMap;

use longpole_event::ThreadId;
use longpole_metrics::{Category, SynchronisationCost, WaitClass};
use longpole_trace::Cause;

use crate::findings::finding::{
    Advice, Finding, FindingBasis, FindingKind, FindingSubject, LeadingAnswer, Limit,
};
use crate::findings::gain::GainRange;
use crate::findings::sentence::{Sentence, ShareInWords, TimeInWords, sentence};
use crate::findings::threshold::MODEL_ERROR;
use crate::findings::{with_work, work_answer};
use crate::input::ReportTables;
use crate::quantity::count_of;

/// The entry of the table.
pub(crate) static KIND: FindingKind = FindingKind {
    what: "barriers",
    when: "threads wait at barriers, blocked or spinning, by imbalance: that part of the waits' sum divided by the threads that waited, or by one more (the slowest may never wait), give or take 10 %, and no more than the CPUs leave; up to what comes, besides, from procedures in which several threads work, as another one may be last in each round; where most of it spins, from what even shares of all work gain",
    advice: "*balance the work*",
    find,
    answer,
};

fn find(basis: &FindingBasis<'_, '_>) -> Vec<Finding> {
    finding(basis).into_iter().collect()
}

fn finding(basis: &FindingBasis<'_, '_>) -> Option<Finding> {
    let FindingBasis { input, facts, bounds, .. } = basis;
    let spun = spun_at_barriers(input);
    let threads = input.analysis.threads.iter().enumerate();
    let blocked = |states: &longpole_metrics::ThreadStates| {
        states.blocked.get(Cause::Barrier.index()).copied().unwrap_or(0) as f64
    };
    let waited = threads.map(|(index, states)| {
        blocked(states) + spun.get(&ThreadId::from_index(index)).copied().unwrap_or(0.0)
    });
    let times: Vec<f64> = waited.filter(|&time| time > 0.0).collect();
    let (whole, spinning) = (times.iter().sum::<f64>(), spun.values().sum::<f64>());
    let split = input.barrier_split().filter(|split| split.sum() > 0.0);
    let uneven = match split {
        Some(split) if 2.0 * spinning <= whole => Some(split.imbalance / split.sum()),
        None if spinning == 0.0 => return None,
        _ => None,
    };
    let shared = split.filter(|_| uneven.is_some()).map_or(1.0, |split| of_shared_work(basis) / split.sum());
    let gained = |part: f64, threads: usize| part * whole / threads as f64;
    let (most, least) = (gained(shared, times.len()), gained(uneven.unwrap_or(1.0), times.len() + 1));
    let even = facts.imbalance / 100.0 * facts.busiest as f64;
    let least = if uneven.is_some() { least } else { least.min(even) };
    let waited = GainRange::of(&[least, most], MODEL_ERROR / 100.0 * most, bounds, bounds.elapsed);
    let in_calls: f64 = costs_of_barriers(input).map(|cost| cost.running).sum();
    let change = (Advice::Balance, waited.with_work_less(in_calls, bounds));
    let mut found =
        Finding::advised(basis, (&KIND, Limit::Work), subject(basis, spinning, whole)?, change, false)?;
    // What is waited there makes it the long pole, also where the processors give less of it back.
    found.weight = waited.middle();
    let waiters = count_of(times.len() as u64, "thread");
    let mut evidence = sentence![waiters, " waited ", TimeInWords(whole.round() as u64), " in all"];
    if spinning > 0.0 {
        evidence = sentence![evidence, ", ", ShareInWords(100.0 * spinning / whole), " spinning"];
    }
    if let Some(uneven) = uneven {
        evidence = sentence![evidence, ", ", ShareInWords(100.0 * uneven), " by imbalance"];
    }
    Some(found.with(vec![evidence]))
}

/// What of the explained waits at barriers comes from imbalance, or from work of procedures in which several threads work, nanoseconds.
fn of_shared_work(basis: &FindingBasis<'_, '_>) -> f64 {
    let Some(waits) = &basis.input.input().details.waits else { return 0.0 };
    let of_class = |class: &WaitClass| {
        let (mut all, mut shared) = (0.0, 0.0);
        for share in class.direct.iter().filter(|share| share.positive > 0.0) {
            let deed = waits.steps.step(share.step).deed;
            if let (Category::Running, Some(place)) = (deed.category, deed.scope) {
                all += share.positive;
                shared += if basis.work.is_shared(place.procedure) { share.positive } else { 0.0 };
            }
        }
        class.split.imbalance + if all > 0.0 { class.split.insufficient * shared / all } else { 0.0 }
    };
    waits.at_barriers().map(of_class).sum()
}

/// Where threads wait at a barrier for longest.
fn subject(basis: &FindingBasis<'_, '_>, spinning: f64, whole: f64) -> Option<FindingSubject> {
    let blocked = basis.facts.waits.iter().find(|wait| wait.cause == Cause::Barrier);
    match blocked {
        Some(wait) if 2.0 * spinning <= whole => Some(FindingSubject::Wait(wait.clone())),
        _ => {
            let places = basis.input.paths.all_places();
            let spins = costs_of_barriers(basis.input).max_by(|a, b| a.spinning.total_cmp(&b.spinning))?;
            let site = places.get(spins.site?.0 as usize)?;
            Some(FindingSubject::Calls(spins.kind, site.procedure))
        }
    }
}

fn costs_of_barriers<'a>(input: &ReportTables<'a>) -> impl Iterator<Item = &'a SynchronisationCost> {
    let costs = input.input().details.synchronisation.iter();
    costs.filter(|cost| cost.kind.cause() == Cause::Barrier)
}

/// How long each thread spun in calls of barriers, nanoseconds.
fn spun_at_barriers(input: &ReportTables<'_>) -> BTreeMap<ThreadId, f64> {
    let mut parts: BTreeMap<longpole_trace::PathId, f64> = BTreeMap::new();
    for (&path, part) in costs_of_barriers(input).flat_map(|cost| &cost.parts) {
        *parts.entry(path).or_default() += part.spinning;
    }
    let mut spun: BTreeMap<ThreadId, f64> = BTreeMap::new();
    for charge in input.analysis.charges.iter().filter(|charge| charge.measures.spinning > 0) {
        let part = parts.get(&charge.path).copied().unwrap_or(0.0).min(1.0);
        if part > 0.0 {
            *spun.entry(charge.thread).or_default() += part * charge.measures.spinning as f64;
        }
    }
    spun
}

fn answer(basis: &FindingBasis<'_, '_>, finding: &Finding) -> LeadingAnswer {
    let place = match &finding.subject {
        FindingSubject::Wait(wait) => wait.place(basis.input),
        FindingSubject::Calls(_, procedure) => {
            Sentence::name(basis.input, longpole_metrics::Node::Procedure(*procedure))
        }
        _ => "an unknown place".into(),
    };
    let headline = sentence![
        "The long pole: uneven work. At the barrier in ",
        place,
        ", ",
        finding.evidence.first().cloned(),
        ".",
    ];
    with_work(basis, work_answer(basis, headline))
}
