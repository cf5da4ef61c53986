//! Processes and threads of a trace: which thread belongs to which process, and what they are called.

use rustc_hash::FxHashMap;

use crate::wire::WireFields;

/// Threads that are remembered.
const MOST_THREADS: usize = 1 << 20;

/// A process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PerfettoProcess {
    /// The first word of its command line, or its name.
    pub program: String,
    /// It is the kernel's own.
    pub is_kernel: bool,
}

/// All processes and threads that the trace tells of.
#[derive(Clone, Debug, Default)]
pub struct PerfettoThreads {
    processes: FxHashMap<u32, PerfettoProcess>,
    /// Process by thread.
    of_thread: FxHashMap<u32, u32>,
    names: FxHashMap<u32, String>,
    /// Thread by track.
    tracks: FxHashMap<u64, u32>,
}

impl PerfettoThreads {
    /// The process of a thread; `None` where the trace does not say.
    #[must_use]
    pub fn process_of(&self, tid: u32) -> Option<u32> {
        self.of_thread.get(&tid).copied().or_else(|| self.processes.contains_key(&tid).then_some(tid))
    }

    /// What is known of a process.
    #[must_use]
    pub fn process(&self, pid: u32) -> Option<&PerfettoProcess> {
        self.processes.get(&pid)
    }

    /// The last name that the trace has of a thread.
    #[must_use]
    pub fn name(&self, tid: u32) -> Option<&str> {
        self.names.get(&tid).map(String::as_str).filter(|name| !name.is_empty())
    }

    /// Whether a thread is the kernel's own.
    #[must_use]
    pub fn is_kernel(&self, tid: u32) -> bool {
        let process = self.process_of(tid).and_then(|pid| self.processes.get(&pid));
        process.is_some_and(|process| process.is_kernel)
    }

    /// All threads, in no order.
    pub fn tids(&self) -> impl Iterator<Item = u32> {
        self.names.keys().chain(self.of_thread.keys()).copied()
    }

    pub(crate) fn track(&self, uuid: u64) -> Option<u32> {
        self.tracks.get(&uuid).copied()
    }

    /// A thread belongs to a process.
    pub(crate) fn belongs(&mut self, tid: u32, pid: u32) {
        if tid != 0 && pid != 0 && self.of_thread.len() < MOST_THREADS {
            self.of_thread.insert(tid, pid);
        }
    }

    /// A thread is called so from now on: a thread takes its own name after that of its creator.
    pub(crate) fn called(&mut self, tid: u32, name: &[u8]) {
        let is_other = self.names.get(&tid).is_none_or(|known| known.as_bytes() != name);
        if !name.is_empty() && self.names.len() < MOST_THREADS && is_other {
            self.names.insert(tid, String::from_utf8_lossy(name).into_owned());
        }
    }

    /// A thread's process executes another program.
    pub(crate) fn executes(&mut self, tid: u32, program: &[u8]) {
        let program = String::from_utf8_lossy(program).into_owned();
        let pid = self.process_of(tid).unwrap_or(tid);
        self.add_process(pid, PerfettoProcess { program, is_kernel: false });
    }

    /// Takes a process tree.
    pub(crate) fn take_tree(&mut self, tree: &[u8]) {
        for (number, value) in WireFields::of(tree) {
            match number {
                1 => self.take_process(value.bytes()),
                2 => {
                    let (mut tid, mut pid, mut name) = (0, 0, &[][..]);
                    for (number, value) in WireFields::of(value.bytes()) {
                        match number {
                            1 => tid = value.id(),
                            2 => name = value.bytes(),
                            3 => pid = value.id(),
                            _ => {}
                        }
                    }
                    self.belongs(tid, pid);
                    self.called(tid, name);
                }
                _ => {}
            }
        }
    }

    fn take_process(&mut self, bytes: &[u8]) {
        let (mut pid, mut process, mut words) = (0, PerfettoProcess::default(), 0);
        for (number, value) in WireFields::of(bytes) {
            match number {
                1 => pid = value.id(),
                2 => process.is_kernel |= value.id() == 2,
                3 => {
                    words += 1;
                    if words == 1 {
                        process.program = value.text();
                    }
                }
                8 => process.is_kernel |= value.number() != 0,
                _ => {}
            }
        }
        process.is_kernel |= pid == 2;
        self.add_process(pid, process);
    }

    fn add_process(&mut self, pid: u32, process: PerfettoProcess) {
        if pid != 0 && self.processes.len() < MOST_THREADS {
            // A process that executes another program is another one to the last tree.
            match process.program.is_empty() && self.processes.contains_key(&pid) {
                true => {}
                false => drop(self.processes.insert(pid, process)),
            }
            self.belongs(pid, pid);
        }
    }

    /// Takes the descriptor of a track, which may be that of a thread.
    pub(crate) fn take_track(&mut self, descriptor: &[u8]) {
        let (mut uuid, mut thread) = (0, None);
        for (number, value) in WireFields::of(descriptor) {
            match number {
                1 => uuid = value.number(),
                3 => {
                    let (mut pid, mut process) = (0, PerfettoProcess::default());
                    for (number, value) in WireFields::of(value.bytes()) {
                        match number {
                            1 => pid = value.id(),
                            6 => process.program = value.text(),
                            _ => {}
                        }
                    }
                    self.add_process(pid, process);
                }
                4 => thread = Some(value.bytes()),
                _ => {}
            }
        }
        let Some(thread) = thread else { return };
        let (mut pid, mut tid, mut name) = (0, 0, &[][..]);
        for (number, value) in WireFields::of(thread) {
            match number {
                1 => pid = value.id(),
                2 => tid = value.id(),
                5 => name = value.bytes(),
                _ => {}
            }
        }
        self.belongs(tid, pid);
        self.called(tid, name);
        if self.tracks.len() < MOST_THREADS {
            self.tracks.insert(uuid, tid);
        }
    }
}
