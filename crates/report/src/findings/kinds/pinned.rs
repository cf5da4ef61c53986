//! Pinned threads: they wait for a processor on which others of them run, while the program leaves other processors unused.
//!
//! ```text
//!   worker 1 on 0 only   crunch ===---===---        ready, since worker 2 runs
//!   worker 2 on 0 only   crunch ---===---===        processor 1 is not used
//! ```
//! If each may run on all processors of the program, the run gains at most the time for which the elapsed-weighted critical path waited
//! so, and never more than the processors leave. Whether other programs used the processors that this one left is not seen, so nothing is
//! promised.

use std::collections::BTreeMap;

use longpole_event::ThreadId;
use longpole_metrics::{Node, PathWaitKind, PinnedSet};

use crate::findings::finding::{
    Advice, Finding, FindingBasis, FindingKind, FindingSubject, LeadingAnswer, Limit,
};
use crate::findings::gain::GainRange;
use crate::findings::next::{PATH_WITH_WAITS, THREADS, TREE};
use crate::findings::reasons;
use crate::findings::sentence::{Sentence, ShareInWords, TimeInWords, sentence};
use crate::findings::threshold::SERIAL;
use crate::findings::{LeadingWork, RankedWork};
use crate::input::ReportTables;
use crate::quantity::count_of;

/// The entry of the table.
pub(crate) static KIND: FindingKind = FindingKind {
    what: "threads that are pinned to too few CPUs",
    when: "on the elapsed-weighted critical path they wait for a CPU on which others of them run, while the program uses fewer CPUs than it has: up to that time, to what the CPU-weighted path is shorter than the run, and to what the CPUs leave; leads from 30 % of the run",
    advice: "*unpin*",
    find,
    answer,
};

/// Threads that may run on the same processors only, and wait there for each other.
#[derive(Clone, Debug)]
pub(crate) struct PinnedThreads {
    pub set: PinnedSet,
    pub threads: Vec<ThreadId>,
    /// How long they waited so, all together, nanoseconds.
    pub waited: u64,
    /// Part of that on the elapsed-weighted critical path.
    pub on_path: u64,
}

/// Those of a run.
pub(in crate::findings) fn pinned_threads(input: &ReportTables<'_>) -> Vec<PinnedThreads> {
    let analysis = input.analysis;
    if analysis.pinning.times.is_empty() {
        return Vec::new();
    }
    let mut ready_on_path: BTreeMap<ThreadId, u64> = BTreeMap::new();
    for charge in &analysis.charges {
        *ready_on_path.entry(charge.thread).or_default() +=
            charge.measures.on_elapsed_path(PathWaitKind::Ready);
    }
    let mut sets: BTreeMap<PinnedSet, PinnedThreads> = BTreeMap::new();
    for time in &analysis.pinning.times {
        let new = || PinnedThreads { set: time.set, threads: Vec::new(), waited: 0, on_path: 0 };
        let found = sets.entry(time.set).or_insert_with(new);
        let ready = analysis.threads[time.thread.index()].ready.max(1) as f64;
        let on_path = ready_on_path.get(&time.thread).copied().unwrap_or(0) as f64;
        found.threads.push(time.thread);
        found.waited += time.waited;
        found.on_path += (on_path * (time.waited as f64 / ready).min(1.0)).round() as u64;
    }
    sets.into_values().collect()
}

/// `CPU 1`, `CPUs 0–3 and 8`, or how many they are where their numbers are not all known.
pub(crate) fn cpus_of(set: PinnedSet) -> String {
    if set.first.count_ones() != set.count {
        return count_of(set.count.into(), "CPU");
    }
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for cpu in (0..64).filter(|cpu| set.first >> cpu & 1 == 1) {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == cpu => *last = cpu,
            _ => runs.push((cpu, cpu)),
        }
    }
    let texts: Vec<String> = runs
        .iter()
        .map(|&(first, last)| if first == last { first.to_string() } else { format!("{first}–{last}") })
        .collect();
    let cpus = if set.count == 1 { "CPU" } else { "CPUs" };
    match texts.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{cpus} {} and {last}", rest.join(", ")),
        _ => format!("{cpus} {}", texts.concat()),
    }
}

fn find(basis: &FindingBasis<'_, '_>) -> Vec<Finding> {
    basis.facts.pinned.iter().filter_map(|pinned| finding(basis, pinned)).collect()
}

fn finding(basis: &FindingBasis<'_, '_>, pinned: &PinnedThreads) -> Option<Finding> {
    let FindingBasis { facts, bounds, .. } = basis;
    let longer = (bounds.elapsed - facts.path as f64).max(0.0);
    let gain = GainRange::up_to((pinned.on_path as f64).min(longer), bounds).with_all_work(bounds);
    let subject = FindingSubject::Pinned(pinned.set);
    let mut found = Finding::advised(basis, (&KIND, Limit::Pinning), subject, (Advice::Unpin, gain), false)?;
    found.leads = facts.of_run(gain.high.round() as u64) >= SERIAL;
    let waited = sentence![
        who(basis, pinned),
        " waited ",
        TimeInWords(pinned.waited),
        " in all for each other's ",
        if pinned.set.count == 1 { "CPU" } else { "CPUs" }
    ];
    let used = sentence!["the program used ", ShareInWords(facts.used_percent()), " of its CPUs"];
    Some(found.with(vec![waited, used]))
}

/// `worker #12`, or `worker #12 and 3 more threads`.
fn who(basis: &FindingBasis<'_, '_>, pinned: &PinnedThreads) -> Sentence {
    let first = pinned.threads.first().map(|&id| Sentence::name(basis.input, Node::Thread(id)));
    match pinned.threads.len() {
        0 | 1 => first.into(),
        all => sentence![first, format!(" and {}", count_of(all as u64 - 1, "more thread"))],
    }
}

fn answer(basis: &FindingBasis<'_, '_>, finding: &Finding) -> LeadingAnswer {
    let FindingBasis { input, facts, .. } = basis;
    let FindingSubject::Pinned(set) = finding.subject else { unreachable!("it leads with a set") };
    let pinned = facts.pinned.iter().find(|pinned| pinned.set == set);
    let on_path = pinned.map_or(0, |pinned| pinned.on_path);
    let work = LeadingWork::largest(input, RankedWork::Cpu);
    let own = work.as_ref().map(|work| sentence![" The CPU time goes to ", work.sentence("it"), "."]);
    let headline = sentence![
        "The long pole: threads that may run on ",
        cpus_of(set),
        " only and wait there for each other — ",
        TimeInWords(on_path),
        ", ",
        ShareInWords(facts.of_run(on_path)),
        " of the run, while the program used ",
        ShareInWords(facts.used_percent()),
        format!(" of its {}.", count_of(facts.cpus.into(), "CPU")),
        own,
    ];
    let mut reasons: Vec<Sentence> =
        finding.evidence.first().map(|who| sentence![who.clone(), "."]).into_iter().collect();
    reasons.push("They pinned themselves, or were pinned: sched_setaffinity, a runtime's setting (OMP_PROC_BIND, GOMP_CPU_AFFINITY), or a set of CPUs of their control group.".into());
    reasons.extend(reasons::spinning(basis));
    reasons.extend(reasons::waiting(basis));
    LeadingAnswer {
        headline,
        reasons,
        ranked_by: Some(RankedWork::Cpu),
        next: vec![THREADS, PATH_WITH_WAITS, TREE],
    }
}

#[cfg(test)]
mod tests {
    use longpole_event::MachineId;

    use super::*;

    #[test]
    fn processors_are_named_by_their_numbers() {
        let named = |count, first| cpus_of(PinnedSet { machine: MachineId(0), count, first });
        assert_eq!(named(1, 0b10), "CPU 1");
        assert_eq!(named(2, 0b11), "CPUs 0–1");
        assert_eq!(named(2, 0b101), "CPUs 0 and 2");
        assert_eq!(named(6, 0b1_0111_1001), "CPUs 0, 3–6 and 8");
        // Others have numbers that are not kept.
        assert_eq!(named(3, 0b1), "3 CPUs");
    }
}
