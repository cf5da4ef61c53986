//! Ends of threads and processes, and the joins and waits for children that depend on them.
//!
//! ```text
//!   A  === end                     the end releases a token if a join of A is in the log; the join acquires it,
//!   B  ======== join ===           whether it waited or came long after the end
//!
//!   A  ================ end        a join that came before the end: its thread depends on it from where it goes on
//!   B  ==== join ........ ====
//!
//!   A  ============== end          an end that the thread sees after a sleep: it depends on it from where it wakes
//!   B  .. sleep .. sleep ... join
//! ```

use longpole_event::{CallId, ProcessId, ThreadId, Time};
use rustc_hash::FxHashMap;

use super::{LiveThread, Transitions};
use crate::exits::{KilledBy, is_at_work};
use crate::observer::{Observer, ReplayAnomaly};
use crate::state::State;
use crate::timeline::{Acquisition, DependenceKind, ItemKind, TokenId};

/// Ends that are joined.
#[derive(Debug, Default)]
pub(super) struct Joins {
    /// Tokens of threads that have ended and are still to be joined.
    threads: FxHashMap<ThreadId, TokenId>,
    /// Tokens of processes of which a thread has ended, and which are still to be waited for.
    processes: FxHashMap<ProcessId, TokenId>,
    /// Threads that are joined before their end, by whom and since when.
    early: FxHashMap<ThreadId, (ThreadId, Time)>,
    /// What a thread depends on as soon as it runs.
    due: FxHashMap<ThreadId, Vec<TokenId>>,
}

impl Transitions<'_> {
    /// What the thread does from now on comes after the end of the other.
    pub(super) fn joined(
        &mut self,
        thread: ThreadId,
        time: Time,
        ended: ThreadId,
        observer: &mut impl Observer,
    ) {
        if ended.index() >= self.threads.len() || ended == thread {
            observer.count(ReplayAnomaly::Contradiction);
            return;
        }
        if self.threads[ended.index()].state != State::Absent {
            self.joins.early.insert(ended, (thread, time));
        } else if let Some(token) = self.take_end(thread, ended) {
            self.acquire_end(thread, time, token, observer);
        }
    }

    /// The thread is about to end. Who killed it does not depend on what it did.
    pub(super) fn release_end(&mut self, thread: ThreadId, time: Time, observer: &mut impl Observer) {
        let known = &self.sources.known[thread.index()];
        if known.killed == Some(KilledBy::Creator) {
            return;
        }
        let process = self.sources.processes[thread.index()];
        self.ends.end(thread, process, time);
        if known.is_joined {
            let token = self.tokens.make();
            self.joins.threads.insert(thread, token);
            self.emit(thread, time, ItemKind::Release(token), observer);
        }
        if known.is_reaped {
            let token = *self.joins.processes.entry(process).or_insert_with(|| self.tokens.make());
            self.emit(thread, time, ItemKind::Release(token), observer);
        }
        let Some((joiner, _)) = self.joins.early.remove(&thread) else { return };
        let Some(token) = self.take_end(joiner, thread) else { return };
        match self.threads[joiner.index()].state {
            State::Absent => {}
            state if state.is_on_cpu() => self.acquire_end(joiner, time, token, observer),
            _ => self.joins.due.entry(joiner).or_default().push(token),
        }
    }

    /// Whether a thread that was in this call let another one go on by its own end, by which nothing was waited for.
    pub(super) fn ends_killed(&self, thread: ThreadId, call: Option<CallId>) -> bool {
        let is_killed = self.sources.known[thread.index()].killed == Some(KilledBy::Creator);
        is_killed && self.call(call).is_none_or(|call| is_at_work(call.number))
    }

    /// The thread wakes for the time of this number, from a sleep: it may have been told to end meanwhile.
    pub(super) fn find_stop(&self, thread: ThreadId, time: Time, wake: u64, observer: &mut impl Observer) {
        if self.sources.known[thread.index()].stopped != Some(wake) {
            return;
        }
        if let Some(&(joiner, source_time)) = self.joins.early.get(&thread) {
            let (source, kind) = (self.global(joiner), DependenceKind::Stop);
            self.emit(thread, time, ItemKind::Depend { source, source_time, kind }, observer);
        }
    }

    /// The thread wakes for the time of this number, from a sleep: another one may have ended meanwhile, which it sees now.
    pub(super) fn find_end(&self, thread: ThreadId, time: Time, wake: u64, observer: &mut impl Observer) {
        let seen = &self.sources.known[thread.index()].seen_ends;
        let Ok(position) = seen.binary_search_by_key(&wake, |seen| seen.wake) else { return };
        let ended = seen[position].ended;
        let LiveThread { state: State::Absent, since: source_time, .. } = self.threads[ended.index()] else {
            return;
        };
        let (source, kind) = (self.global(ended), DependenceKind::Join);
        self.emit(thread, time, ItemKind::Depend { source, source_time, kind }, observer);
    }

    /// The thread runs: what it waited for has ended.
    pub(super) fn acquire_due(&mut self, thread: ThreadId, time: Time, observer: &mut impl Observer) {
        if self.joins.due.is_empty() {
            return;
        }
        for token in self.joins.due.remove(&thread).unwrap_or_default() {
            self.acquire_end(thread, time, token, observer);
        }
    }

    /// The token of the end that this thread joins: that of a thread of its own process, or of a whole other process.
    fn take_end(&mut self, thread: ThreadId, ended: ThreadId) -> Option<TokenId> {
        let processes = self.sources.processes;
        let (own, other) = (processes[thread.index()], processes[ended.index()]);
        if own == other { self.joins.threads.remove(&ended) } else { self.joins.processes.remove(&other) }
    }

    fn acquire_end(&self, thread: ThreadId, time: Time, token: TokenId, observer: &mut impl Observer) {
        let acquisition =
            Acquisition { token, kind: DependenceKind::Join, object: None, queue: None, last: true };
        self.emit(thread, time, ItemKind::Acquire(acquisition), observer);
    }
}
