//! The flows and units of an answer, with names.

use std::collections::BTreeMap;

use longpole_coherence::{AccessKind, AccessPattern, CommunicationResult, DataObjectId, FlowOrigin};

use crate::answer::{CommunicationFlow, FlowWriter, SharedUnit, SharedUnitUse};
use crate::memory::program_address;
use crate::numbered::AnswerNames;
use crate::sample::FollowedRequests;

impl AnswerNames<'_> {
    /// The flows, and for each of the result's the index of the one that it is in.
    pub(crate) fn flows(
        &mut self,
        result: &CommunicationResult,
        unit: u64,
    ) -> (Vec<CommunicationFlow>, Vec<usize>) {
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
                    followed: FollowedRequests::default(),
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
            self.add_followed(&mut row.followed, index);
            let patterns = result.patterns_of(index);
            for (sum, pattern) in row.patterns.iter_mut().zip(AccessPattern::ALL) {
                *sum += patterns.of(pattern).requests;
            }
        }
        (flows, flow_of)
    }

    pub(crate) fn units(&mut self, result: &CommunicationResult) -> Vec<SharedUnit> {
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
