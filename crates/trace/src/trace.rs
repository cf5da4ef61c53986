//! An opened recording.

use std::path::Path;

use longpole_event::{Call, MachineId, ProcessId, StackId, ThreadId, Time};
use longpole_recording::{Folder, LogName, Manifest};

use crate::assembly::{evidence_of, run_of, sent_of, tree_of};
use crate::bursts::{Tails, Turns};
use crate::census::{ObjectIndex, Wait};
use crate::error::{Error, Result};
use crate::evidence::Evidence;
use crate::inventory::Inventory;
use crate::naming::{SymbolSource, name_frames};
use crate::object_names::{FileNames, Names, WordNames, file_names};
use crate::objects::{ObjectId, Objects};
use crate::observer::Observer;
use crate::overheads::Overhead;
use crate::path_cache::{PathCache, Prefix, PrefixId};
use crate::paths::{PathId, Paths, PlaceId};
use crate::primitives::Primitives;
use crate::program::Program;
use crate::stacks::{Cut, StackTable};
use crate::stream::{Axis, LogStream, Merge};
use crate::survey::{Findings, Surveyor};
use crate::tenants::Tenants;
use crate::timeline::{Item, Timelines};
use crate::transitions::{Foreknowledge, Sent, Sources, Transitions};

/// A recording whose timelines can be read as often as wanted.
#[derive(Debug)]
pub struct Trace {
    folder: Folder,
    manifest: Manifest,
    program: Program,
    paths: Paths,
    objects: Objects,
    evidence: Evidence,
    machines: Vec<Surveyed>,
    sent: Sent,
    end: Time,
}

/// What the replay of one machine needs.
#[derive(Debug)]
struct Surveyed {
    stacks: StackTable,
    cache: PathCache,
    objects: ObjectIndex,
    words: WordNames,
    files: FileNames,
    tenants: Tenants,
    primitives: Primitives,
    tails: Tails,
    calls: Vec<Call>,
    known: Vec<Foreknowledge>,
    overheads: Vec<Overhead>,
    processes: Vec<ProcessId>,
    base: u32,
    axis: Axis,
}

impl Surveyed {
    fn sources<'a>(&'a self, sent: &'a Sent) -> Sources<'a> {
        Sources {
            stacks: &self.stacks,
            calls: &self.calls,
            known: &self.known,
            overheads: &self.overheads,
            processes: &self.processes,
            tenants: &self.tenants,
            primitives: &self.primitives,
            sent,
            base: self.base,
        }
    }
}

impl Trace {
    /// Opens the recording in a folder.
    ///
    /// # Errors
    /// [`Error::Recording`] when the folder or a log in it cannot be read, [`Error::Empty`] when it holds no
    /// event. Damage within a log is no error: it is counted in the [`Evidence`].
    pub fn open(path: &Path) -> Result<Self> {
        let (folder, manifest) = Folder::open(path)?;
        let inventories = (0..manifest.machines.len())
            .map(|index| Inventory::read(&folder, MachineId::from_index(index)))
            .collect::<Result<Vec<_>>>()?;
        if inventories.iter().all(|inventory| inventory.first.is_none()) {
            return Err(Error::Empty { path: path.to_owned(), reason: reason_of_emptiness(&manifest) });
        }
        let run = run_of(&manifest, &inventories);
        let program = tree_of(&manifest, &inventories, run);
        let mut trace = Trace {
            evidence: evidence_of(&manifest, &inventories, &folder),
            paths: Paths::default(),
            objects: Objects::default(),
            machines: Vec::new(),
            sent: sent_of(&manifest, &inventories, run.begin),
            folder,
            manifest,
            program,
            end: run.end,
        };
        trace.prepare(inventories, run.begin)?;
        trace.survey()?;
        Ok(trace)
    }

    /// The manifest.
    #[must_use]
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The program's tree.
    #[must_use]
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The call paths.
    #[must_use]
    pub fn paths(&self) -> &Paths {
        &self.paths
    }

    /// What threads wait for.
    #[must_use]
    pub fn objects(&self) -> &Objects {
        &self.objects
    }

    /// What the answers rest on.
    #[must_use]
    pub fn evidence(&self) -> &Evidence {
        &self.evidence
    }

    /// The folder it was opened from.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Calls `visit` on every item of the timelines, in time order.
    ///
    /// # Errors
    /// [`Error::Recording`] when a file that could be read before no longer can.
    pub fn items(&self, visit: &mut dyn FnMut(&Item)) -> Result<()> {
        let mut replays: Vec<_> =
            self.machines.iter().map(|machine| Transitions::new(machine.sources(&self.sent))).collect();
        let mut turns: Vec<_> = self.machines.iter().map(|machine| machine.tails.turns()).collect();
        let mut merge = self.merge()?;
        // Events can come after the end that the manifest states, from descendants that live on or by damage.
        let mut end = self.end;
        while let Some((machine, event)) = merge.next()? {
            end = end.max(event.time);
            self.advance(&mut replays, &mut turns, event.time, visit);
            let (replayed, turns) = (&self.machines[machine.index()], &mut turns[machine.index()]);
            let mut replayer = Replayer { replayed, paths: &self.paths, turns, visit };
            replays[machine.index()].apply(&event, &mut replayer);
        }
        self.advance(&mut replays, &mut turns, end, visit);
        for ((transitions, replayed), turns) in replays.iter_mut().zip(&self.machines).zip(&mut turns) {
            transitions.finish(end, &mut Replayer { replayed, paths: &self.paths, turns, visit });
        }
        Ok(())
    }

    /// Tells what happens on any machine before `time` without an event of its own.
    fn advance(
        &self,
        replays: &mut [Transitions<'_>],
        turns: &mut [Turns],
        time: Time,
        visit: &mut dyn FnMut(&Item),
    ) {
        let next = |replay: &Transitions<'_>| replay.next_overhead().filter(|&from| from < time);
        while let Some((_, index)) =
            (0..replays.len()).filter_map(|index| Some((next(&replays[index])?, index))).min()
        {
            let (replayed, turns) = (&self.machines[index], &mut turns[index]);
            let mut replayer = Replayer { replayed, paths: &self.paths, turns, visit };
            replays[index].begin_overhead(&mut replayer);
        }
    }

    fn merge(&self) -> Result<Merge> {
        let mut streams = Vec::new();
        for (index, machine) in self.machines.iter().enumerate() {
            let id = MachineId::from_index(index);
            if let Some(stream) = LogStream::open(&self.folder, id, LogName::Events)? {
                streams.push((id, stream, machine.axis));
            }
        }
        Merge::new(streams)
    }

    /// Names the frames and lays out the tables that replays read.
    fn prepare(&mut self, inventories: Vec<Inventory>, begin: u64) -> Result<()> {
        let (mut base, mut process_base) = (0, 0);
        for (index, inventory) in inventories.into_iter().enumerate() {
            let machine = MachineId::from_index(index);
            let (names, variables, source) =
                name_frames(&self.folder, machine, &inventory.tables, &mut self.paths)?;
            if source == SymbolSource::Here && !inventory.tables.frames.is_empty() {
                self.evidence.notes.push(
                    "the recorder was stopped before it named the procedures: names were looked up in the files \
                     that are on this machine now"
                        .into(),
                );
            }
            let stacks = StackTable::new(&inventory.tables, names, &mut self.paths);
            let threads = inventory.threads.len();
            let (words, files) =
                (WordNames::of(&inventory.tables, &variables, process_base), file_names(&inventory.tables));
            let primitives = Primitives::of(&inventory.tables, process_base);
            process_base +=
                u32::try_from(inventory.tables.processes.len()).expect("fewer than 2^32 processes");
            let of_machine = &self.program.threads[base as usize..][..threads];
            self.machines.push(Surveyed {
                stacks,
                cache: PathCache::default(),
                objects: ObjectIndex::default(),
                words,
                files,
                tenants: Tenants::new(of_machine, base, |process| {
                    self.program.processes[process.index()].pid
                }),
                primitives,
                tails: Tails::default(),
                calls: inventory.tables.calls,
                known: inventory.threads.into_iter().map(|thread| thread.known).collect(),
                overheads: Vec::new(),
                processes: of_machine.iter().map(|thread| thread.process).collect(),
                base,
                axis: Axis::new(self.manifest.machines[index].clock, begin),
            });
            base += u32::try_from(threads).expect("fewer than 2^32 threads");
        }
        Ok(())
    }

    fn survey(&mut self) -> Result<()> {
        let machines = &self.machines;
        let mut findings: Vec<_> =
            machines.iter().map(|machine| Findings::new(machine.known.len(), machine.base)).collect();
        let mut replays: Vec<_> =
            machines.iter().map(|machine| Transitions::new(machine.sources(&self.sent))).collect();
        let mut merge = self.merge()?;
        let paths = &mut self.paths;
        let mut end = self.end;
        while let Some((machine, event)) = merge.next()? {
            end = end.max(event.time);
            let index = machine.index();
            let (stacks, findings) = (&machines[index].stacks, &mut findings[index]);
            replays[index].apply(&event, &mut Surveyor { stacks, paths, findings });
        }
        for (index, transitions) in replays.iter_mut().enumerate() {
            let (stacks, findings) = (&machines[index].stacks, &mut findings[index]);
            transitions.finish(end, &mut Surveyor { stacks, paths, findings });
        }
        self.evidence.disordered = merge.disordered;
        for (index, found) in findings.into_iter().enumerate() {
            self.keep(index, found);
        }
        Ok(())
    }

    fn keep(&mut self, index: usize, found: Findings) {
        let machine = &mut self.machines[index];
        for (known, spins) in machine.known.iter_mut().zip(found.spins) {
            known.spins = spins;
        }
        for (offset, prefix) in found.prefixes.into_iter().enumerate() {
            self.program.threads[machine.base as usize + offset].prefix = prefix;
        }
        machine.cache = found.cache;
        let waits = found.objects.counts();
        let (words, files) = (&machine.words, &machine.files);
        let primitives = &machine.primitives;
        let pids = self.program.processes.iter().map(|process| process.pid).collect();
        let names =
            Names { paths: &self.paths, program: &self.program, words, files, pids: &pids, primitives };
        let objects = found.objects.settle(&names, &mut self.objects);
        machine.objects = objects;
        machine.tails = found.last_samples.into_tails();
        let (told, overheads) = found.overheads.into_found();
        machine.overheads = overheads;
        let evidence = &mut self.evidence;
        evidence.overhead_nanoseconds += told;
        evidence.waits_for_objects += waits.told;
        evidence.waits_by_place += waits.by_place;
        evidence.waits_without_object += waits.untold;
        evidence.contradictions += found.contradictions;
        evidence.unmatched_wakes += found.unmatched_wakes;
        evidence.interrupt_wakes += found.interrupt_wakes;
        evidence.outside_wakes += found.outside_wakes;
        evidence.observations += found.observations + found.told;
        evidence.told_observations += found.told;
        evidence.without_stack += found.without_stack;
    }
}

impl Timelines for Trace {
    type Error = Error;

    fn program(&self) -> &Program {
        &self.program
    }

    fn paths(&self) -> &Paths {
        &self.paths
    }

    fn objects(&self) -> &Objects {
        &self.objects
    }

    fn for_each(&self, visit: &mut dyn FnMut(&Item)) -> Result<()> {
        self.items(visit)
    }
}

/// The observer of a replay after the survey.
struct Replayer<'a> {
    replayed: &'a Surveyed,
    paths: &'a Paths,
    turns: &'a mut Turns,
    visit: &'a mut dyn FnMut(&Item),
}

impl Observer for Replayer<'_> {
    fn prefix(&mut self, prefix: Prefix) -> PrefixId {
        self.replayed.cache.find_prefix(prefix).unwrap_or(PrefixId::ROOT)
    }

    fn prefix_path(&self, prefix: PrefixId) -> PathId {
        self.replayed.cache.get(prefix).path
    }

    fn call(&mut self, caller: PathId, place: PlaceId) -> PathId {
        self.paths.find(caller, place).unwrap_or(caller)
    }

    fn paths(&self) -> &Paths {
        self.paths
    }

    fn path(&mut self, prefix: PrefixId, stack: (Option<StackId>, Cut)) -> PathId {
        let cache = &self.replayed.cache;
        cache.find(&self.replayed.stacks, prefix, stack).unwrap_or_else(|| cache.get(prefix).path)
    }

    fn worked(&mut self, _thread: ThreadId, end: PathId) -> PathId {
        self.replayed.tails.charged(end, self.turns)
    }

    fn awaited(&mut self, wait: Option<Wait>, path: Option<PathId>) -> Option<ObjectId> {
        self.replayed.objects.find(wait?, path, self.paths)
    }

    fn held(&mut self, held: Wait, path: PathId, _acquisitions: u64) -> Option<ObjectId> {
        self.replayed.objects.find(held, Some(path), self.paths)
    }

    fn item(&mut self, item: Item) {
        (self.visit)(&item);
    }
}

fn reason_of_emptiness(manifest: &Manifest) -> &'static str {
    match manifest.outcome {
        None => "the recorder was stopped before it wrote its first events",
        Some(_) => "the program did nothing that the collector sees, or ended before it was seen",
    }
}
