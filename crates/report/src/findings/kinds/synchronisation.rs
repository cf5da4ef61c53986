//! The cost of synchronising itself: a lock or barrier whose calls take processor time.
//!
//! Prediction: the run executed without the calls and without the waits (metrics.md §12). At most, what short procedures do with the
//! lock goes, too: a thread that does it alone has its data at hand.

use longpole_metrics::SynchronisationCost;
use longpole_trace::Cause;

use crate::findings::finding::{
    Advice, Finding, FindingBasis, FindingKind, FindingSubject, LeadingAnswer, Limit, Prediction,
};
use crate::findings::gain::{GainRange, executed_run};
use crate::findings::sentence::{Sentence, ShareInWords, TimeInWords, sentence};
use crate::findings::threshold::{CALLS_COST, IN_VAIN, SERIAL};
use crate::findings::{with_work, work_answer};
use crate::input::ReportTables;
use crate::quantity::{count_of, percent};

/// The entry of the table.
pub(crate) static KIND: FindingKind = FindingKind {
    what: "a lock or barrier whose calls cost",
    when: "its calls take at least 5 % of the CPU time, no less than is spun in them, and at a barrier no less than the waits: the run executed without the calls and without the waits, up to that without all of procedures that do little beside (calls at least 10 % of their own CPU time), and never more than the CPUs leave; stands for the entry about the lock's waits where it gains more",
    advice: "*synchronise less often*; of a condition from which most threads are woken in vain (together with all others, and wait again after 0.05 ms of CPU time at most) *wake only who can go on*, up to the CPU time of the calls and of these looks with the time in which none ran, and to what the rest of the critical path leaves, which leads where it can gain 30 % of the run",
    find,
    answer,
};

fn find(basis: &FindingBasis<'_, '_>) -> Vec<Finding> {
    let details = basis.input.input().details;
    details.synchronisation.iter().filter_map(|cost| finding(basis, cost)).collect()
}

/// Waits for objects that other threads ended.
struct VainWakes {
    all: u64,
    in_vain: u64,
    /// CPU time of those in vain.
    vain_work: u64,
}

impl VainWakes {
    fn of(input: &ReportTables<'_>, cost: &SynchronisationCost) -> VainWakes {
        let contention = input.input().details.contention.as_ref();
        let objects = cost.objects.iter().filter_map(|id| contention?.objects.get(id.index()));
        objects.fold(VainWakes { all: 0, in_vain: 0, vain_work: 0 }, |sum, object| VainWakes {
            all: sum.all + object.handed.count,
            in_vain: sum.in_vain + object.woken_in_vain,
            vain_work: sum.vain_work + object.vain_work,
        })
    }

    fn share_in_vain(&self) -> f64 {
        percent(self.in_vain as f64, self.all as f64)
    }

    fn are_in_vain(&self) -> bool {
        self.share_in_vain() >= IN_VAIN
    }
}

fn finding(basis: &FindingBasis<'_, '_>, cost: &SynchronisationCost) -> Option<Finding> {
    let FindingBasis { input, bounds, .. } = basis;
    let cpu = input.totals().cpu() as f64;
    let calls = cost.running + cost.spinning;
    let share = percent(calls, cpu);
    // Threads that spin or block at a barrier wait for each other: that is to be balanced, not to be done less often. Those that spin for
    // a lock wait for who holds it, however seldom they ask.
    let is_barrier = cost.kind.cause() == Cause::Barrier;
    let is_wait = cost.spinning + if is_barrier { cost.waited as f64 } else { 0.0 } > cost.running;
    if share < CALLS_COST || is_wait {
        return None;
    }
    let (gain, executed) = (cost.gain?, executed_run(input)?);
    let sampling = longpole_metrics::standard_error(calls / cpu, input.analysis.effective_samples.cpu);
    let around = |gain: f64| GainRange::around(gain, sampling / (calls / cpu) * gain, &executed, bounds);
    let range = around(gain).or(around(cost.gain_with_sections.unwrap_or(gain).max(gain)));
    // All else has to be done by the processors that there are.
    let sections = (cost.gain_with_sections.unwrap_or(gain) - gain).max(0.0);
    let range = range.at_most(bounds.without(cost.running) + sections);
    let subject = match (cost.objects.first(), cost.site) {
        (Some(&object), _) => FindingSubject::Object(object),
        (None, Some(site)) => {
            FindingSubject::Calls(cost.kind, input.paths.all_places()[site.0 as usize].procedure)
        }
        (None, None) => return None,
    };
    let wakes = VainWakes::of(input, cost);
    let change = match wakes.are_in_vain() {
        // What else is done is left, and the rest of the critical path.
        true => {
            let less = calls + wakes.vain_work as f64;
            let most = bounds.with_path_less(less).min(less + basis.facts.idle as f64);
            (Advice::WakeOne, range.at_most(most))
        }
        false => (Advice::SynchroniseLess, range),
    };
    let mut found = Finding::advised(basis, (&KIND, Limit::Work), subject, change, true)?;
    found.leads = wakes.are_in_vain() && percent(change.1.high, input.analysis.elapsed as f64) >= SERIAL;
    let mut evidence = vec![sentence!["its calls take ", ShareInWords(share), " of the CPU time"]];
    if wakes.are_in_vain() {
        let counts = format!(" of {} in vain", count_of(wakes.all, "wake"));
        evidence.insert(0, sentence![ShareInWords(wakes.share_in_vain()), counts]);
    }
    if cost.waited > 0 {
        evidence.push(sentence!["threads waited ", TimeInWords(cost.waited), " for it"]);
    }
    Some(found.predicted_by(Prediction::Execution).with(evidence))
}

/// Leaves out findings about the waits for a lock whose calls are worth more: one entry for a lock.
pub(crate) fn stand_for_waits(findings: &mut Vec<Finding>) {
    let costs: Vec<(FindingSubject, f64)> = findings
        .iter()
        .filter(|finding| std::ptr::eq(finding.kind, &raw const KIND))
        .map(|finding| (finding.subject.clone(), finding.weight))
        .collect();
    findings.retain(|finding| {
        let is_cost = std::ptr::eq(finding.kind, &raw const KIND);
        let is_less = |(subject, weight): &(FindingSubject, f64)| {
            *subject == finding.subject && finding.weight <= *weight
        };
        is_cost || !costs.iter().any(is_less)
    });
}

fn answer(basis: &FindingBasis<'_, '_>, finding: &Finding) -> LeadingAnswer {
    let subject = finding.subject.text(basis.input);
    let why = Sentence::joined(finding.evidence.iter().cloned(), ", ");
    let headline = sentence!["The long pole: synchronising by the ", subject, ": ", why, "."];
    let mut answer = with_work(basis, work_answer(basis, headline));
    if matches!(finding.change, Some((Advice::WakeOne, _))) {
        let why = "All that wait for it are woken at a time, and most have to wait again at once.";
        answer.reasons.insert(0, sentence![why]);
    }
    answer
}
