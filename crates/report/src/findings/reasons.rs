//! Why the run is as long as it is: a sentence for each thing that keeps the processors from sharing the work.

use longpole_trace::Cause;

use super::facts::{RunFacts, is_for_each_other};
use super::finding::FindingBasis;
use super::placed_waits::waiting_for;
use super::sentence::{Sentence, ShareInWords, TimeInWords, sentence};
use super::threshold::{CPU_BOUND, LONG_WAITS, READY, SPINNING};
use crate::input::ReportTables;
use crate::quantity::{grouped, rounded};
use crate::views::most_charged_while;

/// That the processors are the limit.
pub(super) fn cpu_bound(facts: &RunFacts) -> Sentence {
    let used = ShareInWords(facts.used_percent());
    if facts.useful_percent() < CPU_BOUND && facts.is_crowded_out() {
        let crowded = ShareInWords(facts.crowded_percent);
        let available =
            " of the run at least as many threads could run as there are CPUs, of which the program got ";
        return sentence!["For ", crowded, available, used];
    }
    let cpus = match facts.cpus {
        1 => "the only CPU".to_owned(),
        2 => "both CPUs".to_owned(),
        cpus => format!("all {cpus} CPUs"),
    };
    sentence!["The program is CPU-bound (it used ", used, " of ", cpus, ")"]
}

/// CPU time that only waits.
pub(super) fn spinning(basis: &FindingBasis<'_, '_>) -> Option<Sentence> {
    let facts = &basis.facts;
    let share = facts.own_spinning_percent();
    let most = most_spinning(basis);
    let time = TimeInWords(facts.own_spinning());
    (share >= SPINNING).then(|| {
        let waits = ") only waits for memory to change";
        sentence!["Threads spin: ", time, " of CPU time (", ShareInWords(share), waits, most, "."]
    })
}

/// Where threads spin most.
pub(super) fn most_spinning(basis: &FindingBasis<'_, '_>) -> Sentence {
    match basis.facts.most_spinning {
        Some(node) => sentence![", most in ", Sentence::name(basis.input, node)],
        None => Sentence::default(),
    }
}

/// CPU time that counts as work and may be waiting.
pub(super) fn may_wait(basis: &FindingBasis<'_, '_>) -> Option<Sentence> {
    let (input, facts) = (basis.input, &basis.facts);
    let sum: u64 = input.evidence.may_wait.iter().map(|(_, time)| time).sum();
    let &(most, time) = input.evidence.may_wait.first()?;
    let share = crate::quantity::percent(sum as f64, (facts.cpu + facts.spinning) as f64);
    (share >= SPINNING).then(|| {
        let name = Sentence::name(input, longpole_metrics::Node::Procedure(most));
        let why = ". Its loop changes nothing that others see; whether it works, its code does not say.";
        sentence!["May be waiting: ", name, ", ", TimeInWords(time), why]
    })
}

/// Time in which one thread was busy and the others were not.
pub(super) fn serial(basis: &FindingBasis<'_, '_>) -> Option<Sentence> {
    let (input, facts) = (basis.input, &basis.facts);
    if !facts.is_serial() {
        return None;
    }
    // Many threads of which each does little may take turns.
    if facts.workers == 1 && 2 * facts.busiest >= facts.cpu {
        let for_locks = waited_for_locks(input);
        if facts.of_run(for_locks) >= LONG_WAITS {
            let waited = TimeInWords(for_locks);
            return Some(sentence![
                "One thread does all the work; others waited ",
                waited,
                " in all for locks."
            ]);
        }
        let others = if facts.cpus == 2 { "the other CPU" } else { "the other CPUs" };
        return Some(sentence!["One thread does all the work; the program had none for ", others, "."]);
    }
    let serial = TimeInWords(input.analysis.busy.get(1).copied().unwrap_or(0));
    let who = most_charged_while(input, 1).map(|(node, share)| {
        sentence![", most of that in ", Sentence::name(input, node), " (", ShareInWords(share), ")"]
    });
    let of_run = ShareInWords(facts.serial_percent);
    Some(sentence!["Only one thread was busy for ", serial, " (", of_run, " of the run)", who, "."])
}

/// How long threads waited for locks, all together, those without work of their own, too.
fn waited_for_locks(input: &ReportTables<'_>) -> u64 {
    let Some(contention) = &input.input().details.contention else { return 0 };
    let objects = input.objects.all().iter().zip(&contention.objects);
    objects
        .filter(|(object, _)| object.kind.cause() == Cause::Lock)
        .map(|(_, contended)| contended.waited())
        .sum()
}

/// The longest waits of threads that work for each other.
pub(super) fn waiting(basis: &FindingBasis<'_, '_>) -> Option<Sentence> {
    let (input, facts) = (basis.input, &basis.facts);
    let for_each_other = || facts.waits.iter().filter(|wait| is_for_each_other(wait.cause));
    let of_cause = |cause| for_each_other().filter(move |wait| wait.cause == cause);
    let of_workers = |cause| of_cause(cause).map(|wait| wait.of_workers).sum::<f64>();
    // The first of equals, as they are ranked.
    let causes = for_each_other().map(|wait| wait.cause).rev();
    let cause = causes.max_by(|&a, &b| of_workers(a).total_cmp(&of_workers(b)))?;
    let sum: u64 = of_cause(cause).map(|wait| wait.time).sum();
    if facts.of_run(sum) < LONG_WAITS {
        return None;
    }
    let longest = of_cause(cause).next()?;
    let most = if 2 * longest.time > sum { ", most in " } else { ", the longest in " };
    let split = input.barrier_split().filter(|_| cause == Cause::Barrier);
    let uneven = match split {
        Some(split) if split.imbalance > split.insufficient => ": the work between barriers is uneven",
        Some(split) if split.insufficient > 0.0 => ": meanwhile others did what these had no part in",
        _ => "",
    };
    let place = longest.place(input);
    Some(sentence![
        "Threads spent ",
        TimeInWords(sum),
        " in all ",
        waiting_for(cause),
        most,
        place,
        uneven,
        "."
    ])
}

/// Time of threads that could have run.
pub(super) fn ready(facts: &RunFacts) -> Option<Sentence> {
    if facts.of_run(facts.ready) < READY {
        return None;
    }
    let used = facts.used_percent();
    let waited = sentence!["Threads waited ", TimeInWords(facts.ready), " in all for a CPU"];
    Some(if facts.is_own_crowd() {
        let quota = used_up(facts).map(|used_up| sentence!["; ", used_up]);
        sentence![waited, ": more of them could run than there are CPUs", quota, "."]
    } else {
        let who = who_has_the_cpus(facts);
        sentence![waited, ", yet the program used only ", ShareInWords(used), " of the CPUs: ", who, "."]
    })
}

/// Why the program did not get the processors that it could use.
pub(super) fn who_has_the_cpus(facts: &RunFacts) -> Sentence {
    let others = match facts.is_pinning_known {
        true => "other programs used them, or it has a quota",
        false => "other programs used them, or it is pinned or has a quota",
    };
    let quota = used_up(facts).map(|used_up| sentence![" (", used_up, ")"]);
    sentence![others, quota]
}

/// That the quota was used up, where it was.
fn used_up(facts: &RunFacts) -> Option<Sentence> {
    let quota = facts.quota.filter(|quota| quota.used.throttled_periods > 0)?;
    let of = match quota.processors {
        1.0 => "1 CPU".to_owned(),
        cpus => format!("{} CPUs", rounded(cpus)),
    };
    let [used_up, all] = [quota.used.throttled_periods, quota.used.periods].map(grouped);
    Some(sentence!["its quota of ", of, " was used up in ", used_up, " of ", all, " periods"])
}
