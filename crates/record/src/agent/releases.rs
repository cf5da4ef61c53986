//! Who let whom go on, by the agent's word.

use std::collections::VecDeque;

use longpole_event::Time;
use longpole_ring::WaitKind;
use rustc_hash::FxHashMap;

use super::agent_event::AgentWait;
use crate::raw::{KernelTask, RawStack};

/// Releases of one thing that are remembered.
const MOST_RELEASES: usize = 64;
/// Things whose releases are remembered.
const MOST_SUBJECTS: usize = 100_000;

/// Somebody let somebody go on.
#[derive(Clone, Debug)]
pub(super) struct AgentRelease {
    pub(super) time: Time,
    pub(super) task: KernelTask,
    pub(super) stack: RawStack,
    /// How many more threads it may let go on.
    left: u64,
}

/// The last releases of each thing, by process and address.
#[derive(Debug, Default)]
pub(super) struct RecentReleases {
    of: FxHashMap<(u32, u64), VecDeque<AgentRelease>>,
}

impl RecentReleases {
    pub(super) fn add(&mut self, time: Time, task: KernelTask, wait: AgentWait, stack: RawStack) {
        if self.of.len() >= MOST_SUBJECTS {
            self.of.clear();
        }
        let of_subject = self.of.entry((task.pid, wait.subject)).or_default();
        if of_subject.len() >= MOST_RELEASES {
            of_subject.pop_front();
        }
        let left = if wait.detail == 0 { u64::MAX } else { wait.detail };
        of_subject.push_back(AgentRelease { time, task, stack, left });
    }

    /// The process is another program from now on.
    pub(super) fn forget(&mut self, pid: u32) {
        self.of.retain(|(of, _), _| *of != pid);
    }

    /// Who let the thread go on, that waited from `since` until `done`.
    pub(super) fn releaser(
        &mut self,
        task: KernelTask,
        wait: AgentWait,
        since: Time,
        done: Time,
    ) -> Option<AgentRelease> {
        let releases = self.of.get_mut(&(task.pid, wait.subject))?;
        let fits = |release: &AgentRelease| release.task != task && release.time <= done && release.left > 0;
        match wait.kind {
            // A lock may be taken by another in between: who released it last let this one have it.
            WaitKind::Mutex
            | WaitKind::ReadLock
            | WaitKind::WriteLock
            | WaitKind::SpinLock
            | WaitKind::Once => releases.iter().rev().find(|release| fits(release)).cloned(),
            // Everybody arrives before anybody goes; who goes may arrive for the next round before others are gone.
            WaitKind::Barrier | WaitKind::Team => {
                let last_arrival = releases.iter().rev().find(|release| release.time <= done)?;
                (last_arrival.task != task && last_arrival.time > since).then(|| last_arrival.clone())
            }
            _ => {
                let release = releases.iter_mut().find(|release| release.time >= since && fits(release))?;
                if release.left != u64::MAX {
                    release.left -= 1;
                }
                Some(release.clone())
            }
        }
    }
}
