//! Why the long pole is one: a sentence for each thing that keeps the processors from sharing the work.

use longpole_metrics::By;
use longpole_trace::Cause;

use super::facts::{Facts, waiting_for};
use crate::input::Source;
use crate::name;
use crate::quantity::{percent, percent_text, time_text};
use crate::views::most_charged_while;

/// Share of CPU time spent spinning from which on it is said, percent.
const SPINNING: f64 = 5.0;
/// Thread time in one kind of wait from which on it is said, as a share of the elapsed time, percent.
const WAITING: f64 = 10.0;
/// The same for time without a processor.
const READY: f64 = 10.0;

/// That the processors are the limit.
pub(super) fn cpu_bound(facts: &Facts) -> String {
    let used = percent_text(facts.used_percent());
    if facts.useful_percent() < super::CPU_BOUND {
        let crowded = percent_text(facts.crowded_percent);
        return format!(
            "For {crowded} of the run at least as many threads could run as there are CPUs, of which the program got {used}"
        );
    }
    let cpus = match facts.cpus {
        1 => "the only CPU was".to_owned(),
        2 => "both CPUs were".to_owned(),
        cpus => format!("all {cpus} CPUs were"),
    };
    format!("The program is CPU-bound ({cpus} in use for {used} of the run)")
}

/// CPU time that only waits.
pub(super) fn spinning(input: &Source<'_>, facts: &Facts) -> Option<String> {
    let share = percent(facts.spinning as f64, (facts.cpu + facts.spinning) as f64);
    if share < SPINNING {
        return None;
    }
    let rows = input.rows(By::Procedure);
    let most = rows.iter().max_by_key(|row| (row.own.spinning, std::cmp::Reverse(row.node)))?;
    let place = match most.node {
        longpole_metrics::Node::Procedure(id) => {
            format!(", most in `{}`", name::procedure(input.paths, input.program, id))
        }
        _ => String::new(),
    };
    Some(format!(
        "Threads spin: {} of CPU time ({}) only waits for memory to change{place}.",
        time_text(facts.spinning),
        percent_text(share),
    ))
}

/// Time in which one thread was busy and the others were not.
pub(super) fn serial(input: &Source<'_>, facts: &Facts) -> Option<String> {
    if !facts.is_serial() {
        return None;
    }
    if facts.working_threads == 1 {
        return Some(
            "All the work is done by one thread, one step after the other; the other CPUs had nothing to do."
                .to_owned(),
        );
    }
    let serial = input.analysis.busy.get(1).copied().unwrap_or(0);
    let who = most_charged_while(input, 1).map_or(String::new(), |(procedure, share)| {
        format!(", most of that in {procedure} ({})", percent_text(share))
    });
    Some(format!(
        "Only one thread was busy for {} ({} of the run){who}.",
        time_text(serial),
        percent_text(facts.serial_percent),
    ))
}

/// The longest waits of threads for each other. Waiting for the end of workers comes last: it is what a
/// thread does that has handed its work out, and says nothing by itself.
pub(super) fn waiting(input: &Source<'_>, facts: &Facts) -> Option<String> {
    let is_synchronisation = |cause: Option<Cause>| cause.is_some_and(Cause::is_synchronisation);
    let is_parent = |cause: Option<Cause>| matches!(cause, Some(Cause::Join | Cause::Child | Cause::Poll));
    let mut sums: Vec<(Option<Cause>, u64)> = Vec::new();
    for wait in facts.waits.iter().filter(|wait| is_synchronisation(wait.cause) && !is_parent(wait.cause)) {
        match sums.iter_mut().find(|(cause, _)| *cause == wait.cause) {
            Some((_, sum)) => *sum += wait.time,
            None => sums.push((wait.cause, wait.time)),
        }
    }
    let &(cause, sum) = sums.iter().max_by_key(|&&(cause, sum)| (sum, std::cmp::Reverse(cause)))?;
    if percent(sum as f64, facts.elapsed as f64) < WAITING {
        return None;
    }
    let longest = facts.waits.iter().find(|wait| wait.cause == cause)?;
    let most = if 2 * longest.time > sum { "most" } else { "the longest" };
    let place = &longest.place;
    let split = input.barrier_split().filter(|_| cause == Some(Cause::Barrier));
    let uneven = match split {
        Some(split) if split.imbalance > split.insufficient => ": the work between barriers is uneven",
        Some(split) if split.insufficient > 0.0 => ": meanwhile others did what these had no part in",
        _ => "",
    };
    Some(format!(
        "Threads spent {} in all {}, {most} in {place}{uneven}.",
        time_text(sum),
        waiting_for(cause)
    ))
}

/// Time of threads that could have run.
pub(super) fn ready(facts: &Facts) -> Option<String> {
    let share = percent(facts.ready as f64, facts.elapsed as f64);
    if share < READY {
        return None;
    }
    let time = time_text(facts.ready);
    let used = facts.used_percent();
    Some(if used >= 70.0 {
        format!("Threads waited {time} in all for a CPU: more of them could run than there are CPUs.")
    } else {
        let used = percent_text(used);
        format!(
            "Threads waited {time} in all for a CPU, yet the program used only {used} of the CPUs: others used them, or it is pinned or has a quota."
        )
    })
}
