//! The answers of a simulation: requests, flows, and a summary of each unit.

use std::collections::BTreeMap;

use crate::access::{DataObjectId, ProcessorId};
use crate::bytes::ByteSet;
use crate::objects::DataObjects;
use crate::patterns::{AccessPattern, PatternTallies, PatternTally};
use crate::ranges::{TransferRange, unit_range};
use crate::requests::{DataRequest, FlowOrigin, FlowTotals, RequestCause, RequestFlow};
use crate::simulation::CoherenceSimulation;
use crate::store::{Mask, UnitIndex};

/// What one processor did to a unit in the whole run: its row of the byte map.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnitUse {
    /// Who.
    pub processor: ProcessorId,
    /// Bytes read.
    pub read: ByteSet,
    /// Bytes written.
    pub written: ByteSet,
    /// Accesses.
    pub accesses: u64,
    /// Of them, those that write.
    pub writes: u64,
}

/// A unit that was touched.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnitSummary {
    /// First address.
    pub address: u64,
    /// By processor, in the order of their first references: the unit's byte map.
    pub uses: Vec<UnitUse>,
    /// Its requests by pattern.
    pub patterns: PatternTallies,
    /// Upgrades.
    pub upgrades: u64,
    /// Words of 8 bytes used in the lifetimes of copies.
    pub words_used: u64,
    /// Words of 8 bytes fetched: requests × words of the unit.
    pub words_fetched: u64,
    /// Requests, without first references, that the program's order allows.
    pub range: TransferRange,
}

/// A request of flow `from` got the copy with which its processor wrote what a request of flow `to` was for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct FlowTransition {
    /// Index of a flow.
    pub from: usize,
    /// Index of a flow.
    pub to: usize,
    /// How often.
    pub count: u64,
}

/// Ways back from a request to the same processor's previous copy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RequestExplanation {
    /// Ids of requests: first the explained one, then back through the writers' own requests. The last one is the same
    /// processor's previous request of the unit, one that is older than it (a writer had kept its copy since before), or a
    /// first reference.
    pub ways: Vec<Vec<u64>>,
    /// There are more ways than were asked for, or records that were not kept.
    pub is_cut: bool,
}

/// Everything that a simulation found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CommunicationResult {
    /// Records of the first requests, by id.
    pub requests: Vec<DataRequest>,
    /// All requests, with those that have no record.
    pub total_requests: u64,
    /// Sums of the requests, in the order of their first ones.
    pub flows: Vec<RequestFlow>,
    /// How flows cause each other, by `from` and `to`.
    pub transitions: Vec<FlowTransition>,
    /// Units, by address.
    pub units: Vec<UnitSummary>,
    /// Patterns of the requests of flows that are not first references, by index of the flow.
    pub(crate) warm_patterns: BTreeMap<usize, PatternTallies>,
    /// Objects as they are at the end.
    pub(crate) objects: DataObjects,
}

impl CommunicationResult {
    /// The answers of an ended simulation.
    pub(crate) fn of(simulation: CoherenceSimulation) -> Self {
        let mut units: Vec<_> =
            (0..simulation.store.units.len()).map(|unit| summary(&simulation, unit as UnitIndex)).collect();
        units.sort_by_key(|unit| unit.address);
        let (ledger, objects) = (simulation.ledger, simulation.objects);
        let transition = |((from, to), count): ((u32, u32), u64)| FlowTransition {
            from: from as usize,
            to: to as usize,
            count,
        };
        let mut transitions: Vec<_> = ledger.transitions.into_iter().map(transition).collect();
        transitions.sort();
        Self {
            requests: ledger.records,
            total_requests: ledger.total,
            flows: ledger.flows,
            transitions,
            units,
            warm_patterns: ledger.patterns.into_iter().map(|(flow, of)| (flow as usize, of)).collect(),
            objects,
        }
    }

    /// The object that is at an address when the run ends.
    pub fn object_at(&self, address: u64) -> Option<DataObjectId> {
        self.objects.find(address)
    }

    /// The bytes of the object that is at an address when the run ends, as far as nothing else is placed there: first one, end.
    pub fn object_range(&self, address: u64) -> Option<(u64, u64)> {
        self.objects.range(address)
    }

    /// Patterns of the requests that a flow counts, with their whole cost. Over the flows of a unit they sum to the unit's.
    pub fn patterns_of(&self, flow: usize) -> PatternTallies {
        if let Some(&patterns) = self.warm_patterns.get(&flow) {
            return patterns;
        }
        let mut patterns = PatternTallies::default();
        let Some(RequestFlow { key, totals }) = self.flows.get(flow) else { return patterns };
        if key.origin == FlowOrigin::Cold {
            let unit = self.units.binary_search_by_key(&key.unit, |unit| unit.address);
            let is_read_only = unit.is_ok_and(|at| {
                let unit = &self.units[at];
                unit.patterns.of(AccessPattern::ReadOnly).requests > 0
                    && unit.uses.first().is_some_and(|first| first.processor != key.reader)
            });
            let pattern = if is_read_only { AccessPattern::ReadOnly } else { AccessPattern::Cold };
            patterns.add(pattern, PatternTally { requests: totals.requests, cost: totals.cost });
        }
        patterns
    }

    /// The sums of flows by any part of their keys: call path, object, pair of processors.
    pub fn sum_flows<K: Ord>(&self, key: impl Fn(&RequestFlow) -> K) -> BTreeMap<K, FlowTotals> {
        let mut sums = BTreeMap::new();
        for flow in &self.flows {
            let sum: &mut FlowTotals = sums.entry(key(flow)).or_default();
            sum.merge(&flow.totals);
        }
        sums
    }

    /// Requests by pattern, of all units.
    pub fn patterns(&self) -> PatternTallies {
        let mut sum = PatternTallies::default();
        self.units.iter().for_each(|unit| sum.merge(&unit.patterns));
        sum
    }

    /// Requests that are not first references.
    pub fn transfers(&self) -> u64 {
        self.patterns().transfers().requests
    }

    /// The requests, without first references, that the program's order allows.
    pub fn range(&self) -> TransferRange {
        let mut sum = TransferRange::default();
        self.units.iter().for_each(|unit| sum.merge(&unit.range));
        sum
    }

    /// Upgrades of all units.
    pub fn upgrades(&self) -> u64 {
        self.units.iter().map(|unit| unit.upgrades).sum()
    }

    /// Used ÷ fetched, 0 to 1; `None` where nothing was fetched.
    pub fn used_share(&self) -> Option<f64> {
        let sum = |words: fn(&UnitSummary) -> u64| self.units.iter().map(words).sum::<u64>();
        let fetched = sum(|unit| unit.words_fetched);
        (fetched > 0).then(|| sum(|unit| unit.words_used) as f64 / fetched as f64)
    }

    /// The explanation of a request (C §2.2), at most `limit` ways; `None` where it has no record.
    pub fn explain(&self, id: u64, limit: usize) -> Option<RequestExplanation> {
        let request = self.requests.get(id as usize)?;
        let is_previous = |one: &&DataRequest| (one.processor, one.unit) == (request.processor, request.unit);
        let previous = self.requests[..id as usize].iter().rev().find(is_previous).map(|one| one.id);
        let mut explanation = RequestExplanation { ways: Vec::new(), is_cut: false };
        let mut open = vec![vec![id]];
        while let Some(way) = open.pop() {
            if explanation.ways.len() == limit {
                explanation.is_cut = true;
                break;
            }
            let next = self.sources(&way, previous);
            explanation.is_cut |= next.is_none();
            match next.filter(|next| !next.is_empty()) {
                // The way of the oldest request is followed first.
                Some(next) => open.extend(next.iter().rev().map(|&source| [&way[..], &[source]].concat())),
                None => explanation.ways.push(way),
            }
        }
        Some(explanation)
    }

    /// The requests before the last one of a way; none where it ends; `None` where a record is missing.
    fn sources(&self, way: &[u64], previous: Option<u64>) -> Option<Vec<u64>> {
        let request = self.requests.get(*way.last()? as usize)?;
        let RequestCause::Invalidated { writes, .. } = &request.cause else { return Some(Vec::new()) };
        if previous.is_none_or(|previous| request.id <= previous) {
            return Some(Vec::new());
        }
        let mut sources: Vec<u64> = writes.iter().filter_map(|write| write.request).collect();
        sources.sort_unstable();
        sources.dedup();
        Some(sources)
    }
}

fn summary(simulation: &CoherenceSimulation, unit: UnitIndex) -> UnitSummary {
    let store = &simulation.store;
    let record = &store.units[unit as usize];
    let sum = |copy: u32, value: fn(&crate::store::EpochBlock) -> u64| {
        store.details[copy as usize].blocks.iter().map(value).sum()
    };
    let unit_use = |&copy: &u32| UnitUse {
        processor: store.hot[copy as usize].processor,
        read: ByteSet::of(store.mask(copy, Mask::EverRead)),
        written: ByteSet::of(store.mask(copy, Mask::EverWritten)),
        accesses: sum(copy, |block| block.accesses),
        writes: sum(copy, |block| block.writes),
    };
    let mut patterns = record.patterns;
    if let Some((pattern, tally)) = simulation.read_only(unit) {
        patterns.recast(AccessPattern::Cold, pattern, tally);
    }
    UnitSummary {
        address: record.number * simulation.settings.unit,
        uses: record.copies.iter().map(unit_use).collect(),
        patterns,
        upgrades: record.upgrades,
        words_used: record.words_used,
        words_fetched: record.words_fetched,
        range: unit_range(store, &simulation.clocks, unit),
    }
}
