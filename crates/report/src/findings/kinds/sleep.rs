//! Sleep: waits for the clock on the elapsed-weighted critical path. The run gains at most their length, if what is really
//! waited for comes earlier, and is no shorter than what it computes on the critical path.

use std::collections::BTreeSet;

use longpole_trace::Cause;

use crate::findings::RankedWork;
use crate::findings::finding::{
    Advice, Finding, FindingBasis, FindingKind, FindingSubject, LeadingAnswer, Limit,
};
use crate::findings::gain::GainRange;
use crate::findings::next::{PATH_WITH_WAITS, PROFILE, WAITS};
use crate::findings::placed_waits::PlacedWait;
use crate::findings::sentence::{Sentence, ShareInWords, TimeInWords, sentence};
use crate::findings::threshold::{IDLE, OTHER_WAITS};

/// The entry of the table.
pub(crate) static KIND: FindingKind = FindingKind {
    what: "sleep, a timer, also one of an event loop",
    when: "it is on the elapsed-weighted critical path: up to its time on it, to the elapsed time less the critical path, to what the CPUs leave, and to the time in which fewer threads could run than there are CPUs, or none ran; sleeps until a thread looks again are ranked by those after which it did not sleep again, and gain no more than those in an event loop, or where only one thread looks there, so that nobody else can take what it waits for; leads the answer where no thread could run for half of the run or more, and it may gain half of that",
    advice: "*wait for the event* instead",
    find,
    answer: waiting_answer,
};

fn find(basis: &FindingBasis<'_, '_>) -> Vec<Finding> {
    let facts = &basis.facts;
    let waits = facts
        .path_waits
        .iter()
        .filter(|wait| wait.cause.is_of_clock())
        .filter(|wait| !is_of_runtime(basis, wait));
    // A thread may sleep while others compute what it waits for, and look too late: that has to be computed all the same.
    let waited = facts.elapsed.saturating_sub(facts.path);
    let found = waits.filter_map(|wait| {
        let LastSleeps { time: last, threads } = last_sleeps(basis, wait);
        if only_looks(wait, last) {
            return None;
        }
        // What has come stays there, unless another thread takes it before this one looks.
        let is_taken = wait.cause == Cause::PollingSleep && threads > 1;
        let most = if is_taken { wait.time } else { last };
        let gain = GainRange::up_to(most.min(waited) as f64, &basis.bounds).of_shorter_waits(&basis.bounds);
        let mut found = Finding::advised_wait(basis, (&KIND, Limit::Idle), wait, (Advice::AwaitEvent, gain))?;
        let again = sentence!["after ", TimeInWords(wait.time - last), " of that it slept again"];
        found.evidence.extend((2 * last < wait.time).then_some(again));
        found.leads = facts.of_run(facts.idle) >= IDLE && 2.0 * gain.high >= facts.idle as f64;
        // After the others what it waits for had mostly not come yet; that it came and went meanwhile is not known.
        found.weight = found.weight.min(last as f64 / 2.0);
        Some(found)
    });
    found.collect()
}

/// Whether a thread of Go's runtime sleeps until it looks after the others.
fn is_of_runtime(basis: &FindingBasis<'_, '_>, wait: &PlacedWait) -> bool {
    wait.place.is_some_and(|id| basis.input.paths.procedure_named_by(id).name == "runtime.sysmon")
}

/// Whether an event loop waits so that mostly has nothing to do but look again: nobody waits for that.
pub(super) fn is_event_loop(basis: &FindingBasis<'_, '_>, wait: &PlacedWait) -> bool {
    only_looks(wait, last_sleeps(basis, wait).time)
}

/// The same, where `last` of it are [`last_sleeps`].
fn only_looks(wait: &PlacedWait, last: u64) -> bool {
    wait.cause == Cause::PollTimeout && 2 * last < wait.time
}

/// Sleeps after which a thread does not sleep again.
struct LastSleeps {
    time: u64,
    /// How many threads sleep there; of sleeps that are no polls not counted.
    threads: usize,
}

/// The part of this wait in polling sleeps, or timers of an event loop, after which the thread did not sleep again; of other sleeps all of it.
fn last_sleeps(basis: &FindingBasis<'_, '_>, wait: &PlacedWait) -> LastSleeps {
    if !matches!(wait.cause, Cause::PollTimeout | Cause::PollingSleep) {
        return LastSleeps { time: wait.time, threads: 0 };
    }
    let input = basis.input;
    let (mut all, mut last, mut threads) = (0.0, 0.0, BTreeSet::new());
    for charge in &input.analysis.charges {
        let slept = charge.measures.blocked_for(wait.cause) as f64;
        let place = input.paths.innermost(charge.path).map(|place| place.procedure);
        if slept > 0.0 && place == wait.place {
            let polled = input.analysis.polls.get(charge.thread.index()).copied().unwrap_or_default();
            threads.insert(charge.thread);
            all += slept;
            last += slept * polled.useful_part();
        }
    }
    let part = if all > 0.0 { last / all } else { 1.0 };
    let time = ((wait.time as f64 * part).round() as u64).min(wait.time);
    LastSleeps { time, threads: threads.len() }
}

/// The answer where a wait leads: how much of the run it is, and what computing there is.
pub(super) fn waiting_answer(basis: &FindingBasis<'_, '_>, finding: &Finding) -> LeadingAnswer {
    let FindingBasis { input, facts, .. } = basis;
    let FindingSubject::Wait(led) = &finding.subject else { unreachable!("waits lead with a wait") };
    let idle = facts.of_run(facts.idle);
    let headline = if idle >= IDLE {
        let all = sentence![
            TimeInWords(facts.idle),
            " of ",
            TimeInWords(facts.elapsed),
            " elapsed (",
            ShareInWords(idle),
            ")"
        ];
        let most = sentence![led.text(input), " (", TimeInWords(led.time), ")"];
        sentence![
            "The long pole is waiting, not work: for ",
            all,
            " no thread could run; most of it ",
            most,
            "."
        ]
    } else {
        let share =
            sentence![TimeInWords(led.time), ", ", ShareInWords(facts.of_run(led.time)), " of the run"];
        sentence!["The long pole: ", led.text(input), " — ", share, "."]
    };
    let is_other = |wait: &&PlacedWait| *wait != led && facts.of_run(wait.time) >= OTHER_WAITS;
    let others = facts.path_waits.iter().filter(is_other).take(2);
    let others: Vec<Sentence> =
        others.map(|wait| sentence![wait.text(input), " (", TimeInWords(wait.time), ")"]).collect();
    let mut reasons = Vec::new();
    if !others.is_empty() {
        reasons.push(sentence!["Also ", Sentence::joined(others, " and "), "."]);
    }
    // Work that excludes other work is not on the critical path by CPU time: what counts is when anything can run.
    let busy = facts.elapsed.saturating_sub(facts.idle);
    let computing = sentence![TimeInWords(busy), " of the run (", ShareInWords(facts.of_run(busy)), ")"];
    reasons.push(sentence![
        "Threads run, or wait for a CPU, for ",
        computing,
        ": faster code gains no more than that."
    ]);
    let next = vec![WAITS, PATH_WITH_WAITS, PROFILE];
    LeadingAnswer { headline, reasons, ranked_by: Some(RankedWork::CriticalPath), next }
}
