//! Causality graphs with names (C §2.2, §3.3): for each object the sets of units that behave alike.
//!
//! The simulation's places are call paths, and its locks have addresses. Units are alike by lines of code, names of locks, and
//! whatever thread it was: the flows are given those names' numbers before graphs are made of them.

use std::collections::BTreeMap;

use longpole_coherence::{
    CausalityGraph, CauseMatrix, CommunicationResult, DataObjectId, FlowKey, FlowOrigin, PatternTallies,
    RequestFlow, SiteId, SyncObject, SyncOrigin, SyncToken,
};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::memory::program_address;
use crate::numbered::AnswerNames;
use crate::sample::FollowedRequests;

/// A place of a graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CausalityPlace {
    /// Index of the place.
    pub place: usize,
    /// Indexes of threads whose requests are from there.
    pub readers: Vec<usize>,
    /// Indexes of threads whose writes there are behind requests.
    pub writers: Vec<usize>,
}

/// A cause of requests: R ← I ← W, an edge from the place of the writes to that of the requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CausalityCause {
    /// *R*: index of the place.
    pub read_place: usize,
    /// *I* and *W*: index of the synchronisation (`None`: unordered) and of the place; `None`: first references.
    pub written: Option<(Option<usize>, usize)>,
    /// Requests; each is counted at the first write behind it.
    pub requests: u64,
    /// Requests behind which these writes are.
    pub contributions: u64,
    /// Their cost, nanoseconds of virtual time, divided equally among the writes behind a request.
    pub cost: u64,
    /// Patterns of `requests`.
    pub patterns: PatternTallies,
    /// The call paths of the highest cost.
    pub paths: CausePaths,
}

/// Call paths of a cause as indexes of places, the innermost first: of those of one request and its write the ones of the highest
/// cost.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CausePaths {
    /// *R*.
    pub read: Vec<usize>,
    /// *I*, where the reader came to the synchronisation; empty where nothing orders.
    pub through: Vec<usize>,
    /// *W*; empty of first references.
    pub write: Vec<usize>,
    /// How many different ones the cause has, these among them.
    pub count: usize,
}

/// How often the copy that a request of one cause had got was written, and so led to a request of another cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CausalityTransition {
    /// Index of a cause; `None`: a request for other data of the unit.
    pub from: Option<usize>,
    /// Index of a cause.
    pub to: usize,
    /// How often.
    pub count: u64,
}

/// The causality graph of units of one object that behave alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectCausality {
    /// Index of the object.
    pub object: usize,
    /// First addresses of the units, ascending: of those that are followed.
    pub units: Vec<u64>,
    /// Of all units so many are like these.
    pub all_units: u64,
    /// What is counted of followed units, where not all are; the other counts are of all.
    pub followed: FollowedRequests,
    /// Places, in the order of their numbers.
    pub places: Vec<CausalityPlace>,
    /// Causes, that of the highest cost first.
    pub causes: Vec<CausalityCause>,
    /// Transitions between causes, by `from` and `to`.
    pub transitions: Vec<CausalityTransition>,
}

impl ObjectCausality {
    /// Cost of the transfers.
    #[must_use]
    pub fn cost(&self) -> u64 {
        self.causes.iter().filter(|cause| cause.written.is_some()).map(|cause| cause.cost).sum()
    }

    /// Transfers.
    #[must_use]
    pub fn transfers(&self) -> u64 {
        self.causes.iter().filter(|cause| cause.written.is_some()).map(|cause| cause.requests).sum()
    }

    /// The graphs of all units with transfers, those of the highest cost first. Gives the flows' keys the names' numbers.
    pub(crate) fn all(result: &mut CommunicationResult, namer: &mut AnswerNames<'_>) -> Vec<ObjectCausality> {
        let sites: Vec<CauseSites> = result.flows.iter().map(|flow| CauseSites::of(&flow.key)).collect();
        rename(result, namer);
        let is_moved = |flow: &&RequestFlow| flow.key.origin != FlowOrigin::Cold;
        let moved: FxHashSet<_> =
            result.flows.iter().filter(is_moved).map(|flow| (flow.key.object, flow.key.unit)).collect();
        let mut by_object: BTreeMap<Option<DataObjectId>, Vec<RequestFlow>> = BTreeMap::new();
        for flow in result.flows.iter().filter(|flow| moved.contains(&(flow.key.object, flow.key.unit))) {
            by_object.entry(flow.key.object).or_default().push(*flow);
        }
        let mut graphs: Vec<(Option<DataObjectId>, CausalityGraph)> = Vec::new();
        for (object, flows) in by_object {
            let merged = CausalityGraph::merge_alike(CausalityGraph::by_unit(&flows, None));
            graphs.extend(merged.into_iter().map(|graph| (object, graph)));
        }
        let mut groups: FxHashMap<(Option<DataObjectId>, u64), usize> = FxHashMap::default();
        for (group, (object, graph)) in graphs.iter().enumerate() {
            groups.extend(graph.units.iter().map(|&unit| ((*object, unit), group)));
        }
        let group = |key: &FlowKey| groups.get(&(key.object, key.unit)).copied();
        let matrices = CauseMatrix::of_groups(result, graphs.len(), group);
        let mut paths = paths_of_causes(result, &sites, group, namer);
        let mut followed = vec![FollowedRequests::default(); graphs.len()];
        for (index, flow) in result.flows.iter().enumerate() {
            if let Some(group) = group(&flow.key) {
                namer.add_followed(&mut followed[group], index);
            }
        }
        let units_of = |graph: &CausalityGraph| -> u64 {
            graph.units.iter().map(|&unit| namer.weight_of_unit(unit, true)).sum::<f64>().round() as u64
        };
        let all_units: Vec<u64> = graphs.iter().map(|(_, graph)| units_of(graph)).collect();
        let mut named: Vec<ObjectCausality> = (0..)
            .zip(graphs.into_iter().zip(matrices))
            .map(|(at, ((object, graph), matrix))| ObjectCausality {
                all_units: all_units[at],
                followed: std::mem::take(&mut followed[at]),
                ..named(object, graph, matrix, |cause| paths.remove(&(at, cause)).unwrap_or_default())
            })
            .collect();
        named.sort_by_key(|one| (std::cmp::Reverse(one.cost()), one.object, one.units.first().copied()));
        named
    }
}

/// Places of a cause as the simulation knows them, each with its call path: R, and I and W where there is a write.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct CauseSites {
    read: SiteId,
    written: Option<(Option<SiteId>, SiteId)>,
}

impl CauseSites {
    fn of(key: &FlowKey) -> Self {
        let written = match key.origin {
            FlowOrigin::Cold => None,
            FlowOrigin::Written { ordered_by, writer_site, .. } => {
                Some((ordered_by.map(|origin| origin.site), writer_site))
            }
        };
        CauseSites { read: key.reader_site, written }
    }
}

/// A column of a matrix: the numbers of the names of R, and of I and W.
type CauseNumbers = (usize, Option<(Option<usize>, usize)>);

/// The call paths of each cause of each group. `sites` are those that the flows had before `rename`.
fn paths_of_causes(
    result: &CommunicationResult,
    sites: &[CauseSites],
    group: impl Fn(&FlowKey) -> Option<usize>,
    namer: &mut AnswerNames<'_>,
) -> FxHashMap<(usize, CauseNumbers), CausePaths> {
    let mut costs: FxHashMap<(usize, CauseNumbers), BTreeMap<CauseSites, u64>> = FxHashMap::default();
    for (flow, &sites) in result.flows.iter().zip(sites) {
        let Some(group) = group(&flow.key) else { continue };
        let written = match flow.key.origin {
            FlowOrigin::Cold => None,
            FlowOrigin::Written { ordered_by, writer_site, .. } => {
                Some((ordered_by.and_then(number), writer_site.0 as usize))
            }
        };
        let cause = (group, (flow.key.reader_site.0 as usize, written));
        *costs.entry(cause).or_default().entry(sites).or_default() += flow.totals.cost;
    }
    let mut path = |site: SiteId| -> Vec<usize> {
        namer.names.path(site).into_iter().map(|place| namer.places.number(place)).collect()
    };
    let mut paths = |costs: BTreeMap<CauseSites, u64>| {
        // Of equal costs the first.
        let most = costs.iter().rev().max_by_key(|(_, cost)| **cost).map(|(sites, _)| *sites)?;
        Some(CausePaths {
            read: path(most.read),
            through: most.written.and_then(|(through, _)| through).map(&mut path).unwrap_or_default(),
            write: most.written.map(|(_, write)| path(write)).unwrap_or_default(),
            count: costs.len(),
        })
    };
    let mut ordered: Vec<_> = costs.into_iter().collect();
    ordered.sort_unstable_by_key(|(cause, _)| *cause);
    ordered.into_iter().filter_map(|(cause, costs)| Some((cause, paths(costs)?))).collect()
}

/// Gives places, objects and synchronisations of the flows' keys the numbers of their names.
fn rename(result: &mut CommunicationResult, namer: &mut AnswerNames<'_>) {
    let mut keys: Vec<FlowKey> = result.flows.iter().map(|flow| flow.key).collect();
    for key in &mut keys {
        key.object = Some(DataObjectId(namer.object(key.object) as u32));
        key.reader_site = SiteId(namer.place(key.reader_site) as u32);
        if let FlowOrigin::Written { ordered_by, writer_site, .. } = &mut key.origin {
            *writer_site = SiteId(namer.place(*writer_site) as u32);
            if let Some(origin) = ordered_by {
                let number = namer.synchronisation_of_any_thread(result, *origin);
                *origin = SyncOrigin { object: SyncObject::Token(SyncToken(number as u64)), site: SiteId(0) };
            }
        }
    }
    for (flow, key) in result.flows.iter_mut().zip(keys) {
        flow.key = key;
    }
}

/// The number that `rename` gave a synchronisation.
fn number(origin: SyncOrigin) -> Option<usize> {
    match origin.object {
        SyncObject::Token(token) => Some(token.0 as usize),
        SyncObject::Barrier(_) | SyncObject::Fork(_) | SyncObject::Join(_) => None,
    }
}

fn named(
    object: Option<DataObjectId>,
    graph: CausalityGraph,
    matrix: CauseMatrix,
    mut paths: impl FnMut(CauseNumbers) -> CausePaths,
) -> ObjectCausality {
    let indexes = |processors: std::collections::BTreeSet<longpole_coherence::ProcessorId>| {
        processors.into_iter().map(longpole_coherence::ProcessorId::index).collect()
    };
    let places = graph.nodes.into_iter().map(|(site, node)| CausalityPlace {
        place: site.0 as usize,
        readers: indexes(node.readers),
        writers: indexes(node.writers),
    });
    let causes = matrix.columns.iter().zip(&matrix.patterns).map(|((column, totals), patterns)| {
        let written = column.written.map(|(through, site)| (through.and_then(number), site.0 as usize));
        let read_place = column.read_site.0 as usize;
        CausalityCause {
            paths: paths((read_place, written)),
            read_place,
            written,
            requests: totals.requests,
            contributions: totals.contributions,
            cost: totals.cost,
            patterns: *patterns,
        }
    });
    let elsewhere =
        matrix.elsewhere.iter().map(|(&to, &count)| CausalityTransition { from: None, to, count });
    let inside = matrix.transitions.iter().map(|(&(from, to), &count)| CausalityTransition {
        from: Some(from),
        to,
        count,
    });
    ObjectCausality {
        object: object.map_or(0, |object| object.0 as usize),
        units: graph.units.into_iter().map(program_address).collect(),
        all_units: 0,
        followed: FollowedRequests::default(),
        places: places.collect(),
        causes: causes.collect(),
        transitions: elsewhere.chain(inside).collect(),
    }
}
