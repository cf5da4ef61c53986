//! Threads that are created together and end at different times: whoever joins them waits for the last.
//!
//! ```text
//!   main  create, create ... join ............ |      with even shares both would end at the mean:
//!   T1    ====================================|      the run gains the time that those that ended before the last had left,
//!   T2    ==============                              divided by the number of threads
//! ```
//! A fork is threads that one thread creates at one place before any of them ends, and that work longest in the same procedure: each has a
//! part of one work. What cannot be divided so finely gains less, so the range begins as if there were one thread more; nor does it begin
//! above what even shares of the CPU time would gain, for the last may have waited for something else.

use std::collections::{BTreeMap, BTreeSet};

use longpole_event::{ThreadId, Time};
use longpole_metrics::Node;
use longpole_trace::{PathId, ProcedureId, Thread};

use super::locks::is_done_by_turns;
use crate::findings::finding::{
    Advice, Finding, FindingBasis, FindingKind, FindingSubject, LeadingAnswer, Limit,
};
use crate::findings::gain::GainRange;
use crate::findings::sentence::{Sentence, TimeInWords, sentence};
use crate::findings::threshold::MODEL_ERROR;
use crate::findings::{with_work, work_answer};
use crate::input::ReportTables;
use crate::quantity::count_of;

/// The entry of the table.
pub(crate) static KIND: FindingKind = FindingKind {
    what: "threads that are created together",
    when: "a thread created several at one place before any of them ended, all ended, and work longest in the same procedure: the time from the end of each to that of the last, divided by their number, or by one more, and from what even shares of their CPU time would gain, give or take 10 %, all such forks of a procedure together, and no more than the CPUs leave; not where a lock is held for nearly all of the time in which several threads are there",
    advice: "*balance the work*",
    find,
    answer,
};

/// Forks at one place.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct ForkSums {
    /// Threads, of those forks that were uneven.
    threads: u64,
    /// For how long threads had ended before the last of their fork, nanoseconds.
    early: u64,
    /// The gain with even shares, and with those of one thread more.
    most: f64,
    least: f64,
}

/// What a thread works.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct ThreadWork {
    /// Its CPU time, nanoseconds.
    running: u64,
    /// The procedure in which it works longest.
    longest: Option<ProcedureId>,
}

/// Threads that one thread creates at one place: when each ends, and what it works.
#[derive(Clone, Debug, Default)]
struct OpenFork(Vec<(Time, ThreadWork)>);

impl OpenFork {
    /// Whether a thread that begins now is one of them.
    fn takes(&self, start: Time) -> bool {
        self.0.iter().all(|&(end, _)| start < end)
    }

    fn add_to(&self, sums: &mut ForkSums) {
        let count = self.0.len() as u64;
        let Some((last, first)) = self.0.iter().map(|&(end, _)| end).max().zip(self.0.first()) else {
            return;
        };
        if count < 2 || self.0.iter().any(|(_, work)| work.longest != first.1.longest) {
            return;
        }
        let early: u64 = self.0.iter().map(|&(end, _)| last.since(end)).sum();
        let work = || self.0.iter().map(|(_, work)| work.running);
        let even = work().max().unwrap_or(0) as f64 - work().sum::<u64>() as f64 / count as f64;
        sums.threads += count;
        sums.early += early;
        sums.most += early as f64 / count as f64;
        sums.least += even.min(early as f64 / (count + 1) as f64);
    }
}

/// The forks of all threads, by the place at which threads are created.
fn forks(threads: &[Thread], works: &[ThreadWork]) -> BTreeMap<PathId, ForkSums> {
    let mut sums: BTreeMap<PathId, ForkSums> = BTreeMap::new();
    let mut open: BTreeMap<(ThreadId, PathId), OpenFork> = BTreeMap::new();
    let mut lasting: BTreeSet<PathId> = BTreeSet::new();
    let mut in_order: Vec<(&Thread, &ThreadWork)> = threads.iter().zip(works).collect();
    in_order.sort_by_key(|(thread, _)| thread.start);
    for (thread, &work) in in_order {
        let Some(creator) = thread.creator else { continue };
        if threads[creator.index()].process != thread.process {
            continue;
        }
        let Some(end) = thread.end else {
            // Nobody waits for these.
            lasting.insert(thread.prefix);
            continue;
        };
        let fork = open.entry((creator, thread.prefix)).or_default();
        if !fork.takes(thread.start) {
            fork.add_to(sums.entry(thread.prefix).or_default());
            fork.0.clear();
        }
        fork.0.push((end, work));
    }
    for ((_, prefix), fork) in open {
        fork.add_to(sums.entry(prefix).or_default());
    }
    sums.retain(|prefix, sums| sums.early > 0 && !lasting.contains(prefix));
    sums
}

fn find(basis: &FindingBasis<'_, '_>) -> Vec<Finding> {
    let input = basis.input;
    if is_done_by_turns(basis.input) {
        return Vec::new();
    }
    let mut by_procedure: BTreeMap<ProcedureId, ForkSums> = BTreeMap::new();
    for (prefix, sums) in forks(&input.program.threads, &works(basis)) {
        let Some(procedure) = creator(input, prefix) else { continue };
        let of = by_procedure.entry(procedure).or_default();
        of.threads += sums.threads;
        of.early += sums.early;
        of.most += sums.most;
        of.least += sums.least;
    }
    by_procedure.into_iter().filter_map(|(procedure, sums)| finding(basis, procedure, &sums)).collect()
}

/// What each thread works.
fn works(basis: &FindingBasis<'_, '_>) -> Vec<ThreadWork> {
    let mut works = vec![ThreadWork::default(); basis.input.program.threads.len()];
    let mut longest = vec![0; works.len()];
    for (procedure, threads) in basis.work.iter() {
        for (&thread, &time) in threads {
            let (work, longest) = (&mut works[thread.index()], &mut longest[thread.index()]);
            work.running += time;
            if time > *longest {
                (work.longest, *longest) = (Some(procedure), time);
            }
        }
    }
    works
}

/// The procedure of the program that creates threads there.
fn creator(input: &ReportTables<'_>, prefix: PathId) -> Option<ProcedureId> {
    let mut places = input.paths.places_of(prefix).map(|place| place.procedure);
    places.find(|&procedure| !input.folding.is_folded(procedure))
}

fn finding(basis: &FindingBasis<'_, '_>, procedure: ProcedureId, sums: &ForkSums) -> Option<Finding> {
    let bounds = &basis.bounds;
    let range =
        GainRange::of(&[sums.least, sums.most], MODEL_ERROR / 100.0 * sums.most, bounds, bounds.elapsed);
    let change = (Advice::Balance, range.with_all_work(bounds));
    let subject = FindingSubject::Fork(procedure);
    let found = Finding::advised(basis, (&KIND, Limit::Work), subject, change, false)?;
    let threads = count_of(sums.threads, "thread");
    let early = TimeInWords(sums.early);
    Some(found.with(vec![sentence![threads, " ended ", early, " early in all"]]))
}

fn answer(basis: &FindingBasis<'_, '_>, finding: &Finding) -> LeadingAnswer {
    let FindingSubject::Fork(procedure) = finding.subject else { unreachable!("forks lead with a fork") };
    let place = Sentence::name(basis.input, Node::Procedure(procedure));
    let what = finding.evidence.first().cloned();
    let headline =
        sentence!["The long pole: uneven work. Of the threads that ", place, " creates, ", what, "."];
    with_work(basis, work_answer(basis, headline))
}

#[cfg(test)]
mod tests {
    use longpole_testkit::draw;

    use super::*;
    use crate::fixture::DrawnRun;
    use crate::input::ReportOptions;
    use crate::view::View;

    fn of(text: &str, works: &[u64]) -> Vec<ForkSums> {
        let works = works.iter().map(|&running| ThreadWork { running, longest: None });
        forks(&draw(text).program.threads, &works.collect::<Vec<_>>()).into_values().collect()
    }

    /// While several threads are there, one has the lock and the others wait for it; or they work beside it for most of that time.
    #[test]
    fn threads_that_have_a_lock_in_turn_are_not_to_be_balanced() {
        let by_turns = |drawing: &str| {
            let demand = View::Summary.demand(&ReportOptions::default());
            DrawnRun::of(drawing).with_details(&demand, is_done_by_turns)
        };
        let kept = "\
1 = mutex m
one   AAAAAAAA________
two   11111111BBBBBBBB
three 11111111________
one@8 -> two unlock";
        assert!(by_turns(kept));
        assert!(!by_turns(
            &kept.replace("two   11111111", "two   BBBBBB11").replace("three 11111111", "three CCCCCCCC")
        ));
    }

    #[test]
    fn threads_that_are_created_before_any_of_them_ends_are_a_fork() {
        let uneven = "\
main MMjjjjjjjjMMMMjjjjjMM
one  __AAAA________________
two  __AAAAAAAA____________
last ______________AAAAA___
main@2 -> one create
main@2 -> two create
main@14 -> last create";
        let uneven_sums = |least| ForkSums { threads: 2, early: 4, most: 2.0, least };
        assert_eq!(of(uneven, &[8, 4, 8, 5]), [uneven_sums(4.0 / 3.0)]);
        // The last one waited.
        assert_eq!(of(uneven, &[8, 4, 5, 5]), [uneven_sums(0.5)]);
        // One that is there to the end is nobody that is waited for.
        let lasting = uneven.replace("AAAAAAAA____________", "AAAAAAAA............");
        assert_eq!(of(&lasting, &[8, 4, 8, 5]), []);
        let even = uneven.replace("__AAAA____", "__AAAAAAAA");
        assert_eq!(of(&even, &[8, 8, 8, 5]), []);
        // Threads of different work are no team.
        let program = draw(uneven).program;
        let works: Vec<ThreadWork> =
            (0..4).map(|index| ThreadWork { running: 8, longest: Some(ProcedureId(index)) }).collect();
        assert!(forks(&program.threads, &works).is_empty());
    }
}
