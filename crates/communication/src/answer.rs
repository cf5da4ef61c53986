//! The answer: requests with the names of who asked for what, and why.

use std::collections::BTreeMap;

use longpole_coherence::{
    AccessKind, AccessPattern, CoherenceSettings, CommunicationResult, DataObjectId, FlowOrigin,
    TransferRange, VirtualRun, VirtualRunSetup,
};
use longpole_event::MachineId;
use longpole_recording::{LogName, LogReader, RecordingFolder};

use crate::chains::{RECORDS, RequestChains};
use crate::classes::UnitClass;
use crate::error::Result;
use crate::graphs::ObjectCausality;
use crate::log::{LargestProcess, LoggedProcess, largest_process};
use crate::memory::program_address;
use crate::names::ProcessNames;
use crate::numbered::AnswerNames;
use crate::settings::{CommunicationDemand, CommunicationOptions};
use crate::streams::ProcessStreams;

/// A place in the program's code.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct DataPlace {
    /// Procedure.
    pub procedure: String,
    /// File of the code.
    pub module: String,
    /// Source file; empty where it is not known.
    pub file: String,
    /// Line; 0 where it is not known.
    pub line: u32,
}

/// Data of the program.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct DataObject {
    /// Name: of a variable, of the place of an allocation, of a stack.
    pub name: String,
    /// `variable`, `heap`, `stack`, or `unknown`.
    pub kind: &'static str,
    /// First byte of a variable; 0 of others.
    pub address: u64,
    /// Bytes of a variable; 0 of others.
    pub size: u64,
    /// Bytes of its elements, or of all of it where it is no array; 0 where they are not known.
    pub element: u64,
}

/// A thread with accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccessThread {
    /// The kernel's number.
    pub tid: u32,
    /// Accesses.
    pub accesses: u64,
}

/// Whose write was behind requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FlowWriter {
    /// Index of the thread.
    pub thread: usize,
    /// Index of the place.
    pub place: usize,
    /// Index of the synchronisation; `None`: nothing orders the write before the request.
    pub through: Option<usize>,
}

/// Requests that agree in who asked, where, for what, and in the write behind them: R ← I ← W.
#[derive(Clone, Debug, PartialEq)]
pub struct CommunicationFlow {
    /// Index of the asking thread.
    pub reader: usize,
    /// Index of the place.
    pub place: usize,
    /// Index of the object.
    pub object: usize,
    /// Whether the asking accesses write.
    pub writes: bool,
    /// The write; `None`: the thread's first reference.
    pub writer: Option<FlowWriter>,
    /// Requests; those with writes of several flows behind them are counted in the flow of the first write.
    pub requests: u64,
    /// Requests behind which a write of this flow is.
    pub contributions: u64,
    /// Their cost, nanoseconds of virtual time, divided equally among the flows that a request is of.
    pub cost: u64,
    /// Requests by pattern, in the order of [`AccessPattern::ALL`].
    pub patterns: [u64; 8],
    /// Bytes used of what was fetched.
    pub used: u64,
    /// Bytes fetched.
    pub fetched: u64,
}

/// What a thread did to a unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedUnitUse {
    /// Index of the thread.
    pub thread: usize,
    /// Ranges of offsets that it read, and that it wrote.
    pub read: Vec<(u32, u32)>,
    /// The same of writes.
    pub written: Vec<(u32, u32)>,
    /// Accesses.
    pub accesses: u64,
}

/// A unit that more than one thread touched.
#[derive(Clone, Debug, PartialEq)]
pub struct SharedUnit {
    /// First address.
    pub address: u64,
    /// Index of the object of most requests.
    pub object: usize,
    /// Requests, first references among them.
    pub requests: u64,
    /// Requests that are no first references.
    pub transfers: u64,
    /// Of `transfers`: false sharing.
    pub false_sharing: u64,
    /// Fewest transfers of any order that the program permits.
    pub low: u64,
    /// Most.
    pub high: u64,
    /// By thread.
    pub uses: Vec<SharedUnitUse>,
}

/// Who makes whom fetch what, in one process.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecordedCommunication {
    /// Bytes of a unit.
    pub unit: u64,
    /// Name of the protocol.
    pub protocol: &'static str,
    /// The process.
    pub pid: u32,
    /// Other processes whose accesses were recorded too, and are not in the answer: it is of the one with most.
    pub other_processes: usize,
    /// Its threads.
    pub threads: Vec<AccessThread>,
    /// Places that flows name.
    pub places: Vec<DataPlace>,
    /// Objects that flows and units name.
    pub objects: Vec<DataObject>,
    /// Synchronisations that flows name: what, and where the reader acquired it.
    pub synchronisations: Vec<(String, usize)>,
    /// The flows, in the order of their first requests.
    pub flows: Vec<CommunicationFlow>,
    /// Units that several threads touched, by address.
    pub units: Vec<SharedUnit>,
    /// All units by object and pattern.
    pub classes: Vec<UnitClass>,
    /// Causality graphs by object, those of the highest cost first; empty where they were not wanted.
    pub graphs: Vec<ObjectCausality>,
    /// Call paths and chains; `None` where they were not wanted.
    pub chains: Option<RequestChains>,
    /// Requests.
    pub requests: u64,
    /// Requests that are no first references.
    pub transfers: u64,
    /// Fewest of them in any order that the program permits.
    pub low: u64,
    /// Most.
    pub high: u64,
    /// Writes that took the unit from others and fetched nothing.
    pub upgrades: u64,
    /// Virtual nanoseconds until the last thread ended.
    pub elapsed: u64,
    /// Bytes of the recorded streams before compression.
    pub stream_bytes: u64,
    /// Steps whose recorded order could not be kept.
    pub unfollowed: u64,
    /// Blocks of the log that are missing or damaged.
    pub lost_blocks: u64,
    /// Operations that fit no other one.
    pub ignored: u64,
}

impl RecordedCommunication {
    /// Reads and simulates the accesses of a recording; `None` where it has none.
    ///
    /// # Errors
    /// [`crate::Error`].
    pub fn of(
        folder: &RecordingFolder,
        options: CommunicationOptions,
        demand: CommunicationDemand,
    ) -> Result<Option<RecordedCommunication>> {
        let Some(LargestProcess { reader, pid, process, others, lost_blocks }) = largest_process(folder)?
        else {
            return Ok(None);
        };
        let (_, manifest) = RecordingFolder::open(folder.path())?;
        let options = options.or(manifest.simulation.as_ref());
        let mut answer = simulate((folder, reader), &process, (options, demand))?;
        answer.pid = pid;
        answer.other_processes = others;
        answer.lost_blocks += lost_blocks;
        answer.stream_bytes = process.bytes;
        Ok(Some(answer))
    }

    /// Accesses of all threads.
    #[must_use]
    pub fn accesses(&self) -> u64 {
        self.threads.iter().map(|thread| thread.accesses).sum()
    }
}

fn simulate(
    (folder, reader): (&RecordingFolder, LogReader),
    process: &LoggedProcess,
    (options, demand): (CommunicationOptions, CommunicationDemand),
) -> Result<RecordedCommunication> {
    let streams = ProcessStreams::of(reader, process);
    let settings = options.settings();
    let mut run =
        VirtualRun::of_recorded(streams.steps(process), &streams.setup(settings, options.step_costs()))?;
    let words = match demand.words {
        true => again(folder, process, options, (moved(&run.communication), Vec::new()))?.1,
        false => None,
    };
    let shared = streams.shared.borrow();
    let mut namer = AnswerNames::new(ProcessNames::new(process, &shared));
    let result = &run.communication;
    let (flows, flow_of) = namer.flows(result, settings.unit);
    let units = namer.units(result);
    let classes = UnitClass::all(result, (demand.words, words.as_ref()), (settings.unit, &mut namer));
    let TransferRange { necessary, possible } = result.range();
    let chains = match demand.chains {
        true => {
            let units = RequestChains::units(result, &flow_of);
            let (recorded, _) = again(folder, process, options, (Vec::new(), units))?;
            Some(RequestChains::of(result, recorded, (&flow_of, &mut namer)))
        }
        false => None,
    };
    let (transfers, upgrades) = (result.transfers(), result.upgrades());
    let graphs = match demand.graphs {
        true => ObjectCausality::all(&mut run.communication, &mut namer),
        false => Vec::new(),
    };
    let tid = |thread: u32| process.threads.get(&thread).map_or(0, |one| one.tid);
    Ok(RecordedCommunication {
        unit: settings.unit,
        protocol: options.protocol().name(),
        threads: (0..)
            .zip(streams.accesses.borrow().iter())
            .map(|(thread, &accesses)| AccessThread { tid: tid(thread), accesses })
            .collect(),
        requests: run.communication.total_requests,
        transfers,
        low: necessary,
        high: possible,
        upgrades,
        elapsed: run.ends.iter().copied().max().unwrap_or(0),
        unfollowed: run.unfollowed,
        lost_blocks: shared.lost_blocks,
        ignored: shared.ignored,
        flows,
        units,
        classes,
        graphs,
        chains,
        places: namer.places.names,
        objects: namer.objects.names,
        synchronisations: namer.synchronisations.names,
        ..RecordedCommunication::default()
    })
}

/// First addresses of the units with transfers.
fn moved(result: &CommunicationResult) -> Vec<u64> {
    let moved = result.units.iter().filter(|unit| unit.patterns.transfers().requests > 0);
    moved.map(|unit| unit.address).collect()
}

/// The same run once more, which gives everything the same numbers: with the words of some units as units of their own, and
/// with records of the requests of some units. Neither where no unit is named.
fn again(
    folder: &RecordingFolder,
    process: &LoggedProcess,
    options: CommunicationOptions,
    (words_of, records_of): (Vec<u64>, Vec<u64>),
) -> Result<(Option<CommunicationResult>, Option<CommunicationResult>)> {
    let reader = folder.open_log(MachineId(0), LogName::Accesses)?;
    let Some(reader) = reader.filter(|_| !words_of.is_empty() || !records_of.is_empty()) else {
        return Ok((None, None));
    };
    let streams = ProcessStreams::of(reader, process);
    let records = if records_of.is_empty() { 0 } else { RECORDS };
    let settings = CoherenceSettings { records, ..options.settings() };
    let setup = VirtualRunSetup { words_of, records_of, ..streams.setup(settings, options.step_costs()) };
    let run = VirtualRun::of_recorded(streams.steps(process), &setup)?;
    Ok((Some(run.communication), run.words))
}

impl AnswerNames<'_> {
    /// The flows, and for each of the result's the index of the one that it is in.
    fn flows(&mut self, result: &CommunicationResult, unit: u64) -> (Vec<CommunicationFlow>, Vec<usize>) {
        let mut numbers = BTreeMap::new();
        let mut flows: Vec<CommunicationFlow> = Vec::new();
        let mut flow_of = Vec::with_capacity(result.flows.len());
        for (index, flow) in result.flows.iter().enumerate() {
            let key = &flow.key;
            let writer = match key.origin {
                FlowOrigin::Cold => None,
                FlowOrigin::Written { ordered_by, writer, writer_site } => Some(FlowWriter {
                    thread: writer.index(),
                    place: self.place(writer_site),
                    through: ordered_by.map(|origin| self.synchronisation(result, origin)),
                }),
            };
            let (place, object) = (self.place(key.reader_site), self.object(key.object));
            let writes = key.kind != AccessKind::Read;
            let totals = &flow.totals;
            let named = (key.reader.index(), place, object, writes, writer);
            let number = *numbers.entry(named).or_insert_with(|| {
                flows.push(CommunicationFlow {
                    reader: key.reader.index(),
                    place,
                    object,
                    writes,
                    writer,
                    requests: 0,
                    contributions: 0,
                    cost: 0,
                    patterns: [0; 8],
                    used: 0,
                    fetched: 0,
                });
                flows.len() - 1
            });
            flow_of.push(number);
            let row = &mut flows[number];
            row.requests += totals.requests;
            row.contributions += totals.contributions;
            row.cost += totals.cost;
            row.used += 8 * totals.words_used;
            row.fetched += unit * totals.requests;
            let patterns = result.patterns_of(index);
            for (sum, pattern) in row.patterns.iter_mut().zip(AccessPattern::ALL) {
                *sum += patterns.of(pattern).requests;
            }
        }
        (flows, flow_of)
    }

    fn units(&mut self, result: &CommunicationResult) -> Vec<SharedUnit> {
        let mut objects: BTreeMap<u64, BTreeMap<Option<DataObjectId>, u64>> = BTreeMap::new();
        for flow in &result.flows {
            *objects.entry(flow.key.unit).or_default().entry(flow.key.object).or_default() +=
                flow.totals.requests;
        }
        let shared = result.units.iter().filter(|unit| unit.uses.len() > 1);
        shared
            .map(|unit| {
                let most = objects.get(&unit.address).and_then(|found| {
                    found.iter().max_by_key(|&(object, requests)| (requests, std::cmp::Reverse(object)))
                });
                SharedUnit {
                    address: program_address(unit.address),
                    object: self.object(most.and_then(|(object, _)| *object)),
                    requests: unit.patterns.all().requests,
                    transfers: unit.patterns.transfers().requests,
                    false_sharing: unit.patterns.of(AccessPattern::FalseSharing).requests,
                    low: unit.range.necessary,
                    high: unit.range.possible,
                    uses: unit.uses.iter().map(shared_use).collect(),
                }
            })
            .collect()
    }
}

fn shared_use(unit_use: &longpole_coherence::UnitUse) -> SharedUnitUse {
    let ranges = |set: &longpole_coherence::ByteSet| {
        set.ranges().into_iter().map(|range| (range.start, range.end)).collect()
    };
    SharedUnitUse {
        thread: unit_use.processor.index(),
        read: ranges(&unit_use.read),
        written: ranges(&unit_use.written),
        accesses: unit_use.accesses,
    }
}
