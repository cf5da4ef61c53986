//! The facts of a run that findings are made from, computed once.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use longpole_metrics::{By, Measures, Node, ThreadStates};
use longpole_trace::{Cause, CpuQuota, ProcedureId};

use super::kinds::late_ranks::MessagePolls;
use super::kinds::pinned::{PinnedThreads, pinned_threads};
use super::placed_waits::{PlacedWait, ranked, waits_of};
use super::threshold::{
    CPU_BOUND, CROWDED, CROWDED_WAIT, FEWEST_OBSERVATIONS, OWN_CROWD, SERIAL, SHORT_PATH, SOME_WAITING,
    SPINNING, UNMATCHED,
};
use crate::evidence::{lost_percent, overhead_percent};
use crate::folded::kernel_time;
use crate::input::ReportTables;
use crate::quantity::percent;
use crate::share::{is_tied, standard_error};

/// Sums over the run; times in nanoseconds, shares in percent.
#[derive(Clone, Debug)]
pub(crate) struct RunFacts {
    /// Length of the run.
    pub elapsed: u64,
    /// Processors; 0 where their number is not known.
    pub cpus: u32,
    /// The quota of the program's control group.
    pub quota: Option<CpuQuota>,
    /// Useful CPU time.
    pub cpu: u64,
    /// CPU time spent spinning.
    pub spinning: u64,
    /// Part of it that polls for messages of other ranks.
    pub polling: u64,
    /// Where most of that is spent, polls for messages left out.
    pub most_spinning: Option<Node>,
    /// Thread time spent ready, what pinned threads waited for each other left out.
    pub ready: u64,
    /// Threads that wait for processors on which they are pinned.
    pub pinned: Vec<PinnedThreads>,
    /// Whether it is known where threads may run.
    pub is_pinning_known: bool,
    /// CPU time that the program could use: of each moment, that of its runnable threads, as many as there are processors. What pinning
    /// leaves unused is none of it.
    pub usable: u64,
    /// Thread time spent blocked.
    pub blocked: u64,
    /// Length of the CPU-weighted critical path.
    pub path: u64,
    /// Time in which no thread ran, spun, or was ready.
    pub idle: u64,
    /// Waits on the elapsed-weighted critical path, the longest first.
    pub path_waits: Vec<PlacedWait>,
    /// Time without a processor on that path, but for that of pinned threads.
    pub path_ready: u64,
    /// Waits of threads that work, the longest first.
    pub waits: Vec<PlacedWait>,
    /// Share of the run with one busy thread.
    pub serial_percent: f64,
    /// Share of the run with several busy threads.
    pub parallel_percent: f64,
    /// Share of the run in which more threads could run than ran, spinning left out.
    pub starved_percent: f64,
    /// Share of the run in which as many threads could run as there are processors, and none of these was idle as far as that is
    /// known.
    pub crowded_percent: f64,
    /// Share of the run in which a processor had room for work of the program, at most.
    pub room_percent: f64,
    /// Threads that have a share of the work.
    pub workers: usize,
    /// Useful CPU time of the busiest of them, nanoseconds.
    pub busiest: u64,
    /// How much shorter the longest thread's work would be if all had the same.
    pub imbalance: f64,
    /// The same if the processors that there are shared it.
    pub excess: f64,
    /// Standard deviation of the working threads' useful CPU time, of its mean.
    pub variation: f64,
    /// Mean of U, of what the working threads and the processors allow.
    pub efficiency: f64,
    /// Waits that began per second of the working threads' time.
    pub waits_per_second: f64,
    /// Waiting of working threads for each other, of their time; for the end of others left out.
    pub waiting: f64,
    /// Waits of which it is not known who ended them, of all.
    pub unmatched: f64,
    /// CPU time in the kernel, of all.
    pub system: f64,
    /// Effective observations behind the critical path.
    pub samples: f64,
    /// Effective observations behind CPU time.
    pub cpu_samples: f64,
    /// Observations that the program itself reported: where it entered and left what is marked. They are exact.
    pub reported: u64,
    /// Standard error of a share of 10 % of the critical path, percentage points.
    pub sample_error: f64,
    /// Whether the two largest procedures on the critical path are within the error of each other.
    pub is_tied: bool,
    /// Whether the timer was in step with the program, so that the division of CPU time is not reliable.
    pub is_in_step: bool,
    /// Events lost, of all.
    pub lost: f64,
    /// Cost of collecting, of the CPU time, where it was measured.
    pub overhead: f64,
}

impl RunFacts {
    pub(crate) fn of(input: &ReportTables<'_>) -> RunFacts {
        let analysis = input.analysis;
        let sum = |of: fn(&ThreadStates) -> u64| analysis.threads.iter().map(of).sum::<u64>();
        let (all, on_path) = waits_of(input);
        let balance = analysis.balance();
        let (cpu, spinning) = (sum(|states| states.running), sum(|states| states.spinning));
        let cpus = input.program.cpus();
        let allowed = if cpus == 0 { balance.workers } else { balance.workers.min(cpus as usize) };
        let (life, waiting) = time_of_workers(input);
        let blocks: u64 = working_charges(input).map(|measures| measures.blocks).sum();
        let spins = spins(input);
        let samples = analysis.effective_samples.critical;
        let pinned = pinned_threads(input);
        let of_pinned = |of: fn(&PinnedThreads) -> u64| pinned.iter().map(of).sum::<u64>();
        let ready_on_path: u64 =
            on_path.iter().filter(|((cause, _), _)| cause.is_none()).map(|(_, (time, _))| time).sum();
        let unmatched = input.evidence.unmatched_wakes as f64;
        let serial = analysis.busy.get(1).copied().unwrap_or(0);
        let idle = idle_percents(input);
        let crowded = match cpus {
            // A cut import does not say how many there were: nothing is known about too few.
            0 => 0.0,
            cpus => share_from(input, &analysis.nominal, cpus as usize),
        };
        // A thread that was woken is ready until its processor wakes too, which is idle meanwhile.
        let crowded = idle.iter().fold(crowded, |crowded, idle| crowded.min(100.0 - idle));
        // Where none of them ran, other programs had the processors: how many could run then is no work that has to be done.
        let idle_time = analysis.busy.first().copied().unwrap_or(0);
        let on_cpu =
            (100.0 - percent(idle_time.saturating_sub(spinning) as f64, analysis.elapsed as f64)).max(0.0);
        RunFacts {
            elapsed: analysis.elapsed,
            cpus,
            quota: input.program.quota(),
            cpu,
            spinning,
            polling: spins[0].values().sum::<u64>().min(spinning),
            most_spinning: most_spinning(&spins),
            ready: sum(|states| states.ready).saturating_sub(of_pinned(|pinned| pinned.waited)),
            usable: usable(&analysis.nominal, cpus as usize).saturating_sub(analysis.pinning.unused),
            blocked: sum(|states| states.blocked.iter().sum()),
            path: analysis.critical_cpu.length,
            idle: analysis.nominal.first().copied().unwrap_or(0),
            path_ready: ready_on_path.saturating_sub(of_pinned(|pinned| pinned.on_path)),
            is_pinning_known: analysis.pinning.is_known,
            pinned,
            path_waits: ranked(on_path),
            waits: ranked(all),
            serial_percent: percent(serial as f64, analysis.elapsed as f64),
            parallel_percent: share_from(input, &analysis.busy, 2),
            starved_percent: starved_percent(input),
            crowded_percent: crowded,
            room_percent: idle.iter().sum::<f64>().clamp(100.0 - crowded.min(on_cpu), 100.0),
            workers: balance.workers,
            busiest: balance.most,
            imbalance: 100.0 * balance.imbalance(),
            excess: 100.0 * balance.excess(allowed),
            variation: 100.0 * balance.variation,
            efficiency: percent(input.effective_parallelism(), allowed as f64).min(100.0),
            waits_per_second: if life > 0 { blocks as f64 * 1e9 / life as f64 } else { 0.0 },
            waiting: percent(waiting as f64, life as f64),
            unmatched: percent(unmatched, input.evidence.wakes as f64 + unmatched),
            system: percent(kernel_time(input) as f64, (cpu + spinning) as f64),
            samples,
            cpu_samples: analysis.effective_samples.cpu,
            reported: input.evidence.told_observations,
            sample_error: standard_error(10.0, samples).unwrap_or(100.0),
            is_tied: is_first_tied(input),
            is_in_step: analysis.timer.is_in_step(),
            lost: lost_percent(input.evidence),
            overhead: overhead_percent(input).unwrap_or(0.0),
        }
    }

    /// Whether there are enough observations to name procedures: those of a timer, of equal weight, and exact ones.
    pub(crate) fn has_observations(&self) -> bool {
        self.cpu_samples + self.reported as f64 >= FEWEST_OBSERVATIONS
    }

    /// A time as a share of the run.
    pub(crate) fn of_run(&self, time: u64) -> f64 {
        percent(time as f64, self.elapsed as f64)
    }

    /// CPU time spent spinning, of all.
    pub(crate) fn spinning_percent(&self) -> f64 {
        percent(self.spinning as f64, (self.cpu + self.spinning) as f64)
    }

    /// CPU time spent spinning outside of calls that pass messages.
    pub(crate) fn own_spinning(&self) -> u64 {
        self.spinning - self.polling
    }

    /// The same, of all.
    pub(crate) fn own_spinning_percent(&self) -> f64 {
        percent(self.own_spinning() as f64, (self.cpu + self.spinning) as f64)
    }

    /// Waits for devices and pages on the elapsed-weighted critical path, of its length.
    pub(crate) fn devices_percent(&self) -> f64 {
        let waits = self.path_waits.iter().filter(|wait| is_device(wait.cause));
        self.of_run(waits.map(|wait| wait.time).sum())
    }

    /// Whether more of the CPU time waits than works.
    pub(crate) fn mostly_spins(&self) -> bool {
        self.own_spinning() > self.cpu
    }

    /// Whether spinning holds the run: most of the CPU time waits, and the path of useful work is short beside what all
    /// CPU time takes on the processors. What other programs took of these is no part of it.
    pub(crate) fn is_held_by_spinning(&self) -> bool {
        let used = (self.cpu + self.spinning) as f64 / f64::from(self.cpus.max(1));
        self.mostly_spins() && percent(self.path as f64, used) < SHORT_PATH
    }

    /// Share of the processors' time that the program used.
    pub(crate) fn used_percent(&self) -> f64 {
        let capacity = self.elapsed as f64 * f64::from(self.cpus);
        percent((self.cpu + self.spinning) as f64, capacity).min(100.0)
    }

    /// Share of the processors' time that did useful work.
    pub(crate) fn useful_percent(&self) -> f64 {
        percent(self.cpu as f64, self.elapsed as f64 * f64::from(self.cpus)).min(100.0)
    }

    /// Whether threads waited for a CPU since more of them could run than there are: others left the program most of what it
    /// could use.
    pub(crate) fn is_own_crowd(&self) -> bool {
        percent((self.cpu + self.spinning) as f64, self.usable as f64) >= OWN_CROWD
    }

    /// Whether threads could run nearly always and did not get the processors that they could use.
    pub(crate) fn is_crowded_out(&self) -> bool {
        self.crowded_percent >= CROWDED
            && self.is_own_crowd()
            && self.of_run(self.ready) > CROWDED_WAIT
            && self.spinning_percent() < SPINNING
    }

    /// Whether the processors are the limit.
    pub(crate) fn is_cpu_bound(&self) -> bool {
        self.useful_percent() >= CPU_BOUND || self.is_crowded_out()
    }

    /// Whether who ended most waits is unknown, so that the critical path ends at each of them.
    pub(crate) fn is_path_in_pieces(&self) -> bool {
        self.workers > 1 && self.waiting >= SOME_WAITING && self.unmatched >= UNMATCHED
    }

    /// Whether one thread alone was busy for much of the run, and not for want of processors.
    pub(crate) fn is_serial(&self) -> bool {
        self.cpus > 1 && self.serial_percent - self.starved_percent >= SERIAL
    }
}

/// In steps of this the kernel accounts for idle time, seconds: clock ticks, at the begin of the run and at its end.
const ACCOUNT_STEP: f64 = 0.02;

/// Whether a device or memory, not another thread, ends the wait.
pub(crate) fn is_device(cause: Cause) -> bool {
    matches!(cause, Cause::Io | Cause::PageFault)
}

/// Whether threads wait for each other. Waits for the end of others are left out: a thread that has handed its work out
/// waits so, which says nothing by itself.
pub(crate) fn is_for_each_other(cause: Cause) -> bool {
    cause.is_synchronisation() && !matches!(cause, Cause::Join | Cause::Child | Cause::Poll)
}

/// Share of the run in which each processor was idle, at least; nothing where that is not known, or the program may not use all of
/// them.
fn idle_percents(input: &ReportTables<'_>) -> Vec<f64> {
    let idle = &input.outside_answers.idle_processors;
    if idle.len() != input.program.cpus() as usize {
        return Vec::new();
    }
    let elapsed = input.analysis.elapsed as f64 / 1e9;
    idle.iter().map(|idle| percent((idle.seconds - ACCOUNT_STEP).max(0.0), elapsed).min(100.0)).collect()
}

/// Share of the run at this level of a histogram or above.
fn share_from(input: &ReportTables<'_>, times: &[u64], level: usize) -> f64 {
    let time: u64 = times.iter().skip(level).sum();
    percent(time as f64, input.analysis.elapsed as f64)
}

/// CPU time that the program could use, by the time with so many runnable threads.
fn usable(nominal: &[u64], cpus: usize) -> u64 {
    nominal.iter().enumerate().map(|(runnable, time)| runnable.min(cpus) as u64 * time).sum()
}

/// Time with several runnable threads that was not time with several busy ones, nor spinning.
fn starved_percent(input: &ReportTables<'_>) -> f64 {
    let analysis = input.analysis;
    let spinning: u64 = analysis.threads.iter().map(|states| states.spinning).sum();
    let spinning = percent(spinning as f64, analysis.elapsed as f64);
    (share_from(input, &analysis.nominal, 2) - share_from(input, &analysis.busy, 2) - spinning).max(0.0)
}

/// Time spent spinning, by procedure where that is known: by polls for messages, and else.
type SpinsByProcedure = [BTreeMap<Option<ProcedureId>, u64>; 2];

fn spins(input: &ReportTables<'_>) -> SpinsByProcedure {
    let mut spins = SpinsByProcedure::default();
    let polls = MessagePolls::of(input);
    for charge in input.analysis.charges.iter().filter(|charge| charge.measures.spinning > 0) {
        let place = input.paths.innermost(charge.path).map(|place| place.procedure);
        let is_poll = place.is_some_and(|place| polls.are_in(input, charge.thread, place));
        *spins[usize::from(!is_poll)].entry(place).or_default() += charge.measures.spinning;
    }
    spins
}

/// The procedure in which threads spin most, polls for messages left out.
fn most_spinning([_, own]: &SpinsByProcedure) -> Option<Node> {
    let known = own.iter().filter_map(|(&place, &time)| Some((time, Reverse(Node::Procedure(place?)))));
    known.max().map(|(_, Reverse(node))| node)
}

/// Charges of the working threads.
fn working_charges<'a>(input: &ReportTables<'a>) -> impl Iterator<Item = &'a Measures> {
    let working = input.analysis.working_threads();
    let charges = input.analysis.charges.iter();
    charges
        .filter(move |charge| working.get(charge.thread.index()) == Some(&true))
        .map(|charge| &charge.measures)
}

/// Time of the working threads in any state, and waiting for each other.
fn time_of_workers(input: &ReportTables<'_>) -> (u64, u64) {
    let working = input.analysis.working_threads();
    let threads = input.analysis.threads.iter().zip(working).filter(|(_, works)| *works);
    threads.fold((0, 0), |(life, waiting), (states, _)| {
        let blocked: u64 = states.blocked.iter().sum();
        let counted = states.blocked.iter().zip(Cause::ALL).filter(|(_, cause)| is_for_each_other(**cause));
        let counted = counted.map(|(time, _)| time).sum::<u64>() + states.polled_for_others;
        (life + states.running + states.spinning + states.ready + blocked, waiting + counted)
    })
}

fn is_first_tied(input: &ReportTables<'_>) -> bool {
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
