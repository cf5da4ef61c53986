//! Busy waits: processor time that only waits.
//!
//! While more threads can run than there are processors, a thread that spins has a processor that another one needs.
//! That much is gained by waits that block, at least the larger of the two:
//!
//! ```text
//!   time with N > processors                 t
//!   spinning outside of it, at most          processors × (elapsed − t)
//!   spinning while others were ready         spinning − that, divided by the processors
//!
//!   time in which no thread works, while one spins and one that works next is ready
//! ```
//! Work that is shared evenly, so that no thread waits, gains up to the processor time that spins, and up to what the run
//! takes longer than its useful work on all processors. Where processors are wanted by more than run on them (other programs' threads too), up to the time in which
//! threads spin and none works, and of the time in which some are ready only, as much as their spinning is of their time on processors.

use longpole_metrics::Node;

use crate::findings::RankedWork;
use crate::findings::finding::{
    Advice, Finding, FindingBasis, FindingKind, FindingSubject, LeadingAnswer, Limit,
};
use crate::findings::gain::{GainBounds, GainRange};
use crate::findings::next::{PROFILE, THREADS, WAITS};
use crate::findings::reasons;
use crate::findings::sentence::{ShareInWords, TimeInWords, sentence};
use crate::findings::threshold::{CROWDED_WAIT, MODEL_ERROR, SPINNING};

/// The entry of the table.
pub(crate) static KIND: FindingKind = FindingKind {
    what: "spinning",
    when: "at least 5 % of the CPU time spins, polls for messages left out: at least the spinning while more threads could run than there are processors, divided by the processors, or the time in which no thread works while one spins and one that works next waits for a CPU; at most all spinning divided by the processors or the time in which none works while some spin, or are ready for as much of all waits for a CPU as the spinning is of the CPU time, and what the run takes longer than its useful work on all of them; give or take 10 % where threads were ready meanwhile",
    advice: "*block instead of spinning, or balance*",
    find,
    answer,
};

fn find(basis: &FindingBasis<'_, '_>) -> Vec<Finding> {
    finding(basis).into_iter().collect()
}

fn finding(basis: &FindingBasis<'_, '_>) -> Option<Finding> {
    let FindingBasis { input, facts, bounds, .. } = basis;
    let spinning = facts.own_spinning() as f64;
    let share = facts.own_spinning_percent();
    let processors = f64::from(facts.cpus.max(1));
    if share < SPINNING {
        return None;
    }
    let costs = input.analysis.spin_costs;
    // Processors are given to programs for what they had: so much of the waits for them are for what spun.
    let spun_for = facts.ready as f64 * spinning / (facts.cpu + facts.spinning).max(1) as f64;
    let without_work = costs.while_spinning as f64 + spun_for.min(costs.while_ready as f64);
    let high = (spinning / processors).max(without_work).min(bounds.without(0.0));
    let crowded = input.analysis.nominal.iter().skip(facts.cpus as usize + 1).sum::<u64>() as f64;
    let while_crowded = spinning - processors * (bounds.elapsed - crowded);
    let low = (while_crowded.min(facts.ready as f64) / processors).max(costs.before_work as f64).min(high);
    let (low, high) = widened(low, high, bounds);
    let subject = match facts.most_spinning {
        Some(Node::Procedure(id)) => FindingSubject::Procedure(id),
        _ => FindingSubject::Spinning,
    };
    let change = (Advice::Block, GainRange { low, high });
    let mut found = Finding::advised(basis, (&KIND, Limit::Spinning), subject, change, false)?;
    found.leads = facts.is_held_by_spinning();
    // Threads that spin beside useful work hold it up only where they take its processors: blocking gains nothing, and work shared otherwise
    // is a matter of that work.
    if found.change.is_some_and(|(_, gain)| gain.low == 0.0) {
        found.weight = found.weight.min((bounds.elapsed - facts.path as f64).max(0.0));
    }
    let mut evidence = vec![sentence![
        TimeInWords(facts.own_spinning()),
        " of CPU time (",
        ShareInWords(share),
        ") only waits"
    ]];
    if input.analysis.spun_for_unknown > 0 {
        evidence.push(sentence![
            "who ended ",
            TimeInWords(input.analysis.spun_for_unknown),
            " of it is not known"
        ]);
    }
    if low > 0.0 {
        evidence.push(sentence!["threads were ready ", TimeInWords(facts.ready), " in all"]);
    }
    if costs.before_work > 0 {
        let waited = TimeInWords(costs.before_work);
        evidence.push(sentence!["for ", waited, " all work waited for a CPU that others spin on"]);
    }
    Some(found.with(evidence))
}

/// Give or take how far predictions from sums of times are off at least. Where nothing is sure, the high end is a bound already.
fn widened(low: f64, high: f64, bounds: &GainBounds) -> (f64, f64) {
    let error = MODEL_ERROR / 100.0;
    let wider = if low > 0.0 { 1.0 + error } else { 1.0 };
    ((1.0 - error) * low, (wider * high).min(bounds.without(0.0)))
}

fn answer(basis: &FindingBasis<'_, '_>, _: &Finding) -> LeadingAnswer {
    let facts = &basis.facts;
    let all = sentence![TimeInWords(facts.own_spinning()), " of ", TimeInWords(facts.cpu + facts.spinning)];
    let share = ShareInWords(facts.own_spinning_percent());
    let most = reasons::most_spinning(basis);
    let headline = sentence![
        "The long pole is spinning, not work: ",
        all,
        " of CPU time (",
        share,
        ") only waits",
        most,
        "."
    ];
    let path = sentence!["Useful work makes the critical path ", TimeInWords(facts.path)];
    let mut reasons =
        vec![sentence![path, " long (", ShareInWords(facts.of_run(facts.path)), " of the run)."]];
    reasons.extend(reasons::may_wait(basis));
    reasons.extend(reasons::waiting(basis));
    if facts.of_run(facts.ready) > CROWDED_WAIT {
        let ready = TimeInWords(facts.ready);
        reasons.push(sentence!["Meanwhile threads waited ", ready, " in all for a CPU that others spin on."]);
    }
    LeadingAnswer { headline, reasons, ranked_by: Some(RankedWork::Cpu), next: vec![PROFILE, THREADS, WAITS] }
}
