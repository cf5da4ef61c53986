//! What answers rest on: the counts of the evidence ledger, and when they matter.

use longpole_trace::{Cause, Evidence};

use crate::findings::threshold::{
    FEW_OBSERVATIONS, LOSSES, LOSSES_HIDE, LOSSES_LEAD, OVERHEAD, RECORDER, TIMER_OFF, TIMER_SAMPLES,
    UNKNOWN_WAITS,
};
use crate::input::ReportTables;
use crate::quantity::{count_of, grouped, percent, percent_text, seconds, time_text};
use crate::{mpi_evidence, termination, unnamed_code};

/// The evidence as JSON shows it.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct Facts {
    /// What collected.
    pub collector: String,
    /// Events read.
    pub events: u64,
    /// Timer samples among them.
    pub samples: u64,
    /// Events of every kind that were lost.
    pub lost_events: u64,
    /// Entries and exits of instrumented procedures that were lost; absent where none were.
    #[serde(skip_serializing_if = "is_none")]
    pub lost_calls: u64,
    /// Calls of MPI that were lost; absent where none were.
    #[serde(skip_serializing_if = "is_none")]
    pub lost_communications: u64,
    /// Stacks lost of events that are there.
    pub lost_stacks: u64,
    /// Wakes without a sleeper, switch-ins without a wake.
    pub unmatched_wakes: u64,
    /// Share of CPU time without a procedure's name.
    pub unsymbolised_percent: f64,
    /// Share of blocked time of which no cause is known.
    pub unexplained_wait_percent: f64,
    /// Cost of collecting; null where it was not measured.
    pub overhead_percent: Option<f64>,
    /// The collector's own time in the program's threads as a share of their CPU time, which no other number has; null
    /// where they told of none.
    pub overhead_removed_percent: Option<f64>,
    /// Warnings, notes of the collector, defects.
    pub notes: Vec<String>,
}

impl Facts {
    /// The facts of a recording.
    pub(crate) fn of(input: &ReportTables<'_>) -> Facts {
        let evidence = input.evidence;
        let round = |share: f64| (share * 1e4).round() / 1e4;
        let mut notes = warnings(input);
        notes.extend(kept_part(input));
        notes.extend(evidence.notes.iter().cloned());
        Facts {
            collector: evidence.collector.clone(),
            events: evidence.events,
            samples: evidence.samples,
            lost_events: lost(evidence),
            lost_calls: evidence.lost_calls,
            lost_communications: evidence.lost_communications,
            lost_stacks: evidence.lost_stacks,
            unmatched_wakes: evidence.unmatched_wakes,
            unsymbolised_percent: round(unnamed_code::share(input).0),
            unexplained_wait_percent: round(unexplained_wait_percent(input)),
            overhead_percent: overhead_percent(input).map(round),
            overhead_removed_percent: (evidence.overhead_nanoseconds > 0)
                .then(|| round(removed_percent(input))),
            notes,
        }
    }
}

#[allow(clippy::trivially_copy_pass_by_ref)] // As serde calls it.
fn is_none(count: &u64) -> bool {
    *count == 0
}

/// Everything the collector lost but stacks and calls.
pub(crate) fn lost(evidence: &Evidence) -> u64 {
    evidence.lost_events + evidence.lost_samples + evidence.lost_threads
}

/// CPU time of the collectors of outside series as a share of one processor over the run, percent.
pub(crate) fn outside_percent(input: &ReportTables<'_>) -> f64 {
    let cpu: f64 = input.evidence.outside.iter().map(|account| account.cpu_seconds).sum();
    percent(cpu, seconds(input.analysis.elapsed))
}

/// Cost of collecting as a share of the program's CPU time, where it was measured.
pub(crate) fn overhead_percent(input: &ReportTables<'_>) -> Option<f64> {
    input.evidence.overhead_percent(seconds(input.totals().cpu()))
}

/// The collector's own time in the program's threads, which is taken out of all numbers, as a share of their CPU time with
/// it, percent.
pub(crate) fn removed_percent(input: &ReportTables<'_>) -> f64 {
    let totals = input.totals();
    percent(totals.overhead as f64, (totals.cpu() + totals.overhead) as f64)
}

/// What makes the answers of this recording less certain than they look; one sentence each, the worst
/// first. Empty when nothing does.
pub(crate) fn warnings(input: &ReportTables<'_>) -> Vec<String> {
    let evidence = input.evidence;
    let mut warnings = Vec::new();
    warn_of_losses(evidence, &mut warnings);
    warnings.extend(mpi_evidence::lost_calls(evidence));
    warnings.extend(termination::ended_by_signal(evidence));
    warnings.extend(termination::failed(input.program, evidence));
    warnings.extend(termination::outlived(input.program, evidence));
    if evidence.lost_calls > 0 {
        warnings.push(format!(
            "{} entries and exits of instrumented procedures were lost, and the time about them is with whoever was \
             entered before: shares of procedures can be far off; `record` without --calls samples them",
            grouped(evidence.lost_calls)
        ));
    }
    if evidence.truncated {
        // The recorder notes what cut it short; a killed recorder could not. Its last events may contradict each other too.
        let reason = evidence.failure().unwrap_or("the recording ends before the program did");
        warnings.push(reason.to_owned());
    }
    warnings.extend(few_samples(input));
    warnings.extend(timer_in_step(input));
    warnings.extend(unnamed_code::warnings(input));
    warnings.extend(goroutines(input));
    let unexplained = unexplained_wait_percent(input);
    let is_long = 20 * unexplained_wait(input) > input.analysis.elapsed;
    if unexplained > UNKNOWN_WAITS && is_long {
        warnings.push(format!("of {} of the waiting no cause is known", percent_text(unexplained)));
    }
    warnings.extend(mpi_evidence::much_not_understood(input));
    if let Some(overhead) = overhead_percent(input).filter(|&overhead| overhead > OVERHEAD) {
        let share = percent_text(overhead);
        warnings
            .push(format!("collecting cost {share} of the program's CPU time and may have changed the run"));
    }
    warnings.extend(cost_of_recorder(input));
    let outside = outside_percent(input);
    if outside > OVERHEAD {
        let share = percent_text(outside);
        warnings.push(format!("outside series cost {share} of one processor and may have changed the run"));
    }
    let removed = removed_percent(input);
    if removed > OVERHEAD {
        let share = percent_text(removed);
        warnings.push(format!(
            "{share} of the threads' CPU time was the collector's; it is taken out of all numbers, but may have changed the run"
        ));
    }
    if evidence.attached {
        warnings.push("attached to a running program: what happened before is not known".to_owned());
    }
    // Last, so that it never stands in the place of what makes an answer wrong.
    let share = lost_percent(evidence);
    if lost(evidence) > 0 && share < LOSSES {
        warnings.push(format!("{} lost ({})", count_of(lost(evidence), "event"), percent_text(share)));
    }
    warnings
}

/// That the recorder took much of the processors.
fn cost_of_recorder(input: &ReportTables<'_>) -> Option<String> {
    let (used, processors) = (input.evidence.recorder_cpu_seconds, f64::from(input.program.cpus().max(1)));
    let share = percent(used, seconds(input.analysis.elapsed) * processors);
    let (share_text, used_text) = (percent_text(share), time_text((used * 1e9) as u64));
    (share > OVERHEAD && used * 1e9 >= RECORDER).then(|| {
        format!("the recorder took {used_text} of CPU time beside the program ({share_text} of the CPUs), for which threads may have waited")
    })
}

fn few_samples(input: &ReportTables<'_>) -> Option<String> {
    let samples = input.analysis.effective_samples.cpu;
    let has_work = input.analysis.charges.iter().any(|charge| charge.measures.running > 0);
    (has_work && samples < FEW_OBSERVATIONS).then(|| {
        let samples = count_of(samples.round() as u64, "observation");
        format!("shares of procedures rest on only {samples}; times of threads need none")
    })
}

/// The division of CPU time needs a timer that knows nothing of the program.
fn timer_in_step(input: &ReportTables<'_>) -> Option<String> {
    let timer = input.analysis.timer;
    if timer.is_in_step() {
        return Some(
            "the sampling timer was in step with the program: the division of CPU time among procedures is not reliable"
                .to_owned(),
        );
    }
    let evidence = input.evidence;
    let seen = input.analysis.precisions.cpu.samples();
    let expected = seen as f64 * timer.period * f64::from(evidence.sample_hertz) / 1e9;
    let ratio = seen as f64 / expected;
    let is_far = evidence.lost_samples == 0
        && expected > TIMER_SAMPLES
        && !(1.0 / TIMER_OFF..TIMER_OFF).contains(&ratio);
    is_far.then(|| {
        let expected = grouped(expected.round() as u64);
        format!(
            "{} timer samples found work where {expected} were to be expected: the division of CPU time among procedures is not reliable",
            grouped(seen)
        )
    })
}

/// Goroutines wait for each other without the kernel, which sees the threads that have nothing to do.
fn goroutines(input: &ReportTables<'_>) -> Option<String> {
    let has_goroutines = input.paths.procedures().iter().any(|procedure| procedure.name == "runtime.goexit");
    has_goroutines.then(|| {
        "locks and channels of goroutines are not seen, only where Go's threads ran out of work: who waits for whom is not known".to_owned()
    })
}

/// The warning that an answer has to begin with, one of [`warnings`]: so much was lost, or the recorder had to stop, that
/// what follows is about a part of what happened.
pub(crate) fn leading_warning(input: &ReportTables<'_>) -> Option<String> {
    if lost_percent(input.evidence) >= LOSSES_LEAD {
        return Some(warnings(input).swap_remove(0));
    }
    termination::crashed(input.evidence)
        .or_else(|| input.evidence.failure().filter(|_| input.evidence.truncated).map(str::to_owned))
}

/// That the recording is of the last part of the run only.
pub(crate) fn kept_part(input: &ReportTables<'_>) -> Option<String> {
    let dropped = input.evidence.dropped_nanoseconds.filter(|&dropped| dropped > 0)?;
    Some(format!(
        "The recording is of the last part of the run; the {} before it were not kept.",
        time_text(dropped)
    ))
}

/// Lost events as a share of all.
pub(crate) fn lost_percent(evidence: &Evidence) -> f64 {
    let lost = lost(evidence);
    percent(lost as f64, (lost + evidence.events) as f64)
}

/// Error of a time or gain by what was lost, % of the run: each lost event ends one stay in a state and begins another, and both are
/// wrong without it. `None` where hardly any event was lost.
pub(crate) fn loss_error(evidence: &Evidence) -> Option<f64> {
    let lost = lost_percent(evidence);
    (lost >= LOSSES).then(|| (2.0 * lost).min(100.0))
}

fn warn_of_losses(evidence: &Evidence, warnings: &mut Vec<String>) {
    let lost = lost(evidence);
    let share = lost_percent(evidence);
    if share >= LOSSES_LEAD {
        let lost = count_of(lost, "event");
        let what_follows = if share >= LOSSES_HIDE {
            "what follows is about the rest, and no gains are predicted; a part of the run (--duration), or fewer options \
             (--locks, --calls), may be recorded whole"
        } else {
            "what follows is about the rest; times, waits and gains are wrong by about as much, and ranges allow for that"
        };
        warnings.push(format!("{} of the events were lost ({lost}): {what_follows}", percent_text(share)));
    } else if share >= LOSSES {
        let lost = count_of(lost, "event");
        warnings.push(format!(
            "{lost} lost ({}); times and waits are wrong by about as much",
            percent_text(share)
        ));
    }
    if let Some(damage) = damage(evidence) {
        warnings.push(format!("the recording is damaged: {damage}"));
    }
    let share = percent(evidence.lost_stacks as f64, (evidence.lost_stacks + evidence.events) as f64);
    if share >= LOSSES {
        let stacks = count_of(evidence.lost_stacks, "stack");
        warnings.push(format!(
            "{stacks} lost ({} of the events); who waited where is partly unknown",
            percent_text(share)
        ));
    }
    let odd = [
        (evidence.contradictions, "contradict those before them", "some were lost uncounted"),
        (
            evidence.disordered,
            "were written down after later ones",
            "they stand at the later time, and times around them are wrong",
        ),
    ];
    for (count, what, follows) in odd {
        let share = percent(count as f64, evidence.events as f64);
        if share >= LOSSES {
            let count = count_of(count, "event");
            warnings.push(format!("{count} {what} ({}): {follows}", percent_text(share)));
        }
    }
}

/// Damage of the recording's files in words.
fn damage(evidence: &Evidence) -> Option<String> {
    let defects = &evidence.defects;
    let kinds = [
        (defects.damaged_chunks, "damaged chunk"),
        (defects.undecodable_chunks, "undecodable chunk"),
        (defects.torn_bytes, "torn byte"),
        (evidence.lost_definitions, "lost definition"),
    ];
    let told: Vec<String> =
        kinds.iter().filter(|(count, _)| *count > 0).map(|&(count, kind)| count_of(count, kind)).collect();
    (!told.is_empty()).then(|| told.join(", "))
}

/// Share of blocked time of which no cause is known.
pub(crate) fn unexplained_wait_percent(input: &ReportTables<'_>) -> f64 {
    let blocked: u64 = input.analysis.threads.iter().flat_map(|thread| &thread.blocked).sum();
    percent(unexplained_wait(input) as f64, blocked as f64)
}

/// Blocked time of which no cause is known, nanoseconds.
fn unexplained_wait(input: &ReportTables<'_>) -> u64 {
    let other = |blocked: &Vec<u64>| blocked.get(Cause::Other.index()).copied().unwrap_or(0);
    input.analysis.threads.iter().map(|thread| other(&thread.blocked)).sum()
}
