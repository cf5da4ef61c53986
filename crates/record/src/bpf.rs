//! The bpf collector (rung 1): programs in the kernel that see the recorded tasks only.

mod areas;
mod arrivals;
mod kernel_types;
mod mappings;
mod meter;
mod wire;

use std::collections::hash_map::Entry;
use std::io;
use std::os::fd::{AsFd, AsRawFd, RawFd};

use aya::maps::{HashMap as BpfHashMap, MapData, PerCpuArray, RingBuf};
use aya::programs::perf_event::{PerfEventConfig, PerfEventScope, SamplePolicy, SoftwareEvent};
use aya::programs::{BtfTracePoint, PerfEvent, Program};
use aya::{Btf, Ebpf, EbpfLoader, Endianness, VerifierLogLevel, include_bytes_aligned};
use longpole_event::{LossKind, Time};
use rustc_hash::FxHashMap;

use self::areas::{ExecutableAreas, WireAreas};
use self::arrivals::Arrivals;
use self::mappings::MappingRings;
use self::meter::Meter;
use self::wire::Wire;
use crate::collector::{Collector, KernelCost};
use crate::raw::{RawEvent, RawKind, RawStack, TakenStack, Task};
use crate::ring::online_cpus;
use crate::rungs::Settings;

static OBJECT: &[u8] = include_bytes_aligned!("../bpf/longpole.bpf.o");
const TYPE_INFORMATION: &str = "/sys/kernel/btf/vmlinux";
const TRACEPOINTS: [&str; 5] =
    ["sched_switch", "sched_waking", "sched_process_fork", "sched_process_exec", "task_rename"];
/// Largest copy of user memory that the programs have room for (`MOST_MEMORY` in `bpf/records.h`).
pub(crate) const MOST_STACK_BYTES: u32 = 8192;
/// Bytes of the ring that one drain takes.
const DRAIN_BYTES: usize = 1 << 20;
/// Records of different processors can stand in the ring in another order than their times by this much.
const DISORDER_NANOSECONDS: u64 = 5_000_000;
/// The kernel's counters of losses, by index in the map `counters`.
const LOSSES: [LossKind; 4] = [LossKind::Events, LossKind::Samples, LossKind::Stacks, LossKind::Threads];

/// Why the bpf collector could not be opened; completes "failed to …".
#[derive(Debug, thiserror::Error)]
pub(crate) enum BpfError {
    /// The kernel has no type information.
    #[error("read the kernel's type information {TYPE_INFORMATION}")]
    NoTypeInformation(#[source] io::Error),
    /// The kernel has not got the tracepoints.
    #[error("find the tracepoints {TRACEPOINTS:?} in {TYPE_INFORMATION}")]
    NoTracepoints,
    /// The kernel refused the programs.
    #[error("load the kernel programs")]
    Load(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The kernel refused a perf event.
    #[error("open a perf event on every processor")]
    PerfEvent(#[source] io::Error),
}

fn load_error(error: impl std::error::Error + Send + Sync + 'static) -> BpfError {
    BpfError::Load(Box::new(error))
}

/// The running collector.
pub(crate) struct BpfCollector {
    programs: Ebpf,
    ring: RingBuf<MapData>,
    tracked: BpfHashMap<MapData, u32, u32>,
    counters: PerCpuArray<MapData, u64>,
    mappings: MappingRings,
    areas: ExecutableAreas,
    executable: BpfHashMap<MapData, u32, WireAreas>,
    /// Stacks whose first event has not been read yet, by key.
    pending: FxHashMap<u64, Box<TakenStack>>,
    lost: [u64; LOSSES.len()],
    undecodable: u64,
    /// Keeps the kernel counting the programs' time.
    meter: Meter,
    cost: Option<KernelCost>,
    knows_interrupts: bool,
    has_accounts: bool,
    arrivals: Arrivals,
    behind: Option<Time>,
}

impl BpfCollector {
    /// Loads and attaches the programs; no task is recorded before [`Collector::track`].
    pub(crate) fn open(settings: &Settings) -> Result<BpfCollector, BpfError> {
        let bytes = std::fs::read(TYPE_INFORMATION).map_err(BpfError::NoTypeInformation)?;
        let distances = kernel_types::find(&bytes);
        let tracepoints = kernel_types::tracepoints_only(&bytes, &TRACEPOINTS);
        let has_accounts = kernel_types::has_accounts(&bytes);
        drop(bytes);
        let tracepoints = tracepoints.ok_or(BpfError::NoTracepoints)?;
        let types = Btf::parse(&tracepoints, Endianness::default()).map_err(load_error)?;
        let stack_bytes = settings.stack_bytes.min(MOST_STACK_BYTES) & !7;
        let preempt_count = distances.map_or(0, |distances| distances.preempt_count);
        let cpu_number = distances.map_or(0, |distances| distances.cpu_number);
        let mut programs = EbpfLoader::new()
            .verifier_log_level(VerifierLogLevel::DISABLE)
            .override_global("stack_bytes", &stack_bytes, true)
            .override_global("walk_frame_pointers", &u32::from(settings.frame_pointers), true)
            .override_global("preempt_count_known", &u32::from(distances.is_some()), true)
            .override_global("preempt_count_from_rq", &preempt_count, true)
            .override_global("cpu_number_from_rq", &cpu_number, true)
            .override_global("accounts_known", &u32::from(has_accounts), true)
            .load(OBJECT)
            .map_err(load_error)?;
        let meter = Meter::start();
        let mappings = MappingRings::open().map_err(BpfError::PerfEvent)?;
        attach(&mut programs, &types, settings.hertz)?;
        let mut map = |name: &str| programs.take_map(name).expect("the object has this map");
        Ok(BpfCollector {
            ring: RingBuf::try_from(map("ring")).map_err(load_error)?,
            tracked: BpfHashMap::try_from(map("tracked")).map_err(load_error)?,
            counters: PerCpuArray::try_from(map("counters")).map_err(load_error)?,
            executable: BpfHashMap::try_from(map("executable")).map_err(load_error)?,
            areas: ExecutableAreas::default(),
            programs,
            mappings,
            pending: FxHashMap::default(),
            lost: [0; LOSSES.len()],
            undecodable: 0,
            meter,
            cost: None,
            knows_interrupts: distances.is_some(),
            has_accounts,
            arrivals: Arrivals::default(),
            behind: None,
        })
    }

    /// Appends what is in the ring, up to a bound, and what is missing in it. A stack is put into the first event that
    /// names it.
    fn drain_ring(&mut self, into: &mut Vec<RawEvent>) {
        let (mut bytes, mut last) = (0, Time::ZERO);
        self.behind = None;
        while let Some(item) = self.ring.next() {
            bytes += item.len();
            match wire::decode(&item) {
                Some(Wire::Stack { key, stack }) => {
                    self.pending.insert(key, stack);
                }
                Some(Wire::Event(mut event, accounts)) => {
                    attach_stack(&mut self.pending, &mut event.kind);
                    last = event.time;
                    self.arrivals.take(event, accounts, into);
                }
                None => self.undecodable += 1,
            }
            if bytes >= DRAIN_BYTES {
                self.behind = Some(last - DISORDER_NANOSECONDS);
                break;
            }
        }
    }

    fn drain_losses(&mut self, into: &mut Vec<RawEvent>, now: Time) {
        let missing = self.arrivals.take_missing();
        self.undecodable += missing;
        for (index, kind) in LOSSES.into_iter().enumerate() {
            let index32 = u32::try_from(index).expect("there are few counters");
            let Ok(values) = self.counters.get(&index32, 0) else { continue };
            let mut total: u64 = values.iter().sum();
            if kind == LossKind::Events {
                total += self.undecodable;
            }
            let count = total - self.lost[index];
            if count > 0 {
                self.lost[index] = total;
                if kind == LossKind::Events && count > missing {
                    self.arrivals.lose();
                }
                into.push(RawEvent { time: now, cpu: 0, kind: RawKind::Lost { kind, count } });
            }
        }
    }
}

/// What the kernel counted of the programs so far.
fn counted(programs: &Ebpf) -> Option<KernelCost> {
    let mut cost = KernelCost::default();
    for (_, program) in programs.programs() {
        let info = program.info().ok()?;
        cost.nanoseconds += u64::try_from(info.run_time().as_nanos()).ok()?;
        cost.runs += info.run_count();
    }
    Some(cost)
}

fn attach(programs: &mut Ebpf, types: &Btf, hertz: u32) -> Result<(), BpfError> {
    for name in TRACEPOINTS {
        let program = programs.program_mut(name).expect("the object has this program");
        let program: &mut BtfTracePoint = program.try_into().map_err(load_error)?;
        program.load(name, types).map_err(load_error)?;
        program.attach().map_err(load_error)?;
    }
    let program = programs.program_mut("sample").expect("the object has this program");
    let program: &mut PerfEvent = program.try_into().map_err(load_error)?;
    program.load().map_err(load_error)?;
    for cpu in online_cpus().map_err(BpfError::PerfEvent)? {
        let scope = PerfEventScope::AllProcessesOneCpu { cpu: cpu.into() };
        let clock = PerfEventConfig::Software(SoftwareEvent::CpuClock);
        let policy = SamplePolicy::Frequency(hertz.into());
        program.attach(clock, scope, policy, false).map_err(load_error)?;
    }
    Ok(())
}

/// Replaces the name of a stack that has just been sent by the stack itself.
fn attach_stack(pending: &mut FxHashMap<u64, Box<TakenStack>>, kind: &mut RawKind) {
    let (RawKind::Switch { stack, .. } | RawKind::Wake { stack, .. } | RawKind::Fork { stack, .. }) = kind
    else {
        return;
    };
    if let RawStack::Known(key) = *stack
        && let Entry::Occupied(entry) = pending.entry(key)
    {
        *stack = RawStack::Taken(entry.remove());
    }
}

impl Collector for BpfCollector {
    fn track(&mut self, task: Task) -> io::Result<()> {
        self.meter.restart();
        self.areas.track(task.pid, crate::clock::now());
        self.tracked.insert(task.tid, task.pid, 0).map_err(io::Error::other)
    }

    fn drain(&mut self, into: &mut Vec<RawEvent>) -> io::Result<()> {
        // Mappings first: one that is there when a stack is taken is then never read after the stack.
        let (first, begun) = (into.len(), crate::clock::now());
        self.mappings.drain(into);
        // Losses before what is there: whose record is missing in it is then known to have been lost.
        self.drain_losses(into, begun);
        self.arrivals.begin_round(begun);
        self.drain_ring(into);
        into[first..].iter().for_each(|event| self.areas.learn(event));
        self.areas.publish(&mut self.executable).map_err(io::Error::other)?;
        self.drain_losses(into, crate::clock::now());
        let programs = &self.programs;
        self.meter.tick(|| counted(programs));
        Ok(())
    }

    fn behind(&self) -> Option<Time> {
        self.behind
    }

    fn stop(&mut self) {
        let counted = counted(&self.programs);
        self.cost = self.meter.finish(counted);
        for (_, program) in self.programs.programs_mut() {
            // A program that cannot be unloaded ends with its descriptors, when this value is dropped.
            let _ = match program {
                Program::BtfTracePoint(program) => program.unload(),
                Program::PerfEvent(program) => program.unload(),
                _ => Ok(()),
            };
        }
    }

    fn alarms(&self) -> Vec<RawFd> {
        vec![self.ring.as_fd().as_raw_fd()]
    }

    fn kernel_cost(&mut self) -> Option<KernelCost> {
        self.cost
    }

    fn notes(&self) -> Vec<String> {
        let interrupts = "the kernel does not say where its preemption count is: wakes from interrupts are told \
                          from wakes by tasks by the interrupted task's registers";
        let accounts = "the kernel keeps no account of when threads get their processors: a switch that it does not \
                        deliver is put where the thread is next seen";
        let notes = [(self.knows_interrupts, interrupts), (self.has_accounts, accounts)];
        notes.iter().filter(|(is_known, _)| !is_known).map(|(_, note)| (*note).to_owned()).collect()
    }

    fn findings(&self) -> Vec<String> {
        self.arrivals.notes()
    }
}
