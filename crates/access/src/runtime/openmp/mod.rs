//! OpenMP: what orders the threads of a team.
//!
//! Two ways in: the entry points of gcc's runtime are hooked ([`gomp`]), LLVM's calls tools ([`ompt`]). Both note the same.
//!
//! ```text
//!   master   publishes | body  barrier | body    end | serial part | publishes
//!   worker             observes  body  barrier | body  end .................. observes
//! ```
//! A barrier is noted when its thread has passed it: a thread may execute tasks while it waits, and those come before.
//! What orders threads has no address that both ways know, so it has a token of its own: see
//! [`OpenMpToken`](crate::format::OpenMpToken).

pub mod gomp;
pub mod ompt;

use super::synchronisation::{note_observed, note_of_any, note_published};
use super::thread_local::words;
use super::versions;
use crate::format::{OpenMpToken, Operation};

/// The team of a parallel region, as long as that lasts.
#[derive(Clone, Copy)]
pub struct AccessTeam {
    /// Number of the thread that opened the region.
    master: u32,
    /// Regions around this one.
    level: u8,
    members: u32,
    /// Which region of its master and level it is.
    version: u64,
    /// Where it was opened.
    place: u64,
}

impl AccessTeam {
    /// The calling thread opens a region; `None` where it is not recorded.
    fn open(place: u64) -> Option<AccessTeam> {
        let words = words();
        let master = unsafe { words.owner.stream.get().as_ref() }?.thread;
        let level = current_team().map_or(0, |team| team.level.saturating_add(1));
        let token = OpenMpToken::Begin.of_team(master, level);
        let version = versions::entry(token)?.raise();
        // A region's begin hands on what its master knows now, and nothing of the regions before.
        note_of_any(Operation::Publish, [token, version << 3 | 3, place]);
        Some(AccessTeam { master, level, members: 0, version, place })
    }

    fn token(&self, kind: OpenMpToken) -> u64 {
        kind.of_team(self.master, self.level)
    }

    /// The calling thread begins its part, in a team of so many.
    fn begin(&mut self, members: u32) {
        self.members = members;
        let thread = unsafe { words().owner.stream.get().as_ref() }.map(|stream| stream.thread);
        if thread != Some(self.master) {
            note_of_any(
                Operation::Observe,
                [self.token(OpenMpToken::Begin), self.version << 3 | 1, self.place],
            );
        }
    }

    /// The calling thread has met the others.
    fn meet(&self, kind: OpenMpToken, place: u64) {
        if self.members > 1 {
            note_of_any(Operation::Barrier, [self.token(kind), self.members.into(), place]);
        }
    }

    /// The calling thread has done its part.
    fn end(&self) {
        self.meet(OpenMpToken::End, self.place);
    }
}

/// The team in which the calling thread works.
fn current_team() -> Option<&'static AccessTeam> {
    unsafe { words().team.get().as_ref() }
}

/// The calling thread has passed a barrier.
fn pass_barrier(caller: u64) {
    if let Some(team) = current_team() {
        team.meet(OpenMpToken::Barrier, caller);
    }
}

/// The calling thread has its turn in an ordered loop.
fn begin_turn(caller: u64) {
    if let Some(team) = current_team() {
        note_observed(team.token(OpenMpToken::Ordered), caller);
    }
}

/// It is about to give it to the next one.
fn end_turn(caller: u64) {
    if let Some(team) = current_team() {
        note_published(team.token(OpenMpToken::Ordered), caller);
    }
}
