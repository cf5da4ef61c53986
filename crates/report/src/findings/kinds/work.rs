//! Work of which no procedure can be advised, and why: too few observations, no names, or none that is large enough.

use longpole_metrics::By;

use crate::findings::finding::{Finding, FindingBasis, FindingKind, FindingSubject, LeadingAnswer, Limit};
use crate::findings::next::{EVIDENCE, THREADS};
use crate::findings::sentence::{TimeInWords, sentence};
use crate::findings::threshold::TOO_SHORT;
use crate::findings::{RankedWork, is_named, procedure_answer};
use crate::quantity::count_of;

/// The entry of the table.
pub(crate) static KIND: FindingKind = FindingKind {
    what: "work",
    when: "no procedure can be advised: the length of the critical path",
    advice: "none; the answer says why: too few observations, no names, or no single procedure",
    find,
    answer,
};

fn find(basis: &FindingBasis<'_, '_>) -> Vec<Finding> {
    let limit = if has_procedures(basis) { Limit::Work } else { Limit::Unknown };
    let time = basis.facts.path.max(basis.facts.cpu / u64::from(basis.facts.cpus.max(1)));
    let found = Finding::without_advice(basis, (&KIND, limit), FindingSubject::Work, time);
    // A procedure with a gain says more than all work without one.
    let is_divided = has_procedures(basis) && !(super::procedures::KIND.find)(basis).is_empty();
    found.filter(|_| !is_divided).into_iter().collect()
}

/// Whether shares of procedures mean anything.
fn has_procedures(basis: &FindingBasis<'_, '_>) -> bool {
    let input = basis.input;
    let is_known = |row: &longpole_metrics::NodeRow| row.own.running > 0 && is_named(input, row.node);
    basis.facts.has_observations() && input.rows(By::Procedure).iter().any(is_known)
}

pub(super) fn answer(basis: &FindingBasis<'_, '_>, _: &Finding) -> LeadingAnswer {
    let FindingBasis { input, facts, .. } = basis;
    let used = facts.cpu + facts.spinning;
    if has_procedures(basis)
        && let Some(largest) = RankedWork::of(facts).largest(input)
    {
        return procedure_answer(basis, RankedWork::of(facts), largest);
    }
    let samples = facts.cpu_samples.round() as u64;
    let is_few = samples > 0 && !facts.has_observations();
    let headline = if is_few {
        let samples = count_of(samples, "observation");
        sentence![
            "No procedure can be named: ",
            samples,
            " of ",
            TimeInWords(used),
            " of CPU time are too few."
        ]
    } else {
        sentence!["No procedure can be named: of ", TimeInWords(used), " of CPU time no call path was seen."]
    };
    let advice = if is_few || (used as f64) < TOO_SHORT {
        "Run it longer, or sample more often (record -F 10000)."
    } else {
        "The evidence says what was lost."
    };
    let reasons = vec![sentence!["Times of threads are exact."], advice.into()];
    LeadingAnswer { headline, reasons, ranked_by: None, next: vec![THREADS, EVIDENCE] }
}
