//! The perf collector: the scheduler's tracepoints and a clock on every processor.
//!
//! ```text
//!   processor 0   side band ─┐ blocks ┐ waking ┐ fork ┐ clock ┐
//!                       ring 0 ◄──────┴────────┴──────┴───────┘   (one per processor, in time order)
//! ```
//! The side band tells who got and who left the processor, completely; the tracepoints add why and where a
//! thread blocks and who woke it, and are dropped where the kernel's mark against recursion sticks ([`super::switches`]).

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, RawFd};

use longpole_event::Time;
use perf_event_open_sys::ioctls;

use super::attributes::{self, EventPlan, Tracepoints};
use super::conversion::{Conversion, SampleMeaning};
use super::presence::Presence;
use super::private_places::PrivatePlaces;
use super::reader::PerfReader;
use super::repeats::Repeats;
use super::rings::{RingRefusal, Sizes, open_rings};
use super::short_stacks::open_short;
use super::switches::Switches;
use super::threads::{Scope, Threads};
use crate::collector::Collector;
use crate::collector_choice::Settings;
use crate::raw::{KernelTask, RawEvent};
use longpole_privileged::{PerfEvent, VariedClocks, online_cpus};

/// Room in all rings together; a ring is a power of two of it, within the limits below.
const ALL_RINGS_BYTES: usize = 16 << 20;
const LARGEST_RING_BYTES: usize = 8 << 20;
const SMALLEST_RING_BYTES: usize = 64 << 10;

/// Why the perf collector could not be opened; completes "failed to …".
#[derive(Debug, thiserror::Error)]
pub(crate) enum PerfError {
    /// tracefs is closed to this user, and nothing was kept for it.
    #[error("read the numbers of the scheduler's tracepoints")]
    NoTracepoints(#[source] io::Error),
    /// The tracepoints have other fields than every kernel known.
    #[error("find the fields of the scheduler's tracepoints")]
    UnknownFormat,
    /// The kernel refused an event for all processes.
    #[error("open perf events for all processes")]
    NotPermitted(#[source] io::Error),
    /// The kernel refused for another reason.
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
pub(crate) struct PerfCollector {
    reader: PerfReader,
    clocks: VariedClocks,
}

impl PerfCollector {
    /// Opens and starts the events; no task is recorded before [`Collector::track`].
    ///
    /// # Errors
    /// [`PerfError`].
    pub(crate) fn open(settings: &Settings) -> Result<PerfCollector, PerfError> {
        let tracepoints = Tracepoints::read().map_err(PerfError::NoTracepoints)?;
        let plans = attributes::plans(settings, &tracepoints).ok_or(PerfError::UnknownFormat)?;
        let cpus = online_cpus().map_err(system("list the processors"))?;
        let mut conversion = Conversion::new(Threads::new(Scope::Tree { name: None }));
        conversion.has_creation = tracepoints.has_fork();
        conversion.switches = Some(Switches::new(true));
        conversion.repeats = Some(Repeats::default());
        conversion.privacy = PrivatePlaces::of_caller();
        let side_band = attributes::layout(&attributes::side_band(0, true));
        let mut kinds = vec![(SampleMeaning::Unused, side_band)];
        kinds.extend(plans.iter().map(|plan| (plan.meaning.clone(), attributes::layout(&plan.attribute))));
        let mut reader = PerfReader::new(kinds, conversion, Presence::new(true, None), true);
        let mut clocks = VariedClocks::new(settings.hertz);
        for cpu in &cpus {
            let clock = open_cpu(&mut reader, *cpu, cpus.len(), &plans)?;
            clock.into_iter().for_each(|clock| clocks.add(clock));
        }
        reader.add_short_stacks(0, |kind, ring| {
            let plan = plans.get(kind.checked_sub(1)?)?;
            let event = open_short(&plan.attribute, -1, cpus[ring])?;
            plan.filter.is_none_or(|filter| set_filter(&event, filter).is_ok()).then_some(event)
        });
        reader.enable().map_err(system("start a perf event"))?;
        Ok(PerfCollector { reader, clocks })
    }
}

/// Opens the events of a processor; gives its clock.
fn open_cpu(
    reader: &mut PerfReader,
    cpu: u16,
    cpu_count: usize,
    plans: &[EventPlan],
) -> Result<Option<PerfEvent>, PerfError> {
    let sizes = Sizes { largest: ring_bytes(cpu_count), smallest: SMALLEST_RING_BYTES };
    let opened = open_rings(-1, &[cpu], sizes, attributes::side_band).map_err(|error| match error {
        RingRefusal::Event(source) => refusal(source),
        RingRefusal::Memory(source) | RingRefusal::Ring(source) => system("map a ring buffer")(source),
    })?;
    let sharing = "let perf events share a ring";
    for (ring, has_build_ids) in opened.rings {
        reader.add_ring(cpu, ring, has_build_ids).map_err(system(sharing))?;
    }
    let ring = reader.ring_count() - 1;
    let mut clock = None;
    for (index, plan) in plans.iter().enumerate() {
        let event = PerfEvent::open(&mut plan.attribute.clone(), -1, cpu.into()).map_err(refusal)?;
        if let Some(filter) = plan.filter {
            set_filter(&event, filter).map_err(system("filter a tracepoint"))?;
        }
        if attributes::is_clock(&plan.attribute) {
            clock = Some(event.try_clone().map_err(system("keep a perf event"))?);
        }
        reader.add_event(event, index + 1, ring).map_err(system(sharing))?;
    }
    Ok(clock)
}

impl Collector for PerfCollector {
    fn track(&mut self, task: KernelTask) -> io::Result<()> {
        self.reader.conversion.threads.track(task);
        Ok(())
    }

    fn drain(&mut self, into: &mut Vec<RawEvent>) -> io::Result<()> {
        self.clocks.vary();
        self.reader.drain(into);
        Ok(())
    }

    fn stop(&mut self) {
        self.reader.stop();
        self.clocks.stop();
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
        vec!["system calls are not seen: causes of waits come from the kernel's frames".to_owned()]
    }

    fn findings(&self) -> Vec<String> {
        self.reader.findings()
    }
}

fn ring_bytes(cpu_count: usize) -> usize {
    let share = (ALL_RINGS_BYTES / cpu_count.max(1)).clamp(SMALLEST_RING_BYTES, LARGEST_RING_BYTES);
    1 << share.ilog2()
}

fn set_filter(event: &PerfEvent, filter: &str) -> io::Result<()> {
    let filter = CString::new(filter).expect("a constant without zero bytes");
    // SAFETY: the descriptor is an open perf event and the string is terminated.
    match unsafe { ioctls::SET_FILTER(event.as_raw_fd(), filter.as_ptr().cast_mut()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn refusal(source: io::Error) -> PerfError {
    match source.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) => PerfError::NotPermitted(source),
        _ => PerfError::System { operation: "open perf events for all processes", source },
    }
}

fn system(operation: &'static str) -> impl FnOnce(io::Error) -> PerfError {
    move |source| PerfError::System { operation, source }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::time::Duration;

    use longpole_event::{Blocking, Time};
    use rustc_hash::FxHashSet;

    use super::*;
    use crate::launch::{ProgramCommand, Suspended};
    use crate::raw::{RawKind, RawStack, RawWaker};

    /// Raw events of a command, without losses; `None` where perf events are not permitted.
    fn record(command: &[&str]) -> Option<(u32, Vec<RawEvent>)> {
        let mut losses = Vec::new();
        // A ring can fill up while something else has all processors.
        for attempt in 0..4 {
            std::thread::sleep(Duration::from_millis(500 * attempt));
            let recorded = record_once(command)?;
            let lost = recorded.1.iter().filter(|event| matches!(event.kind, RawKind::Lost { .. }));
            losses = lost.cloned().collect();
            if losses.is_empty() {
                return Some(recorded);
            }
        }
        panic!("events were lost in every attempt: {losses:?}");
    }

    fn record_once(command: &[&str]) -> Option<(u32, Vec<RawEvent>)> {
        let settings =
            Settings { hertz: 997, stack_bytes: 1024, frame_pointers: true, ..Settings::default() };
        let mut collector = match PerfCollector::open(&settings) {
            Ok(collector) => collector,
            Err(error @ (PerfError::NotPermitted(_) | PerfError::NoTracepoints(_))) => {
                longpole_testkit::skipped(&error.to_string());
                return None;
            }
            Err(error) => panic!("{error}"),
        };
        let command: Vec<_> = command.iter().map(OsString::from).collect();
        let suspended = Suspended::launch(&ProgramCommand::find(&command).unwrap()).unwrap();
        let pid = suspended.pid();
        collector.track(KernelTask { pid, tid: pid }).unwrap();
        let mut child = suspended.resume(&[]).unwrap();
        crate::machine::take_precedence();
        let waiting = std::thread::spawn(move || child.wait().unwrap());
        let mut events = Vec::new();
        while !waiting.is_finished() {
            collector.drain(&mut events).unwrap();
            std::thread::sleep(Duration::from_millis(5));
        }
        collector.drain(&mut events).unwrap();
        collector.stop();
        collector.drain(&mut events).unwrap();
        Some((pid, events))
    }

    #[test]
    fn the_tree_of_a_shell_is_recorded_and_nothing_else() {
        let Some((pid, events)) = record(&["sh", "-c", "sleep 0.02; true | cat; exec sleep 0.01"]) else {
            return;
        };
        assert!(events.is_sorted_by_key(|event| event.time));
        let mut tree = FxHashSet::from_iter([pid]);
        let (mut programs, mut exits) = (Vec::new(), 0);
        for event in &events {
            match &event.kind {
                RawKind::Fork { parent, child, stack } => {
                    assert!(tree.contains(&parent.tid));
                    assert!(matches!(stack, RawStack::Taken(_)), "a shell forks somewhere");
                    tree.insert(child.tid);
                }
                RawKind::Exec { task, program, .. } => {
                    assert!(tree.contains(&task.tid));
                    programs.push(program.rsplit('/').next().unwrap().to_owned());
                }
                RawKind::Exit { task } => {
                    assert!(tree.contains(&task.tid));
                    exits += 1;
                }
                RawKind::Switch { previous, next, .. } => {
                    assert!(previous.or(*next).is_some_and(|task| tree.contains(&task.tid)));
                }
                _ => {}
            }
        }
        assert!(programs.iter().filter(|program| *program == "sleep").count() >= 2, "{programs:?}");
        assert_eq!(exits, tree.len());
    }

    #[test]
    fn a_sleeper_blocks_with_its_stack_and_is_woken_by_the_timer() {
        let Some((pid, events)) = record(&["sleep", "0.03"]) else { return };
        let blocked = events.iter().any(|event| {
            matches!(&event.kind, RawKind::Switch { previous: Some(task), blocking: Blocking::Interruptible,
                stack: RawStack::Taken(stack), .. }
                if task.pid == pid && stack.registers.is_some() && !stack.memory.is_empty() && !stack.kernel.is_empty())
        });
        assert!(blocked);
        let woken = |event: &&RawEvent| matches!(&event.kind, RawKind::Wake { wakee, waker: RawWaker::Interrupt | RawWaker::HardInterrupt, .. } if wakee.pid == pid);
        assert!(events.iter().filter(woken).count() >= 1);
    }

    #[test]
    fn samples_stand_for_the_time_since_the_look_before() {
        let Some((pid, events)) = record(&["sh", "-c", "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done"])
        else {
            return;
        };
        let samples = events.iter().filter_map(|event| match event.kind {
            RawKind::Sample { task, gap, .. } if task.pid == pid => Some((event.time, event.cpu, gap)),
            _ => None,
        });
        let mut last: Vec<Option<Time>> = vec![None; 1024];
        let mut known = 0;
        for (time, cpu, gap) in samples {
            // Whatever else was sampled there meanwhile makes it shorter.
            if let Some(before) = last[usize::from(cpu)].replace(time) {
                assert!(gap > 0 && gap <= time.since(before), "{gap} ns at {time:?}, after {before:?}");
                known += 1;
            }
        }
        assert!(known > 0 || events.is_empty(), "no processor found the loop twice");
    }

    #[test]
    fn rings_fit_the_number_of_processors() {
        assert_eq!(ring_bytes(1), LARGEST_RING_BYTES);
        assert_eq!(ring_bytes(6), 2 << 20);
        assert_eq!(ring_bytes(1000), SMALLEST_RING_BYTES);
    }
}
