//! What holds the program back, in words: the facts of a run, the verdict they lead to, and what to do next.
//!
//! Verdicts are tried in this order, because each makes the ranking that comes after it beside the point:
//!
//! ```text
//!   nothing recorded      → say why, and what is exact nevertheless
//!   waits, not work       → in most of the run no thread could run
//!   CPU-bound             → the processors were busy nearly always: the CPU profile ranks
//!   everything else       → the critical path ranks; serial time, waits and spinning say why
//! ```

mod facts;
mod next;
mod pole;
mod reasons;

use crate::evidence::lost;
use crate::input::Source;
use crate::quantity::{count_of, percent, percent_text, time_text};

use facts::waiting_for;
pub(crate) use facts::{Facts, Wait};
use next::{
    DOCTOR, EVIDENCE, LINES, PARALLELISM, PATH_BY_LINE, PATH_WITH_WAITS, PROFILE, THREADS, TREE, WAITS,
    what_if,
};
pub(crate) use next::{GUIDANCE, Next};
use pole::Pole;
pub(crate) use pole::{is_named, largest_caller};

/// Share of the CPUs' time in use from which on a program is CPU-bound, percent.
const CPU_BOUND: f64 = 85.0;
/// Share of the run in which no thread could run from which on the program is said to wait, percent.
const WAITING: f64 = 50.0;

/// CPU time that a timer may miss altogether, nanoseconds.
const TOO_SHORT: u64 = 50_000_000;

/// What the ranking of the summary is by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RankedBy {
    /// The critical path.
    CriticalPath,
    /// CPU time.
    Cpu,
    /// Nothing: no procedure is known.
    Nothing,
}

/// The answer.
#[derive(Clone, Debug)]
pub(crate) struct Diagnosis {
    /// The answer in one sentence.
    pub headline: String,
    /// Why, a sentence each, the weightiest first.
    pub reasons: Vec<String>,
    /// What procedures are ranked by.
    pub ranked_by: RankedBy,
    /// Commands that show more, the best first.
    pub next: Vec<Next>,
}

/// Says what holds the program back.
pub(crate) fn diagnose(input: &Source<'_>) -> Diagnosis {
    let facts = Facts::of(input);
    if facts.cpu + facts.spinning + facts.blocked == 0 {
        return nothing(input, &facts);
    }
    if percent(facts.idle as f64, facts.elapsed as f64) >= WAITING {
        return waits(&facts);
    }
    if Pole::by_cpu(input).is_none() {
        return unnamed(&facts);
    }
    if facts.is_cpu_bound() {
        return cpu_bound(input, &facts);
    }
    held_back(input, &facts)
}

fn nothing(input: &Source<'_>, facts: &Facts) -> Diagnosis {
    let evidence = input.evidence;
    let why = if lost(evidence) > 0 {
        format!("{} were lost, and none arrived", count_of(lost(evidence), "event"))
    } else if input.program.threads.is_empty() {
        "no thread of the program was seen".to_owned()
    } else {
        let threads = count_of(input.program.threads.len() as u64, "thread");
        format!("{threads} seen, but none of them ran or waited while it was recorded")
    };
    let elapsed = time_text(facts.elapsed);
    Diagnosis {
        headline: format!("Nothing was recorded in {elapsed}: {why}."),
        reasons: Vec::new(),
        ranked_by: RankedBy::Nothing,
        next: vec![EVIDENCE, DOCTOR],
    }
}

fn waits(facts: &Facts) -> Diagnosis {
    let elapsed = facts.elapsed;
    let told =
        |wait: &Wait| format!("{} in {} ({})", waiting_for(wait.cause), wait.place, time_text(wait.time));
    let mut waits = if facts.path_waits.is_empty() { &facts.waits } else { &facts.path_waits }.iter();
    let longest = waits.next().map_or(String::new(), |wait| format!("; most of it {}", told(wait)));
    let idle = percent_text(percent(facts.idle as f64, elapsed as f64));
    let headline = format!(
        "The long pole is waiting, not work: for {} of {} elapsed ({idle}) all threads waited{longest}.",
        time_text(facts.idle),
        time_text(elapsed),
    );
    let mut reasons: Vec<String> = Vec::new();
    let others: Vec<String> = waits.filter(|wait| wait.time * 20 > elapsed).take(2).map(told).collect();
    if !others.is_empty() {
        reasons.push(format!("Also {}.", others.join(" and ")));
    }
    let share = percent_text(percent(facts.path as f64, elapsed as f64));
    let path = time_text(facts.path);
    reasons.push(format!("Computing made {path} of the run ({share}): faster code gains no more than that."));
    Diagnosis {
        headline,
        reasons,
        ranked_by: RankedBy::CriticalPath,
        next: vec![WAITS, PATH_WITH_WAITS, PROFILE],
    }
}

fn cpu_bound(input: &Source<'_>, facts: &Facts) -> Diagnosis {
    let pole = Pole::by_cpu(input);
    let what = pole.as_ref().map_or("no procedure is known".to_owned(), |pole| {
        format!("its CPU time goes to {}", pole.sentence("it"))
    });
    let headline = format!("The long pole: CPU time. {}; {what}.", reasons::cpu_bound(facts));
    let mut reasons: Vec<String> = pole.iter().filter_map(Pole::on_whose_behalf).collect();
    reasons.extend(reasons::spinning(input, facts));
    reasons.extend(reasons::ready(facts));
    reasons.extend(pole.iter().flat_map(Pole::remarks));
    if reasons.len() < 2 {
        reasons.push("Only less work makes it faster here; more threads would not.".to_owned());
    }
    let next = [LINES].into_iter().chain(half_of(input, pole.as_ref())).chain([TREE, THREADS]);
    Diagnosis { headline, reasons, ranked_by: RankedBy::Cpu, next: next.collect() }
}

fn held_back(input: &Source<'_>, facts: &Facts) -> Diagnosis {
    let Some(pole) = Pole::by_path(input) else { return unnamed(facts) };
    let headline = format!("The long pole: {}.", pole.sentence("the critical path"));
    let mut reasons: Vec<String> = pole.on_whose_behalf().into_iter().collect();
    reasons.extend(reasons::spinning(input, facts));
    let waiting = reasons::waiting(input, facts);
    let waits = waiting.is_some().then_some(WAITS);
    reasons.extend(waiting);
    reasons.extend(reasons::serial(input, facts));
    reasons.extend(reasons::ready(facts));
    reasons.extend(pole.remarks());
    let mut next: Vec<Next> = half_of(input, Some(&pole)).into_iter().chain(waits).collect();
    next.extend(facts.is_serial().then_some(PARALLELISM));
    next.extend([PATH_BY_LINE, PROFILE]);
    Diagnosis { headline, reasons, ranked_by: RankedBy::CriticalPath, next }
}

/// What half of the pole would gain, where it is one procedure.
fn half_of(input: &Source<'_>, pole: Option<&Pole>) -> Option<Next> {
    what_if(input, pole?.procedure()?)
}

/// Work was seen, but no procedure: what is exact nevertheless.
fn unnamed(facts: &Facts) -> Diagnosis {
    let headline = format!(
        "No procedure can be named: of {} of CPU time no call path was seen.",
        time_text(facts.cpu + facts.spinning),
    );
    let advice = if facts.cpu + facts.spinning < TOO_SHORT {
        "The program was too short for the timer. Run it longer, or sample more often (record -F 10000)."
    } else {
        "The evidence says what was lost."
    };
    Diagnosis {
        headline,
        reasons: vec!["Times of threads are known.".to_owned(), advice.to_owned()],
        ranked_by: RankedBy::Nothing,
        next: vec![THREADS, EVIDENCE],
    }
}
