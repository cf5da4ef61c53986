//! An opened recording.

use std::path::Path;

use longpole_event::{CallDefinition, MachineId, ProcessId, ThreadId, Time};
use longpole_recording::{CollectorDescription, LogName, Manifest, RecordingFolder};
use rustc_hash::FxHashMap;

use crate::assembly::{evidence_of, planned_calls, run_of, sent_of, tree_of};
use crate::bursts::Tails;
use crate::census::ObjectIndex;
use crate::columns::{ColumnsEnd, ItemCache, ItemColumns};
use crate::dependences::{LogDependences, unseen};
use crate::error::{Error, Result};
use crate::evidence::Evidence;
use crate::exits::KilledBy;
use crate::id_owners::IdOwners;
use crate::inventory::Inventory;
use crate::kept::LazyColumns;
use crate::log_items::LogItem;
use crate::message_traffic::flows_of;
use crate::messages::PlannedCalls;
use crate::naming::{SymbolSource, name_frames};
use crate::object_names::{FileNames, NameSources, WordNames, file_names};
use crate::objects::Objects;
use crate::overheads::Overhead;
use crate::path_cache::PathCache;
use crate::paths::{Paths, ProcedureId};
use crate::primitives::LogPrimitives;
use crate::program::Program;
use crate::spin_tails::{SpinTail, by_thread, with_tails};
use crate::stacks::StackTable;
use crate::stream::{Axis, LogStream, Merge, is_event};
use crate::survey::{SurveyFindings, Surveyor};
use crate::task_runtime::TaskRuntime;
use crate::timeline::{Item, Placement, Timelines};
use crate::transitions::{Foreknowledge, OngoingMeetings, ReplaySources, SentMessages, Transitions};

/// A recording whose timelines can be read as often as wanted.
#[derive(Debug)]
pub struct Trace {
    pub(crate) folder: RecordingFolder,
    pub(crate) manifest: Manifest,
    pub(crate) program: Program,
    pub(crate) paths: Paths,
    pub(crate) objects: Objects,
    pub(crate) evidence: Evidence,
    /// None where the items come from columns that were kept.
    pub(crate) machines: Vec<Surveyed>,
    pub(crate) sent: SentMessages,
    pub(crate) calls_planned: PlannedCalls,
    pub(crate) end: Time,
    /// It was opened from what was kept, and its logs have not been read.
    pub(crate) is_kept: bool,
    pub(crate) cache: Option<ItemCache>,
    pub(crate) columns: LazyColumns,
}

/// What the replay of one machine needs.
#[derive(Debug)]
pub(crate) struct Surveyed {
    pub(crate) stacks: StackTable,
    pub(crate) cache: PathCache,
    pub(crate) objects: ObjectIndex,
    words: WordNames,
    files: FileNames,
    id_owners: IdOwners,
    primitives: LogPrimitives,
    pub(crate) tails: Tails,
    has_timer: bool,
    calls: Vec<CallDefinition>,
    known: Vec<Foreknowledge>,
    overheads: Vec<Overhead>,
    spin_tails: Vec<SpinTail>,
    dependences: LogDependences,
    processes: Vec<ProcessId>,
    pub(crate) base: u32,
    axis: Axis,
}

impl Surveyed {
    /// Whether it has the thread, which the exit of its process killed.
    fn killed_by_exit(&self, thread: ThreadId) -> bool {
        let index = thread.0.checked_sub(self.base);
        let known = index.and_then(|index| self.known.get(index as usize));
        known.is_some_and(|known| known.killed == Some(KilledBy::Exit))
    }

    fn sources<'a>(
        &'a self,
        (sent, calls_planned): (&'a SentMessages, &'a PlannedCalls),
        machine: (u32, u32),
    ) -> ReplaySources<'a> {
        ReplaySources {
            stacks: &self.stacks,
            calls: &self.calls,
            known: &self.known,
            overheads: &self.overheads,
            spin_tails: &self.spin_tails,
            processes: &self.processes,
            id_owners: &self.id_owners,
            primitives: &self.primitives,
            sent,
            calls_planned,
            has_timer: self.has_timer,
            dependences: &self.dependences,
            machine,
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
        Trace::open_with(path, None)
    }

    /// The same with what is kept in a cache of it, if anything is. The items of a long recording are kept there when they
    /// are first read.
    ///
    /// # Errors
    /// As of [`open`](Self::open).
    pub fn open_with(path: &Path, cache: Option<ItemCache>) -> Result<Self> {
        let (folder, manifest) = RecordingFolder::open(path)?;
        match cache.as_ref().and_then(|cache| Trace::kept(folder.clone(), manifest.clone(), cache)) {
            Some(trace) => Ok(trace),
            None => Trace::read(folder, manifest, cache),
        }
    }

    pub(crate) fn read(
        folder: RecordingFolder,
        manifest: Manifest,
        cache: Option<ItemCache>,
    ) -> Result<Self> {
        let path = folder.path();
        let mut inventories = (0..manifest.machines.len())
            .map(|index| Inventory::read(&folder, MachineId::from_index(index), manifest.machines.len() > 1))
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
            sent: sent_of(&manifest, &mut inventories, run.begin),
            calls_planned: planned_calls(&manifest, &mut inventories, run.begin),
            folder,
            manifest,
            program,
            end: run.end,
            is_kept: false,
            cache,
            columns: LazyColumns::default(),
        };
        trace.evidence.messages = trace.calls_planned.traffic(&trace.program);
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
        let mut shown = match self.with_columns(|columns| columns.for_each(visit))? {
            ColumnsEnd::Whole => return Ok(()),
            ColumnsEnd::BrokenOff(shown) => shown,
        };
        self.decode(&mut |found| {
            let LogItem::Item(item) = found else { return };
            match shown {
                0 => visit(item),
                _ => shown -= 1,
            }
        })
    }

    pub(crate) fn merge(&self) -> Result<Merge> {
        let mut streams = Vec::new();
        for (index, machine) in self.machines.iter().enumerate() {
            let id = MachineId::from_index(index);
            if let Some(stream) = LogStream::open(&self.folder, id, LogName::Events)? {
                streams.push((id, stream.read_ahead(is_event), machine.axis.clone()));
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
            let primitives = LogPrimitives::of(&inventory.tables, &words, process_base);
            process_base +=
                u32::try_from(inventory.tables.processes.len()).expect("fewer than 2^32 processes");
            let of_machine = &self.program.threads[base as usize..][..threads];
            self.machines.push(Surveyed {
                stacks,
                cache: PathCache::default(),
                objects: ObjectIndex::default(),
                words,
                files,
                id_owners: IdOwners::new(of_machine, base, |process| {
                    self.program.processes[process.index()].pid
                }),
                primitives,
                tails: Tails::default(),
                has_timer: self.manifest.machines[index].collector.sample_hertz > 0,
                calls: inventory.tables.calls,
                known: inventory.threads.into_iter().map(|thread| thread.known).collect(),
                overheads: Vec::new(),
                spin_tails: Vec::new(),
                dependences: inventory.dependences,
                processes: of_machine.iter().map(|thread| thread.process).collect(),
                base,
                axis: Axis::new(&self.manifest.machines[index], begin),
            });
            base += u32::try_from(threads).expect("fewer than 2^32 threads");
        }
        Ok(())
    }

    fn survey(&mut self) -> Result<()> {
        let machines = &self.machines;
        let mut findings: Vec<_> = machines
            .iter()
            .map(|machine| SurveyFindings::new(machine.known.len(), machine.base, machine.stacks.has_spins()))
            .collect();
        let mut replays = transitions_of(machines, (&self.sent, &self.calls_planned));
        let mut merge = self.merge()?;
        let paths = &mut self.paths;
        let mut end = self.end;
        while let Some((machine, event)) = merge.next()? {
            end = end.max(event.time);
            let index = machine.index();
            let (stacks, findings) = (&machines[index].stacks, &mut findings[index]);
            replays[index].apply(event, &mut Surveyor { stacks, paths, findings });
        }
        for (index, transitions) in replays.iter_mut().enumerate() {
            let (stacks, findings) = (&machines[index].stacks, &mut findings[index]);
            transitions.finish(end, &mut Surveyor { stacks, paths, findings });
        }
        self.evidence.disordered = merge.disordered();
        let mut may_wait: FxHashMap<ProcedureId, u64> = FxHashMap::default();
        let flows = findings.iter().flat_map(|found| flows_of(&found.flows, &self.program, true));
        self.evidence.messages.flows.extend(flows);
        for (index, found) in findings.into_iter().enumerate() {
            for (&procedure, &time) in &found.may_wait {
                *may_wait.entry(procedure).or_default() += time;
            }
            self.keep(index, found);
        }
        if TaskRuntime::of(&self.paths) != TaskRuntime::None {
            let machines = &self.machines;
            let by_exit = |thread: ThreadId| machines.iter().any(|machine| machine.killed_by_exit(thread));
            self.program.killed_at_work.retain(|&thread| !by_exit(thread));
        }
        self.evidence.may_wait = may_wait.into_iter().collect();
        self.evidence
            .may_wait
            .sort_unstable_by_key(|&(procedure, time)| (std::cmp::Reverse(time), procedure));
        let has_counts = self.machines.iter().any(|machine| machine.dependences.has_counts());
        self.evidence.notes.extend(unseen(&self.objects, has_counts));
        Ok(())
    }

    fn keep(&mut self, index: usize, found: SurveyFindings) {
        let machine = &mut self.machines[index];
        machine.spin_tails = found.spin_tails.into_found();
        machine.spin_tails.extend(found.freed);
        machine.spin_tails.sort_unstable();
        let mut tails = by_thread(&machine.spin_tails, machine.known.len()).into_iter();
        for (known, spins) in machine.known.iter_mut().zip(found.spins) {
            known.spins = with_tails(spins, &tails.next().unwrap_or_default());
        }
        for (offset, prefix) in found.prefixes.into_iter().enumerate() {
            self.program.threads[machine.base as usize + offset].prefix = prefix;
        }
        machine.cache = found.cache;
        let waits = found.objects.counts();
        let (words, files) = (&machine.words, &machine.files);
        let primitives = &machine.primitives;
        let communicators = &self.calls_planned.names;
        let pids = self.program.processes.iter().map(|process| process.pid).collect();
        let names = NameSources {
            paths: &self.paths,
            program: &self.program,
            words,
            files,
            pids: &pids,
            primitives,
            communicators,
        };
        let elapsed = self.end.nanoseconds().max(1);
        let share = |id, kind| found.exclusions.share(id, kind, elapsed);
        let objects = found.objects.settle(&names, share, &mut self.objects);
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

/// A replay of each machine, from its beginning.
pub(crate) fn transitions_of<'a>(
    machines: &'a [Surveyed],
    messages: (&'a SentMessages, &'a PlannedCalls),
) -> Vec<Transitions<'a>> {
    let count = u32::try_from(machines.len()).expect("fewer than 2^32 machines");
    let meetings = OngoingMeetings::default();
    let of = |(index, of): (u32, &'a Surveyed)| {
        Transitions::new(of.sources(messages, (index, count)), meetings.clone())
    };
    (0..count).zip(machines).map(of).collect()
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

    fn placements(&self) -> Result<Vec<Placement>> {
        if let Some(placements) = self.with_columns(ItemColumns::placements)? {
            return Ok(placements);
        }
        let mut placements = Vec::new();
        self.decode(&mut |found| {
            if let LogItem::Placed(placement) = found {
                placements.push(placement);
            }
        })?;
        Ok(placements)
    }
}

fn reason_of_emptiness(manifest: &Manifest) -> String {
    let mut notes = manifest.machines.iter().flat_map(|machine| &machine.collector.notes);
    let failure = notes.find(|note| note.starts_with(CollectorDescription::FAILURE));
    match (failure, manifest.outcome) {
        (Some(failure), _) => failure.clone(),
        (None, None) => "the recorder was stopped before it wrote its first events".to_owned(),
        (None, Some(_)) => {
            "the program did nothing that the collector sees, or ended before it was seen".to_owned()
        }
    }
}
