//! Work of groups that lanes leave out, not yet taken from each of them: added up by group, and where a thread has worked in several,
//! by pool and path, until its lanes are looked at.
//!
//! ```text
//!   work   g1 5 | g2 3 | g1 2 | …            due   g1 7, g2 3           lanes   − shares of g1 · 7 − shares of g2 · 3
//! ```
//! Lanes are looked at where something arrives or leaves. So they cost what arcs do, and not what pieces of work do.

use longpole_event::ThreadId;
use longpole_trace::PathId;
use rustc_hash::FxHashMap;

use super::buffers::Buffers;
use crate::charging::{ChargeGroup, ChargeGroupId, Charging};
use crate::marks::{Marks, Rules};

/// Groups of which a thread keeps the work by group.
const FEW: usize = 8;

/// What a thread's lanes still have to leave out, each with whether it was on the critical path.
#[derive(Clone, Debug, Default)]
pub(super) struct DueWork {
    groups: Vec<(ChargeGroupId, bool, f64)>,
    /// Once there were more than a few groups.
    pools: FxHashMap<(u32, bool), f64>,
    paths: FxHashMap<(PathId, bool), f64>,
}

impl DueWork {
    /// Time that is divided as the group's unclaimed time is.
    pub fn add(&mut self, group: ChargeGroupId, on_path: bool, time: f64, charging: &Charging) {
        if let Some(known) = self.groups.iter_mut().find(|known| (known.0, known.1) == (group, on_path)) {
            known.2 += time;
            return;
        }
        if self.groups.len() == FEW {
            self.pour(charging);
        }
        self.groups.push((group, on_path, time));
    }

    /// From groups to what they are divided by.
    fn pour(&mut self, charging: &Charging) {
        for (group, on_path, time) in self.groups.drain(..) {
            let ChargeGroup { pools, claimed } = charging.group(group);
            for &(pool, part) in pools {
                *self.pools.entry((pool, on_path)).or_default() += part * time;
            }
            for &(path, part) in claimed {
                *self.paths.entry((path, on_path)).or_default() -= part * time;
            }
        }
    }

    /// Takes all of it from the thread's lanes.
    pub fn settle<R: Rules>(
        &mut self,
        thread: ThreadId,
        lanes: &mut Option<Box<[f64]>>,
        (marks, buffers): (&mut Marks<'_, R>, &mut Buffers),
    ) {
        if !(self.pools.is_empty() && self.paths.is_empty()) {
            self.pour(marks.charging());
            self.settle_paths(thread, lanes, (marks, buffers));
        }
        for (group, on_path, time) in self.groups.drain(..) {
            let shares = marks.of_group(thread, group, on_path);
            if !shares.is_empty() {
                shares.leave_out(lanes.get_or_insert_with(|| buffers.zeros()), time);
            }
        }
    }

    fn settle_paths<R: Rules>(
        &mut self,
        thread: ThreadId,
        lanes: &mut Option<Box<[f64]>>,
        (marks, buffers): (&mut Marks<'_, R>, &mut Buffers),
    ) {
        for ((pool, on_path), time) in self.pools.drain() {
            for &(path, share) in &marks.charging().pools[pool as usize] {
                *self.paths.entry((path, on_path)).or_default() += share * time;
            }
        }
        for ((path, on_path), time) in self.paths.drain() {
            leave_out_path((thread, path, on_path), time, lanes, (marks, buffers));
        }
    }
}

/// Makes each lane that leaves out work at this path shorter by this time.
pub(super) fn leave_out_path<R: Rules>(
    (thread, path, on_path): (ThreadId, PathId, bool),
    time: f64,
    lanes: &mut Option<Box<[f64]>>,
    (marks, buffers): (&mut Marks<'_, R>, &mut Buffers),
) {
    let marks = marks.of(thread, path);
    if marks.is_empty() {
        return;
    }
    let lanes = lanes.get_or_insert_with(|| buffers.zeros());
    for mark in marks.iter().filter(|mark| on_path || !mark.on_path) {
        lanes[mark.lane as usize] -= mark.left_out * time;
    }
}
