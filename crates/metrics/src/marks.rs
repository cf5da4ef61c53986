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

    /// Whether any work may have marks.
    fn mark_work(&self) -> bool;

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
type LaneShare = (u32, f64);

/// What part of work each lane leaves out.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LaneShares<'a> {
    /// Of few lanes.
    Few(&'a [LaneShare]),
    /// Of most of the lanes from this one on, which the compiler vectorises; 0 where a lane leaves out nothing.
    Most(usize, &'a [f64]),
}

impl LaneShares<'_> {
    pub fn is_empty(&self) -> bool {
        match self {
            LaneShares::Few(shares) => shares.is_empty(),
            LaneShares::Most(_, shares) => shares.is_empty(),
        }
    }

    /// Makes each lane shorter by its share of this time.
    pub fn leave_out(&self, lanes: &mut [f64], time: f64) {
        match *self {
            LaneShares::Few(shares) => {
                shares.iter().for_each(|&(lane, share)| lanes[lane as usize] -= share * time);
            }
            LaneShares::Most(first, shares) => {
                let lanes = lanes[first..first + shares.len()].iter_mut();
                lanes.zip(shares).for_each(|(lane, share)| *lane -= share * time);
            }
        }
    }
}

/// Where the shares of a pool or group are kept.
#[derive(Clone, Debug)]
enum KeptShares {
    Few(Range<usize>),
    Most(usize, Range<usize>),
}

/// Lanes of which one has a share, at most, for shares to be kept by lane.
const LANES_PER_SHARE: usize = 4;

/// The marks of all work seen so far.
#[derive(Debug)]
pub(crate) struct Marks<'a, R> {
    pub rules: R,
    charging: &'a Charging,
    of_path: FxHashMap<(ThreadId, PathId), (u32, u32)>,
    marks: Vec<Mark>,
    /// By thread, by the kind of mark that is left out, and by pool or group.
    of_pool: FxHashMap<(ThreadId, bool, u32), KeptShares>,
    of_group: FxHashMap<(ThreadId, bool, ChargeGroupId), KeptShares>,
    few: Vec<LaneShare>,
    most: Vec<f64>,
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
            few: Vec::new(),
            most: Vec::new(),
            sums,
            touched: Vec::new(),
        }
    }

    /// How work is divided.
    pub fn charging(&self) -> &'a Charging {
        self.charging
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
    pub fn of_group(&mut self, thread: ThreadId, group: ChargeGroupId, on_path: bool) -> LaneShares<'_> {
        if self.few.len() + self.most.len() > MOST_SHARES {
            self.of_pool.clear();
            self.of_group.clear();
            self.few.clear();
            self.most.clear();
        }
        let charging = self.charging;
        let ChargeGroup { pools, claimed } = charging.group(group);
        let kept = match (pools.as_slice(), claimed.is_empty()) {
            // All of it is divided so.
            ([(pool, _)], true) => self.pool(thread, *pool, on_path),
            _ => self.mixed(thread, group, on_path),
        };
        match kept {
            KeptShares::Few(range) => LaneShares::Few(&self.few[range]),
            KeptShares::Most(first, range) => LaneShares::Most(first, &self.most[range]),
        }
    }

    fn mixed(&mut self, thread: ThreadId, group: ChargeGroupId, on_path: bool) -> KeptShares {
        let key = (self.rules.thread_key(thread), on_path, group);
        if let Some(kept) = self.of_group.get(&key) {
            return kept.clone();
        }
        let charging = self.charging;
        let ChargeGroup { pools, claimed } = charging.group(group);
        let pools: Vec<_> =
            pools.iter().map(|&(pool, part)| (self.pool(thread, pool, on_path), part)).collect();
        for (kept, part) in pools {
            match kept {
                KeptShares::Few(range) => range.for_each(|index| {
                    let (lane, share) = self.few[index];
                    self.add(lane, part * share);
                }),
                KeptShares::Most(first, range) => range.enumerate().for_each(|(at, index)| {
                    let share = self.most[index];
                    if share != 0.0 {
                        self.add((first + at) as u32, part * share);
                    }
                }),
            }
        }
        for &(path, part) in claimed {
            self.add_path(thread, path, (-part, on_path));
        }
        let kept = self.keep();
        self.of_group.insert(key, kept.clone());
        kept
    }

    fn pool(&mut self, thread: ThreadId, pool: u32, on_path: bool) -> KeptShares {
        let key = (self.rules.thread_key(thread), on_path, pool);
        if let Some(kept) = self.of_pool.get(&key) {
            return kept.clone();
        }
        let charging = self.charging;
        for &(path, share) in &charging.pools[pool as usize] {
            self.add_path(thread, path, (share, on_path));
        }
        let kept = self.keep();
        self.of_pool.insert(key, kept.clone());
        kept
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
    fn keep(&mut self) -> KeptShares {
        self.touched.sort_unstable();
        let (first, last) = (self.touched.first().copied(), self.touched.last().copied());
        let (first, end) = (first.map_or(0, |lane| lane as usize), last.map_or(0, |lane| lane as usize + 1));
        if end - first > LANES_PER_SHARE * self.touched.len() {
            let from = self.few.len();
            for lane in self.touched.drain(..) {
                let sum = std::mem::take(&mut self.sums[lane as usize]);
                if sum != 0.0 {
                    self.few.push((lane, sum));
                }
            }
            return KeptShares::Few(from..self.few.len());
        }
        self.touched.clear();
        let from = self.most.len();
        self.most.extend_from_slice(&self.sums[first..end]);
        self.sums[first..end].fill(0.0);
        KeptShares::Most(first, from..self.most.len())
    }
}
