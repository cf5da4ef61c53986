//! The program's tree: machines, processes, threads.

use longpole_event::{MachineId, ProcessId, ThreadId, Time};

use crate::paths::PathId;

/// Program → machine → process → thread (metrics.md §1). Ids index these tables and are of the whole
/// recording, not of one log.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// The command line.
    pub command: Vec<String>,
    /// Machines.
    pub machines: Vec<Machine>,
    /// Processes, in the order of their start within a machine.
    pub processes: Vec<Process>,
    /// Threads, in the order of their start within a machine.
    pub threads: Vec<Thread>,
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
    /// Processors.
    pub cpus: u32,
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
    /// The process that created it.
    pub parent: Option<ProcessId>,
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

impl Program {
    /// The thread's machine.
    #[must_use]
    pub fn machine_of(&self, thread: ThreadId) -> MachineId {
        self.process_of(thread).machine
    }

    /// The thread's process.
    #[must_use]
    pub fn process_of(&self, thread: ThreadId) -> &Process {
        &self.processes[self.threads[thread.index()].process.index()]
    }

    /// All processors of all machines.
    #[must_use]
    pub fn cpus(&self) -> u32 {
        self.machines.iter().map(|machine| machine.cpus).sum()
    }
}
