//! The answer: requests with the names of who asked for what, and why.

use longpole_recording::RecordingFolder;

use crate::chains::RequestChains;
use crate::classes::UnitClass;
use crate::error::Result;
use crate::graphs::ObjectCausality;
use crate::log::{LargestProcess, largest_process};
use crate::run::AnswerRun;
use crate::sample::{CommunicationSample, FollowedRequests};
use crate::settings::{CommunicationDemand, CommunicationOptions};

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
    /// What is counted of followed units, where not all are; the counts above are of all.
    pub followed: FollowedRequests,
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
    /// What is followed, where not all units are: counts are estimates for all of them then, but those of single units.
    pub sample: Option<CommunicationSample>,
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
        let sample = manifest.machines.first().and_then(|machine| machine.access_sample);
        let run = AnswerRun { folder, process: &process, options, sample };
        let mut answer = run.answer(reader, demand)?;
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
