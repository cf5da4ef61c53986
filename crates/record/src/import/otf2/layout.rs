//! The threads of a trace: on which machines, in which processes, with which ranks.

use longpole_otf2::{GroupKind, LocationKind, Paradigm, TraceDefinitions};
use rustc_hash::FxHashMap;

/// Levels of the system that are gone up from a process.
const MOST_LEVELS: usize = 64;

/// A machine: processes that share memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct TracedMachine {
    pub(super) name: String,
    pub(super) threads: u32,
}

/// A process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TracedProcess {
    pub(super) machine: usize,
    /// No trace has any: numbers that are unique in the recording.
    pub(super) pid: u32,
    /// Its rank in the job.
    pub(super) rank: Option<u32>,
    pub(super) name: String,
    threads: u32,
}

/// A thread, by the number of its location.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TracedThread {
    pub(super) location: u64,
    pub(super) process: usize,
    pub(super) tid: u32,
    pub(super) name: String,
}

/// Who is in a trace.
#[derive(Clone, Debug, Default)]
pub(super) struct TraceLayout {
    pub(super) machines: Vec<TracedMachine>,
    pub(super) processes: Vec<TracedProcess>,
    pub(super) threads: Vec<TracedThread>,
    /// Ranks of the job.
    pub(super) ranks: u32,
    /// Locations of accelerators and others that are no threads.
    pub(super) others: u64,
}

impl TraceLayout {
    pub(super) fn of(definitions: &TraceDefinitions) -> TraceLayout {
        let mut layout = TraceLayout::default();
        let ranks = ranks(definitions);
        layout.ranks = ranks.len() as u32;
        let (mut machines, mut processes) = (FxHashMap::default(), FxHashMap::default());
        for location in &definitions.locations {
            let group = definitions.processes.get(&location.process);
            if location.kind != LocationKind::Thread || group.is_some_and(|group| !group.is_process) {
                layout.others += 1;
                continue;
            }
            let process = *processes.entry(location.process).or_insert_with(|| {
                let node = group.and_then(|group| machine_node(definitions, group.node));
                let machine = *machines.entry(node).or_insert_with(|| {
                    let name = node.and_then(|node| definitions.nodes.get(&node)).map(|node| node.name);
                    let name = definitions.text(name.unwrap_or(u32::MAX)).to_owned();
                    layout.machines.push(TracedMachine { name, threads: 0 });
                    layout.machines.len() - 1
                });
                let name = group.map_or("", |group| definitions.text(group.name)).to_owned();
                layout.processes.push(TracedProcess { machine, pid: 0, rank: None, name, threads: 0 });
                layout.processes.len() - 1
            });
            let found = &mut layout.processes[process];
            found.rank = found.rank.or(ranks.get(&location.number).copied());
            found.threads += 1;
            layout.machines[found.machine].threads += 1;
            let name = definitions.text(location.name).to_owned();
            layout.threads.push(TracedThread { location: location.number, process, tid: 0, name });
        }
        layout.number();
        layout
    }

    /// Gives processes and threads numbers: the first thread of a process has that of the process.
    fn number(&mut self) {
        let mut next = 1;
        for process in &mut self.processes {
            process.pid = next;
            next += process.threads;
        }
        let mut tids: Vec<u32> = self.processes.iter().map(|process| process.pid).collect();
        for thread in &mut self.threads {
            thread.tid = tids[thread.process];
            tids[thread.process] += 1;
        }
    }
}

/// The rank of each location that has one.
fn ranks(definitions: &TraceDefinitions) -> FxHashMap<u64, u32> {
    let is_all = |kind: GroupKind, paradigm: Paradigm| kind == GroupKind::Ranks && paradigm == Paradigm::Mpi;
    let all = definitions
        .groups
        .iter()
        .filter(|(_, group)| is_all(group.kind, group.paradigm))
        .min_by_key(|&(&number, _)| number);
    let members = all.map_or(&[][..], |(_, group)| &group.members);
    members.iter().zip(0..).map(|(&location, rank)| (location, rank)).collect()
}

/// The node whose processes share memory, above this one; the node itself where none is said to.
fn machine_node(definitions: &TraceDefinitions, node: u32) -> Option<u32> {
    let above = |&node: &u32| definitions.nodes.get(&node)?.parent;
    let mut nodes = std::iter::successors(Some(node), above).take(MOST_LEVELS);
    let shares = nodes.find(|node| definitions.nodes.get(node).is_some_and(|node| node.shares_memory));
    shares.or(Some(node)).filter(|node| definitions.nodes.contains_key(node))
}
