//! What threads pass that others let them pass, whether or not they waited: barriers, joins, waits for children.
//!
//! ```text
//!   told    Waits for a barrier      Done            a mark when the thread arrives, and one when it departs
//!   told    Releases a team                         a mark when the thread arrives
//!   told    Waits for a thread       Done, granted   a mark when it has joined
//! ```

use longpole_ring::WaitKind;
use rustc_hash::FxHashMap;

use super::agent_event::{AgentEvent, AgentWait, primitive};
use crate::raw::{KernelTask, RawJoined, RawMark};

/// What each thread is about to pass.
#[derive(Debug, Default)]
pub(super) struct Passages(FxHashMap<KernelTask, AgentWait>);

impl Passages {
    /// Takes the next event in time order; gives what it says beside the wait.
    pub(super) fn follow(&mut self, task: KernelTask, told: &AgentEvent) -> Option<RawMark> {
        match told {
            &AgentEvent::Waits { wait, .. } => {
                self.0.remove(&task);
                if !matches!(wait.kind, WaitKind::Barrier | WaitKind::Join | WaitKind::Child) {
                    return None;
                }
                self.0.insert(task, wait);
                let is_barrier = wait.kind == WaitKind::Barrier;
                is_barrier.then(|| primitive(wait.kind, wait.subject)).flatten().map(RawMark::Arrive)
            }
            // A member of a team that has done its part, and waits for nobody there.
            &AgentEvent::Releases {
                wait: AgentWait { kind: kind @ WaitKind::Team, subject, .. }, ..
            } => primitive(kind, subject).map(RawMark::Arrive),
            &AgentEvent::Done { granted } => passed(self.0.remove(&task)?, granted),
            AgentEvent::Gap | AgentEvent::Ended | AgentEvent::Began { .. } => {
                self.0.remove(&task);
                None
            }
            _ => None,
        }
    }
}

/// What a thread has passed whose wait is over.
fn passed(wait: AgentWait, granted: bool) -> Option<RawMark> {
    let of = u32::try_from(wait.detail).ok()?;
    match wait.kind {
        WaitKind::Barrier => primitive(wait.kind, wait.subject).map(RawMark::Depart),
        WaitKind::Join if granted && of != 0 => {
            Some(RawMark::Joined { ended: RawJoined::Tid(of), waits: true })
        }
        WaitKind::Child => Some(RawMark::Joined { ended: RawJoined::Child(of), waits: false }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raw::RawStack;

    const TASK: KernelTask = KernelTask { pid: 1, tid: 7 };

    fn passes(kind: WaitKind, detail: u64, granted: bool) -> [Option<RawMark>; 2] {
        let wait = AgentWait { kind, subject: 0x1000, detail, file: Default::default() };
        let mut passages = Passages::default();
        let waits = AgentEvent::Waits { wait, stack: RawStack::None };
        [waits, AgentEvent::Done { granted }].map(|told| passages.follow(TASK, &told))
    }

    #[test]
    fn a_thread_arrives_at_a_barrier_and_departs() {
        let [arrives, departs] = passes(WaitKind::Barrier, 0, true);
        assert!(matches!(arrives, Some(RawMark::Arrive(_))), "{arrives:?}");
        assert!(matches!(departs, Some(RawMark::Depart(_))), "{departs:?}");
    }

    #[test]
    fn a_member_of_a_team_arrives_where_it_lets_others_go() {
        let wait = AgentWait { kind: WaitKind::Team, subject: 0x1000, detail: 0, file: Default::default() };
        let releases = AgentEvent::Releases { wait, stack: RawStack::None };
        let arrives = Passages::default().follow(TASK, &releases);
        assert!(matches!(arrives, Some(RawMark::Arrive(_))), "{arrives:?}");
    }

    #[test]
    fn a_join_that_succeeded_says_whom() {
        let joined = RawMark::Joined { ended: RawJoined::Tid(8), waits: true };
        assert_eq!(passes(WaitKind::Join, 8, true), [None, Some(joined)]);
        assert_eq!(passes(WaitKind::Join, 8, false), [None, None], "its time was over");
        assert_eq!(passes(WaitKind::Join, 0, true), [None, None], "whom is not known");
        assert_eq!(passes(WaitKind::Mutex, 8, true), [None, None]);
    }
}
