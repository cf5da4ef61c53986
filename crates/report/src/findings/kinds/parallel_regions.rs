//! Parallel regions that take longer than their work would take one thread.
//!
//! ```text
//!   as it is      master  | wake, body ==, wait for the end .... |     elapsed 9
//!                 others  |      woken .. body ===               |     work 5
//!   one thread    master  | ===== |                                    gain 9 − 5
//! ```
//! The entry is about all such regions together; their times add up, as one thread is in one at a time. The range says what
//! is not known: where other programs have processors, the one thread would not get one all the time, either; tasks may be
//! work of a region or not; while another thread is on the critical path, a region may not be; and what collecting took
//! is a part of the regions, since it is taken at each wait. Data that moves from processor to processor makes the recorded work longer than that of
//! one thread: that is in no range.

use longpole_metrics::{ForkJoinRegion, Node};
use longpole_trace::CodePlace;

use crate::findings::finding::{
    Advice, Finding, FindingBasis, FindingKind, FindingSubject, LeadingAnswer, Limit,
};
use crate::findings::gain::GainRange;
use crate::findings::sentence::{Sentence, TimeInWords, sentence};
use crate::findings::threshold::MODEL_ERROR;
use crate::findings::work_answer;
use crate::input::ReportTables;
use crate::quantity::count_of;

/// The entry of the table.
pub(crate) static KIND: FindingKind = FindingKind {
    what: "parallel regions that do not pay",
    when: "regions of OpenMP in which the calling thread is for longer than one thread would take for their work: that difference, all such regions together; at least as if the one thread got its processor as seldom as the program does, less the work of tasks, the path's time on other threads and what collecting took",
    advice: "*execute on one thread*",
    find,
    answer,
};

/// Regions that do not pay, together; nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
struct CostlyRegions {
    elapsed: f64,
    work: f64,
    /// Work that may be theirs.
    doubtful: f64,
    runtime: f64,
    shared: f64,
    blocks: u64,
    count: u64,
}

fn find(basis: &FindingBasis<'_, '_>) -> Vec<Finding> {
    finding(basis).into_iter().collect()
}

fn finding(basis: &FindingBasis<'_, '_>) -> Option<Finding> {
    let found = &basis.input.analysis.parallel_regions;
    let costly: Vec<&ForkJoinRegion> =
        found.regions.iter().filter(|region| is_costly(basis, region)).collect();
    let mut sum = CostlyRegions { doubtful: found.elsewhere as f64, ..CostlyRegions::default() };
    for region in &costly {
        sum.elapsed += region.elapsed as f64;
        sum.work += region.work as f64;
        sum.doubtful += region.nested as f64;
        sum.runtime += region.runtime as f64;
        sum.shared += region.shared as f64;
        sum.blocks += region.blocks;
        sum.count += 1;
    }
    let largest = costly.iter().max_by_key(|region| region.elapsed.saturating_sub(region.work))?;
    let place = basis.input.paths.all_places()[largest.site.0 as usize];
    let subject = FindingSubject::ParallelRegions(place, sum.count);
    let change = (Advice::ExecuteOnOneThread, sum.gain(basis, found.beside as f64));
    // How far the division of the work may be off is in the range.
    let found = Finding::advised(basis, (&KIND, Limit::Work), subject, change, false)?;
    Some(found.with(evidence(basis.input, &sum, place)))
}

/// Whether the region takes longer than its work, had one thread as much of a processor as the program has.
fn is_costly(basis: &FindingBasis<'_, '_>, region: &ForkJoinRegion) -> bool {
    region.elapsed as f64 > basis.displaced((region.work + region.nested) as f64)
}

impl CostlyRegions {
    fn gain(&self, basis: &FindingBasis<'_, '_>, beside: f64) -> GainRange {
        let FindingBasis { input, facts, bounds, .. } = basis;
        let cpu = (facts.cpu as f64).max(1.0);
        let sampling = cpu
            * longpole_metrics::standard_error(
                (self.work / cpu).min(1.0),
                input.analysis.effective_samples.cpu,
            );
        // Where samples do not divide CPU time, all of the runtime's may be work.
        let undivided = if facts.is_in_step { self.runtime } else { 0.0 };
        let most_work = basis.displaced(self.work + self.doubtful + undivided + sampling);
        let collecting = facts.overhead / 100.0 * (facts.cpu + facts.spinning) as f64;
        let low = self.elapsed - most_work - beside - collecting.min(self.elapsed);
        let high = self.elapsed - self.work + sampling;
        let error = MODEL_ERROR / 100.0 * self.work;
        GainRange::of(&[low.max(0.0), high], error, bounds, bounds.elapsed)
    }
}

fn evidence(input: &ReportTables<'_>, sum: &CostlyRegions, place: CodePlace) -> Vec<Sentence> {
    let [elapsed, work, shared] =
        [sum.elapsed, sum.work, sum.shared].map(|time| TimeInWords(time.round() as u64));
    let them = if sum.count == 1 { " in it for " } else { " in them for " };
    let mut evidence = vec![sentence![elapsed, them, work, " of work, ", shared, " of it by other threads"]];
    if sum.blocks > 1 {
        let mean = TimeInWords((sum.elapsed / sum.blocks as f64).round() as u64);
        let waits = count_of(sum.blocks, "wait");
        evidence.push(sentence![waits, " of the calling thread, one every ", mean]);
    }
    if place.line > 0 {
        evidence
            .push(sentence!["begins at ", Sentence::name(input, Node::Line(place.procedure, place.line))]);
    }
    evidence
}

/// What the regions are called in the list.
pub(crate) fn name(input: &ReportTables<'_>, place: CodePlace, count: u64) -> Sentence {
    let largest = Sentence::name(input, Node::Procedure(place.procedure));
    match count {
        1 => sentence!["parallel region in ", largest],
        count => sentence![count_of(count, "parallel region"), ", most in ", largest],
    }
}

fn answer(basis: &FindingBasis<'_, '_>, finding: &Finding) -> LeadingAnswer {
    let subject = finding.subject.text(basis.input);
    let times = finding.evidence.first().cloned();
    let headline = sentence!["The long pole: ", subject, ": ", times, "."];
    work_answer(basis, headline)
}
