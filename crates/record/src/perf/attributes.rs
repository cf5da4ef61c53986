//! The perf events of the collector: what each samples, with which filter.

use std::io;

use perf_event_open_sys::bindings as perf;

use super::conversion::SampleMeaning;
use super::format::TracepointFormat;
use super::futexes::FutexCalls;
use super::layout::{Layout, sample};
use super::scheduling::{Creating, Switching, Waking};
use crate::collector_choice::Settings;
use crate::tracefs;

/// x86-64 user registers: bp, sp, ip.
const REGISTERS: u64 = 1 << 6 | 1 << 7 | 1 << 8;
/// The kernel refuses samples beyond 64 KiB; nobody waits deeper.
const MOST_STACK_BYTES: u32 = 32 * 1024;
/// Addresses in a chain.
const MOST_FRAMES: u16 = 96;

/// One event that is opened on each processor.
#[derive(Clone, Debug)]
pub(crate) struct EventPlan {
    pub(crate) attribute: perf::perf_event_attr,
    /// Condition on the tracepoint's fields, in the kernel's words.
    pub(crate) filter: Option<&'static str>,
    pub(crate) meaning: SampleMeaning,
}

/// Of switches the records tell all but why and where a thread waits. Of a wake only the task whose own doing
/// it is needs its stack: copying stacks is most of the cost, and these events fire for every task of the machine.
const BLOCKS: &str = "prev_state & 0xff";
const BY_TASK: &str = "common_pid != 0 && !(common_flags & 0x48)";
const BY_INTERRUPT: &str = "common_pid == 0 || common_flags & 0x48";

/// What samples of the settings hold.
#[derive(Clone, Copy, Debug)]
enum SampleDetail {
    Nothing,
    Stack,
}

/// The event whose ring all others write into; it delivers mappings, names, starts, ends and switches.
pub(crate) fn side_band(ring_bytes: usize, build_ids: bool) -> perf::perf_event_attr {
    let mut attribute = base();
    attribute.type_ = perf::PERF_TYPE_SOFTWARE;
    attribute.config = perf::PERF_COUNT_SW_DUMMY.into();
    attribute.set_mmap(1);
    attribute.set_mmap2(1);
    attribute.set_build_id(build_ids.into());
    attribute.set_comm(1);
    attribute.set_comm_exec(1);
    attribute.set_task(1);
    attribute.set_context_switch(1);
    // The reader looks by itself; it is woken only when a quarter of the ring is full.
    attribute.set_watermark(1);
    attribute.__bindgen_anon_2.wakeup_watermark = u32::try_from(ring_bytes / 4).unwrap_or(u32::MAX);
    attribute
}

/// What a user may have of their own threads, and what it goes with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OwnEvents {
    /// The kernel's part of it too (`perf_event_paranoid` up to 1).
    pub(crate) has_kernel: bool,
    /// There are no other events.
    pub(crate) is_alone: bool,
}

/// The event that users may always have of threads of their own program: a clock of their running time, which also
/// delivers what [`side_band`] does, of that thread and of those it creates.
pub(crate) fn own_clock(
    settings: &Settings,
    ring_bytes: usize,
    build_ids: bool,
    own: OwnEvents,
) -> perf::perf_event_attr {
    let mut attribute = side_band(ring_bytes, build_ids);
    attribute.config = perf::PERF_COUNT_SW_TASK_CLOCK.into();
    attribute.__bindgen_anon_1.sample_period = longpole_privileged::steady(settings.hertz);
    with_stack(&mut attribute, settings);
    of_own_threads(&mut attribute, own.has_kernel);
    // Rings are small here: what needs not be told is left out.
    if own.is_alone {
        attribute.sample_type &= !sample::IDENTIFIER;
    }
    attribute
}

/// The switches of one's own threads, with where they leave their processors.
pub(crate) fn own_leaves(settings: &Settings) -> EventPlan {
    let mut attribute = base();
    attribute.type_ = perf::PERF_TYPE_SOFTWARE;
    attribute.config = perf::PERF_COUNT_SW_CONTEXT_SWITCHES.into();
    attribute.__bindgen_anon_1.sample_period = 1;
    with_stack(&mut attribute, settings);
    of_own_threads(&mut attribute, true);
    EventPlan { attribute, filter: None, meaning: SampleMeaning::Leave }
}

/// Of a thread and those that it creates. Which processor it is on is known by the ring.
fn of_own_threads(attribute: &mut perf::perf_event_attr, has_kernel: bool) {
    attribute.sample_type &= !sample::CPU;
    attribute.set_inherit(1);
    attribute.set_exclude_hv(1);
    attribute.set_exclude_kernel((!has_kernel).into());
    attribute.set_exclude_callchain_kernel((!has_kernel).into());
}

/// The futex calls of one's own threads, where their tracepoints are known to this user.
pub(crate) fn own_futexes(settings: &Settings) -> Vec<EventPlan> {
    let read = |name: &str| TracepointFormat::parse(&tracefs::format(name).ok()?);
    let both = read("syscalls/sys_enter_futex").zip(read("syscalls/sys_exit_futex"));
    let Some((enter, exit)) = both else { return Vec::new() };
    let Some(calls) = FutexCalls::new(&enter) else { return Vec::new() };
    let plan = |id, detail, meaning| {
        let mut attribute = tracepoint(settings, id, detail);
        of_own_threads(&mut attribute, false);
        EventPlan { attribute, filter: None, meaning }
    };
    let mut exit = plan(exit.id, SampleDetail::Nothing, SampleMeaning::FutexExit);
    exit.attribute.sample_type &= !sample::RAW;
    vec![plan(enter.id, SampleDetail::Stack, SampleMeaning::FutexEnter(calls)), exit]
}

/// The formats of the tracepoints that are used.
#[derive(Clone, Debug)]
pub(crate) struct Tracepoints {
    switch: TracepointFormat,
    waking: TracepointFormat,
    /// Only for the places where threads are created.
    fork: Option<TracepointFormat>,
}

impl Tracepoints {
    /// Reads them from tracefs.
    pub(crate) fn read() -> io::Result<Tracepoints> {
        let read = |name: &str| {
            let text = tracefs::format(name)?;
            let unknown = || io::Error::new(io::ErrorKind::InvalidData, format!("format of {name}"));
            TracepointFormat::parse(&text).ok_or_else(unknown)
        };
        let fork = read("sched/sched_process_fork").ok();
        Ok(Tracepoints { switch: read("sched/sched_switch")?, waking: read("sched/sched_waking")?, fork })
    }

    pub(crate) fn has_fork(&self) -> bool {
        self.fork.is_some()
    }

    /// What each of the formats means; `None` where a tracepoint lacks a field.
    pub(crate) fn meanings(&self) -> Option<Vec<(u64, SampleMeaning)>> {
        let mut meanings = vec![
            (self.switch.id, SampleMeaning::Switch(Switching::new(&self.switch)?)),
            (self.waking.id, SampleMeaning::Wake(Waking::new(&self.waking)?)),
        ];
        if let Some(fork) = &self.fork {
            meanings.push((fork.id, SampleMeaning::Create(Creating::new(fork)?)));
        }
        Some(meanings)
    }
}

/// The other events; `None` where the kernel's tracepoints lack a field.
pub(crate) fn plans(settings: &Settings, tracepoints: &Tracepoints) -> Option<Vec<EventPlan>> {
    let mut plans = Vec::new();
    for (id, meaning) in tracepoints.meanings()? {
        let details: &[_] = match meaning {
            SampleMeaning::Switch(_) => &[(SampleDetail::Stack, Some(BLOCKS))],
            SampleMeaning::Wake(_) => {
                &[(SampleDetail::Stack, Some(BY_TASK)), (SampleDetail::Nothing, Some(BY_INTERRUPT))]
            }
            _ => &[(SampleDetail::Stack, None)],
        };
        for &(detail, filter) in details {
            let attribute = tracepoint(settings, id, detail);
            plans.push(EventPlan { attribute, filter, meaning: meaning.clone() });
        }
    }
    plans.push(EventPlan { attribute: clock(settings), filter: None, meaning: SampleMeaning::Clock });
    Some(plans)
}

/// How the records of an event are laid out.
pub(crate) fn layout(attribute: &perf::perf_event_attr) -> Layout {
    Layout {
        sample_type: attribute.sample_type,
        read_format: attribute.read_format,
        branch_type: 0,
        user_registers: attribute.sample_regs_user,
        identifies_all: true,
        has_switches: attribute.context_switch() != 0,
        has_build_ids: attribute.build_id() != 0,
    }
}

fn tracepoint(settings: &Settings, id: u64, detail: SampleDetail) -> perf::perf_event_attr {
    let mut attribute = base();
    attribute.type_ = perf::PERF_TYPE_TRACEPOINT;
    attribute.config = id;
    attribute.__bindgen_anon_1.sample_period = 1;
    attribute.sample_type |= sample::RAW;
    if matches!(detail, SampleDetail::Stack) {
        with_stack(&mut attribute, settings);
    }
    attribute
}

/// Whether the event is such a clock, whose interval can be changed.
pub(crate) fn is_clock(attribute: &perf::perf_event_attr) -> bool {
    attribute.type_ == perf::PERF_TYPE_SOFTWARE
        && attribute.config == u64::from(perf::PERF_COUNT_SW_CPU_CLOCK)
}

fn clock(settings: &Settings) -> perf::perf_event_attr {
    let mut attribute = longpole_privileged::bare_clock(settings.hertz);
    with_stack(&mut attribute, settings);
    attribute
}

fn with_stack(attribute: &mut perf::perf_event_attr, settings: &Settings) {
    attribute.sample_type |= sample::CALLCHAIN | sample::REGS_USER;
    attribute.sample_regs_user = REGISTERS;
    attribute.sample_max_stack = MOST_FRAMES;
    attribute.set_exclude_callchain_user((!settings.frame_pointers).into());
    let stack_bytes = settings.stack_bytes.min(MOST_STACK_BYTES) & !7;
    if stack_bytes > 0 {
        attribute.sample_type |= sample::STACK_USER;
        attribute.sample_stack_user = stack_bytes;
    }
}

fn base() -> perf::perf_event_attr {
    let mut attribute = perf::perf_event_attr {
        sample_type: sample::IDENTIFIER | sample::TID | sample::TIME | sample::CPU,
        clockid: libc::CLOCK_MONOTONIC,
        ..Default::default()
    };
    attribute.set_use_clockid(1);
    attribute.set_sample_id_all(1);
    attribute.set_disabled(1);
    attribute
}
