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

/// Hops within one wait that are followed; of longer chains all of the path is taken.
const MOST_SINCE: usize = 64;

/// A hop of [`PathHandOffs`], or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PathHandOffId(u32);

impl PathHandOffId {
    /// No hop: the path began on this thread.
    pub const NONE: PathHandOffId = PathHandOffId(u32::MAX);
}

/// A change of the path from one thread to another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PathHandOff {
    /// The hop by which the path had come to `source`.
    pub parent: PathHandOffId,
    /// The thread that the path left.
    pub source: ThreadId,
    /// When it left that.
    pub left: Time,
    /// When it arrived on the other thread.
    pub arrived: Time,
}

/// All hops that a path may still need.
#[derive(Debug)]
pub(crate) struct PathHandOffs {
    path_hand_offs: Vec<PathHandOff>,
    /// Size at which the next collection is worth its while.
    limit: usize,
    /// Fewer hops than this are not worth collecting.
    smallest_limit: usize,
}

impl Default for PathHandOffs {
    fn default() -> Self {
        PathHandOffs::new(1 << 16)
    }
}

impl PathHandOffs {
    /// No hops; the first collection is due when there are `smallest_limit`.
    pub fn new(smallest_limit: usize) -> Self {
        PathHandOffs { path_hand_offs: Vec::new(), limit: smallest_limit, smallest_limit }
    }

    /// Adds a hop.
    pub fn push(&mut self, hand_off: PathHandOff) -> PathHandOffId {
        let id = PathHandOffId(
            u32::try_from(self.path_hand_offs.len()).expect("fewer than 2^32 hops between collections"),
        );
        self.path_hand_offs.push(hand_off);
        id
    }

    /// Adds a hop to a path that is on thread `own.0` up to `own.1`, where it came by the hop `own.2`, and follows the hop's own path from
    /// then on only.
    ///
    /// ```text
    ///   T1  ======a               the hop: T3 comes from T2 at c, which came from T1 at a
    ///   T2        ====c
    ///   T3  ====b     ===         since b: T3, T1 from b to a, T2 from a to c, T3
    /// ```
    pub fn push_since(
        &mut self,
        hand_off: PathHandOff,
        (own, since, by): (ThreadId, Time, PathHandOffId),
    ) -> PathHandOffId {
        let mut hops = vec![hand_off];
        while let Some(&hop) = self.get(hops[hops.len() - 1].parent)
            && hop.arrived > since
        {
            hops.push(hop);
            if hops.len() > MOST_SINCE {
                return self.push(hand_off);
            }
        }
        let first = hops[hops.len() - 1];
        let came = PathHandOff { parent: by, source: own, left: since, arrived: since };
        let mut parent = if first.left > since && first.source != own {
            self.push(came)
        } else {
            let direct = hops.pop().map_or(since, |hop| hop.arrived);
            self.push(PathHandOff { arrived: direct, ..came })
        };
        for hop in hops.into_iter().rev() {
            parent = self.push(PathHandOff { parent, ..hop });
        }
        parent
    }

    /// The hop, if there is one.
    pub fn get(&self, id: PathHandOffId) -> Option<&PathHandOff> {
        self.path_hand_offs.get(id.0 as usize)
    }

    /// Whether a collection is due.
    pub fn is_full(&self) -> bool {
        self.path_hand_offs.len() >= self.limit
    }

    /// Keeps the hops that can be reached from `roots`, which get their new ids. `roots` calls its argument on
    /// every root, and is asked twice.
    pub fn collect(&mut self, mut roots: impl FnMut(&mut dyn FnMut(&mut PathHandOffId))) {
        let mut new_ids = vec![PathHandOffId::NONE; self.path_hand_offs.len()];
        let marked = PathHandOffId(0);
        roots(&mut |root| {
            if let Some(id) = new_ids.get_mut(root.0 as usize) {
                *id = marked;
            }
        });
        for index in (0..self.path_hand_offs.len()).rev() {
            if new_ids[index] != PathHandOffId::NONE
                && let Some(id) = new_ids.get_mut(self.path_hand_offs[index].parent.0 as usize)
            {
                *id = marked;
            }
        }
        let renamed = |new_ids: &[PathHandOffId], id: PathHandOffId| {
            new_ids.get(id.0 as usize).copied().unwrap_or(PathHandOffId::NONE)
        };
        let mut kept = 0;
        for index in 0..self.path_hand_offs.len() {
            if new_ids[index] != PathHandOffId::NONE {
                let hand_off = self.path_hand_offs[index];
                self.path_hand_offs[kept] =
                    PathHandOff { parent: renamed(&new_ids, hand_off.parent), ..hand_off };
                new_ids[index] = PathHandOffId(kept as u32);
                kept += 1;
            }
        }
        self.path_hand_offs.truncate(kept);
        self.limit = self.smallest_limit.max(2 * kept);
        roots(&mut |root| *root = renamed(&new_ids, *root));
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        self.path_hand_offs.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(time: u64) -> Time {
        Time::from_nanoseconds(time)
    }

    /// What a path is on, from its end: threads and when they were left.
    fn followed(all: &PathHandOffs, mut id: PathHandOffId) -> Vec<(u32, u64, u64)> {
        let mut found = Vec::new();
        while let Some(hop) = all.get(id) {
            found.push((hop.source.0, hop.left.nanoseconds(), hop.arrived.nanoseconds()));
            id = hop.parent;
        }
        found
    }

    #[test]
    fn a_path_since_a_request_follows_the_others_from_then_on_only() {
        let mut all = PathHandOffs::default();
        let hop = |parent, source, left, arrived| PathHandOff {
            parent,
            source: ThreadId(source),
            left: at(left),
            arrived: at(arrived),
        };
        let early = all.push(hop(PathHandOffId::NONE, 9, 2, 2));
        let within = all.push(hop(early, 1, 8, 8));
        let own = all.push(hop(PathHandOffId::NONE, 7, 3, 3));
        let last = hop(within, 2, 10, 10);
        // T3 asked at 5: up to then its own path, then T1 until 8, T2 until 10.
        let found = all.push_since(last, (ThreadId(3), at(5), own));
        assert_eq!(followed(&all, found), [(2, 10, 10), (1, 8, 8), (3, 5, 5), (7, 3, 3)]);
        // A message that was sent before the request.
        let found = all.push_since(hop(early, 2, 4, 10), (ThreadId(3), at(5), own));
        assert_eq!(followed(&all, found), [(3, 5, 10), (7, 3, 3)]);
    }

    fn hand_off(parent: PathHandOffId, at: u64) -> PathHandOff {
        let at = Time::from_nanoseconds(at);
        PathHandOff { parent, source: ThreadId(0), left: at, arrived: at }
    }

    #[test]
    fn collection_keeps_what_a_root_reaches_and_nothing_else() {
        let mut path_hand_offs = PathHandOffs::default();
        let first = path_hand_offs.push(hand_off(PathHandOffId::NONE, 1));
        let _lost = path_hand_offs.push(hand_off(first, 2));
        let second = path_hand_offs.push(hand_off(first, 3));
        let _lost_too = path_hand_offs.push(hand_off(second, 4));
        let mut root = path_hand_offs.push(hand_off(second, 5));
        let mut none = PathHandOffId::NONE;
        path_hand_offs.collect(|each| {
            each(&mut root);
            each(&mut none);
        });
        assert_eq!(path_hand_offs.len(), 3);
        assert_eq!(none, PathHandOffId::NONE);
        let mut times = Vec::new();
        let mut at = root;
        while let Some(hand_off) = path_hand_offs.get(at) {
            times.push(hand_off.arrived.nanoseconds());
            at = hand_off.parent;
        }
        assert_eq!(times, [5, 3, 1]);
    }
}
