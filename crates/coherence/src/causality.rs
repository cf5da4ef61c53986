//! Causality graphs: which place's writes make which place's accesses fetch (C §2.2, §3.3).
//!
//! Nodes are places with the processors that read and wrote there, an edge goes from the place of the writes (W) to the
//! place of the requests (R), with the synchronisation (I) and the cost of the requests. Units whose graphs are alike
//! are merged: the cosine of their edges' costs, each as a vector, is at least [`ALIKE`].

use std::collections::{BTreeMap, BTreeSet};

use crate::access::{DataObjectId, ProcessorId, SiteId, SyncOrigin};
use crate::requests::{FlowOrigin, FlowTotals, RequestFlow};

/// Cosine from which on graphs are alike.
pub const ALIKE: f64 = 0.95;

/// An edge: writes at one place, requests at another, through one synchronisation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct CausalityEdge {
    /// *W*.
    pub write_site: SiteId,
    /// *I*; `None`: unordered.
    pub ordered_by: Option<SyncOrigin>,
    /// *R*.
    pub read_site: SiteId,
}

/// Who requested and who wrote at a place.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct CausalityNode {
    /// Processors whose requests are from there.
    pub readers: BTreeSet<ProcessorId>,
    /// Processors whose writes there made others' requests necessary.
    pub writers: BTreeSet<ProcessorId>,
}

/// The causality graph of one unit, or of units that behave alike.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct CausalityGraph {
    /// First addresses of the units, ascending.
    pub units: Vec<u64>,
    /// Places.
    pub nodes: BTreeMap<SiteId, CausalityNode>,
    /// Edges with the sums of their flows.
    pub edges: BTreeMap<CausalityEdge, FlowTotals>,
    /// First references by place.
    pub cold: BTreeMap<SiteId, FlowTotals>,
}

impl CausalityGraph {
    /// The graph of each unit, by address. `object` keeps to requests for one object.
    pub fn by_unit(flows: &[RequestFlow], object: Option<DataObjectId>) -> Vec<Self> {
        let mut graphs: BTreeMap<u64, Self> = BTreeMap::new();
        for flow in flows.iter().filter(|flow| object.is_none() || flow.key.object == object) {
            let unit = flow.key.unit;
            graphs.entry(unit).or_insert_with(|| Self { units: vec![unit], ..Self::default() }).add(flow);
        }
        graphs.into_values().collect()
    }

    fn add(&mut self, flow: &RequestFlow) {
        let read_site = flow.key.reader_site;
        self.nodes.entry(read_site).or_default().readers.insert(flow.key.reader);
        match flow.key.origin {
            FlowOrigin::Cold => self.cold.entry(read_site).or_default().merge(&flow.totals),
            FlowOrigin::Written { ordered_by, writer, writer_site } => {
                self.nodes.entry(writer_site).or_default().writers.insert(writer);
                let edge = CausalityEdge { write_site: writer_site, ordered_by, read_site };
                self.edges.entry(edge).or_default().merge(&flow.totals);
            }
        }
    }

    /// Merges units that behave alike. Each graph, those of the highest cost first, joins the first group that it is
    /// alike to, or begins one; units that have first references only are one group. Groups by cost, the highest first.
    pub fn merge_alike(mut graphs: Vec<Self>) -> Vec<Self> {
        graphs.sort_by_key(|graph| (std::cmp::Reverse(graph.cost()), graph.units.first().copied()));
        let mut groups: Vec<Self> = Vec::new();
        for graph in graphs {
            match groups.iter_mut().find(|group| group.cosine(&graph) >= ALIKE) {
                Some(group) => group.merge(graph),
                None => groups.push(graph),
            }
        }
        groups.sort_by_key(|group| (std::cmp::Reverse(group.cost()), group.units.first().copied()));
        groups
    }

    /// Cost of the edges in nanoseconds.
    pub fn cost(&self) -> u64 {
        self.edges.values().map(|totals| totals.cost).sum()
    }

    /// How alike two graphs are: the cosine of their edges' costs, 0 to 1; 1 if neither has an edge with a cost.
    pub fn cosine(&self, other: &Self) -> f64 {
        fn product(one: &CausalityGraph, other: &CausalityGraph) -> f64 {
            let weight = |totals: &FlowTotals| totals.cost as f64;
            let common = |(edge, totals)| Some(weight(totals) * weight(other.edges.get(edge)?));
            one.edges.iter().filter_map(common).sum()
        }
        let (own, others) = (product(self, self), product(other, other));
        if own == 0.0 || others == 0.0 {
            return if own == others { 1.0 } else { 0.0 };
        }
        product(self, other) / (own * others).sqrt()
    }

    fn merge(&mut self, other: Self) {
        self.units.extend(other.units);
        self.units.sort_unstable();
        for (site, node) in other.nodes {
            let own = self.nodes.entry(site).or_default();
            own.readers.extend(node.readers);
            own.writers.extend(node.writers);
        }
        for (edge, totals) in other.edges {
            self.edges.entry(edge).or_default().merge(&totals);
        }
        for (site, totals) in other.cold {
            self.cold.entry(site).or_default().merge(&totals);
        }
    }
}
