//! Waits by what they are for and where threads suffered them.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use longpole_event::{ProcessId, ThreadId};
use longpole_metrics::{Measures, Node, PathWaitKind, service_threads};
use longpole_trace::{Cause, Object, ProcedureId};

use super::finding::rank_name;
use super::sentence::{Sentence, sentence};
use crate::input::ReportTables;

/// A wait: for what, and in which procedure it was suffered.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PlacedWait {
    /// The cause.
    pub cause: Cause,
    /// The procedure, where it is known.
    pub place: Option<ProcedureId>,
    /// How long, all threads together, nanoseconds.
    pub time: u64,
    /// The same where a thread's waits count for as much as it works, beside the one that works most: a thread that waits for something
    /// to do most of the time holds up little.
    pub of_workers: f64,
}

/// Who works less than this part of what the busiest thread does only looks after others.
const WORKS: f64 = 0.05;

impl PlacedWait {
    /// Whether it is mostly one of threads that do much of the work.
    pub(crate) fn is_of_workers(&self) -> bool {
        self.of_workers >= WORKS * self.time as f64
    }

    /// The procedure's name, or that it is not known. Of a place of which only the address is known, the process says more.
    pub(crate) fn place(&self, input: &ReportTables<'_>) -> Sentence {
        let Some(id) = self.place else { return "an unknown place".into() };
        if input.paths.procedure_named_by(id).is_address()
            && let Some(process) = only_process(input, id)
        {
            return sentence!["process ", rank_name(input, process)];
        }
        Sentence::name(input, Node::Procedure(id))
    }

    /// What is waited for there, and how often.
    pub(crate) fn objects<'a>(&self, input: &'a ReportTables<'_>) -> impl Iterator<Item = (&'a Object, u64)> {
        let place = self.place;
        let sites = input.input().details.contention.iter().flat_map(|contention| &contention.sites);
        let is_there = move |path| input.paths.innermost(path).map(|place| place.procedure) == place;
        sites
            .filter(move |&(&(_, path), _)| is_there(path))
            .map(|(&(id, _), &count)| (input.objects.get(id), count))
    }

    /// The wait as what is waited for, and where.
    pub(crate) fn text(&self, input: &ReportTables<'_>) -> Sentence {
        sentence![waiting_for(self.cause), " in ", self.place(input)]
    }
}

/// The process of several in which alone this procedure was seen.
fn only_process(input: &ReportTables<'_>, id: ProcedureId) -> Option<ProcessId> {
    let is_there = |path| input.paths.innermost(path).is_some_and(|place| place.procedure == id);
    let charges = input.analysis.charges.iter().filter(|charge| is_there(charge.path));
    let mut processes = charges.map(|charge| input.program.threads[charge.thread.index()].process);
    let first = processes.next().filter(|_| input.program.processes.len() > 1)?;
    processes.all(|process| process == first).then_some(first)
}

/// Waits by cause (`None`: for a processor) and procedure: their time, and that of who works ([`PlacedWait::of_workers`]).
pub(super) type WaitTimes = BTreeMap<(Option<Cause>, Option<ProcedureId>), (u64, f64)>;

/// All waits of working threads, but for those that a runtime has for itself, and those of any thread on the elapsed-weighted critical path.
///
/// What a charge has on that path beyond its CPU time is waiting; it is divided among the charge's
/// causes as its waits are.
pub(super) fn waits_of(input: &ReportTables<'_>) -> (WaitTimes, WaitTimes) {
    let (mut all, mut on_path) = (WaitTimes::new(), WaitTimes::new());
    let working = input.analysis.working_threads();
    let services = service_threads(input.program, input.paths);
    let tells = |thread: ThreadId| working.get(thread.index()) == Some(&true) && !services[thread.index()];
    let most = input.analysis.threads.iter().map(|states| states.running).max().unwrap_or(0).max(1);
    let add = |times: &mut WaitTimes, key, thread: ThreadId, time: u64| {
        let works = input.analysis.threads[thread.index()].running as f64 / most as f64;
        let (sum, of_workers) = times.entry(key).or_default();
        *sum += time;
        *of_workers += works * time as f64;
    };
    for charge in &input.analysis.charges {
        let measures = &charge.measures;
        let place = input.paths.innermost(charge.path).map(|place| place.procedure);
        for (cause, time) in causes(measures) {
            if tells(charge.thread) {
                add(&mut all, (cause, place), charge.thread, time);
            }
        }
        for (&kind, &time) in &measures.path_waits {
            let cause = match kind {
                PathWaitKind::Ready => None,
                PathWaitKind::Blocked(cause) => Some(cause),
                PathWaitKind::Spinning | PathWaitKind::Overhead | PathWaitKind::UnderWay => continue,
            };
            add(&mut on_path, (cause, place), charge.thread, time);
        }
    }
    (all, on_path)
}

/// The waits of a charge, those for a processor first.
fn causes(measures: &Measures) -> impl Iterator<Item = (Option<Cause>, u64)> + '_ {
    let blocked = measures.blocked.iter().zip(Cause::ALL).map(|(&time, &cause)| (Some(cause), time));
    std::iter::once((None, measures.ready)).chain(blocked).filter(|&(_, time)| time > 0)
}

pub(super) fn ranked(waits: WaitTimes) -> Vec<PlacedWait> {
    let mut waits: Vec<_> = waits.into_iter().filter(|&(_, (time, _))| time > 0).collect();
    waits.sort_by_key(|&(key, (time, _))| (Reverse(time), key));
    let placed =
        |((cause, place), (time, of_workers))| Some(PlacedWait { cause: cause?, place, time, of_workers });
    waits.into_iter().filter_map(placed).collect()
}

/// A cause as what is waited for.
pub(crate) fn waiting_for(cause: Cause) -> &'static str {
    match cause {
        Cause::Lock => "waiting for a lock",
        Cause::Condition => "waiting for a condition to be signalled",
        Cause::Barrier => "waiting at a barrier",
        Cause::Join => "waiting for a thread to end",
        Cause::Child => "waiting for a child process to end",
        Cause::Semaphore => "waiting for a semaphore",
        Cause::Message => "waiting for a message",
        Cause::Io => "waiting for a file or disk",
        Cause::Pipe => "waiting for a pipe",
        Cause::Socket => "waiting for a socket",
        Cause::Delivery => "waiting for late data",
        Cause::Terminal => "waiting for the terminal",
        Cause::Poll => "waiting for descriptors (poll)",
        Cause::PollTimeout => "waiting for a timer (poll)",
        Cause::PageFault => "waiting for a page of memory",
        Cause::Sleep => "sleeping",
        Cause::Timer => "waiting for a timer",
        Cause::PollingSleep => "sleeping until it looks again",
        Cause::Signal => "waiting for a signal",
        Cause::Stopped => "being stopped",
        Cause::Park => "parked until another thread unparks it",
        Cause::Kernel => "waiting for a lock of the kernel",
        Cause::Futex => "waiting for a lock or condition (futex)",
        Cause::LateSender => "waiting for a late sender",
        Cause::LateReceiver => "waiting for a late receiver",
        Cause::Collective => "waiting for others to come to a collective operation",
        Cause::Request => "waiting for requests to other nodes",
        Cause::Other => "waiting for something unknown",
    }
}
