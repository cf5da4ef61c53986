//! The definitions of a trace: what the numbers in events mean.

use rustc_hash::FxHashMap;

/// What a trace defines.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TraceDefinitions {
    /// The clock of all times.
    pub clock: TraceClock,
    /// Machines, racks, nodes.
    pub nodes: FxHashMap<u32, SystemNode>,
    /// Processes and accelerators.
    pub processes: FxHashMap<u32, LocationProcess>,
    /// Threads, and what else has events, in the order of their definitions.
    pub locations: Vec<LocationDefinition>,
    /// Procedures and parts of them.
    pub regions: FxHashMap<u32, RegionDefinition>,
    /// Sets of locations and of ranks.
    pub groups: FxHashMap<u32, GroupDefinition>,
    /// Communicators, and teams of threads.
    pub communicators: FxHashMap<u32, CommunicatorDefinition>,
    /// Call paths, where events name these.
    pub calling_contexts: FxHashMap<u32, CallingContext>,
    /// Definitions that could not be read.
    pub damaged: u64,
    pub(crate) texts: FxHashMap<u32, String>,
}

impl TraceDefinitions {
    /// The text of this number; empty where it is not defined.
    #[must_use]
    pub fn text(&self, number: u32) -> &str {
        self.texts.get(&number).map_or("", String::as_str)
    }
}

/// The clock of a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TraceClock {
    /// Ticks per second.
    pub resolution: u64,
    /// The time before all others, ticks.
    pub offset: u64,
    /// Ticks from then to the end.
    pub length: u64,
    /// The time of day at the begin, nanoseconds since 1970, where it is known.
    pub realtime: Option<u64>,
}

/// A node of the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SystemNode {
    /// Its name.
    pub name: u32,
    /// What it is, in its writer's words.
    pub class: u32,
    /// The node that it belongs to.
    pub parent: Option<u32>,
    /// Its processes share memory: it is one machine.
    pub shares_memory: bool,
}

/// A process, or an accelerator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocationProcess {
    /// Its name.
    pub name: u32,
    /// It is a process.
    pub is_process: bool,
    /// The node that it runs on.
    pub node: u32,
}

/// A location: who has events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocationDefinition {
    /// Its number, by which its files are called.
    pub number: u64,
    /// Its name.
    pub name: u32,
    /// What it is.
    pub kind: LocationKind,
    /// Events that it has, as its writer counted them.
    pub events: u64,
    /// Its process.
    pub process: u32,
}

/// Kinds of locations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LocationKind {
    /// A thread.
    Thread,
    /// A queue of an accelerator.
    Accelerator,
    /// A source of numbers.
    Metric,
    /// Something else.
    Other,
}

impl LocationKind {
    pub(crate) fn numbered(number: u8) -> LocationKind {
        match number {
            1 => LocationKind::Thread,
            2 => LocationKind::Accelerator,
            3 => LocationKind::Metric,
            _ => LocationKind::Other,
        }
    }
}

/// A procedure, or a part of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegionDefinition {
    /// Its name.
    pub name: u32,
    /// Its source file.
    pub file: u32,
    /// Its first line; 0 where that is not known.
    pub line: u32,
    /// What it is for.
    pub role: RegionRole,
    /// Whose it is.
    pub paradigm: Paradigm,
}

/// What a region is for, as far as waiting goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegionRole {
    /// Threads wait there for all of their team.
    Barrier,
    /// Threads wait there for others to leave it.
    Critical,
    /// A thread waits there for the end of another.
    ThreadWait,
    /// The measuring itself.
    Artificial,
    /// Anything else.
    Other,
}

impl RegionRole {
    pub(crate) fn numbered(number: u8) -> RegionRole {
        match number {
            12 | 18 => RegionRole::Critical,
            15 | 16 => RegionRole::Barrier,
            31 => RegionRole::Artificial,
            33 => RegionRole::ThreadWait,
            _ => RegionRole::Other,
        }
    }
}

/// What a region, or a group of locations, belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Paradigm {
    /// MPI.
    Mpi,
    /// OpenMP.
    OpenMp,
    /// POSIX threads.
    Pthread,
    /// What measured.
    Measurement,
    /// The program, or any other, by its number.
    Other(u8),
}

impl Paradigm {
    pub(crate) fn numbered(number: u8) -> Paradigm {
        match number {
            3 => Paradigm::OpenMp,
            4 => Paradigm::Mpi,
            6 => Paradigm::Measurement,
            7 => Paradigm::Pthread,
            other => Paradigm::Other(other),
        }
    }
}

/// A set of locations or ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupDefinition {
    /// What its members are.
    pub kind: GroupKind,
    /// What it belongs to.
    pub paradigm: Paradigm,
    /// Its members, in the order of their ranks in it.
    pub members: Vec<u64>,
    /// Its members are locations, where they would be ranks.
    pub has_locations: bool,
}

/// What the members of a group are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupKind {
    /// All locations that communicate: their place is their rank in the job.
    Ranks,
    /// Ranks in the job.
    Communicator,
    /// The one who names it.
    Own,
    /// Something else.
    Other,
}

impl GroupKind {
    pub(crate) fn numbered(number: u8) -> GroupKind {
        match number {
            4 => GroupKind::Ranks,
            5 => GroupKind::Communicator,
            6 => GroupKind::Own,
            _ => GroupKind::Other,
        }
    }
}

/// A communicator, or a team of threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommunicatorDefinition {
    /// Its name.
    pub name: u32,
    /// Its members.
    pub group: u32,
    /// The other group, of a communicator between two.
    pub remote: Option<u32>,
}

/// A call path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallingContext {
    /// The innermost region.
    pub region: u32,
    /// The path that it was called from.
    pub caller: Option<u32>,
}
