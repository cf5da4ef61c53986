//! The longest path of one lane, by the hops that it took.

use longpole_event::{ThreadId, Time};
use longpole_graph::Dependence;

use crate::analysis::PathSegment;
use crate::hops::{Hop, HopId, Hops};

/// Follows one lane.
#[derive(Debug)]
pub(crate) struct Trail {
    /// The lane.
    pub lane: usize,
    hops: Hops,
    end: Option<End>,
}

#[derive(Clone, Copy, Debug)]
struct End {
    length: f64,
    thread: ThreadId,
    time: Time,
    hop: HopId,
}

impl Trail {
    pub fn new(lane: usize) -> Self {
        Trail { lane, hops: Hops::default(), end: None }
    }

    /// The lane's path came along this dependence, and to its source by `parent`.
    pub fn hop(&mut self, dependence: &Dependence, parent: HopId) -> HopId {
        let Dependence { source, source_time, time, .. } = *dependence;
        self.hops.push(Hop { parent, source, left: source_time, arrived: time })
    }

    /// A path of this length ends here; of equal ones the last is kept.
    pub fn offer(&mut self, thread: ThreadId, time: Time, length: f64, hop: HopId) {
        if self.end.is_none_or(|end| length >= end.length) {
            self.end = Some(End { length, thread, time, hop });
        }
    }

    pub fn is_full(&self) -> bool {
        self.hops.is_full()
    }

    /// Keeps the hops that can be reached from `roots`, as [`Hops::collect`], and from the end.
    pub fn collect(&mut self, mut roots: impl FnMut(&mut dyn FnMut(&mut HopId))) {
        let Trail { hops, end, .. } = self;
        hops.collect(|each| {
            roots(each);
            if let Some(end) = end {
                each(&mut end.hop);
            }
        });
    }

    /// The pieces of the longest path in the order of time; a path begins where its first thread does.
    pub fn segments(&self, begin: impl Fn(ThreadId) -> Time) -> Vec<PathSegment> {
        let mut segments: Vec<PathSegment> = Vec::new();
        let Some(End { mut thread, time: mut to, hop: mut at, .. }) = self.end else { return segments };
        loop {
            let hop = self.hops.get(at);
            let from = hop.map_or_else(|| begin(thread), |hop| hop.arrived);
            segments.push(PathSegment { thread, from, to });
            let Some(hop) = hop else { break };
            (thread, to, at) = (hop.source, hop.left, hop.parent);
        }
        segments.reverse();
        segments
    }
}
