//! Requests and their causes: records with chains, and rows in which they add up.
//!
//! A *flow* is a row of requests that agree in unit, object, requester, place (R), synchronisation (I) and writer with place
//! (W). A request with several writes behind it is counted once, in the row of the first one, and its cost is divided
//! equally among the rows of all. Sums over any grouping of flows are therefore sums of requests.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::access::{AccessKind, DataObjectId, ProcessorId, SiteId, SyncOrigin};
use crate::bytes::ByteSet;
use crate::footprint::{room, room_of_map};
use crate::patterns::{AccessPattern, PatternTallies, PatternTally, SharingKind};

/// A write behind a request: *W*, with its own synchronisation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InvalidatingWrite {
    /// Who wrote.
    pub processor: ProcessorId,
    /// Where.
    pub site: SiteId,
    /// The synchronisation that ordered the write before the request; `None`: they are unordered.
    pub ordered_by: Option<SyncOrigin>,
    /// The request by which the writer had got its copy: the next link of the chain.
    pub request: Option<u64>,
}

/// Why a processor had no valid copy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RequestCause {
    /// Its first reference.
    Cold,
    /// Its copy had become invalid: R ← I ← W.
    Invalidated {
        /// *I*: the synchronisation that ordered the first of `writes` before the request; `None`: unordered.
        synchronisation: Option<SyncOrigin>,
        /// *W*: distinct writers and places since the processor's last access, in their order
        /// (lazy release: the order in which the requester received the notices). At least one.
        writes: Vec<InvalidatingWrite>,
        /// Bytes that they wrote.
        stale: ByteSet,
    },
}

/// What became of a copy, known when it is lost or the run ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LifetimeUse {
    /// Words of 8 bytes that were read or written in the lifetime.
    pub words: u64,
    /// What the request was for.
    pub sharing: SharingKind,
    /// M meets the M of the holder before (rule 3 of the patterns), independent of `sharing`.
    pub is_migratory: bool,
}

/// One request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DataRequest {
    /// Number in the order of the simulation, from 0.
    pub id: u64,
    /// Who asked.
    pub processor: ProcessorId,
    /// *R*: where.
    pub site: SiteId,
    /// Nanoseconds, as given with the access.
    pub time: u64,
    /// First address of the unit.
    pub unit: u64,
    /// Offset of the access in the unit.
    pub offset: u32,
    /// What the access does.
    pub kind: AccessKind,
    /// Object at the accessed address.
    pub object: Option<DataObjectId>,
    /// Why.
    pub cause: RequestCause,
    /// What it was good for; `None` while the copy is valid and the run goes on.
    pub outcome: Option<LifetimeUse>,
}

impl DataRequest {
    /// The flow that counts the request: that of the first write behind it.
    pub fn first_flow(&self) -> FlowKey {
        let &Self { processor: reader, site: reader_site, unit, kind, object, .. } = self;
        let origin = match &self.cause {
            RequestCause::Invalidated { writes, .. } if !writes.is_empty() => FlowOrigin::Written {
                ordered_by: writes[0].ordered_by,
                writer: writes[0].processor,
                writer_site: writes[0].site,
            },
            _ => FlowOrigin::Cold,
        };
        FlowKey { unit, object, reader, reader_site, kind, origin }
    }
}

/// What is behind the requests of a flow.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum FlowOrigin {
    /// First references.
    Cold,
    /// Writes by another.
    Written {
        /// *I* of this write; `None`: unordered.
        ordered_by: Option<SyncOrigin>,
        /// Who wrote.
        writer: ProcessorId,
        /// *W*: where.
        writer_site: SiteId,
    },
}

/// What the requests of a flow agree in.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FlowKey {
    /// First address of the unit.
    pub unit: u64,
    /// Object at the accessed addresses.
    pub object: Option<DataObjectId>,
    /// Who asked.
    pub reader: ProcessorId,
    /// *R*: where.
    pub reader_site: SiteId,
    /// What the asking accesses do.
    pub kind: AccessKind,
    /// What is behind.
    pub origin: FlowOrigin,
}

/// The sums of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct FlowTotals {
    /// Requests whose first write is of this row.
    pub requests: u64,
    /// Requests behind which a write of this row is.
    pub contributions: u64,
    /// Nanoseconds: this row's part of its requests' cost.
    pub cost: u64,
    /// Of `requests`: false sharing.
    pub false_sharing: u64,
    /// Of `requests`: true sharing.
    pub true_sharing: u64,
    /// Of `true_sharing`: migratory.
    pub migratory: u64,
    /// Words of 8 bytes used in the lifetimes of `requests`.
    pub words_used: u64,
}

impl FlowTotals {
    /// Adds another's sums.
    pub fn merge(&mut self, other: &Self) {
        self.requests += other.requests;
        self.contributions += other.contributions;
        self.cost += other.cost;
        self.false_sharing += other.false_sharing;
        self.true_sharing += other.true_sharing;
        self.migratory += other.migratory;
        self.words_used += other.words_used;
    }
}

/// A flow with its sums.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RequestFlow {
    /// What its requests agree in.
    pub key: FlowKey,
    /// Their sums.
    pub totals: FlowTotals,
}

/// The number of requests that have no record.
const UNNUMBERED: u64 = u64::MAX;

/// Requests of one simulation, as they come.
pub(crate) struct RequestLedger {
    pub(crate) records: Vec<DataRequest>,
    pub(crate) total: u64,
    pub(crate) flows: Vec<RequestFlow>,
    /// (flow of the writer's own request, flow of the request that its write caused) → how often.
    pub(crate) transitions: FxHashMap<(u32, u32), u64>,
    /// Patterns of the requests by flow, but for flows of first references.
    pub(crate) patterns: FxHashMap<u32, PatternTallies>,
    index: FxHashMap<FlowKey, u32>,
    limit: usize,
    /// Numbers of requests that were given.
    numbered: u64,
    /// First addresses of the units whose requests are numbered and recorded; `None`: all.
    recorded_units: Option<FxHashSet<u64>>,
    /// The requests since they were last taken, with what they cost; `None` where nobody takes them.
    pub(crate) recent: Option<Vec<(DataRequest, u64)>>,
}

impl RequestLedger {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            records: Vec::new(),
            total: 0,
            flows: Vec::new(),
            transitions: FxHashMap::default(),
            patterns: FxHashMap::default(),
            index: FxHashMap::default(),
            limit,
            numbered: 0,
            recorded_units: None,
            recent: None,
        }
    }

    /// Bytes that it takes.
    pub(crate) fn footprint(&self) -> u64 {
        let maps = room_of_map(&self.transitions) + room_of_map(&self.patterns) + room_of_map(&self.index);
        room(&self.records) + room(&self.flows) + maps
    }

    /// Numbers and records requests for these units only. The writes behind a request are of its own unit, so that chains
    /// stay whole.
    pub(crate) fn record_units(&mut self, addresses: &[u64]) {
        self.recorded_units = Some(addresses.iter().copied().collect());
    }

    fn flow(&mut self, key: FlowKey) -> u32 {
        let next = self.flows.len() as u32;
        let index = *self.index.entry(key).or_insert(next);
        if index == next {
            self.flows.push(RequestFlow { key, totals: FlowTotals::default() });
        }
        index
    }

    /// Adds a request. `obtained` are the flows of the writers' own requests, one for each write. Returns the
    /// request's number and its first row.
    pub(crate) fn add(
        &mut self,
        mut request: DataRequest,
        cost: u64,
        obtained: &[Option<u32>],
    ) -> (u64, u32) {
        self.total += 1;
        let is_numbered = self.recorded_units.as_ref().is_none_or(|units| units.contains(&request.unit));
        request.id = if is_numbered { self.numbered } else { UNNUMBERED };
        self.numbered += u64::from(is_numbered);
        let DataRequest { processor, site, unit, kind, object, .. } = request;
        let key = |origin| FlowKey { unit, object, reader: processor, reader_site: site, kind, origin };
        let first = match &request.cause {
            RequestCause::Cold => {
                let row = self.flow(key(FlowOrigin::Cold));
                self.contribute(row, cost);
                row
            }
            RequestCause::Invalidated { writes, .. } => {
                let count = writes.len() as u64;
                let mut rows = Vec::with_capacity(writes.len());
                for (write, index) in writes.iter().zip(0..) {
                    let &InvalidatingWrite { ordered_by, processor: writer, site: writer_site, .. } = write;
                    let row = self.flow(key(FlowOrigin::Written { ordered_by, writer, writer_site }));
                    // The parts of the division sum to the whole.
                    self.contribute(row, cost * (index + 1) / count - cost * index / count);
                    rows.push(row);
                }
                for (row, from) in rows.iter().zip(obtained) {
                    if let Some(from) = from {
                        *self.transitions.entry((*from, *row)).or_default() += 1;
                    }
                }
                rows[0]
            }
        };
        self.flows[first as usize].totals.requests += 1;
        let id = request.id;
        if let Some(recent) = &mut self.recent {
            recent.push((request.clone(), cost));
        }
        if is_numbered && self.records.len() < self.limit {
            self.records.push(request);
        }
        (id, first)
    }

    fn contribute(&mut self, row: u32, cost: u64) {
        let totals = &mut self.flows[row as usize].totals;
        totals.contributions += 1;
        totals.cost += cost;
    }

    /// Adds the pattern of requests of a flow; that of first references is known without.
    pub(crate) fn decide(&mut self, flow: u32, pattern: AccessPattern, tally: PatternTally) {
        if pattern != AccessPattern::Cold {
            self.patterns.entry(flow).or_default().add(pattern, tally);
        }
    }

    /// Adds what a request was good for.
    pub(crate) fn close(&mut self, id: u64, flow: u32, outcome: LifetimeUse) {
        let totals = &mut self.flows[flow as usize].totals;
        totals.words_used += outcome.words;
        totals.false_sharing += u64::from(outcome.sharing == SharingKind::False);
        totals.true_sharing += u64::from(outcome.sharing == SharingKind::True);
        totals.migratory += u64::from(pattern_of(&outcome) == Some(AccessPattern::Migratory));
        // Records are kept from the first on, so a record's number is its place.
        if let Some(record) = self.records.get_mut(id as usize) {
            record.outcome = Some(outcome);
        }
    }
}

/// The pattern of a request by its bytes alone; `None`: its window decides.
pub(crate) fn pattern_of(outcome: &LifetimeUse) -> Option<AccessPattern> {
    match outcome.sharing {
        SharingKind::Cold => Some(AccessPattern::Cold),
        SharingKind::False => Some(AccessPattern::FalseSharing),
        SharingKind::True if outcome.is_migratory => Some(AccessPattern::Migratory),
        SharingKind::True => None,
    }
}
