//! The events of the process collector and their rings.
//!
//! ```text
//!   thread 1 ─ event for processor 0 ─┐        an event of a thread counts on one processor only, and the events of
//!            └ event for processor 1 ─┼─┐      the threads it creates write where its own do
//!   thread 2 ─ event for processor 0 ─┘ │
//!            └ event for processor 1 ───┤
//!                             ring 0 ◄──┘ ring 1
//! ```
//! An inherited event can have a ring only if it is bound to a processor. At each of a thread's switches the kernel looks
//! at every event it has, so there is only one for a processor: it samples the running time, and carries the side band too.

use std::io;
use std::os::fd::RawFd;

use longpole_event::{LossKind, Time};
use perf_event_open_sys::bindings::perf_event_attr;

use crate::collector::Collector;
use crate::collector_choice::Settings;
use crate::perf::attributes::{self, EventPlan, OwnEvents};
use crate::perf::repeats::Repeats;
use crate::perf::rings::{RingRefusal, Rings, Sizes, open_event, open_rings};
use crate::perf::short_stacks::open_short;
use crate::perf::{Conversion, PerfReader, Presence, SampleMeaning, Scope, Switches, Threads};
use crate::raw::{KernelTask, RawEvent, RawKind};
use longpole_privileged::{PerfEvent, online_cpus};

/// The largest ring; a user may lock about 516 KiB for each processor (`perf_event_mlock_kb`) and what their limit of
/// locked memory adds.
const LARGEST_RING_BYTES: usize = 4 << 20;
/// A ring that holds the switches and samples of one look's time, if few threads switch.
const SMALLEST_RING_BYTES: usize = 16 << 10;

/// Why this collector could not be opened; completes "failed to …".
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProcessCollectorError {
    /// The kernel refused an event of a thread of our own.
    #[error("open perf events for a process of one's own")]
    Refused(#[source] io::Error),
    /// All memory that this user may lock is in use.
    #[error("lock the memory of {cpus} ring buffers")]
    NoMemory {
        /// Rings that are needed.
        cpus: usize,
        /// What the system said.
        source: io::Error,
    },
    /// Another obstacle.
    #[error("{operation}")]
    System {
        /// What was tried.
        operation: &'static str,
        /// What the system said.
        source: io::Error,
    },
}

/// The running collector.
#[derive(Debug)]
pub(crate) struct ProcessCollector {
    reader: PerfReader,
    settings: Settings,
    cpus: Vec<u16>,
    /// What this user may have besides the clock.
    further: Vec<EventPlan>,
    own: OwnEvents,
    /// Futex calls are among it: their tracepoints are known to this user.
    has_futexes: bool,
    /// Size of a ring that all processors could have.
    ring_bytes: usize,
    /// Processes that took another user's rights.
    hidden: u64,
}

impl ProcessCollector {
    /// Finds out whether events of one's own process are allowed, and how large their rings can be.
    ///
    /// # Errors
    /// [`ProcessCollectorError`].
    pub(crate) fn open(settings: &Settings) -> Result<ProcessCollector, ProcessCollectorError> {
        let cpus = online_cpus().map_err(system("list the processors"))?;
        let mut further = permitted(vec![attributes::own_leaves(settings)], &cpus);
        let has_kernel = !further.is_empty();
        let futexes = permitted(attributes::own_futexes(settings), &cpus);
        let has_futexes = !futexes.is_empty();
        further.extend(futexes);
        let own = OwnEvents { has_kernel, is_alone: further.is_empty() };
        let clock = ClockEvents { settings, own };
        let Rings { bytes: ring_bytes, .. } = clock.open_rings(0, &cpus, LARGEST_RING_BYTES)?;
        let mut conversion = Conversion::new(Threads::new(Scope::Everything));
        conversion.switches = Some(Switches::new(false));
        conversion.repeats = Some(Repeats::default());
        let layout = attributes::layout(&attributes::own_clock(settings, ring_bytes, true, own));
        let mut kinds = vec![(SampleMeaning::Clock, layout)];
        kinds.extend(further.iter().map(|plan| (plan.meaning.clone(), attributes::layout(&plan.attribute))));
        let reader = PerfReader::new(kinds, conversion, Presence::of_own_switches(), false);
        Ok(ProcessCollector {
            reader,
            settings: *settings,
            cpus,
            further,
            own,
            has_futexes,
            ring_bytes,
            hidden: 0,
        })
    }

    /// The events of the first task, with the rings that those of all others share.
    fn open_first(&mut self, task: KernelTask) -> Result<(), ProcessCollectorError> {
        let Rings { rings, bytes } = self.clock().open_rings(task.tid, &self.cpus, self.ring_bytes)?;
        self.ring_bytes = bytes;
        for (&cpu, (ring, has_build_ids)) in self.cpus.iter().zip(rings) {
            let sharing = "ask for the id of a perf event";
            ring.event().enable().map_err(system("start a perf event"))?;
            self.reader.add_ring(cpu, ring, has_build_ids).map_err(system(sharing))?;
        }
        self.open_rest(task)
    }

    fn open_further(&mut self, task: KernelTask) -> Result<(), ProcessCollectorError> {
        for (ring, cpu) in self.cpus.iter().enumerate() {
            let event = self.clock().open_event(task.tid, *cpu, self.ring_bytes)?;
            event.enable().map_err(system("start a perf event"))?;
            self.reader.add_event(event, 0, ring).map_err(system("let perf events share a ring"))?;
        }
        self.open_rest(task)
    }

    fn open_rest(&mut self, task: KernelTask) -> Result<(), ProcessCollectorError> {
        let first = self.reader.event_count();
        for (index, plan) in self.further.iter().enumerate() {
            for (ring, cpu) in self.cpus.iter().enumerate() {
                let event = open_planned(plan, task.tid, *cpu).map_err(ProcessCollectorError::Refused)?;
                event.enable().map_err(system("start a perf event"))?;
                let added = self.reader.add_event(event, index + 1, ring);
                added.map_err(system("let perf events share a ring"))?;
            }
        }
        let (further, cpus) = (&self.further, &self.cpus);
        self.reader.add_short_stacks(first, |kind, ring| {
            let plan = further.get(kind.checked_sub(1)?)?;
            open_short(&plan.attribute, id(task.tid), cpus[ring])
        });
        Ok(())
    }

    /// A program that runs with another user's rights is not to be watched: its events end as if its threads did.
    fn look_for_hidden(&mut self, first: usize, events: &mut Vec<RawEvent>) {
        let is_hidden = |event: &&RawEvent| match &event.kind {
            RawKind::Exit { task } => task.pid == task.tid && is_anothers(task.pid),
            _ => false,
        };
        let count = events[first..].iter().filter(is_hidden).count() as u64;
        if count > 0 {
            self.hidden += count;
            let kind = RawKind::Lost { kind: LossKind::Threads, count };
            events.push(RawEvent { time: crate::clock::now(), cpu: 0, kind });
        }
    }

    fn clock(&self) -> ClockEvents<'_> {
        ClockEvents { settings: &self.settings, own: self.own }
    }
}

impl Collector for ProcessCollector {
    fn track(&mut self, task: KernelTask) -> io::Result<()> {
        let opened = if self.reader.ring_count() == 0 {
            self.open_first(task)
        } else if self.reader.has_seen_birth(task.tid) {
            // Its creator was tracked before it was made: it has inherited the events.
            Ok(())
        } else {
            self.open_further(task)
        };
        self.reader.conversion.threads.track(task);
        opened.map_err(|error| match error {
            ProcessCollectorError::Refused(source)
            | ProcessCollectorError::NoMemory { source, .. }
            | ProcessCollectorError::System { source, .. } => source,
        })
    }

    fn drain(&mut self, into: &mut Vec<RawEvent>) -> io::Result<()> {
        let first = into.len();
        self.reader.drain(into);
        self.look_for_hidden(first, into);
        Ok(())
    }

    fn stop(&mut self) {
        self.reader.stop();
    }

    fn behind(&self) -> Option<Time> {
        self.reader.behind()
    }

    fn kept_back(&self) -> Option<Time> {
        self.reader.kept_back()
    }

    fn alarms(&self) -> Vec<RawFd> {
        self.reader.alarms()
    }

    fn notes(&self) -> Vec<String> {
        let agent = "known as far as the agent in the program tells it";
        let waits = match (self.own.has_kernel, self.has_futexes) {
            (false, false) => "when their threads run and wait, not why, where, or who wakes them: that is",
            (true, false) => "why and where their threads wait, not who wakes them: that is",
            (_, true) => {
                "of waits for futexes (locks and the like) why, where, and who ends them; of others that is"
            }
        };
        let mut notes = vec![format!("the kernel tells users {waits} {agent}")];
        if !self.own.has_kernel {
            notes.push(
                "time in the kernel has no samples of its own: it is charged to where the thread next runs in user code"
                    .to_owned(),
            );
        }
        notes
    }

    fn findings(&self) -> Vec<String> {
        let mut findings = self.reader.findings();
        let who = match self.hidden {
            0 => return findings,
            1 => "a process".to_owned(),
            count => format!("{count} processes"),
        };
        findings.push(format!(
            "{who} took another user's rights (setuid): the kernel shows users nothing of such a program; record as root \
             to see it"
        ));
        findings
    }
}

/// Whether a process runs that this user may not look into; of one that has ended there is nothing to look into.
fn is_anothers(pid: u32) -> bool {
    let refused = std::fs::read_link(format!("/proc/{pid}/exe")).err().and_then(|error| error.raw_os_error());
    matches!(refused, Some(libc::EACCES | libc::EPERM))
}

/// The events if this user may have them of their own threads.
fn permitted(plans: Vec<EventPlan>, cpus: &[u16]) -> Vec<EventPlan> {
    let is_permitted = |plan: &EventPlan| cpus.first().is_some_and(|cpu| open_planned(plan, 0, *cpu).is_ok());
    if plans.iter().all(is_permitted) { plans } else { Vec::new() }
}

fn open_planned(plan: &EventPlan, tid: u32, cpu: u16) -> io::Result<PerfEvent> {
    PerfEvent::open(&mut plan.attribute.clone(), id(tid), i32::from(cpu))
}

/// The event that every task has for every processor.
#[derive(Clone, Copy, Debug)]
struct ClockEvents<'a> {
    settings: &'a Settings,
    own: OwnEvents,
}

impl ClockEvents<'_> {
    /// A ring for each processor, of events of this task (0: of this thread), up to so many bytes that this user may lock
    /// for all. The events are not started.
    fn open_rings(self, tid: u32, cpus: &[u16], largest: usize) -> Result<Rings, ProcessCollectorError> {
        let sizes = Sizes { largest, smallest: SMALLEST_RING_BYTES };
        let attribute = |bytes, build_ids| self.attribute(bytes, build_ids);
        open_rings(id(tid), cpus, sizes, attribute).map_err(|error| match error {
            RingRefusal::Event(source) => ProcessCollectorError::Refused(source),
            RingRefusal::Memory(source) => ProcessCollectorError::NoMemory { cpus: cpus.len(), source },
            RingRefusal::Ring(source) => {
                ProcessCollectorError::System { operation: "map a ring buffer", source }
            }
        })
    }

    /// The event of a task for one processor.
    fn open_event(self, tid: u32, cpu: u16, ring_bytes: usize) -> Result<PerfEvent, ProcessCollectorError> {
        let opened = open_event(id(tid), cpu, |build_ids| self.attribute(ring_bytes, build_ids));
        opened.map(|(event, _)| event).map_err(ProcessCollectorError::Refused)
    }

    fn attribute(self, ring_bytes: usize, build_ids: bool) -> perf_event_attr {
        attributes::own_clock(self.settings, ring_bytes, build_ids, self.own)
    }
}

/// The thread as the kernel takes it.
fn id(tid: u32) -> i32 {
    i32::try_from(tid).expect("a thread id fits")
}

fn system(operation: &'static str) -> impl FnOnce(io::Error) -> ProcessCollectorError {
    move |source| ProcessCollectorError::System { operation, source }
}
