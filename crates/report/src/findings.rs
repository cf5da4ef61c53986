//! What a recording says about a run: findings, and the selections that views show.
//!
//! ```text
//!   facts ──► the table of kinds ──► findings, the weightiest first
//!                                      ├─► answer      the finding that leads, in sentences
//!                                      ├─► changes     those with advice
//!                                      ├─► guidance    which ranking to follow where that finding leads
//!                                      └─► cautions    what makes all of this less certain
//! ```
//! In: the facts of the run, each computed once ([`RunFacts`]), and thresholds, each named once (`threshold.rs`). A finding
//! has a subject, a range of gain, evidence, advice and commands that show more. Selections are made from one list, so they
//! cannot contradict each other:
//!
//! * The finding that leads the answer is the first change, or the answer says why nothing is advised.
//! * The ranking to follow is decided by the finding that leads.
//! * No gain is promised below the run's own noise, and no procedure is advised from a handful of observations.
//!
//! A new kind of finding is a file below `findings/kinds/` with its `KIND`, and a line in `findings/table.rs`.

mod facts;
mod finding;
mod gain;
mod kinds;
mod leading;
mod next;
mod placed_waits;
mod process_lives;
mod rankings;
mod reasons;
mod sentence;
mod table;
mod tables;
pub(crate) mod threshold;
mod work_by_procedure;

#[cfg(test)]
mod tests;

use std::cmp::Reverse;

use longpole_metrics::Node;

use crate::evidence::lost;
use crate::input::ReportTables;
use crate::quantity::{count_of, percent};

pub(crate) use facts::RunFacts;
use finding::FindingBasis;
pub(crate) use finding::{Finding, FindingSubject, LeadingAnswer, Prediction};
pub(crate) use kinds::serial_work::{SerialCause, SerialPart, SerialWork};
pub(crate) use kinds::shared_lines::shared_memory;
pub(crate) use leading::RankedWork;
use leading::{LeadingWork, is_named, largest_caller};
pub(crate) use next::{GUIDANCE, NextCommand, in_shell, record_names};
pub(crate) use placed_waits::waiting_for;
pub(crate) use rankings::{Guidance, Ranking, Verdict};
use sentence::TimeInWords;
pub(crate) use sentence::{Sentence, ShareInWords, sentence};
pub(crate) use tables::with_tables;
use threshold::{LOSSES_HIDE, MOST_CHANGES, PATH_IS_RUN};

/// All findings of a run, the one that leads first.
pub(crate) struct Findings<'s, 'a> {
    basis: FindingBasis<'s, 'a>,
    all: Vec<Finding>,
}

impl<'s, 'a> Findings<'s, 'a> {
    /// Looks for findings of every kind.
    pub(crate) fn of(input: &'s ReportTables<'a>) -> Findings<'s, 'a> {
        let basis = FindingBasis::of(input);
        let mut all: Vec<Finding> = table::KINDS.iter().flat_map(|kind| (kind.find)(&basis)).collect();
        kinds::synchronisation::stand_for_waits(&mut all);
        kinds::locks::leave_to_holders(&mut all);
        // Stable: of equal ones the kinds keep their order.
        all.sort_by_key(|finding| Reverse((finding.leads, finding.weight as u64)));
        kinds::procedures::by_what_they_hold(&mut all);
        // What cannot go on does not go on faster.
        if all.first().is_some_and(|first| std::ptr::eq(first.kind, &raw const kinds::stuck::KIND)) {
            all.truncate(1);
        }
        Findings { basis, all }
    }

    /// The facts that they are made from.
    pub(crate) fn facts(&self) -> &RunFacts {
        &self.basis.facts
    }

    /// The finding that leads.
    pub(crate) fn first(&self) -> Option<&Finding> {
        self.all.first()
    }

    /// What to change, the largest gain first; procedures by what the run gains without them.
    pub(crate) fn changes(&self) -> Vec<&Finding> {
        let advised = self.all.iter().filter(|finding| finding.change.is_some());
        advised.take(MOST_CHANGES as usize).collect()
    }

    /// The answer in sentences.
    pub(crate) fn answer(&self) -> LeadingAnswer {
        let facts = &self.basis.facts;
        match self.first() {
            _ if facts.cpu + facts.spinning + facts.blocked == 0 => self.nothing_recorded(),
            Some(first) => (first.kind.answer)(&self.basis, first),
            None => self.nothing_found(),
        }
    }

    /// Which ranking to follow.
    pub(crate) fn guidance(&self) -> Guidance {
        rankings::guidance(&self.basis, self.first().map(|first| first.limit))
    }

    fn nothing_recorded(&self) -> LeadingAnswer {
        let FindingBasis { input, facts, .. } = &self.basis;
        let why = if lost(input.evidence) > 0 {
            format!("{} were lost, and none arrived", count_of(lost(input.evidence), "event"))
        } else if input.program.threads.is_empty() {
            "no thread of the program was seen".to_owned()
        } else {
            let threads = count_of(input.program.threads.len() as u64, "thread");
            format!("{threads} seen, but none of them ran or waited while it was recorded")
        };
        LeadingAnswer {
            headline: sentence!["Nothing was recorded in ", TimeInWords(facts.elapsed), ": ", why, "."],
            reasons: Vec::new(),
            ranked_by: None,
            next: vec![next::EVIDENCE, next::DOCTOR],
        }
    }

    fn nothing_found(&self) -> LeadingAnswer {
        let facts = &self.basis.facts;
        let used = sentence![
            TimeInWords(facts.cpu + facts.spinning),
            " of CPU time in ",
            TimeInWords(facts.elapsed)
        ];
        let (why, reasons, next) = if facts.lost >= LOSSES_HIDE {
            ("Too many events were lost", Vec::new(), [next::EVIDENCE, next::DOCTOR])
        } else {
            let reason = "No change would gain more than one run differs from the next.";
            ("Too short", vec![reason.into()], [next::THREADS, next::EVIDENCE])
        };
        LeadingAnswer {
            headline: sentence![why, " to say what holds the program back: it used ", used, "."],
            reasons,
            ranked_by: None,
            next: next.into(),
        }
    }
}

/// The answer where a procedure leads.
fn procedure_answer(basis: &FindingBasis<'_, '_>, ranked: RankedWork, node: Node) -> LeadingAnswer {
    let FindingBasis { input, facts, .. } = basis;
    let work = LeadingWork::of(input, ranked, node);
    // What leads though hardly any of it is on the path is told by how much of the CPU time it is.
    let is_off_path =
        ranked == RankedWork::CriticalPath && work.as_ref().is_some_and(|work| work.is_beside_the_largest());
    let (work, ranked_by) = match is_off_path {
        true => (LeadingWork::of(input, RankedWork::Cpu, node), RankedWork::Cpu),
        false => (work, ranked),
    };
    let half = work.as_ref().and_then(LeadingWork::procedure).and_then(|id| next::what_if(input, id));
    let said = |whole: &str| work.as_ref().map(|work| work.sentence(whole));
    if ranked == RankedWork::Cpu {
        let headline = sentence![
            "The long pole: CPU time. ",
            reasons::cpu_bound(facts),
            "; its CPU time goes to ",
            said("it"),
            ".",
        ];
        let mut reasons: Vec<Sentence> = work.iter().flat_map(LeadingWork::circumstances).collect();
        reasons.extend(reasons::spinning(basis));
        reasons.extend(reasons::may_wait(basis));
        reasons.extend(reasons::ready(facts));
        reasons.extend(work.iter().flat_map(LeadingWork::remarks));
        let next = [next::LINES].into_iter().chain(half).chain([next::TREE, next::THREADS]).collect();
        return LeadingAnswer { headline, reasons, ranked_by: Some(ranked), next };
    }
    let of_run = percent(facts.path as f64, facts.elapsed as f64);
    let is_part = ranked_by == RankedWork::CriticalPath && of_run < PATH_IS_RUN;
    let path = is_part.then(|| sentence![", itself ", ShareInWords(of_run), " of the run"]);
    let mut answer = work_answer(basis, sentence!["The long pole: ", said(ranked_by.name()), path, "."]);
    answer.reasons.splice(0..0, work.iter().flat_map(LeadingWork::circumstances));
    answer.reasons.extend(work.iter().flat_map(LeadingWork::remarks));
    answer.next.splice(0..0, half);
    answer.ranked_by = Some(ranked);
    answer
}

/// The answer where work leads, with this headline.
fn work_answer(basis: &FindingBasis<'_, '_>, headline: Sentence) -> LeadingAnswer {
    let facts = &basis.facts;
    let waiting = reasons::waiting(basis);
    let next = waiting.is_some().then_some(next::WAITS).into_iter();
    let next = next.chain(facts.is_serial().then_some(next::PARALLELISM));
    let next = next.chain([next::PATH_BY_LINE, next::PROFILE]).collect();
    let reasons = [
        reasons::spinning(basis),
        reasons::may_wait(basis),
        waiting,
        reasons::serial(basis),
        reasons::ready(facts),
    ];
    let reasons = reasons.into_iter().flatten().collect();
    LeadingAnswer { headline, reasons, ranked_by: Some(RankedWork::of(facts)), next }
}

/// The answer with what most of the work is, for findings that are about waits of threads for each other.
fn with_work(basis: &FindingBasis<'_, '_>, mut answer: LeadingAnswer) -> LeadingAnswer {
    let ranked = RankedWork::of(&basis.facts);
    if let Some(work) = LeadingWork::largest(basis.input, ranked).filter(|_| basis.facts.has_observations()) {
        answer.reasons.insert(0, sentence!["Most work: ", work.sentence(ranked.name()), "."]);
    }
    answer
}
