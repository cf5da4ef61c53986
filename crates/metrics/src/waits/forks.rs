//! Threads that end before the others of their fork: the imbalance of a fork and join (metrics.md §6; C §2.1).
//!
//! ```text
//!   main  ●────── join ............●      T3 ended 4 before the last of those that were joined with it: what T1 did
//!   T1    ●WWWWWWWW──────end              beyond what T3 did explains that time, as at a barrier
//!   T3    ●WWWW──end~~~~~                 ~: its processor has nothing to do for the program
//! ```
//! A fork is over when the thread that joins creates another one, or ends.

use longpole_event::{ThreadId, Time};
use longpole_trace::{Acquisition, Cause, DependenceKind, PathId, TokenId};
use rustc_hash::FxHashMap;

use super::Explanations;
use super::class::{FinishedWait, WaitClassKind};
use super::explanation::WaitQuestion;
use super::history::{ReleaseAct, WaitRelease};

/// Ends of threads that nobody has joined yet, at most.
const MOST_ENDS: usize = 1 << 16;

/// Ends of threads, and who joined them.
#[derive(Debug, Default)]
pub(super) struct Forks {
    /// Whose end released a token, and when.
    ends: FxHashMap<TokenId, (ThreadId, u64)>,
    /// By who joins: the threads of its fork that were joined.
    joined: FxHashMap<ThreadId, Vec<Joined>>,
    /// Forks of each thread that are over.
    over: FxHashMap<ThreadId, u32>,
    /// By whom, and in which of its forks, each thread was created.
    created: FxHashMap<ThreadId, (ThreadId, u32)>,
}

impl Explanations<'_> {
    /// The thread's end may be what releases this token.
    pub(super) fn may_end(&mut self, thread: ThreadId, time: Time, token: TokenId) {
        if self.forks.ends.len() < MOST_ENDS {
            self.forks.ends.insert(token, (thread, time.nanoseconds()));
        }
    }

    /// The thread has created another one.
    pub(super) fn fork(&mut self, creator: ThreadId, created: ThreadId) {
        self.settle(creator);
        let fork = self.forks.over.get(&creator).copied().unwrap_or(0);
        self.forks.created.insert(created, (creator, fork));
    }

    /// The thread has joined the one whose end released the token.
    pub(super) fn join(&mut self, thread: ThreadId, acquisition: Acquisition) {
        let released = match acquisition.last {
            true => self.forks.ends.remove(&acquisition.token),
            false => self.forks.ends.get(&acquisition.token).copied(),
        };
        if let Some((ended, end)) = released.filter(|_| acquisition.kind == DependenceKind::Join) {
            self.join_ended(thread, ended, end);
        }
    }

    /// The thread joins one that ended then: by what its token says, or by the wake before, when it may still be on its way
    /// out.
    pub(super) fn join_ended(&mut self, thread: ThreadId, ended: ThreadId, end: u64) {
        let over = self.forks.over.get(&thread).copied().unwrap_or(0);
        if self.forks.created.get(&ended) == Some(&(thread, over)) {
            self.forks.created.remove(&ended);
            let path = self.threads[thread.index()].path;
            self.forks.joined.entry(thread).or_default().push(Joined { thread: ended, end, path });
        }
    }

    /// The fork is over: all that were joined but the last waited, in a way, for that one.
    pub(super) fn settle(&mut self, joiner: ThreadId) {
        let Some(joined) = self.forks.joined.remove(&joiner) else { return };
        *self.forks.over.entry(joiner).or_default() += 1;
        let Some(&last) = joined.iter().max_by_key(|joined| (joined.end, joined.thread)) else { return };
        for early in joined.iter().filter(|early| early.end < last.end) {
            self.explain_early(*early, last);
        }
    }

    fn explain_early(&mut self, early: Joined, last: Joined) {
        let (source, time) = (last.thread, last.end);
        let act = ReleaseAct { begin: time, source };
        let release = Some(WaitRelease { act, source, source_time: time, time, object: None });
        let question =
            WaitQuestion { thread: early.thread, from: early.end, to: time, cause: Cause::Join, release };
        let explained = self.explainer.explain(&question, &self.threads, (&mut self.steps, self.program));
        let subject = self.subject(early.thread, early.path, None, WaitClassKind::EndedEarly);
        let (thread, time) = (early.thread, time - early.end);
        let finished =
            FinishedWait { thread, subject, count: 1, time, explained, surely: None, is_most_of_run: false };
        self.classes.add(&finished, None, &mut self.steps);
    }
}

/// A thread that was joined.
#[derive(Clone, Copy, Debug)]
pub(super) struct Joined {
    thread: ThreadId,
    end: u64,
    /// Where it was joined.
    path: PathId,
}
