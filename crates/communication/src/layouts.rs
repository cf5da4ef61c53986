//! What another layout of the data would change: the recorded accesses, simulated as the program would have made them with
//! objects padded, aligned, split, in another order, or private.
//!
//! In: the log of accesses, and which objects change how. Out: the transfers before and after, with what they cost. Every layout
//! is simulated with the same streams; what changes is where the bytes of the named objects lie, and with it who fetches what.
//!
//! What it cannot see: other data that lies elsewhere once an object has grown, what an allocator does with other sizes, and
//! steps that a changed program would make (the sum of private copies).

use std::collections::{BTreeMap, BTreeSet};

use longpole_coherence::{
    AccessPattern, CommunicationResult, DataLayout, DataObjectId, LayoutChanges, ProcessorId, TransferRange,
    VirtualRun, VirtualRunSetup,
};
use longpole_event::MachineId;
use longpole_recording::{AccessField, LogName, LogReader, RecordingFolder};

use crate::answer::DataObject;
use crate::error::{Error, Result};
use crate::log::{LargestProcess, LoggedProcess, largest_process};
use crate::names::ProcessNames;
use crate::objects::{AccessObjects, ObjectOrigin};
use crate::sample::whole;
use crate::settings::CommunicationOptions;
use crate::sites::AccessSites;
use crate::streams::ProcessStreams;

/// Data that a layout can change: all objects of one name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LayoutObject {
    /// Name.
    pub name: String,
    /// `variable`, `heap` or `stack`.
    pub kind: &'static str,
    /// Bytes of a variable; 0 of what has blocks of any size.
    pub size: u64,
    /// Bytes of an element, where debug information says it.
    pub element: Option<u64>,
    /// Fields of an element.
    pub fields: Vec<AccessField>,
    /// What the recorded layout moves of it.
    pub before: ObjectTransfers,
    /// Of the transfers: those of false sharing.
    pub false_sharing: u64,
    /// Where the bytes of different threads begin; `None` where they are in several blocks.
    pub thread_starts: Option<ThreadStarts>,
}

/// Where the bytes that threads use begin in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadStarts {
    /// Bytes of which all distances between them are multiples.
    pub distance: u64,
    /// Bytes from the begin of the block to the first of them, less whole distances.
    pub offset: u64,
}

/// Requests for an object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ObjectTransfers {
    /// Requests.
    pub requests: u64,
    /// Those that are no first references.
    pub transfers: u64,
    /// Nanoseconds of virtual time.
    pub cost: u64,
}

/// What a layout moves.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LayoutOutcome {
    /// Requests, of all data.
    pub requests: u64,
    /// Those that are no first references.
    pub transfers: u64,
    /// Fewest transfers of any order that the program permits.
    pub low: u64,
    /// Most.
    pub high: u64,
    /// Virtual nanoseconds of all requests together, of all threads.
    pub cost: u64,
    /// Writes that took the unit from others and fetched nothing.
    pub upgrades: u64,
    /// Virtual nanoseconds until the last thread ended.
    pub elapsed: u64,
    /// Of each object, in the order of [`LayoutSimulator::objects`].
    pub objects: Vec<ObjectTransfers>,
    /// Steps whose recorded order could not be kept.
    pub unfollowed: u64,
    /// Blocks that kept their addresses, as their new layout is too large.
    pub unplaced: u64,
}

/// A change of some objects.
#[derive(Clone, Debug, PartialEq)]
pub struct ObjectsLayout {
    /// Indexes of the objects.
    pub objects: BTreeSet<usize>,
    /// How.
    pub changes: LayoutChanges,
}

/// A recording whose accesses are simulated in one layout after the other.
pub struct LayoutSimulator<'a> {
    folder: &'a RecordingFolder,
    process: LoggedProcess,
    options: CommunicationOptions,
    /// Names that mean the same in every simulation.
    known: (AccessSites, AccessObjects),
    objects: Vec<LayoutObject>,
    /// Index of the object of each id.
    index: BTreeMap<DataObjectId, usize>,
    before: LayoutOutcome,
    /// Accesses of all threads.
    accesses: u64,
    /// Blocks of the log that are missing or damaged.
    lost_blocks: u64,
}

impl std::fmt::Debug for LayoutSimulator<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LayoutSimulator").field("before", &self.before).finish_non_exhaustive()
    }
}

impl<'a> LayoutSimulator<'a> {
    /// Simulates the recorded layout.
    ///
    /// # Errors
    /// [`Error::NoAccesses`] and what else [`Error`] has.
    pub fn open(folder: &'a RecordingFolder, options: CommunicationOptions) -> Result<LayoutSimulator<'a>> {
        let no_accesses = || Error::NoAccesses(folder.path().to_owned());
        let LargestProcess { reader, process, lost_blocks, .. } =
            largest_process(folder)?.ok_or_else(no_accesses)?;
        let (_, manifest) = RecordingFolder::open(folder.path())?;
        whole("simulate another layout of the data", &manifest)?;
        let options = options.or(manifest.simulation.as_ref());
        let mut simulator = LayoutSimulator {
            folder,
            process,
            options,
            known: (AccessSites::default(), AccessObjects::default()),
            objects: Vec::new(),
            index: BTreeMap::new(),
            before: LayoutOutcome::default(),
            accesses: 0,
            lost_blocks,
        };
        let run = simulator.run(reader, None)?;
        simulator.add_objects(&run.communication);
        simulator.before = simulator.outcome(&run);
        for (object, before) in simulator.objects.iter_mut().zip(&simulator.before.objects) {
            object.before = *before;
        }
        Ok(simulator)
    }

    /// Data that accesses touched, and variables that none did, by kind and name.
    #[must_use]
    pub fn objects(&self) -> &[LayoutObject] {
        &self.objects
    }

    /// What the recorded layout moves.
    #[must_use]
    pub fn before(&self) -> &LayoutOutcome {
        &self.before
    }

    /// Bytes of a unit.
    #[must_use]
    pub fn unit(&self) -> u64 {
        self.options.settings().unit
    }

    /// Name of the protocol.
    #[must_use]
    pub fn protocol(&self) -> &'static str {
        self.options.protocol().name()
    }

    /// Accesses that each simulation has.
    #[must_use]
    pub fn accesses(&self) -> u64 {
        self.accesses
    }

    /// Blocks of the log of accesses that are missing or damaged.
    #[must_use]
    pub fn lost_blocks(&self) -> u64 {
        self.lost_blocks
    }

    /// What another layout moves. Changes of one object by several of them are not added up: the last one counts.
    ///
    /// # Errors
    /// [`Error`].
    pub fn simulate(&mut self, layouts: &[ObjectsLayout]) -> Result<LayoutOutcome> {
        let mut layout = DataLayout::default();
        for (number, one) in layouts.iter().enumerate() {
            layout.changes.push(one.changes.clone());
            let ids = self.index.iter().filter(|(_, object)| one.objects.contains(object));
            layout.objects.extend(ids.map(|(&id, _)| (id, number)));
        }
        let reader = self.folder.open_log(MachineId(0), LogName::Accesses)?;
        let reader = reader.ok_or_else(|| Error::NoAccesses(self.folder.path().to_owned()))?;
        let run = self.run(reader, Some(layout))?;
        Ok(self.outcome(&run))
    }

    fn run(&mut self, reader: LogReader, layout: Option<DataLayout>) -> Result<VirtualRun> {
        let streams = ProcessStreams::with_names(reader, &self.process, std::mem::take(&mut self.known));
        let setup = streams.setup(self.options.settings(), self.options.step_costs());
        let setup = VirtualRunSetup { layout, ..setup };
        let run = VirtualRun::of_recorded(streams.steps(&self.process), &setup)?;
        self.accesses = streams.accesses.borrow().iter().sum();
        let mut shared = streams.shared.borrow_mut();
        self.known = (std::mem::take(&mut shared.sites), std::mem::take(&mut shared.objects));
        drop(shared);
        Ok(run)
    }

    /// Gives the objects of the first run their names.
    fn add_objects(&mut self, result: &CommunicationResult) {
        let mut named: BTreeMap<(&'static str, String), Vec<DataObjectId>> = BTreeMap::new();
        let names = ProcessNames { process: &self.process, sites: &self.known.0, objects: &self.known.1 };
        for id in (0..self.known.1.origins.len() as u32).map(DataObjectId) {
            let DataObject { name, kind, .. } = names.object(Some(id));
            named.entry((kind, name)).or_default().push(id);
        }
        for ((kind, name), ids) in named {
            let number = self.objects.len();
            self.index.extend(ids.iter().map(|&id| (id, number)));
            let variables = ids.iter().filter_map(|id| match self.known.1.origins[id.0 as usize] {
                ObjectOrigin::Variable(index) => self.process.variables.get(index as usize),
                _ => None,
            });
            let variables: Vec<_> = variables.collect();
            let element = variables.first().map(|one| one.element).filter(|&element| element > 0);
            let is_alike = |element: &u64| variables.iter().all(|one| one.element == *element);
            let element = element.filter(is_alike);
            let fields = variables.first().filter(|_| element.is_some()).map(|one| one.fields.clone());
            self.objects.push(LayoutObject {
                name,
                kind,
                size: variables.iter().map(|one| one.size).max().unwrap_or(0),
                element,
                fields: fields.unwrap_or_default(),
                ..LayoutObject::default()
            });
        }
        let mut units: BTreeMap<usize, BTreeSet<u64>> = BTreeMap::new();
        for (number, flow) in result.flows.iter().enumerate() {
            let Some(&index) = flow.key.object.and_then(|id| self.index.get(&id)) else { continue };
            let falsely = result.patterns_of(number).of(AccessPattern::FalseSharing).requests;
            self.objects[index].false_sharing += falsely;
            if falsely > 0 {
                units.entry(index).or_default().insert(flow.key.unit);
            }
        }
        for (index, units) in units {
            let is_own =
                |address| result.object_at(address).and_then(|id| self.index.get(&id)) == Some(&index);
            let starts = thread_starts(result, (&units, self.unit()), is_own);
            self.objects[index].thread_starts = starts;
        }
    }

    fn outcome(&self, run: &VirtualRun) -> LayoutOutcome {
        let result = &run.communication;
        let TransferRange { necessary, possible } = result.range();
        let mut objects = vec![ObjectTransfers::default(); self.objects.len()];
        let mut cost = 0;
        for flow in &result.flows {
            cost += flow.totals.cost;
            let Some(&index) = flow.key.object.and_then(|id| self.index.get(&id)) else { continue };
            let is_cold = flow.key.origin == longpole_coherence::FlowOrigin::Cold;
            objects[index].requests += flow.totals.requests;
            objects[index].transfers += if is_cold { 0 } else { flow.totals.requests };
            objects[index].cost += flow.totals.cost;
        }
        LayoutOutcome {
            requests: result.total_requests,
            transfers: result.transfers(),
            low: necessary,
            high: possible,
            cost,
            upgrades: result.upgrades(),
            elapsed: run.ends.iter().copied().max().unwrap_or(0),
            objects,
            unfollowed: run.unfollowed,
            unplaced: run.unplaced,
        }
    }
}

/// A thread's accesses to a unit count where they are this part of those of the thread with most.
const FEWEST: u64 = 8;

/// Where the bytes of threads begin in the block that these units, of so many bytes, are of; `None` of fewer than two threads, and
/// of several blocks. `is_own` says whether a byte is the object's.
fn thread_starts(
    result: &CommunicationResult,
    (units, bytes): (&BTreeSet<u64>, u64),
    is_own: impl Fn(u64) -> bool,
) -> Option<ThreadStarts> {
    let own = |unit: &u64| (*unit..unit + bytes).find(|&address| is_own(address));
    let (start, end) = result.object_range(units.iter().find_map(own)?)?;
    if !units.iter().all(|unit| start < unit + bytes && *unit < end) {
        return None;
    }
    let mut firsts: BTreeMap<ProcessorId, u64> = BTreeMap::new();
    for unit in result.units.iter().filter(|unit| start < unit.address + bytes && unit.address < end) {
        let most = unit.uses.iter().map(|one| one.accesses).max().unwrap_or(0);
        for one in unit.uses.iter().filter(|one| FEWEST * one.accesses >= most) {
            let ranges = one.read.ranges().into_iter().chain(one.written.ranges());
            let own = ranges.filter_map(|range| {
                let (from, to) = (unit.address + u64::from(range.start), unit.address + u64::from(range.end));
                (from < end && start < to).then_some(from.max(start))
            });
            if let Some(first) = own.min() {
                let known = firsts.entry(one.processor).or_insert(first);
                *known = first.min(*known);
            }
        }
    }
    let mut firsts: Vec<u64> = firsts.into_values().collect();
    firsts.sort_unstable();
    let distance = firsts.windows(2).fold(0, |sum, pair| gcd(sum, pair[1] - pair[0]));
    let offset = (firsts.first()? - start).checked_rem(distance)?;
    Some(ThreadStarts { distance, offset })
}

fn gcd(one: u64, other: u64) -> u64 {
    if other == 0 { one } else { gcd(other, one % other) }
}
