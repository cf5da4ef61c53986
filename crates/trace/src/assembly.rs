//! Puts what was found on each machine together: the run, the program's tree, the messages, the evidence.

use longpole_event::{MachineId, ProcessId, TextId, ThreadId, Time};
use longpole_recording::{Manifest, RecordingFolder, SourceCopies};
use rustc_hash::FxHashMap;

use crate::affinities;
use crate::connections::{CarriedEvent, LoggedConnections, ReadWait};
use crate::evidence::{Evidence, SourceCounts};
use crate::inventory::Inventory;
use crate::messages::{LoggedMessages, PlannedCalls};
use crate::paths::Paths;
use crate::program::{Machine, Ownership, Process, Program, Thread};
use crate::stops::PossibleStop;
use crate::stream::Axis;
use crate::transitions::SentMessages;

/// The run on the recording's time axis.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunBounds {
    /// What the axis' zero is on the first machine's clock, nanoseconds.
    pub(crate) begin: u64,
    /// End of the run on the axis.
    pub(crate) end: Time,
}

/// The run as the manifest tells it; where the recorder was killed, from the first event to the last.
pub(crate) fn run_of(manifest: &Manifest, inventories: &[Inventory]) -> RunBounds {
    let clock = |index: usize| Axis::new(&manifest.machines[index], 0);
    let told = manifest.outcome.filter(|outcome| outcome.end_nanoseconds > outcome.begin_nanoseconds);
    if let Some(outcome) = told {
        let end = Time::from_nanoseconds(outcome.end_nanoseconds - outcome.begin_nanoseconds);
        return RunBounds { begin: outcome.begin_nanoseconds, end };
    }
    let seen = || inventories.iter().enumerate().filter(|(_, inventory)| inventory.first.is_some());
    let first = seen().filter_map(|(index, inventory)| Some(clock(index).place(inventory.first?))).min();
    let last = seen().map(|(index, inventory)| clock(index).place(inventory.last)).max();
    let begin = first.unwrap_or_default();
    let end = Time::from_nanoseconds(last.unwrap_or_default().since(begin));
    RunBounds { begin: begin.nanoseconds(), end }
}

/// The machine of each log: a log of its own, or a further one of a machine before it.
#[must_use]
pub fn machines_of_logs(manifest: &Manifest) -> Vec<MachineId> {
    let mut machines: Vec<MachineId> = Vec::new();
    let mut count = 0;
    for machine in &manifest.machines {
        let known = machine.part_of.and_then(|part| machines.get(part as usize)).copied();
        machines.push(known.unwrap_or_else(|| {
            count += 1;
            MachineId::from_index(count - 1)
        }));
    }
    machines
}

/// The program's tree, in the ids of the recording: those of a machine's log plus those of all before it.
pub(crate) fn tree_of(manifest: &Manifest, inventories: &[Inventory], run: RunBounds) -> Program {
    let mut program = Program {
        command: manifest.command.clone(),
        file: manifest.program_file.clone(),
        begin_nanoseconds: run.begin,
        elapsed_nanoseconds: run.end.nanoseconds(),
        ..Program::default()
    };
    let logged = machines_of_logs(manifest);
    for (index, inventory) in inventories.iter().enumerate() {
        let machine = &manifest.machines[index];
        if logged[index].index() == program.machines.len() {
            program.machines.push(Machine {
                name: machine.name.clone(),
                cpus: machine.cpus,
                online_cpus: machine.online_cpus,
                quota: machine.quota,
                shared_lines: machine.shared_lines.clone(),
                real_time: machine.real_time,
            });
        }
        let axis = Axis::new(machine, run.begin);
        let bases = (program.processes.len() as u32, program.threads.len() as u32);
        add_processes(&mut program, logged[index], inventory, bases.0);
        for (found, defined) in inventory.threads.iter().zip(&inventory.tables.threads) {
            let creator = found.creator.filter(|creator| creator.index() < inventory.threads.len());
            program.threads.push(Thread {
                process: ProcessId(bases.0 + defined.process.0),
                tid: defined.tid,
                name: text(inventory, found.name),
                start: found.start.map_or(Time::ZERO, |start| axis.place(start)),
                end: found.end.map(|end| axis.place(end)),
                creator: creator.map(|creator| ThreadId(bases.1 + creator.0)),
                prefix: Paths::ROOT,
            });
        }
        let is_known = |thread: ThreadId| thread.index() < inventory.threads.len();
        let owners =
            inventory.owners.iter().filter(|(_, waiter, owner)| is_known(*waiter) && is_known(*owner));
        program.owners.extend(owners.map(|&(time, waiter, owner)| Ownership {
            time: axis.place(time),
            waiter: ThreadId(bases.1 + waiter.0),
            owner: ThreadId(bases.1 + owner.0),
        }));
        let killed =
            inventory.threads.iter().zip(bases.1..).filter(|(thread, _)| thread.known.killed.is_some());
        program.killed_at_work.extend(killed.map(|(_, id)| ThreadId(id)));
        affinities::add(&mut program, (&inventory.affinities, &axis), bases.1);
        let stops = inventory.possible_stops.iter();
        let stops = stops.filter(|stop| is_known(stop.thread) && is_known(stop.joiner));
        program.possible_stops.extend(stops.map(|stop| PossibleStop {
            thread: ThreadId(bases.1 + stop.thread.0),
            joiner: ThreadId(bases.1 + stop.joiner.0),
            told: axis.place(stop.told),
            woken: axis.place(stop.woken),
            works: stop.works,
        }));
        name_threads(&mut program, bases.1);
    }
    program
}

fn add_processes(program: &mut Program, machine: MachineId, inventory: &Inventory, base: u32) {
    let tables = &inventory.tables;
    let mut names = vec![String::new(); tables.processes.len()];
    let mut titles = names.clone();
    let mut ranks = vec![None; names.len()];
    let mut executed = vec![false; names.len()];
    for (found, defined) in inventory.threads.iter().zip(&tables.threads) {
        let Some(name) = names.get_mut(defined.process.index()) else { continue };
        if let Some(title) = titles.get_mut(defined.process.index()).filter(|_| found.title.is_some()) {
            *title = text(inventory, found.title);
        }
        ranks[defined.process.index()] = ranks[defined.process.index()].or(found.rank);
        if let Some(file) = found.program {
            executed[defined.process.index()] = true;
            let path = tables.text(file);
            *name = path.rsplit('/').next().unwrap_or(path).to_owned();
        } else if name.is_empty() && tables.processes[defined.process.index()].pid == defined.tid {
            *name = text(inventory, found.name);
        }
    }
    for (((process, name), mut title), rank) in tables.processes.iter().zip(names).zip(titles).zip(ranks) {
        let parent = process.parent.map(|parent| ProcessId(base + parent.0));
        if let Some(rank) = rank {
            title = format!("{}: rank {rank}", if title.is_empty() { &name } else { &title });
        }
        program.processes.push(Process { machine, pid: process.pid, name, title, parent, rank });
    }
    name_forked(program, base as usize, &executed);
}

/// A forked process that becomes no other program goes on under its parent's name, as that one's child.
fn name_forked(program: &mut Program, base: usize, executed: &[bool]) {
    for index in base..program.processes.len() {
        let Some(parent) = program.processes[index].parent else { continue };
        let Process { name, title, rank, .. } = program.processes[parent.index()].clone();
        let own = &mut program.processes[index];
        if own.name.is_empty() {
            own.name.clone_from(&name);
        }
        let goes_on = !executed[index - base] && own.name == name && own.title.is_empty();
        if goes_on && rank.is_none() && !title.is_empty() {
            own.title = if title.ends_with(CHILD) { title } else { title + CHILD };
        }
    }
}

/// Behind the title of a process: a child that goes on in its program.
const CHILD: &str = ": child";

/// A thread that was given no name has its creator's, as in the kernel.
fn name_threads(program: &mut Program, base: u32) {
    for index in base as usize..program.threads.len() {
        let Thread { process, tid, .. } = program.threads[index];
        let process = &program.processes[process.index()];
        // All ranks have one name; their first threads are told apart.
        if let Some(rank) = process.rank.filter(|_| process.pid == tid) {
            program.threads[index].name = format!("rank {rank}");
        }
        if program.threads[index].name.is_empty() {
            let creator = program.threads[index].creator;
            let inherited = creator.map(|creator| program.threads[creator.index()].name.clone());
            let process = &program.processes[program.threads[index].process.index()];
            program.threads[index].name =
                inherited.filter(|name| !name.is_empty()).unwrap_or_else(|| process.name.clone());
        }
    }
}

fn text(inventory: &Inventory, id: Option<TextId>) -> String {
    id.map_or_else(String::new, |id| inventory.tables.text(id).to_owned())
}

/// The messages of all machines, by key, on the recording's axis.
pub(crate) fn sent_of(manifest: &Manifest, inventories: &mut [Inventory], begin: u64) -> SentMessages {
    let mut sent = SentMessages::default();
    let mut connections = LoggedConnections::default();
    let mut bases = Vec::new();
    let mut base = 0;
    for (index, inventory) in inventories.iter_mut().enumerate() {
        let axis = Axis::new(&manifest.machines[index], begin);
        let keyed = inventory.sent.iter();
        sent.keyed
            .extend(keyed.map(|&(key, thread, time)| (key, (ThreadId(base + thread.0), axis.place(time)))));
        for CarriedEvent { time, thread, kind, waited } in std::mem::take(&mut inventory.carried) {
            connections.take(ThreadId(base + thread.0), axis.place(time), kind);
            if let Some(ReadWait { wake, begin, end }) = waited {
                let waited = ReadWait { wake, begin: axis.place(begin), end: axis.place(end) };
                connections.take_wait(ThreadId(base + thread.0), kind, waited);
            }
        }
        bases.push(base);
        base += u32::try_from(inventory.threads.len()).expect("fewer than 2^32 threads");
    }
    sent.carried = connections.carried(|thread| bases.partition_point(|&base| base <= thread.0));
    sent.wakes = connections.wakes(&sent.carried);
    sent
}

/// The calls of all machines that pass messages, on the recording's axis.
pub(crate) fn planned_calls(manifest: &Manifest, inventories: &mut [Inventory], begin: u64) -> PlannedCalls {
    let (mut logged, mut names) = (LoggedMessages::default(), FxHashMap::default());
    let mut base = 0;
    for (index, inventory) in inventories.iter_mut().enumerate() {
        let axis = Axis::new(&manifest.machines[index], begin);
        // The replay puts no event before its predecessor.
        let mut last = Time::ZERO;
        for (time, thread, kind) in std::mem::take(&mut inventory.messages) {
            last = axis.place(time).max(last);
            logged.take(ThreadId(base + thread.0), last, kind);
        }
        logged.name(&mut names, |id| inventory.tables.text(id).to_owned());
        base += u32::try_from(inventory.threads.len()).expect("fewer than 2^32 threads");
    }
    logged.plan(names)
}

/// The ledger as far as the logs and the manifest tell it; the survey adds to it.
pub(crate) fn evidence_of(
    manifest: &Manifest,
    inventories: &[Inventory],
    folder: &RecordingFolder,
) -> Evidence {
    let mut evidence = Evidence {
        recording_bytes: folder.size_bytes(),
        truncated: manifest.outcome.is_none_or(|outcome| outcome.truncated),
        killed_by: manifest.outcome.and_then(|outcome| outcome.signal),
        exit_code: manifest.outcome.and_then(|outcome| outcome.exit_code),
        sources: sources_of(folder),
        dropped_nanoseconds: manifest.window.and_then(|window| window.dropped_nanoseconds),
        ..Evidence::default()
    };
    let mut outside: FxHashMap<&str, u64> = FxHashMap::default();
    let mut collectors: Vec<&str> = Vec::new();
    for (machine, inventory) in manifest.machines.iter().zip(inventories) {
        if !collectors.contains(&machine.collector.name.as_str()) {
            collectors.push(&machine.collector.name);
        }
        evidence.sample_hertz = evidence.sample_hertz.max(machine.collector.sample_hertz);
        evidence.attached |= machine.collector.attached;
        for note in &machine.collector.notes {
            // Parts of a run have many in common.
            if !evidence.notes.contains(note) {
                evidence.notes.push(note.clone());
            }
        }
        evidence.outside.extend(machine.outside.iter().cloned());
        add_counts(&mut evidence, inventory);
        if let Some(cost) = machine.cost {
            evidence.recorder_cpu_seconds += cost.recorder_cpu_seconds;
            evidence.recorder_peak_bytes = evidence.recorder_peak_bytes.max(cost.recorder_peak_bytes);
            if let Some(seconds) = cost.kernel_seconds {
                *evidence.kernel_seconds.get_or_insert(0.0) += seconds;
            }
        }
        for (&name, &count) in &inventory.outside {
            *outside.entry(inventory.tables.text(name)).or_default() += count;
        }
    }
    evidence.collector = collectors.join(" + ");
    evidence.outside_wakers = outside.into_iter().map(|(name, count)| (name.to_owned(), count)).collect();
    sort_most_first(&mut evidence.outside_wakers);
    evidence
}

/// What became of the source files. A damaged list of them is as good as none: it holds nothing that answers need.
fn sources_of(folder: &RecordingFolder) -> Option<SourceCounts> {
    let SourceCopies { files, missing, left_out, refused } = folder.sources().ok().flatten()?;
    let refused = refused.into_iter().map(|file| format!("{}: {}", file.path, file.reason)).collect();
    Some(SourceCounts { kept: files.len() as u64, missing, left_out, refused })
}

fn add_counts(evidence: &mut Evidence, inventory: &Inventory) {
    let counts = inventory.counts;
    evidence.events += counts.events;
    evidence.switches += counts.switches;
    evidence.wakes += counts.wakes;
    evidence.samples += counts.samples;
    evidence.lost_events += counts.lost_events;
    evidence.lost_samples += counts.lost_samples;
    evidence.lost_stacks += counts.lost_stacks;
    evidence.lost_threads += counts.lost_threads;
    evidence.lost_calls += counts.lost_calls;
    evidence.lost_communications += counts.lost_communications;
    evidence.defects.torn_bytes += inventory.defects.torn_bytes;
    evidence.defects.damaged_chunks += inventory.defects.damaged_chunks;
    evidence.defects.undecodable_chunks += inventory.defects.undecodable_chunks;
    evidence.lost_definitions +=
        inventory.tables.placeholders + inventory.tables.dangling + inventory.defects.orphans;
}

/// Most first; equal counts by name, so that the order is the same every time.
pub(crate) fn sort_most_first(counts: &mut [(String, u64)]) {
    counts.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
}
