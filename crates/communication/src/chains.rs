//! Requests with their call paths, and the ways back from them to the same thread's previous copy (C §2.2).
//!
//! The run is simulated twice: the first time says which units have the requests of each flow, the second time requests of
//! some of these units are recorded, each with the writes behind it and the request that had brought the writer its copy. A
//! unit is recorded whole, from the begin of the run on, as chains stay in their unit.

use std::collections::{BTreeMap, BTreeSet};

use longpole_coherence::{
    CommunicationResult, DataRequest, FlowOrigin, PatternTallies, ProcessorId, RequestCause, SiteId,
    SyncOrigin,
};
use rustc_hash::FxHashMap;

use crate::numbered::AnswerNames;

/// Requests that are recorded, at most.
pub(crate) const RECORDS: usize = 1 << 17;
/// Requests of a question that are followed back, at most; they are spread evenly over those that are recorded.
const FOLLOWED: usize = 1000;
/// Ways of a request that are followed.
const WAYS: usize = 64;

/// Requests of a flow that agree in all call paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallPathFlow {
    /// Index of the flow of the answer.
    pub flow: usize,
    /// *R*: index of the call path.
    pub read_path: usize,
    /// *I* and *W*: indexes of the synchronisation with its call path (`None`: unordered), and of the write's call path;
    /// `None`: first references.
    pub written: Option<(Option<(usize, usize)>, usize)>,
    /// Requests; each is counted at the first write behind it.
    pub requests: u64,
    /// Requests behind which these writes are.
    pub contributions: u64,
    /// Cost, nanoseconds of virtual time.
    pub cost: u64,
    /// Patterns of `requests`.
    pub patterns: PatternTallies,
}

/// A step back: a request, and the write for which it was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct WayStep {
    /// Index of the place of the request.
    pub read_place: usize,
    /// Index of the synchronisation; `None`: unordered.
    pub through: Option<usize>,
    /// Index of the place of the write.
    pub write_place: usize,
}

/// Where a way ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WayEnd {
    /// At the same thread's previous request of the unit.
    OwnCopy,
    /// At another thread's request that is older than that: it had kept its copy.
    OlderCopy,
    /// At another thread's first reference.
    FirstReference,
}

/// Ways back that have the same steps, each step as often as there were requests of that kind one after the other.
#[derive(Clone, Debug, PartialEq)]
pub struct WayBack {
    /// Steps, from the explained request on, with the fewest and the most repetitions.
    pub steps: Vec<(WayStep, u64, u64)>,
    /// How it ends, and the index of the place of the request where it does.
    pub end: (WayEnd, usize),
    /// Requests that have such a way, a request with several ways in equal parts.
    pub requests: f64,
}

/// Ways back from some requests.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WaysBack {
    /// Those of most requests first.
    pub ways: Vec<WayBack>,
    /// Requests that were followed.
    pub followed: u64,
    /// Of them, those that have more ways than were followed, or whose chains begin before what was recorded.
    pub cut: u64,
}

/// Requests with call paths and chains.
#[derive(Clone, Debug, PartialEq)]
pub struct RequestChains {
    /// Call paths as indexes of places, the innermost first.
    pub paths: Vec<Vec<usize>>,
    /// The flows by call path.
    pub flows: Vec<CallPathFlow>,
    /// The run in which requests were recorded; `None` where there is nothing to follow.
    recorded: Option<CommunicationResult>,
    /// Index of the flow of the answer of each recorded request.
    flow_of: Vec<usize>,
    places: FxHashMap<SiteId, usize>,
    synchronisations: FxHashMap<SyncOrigin, usize>,
}

impl RequestChains {
    /// The units whose requests are to be recorded: of each flow the one with most of its requests, flows of the highest cost
    /// first, as many as there is room for. `flow_of` is the index of the answer's flow for each of the result's.
    pub(crate) fn units(result: &CommunicationResult, flow_of: &[usize]) -> Vec<u64> {
        let mut requests: FxHashMap<u64, u64> = FxHashMap::default();
        let mut by_flow: BTreeMap<usize, (u64, BTreeMap<u64, u64>)> = BTreeMap::new();
        for (flow, &of) in result.flows.iter().zip(flow_of) {
            *requests.entry(flow.key.unit).or_default() += flow.totals.requests;
            if flow.key.origin != FlowOrigin::Cold {
                let (cost, units) = by_flow.entry(of).or_default();
                *cost += flow.totals.cost;
                *units.entry(flow.key.unit).or_default() += flow.totals.requests;
            }
        }
        let mut flows: Vec<_> = by_flow.into_iter().collect();
        flows.sort_by_key(|(flow, (cost, _))| (std::cmp::Reverse(*cost), *flow));
        let mut units = BTreeSet::new();
        let mut room = RECORDS as u64;
        for (_, (_, of_flow)) in &flows {
            let most = of_flow.iter().max_by_key(|&(unit, count)| (count, std::cmp::Reverse(unit)));
            let Some((&unit, _)) = most.filter(|(unit, _)| !units.contains(*unit)) else { continue };
            let needed = requests[&unit];
            // A unit with more requests than there is room for is recorded from the begin on, if nothing else is.
            if needed <= room || units.is_empty() {
                room = room.saturating_sub(needed);
                units.insert(unit);
            }
        }
        units.into_iter().collect()
    }

    /// The chains of a run of which `recorded` has the requests of some units.
    pub(crate) fn of(
        result: &CommunicationResult,
        recorded: Option<CommunicationResult>,
        (flow_of, namer): (&[usize], &mut AnswerNames<'_>),
    ) -> RequestChains {
        let mut paths = CallPaths::default();
        let mut merged: BTreeMap<_, CallPathFlow> = BTreeMap::new();
        let mut key_flows = FxHashMap::default();
        for (index, flow) in result.flows.iter().enumerate() {
            let key = &flow.key;
            key_flows.insert(*key, flow_of[index]);
            let read_path = paths.number(key.reader_site, namer);
            let written = match key.origin {
                FlowOrigin::Cold => None,
                FlowOrigin::Written { ordered_by, writer_site, .. } => {
                    let through = ordered_by.map(|origin| {
                        (namer.synchronisation(result, origin), paths.number(origin.site, namer))
                    });
                    Some((through, paths.number(writer_site, namer)))
                }
            };
            let row = merged.entry((flow_of[index], read_path, written)).or_insert_with(|| CallPathFlow {
                flow: flow_of[index],
                read_path,
                written,
                requests: 0,
                contributions: 0,
                cost: 0,
                patterns: PatternTallies::default(),
            });
            row.requests += flow.totals.requests;
            row.contributions += flow.totals.contributions;
            row.cost += flow.totals.cost;
            row.patterns.merge(&result.patterns_of(index));
        }
        let requests = || recorded.iter().flat_map(|recorded| &recorded.requests);
        let flow_of = requests()
            .map(|request| key_flows.get(&request.first_flow()).copied().unwrap_or(usize::MAX))
            .collect();
        let (mut places, mut synchronisations) = (FxHashMap::default(), FxHashMap::default());
        for request in requests() {
            places.entry(request.site).or_insert_with(|| namer.place(request.site));
            let RequestCause::Invalidated { writes, .. } = &request.cause else { continue };
            for write in writes {
                places.entry(write.site).or_insert_with(|| namer.place(write.site));
                if let Some(origin) = write.ordered_by {
                    let number = || namer.synchronisation_of_any_thread(result, origin);
                    synchronisations.entry(origin).or_insert_with(number);
                }
            }
        }
        let flows = merged.into_values().collect();
        RequestChains { paths: paths.paths, flows, recorded, flow_of, places, synchronisations }
    }

    /// The ways back from requests of these flows of the answer.
    #[must_use]
    pub fn ways(&self, flows: &BTreeSet<usize>) -> WaysBack {
        let is_wanted = |request: &&DataRequest| {
            request.cause != RequestCause::Cold && flows.contains(&self.flow_of[request.id as usize])
        };
        let mut answer = WaysBack::default();
        let Some(recorded) = &self.recorded else { return answer };
        let wanted: Vec<&DataRequest> = recorded.requests.iter().filter(is_wanted).collect();
        let mut ways: BTreeMap<_, WayBack> = BTreeMap::new();
        let followed = wanted.len().min(FOLLOWED);
        for request in (0..followed).map(|at| wanted[at * wanted.len() / followed]) {
            let Some(explanation) = recorded.explain(request.id, WAYS) else { continue };
            answer.followed += 1;
            answer.cut += u64::from(explanation.is_cut);
            for way in &explanation.ways {
                let Some((steps, end)) = self.named(recorded, way, request.processor) else { continue };
                let kinds: Vec<WayStep> = steps.iter().map(|(step, _)| *step).collect();
                let known = ways.entry((kinds, end)).or_insert_with(|| WayBack {
                    steps: steps.iter().map(|&(step, count)| (step, count, count)).collect(),
                    end,
                    requests: 0.0,
                });
                known.requests += 1.0 / explanation.ways.len() as f64;
                for ((_, least, most), (_, count)) in known.steps.iter_mut().zip(steps) {
                    (*least, *most) = ((*least).min(count), (*most).max(count));
                }
            }
        }
        answer.ways = ways.into_values().collect();
        answer.ways.sort_by(|one, other| other.requests.total_cmp(&one.requests));
        answer
    }

    /// The steps of a way with their repetitions, and its end.
    fn named(
        &self,
        recorded: &CommunicationResult,
        way: &[u64],
        processor: ProcessorId,
    ) -> Option<(RepeatedSteps, (WayEnd, usize))> {
        let mut steps = RepeatedSteps::new();
        for pair in way.windows(2) {
            let request = recorded.requests.get(pair[0] as usize)?;
            let RequestCause::Invalidated { writes, .. } = &request.cause else { return None };
            let write = writes.iter().find(|write| write.request == Some(pair[1]))?;
            let step = WayStep {
                read_place: self.places[&request.site],
                through: write.ordered_by.map(|origin| self.synchronisations[&origin]),
                write_place: self.places[&write.site],
            };
            match steps.last_mut() {
                Some((last, count)) if *last == step => *count += 1,
                _ => steps.push((step, 1)),
            }
        }
        let last = recorded.requests.get(*way.last()? as usize)?;
        let end = match last.processor == processor {
            true => WayEnd::OwnCopy,
            false if last.cause == RequestCause::Cold => WayEnd::FirstReference,
            false => WayEnd::OlderCopy,
        };
        Some((steps, (end, self.places[&last.site])))
    }
}

/// Steps with how often each comes one after the other.
type RepeatedSteps = Vec<(WayStep, u64)>;

/// Call paths, each once.
#[derive(Default)]
struct CallPaths {
    paths: Vec<Vec<usize>>,
    numbers: BTreeMap<Vec<usize>, usize>,
    known: FxHashMap<SiteId, usize>,
}

impl CallPaths {
    fn number(&mut self, site: SiteId, namer: &mut AnswerNames<'_>) -> usize {
        if let Some(&number) = self.known.get(&site) {
            return number;
        }
        let names = namer.names;
        let path: Vec<usize> = names.path(site).into_iter().map(|place| namer.places.number(place)).collect();
        let next = self.paths.len();
        let number = *self.numbers.entry(path.clone()).or_insert(next);
        if number == next {
            self.paths.push(path);
        }
        self.known.insert(site, number);
        number
    }
}
