//! The longest path of one lane, by the hops that it took.

use longpole_event::{ThreadId, Time};

use crate::analysis::PathSegment;
use crate::path_hand_offs::{PathHandOff, PathHandOffId, PathHandOffs};

/// Follows one lane.
#[derive(Debug)]
pub(crate) struct LanePath {
    /// The lane.
    pub lane: usize,
    path_hand_offs: PathHandOffs,
    end: Option<TrailEnd>,
}

#[derive(Clone, Copy, Debug)]
struct TrailEnd {
    length: f64,
    thread: ThreadId,
    time: Time,
    hand_off: PathHandOffId,
}

impl LanePath {
    pub fn new(lane: usize) -> Self {
        LanePath { lane, path_hand_offs: PathHandOffs::default(), end: None }
    }

    /// The lane's path came by this hop.
    pub fn hand_off(&mut self, hand_off: PathHandOff) -> PathHandOffId {
        self.path_hand_offs.push(hand_off)
    }

    /// A path of this length ends here; of equal ones the last is kept.
    pub fn offer(&mut self, thread: ThreadId, time: Time, length: f64, hand_off: PathHandOffId) {
        if self.end.is_none_or(|end| length >= end.length) {
            self.end = Some(TrailEnd { length, thread, time, hand_off });
        }
    }

    pub fn is_full(&self) -> bool {
        self.path_hand_offs.is_full()
    }

    /// Keeps the hops that can be reached from `roots`, as [`PathHandOffs::collect`], and from the end.
    pub fn collect(&mut self, mut roots: impl FnMut(&mut dyn FnMut(&mut PathHandOffId))) {
        let LanePath { path_hand_offs, end, .. } = self;
        path_hand_offs.collect(|each| {
            roots(each);
            if let Some(end) = end {
                each(&mut end.hand_off);
            }
        });
    }

    /// The pieces of the longest path in the order of time; a path begins where its first thread does.
    pub fn segments(&self, begin: impl Fn(ThreadId) -> Time) -> Vec<PathSegment> {
        let mut segments: Vec<PathSegment> = Vec::new();
        let Some(TrailEnd { mut thread, time: mut to, hand_off: mut at, .. }) = self.end else {
            return segments;
        };
        loop {
            let hand_off = self.path_hand_offs.get(at);
            let from = hand_off.map_or_else(|| begin(thread), |hand_off| hand_off.arrived);
            segments.push(PathSegment { thread, from, to });
            let Some(hand_off) = hand_off else { break };
            (thread, to, at) = (hand_off.source, hand_off.left, hand_off.parent);
        }
        segments.reverse();
        segments
    }
}
