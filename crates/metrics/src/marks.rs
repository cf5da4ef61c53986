//! Which lanes a piece of work is left out of, and how much of it.

use std::ops::Range;

use longpole_event::ThreadId;
use longpole_trace::{ObjectId, PathId, Paths};
use rustc_hash::FxHashMap;

use crate::charging::{ChargeGroup, ChargeGroupId, Charging};

/// What a piece of work means to a lane.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Mark {
    /// The lane.
    pub lane: u32,
    /// The part of the work that the lane leaves out, 1 for all of it; negative where the lane has more of it.
    pub left_out: f64,
    /// Only of the work on the critical path.
    pub on_path: bool,
}

/// What waiting for an object means to a lane.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ObjectMark {
    /// The lane.
    pub lane: u32,
    /// The part of the wait that stays.
    pub factor: f64,
}

/// Says what each lane is about.
pub(crate) trait Rules {
    /// Number of lanes.
    fn lanes(&self) -> usize;

    /// Whether marks depend on the path and not on the thread alone.
    fn tell_paths_apart(&self) -> bool;

    /// Threads that have the same marks at each path have the same key.
    fn thread_key(&self, thread: ThreadId) -> ThreadId;

    /// Adds the marks of work of this thread at this path; at most one per lane.
    fn marks(&self, thread: ThreadId, path: PathId, marks: &mut Vec<Mark>);

    /// The marks of waits for this object.
    fn object_marks(&self, object: ObjectId) -> &[ObjectMark];
}

/// Entries kept for groups and pools; they are found anew when there would be more.
const MOST_SHARES: usize = 1 << 22;

/// What part of work a lane leaves out.
pub(crate) type LaneShare = (u32, f64);

/// The marks of all work seen so far.
#[derive(Debug)]
pub(crate) struct Marks<'a, R> {
    pub rules: R,
    charging: &'a Charging,
    of_path: FxHashMap<(ThreadId, PathId), (u32, u32)>,
    marks: Vec<Mark>,
    /// By thread, by the kind of mark that is left out, and by pool or group.
    of_pool: FxHashMap<(ThreadId, bool, u32), Range<usize>>,
    of_group: FxHashMap<(ThreadId, bool, ChargeGroupId), Range<usize>>,
    shares: Vec<LaneShare>,
    /// By lane, 0 between calls; and lanes that are not.
    sums: Vec<f64>,
    touched: Vec<u32>,
}

impl<'a, R: Rules> Marks<'a, R> {
    pub fn new(rules: R, charging: &'a Charging) -> Self {
        let sums = vec![0.0; rules.lanes()];
        Marks {
            rules,
            charging,
            of_path: FxHashMap::default(),
            marks: Vec::new(),
            of_pool: FxHashMap::default(),
            of_group: FxHashMap::default(),
            shares: Vec::new(),
            sums,
            touched: Vec::new(),
        }
    }

    /// The marks of work of this thread at this path.
    pub fn of(&mut self, thread: ThreadId, path: PathId) -> &[Mark] {
        let (from, to) = self.find(thread, path);
        &self.marks[from..to]
    }

    fn find(&mut self, thread: ThreadId, path: PathId) -> (usize, usize) {
        let Marks { rules, of_path, marks, .. } = self;
        let path = if rules.tell_paths_apart() { path } else { Paths::ROOT };
        let (from, to) = *of_path.entry((rules.thread_key(thread), path)).or_insert_with(|| {
            let from = marks.len() as u32;
            rules.marks(thread, path, marks);
            (from, marks.len() as u32)
        });
        (from as usize, to as usize)
    }

    /// What part of a group's unclaimed time, on the critical path or not, each lane leaves out.
    pub fn of_group(&mut self, thread: ThreadId, group: ChargeGroupId, on_path: bool) -> &[LaneShare] {
        if self.shares.len() > MOST_SHARES {
            self.of_pool.clear();
            self.of_group.clear();
            self.shares.clear();
        }
        let charging = self.charging;
        let ChargeGroup { pools, claimed } = charging.group(group);
        let range = match (pools.as_slice(), claimed.is_empty()) {
            // All of it is divided so.
            ([(pool, _)], true) => self.pool(thread, *pool, on_path),
            _ => self.mixed(thread, group, on_path),
        };
        &self.shares[range]
    }

    fn mixed(&mut self, thread: ThreadId, group: ChargeGroupId, on_path: bool) -> Range<usize> {
        let key = (self.rules.thread_key(thread), on_path, group);
        if let Some(range) = self.of_group.get(&key) {
            return range.clone();
        }
        let charging = self.charging;
        let ChargeGroup { pools, claimed } = charging.group(group);
        let pools: Vec<_> =
            pools.iter().map(|&(pool, part)| (self.pool(thread, pool, on_path), part)).collect();
        for (range, part) in pools {
            for index in range {
                let (lane, share) = self.shares[index];
                self.add(lane, part * share);
            }
        }
        for &(path, part) in claimed {
            self.add_path(thread, path, (-part, on_path));
        }
        let range = self.keep();
        self.of_group.insert(key, range.clone());
        range
    }

    fn pool(&mut self, thread: ThreadId, pool: u32, on_path: bool) -> Range<usize> {
        let key = (self.rules.thread_key(thread), on_path, pool);
        if let Some(range) = self.of_pool.get(&key) {
            return range.clone();
        }
        let charging = self.charging;
        for &(path, share) in &charging.pools[pool as usize] {
            self.add_path(thread, path, (share, on_path));
        }
        let range = self.keep();
        self.of_pool.insert(key, range.clone());
        range
    }

    fn add_path(&mut self, thread: ThreadId, path: PathId, (part, on_path): (f64, bool)) {
        let (from, to) = self.find(thread, path);
        for index in from..to {
            let Mark { lane, left_out, on_path: only_on_path } = self.marks[index];
            if on_path || !only_on_path {
                self.add(lane, part * left_out);
            }
        }
    }

    fn add(&mut self, lane: u32, part: f64) {
        let sum = &mut self.sums[lane as usize];
        if *sum == 0.0 {
            self.touched.push(lane);
        }
        *sum += part;
    }

    /// Keeps the sums.
    fn keep(&mut self) -> Range<usize> {
        let from = self.shares.len();
        self.touched.sort_unstable();
        for lane in self.touched.drain(..) {
            let sum = std::mem::take(&mut self.sums[lane as usize]);
            if sum != 0.0 {
                self.shares.push((lane, sum));
            }
        }
        from..self.shares.len()
    }
}
