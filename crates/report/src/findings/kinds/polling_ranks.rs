//! Ranks that poll for messages, more of them than there are processors.
//!
//! ```text
//!   rank 0  ===~~~~~~~~===~~~~      ~ polls for a message, - has no processor
//!   rank 1  ~~~~~~---=====~~~~      The message that rank 1 waits for is there, and the others poll on both processors until
//!   rank 2  ~~~~~~~~~~~~~~====      their turns are over: nobody works meanwhile.
//! ```
//! A rank with a processor of its own may poll for as long as it waits. Where ranks share processors, what they poll is taken from those that
//! have work: the time in which all work waits for a processor that others poll on is gained by ranks that yield, or that are no more than
//! processors, but for what of it a scheduler gives to others anyway (half of it in programs whose ranks were made to yield). At most all is
//! gained that the run takes longer than its work does, since ranks with more of it at once wait less for each other.

use crate::findings::finding::{
    Advice, Finding, FindingBasis, FindingKind, FindingSubject, LeadingAnswer, Limit,
};
use crate::findings::gain::GainRange;
use crate::findings::next::{MESSAGES, WAITS};
use crate::findings::sentence::{Sentence, ShareInWords, TimeInWords, sentence};
use crate::findings::threshold::{LATE_RANK, SPINNING, SURELY_GAINED};
use crate::findings::work_answer;
use crate::input::ReportTables;
use crate::quantity::{count_of, percent};

/// The entry of the table.
pub(crate) static KIND: FindingKind = FindingKind {
    what: "ranks that poll on too few processors",
    when: "there are more ranks than processors, and at least 5 % of the CPU time polls for messages: at least half of the time in which no rank works while one polls and one that works next waits for a CPU, at most what the run takes longer than its critical path and than its work on all processors; leads from 5 % of the run that is surely gained",
    advice: "*yield while waiting, or run fewer*",
    find,
    answer,
};

/// The ranks, where there are more than processors.
pub(super) fn crowded_ranks(basis: &FindingBasis<'_, '_>) -> Option<usize> {
    let ranks = basis.input.program.processes.iter().filter(|process| process.rank.is_some()).count();
    let processors = basis.facts.cpus as usize;
    (processors > 0 && ranks > processors).then_some(ranks)
}

fn find(basis: &FindingBasis<'_, '_>) -> Vec<Finding> {
    finding(basis).into_iter().collect()
}

fn finding(basis: &FindingBasis<'_, '_>) -> Option<Finding> {
    let FindingBasis { input, facts, bounds, .. } = basis;
    let ranks = crowded_ranks(basis)?;
    let share = percent(facts.polling as f64, (facts.cpu + facts.spinning) as f64);
    if share < SPINNING {
        return None;
    }
    let high = bounds.without(0.0);
    let surely = SURELY_GAINED / 100.0 * input.analysis.spin_costs.before_work as f64;
    let gain = GainRange { low: surely.min(high), high };
    let (subject, change) = (FindingSubject::PollingRanks(ranks as u64), (Advice::Yield, gain));
    let mut found = Finding::advised(basis, (&KIND, Limit::Spinning), subject, change, false)?;
    found.leads = percent(gain.low, facts.elapsed as f64) >= LATE_RANK;
    let polled = sentence![TimeInWords(facts.polling), " of CPU time (", ShareInWords(share), ") is no work"];
    Some(found.with(vec![polled, kept_from_work(input)]))
}

/// `for 470 ms all work waited for a CPU that others poll on`.
fn kept_from_work(input: &ReportTables<'_>) -> Sentence {
    let waited = TimeInWords(input.analysis.spin_costs.before_work);
    sentence!["for ", waited, " all work waited for a CPU that others poll on"]
}

fn answer(basis: &FindingBasis<'_, '_>, finding: &Finding) -> LeadingAnswer {
    let subject = finding.subject.text(basis.input);
    let cpus = count_of(u64::from(basis.facts.cpus), "CPU");
    let evidence = Sentence::joined(finding.evidence.iter().cloned(), ", and ");
    let headline = sentence!["The long pole: ", subject, " for messages on ", cpus, ": ", evidence, "."];
    let mut answer = work_answer(basis, headline);
    answer.next.retain(|next| *next != WAITS);
    answer.next.splice(0..0, [MESSAGES, WAITS]);
    answer
}
