//! Communicators of a trace: who their members are, by their ranks in the job.

use longpole_event::{CollectiveOrder, MessageEnvelope};
use longpole_otf2::{CollectiveEnd, GroupKind, TraceDefinitions, TraceMessage};
use rustc_hash::FxHashMap;

/// Numbers of collective operations, as the format has them.
const BROADCAST: u8 = 1;
const GATHER: [u8; 2] = [2, 3];
const SCATTER: [u8; 2] = [4, 5];
const REDUCE: u8 = 12;
const SCAN: [u8; 2] = [14, 15];
/// Roots from here on are no ranks, but say where in a communicator between two groups the root is.
const NO_RANK: u32 = u32::MAX - 8;
/// The communicator of an operation that all ranks of the job come to, and that names none.
pub(super) const WHOLE_JOB: u64 = 1 << 40;

/// The ranks of a communicator.
#[derive(Clone, Debug, Default)]
struct TracedCommunicator {
    members: Vec<u32>,
    /// The place of each rank among the members.
    places: FxHashMap<u32, u32>,
    /// The members of the other group, of a communicator between two.
    remote: Option<Vec<u32>>,
    /// Each process that names it means itself.
    is_own: bool,
}

/// A collective operation, as a member sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TracedCollective {
    pub(super) communicator: u64,
    pub(super) order: CollectiveOrder,
    pub(super) root: u32,
    pub(super) place: u32,
    pub(super) size: u32,
}

/// All communicators.
#[derive(Clone, Debug, Default)]
pub(super) struct TracedCommunicators {
    by_number: FxHashMap<u32, TracedCommunicator>,
}

impl TracedCommunicators {
    pub(super) fn of(definitions: &TraceDefinitions) -> TracedCommunicators {
        let by_number = definitions
            .communicators
            .iter()
            .map(|(&number, defined)| {
                let group = definitions.groups.get(&defined.group);
                let remote = defined.remote.map(|remote| members(definitions, remote));
                let is_own = group.is_some_and(|group| group.kind == GroupKind::Own);
                let members = members(definitions, defined.group);
                let places = members.iter().zip(0..).map(|(&rank, place)| (rank, place)).collect();
                (number, TracedCommunicator { members, places, remote, is_own })
            })
            .collect();
        TracedCommunicators { by_number }
    }

    /// How many locations a communicator has, which may be a team of threads.
    pub(super) fn size(&self, number: u32) -> Option<usize> {
        Some(self.by_number.get(&number)?.members.len())
    }

    /// The rank in the job of the other end of a message.
    fn peer(&self, rank: u32, message: TraceMessage) -> Option<u32> {
        let communicator = self.by_number.get(&message.communicator)?;
        if communicator.is_own {
            return (message.peer == 0).then_some(rank);
        }
        let group = match &communicator.remote {
            Some(remote) if communicator.places.contains_key(&rank) => remote,
            _ => &communicator.members,
        };
        group.get(message.peer as usize).copied()
    }

    /// The message that this rank sends, or has received; `None` where the other end is not known.
    pub(super) fn envelope(
        &self,
        rank: u32,
        message: TraceMessage,
        is_sent: bool,
    ) -> Option<MessageEnvelope> {
        let peer = self.peer(rank, message)?;
        let communicator = id(message.communicator);
        let (from, to) = if is_sent { (rank, peer) } else { (peer, rank) };
        // Below 0 are what is no message of the program.
        let tag = (message.tag & i32::MAX.cast_unsigned()).cast_signed();
        let words = [communicator, u64::from(from) << 32 | u64::from(to), u64::from(message.tag)];
        Some(MessageEnvelope { channel: hash(words), communicator, peer, tag, bytes: message.bytes })
    }

    /// The operation, where this rank takes part in it with others; `None` where who these are is not known.
    pub(super) fn collective(&self, rank: u32, end: CollectiveEnd) -> Option<TracedCollective> {
        let communicator = self.by_number.get(&end.communicator)?;
        if communicator.is_own || communicator.remote.is_some() {
            return None;
        }
        let order = match end.operation {
            BROADCAST => CollectiveOrder::FromRoot,
            operation if SCATTER.contains(&operation) => CollectiveOrder::FromRoot,
            operation if operation == REDUCE || GATHER.contains(&operation) => CollectiveOrder::ToRoot,
            operation if SCAN.contains(&operation) => CollectiveOrder::Prefix,
            _ => CollectiveOrder::AllToAll,
        };
        let needs_root = matches!(order, CollectiveOrder::FromRoot | CollectiveOrder::ToRoot);
        if needs_root && end.root >= NO_RANK {
            return None;
        }
        let root = if needs_root { end.root } else { 0 };
        let (place, size) = (*communicator.places.get(&rank)?, communicator.members.len() as u32);
        Some(TracedCollective { communicator: id(end.communicator), order, root, place, size })
    }

    /// Whether such an operation is one of the process alone.
    pub(super) fn is_own(&self, number: u32) -> bool {
        self.by_number.get(&number).is_some_and(|found| found.is_own || found.members.len() == 1)
    }
}

/// Identifies a communicator in the recording; 0 is none.
pub(super) fn id(number: u32) -> u64 {
    u64::from(number) + 1
}

/// The members of a group, by their ranks in the job.
fn members(definitions: &TraceDefinitions, number: u32) -> Vec<u32> {
    let Some(group) = definitions.groups.get(&number) else { return Vec::new() };
    let all = || {
        let all = |&(_, other): &(&u32, &longpole_otf2::GroupDefinition)| {
            other.kind == GroupKind::Ranks && other.paradigm == group.paradigm
        };
        definitions
            .groups
            .iter()
            .filter(all)
            .min_by_key(|&(&number, _)| number)
            .map(|(_, group)| &group.members)
    };
    match group.kind {
        GroupKind::Ranks => (0..group.members.len() as u32).collect(),
        GroupKind::Communicator if group.has_locations => {
            let places: FxHashMap<u64, u32> =
                all().into_iter().flatten().zip(0..).map(|(&location, rank)| (location, rank)).collect();
            group.members.iter().map(|member| places.get(member).copied().unwrap_or(u32::MAX)).collect()
        }
        _ => group.members.iter().map(|&member| u32::try_from(member).unwrap_or(u32::MAX)).collect(),
    }
}

fn hash(words: [u64; 3]) -> u64 {
    words.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &word| {
        let mixed = (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed ^ mixed >> 29
    })
}
