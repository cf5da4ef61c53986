//! What a run is like: the numbers that decide which metric suits it.

use longpole_metrics::{By, Measures};
use longpole_trace::Cause;

use crate::diagnosis::Facts;
use crate::evidence::{lost, overhead_percent};
use crate::input::Source;
use crate::quantity::percent;
use crate::share::{is_tied, standard_error};

/// The measured character of a run; shares in percent.
#[derive(Clone, Debug)]
pub(crate) struct Character {
    /// Threads that work.
    pub workers: usize,
    /// How much shorter the longest thread's work would be if all had the same.
    pub imbalance: f64,
    /// Standard deviation of the working threads' useful CPU time, of its mean.
    pub variation: f64,
    /// Mean of U, of what the working threads and the processors allow.
    pub efficiency: f64,
    /// Time in which no thread could run, of the run.
    pub idle: f64,
    /// Waits that began per second of the working threads' time.
    pub waits_per_second: f64,
    /// Waiting of working threads for each other, of their time; for the end of others left out.
    pub waiting: f64,
    /// Waits of which nobody knows who ended them, of all.
    pub unmatched: f64,
    /// CPU time spent spinning, of all.
    pub spinning: f64,
    /// CPU time in the kernel, of all.
    pub system: f64,
    /// Waits for devices and pages on the elapsed-weighted critical path, of its length.
    pub devices: f64,
    /// Time that threads waited for a processor, all together, of the run.
    pub ready: f64,
    /// Whether the processors are the limit.
    pub is_cpu_bound: bool,
    /// Effective observations behind the critical path.
    pub samples: f64,
    /// Standard error of a share of 10 %, percentage points.
    pub error: f64,
    /// Whether the two largest procedures on the critical path are within the error of each other.
    pub is_tied: bool,
    /// Events lost, of all.
    pub lost: f64,
    /// Cost of collecting, of the CPU time, where it was measured.
    pub overhead: f64,
}

impl Character {
    pub(super) fn of(input: &Source<'_>) -> Character {
        let facts = Facts::of(input);
        let analysis = input.analysis;
        let balance = analysis.balance();
        let cpus = input.program.cpus();
        let allowed = match cpus {
            0 => balance.workers,
            cpus => balance.workers.min(cpus as usize),
        };
        let cpu = (facts.cpu + facts.spinning) as f64;
        let (life, waiting) = time_of_workers(input);
        let blocks: u64 = working_charges(input).map(|measures| measures.blocks).sum();
        let device = |cause| matches!(cause, Some(Cause::Io | Cause::PageFault));
        let devices: u64 =
            facts.path_waits.iter().filter(|wait| device(wait.cause)).map(|wait| wait.time).sum();
        let samples = analysis.effective_samples.critical;
        Character {
            workers: balance.workers,
            imbalance: 100.0 * balance.imbalance(),
            variation: 100.0 * balance.variation,
            efficiency: percent(input.effective_parallelism(), allowed as f64).min(100.0),
            idle: percent(facts.idle as f64, facts.elapsed as f64),
            waits_per_second: if life > 0 { blocks as f64 * 1e9 / life as f64 } else { 0.0 },
            waiting: percent(waiting as f64, life as f64),
            unmatched: {
                let unmatched = input.evidence.unmatched_wakes;
                percent(unmatched as f64, (input.evidence.wakes + unmatched) as f64)
            },
            spinning: percent(facts.spinning as f64, cpu),
            system: percent(system(input) as f64, cpu),
            devices: percent(devices as f64, facts.elapsed as f64),
            ready: percent(facts.ready as f64, facts.elapsed as f64),
            is_cpu_bound: facts.is_cpu_bound(),
            samples,
            error: standard_error(10.0, samples).unwrap_or(100.0),
            is_tied: is_first_tied(input),
            lost: percent(lost(input.evidence) as f64, (lost(input.evidence) + input.evidence.events) as f64),
            overhead: overhead_percent(input).unwrap_or(0.0),
        }
    }
}

/// Charges of the working threads.
fn working_charges<'a>(input: &Source<'a>) -> impl Iterator<Item = &'a Measures> {
    let working = input.analysis.working_threads();
    let charges = input.analysis.charges.iter();
    charges
        .filter(move |charge| working.get(charge.thread.index()) == Some(&true))
        .map(|charge| &charge.measures)
}

/// Time of the working threads in any state, and waiting for each other. Who waits for the end of others has
/// handed its work out.
fn time_of_workers(input: &Source<'_>) -> (u64, u64) {
    let is_counted = |cause: &Cause| {
        cause.is_synchronisation() && !matches!(cause, Cause::Join | Cause::Child | Cause::Poll)
    };
    let working = input.analysis.working_threads();
    let threads = input.analysis.threads.iter().zip(working).filter(|(_, works)| *works);
    threads.fold((0, 0), |(life, waiting), (states, _)| {
        let blocked: u64 = states.blocked.iter().sum();
        let counted: u64 = states
            .blocked
            .iter()
            .zip(Cause::ALL)
            .filter(|(_, cause)| is_counted(cause))
            .map(|(time, _)| time)
            .sum();
        (life + states.running + states.spinning + states.ready + blocked, waiting + counted)
    })
}

/// CPU time whose innermost procedure is the kernel's.
fn system(input: &Source<'_>) -> u64 {
    let is_kernel = |path| {
        let place = input.paths.innermost(path);
        place.is_some_and(|place| input.paths.procedure_named_by(place.procedure).module == "[kernel]")
    };
    let charges = input.analysis.charges.iter().filter(|charge| is_kernel(charge.path));
    charges.map(|charge| charge.measures.cpu()).sum()
}

fn is_first_tied(input: &Source<'_>) -> bool {
    let length = input.analysis.critical_cpu.length as f64;
    let mut times: Vec<u64> = input.rows(By::Procedure).iter().map(|row| row.own.critical_cpu).collect();
    times.sort_unstable_by(|a, b| b.cmp(a));
    match times[..] {
        [first, second, ..] if second > 0 => {
            let [first, second] = [first, second].map(|time| percent(time as f64, length));
            is_tied(first, second, input.analysis.effective_samples.critical)
        }
        _ => false,
    }
}
