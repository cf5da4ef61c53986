//! OpenMP: who of a team works, and who waits for the others, spinning or not.
//!
//! Two ways in: LLVM's runtime calls tools ([`ompt`]); of gcc's the entry points are hooked ([`gomp`]). Both tell the
//! same.
//!
//! ```text
//!   master  Spawns  | Runs  body  Leaves | Waits(end) ........ Done |  serial part   | Spawns, Releases(next)
//!   worker            Runs  body    Leaves, Releases(end), Waits(next) ..................... Done | Runs  body
//! ```
//! So what a team does goes under the call path at which its region was opened, as a task; the master's wait at the end
//! is ended by the last of the others, and theirs by the master's next region. At a barrier inside all wait for the last
//! to arrive. Nothing of this needs the memory of the runtime: waits are for words of the agent's own, found by the
//! master's thread id.

pub(crate) mod entry;
pub mod gomp;
pub mod gomp_tasks;
pub mod ompt;

use core::ffi::CStr;
use core::sync::atomic::{AtomicU8, AtomicU32, Ordering};

use longpole_ring::{TEAM_RELEASE, WaitKind};

use crate::stack::HookFrame;
use crate::thread::CurrentThread;

/// The name of a parallel region. It stands above the region's own procedure.
const REGION: &CStr = c"parallel region";
/// The name of an explicit task.
const TASK: &CStr = c"OpenMP task";

/// Teams that are told apart; a power of two.
const TEAMS: usize = 4096;

/// What the members of a team wait for.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TeamWaitGoal {
    /// The next parallel region of the same master.
    Next = 0,
    /// The end of the others' bodies.
    End = 1,
    /// A barrier inside the region.
    Barrier = 2,
    /// The end of tasks.
    Tasks = 3,
    /// One's turn in an ordered loop.
    Turn = 4,
}

const GOALS: [TeamWaitGoal; 5] =
    [TeamWaitGoal::Next, TeamWaitGoal::End, TeamWaitGoal::Barrier, TeamWaitGoal::Tasks, TeamWaitGoal::Turn];

/// A word for each team and goal. Nobody reads or writes them: their addresses are what is waited for.
static WORDS: [[AtomicU8; TEAMS]; GOALS.len()] = [const { [const { AtomicU8::new(0) }; TEAMS] }; GOALS.len()];

/// A team of threads, by the one that opened its region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Team(u16);

impl Team {
    /// The team of the regions that the thread opens.
    fn of(me: CurrentThread) -> Team {
        Team((me.tid() as usize % TEAMS) as u16)
    }

    fn subject(self, goal: TeamWaitGoal) -> u64 {
        &raw const WORDS[goal as usize][usize::from(self.0)] as u64
    }
}

impl TeamWaitGoal {
    /// The goal that a wait is for.
    fn of(subject: u64) -> Option<(TeamWaitGoal, Team)> {
        let index = (subject as usize).checked_sub(&raw const WORDS as usize)?;
        let goal = *GOALS.get(index / TEAMS)?;
        Some((goal, Team((index % TEAMS) as u16)))
    }

    const fn detail(self) -> u64 {
        match self {
            TeamWaitGoal::Barrier => 0,
            TeamWaitGoal::Next | TeamWaitGoal::End | TeamWaitGoal::Tasks | TeamWaitGoal::Turn => TEAM_RELEASE,
        }
    }
}

impl CurrentThread {
    fn waits_for(self, goal: TeamWaitGoal, team: Team, at: HookFrame) {
        name_goals(self);
        self.waits_as_told(WaitKind::Team, team.subject(goal), goal.detail(), at);
    }

    fn releases_goal(self, goal: TeamWaitGoal, team: Team, at: HookFrame) {
        self.releases_if_awaited(WaitKind::Team, team.subject(goal), 0, at);
    }

    /// The thread has done its part of a region. Its master depends on that, whether or not it waits for it already.
    fn ends_part(self, team: Team, at: HookFrame) {
        let end = team.subject(TeamWaitGoal::End);
        if self.is_awaited(end) {
            self.releases(WaitKind::Team, end, 0, at);
        } else {
            self.arrives(WaitKind::Team, end);
        }
    }

    /// What the thread waits for, where that is another one of its team: it is about to do something else.
    fn leaves_off_waiting(self) -> Option<(TeamWaitGoal, Team)> {
        let (kind, subject, _) = self.area().state.read()?;
        let goal = TeamWaitGoal::of(subject).filter(|_| kind == WaitKind::Team)?;
        self.goes_on_as_told();
        Some(goal)
    }
}

/// Tells once in each process what the words are called.
fn name_goals(me: CurrentThread) {
    static NAMED: AtomicU32 = AtomicU32::new(0);
    if NAMED.load(Ordering::Relaxed) == me.pid() {
        return;
    }
    NAMED.store(me.pid(), Ordering::Relaxed);
    let names =
        [c"the next parallel region", c"the end of a parallel region", c"an OpenMP barrier", c"OpenMP tasks"];
    for (words, name) in WORDS.iter().zip(names) {
        // SAFETY: a string.
        unsafe { me.names(&raw const *words as u64, TEAMS as u64, name.as_ptr()) };
    }
}

/// Locks that are held, counted by their addresses. The runtimes' locks have no try for all kinds; a lock that nobody
/// holds is not waited for.
static HELD: [AtomicU32; 1024] = [const { AtomicU32::new(0) }; 1024];

fn held(subject: u64) -> &'static AtomicU32 {
    &HELD[(subject.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54) as usize]
}

impl CurrentThread {
    /// The thread asks for a lock of the runtime's.
    fn asks_for(self, subject: u64, at: HookFrame) {
        if held(subject).load(Ordering::Relaxed) != 0 {
            self.waits_as_told(WaitKind::Mutex, subject, 0, at);
        }
    }

    /// It has got it, at `place`.
    fn gets(self, subject: u64, place: u64) {
        held(subject).fetch_add(1, Ordering::Relaxed);
        let awaited = self.area().state.read();
        let contended =
            awaited.is_some_and(|(kind, awaited, _)| (kind, awaited) == (WaitKind::Mutex, subject));
        if contended {
            self.goes_on_as_told();
        }
        self.took(WaitKind::Mutex, subject, place, contended);
    }

    /// It is about to give it back, or has just done so.
    fn gives_back(self, subject: u64, at: HookFrame) {
        // Where the beginning was not seen there is nothing to take back.
        let _ =
            held(subject).fetch_update(Ordering::Relaxed, Ordering::Relaxed, |count| count.checked_sub(1));
        self.gives(subject);
        self.releases_if_awaited(WaitKind::Mutex, subject, 0, at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_goal_of_every_team_has_a_word_of_its_own() {
        for goal in GOALS {
            for team in [0, 1, TEAMS as u16 - 1].map(Team) {
                assert_eq!(TeamWaitGoal::of(team.subject(goal)), Some((goal, team)));
            }
        }
        assert_eq!(TeamWaitGoal::of(&raw const WORDS as u64 - 1), None);
        assert_eq!(TeamWaitGoal::of(Team(TEAMS as u16 - 1).subject(TeamWaitGoal::Turn) + 1), None);
    }
}
