//! The back pointers of a critical path search: a tree of hops between threads, collected when it grows.
//!
//! ```text
//!   T1  ====a==========        hop 0: T2 came from T1 at a, no hop before
//!   T2      ====b=====         hop 1: T3 came from T2 at b, by way of hop 0
//!   T3          ======
//! ```
//! A hop's parent is older than itself, so ids fall along a path, and one backward scan marks all that is
//! reachable.

use longpole_event::{ThreadId, Time};

/// A hop of [`Hops`], or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HopId(u32);

impl HopId {
    /// No hop: the path began on this thread.
    pub const NONE: HopId = HopId(u32::MAX);
}

/// A change of the path from one thread to another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hop {
    /// The hop by which the path had come to `source`.
    pub parent: HopId,
    /// The thread that the path left.
    pub source: ThreadId,
    /// When it left that.
    pub left: Time,
    /// When it arrived on the other thread.
    pub arrived: Time,
}

/// All hops that a path may still need.
#[derive(Debug)]
pub(crate) struct Hops {
    hops: Vec<Hop>,
    /// Size at which the next collection is worth its while.
    limit: usize,
    /// Fewer hops than this are not worth collecting.
    smallest_limit: usize,
}

impl Default for Hops {
    fn default() -> Self {
        Hops::new(1 << 16)
    }
}

impl Hops {
    /// No hops; the first collection is due when there are `smallest_limit`.
    pub fn new(smallest_limit: usize) -> Self {
        Hops { hops: Vec::new(), limit: smallest_limit, smallest_limit }
    }

    /// Adds a hop.
    pub fn push(&mut self, hop: Hop) -> HopId {
        let id = HopId(u32::try_from(self.hops.len()).expect("fewer than 2^32 hops between collections"));
        self.hops.push(hop);
        id
    }

    /// The hop, if there is one.
    pub fn get(&self, id: HopId) -> Option<&Hop> {
        self.hops.get(id.0 as usize)
    }

    /// Whether a collection is due.
    pub fn is_full(&self) -> bool {
        self.hops.len() >= self.limit
    }

    /// Keeps the hops that can be reached from `roots`, which get their new ids. `roots` calls its argument on
    /// every root, and is asked twice.
    pub fn collect(&mut self, mut roots: impl FnMut(&mut dyn FnMut(&mut HopId))) {
        let mut new_ids = vec![HopId::NONE; self.hops.len()];
        let marked = HopId(0);
        roots(&mut |root| {
            if let Some(id) = new_ids.get_mut(root.0 as usize) {
                *id = marked;
            }
        });
        for index in (0..self.hops.len()).rev() {
            if new_ids[index] != HopId::NONE
                && let Some(id) = new_ids.get_mut(self.hops[index].parent.0 as usize)
            {
                *id = marked;
            }
        }
        let renamed =
            |new_ids: &[HopId], id: HopId| new_ids.get(id.0 as usize).copied().unwrap_or(HopId::NONE);
        let mut kept = 0;
        for index in 0..self.hops.len() {
            if new_ids[index] != HopId::NONE {
                let hop = self.hops[index];
                self.hops[kept] = Hop { parent: renamed(&new_ids, hop.parent), ..hop };
                new_ids[index] = HopId(kept as u32);
                kept += 1;
            }
        }
        self.hops.truncate(kept);
        self.limit = self.smallest_limit.max(2 * kept);
        roots(&mut |root| *root = renamed(&new_ids, *root));
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        self.hops.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hop(parent: HopId, at: u64) -> Hop {
        let at = Time::from_nanoseconds(at);
        Hop { parent, source: ThreadId(0), left: at, arrived: at }
    }

    #[test]
    fn collection_keeps_what_a_root_reaches_and_nothing_else() {
        let mut hops = Hops::default();
        let first = hops.push(hop(HopId::NONE, 1));
        let _lost = hops.push(hop(first, 2));
        let second = hops.push(hop(first, 3));
        let _lost_too = hops.push(hop(second, 4));
        let mut root = hops.push(hop(second, 5));
        let mut none = HopId::NONE;
        hops.collect(|each| {
            each(&mut root);
            each(&mut none);
        });
        assert_eq!(hops.len(), 3);
        assert_eq!(none, HopId::NONE);
        let mut times = Vec::new();
        let mut at = root;
        while let Some(hop) = hops.get(at) {
            times.push(hop.arrived.nanoseconds());
            at = hop.parent;
        }
        assert_eq!(times, [5, 3, 1]);
    }
}
