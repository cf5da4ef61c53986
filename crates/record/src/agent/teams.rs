//! Who lets the threads of OpenMP's teams go on: at the end of a parallel region, and at the beginning of the next.
//!
//! ```text
//!   thread 0  body |Waits(end)......... Done        its Wake is by thread 1, the last to release the end
//!   thread 1  body .........|Releases(end)
//! ```
//! They spin for it, so the kernel sees nothing of it.

use longpole_event::Time;
use longpole_ring::{TEAM_RELEASE, WaitKind};
use rustc_hash::FxHashMap;

use super::agent_event::{AgentEvent, AgentWait};
use crate::raw::{KernelTask, RawKind, RawStack, RawWaker};

/// Releases that are remembered.
const MOST_RELEASES: usize = 100_000;

/// The waits of team members that a release ends, and the latest releases.
#[derive(Debug, Default)]
pub(super) struct Teams {
    waiting: FxHashMap<KernelTask, (u64, Time)>,
    /// By process and subject.
    releases: FxHashMap<(u32, u64), (Time, KernelTask)>,
}

impl Teams {
    /// Takes the next event in time order; gives the wake of the thread whose wait it ends.
    pub(super) fn follow(&mut self, time: Time, task: KernelTask, told: &AgentEvent) -> Option<RawKind> {
        match told {
            &AgentEvent::Waits {
                wait: AgentWait { kind: WaitKind::Team, subject, detail: TEAM_RELEASE, .. },
                ..
            } => {
                self.waiting.insert(task, (subject, time));
            }
            AgentEvent::Releases { wait: AgentWait { kind: WaitKind::Team, subject, .. }, .. } => {
                if self.releases.len() >= MOST_RELEASES {
                    self.releases.clear();
                }
                self.releases.insert((task.pid, *subject), (time, task));
            }
            AgentEvent::Done { .. } => {
                let (subject, since) = self.waiting.remove(&task)?;
                let &(released, waker) = self.releases.get(&(task.pid, subject))?;
                let waker = RawWaker::Task(waker, String::new());
                let is_other = waker != RawWaker::Task(task, String::new());
                let wake = RawKind::Wake { wakee: task, waker, call: None, stack: RawStack::None };
                return (is_other && released >= since).then_some(wake);
            }
            AgentEvent::Ended => _ = self.waiting.remove(&task),
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: KernelTask = KernelTask { pid: 1, tid: 1 };
    const SECOND: KernelTask = KernelTask { pid: 1, tid: 2 };

    fn wait() -> AgentWait {
        AgentWait { kind: WaitKind::Team, subject: 7, detail: TEAM_RELEASE, file: Default::default() }
    }

    fn follow(teams: &mut Teams, time: u64, task: KernelTask, told: AgentEvent) -> Option<KernelTask> {
        match teams.follow(Time::from_nanoseconds(time), task, &told)? {
            RawKind::Wake { waker: RawWaker::Task(waker, _), .. } => Some(waker),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_last_to_release_during_the_wait_ended_it() {
        let mut teams = Teams::default();
        let releases = || AgentEvent::Releases { wait: wait(), stack: RawStack::None };
        let waits = || AgentEvent::Waits { wait: wait(), stack: RawStack::None };
        assert_eq!(follow(&mut teams, 1, SECOND, releases()), None);
        follow(&mut teams, 2, FIRST, waits());
        assert_eq!(
            follow(&mut teams, 3, FIRST, AgentEvent::Done { granted: true }),
            None,
            "released before it waited"
        );
        follow(&mut teams, 4, FIRST, waits());
        follow(&mut teams, 5, KernelTask { pid: 1, tid: 3 }, releases());
        follow(&mut teams, 6, SECOND, releases());
        assert_eq!(follow(&mut teams, 7, FIRST, AgentEvent::Done { granted: true }), Some(SECOND));
        assert_eq!(follow(&mut teams, 8, FIRST, AgentEvent::Done { granted: true }), None, "it did not wait");
    }
}
