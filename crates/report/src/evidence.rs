//! What answers rest on: the counts of the evidence ledger, and when they matter.

use longpole_trace::Cause;

use crate::input::Input;
use crate::quantity::{count_of, percent, percent_text};

/// From this share of CPU time without a name on, answers say so (percent).
const UNSYMBOLISED_MATTERS: f64 = 5.0;
/// From this cost of collecting on, answers say so (percent of the program's CPU time).
const OVERHEAD_MATTERS: f64 = 5.0;
/// From this share of waiting without a known cause on, answers say so (percent).
const UNEXPLAINED_MATTERS: f64 = 20.0;
/// Below this many effective samples, answers say so: the error of a share of 50 % is 5 points.
const FEW_SAMPLES: f64 = 100.0;
/// From this share of events lost on, nothing may be believed (percent).
const LOSSES_SPOIL: f64 = 1.0;

/// What was collected, lost, not understood, and what collecting cost.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Evidence {
    /// What collected: `bpf`, `perf`, `import`.
    pub collector: String,
    /// Timer samples per second and processor that were asked for.
    pub sample_hertz: u32,
    /// Events read: switches, wakes, starts, ends, samples.
    pub events: u64,
    /// Timer samples among them.
    pub samples: u64,
    /// Switches, wakes, starts and ends that the collector lost.
    pub lost_events: u64,
    /// Samples that the collector lost.
    pub lost_samples: u64,
    /// Stacks lost of events that are there.
    pub lost_stacks: u64,
    /// Threads that did not fit the collector's table.
    pub lost_threads: u64,
    /// Wakes that found no blocked thread, and switch-ins that no wake preceded.
    pub unmatched_wakes: u64,
    /// Share of CPU time charged to procedures without a name, percent.
    pub unsymbolised_percent: f64,
    /// CPU time of collecting as a share of the program's, percent; `None` where it was not measured.
    pub overhead_percent: Option<f64>,
    /// The recording began when the program was already running.
    pub attached: bool,
    /// The recording ends before the program did.
    pub truncated: bool,
    /// Defects of the recording by kind, such as `damaged chunks`; kinds that did not occur are absent.
    pub defects: Vec<(String, u64)>,
    /// What else a reader has to know.
    pub notes: Vec<String>,
}

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
    /// Warnings, notes of the collector, defects.
    pub notes: Vec<String>,
}

impl Evidence {
    /// Everything the collector lost but stacks.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.lost_events + self.lost_samples + self.lost_threads
    }

    pub(crate) fn facts(input: &Input<'_>) -> Facts {
        let evidence = input.evidence;
        let round = |share: f64| (share * 1e4).round() / 1e4;
        let mut notes = evidence.warnings(input);
        notes.extend(evidence.notes.iter().cloned());
        Facts {
            collector: evidence.collector.clone(),
            events: evidence.events,
            samples: evidence.samples,
            lost_events: evidence.lost(),
            lost_stacks: evidence.lost_stacks,
            unmatched_wakes: evidence.unmatched_wakes,
            unsymbolised_percent: round(evidence.unsymbolised_percent),
            unexplained_wait_percent: round(unexplained_wait_percent(input)),
            overhead_percent: evidence.overhead_percent.map(round),
            notes,
        }
    }

    /// What makes the answers of this recording less certain than they look; one sentence each, the worst
    /// first. Empty when nothing does.
    pub(crate) fn warnings(&self, input: &Input<'_>) -> Vec<String> {
        let mut warnings = Vec::new();
        self.warn_of_losses(&mut warnings);
        if self.truncated {
            warnings.push("the recording ends before the program did".to_owned());
        }
        let samples = input.analysis.effective_samples.cpu;
        if samples < FEW_SAMPLES && input.analysis.charges.iter().any(|charge| charge.measures.running > 0) {
            let samples = count_of(samples.round() as u64, "sample");
            warnings.push(format!(
                "shares of procedures rest on the worth of only {samples}; times of threads are exact"
            ));
        }
        if self.unsymbolised_percent > UNSYMBOLISED_MATTERS {
            let share = percent_text(self.unsymbolised_percent);
            warnings.push(format!("{share} of the CPU time ran in code without names (no symbols found)"));
        }
        let unexplained = unexplained_wait_percent(input);
        if unexplained > UNEXPLAINED_MATTERS {
            warnings.push(format!("of {} of the waiting no cause is known", percent_text(unexplained)));
        }
        if let Some(overhead) = self.overhead_percent.filter(|&overhead| overhead > OVERHEAD_MATTERS) {
            let share = percent_text(overhead);
            warnings.push(format!(
                "collecting cost {share} of the program's CPU time: the run may have changed by it"
            ));
        }
        if self.attached {
            warnings.push("attached to a running program: what happened before is not known".to_owned());
        }
        warnings
    }

    fn warn_of_losses(&self, warnings: &mut Vec<String>) {
        let lost = self.lost();
        let share = percent(lost as f64, (lost + self.events) as f64);
        if share >= LOSSES_SPOIL {
            let lost = count_of(lost, "event");
            warnings.push(format!(
                "{lost} lost ({}): times and waits are wrong by about as much",
                percent_text(share)
            ));
        } else if lost > 0 {
            warnings.push(format!("{} lost ({})", count_of(lost, "event"), percent_text(share)));
        }
        for (kind, count) in &self.defects {
            warnings.push(format!("the recording is damaged: {kind}: {count}"));
        }
        let share = percent(self.lost_stacks as f64, self.events as f64);
        if share >= LOSSES_SPOIL {
            let stacks = count_of(self.lost_stacks, "stack");
            warnings.push(format!("{stacks} lost: who waited where is partly unknown"));
        }
    }
}

/// Share of blocked time of which no cause is known.
pub(crate) fn unexplained_wait_percent(input: &Input<'_>) -> f64 {
    let threads = &input.analysis.threads;
    let blocked: u64 = threads.iter().flat_map(|thread| &thread.blocked).sum();
    let other = |blocked: &Vec<u64>| blocked.get(Cause::Other.index()).copied().unwrap_or(0);
    let unexplained: u64 = threads.iter().map(|thread| other(&thread.blocked)).sum();
    percent(unexplained as f64, blocked as f64)
}
