//! The last of several processes that one process starts a few at a time, where it runs alone at the end.
//!
//! ```text
//!   xargs -P2   job 1 ====  job 3 ====  job 5 ==============      begun first, job 5 runs beside all others: the run ends with it, or when
//!               job 2 ====  job 4 ====                            the work of all is done by two at a time
//! ```
//! A job beside which none ran may need what all others make (a link after compilations): what was before is looked at without
//! it. Whether a job needs any of those that ended before it began is not known.

use std::collections::BTreeMap;

use longpole_event::{ProcessId, Time};
use longpole_trace::Program;

use super::work;
use crate::findings::finding::{Advice, Finding, FindingBasis, FindingKind, FindingSubject, Limit};
use crate::findings::gain::GainRange;
use crate::findings::process_lives::{ProcessLife, lives};
use crate::findings::sentence::{TimeInWords, sentence};

/// The entry of the table.
pub(crate) static KIND: FindingKind = FindingKind {
    what: "the last process of several that one starts",
    when: "a process started at least three, several at a time, and the one that ends last began after another had ended, while one ran, and ran alone for half of its time or more (jobs beside which none ran divide the others): up to what the run gains if it had begun with the first, where the rest keeps as many running at a time; no more than the CPUs leave",
    advice: "*start it earlier*: the longest first, or several smaller ones",
    find,
    answer: work::answer,
};

/// How long a process was there, with all that it started and waited for.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Job {
    process: ProcessId,
    start: Time,
    end: Time,
}

/// A job that was begun late.
#[derive(Clone, Copy, Debug, PartialEq)]
struct LateJob {
    process: ProcessId,
    /// After the first one's start, nanoseconds.
    late: u64,
    /// For how long no other one was there, nanoseconds.
    alone: u64,
    /// What all of them together gain at most.
    gain: f64,
}

/// The processes that each process started, if all of them have ended.
fn families(program: &Program) -> Vec<Vec<Job>> {
    let mut families: BTreeMap<ProcessId, Option<Vec<Job>>> = BTreeMap::new();
    for (process, ProcessLife { start, end }) in lives(program) {
        let Some(parent) = program.processes[process.index()].parent else { continue };
        let family = families.entry(parent).or_insert_with(|| Some(Vec::new()));
        match (family.as_mut(), end) {
            (Some(jobs), Some(end)) => jobs.push(Job { process, start, end }),
            _ => *family = None,
        }
    }
    families.into_values().flatten().collect()
}

/// Divides them at those beside which none was there: these may need all that came before, and what comes later may need them.
fn batches(mut jobs: Vec<Job>) -> Vec<Vec<Job>> {
    jobs.sort_by_key(|job| job.start);
    let mut batches = vec![Vec::new()];
    let mut there_until = Time::ZERO;
    for (index, job) in jobs.iter().enumerate() {
        let is_beside_next = jobs.get(index + 1).is_some_and(|next| next.start < job.end);
        if there_until > job.start || is_beside_next {
            batches.last_mut().expect("there is one").push(*job);
        } else {
            batches.push(Vec::new());
        }
        there_until = there_until.max(job.end);
    }
    batches.retain(|batch| !batch.is_empty());
    batches
}

/// How many of them, in the order of their starts, were there at a time at most.
fn width(jobs: &[Job]) -> usize {
    let mut ends: Vec<Time> = jobs.iter().map(|job| job.end).collect();
    ends.sort_unstable();
    let ended_before = |time: Time| ends.partition_point(|&end| end <= time);
    let there = |(index, job): (usize, &Job)| (index + 1).saturating_sub(ended_before(job.start));
    jobs.iter().enumerate().map(there).max().unwrap_or(0)
}

/// The last of these, which stand in the order of their starts, if it was begun late.
fn late_job(jobs: &[Job]) -> Option<LateJob> {
    let last = jobs.iter().max_by_key(|job| job.end)?;
    let others = || jobs.iter().filter(|job| job.process != last.process);
    let (first, ended) = (others().map(|job| job.start).min()?, others().map(|job| job.end).max()?);
    let is_queued = last.start > first && others().any(|job| job.end <= last.start);
    let has_company = others().any(|job| job.start <= last.start && last.start < job.end);
    let width = width(jobs);
    let length = |job: &Job| job.end.since(job.start);
    let alone = last.end.since(ended);
    if jobs.len() < 3 || width < 2 || !is_queued || !has_company || 2 * alone < length(last) {
        return None;
    }
    let all: u64 = jobs.iter().map(length).sum();
    let least = (length(last) as f64).max(all as f64 / width as f64);
    Some(LateJob {
        process: last.process,
        late: last.start.since(first),
        alone,
        gain: last.end.since(first) as f64 - least,
    })
}

fn find(basis: &FindingBasis<'_, '_>) -> Vec<Finding> {
    let batches = families(basis.input.program).into_iter().flat_map(batches);
    let late = batches.filter_map(|jobs| late_job(&jobs));
    late.filter_map(|job| finding(basis, job)).collect()
}

fn finding(basis: &FindingBasis<'_, '_>, job: LateJob) -> Option<Finding> {
    let bounds = &basis.bounds;
    let range = GainRange::up_to(job.gain, bounds).with_all_work(bounds);
    let (subject, change) = (FindingSubject::Process(job.process), (Advice::StartEarlier, range));
    let found = Finding::advised(basis, (&KIND, Limit::Work), subject, change, false)?;
    let began = sentence!["began ", TimeInWords(job.late), " after the first of its like"];
    let alone = sentence!["ran alone for ", TimeInWords(job.alone), " at the end"];
    Some(found.with(vec![began, alone, "so much only if it needs none of the others".into()]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jobs(lives: &[(u64, u64)]) -> Vec<Job> {
        let job = |(index, &(start, end)): (usize, &(u64, u64))| Job {
            process: ProcessId(index as u32),
            start: Time::from_nanoseconds(start),
            end: Time::from_nanoseconds(end),
        };
        lives.iter().enumerate().map(job).collect()
    }

    #[test]
    fn the_longest_begun_last_may_be_begun_first() {
        // 40 of work for two at a time take 20, instead of 30.
        let late = late_job(&jobs(&[(0, 5), (0, 5), (5, 10), (5, 10), (10, 15), (10, 30)])).unwrap();
        assert_eq!((late.process, late.late, late.alone), (ProcessId(5), 10, 15));
        assert!((late.gain - 7.5).abs() < 1e-9, "{late:?}");
    }

    #[test]
    fn jobs_are_divided_at_those_that_ran_alone() {
        // Two that end at once are followed by two, or by one that may need both.
        let linked = batches(jobs(&[(0, 5), (0, 5), (5, 20), (5, 20), (20, 30), (31, 40), (31, 35)]));
        assert_eq!(linked.iter().map(Vec::len).collect::<Vec<_>>(), [4, 2]);
    }

    #[test]
    fn what_is_one_step_after_the_other_or_began_with_the_first_is_not_late() {
        let in_a_row = [(0, 5), (5, 10), (10, 30)];
        let at_once = [(0, 5), (0, 5), (0, 30)];
        // The last one was delayed.
        let even = [(0, 5), (0, 5), (5, 10), (5, 12)];
        for lives in [&in_a_row[..], &at_once, &even] {
            assert_eq!(late_job(&jobs(lives)), None, "{lives:?}");
        }
    }
}
