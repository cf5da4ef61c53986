//! Which of a file's events is which.

use super::container::{Attribute, Container, feature};
use super::error::{ImportError, ImportResult};
use super::tracing;
use crate::perf::SampleMeaning;
use crate::perf::format::TracepointFormat;
use crate::perf::layout::sample;
use crate::perf::scheduling::{Creating, Switching, Waking};
use crate::tracefs;

const TYPE_HARDWARE: u32 = 0;
const TYPE_SOFTWARE: u32 = 1;
const TYPE_TRACEPOINT: u32 = 2;
const HARDWARE_CYCLES: [u64; 2] = [0, 9];
const SOFTWARE_CLOCKS: [u64; 2] = [0, 1];
/// Upper half of a hardware event's `config`: which kind of core, on machines with several.
const HARDWARE_CONFIG: u64 = 0xffff_ffff;

/// The events of a file.
#[derive(Debug)]
pub struct Events {
    /// By index of the attribute.
    pub meanings: Vec<SampleMeaning>,
    /// Samples per second asked for; 0 when there are none or they are taken per count.
    pub hertz: u32,
    /// Longest time that a running thread goes without a sample, nanoseconds; `None` without a clock.
    pub period: Option<u64>,
    /// Whether stacks were taken at switches.
    pub has_stacks: bool,
    /// Whether the user's part of them is a copy of the stack rather than a chain of frame pointers.
    pub has_copies: bool,
    /// Whether samples of a clock are there.
    pub has_clock: bool,
    /// Whether switches have records of their own (`--switch-events`).
    pub has_switches: bool,
    /// Whether the creation of threads was recorded with its place.
    pub has_creation: bool,
}

impl Events {
    /// Finds the events.
    ///
    /// # Errors
    /// [`ImportError::MissingEvent`], [`ImportError::IncompleteEvent`].
    pub fn find<R: std::io::Read + std::io::Seek>(container: &Container<R>) -> ImportResult<Events> {
        let mut formats = container.feature(feature::TRACING_DATA).map(tracing::formats).unwrap_or_default();
        if formats.is_empty() {
            // The end of the file is missing: on the machine that recorded, the kernel still knows.
            let local = |name| tracefs::format(name).ok().and_then(|text| TracepointFormat::parse(&text));
            let names = ["sched/sched_switch", "sched/sched_waking", "sched/sched_process_fork"];
            formats = names.into_iter().filter_map(local).collect();
        }
        let attributes = container.attributes();
        let meanings: Vec<_> = attributes.iter().map(|attribute| meaning(attribute, &formats)).collect();
        let find =
            |is: fn(&SampleMeaning) -> bool| meanings.iter().position(is).map(|index| &attributes[index]);
        let switch = find(|meaning| matches!(meaning, SampleMeaning::Switch(_)));
        let switch = demand(switch, "sched:sched_switch")?;
        demand(find(|meaning| matches!(meaning, SampleMeaning::Wake(_))), "sched:sched_waking")?;
        let clock = find(|meaning| matches!(meaning, SampleMeaning::Clock));
        Ok(Events {
            hertz: clock.filter(|clock| clock.is_frequency).map_or(0, |clock| clock.rate as u32),
            period: clock.and_then(longest_gap),
            has_stacks: switch.layout.sample_type & sample::CALLCHAIN != 0,
            has_copies: switch.layout.sample_type & sample::STACK_USER != 0,
            has_clock: clock.is_some(),
            has_switches: attributes.iter().any(|attribute| attribute.layout.has_switches),
            has_creation: find(|meaning| matches!(meaning, SampleMeaning::Create(_))).is_some(),
            meanings,
        })
    }
}

fn meaning(attribute: &Attribute, formats: &[TracepointFormat]) -> SampleMeaning {
    match attribute.kind {
        TYPE_TRACEPOINT => {
            let Some(format) = formats.iter().find(|format| format.id == attribute.config) else {
                return SampleMeaning::Unused;
            };
            let meaning = match format.name.as_str() {
                "sched_switch" => Switching::new(format).map(SampleMeaning::Switch),
                "sched_waking" => Waking::new(format).map(SampleMeaning::Wake),
                "sched_process_fork" => Creating::new(format).map(SampleMeaning::Create),
                _ => None,
            };
            meaning.unwrap_or(SampleMeaning::Unused)
        }
        TYPE_SOFTWARE if SOFTWARE_CLOCKS.contains(&attribute.config) => SampleMeaning::Clock,
        TYPE_HARDWARE if HARDWARE_CYCLES.contains(&(attribute.config & HARDWARE_CONFIG)) => {
            SampleMeaning::Clock
        }
        _ => SampleMeaning::Unused,
    }
}

fn demand<'a>(attribute: Option<&'a Attribute>, event: &'static str) -> ImportResult<&'a Attribute> {
    let attribute = attribute.ok_or(ImportError::MissingEvent { event })?;
    let needed =
        [(sample::TIME, "times (-T)"), (sample::TID, "thread ids"), (sample::RAW, "its fields (-R)")];
    match needed.iter().find(|(bit, _)| attribute.layout.sample_type & bit == 0) {
        Some(&(_, what)) => Err(ImportError::IncompleteEvent { event, what }),
        None => Ok(attribute),
    }
}

/// Only a clock of the kernel bounds the time between samples: cycles stand still in a slow machine.
fn longest_gap(clock: &Attribute) -> Option<u64> {
    match (clock.kind, clock.is_frequency, clock.rate) {
        (TYPE_SOFTWARE, true, rate @ 1..) => Some(1_000_000_000 / rate),
        (TYPE_SOFTWARE, false, rate @ 1..) => Some(rate),
        _ => None,
    }
}
