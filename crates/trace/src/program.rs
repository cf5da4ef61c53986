//! The program's tree: machines, processes, threads.

use std::collections::BTreeSet;

use longpole_event::{MachineId, ProcessId, ThreadId, Time};
use longpole_recording::{CpuQuota, SharedLineSamples};

use crate::paths::PathId;
use crate::stops::PossibleStop;

/// Program → machine → process → thread (metrics.md §1). Ids index these tables and are of the whole
/// recording, not of one log.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// The command line.
    pub command: Vec<String>,
    /// The program's file, without links; empty where it is not known.
    pub file: String,
    /// Machines.
    pub machines: Vec<Machine>,
    /// Processes, in the order of their start within a machine.
    pub processes: Vec<Process>,
    /// Threads, in the order of their start within a machine.
    pub threads: Vec<Thread>,
    /// Who held the locks that threads waited for, where the locks themselves told; by machine, in the order of time.
    pub owners: Vec<Ownership>,
    /// Where threads may run, as far as it was told; by machine, in the order of time.
    pub affinities: Vec<Affinity>,
    /// Threads that did not end by themselves: another one of their process, or the one that waits for its end, ended all of it while they
    /// worked. In the order of their ids.
    pub killed_at_work: Vec<ThreadId>,
    /// Threads that may have been told to end while they slept or worked.
    pub possible_stops: Vec<PossibleStop>,
    /// Begin of the run on the first machine's clock, nanoseconds: the zero of all times.
    pub begin_nanoseconds: u64,
    /// Length of the run, nanoseconds.
    pub elapsed_nanoseconds: u64,
}

/// A machine.
#[derive(Clone, Debug, Default)]
pub struct Machine {
    /// Host name.
    pub name: String,
    /// Processors that the program could use.
    pub cpus: u32,
    /// Processors online, where the program could not use all of them.
    pub online_cpus: Option<u32>,
    /// The quota of the program's control group.
    pub quota: Option<CpuQuota>,
    /// Cache lines that samples found threads to share.
    pub shared_lines: Option<SharedLineSamples>,
    /// Whether the program began with a real-time scheduling policy.
    pub real_time: bool,
}

/// A process.
#[derive(Clone, Debug)]
pub struct Process {
    /// Its machine.
    pub machine: MachineId,
    /// Pid.
    pub pid: u32,
    /// File name of the last program it executed, else its main thread's name.
    pub name: String,
    /// What a person would call it, from its arguments (`cc1 f3.c`) and its rank (`solver: rank 3`); empty where nothing is
    /// known of them.
    pub title: String,
    /// The process that created it.
    pub parent: Option<ProcessId>,
    /// Its rank in a job of processes that pass messages.
    pub rank: Option<u32>,
}

/// A thread.
#[derive(Clone, Debug)]
pub struct Thread {
    /// Its process.
    pub process: ProcessId,
    /// Tid.
    pub tid: u32,
    /// Its last name.
    pub name: String,
    /// Start, on the recording's axis.
    pub start: Time,
    /// End; `None` when it was alive at the end of the recording.
    pub end: Option<Time>,
    /// The thread that created it.
    pub creator: Option<ThreadId>,
    /// The path at which it was created: the first part of all its logical call paths.
    pub prefix: PathId,
}

/// A lock that a thread waits for has an owner: read from the lock's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ownership {
    /// When that was so.
    pub time: Time,
    /// Who waits.
    pub waiter: ThreadId,
    /// Who holds the lock; can be the same thread.
    pub owner: ThreadId,
}

/// From this time on a thread may run on some of the machine's processors only; those that it creates begin with the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Affinity {
    /// From when on.
    pub time: Time,
    /// The thread.
    pub thread: ThreadId,
    /// On how many processors.
    pub count: u32,
    /// Those of them with a number below 64, a bit each.
    pub first: u64,
}

impl Process {
    /// What a person would call it: its title, else its name.
    #[must_use]
    pub fn label(&self) -> &str {
        if self.title.is_empty() { &self.name } else { &self.title }
    }
}

impl Program {
    /// Whether the thread was killed while it worked.
    #[must_use]
    pub fn is_killed_at_work(&self, thread: ThreadId) -> bool {
        self.killed_at_work.binary_search(&thread).is_ok()
    }

    /// The thread's machine.
    #[must_use]
    pub fn machine_of(&self, thread: ThreadId) -> MachineId {
        self.process_of(thread).machine
    }

    /// Processes that only start the ranks of a job and pass on what they print: the parents of ranks, and the parents of those
    /// by their names.
    #[must_use]
    pub fn launchers(&self) -> BTreeSet<ProcessId> {
        let is_named = |process: &Process| {
            ["mpirun", "mpiexec", "orterun", "prterun"].iter().any(|name| process.name.starts_with(name))
        };
        let mut launchers = BTreeSet::new();
        for process in self.processes.iter().filter(|process| process.rank.is_some()) {
            let Some(parent) = process.parent else { continue };
            let started = &self.processes[parent.index()];
            if started.rank.is_none() {
                launchers.insert(parent);
                launchers.extend(started.parent.filter(|above| is_named(&self.processes[above.index()])));
            }
        }
        launchers
    }

    /// The thread's process.
    #[must_use]
    pub fn process_of(&self, thread: ThreadId) -> &Process {
        &self.processes[self.threads[thread.index()].process.index()]
    }

    /// Processors online, of all machines, whether or not the program could use them.
    #[must_use]
    pub fn online_cpus(&self) -> u32 {
        let online = |machine: &Machine| machine.online_cpus.unwrap_or(machine.cpus);
        self.machines.iter().fold(0, |cpus, machine| u32::saturating_add(cpus, online(machine)))
    }

    /// The quotas of all machines together; `None` where no machine has one.
    #[must_use]
    pub fn quota(&self) -> Option<CpuQuota> {
        self.machines.iter().filter_map(|machine| machine.quota).reduce(|sum, quota| CpuQuota {
            processors: sum.processors + quota.processors,
            used: sum.used.and(quota.used),
        })
    }

    /// All processors of all machines that the program could use.
    #[must_use]
    pub fn cpus(&self) -> u32 {
        self.machines.iter().fold(0, |cpus, machine| u32::saturating_add(cpus, machine.cpus))
    }
}
