//! The facts of a run that verdicts are made from.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use longpole_metrics::{Measures, ThreadStates};
use longpole_trace::{Cause, ProcedureId};

use crate::input::Source;
use crate::name;
use crate::quantity::percent;

/// Share of the run with one busy thread from which on it is called serial, percent.
const SERIAL: f64 = 30.0;
/// Share of the run with at least one runnable thread per processor from which on processors are short, percent.
const CROWDED: f64 = 85.0;
/// Share of CPU time spent spinning from which on runnable threads are no sign of work, percent.
const SPINS: f64 = 10.0;

/// A wait: for what, and in which procedure it was suffered.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Wait {
    /// The cause; `None`: for a processor.
    pub cause: Option<Cause>,
    /// The procedure, quoted, or what is said where none is known.
    pub place: String,
    /// How long, all threads together, nanoseconds.
    pub time: u64,
}

/// Sums over the run; times in nanoseconds.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    /// Length of the run.
    pub elapsed: u64,
    /// Processors.
    pub cpus: u32,
    /// Useful CPU time.
    pub cpu: u64,
    /// CPU time spent spinning.
    pub spinning: u64,
    /// Thread time spent ready.
    pub ready: u64,
    /// Thread time spent blocked.
    pub blocked: u64,
    /// Length of the CPU-weighted critical path.
    pub path: u64,
    /// Time in which no thread ran, spun, or was ready.
    pub idle: u64,
    /// Waits on the elapsed-weighted critical path, the longest first.
    pub path_waits: Vec<Wait>,
    /// Time without a processor on that path.
    pub path_ready: u64,
    /// Waits of threads that work, but for a processor, the longest first.
    pub waits: Vec<Wait>,
    /// Share of the run with one busy thread, percent.
    pub serial_percent: f64,
    /// Share of the run in which more threads could run than ran, spinning left out, percent.
    pub starved_percent: f64,
    /// Share of the run in which as many threads could run as there are processors, percent.
    pub crowded_percent: f64,
    /// Threads that used any CPU time worth naming (0.5 % of all).
    pub working_threads: usize,
}

type Place = Option<ProcedureId>;

impl Facts {
    pub(crate) fn of(input: &Source<'_>) -> Facts {
        let analysis = input.analysis;
        let sum = |of: fn(&ThreadStates) -> u64| analysis.threads.iter().map(of).sum::<u64>();
        let (all, on_path) = waits_of(input);
        let serial = analysis.busy.get(1).copied().unwrap_or(0);
        Facts {
            elapsed: analysis.elapsed,
            cpus: input.program.cpus(),
            cpu: sum(|states| states.running),
            spinning: sum(|states| states.spinning),
            ready: sum(|states| states.ready),
            blocked: sum(|states| states.blocked.iter().sum()),
            path: analysis.critical_cpu.length,
            idle: analysis.nominal.first().copied().unwrap_or(0),
            path_ready: on_path.iter().filter(|((cause, _), _)| cause.is_none()).map(|(_, &time)| time).sum(),
            path_waits: ranked(input, on_path),
            waits: ranked(input, all),
            serial_percent: percent(serial as f64, analysis.elapsed as f64),
            starved_percent: starved_percent(input),
            crowded_percent: match input.program.cpus() {
                // A cut import does not tell how many there were: nothing can be said about too few.
                0 => 0.0,
                cpus => share_from(input, &analysis.nominal, cpus as usize),
            },
            working_threads: input
                .analysis
                .working_threads()
                .into_iter()
                .filter(|&is_working| is_working)
                .count(),
        }
    }

    /// Share of the processors' time that the program used, percent.
    pub(crate) fn used_percent(&self) -> f64 {
        let capacity = self.elapsed as f64 * f64::from(self.cpus);
        percent((self.cpu + self.spinning) as f64, capacity).min(100.0)
    }

    /// Share of the processors' time that did useful work, percent.
    pub(crate) fn useful_percent(&self) -> f64 {
        percent(self.cpu as f64, self.elapsed as f64 * f64::from(self.cpus)).min(100.0)
    }

    /// Whether threads could run nearly always and did not get the processors that they could use.
    pub(crate) fn is_crowded_out(&self) -> bool {
        let spun = percent(self.spinning as f64, (self.cpu + self.spinning) as f64);
        self.crowded_percent >= CROWDED && self.ready > self.elapsed / 2 && spun < SPINS
    }

    /// Whether the processors are the limit.
    pub(crate) fn is_cpu_bound(&self) -> bool {
        self.useful_percent() >= super::CPU_BOUND || self.is_crowded_out()
    }

    /// Whether one thread alone was busy for much of the run, and not for want of processors.
    pub(crate) fn is_serial(&self) -> bool {
        self.cpus > 1 && self.serial_percent - self.starved_percent >= SERIAL
    }
}

/// Share of the run at this level of a histogram or above, percent.
fn share_from(input: &Source<'_>, times: &[u64], level: usize) -> f64 {
    let time: u64 = times.iter().skip(level).sum();
    percent(time as f64, input.analysis.elapsed as f64)
}

/// Time with several runnable threads that was not time with several busy ones, nor spinning.
fn starved_percent(input: &Source<'_>) -> f64 {
    let analysis = input.analysis;
    let spinning: u64 = analysis.threads.iter().map(|states| states.spinning).sum();
    let several = share_from(input, &analysis.nominal, 2) - share_from(input, &analysis.busy, 2);
    (several - percent(spinning as f64, analysis.elapsed as f64)).max(0.0)
}

type Waits = BTreeMap<(Option<Cause>, Place), u64>;

/// All waits of working threads, and those of any thread on the elapsed-weighted critical path.
///
/// What a charge has on that path beyond its CPU time is waiting; it is divided among the charge's
/// causes as its waits are.
fn waits_of(input: &Source<'_>) -> (Waits, Waits) {
    let (mut all, mut on_path) = (Waits::new(), Waits::new());
    let working = input.analysis.working_threads();
    for charge in &input.analysis.charges {
        let measures = &charge.measures;
        let place = input.paths.innermost(charge.path).map(|place| place.procedure);
        let waiting = measures.critical_elapsed.saturating_sub(measures.running + measures.spinning);
        let whole = waited(measures);
        for (cause, time) in causes(measures) {
            if working.get(charge.thread.index()) == Some(&true) {
                *all.entry((cause, place)).or_default() += time;
            }
            let part = (waiting as f64 * time as f64 / whole as f64).round() as u64;
            *on_path.entry((cause, place)).or_default() += part;
        }
    }
    (all, on_path)
}

fn waited(measures: &Measures) -> u64 {
    measures.ready + measures.blocked.iter().sum::<u64>()
}

/// The waits of a charge, those for a processor first.
fn causes(measures: &Measures) -> impl Iterator<Item = (Option<Cause>, u64)> + '_ {
    let blocked = measures.blocked.iter().zip(Cause::ALL).map(|(&time, &cause)| (Some(cause), time));
    std::iter::once((None, measures.ready)).chain(blocked).filter(|&(_, time)| time > 0)
}

fn ranked(input: &Source<'_>, waits: Waits) -> Vec<Wait> {
    let mut waits: Vec<_> =
        waits.into_iter().filter(|((cause, _), time)| cause.is_some() && *time > 0).collect();
    waits.sort_by_key(|&(key, time)| (Reverse(time), key));
    waits
        .into_iter()
        .map(|((cause, place), time)| Wait { cause, place: place_text(input, place), time })
        .collect()
}

fn place_text(input: &Source<'_>, place: Place) -> String {
    match place {
        Some(id) => format!("`{}`", name::procedure(input.paths, input.program, id)),
        None => "an unknown place".to_owned(),
    }
}

/// A cause as what is waited for.
pub(crate) fn waiting_for(cause: Option<Cause>) -> &'static str {
    match cause {
        None => "waiting for a CPU",
        Some(Cause::Lock) => "waiting for a lock",
        Some(Cause::Condition) => "waiting for a condition to be signalled",
        Some(Cause::Barrier) => "waiting at a barrier",
        Some(Cause::Join) => "waiting for a thread to end",
        Some(Cause::Child) => "waiting for a child process to end",
        Some(Cause::Semaphore) => "waiting for a semaphore",
        Some(Cause::Message) => "waiting for a message",
        Some(Cause::Io) => "waiting for a file or disk",
        Some(Cause::Pipe) => "waiting for a pipe",
        Some(Cause::Socket) => "waiting for a socket",
        Some(Cause::Terminal) => "waiting for the terminal",
        Some(Cause::Poll) => "waiting for descriptors (poll)",
        Some(Cause::PageFault) => "waiting for a page of memory",
        Some(Cause::Sleep) => "sleeping",
        Some(Cause::Signal) => "waiting for a signal",
        Some(Cause::Stopped) => "being stopped",
        Some(Cause::Park) => "parked until another thread unparks it",
        Some(Cause::Kernel) => "waiting for a lock of the kernel",
        Some(Cause::Futex) => "waiting for a lock or condition (futex)",
        Some(Cause::Other) => "waiting for something unknown",
    }
}
