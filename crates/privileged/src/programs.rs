//! The programs in the kernel, what they are attached to, and the perf events beside them.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::thread::{self, ScopedJoinHandle};

use aya::maps::{HashMap as BpfHashMap, MapData};
use aya::programs::{BtfTracePoint, PerfEvent as PerfEventProgram, Program, ProgramError};
use aya::{Btf, Ebpf, EbpfLoader, Endianness, VerifierLogLevel, include_bytes_aligned};

use crate::breakpoints::{Breakpoints, WatchedMemory};
use crate::jitter::{VariedClocks, bare_clock};
use crate::kernel_types::{self, Distances};
use crate::mapping_rings::{MappingRings, RingNews};
use crate::probes::{self, JoinProbes};
use crate::ring::{PerfEvent, online_cpus};

static OBJECT: &[u8] = include_bytes_aligned!("../../record/bpf/longpole.bpf.o");
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
pub const MOST_STACK_BYTES: u32 = 8192;
/// Size of a known stack (`struct known_stack` in `bpf/longpole.bpf.c`), and memory for those of all processors, unless they are so many
/// that the fewest take more.
const KNOWN_STACK_BYTES: usize = 712;
const KNOWN_STACK_MEMORY: usize = 16 << 20;

/// Why the programs could not be loaded; completes "failed to …".
#[derive(Debug, thiserror::Error)]
pub enum BpfError {
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

/// How the programs sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgramSettings {
    /// Timer samples a second and processor.
    pub hertz: u32,
    /// User memory copied for a stack, at most [`MOST_STACK_BYTES`].
    pub stack_bytes: u32,
    /// Follow frame pointers too.
    pub frame_pointers: bool,
}

/// What the kernel lets the programs see.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelFacts {
    /// It says where its preemption count is.
    pub knows_interrupts: bool,
    /// It keeps accounts of its tasks.
    pub has_accounts: bool,
    /// Words that can be watched at a time.
    pub watched_words: u32,
    /// What of the dependences of threads is not seen.
    pub unseen: Vec<String>,
}

/// The maps of the programs that a recorder reads and writes itself.
#[derive(Debug)]
pub struct CollectorMaps {
    /// `ring`: the records.
    pub ring: MapData,
    /// `counters`: of losses and costs.
    pub counters: MapData,
    /// `executable`: where the code of processes lies.
    pub executable: MapData,
    /// `pythons`: how what processes execute of Python is read.
    pub pythons: MapData,
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
        let optional = (&probes::tracepoints()[..], &probes::functions()[..]);
        let tracepoints = kernel_types::attachable_only(bytes, &TRACEPOINTS, optional);
        let tracepoints = tracepoints.ok_or(BpfError::NoTracepoints)?;
        Ok(KernelTypes {
            distances: kernel_types::find(bytes),
            has_accounts: kernel_types::has_accounts(bytes),
            types: Btf::parse(&tracepoints, Endianness::default()).map_err(load_error)?,
        })
    }
}

/// How many stacks the programs know again on each of so many processors: a power of two.
///
/// A thread has a few, at addresses of its own. Where hundreds of threads take turns, 256 displace each other all the time, and each switch
/// then copies and hashes its stack anew.
fn known_stacks(processors: usize) -> u32 {
    let room = KNOWN_STACK_MEMORY / KNOWN_STACK_BYTES / processors.max(1);
    let (fewest, most) = (256, 4096);
    1 << room.clamp(fewest, most).ilog2()
}

/// The programs, loaded and attached. They record no task before [`KernelPrograms::track`].
#[derive(Debug)]
pub struct KernelPrograms {
    programs: Ebpf,
    tracked: BpfHashMap<MapData, u32, u64>,
    mappings: MappingRings,
    clocks: VariedClocks,
    breakpoints: Breakpoints,
    joins: JoinProbes,
}

impl KernelPrograms {
    /// Loads and attaches the programs. `forks` for the creations of processes among the news of [`KernelPrograms::round`].
    ///
    /// # Errors
    /// [`BpfError`].
    pub(crate) fn open(
        settings: &ProgramSettings,
        forks: bool,
    ) -> Result<(KernelPrograms, CollectorMaps, KernelFacts), BpfError> {
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
        let breakpoints = Breakpoints::open(&processors);
        let known_stacks = known_stacks(aya::util::nr_cpus().unwrap_or(processors.len()));
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
            .override_global("accounts_known", &u32::from(has_accounts), true)
            .override_global("known_stacks_mask", &(known_stacks - 1), true)
            .map_max_entries("known_stacks", known_stacks)
            .load(OBJECT)
            .map_err(load_error)?;
        let mappings = MappingRings::open(forks).map_err(BpfError::PerfEvent)?;
        let clocks = attach(&mut programs, &types, settings.hertz, &processors)?;
        breakpoints.run_program(store_program(&mut programs)?).map_err(BpfError::PerfEvent)?;
        let mut unseen = probes::attach(&mut programs, &types);
        unseen.extend((breakpoints.count() == 0).then_some("stores that end busy-waits"));
        let facts = KernelFacts {
            knows_interrupts: distances.is_some(),
            has_accounts,
            watched_words: u32::try_from(breakpoints.count()).unwrap_or(0),
            unseen: unseen.into_iter().map(str::to_owned).collect(),
        };
        let joins = JoinProbes::load(&mut programs);
        let (maps, tracked) = take_maps(&mut programs)?;
        Ok((KernelPrograms { programs, tracked, mappings, clocks, breakpoints, joins }, maps, facts))
    }

    /// Records this task, and whatever it creates, from now on.
    pub(crate) fn track(&mut self, tid: u32) -> io::Result<()> {
        // Nothing was told yet of where it may run.
        self.tracked.insert(tid, 0, 0).map_err(io::Error::other)
    }

    /// Has joins seen that processes make through these functions of a library; how many of them it has.
    pub(crate) fn attach_library(&mut self, library: &File, joins: &[&str]) -> io::Result<usize> {
        self.joins.attach(&mut self.programs, library, joins)
    }

    /// Hands over what the rings of mappings have; whether some may have been lost.
    pub(crate) fn round(&mut self, take: &mut dyn FnMut(RingNews)) -> bool {
        self.clocks.vary();
        self.mappings.drain(take)
    }

    pub(crate) fn watch(&self, index: usize, word: WatchedMemory) -> io::Result<()> {
        self.breakpoints.watch(index, word)
    }

    pub(crate) fn allow(&self, index: usize, stores: &[u32]) -> io::Result<()> {
        self.breakpoints.allow(index, stores)
    }

    pub(crate) fn pause(&self, index: usize) -> io::Result<()> {
        self.breakpoints.pause(index)
    }

    /// Detaches the programs. What the rings hold can still be read.
    pub(crate) fn end(&mut self) {
        self.clocks.stop();
        (0..self.breakpoints.count()).for_each(|index| _ = self.breakpoints.pause(index));
        // The kernel is slow to take probes of libraries away. The recording does not need that end: no recorded thread is left
        // that could run them, or its events come too late.
        for link in self.joins.take_links() {
            thread::spawn(move || drop(link));
        }
        thread::scope(|scope| {
            for (_, program) in self.programs.programs_mut() {
                scope.spawn(move || unload(program));
            }
        });
    }
}

/// The maps for the recorder, and that of the recorded tasks.
fn take_maps(programs: &mut Ebpf) -> Result<(CollectorMaps, BpfHashMap<MapData, u32, u64>), BpfError> {
    let mut map = |name: &str| programs.take_map(name).expect("the object has this map");
    let tracked = BpfHashMap::try_from(map("tracked")).map_err(load_error)?;
    let mut data = |name: &str| match map(name) {
        aya::maps::Map::RingBuf(data) | aya::maps::Map::HashMap(data) | aya::maps::Map::PerCpuArray(data) => {
            data
        }
        other => unreachable!("the object's map {name} is {other:?}"),
    };
    let (ring, counters, executable) = (data("ring"), data("counters"), data("executable"));
    let pythons = data("pythons");
    Ok((CollectorMaps { ring, counters, executable, pythons }, tracked))
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

/// Takes the program away. One for which that fails ends with its descriptors, when the programs are dropped.
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

fn attach(
    programs: &mut Ebpf,
    types: &Btf,
    hertz: u32,
    processors: &[u16],
) -> Result<VariedClocks, BpfError> {
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
    for &cpu in processors {
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
    let clock = PerfEvent::open(&mut bare_clock(hertz), -1, cpu.into())?;
    clock.run_program(program)?;
    clock.enable()?;
    Ok(clock)
}
