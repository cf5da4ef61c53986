//! A thread's time cut at its changes of state and at its observations, each piece with the path to which it is charged
//! (metrics.md §1).
//!
//! ```text
//!   thread     ====== running =====|.. blocked ..|=== running ===|
//!   observed            p          q                             r
//!   pieces     |-- p ---|--- q ----|------ q ----|------ r ------|
//! ```
//! Constant time per piece.

use longpole_trace::{ObjectId, PathId};

use crate::code::is_on_cpu;
use crate::lane::ThreadLane;

/// A piece of a thread's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StatePiece {
    pub from: u64,
    pub to: u64,
    /// Number of the state.
    pub code: usize,
    /// Where it is charged.
    pub path: PathId,
}

impl ThreadLane {
    /// Tells the pieces between `from` and `to`; `prefix` is the path at which the thread was created.
    pub fn pieces(&self, prefix: PathId, (from, to): (u64, u64), mut tell: impl FnMut(&StatePiece)) {
        let (times, paths) = self.observations();
        let mut walk = self.walk(from);
        let mut next = times.partition_point(|&time| time <= from);
        let mut now = from;
        while now < to {
            let mut end = walk.end().unwrap_or(u64::MAX).min(to);
            if let Some(&seen) = times.get(next) {
                end = end.min(seen);
            }
            let code = walk.code();
            let path = charged(paths, next, prefix, is_on_cpu(code));
            tell(&StatePiece { from: now, to: end, code, path });
            now = end;
            while times.get(next).is_some_and(|&seen| seen <= now) {
                next += 1;
            }
            if walk.end() == Some(now) {
                walk.next();
            }
        }
    }

    /// Where the thread's time at `time` is charged, if it is work or if it is a wait.
    pub fn path_at(&self, prefix: PathId, time: u64, is_work: bool) -> PathId {
        let (times, paths) = self.observations();
        charged(paths, times.partition_point(|&seen| seen <= time), prefix, is_work)
    }

    /// Tells the stretches between `from` and `to`, each with the number of its state and what is waited for.
    pub fn stretches(
        &self,
        (from, to): (u64, u64),
        mut tell: impl FnMut((u64, u64), usize, Option<ObjectId>),
    ) {
        let mut walk = self.walk(from);
        let mut now = from;
        while now < to {
            let end = walk.end().unwrap_or(u64::MAX).min(to);
            tell((now, end), walk.code(), walk.object());
            now = end;
            walk.next();
        }
    }
}

/// Work goes to the next observation, or to the last one after which there is none; waits go to the one before.
fn charged(paths: &[u32], next: usize, prefix: PathId, is_work: bool) -> PathId {
    let after = if is_work { paths.get(next) } else { None };
    let path = after.or_else(|| next.checked_sub(1).and_then(|last| paths.get(last)));
    path.map_or(prefix, |&path| PathId(path))
}
