//! The bpf collector: programs in the kernel that see the recorded tasks only.

mod areas;
mod arrivals;
mod busy_waits;
mod gaps;
mod kernel_types;
mod mappings;
mod probes;
mod remaps;
mod wire;

use std::collections::hash_map::Entry;
use std::io;
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::thread::{self, ScopedJoinHandle};

use aya::maps::{HashMap as BpfHashMap, MapData, PerCpuArray, RingBuf};
use aya::programs::{BtfTracePoint, PerfEvent as PerfEventProgram, Program, ProgramError};
use aya::{Btf, Ebpf, EbpfLoader, Endianness, VerifierLogLevel, include_bytes_aligned};
use longpole_event::{LossKind, Time};
use rustc_hash::FxHashMap;

use self::areas::{ExecutableAreas, WireAreas};
use self::arrivals::{Accounts, Arrivals};
use self::busy_waits::{BusyWaits, open_watches, run_program};
use self::gaps::SampleGaps;
use self::kernel_types::Distances;
use self::mappings::MappingRings;
use self::probes::Libraries;
use self::remaps::Remaps;
use self::wire::Wire;
use crate::collector::{Collector, KernelCost};
use crate::collector_choice::Settings;
use crate::jitter::VariedClocks;
use crate::perf::attributes;
use crate::raw::{KernelTask, RawEvent, RawKind, RawMark, RawStack, TakenStack};
use crate::ring::{PerfEvent, online_cpus};

static OBJECT: &[u8] = include_bytes_aligned!("../bpf/longpole.bpf.o");
const TYPE_INFORMATION: &str = "/sys/kernel/btf/vmlinux";
const TRACEPOINTS: [&str; 6] = [
    "sched_switch",
    "sched_waking",
    "sched_process_fork",
    "sched_process_exec",
    "sched_process_wait",
    "task_rename",
];
/// The program that each tick of a processor's clock runs.
const CLOCK: &str = "sample";
/// The program that each store into a watched word runs.
const STORE: &str = "store";
/// Largest copy of user memory that the programs have room for (`MOST_MEMORY` in `bpf/records.h`).
pub(crate) const MOST_STACK_BYTES: u32 = 8192;
/// Bytes of the ring that one drain takes.
const DRAIN_BYTES: usize = 1 << 20;
/// Records of different processors can stand in the ring in another order than their times by this much.
const DISORDER_NANOSECONDS: u64 = 5_000_000;
/// The kernel's counters of losses, by index in the map `counters`.
const LOSSES: [LossKind; 4] = [LossKind::Events, LossKind::Samples, LossKind::Stacks, LossKind::Threads];
/// Behind them: runs that were about recorded tasks, and nanoseconds of one in [`TIMED_RUNS`] of these.
const OWN_RUNS: u32 = 4;
const OWN_NANOSECONDS: u32 = 5;
const TIMED_RUNS: u64 = 16;

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

/// What the kernel's type information tells of the kernel.
struct KernelTypes {
    distances: Option<Distances>,
    has_accounts: bool,
    /// What programs are attached to.
    types: Btf,
}

impl KernelTypes {
    fn read() -> Result<KernelTypes, BpfError> {
        let bytes = &std::fs::read(TYPE_INFORMATION).map_err(BpfError::NoTypeInformation)?;
        let tracepoints = kernel_types::attachable_only(bytes, &TRACEPOINTS, &probes::functions());
        let tracepoints = tracepoints.ok_or(BpfError::NoTracepoints)?;
        Ok(KernelTypes {
            distances: kernel_types::find(bytes),
            has_accounts: kernel_types::has_accounts(bytes),
            types: Btf::parse(&tracepoints, Endianness::default()).map_err(load_error)?,
        })
    }
}

/// The running collector.
pub(crate) struct BpfCollector {
    programs: Ebpf,
    ring: RingBuf<MapData>,
    tracked: BpfHashMap<MapData, u32, u32>,
    counters: PerCpuArray<MapData, u64>,
    mappings: MappingRings,
    clocks: VariedClocks,
    areas: ExecutableAreas,
    executable: BpfHashMap<MapData, u32, WireAreas>,
    /// Stacks whose first event has not been read yet, by key.
    pending: FxHashMap<u64, Box<TakenStack>>,
    lost: [u64; LOSSES.len()],
    undecodable: u64,
    remaps: Remaps,
    cost: Option<KernelCost>,
    knows_interrupts: bool,
    has_accounts: bool,
    arrivals: Arrivals,
    gaps: SampleGaps,
    busy_waits: BusyWaits,
    libraries: Libraries,
    /// What of the dependences of threads the kernel lets nobody see.
    unseen: Vec<&'static str>,
    behind: Option<Time>,
}

impl BpfCollector {
    /// Loads and attaches the programs; no task is recorded before [`Collector::track`].
    pub(crate) fn open(settings: &Settings) -> Result<BpfCollector, BpfError> {
        let (loader, found) = thread::scope(|scope| {
            // It reads and parses all type information of the kernel, too.
            let loader = scope.spawn(EbpfLoader::new);
            let found = KernelTypes::read();
            (loader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), found)
        });
        let (mut loader, KernelTypes { distances, has_accounts, types }) = (loader, found?);
        let stack_bytes = settings.stack_bytes.min(MOST_STACK_BYTES) & !7;
        let preempt_count = distances.map_or(0, |distances| distances.preempt_count);
        let cpu_number = distances.map_or(0, |distances| distances.cpu_number);
        let processors = online_cpus().map_err(BpfError::PerfEvent)?;
        let watches = open_watches(&processors);
        // SAFETY: no arguments.
        let (user, group) = unsafe { (libc::getuid(), libc::getgid()) };
        let mut programs = loader
            .verifier_log_level(VerifierLogLevel::DISABLE)
            .override_global("stack_bytes", &stack_bytes, true)
            .override_global("walk_frame_pointers", &u32::from(settings.frame_pointers), true)
            .override_global("preempt_count_known", &u32::from(distances.is_some()), true)
            .override_global("preempt_count_from_rq", &preempt_count, true)
            .override_global("cpu_number_from_rq", &cpu_number, true)
            .override_global("callers_only", &u32::from(user != 0), true)
            .override_global("caller_user", &user, true)
            .override_global("caller_group", &group, true)
            .override_global("watch_stores", &u32::from(!watches.is_empty()), true)
            .override_global("accounts_known", &u32::from(has_accounts), true)
            .load(OBJECT)
            .map_err(load_error)?;
        let mappings = MappingRings::open().map_err(BpfError::PerfEvent)?;
        let clocks = attach(&mut programs, &types, settings.hertz)?;
        run_program(&watches, store_program(&mut programs)?).map_err(BpfError::PerfEvent)?;
        let mut unseen = probes::attach(&mut programs, &types);
        let libraries = Libraries::open(&mut programs);
        unseen.extend(libraries.missing());
        unseen.extend(watches.is_empty().then_some("stores that end busy-waits"));
        let mut map = |name: &str| programs.take_map(name).expect("the object has this map");
        Ok(BpfCollector {
            ring: RingBuf::try_from(map("ring")).map_err(load_error)?,
            tracked: BpfHashMap::try_from(map("tracked")).map_err(load_error)?,
            counters: PerCpuArray::try_from(map("counters")).map_err(load_error)?,
            executable: BpfHashMap::try_from(map("executable")).map_err(load_error)?,
            areas: ExecutableAreas::default(),
            programs,
            mappings,
            clocks,
            pending: FxHashMap::default(),
            lost: [0; LOSSES.len()],
            undecodable: 0,
            remaps: Remaps::default(),
            cost: None,
            knows_interrupts: distances.is_some(),
            has_accounts,
            arrivals: Arrivals::default(),
            gaps: SampleGaps::new(settings.hertz),
            busy_waits: BusyWaits::new(watches, processors, settings.hertz),
            libraries,
            unseen,
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
                Some(Wire::Fork { event, handle }) => {
                    let mut event = event;
                    attach_stack(&mut self.pending, &mut event.kind);
                    let begun = handle_of(&event, handle);
                    self.arrivals.take(event, Accounts::default(), into);
                    into.extend(begun);
                }
                Some(Wire::Event(mut event, accounts)) => {
                    attach_stack(&mut self.pending, &mut event.kind);
                    last = event.time;
                    self.busy_waits.see(&event, into);
                    self.arrivals.take(event, accounts, into);
                    self.gaps.take_last(into);
                }
                Some(Wire::Look(look)) => self.gaps.look(look, into),
                Some(Wire::Registers(registers)) => self.busy_waits.keep(registers),
                Some(Wire::Store(store)) => self.busy_waits.store(store, into),
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

/// What the runs came to that were about recorded tasks, of which each processor timed some.
fn own_cost<'a>(processors: impl Iterator<Item = (&'a u64, &'a u64)>) -> KernelCost {
    let cost = processors.map(|(&runs, &nanoseconds)| {
        let timed = runs.div_ceil(TIMED_RUNS).max(1);
        let nanoseconds = u128::from(nanoseconds) * u128::from(runs) / u128::from(timed);
        KernelCost { nanoseconds: u64::try_from(nanoseconds).unwrap_or(u64::MAX), runs }
    });
    cost.fold(KernelCost::default(), |sum, cost| KernelCost {
        nanoseconds: sum.nanoseconds.saturating_add(cost.nanoseconds),
        runs: sum.runs + cost.runs,
    })
}

/// Loads the programs on tracepoints and that of the clock, all at once: the kernel takes most of the time until the
/// recorded program begins to check them.
fn load(programs: &mut Ebpf, types: &Btf) -> Result<(), BpfError> {
    let load_one = |name: &str, program: &mut Program| match program {
        Program::BtfTracePoint(program) => program.load(name, types),
        Program::PerfEvent(program) => program.load(),
        _ => Ok(()),
    };
    thread::scope(|scope| {
        let is_ours = |name: &str| name == CLOCK || name == STORE || TRACEPOINTS.contains(&name);
        let loads: Vec<_> = programs
            .programs_mut()
            .filter(|(name, _)| is_ours(name))
            .map(|(name, program)| scope.spawn(move || load_one(name, program)))
            .collect();
        let join = |load: ScopedJoinHandle<'_, Result<(), ProgramError>>| {
            load.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)).map_err(load_error)
        };
        loads.into_iter().try_for_each(join)
    })
}

/// Takes the program away. One for which that fails ends with its descriptors, when the collector is dropped.
fn unload(program: &mut Program) {
    let _ = match program {
        Program::BtfTracePoint(program) => program.unload(),
        Program::PerfEvent(program) => program.unload(),
        Program::FEntry(program) => program.unload(),
        Program::FExit(program) => program.unload(),
        Program::UProbe(program) => program.unload(),
        _ => Ok(()),
    };
}

fn attach(programs: &mut Ebpf, types: &Btf, hertz: u32) -> Result<VariedClocks, BpfError> {
    load(programs, types)?;
    for name in TRACEPOINTS {
        let program = programs.program_mut(name).expect("the object has this program");
        let program: &mut BtfTracePoint = program.try_into().map_err(load_error)?;
        program.attach().map_err(load_error)?;
    }
    let program = programs.program_mut(CLOCK).expect("the object has this program");
    let program: &mut PerfEventProgram = program.try_into().map_err(load_error)?;
    let program = program.fd().map_err(load_error)?.as_fd().as_raw_fd();
    let mut clocks = VariedClocks::new(hertz);
    for cpu in online_cpus().map_err(BpfError::PerfEvent)? {
        let clock = start_clock(program, cpu, hertz).map_err(BpfError::PerfEvent)?;
        clocks.add(clock);
    }
    Ok(clocks)
}

/// The loaded program for stores.
fn store_program(programs: &mut Ebpf) -> Result<RawFd, BpfError> {
    let program = programs.program_mut(STORE).expect("the object has this program");
    let program: &mut PerfEventProgram = program.try_into().map_err(load_error)?;
    Ok(program.fd().map_err(load_error)?.as_fd().as_raw_fd())
}

/// A clock of the processor that runs the program.
fn start_clock(program: RawFd, cpu: u16, hertz: u32) -> io::Result<PerfEvent> {
    let clock = PerfEvent::open(&mut attributes::bare_clock(hertz), -1, cpu.into())?;
    clock.run_program(program)?;
    clock.enable()?;
    Ok(clock)
}

/// The handle of a thread that has just been created, by which joins name it.
fn handle_of(event: &RawEvent, handle: u64) -> Option<RawEvent> {
    let RawKind::Fork { child, .. } = event.kind else { return None };
    let kind = RawKind::Inside { task: child, mark: RawMark::Handle(handle) };
    (handle != 0).then_some(RawEvent { time: event.time, cpu: event.cpu, kind })
}

/// What follows for predictions from dependences that nobody sees.
fn unseen_note(unseen: &[&str]) -> Option<String> {
    let what = unseen.join(", ");
    (!unseen.is_empty()).then(|| {
        format!("the kernel does not show {what}: a gain that is predicted can be too large by them")
    })
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
    fn track(&mut self, task: KernelTask) -> io::Result<()> {
        self.areas.track(task.pid, crate::clock::now());
        self.libraries.look_at_process(&mut self.programs, task.pid);
        self.tracked.insert(task.tid, task.pid, 0).map_err(io::Error::other)
    }

    fn drain(&mut self, into: &mut Vec<RawEvent>) -> io::Result<()> {
        self.clocks.vary();
        // Mappings first: one that is there when a stack is taken is then never read after the stack.
        let (first, begun) = (into.len(), crate::clock::now());
        if self.mappings.drain(into) {
            self.remaps.lose();
        }
        self.remaps.tell(self.areas.pids(), begun, into);
        // Losses before what is there: whose record is missing in it is then known to have been lost.
        self.drain_losses(into, begun);
        self.arrivals.begin_round(begun);
        self.drain_ring(into);
        self.gaps.end_round(begun, into);
        self.busy_waits.end_round(begun);
        for event in &into[first..] {
            self.areas.learn(event);
            self.libraries.learn(&mut self.programs, event);
        }
        self.areas.publish(&mut self.executable).map_err(io::Error::other)?;
        self.drain_losses(into, crate::clock::now());
        Ok(())
    }

    fn behind(&self) -> Option<Time> {
        self.behind
    }

    fn kept_back(&self) -> Option<Time> {
        [self.gaps.kept_back(), self.busy_waits.kept_back()].into_iter().flatten().min()
    }

    fn stop(&mut self) {
        self.clocks.stop();
        self.gaps.stop();
        self.busy_waits.stop();
        // The kernel takes probes of libraries away one after the other, and waits each time until no processor runs them.
        // The recording does not need that end: no recorded thread is left that could run them, or its events come too late.
        for link in self.libraries.take_links() {
            thread::spawn(move || drop(link));
        }
        thread::scope(|scope| {
            for (_, program) in self.programs.programs_mut() {
                scope.spawn(move || unload(program));
            }
        });
        let counted = self.counters.get(&OWN_RUNS, 0).ok().zip(self.counters.get(&OWN_NANOSECONDS, 0).ok());
        self.cost = counted.map(|(runs, time)| own_cost(runs.iter().zip(time.iter())));
        self.remaps.end();
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
        let notes = notes.iter().filter(|(is_known, _)| !is_known).map(|(_, note)| (*note).to_owned());
        notes.chain(unseen_note(&self.unseen)).collect()
    }

    fn findings(&self) -> Vec<String> {
        self.arrivals.notes().into_iter().chain(self.remaps.note()).collect()
    }
}
