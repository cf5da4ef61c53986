//! The plan in which threads that pass data on keep in step, where the recording does not show what goes through their streams.
//!
//! ```text
//!   writer  work 3 | write, wakes the reader | work 3 | write ...      seen: the reader waits for each of these writes
//!   reader  work 2 | wait                    | work 2 | wait ...       not seen: whether the writer could have been further ahead
//! ```
//! How much a pipe held at a moment is not known then, nor which reads found data that had been written. The writer cannot be further
//! ahead than the stream has room, and the reader has read what it reads from the writer. In this plan the thread that ends a wait
//! for a stream does so no earlier than the other one had begun to wait. When a thread ends, or begins to wait for the end of another one, who
//! reads from it is no further than it was then. The run gains no less than that, for what the streams order.

use std::collections::BTreeSet;

use longpole_event::{ThreadId, Time};
use longpole_graph::{Arc, Dependence};
use longpole_trace::{Acquisition, Cause, DependenceKind, ObjectId, State};
use rustc_hash::{FxHashMap, FxHashSet};

use super::compiler::Compiler;
use super::plan::{NodeId, PlanStep};

/// Two threads, the one with the smaller number first.
type ThreadPair = (ThreadId, ThreadId);

/// Finds threads that pass data on through streams of which only waits are seen.
#[derive(Debug, Default)]
pub(super) struct UnseenStreams {
    waits: BTreeSet<(ThreadPair, Cause, Option<ObjectId>)>,
    /// Streams whose contents are seen.
    seen: FxHashSet<ObjectId>,
}

fn pair(one: ThreadId, other: ThreadId) -> ThreadPair {
    (one.min(other), one.max(other))
}

/// Whether a thread in this state waits for data, or for room for them.
fn waits_for_data(state: State) -> Option<Cause> {
    match state {
        State::Blocked(cause @ (Cause::Pipe | Cause::Socket)) => Some(cause),
        _ => None,
    }
}

/// Whether a thread in this state has passed on all that it had: it has ended, or waits for the end of another one.
fn passes_no_more_on(state: State) -> bool {
    matches!(state, State::Absent | State::Blocked(Cause::Join | Cause::Child))
}

impl UnseenStreams {
    /// A thread in this state is let go on.
    pub fn end_wait(&mut self, state: State, dependence: &Dependence) {
        if let Some(cause) = waits_for_data(state) {
            let threads = pair(dependence.thread, dependence.source);
            self.waits.insert((threads, cause, dependence.object));
        }
    }

    /// A thread acquires what another one released.
    pub fn acquire(&mut self, acquisition: &Acquisition) {
        if acquisition.kind == DependenceKind::Message {
            self.seen.extend(acquisition.object);
        }
    }

    /// The threads that pass data on through such streams. Where the contents of any are seen, those of all sockets are: a socket's two
    /// ends are two objects.
    pub fn into_pairs(self) -> BTreeSet<ThreadPair> {
        let is_seen = |cause: Cause, object: Option<ObjectId>| match cause {
            Cause::Socket => !self.seen.is_empty(),
            _ => object.is_some_and(|object| self.seen.contains(&object)),
        };
        let unseen = self.waits.iter().filter(|&&(_, cause, object)| !is_seen(cause, object));
        unseen.map(|&(threads, ..)| threads).collect()
    }
}

/// Keeps threads in step.
#[derive(Debug, Default)]
pub(super) struct ThreadsInStep {
    /// Those with which each thread keeps in step.
    others: FxHashMap<ThreadId, Vec<ThreadId>>,
    /// Those of them that have begun and not ended.
    there: FxHashMap<ThreadId, BTreeSet<ThreadId>>,
    /// By thread that waits for data: what it released when it began to.
    begun: FxHashMap<ThreadId, NodeId>,
    /// What a thread waits for at a moment that is over, once what it did until then is known.
    due: FxHashMap<ThreadId, Vec<(Time, NodeId)>>,
}

impl ThreadsInStep {
    pub fn of(pairs: BTreeSet<ThreadPair>) -> ThreadsInStep {
        let mut in_step = ThreadsInStep::default();
        for (one, other) in pairs {
            in_step.others.entry(one).or_default().push(other);
            in_step.others.entry(other).or_default().push(one);
        }
        in_step
    }

    /// The thread begins, or ends.
    fn is_there(&mut self, thread: ThreadId, is: bool) {
        for &other in self.others.get(&thread).into_iter().flatten() {
            let there = self.there.entry(other).or_default();
            if is {
                there.insert(thread)
            } else {
                there.remove(&thread)
            };
        }
    }
}

impl Compiler<'_> {
    /// The thread goes from a state into another one at this moment.
    pub(super) fn follow_steps(&mut self, thread: ThreadId, time: Time, (before, state): (State, State)) {
        let Some(in_step) = self.in_step.as_mut().filter(|in_step| in_step.others.contains_key(&thread))
        else {
            return;
        };
        if before == State::Absent || state == State::Absent {
            in_step.is_there(thread, state != State::Absent);
        }
        let (waits, passes) = (waits_for_data(state).is_some(), passes_no_more_on(state));
        if !waits && !passes {
            return;
        }
        let node = self.released_now(thread);
        let Some(in_step) = &mut self.in_step else { return };
        if waits {
            in_step.begun.insert(thread, node);
            return;
        }
        for &other in in_step.there.get(&thread).into_iter().flatten() {
            in_step.due.entry(other).or_default().push((time, node));
        }
    }

    /// Divides what the thread did where it is to wait for those with which it keeps in step; what is left.
    pub(super) fn divide_in_step(&mut self, mut arc: Arc) -> Arc {
        let due = self.in_step.as_mut().and_then(|in_step| in_step.due.remove(&arc.thread));
        for (time, node) in due.into_iter().flatten() {
            if arc.state == State::Running {
                self.run(arc.thread, arc.from, time);
                self.cut(arc.thread, time);
                arc.from = time.max(arc.from);
            }
            self.wait_in_step(arc.thread, node);
        }
        arc
    }

    /// The source is about to let the thread go on.
    pub(super) fn keep_step(&mut self, thread: ThreadId, source: ThreadId) {
        let Some(in_step) = &mut self.in_step else { return };
        if in_step.there.get(&source).is_some_and(|there| there.contains(&thread))
            && let Some(node) = in_step.begun.remove(&thread)
        {
            self.wait_in_step(source, node);
        }
    }

    fn released_now(&mut self, thread: ThreadId) -> NodeId {
        let node = self.node();
        self.push(thread, PlanStep::Release(node));
        node
    }

    fn wait_in_step(&mut self, thread: ThreadId, node: NodeId) {
        self.push(thread, PlanStep::Wait { node, releases: 1, object: None, spins: false });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use longpole_trace::TokenId;

    #[test]
    fn streams_whose_contents_are_seen_keep_no_threads_in_step() {
        let wait = |thread, source, object| Dependence {
            source: ThreadId(source),
            source_time: Time::ZERO,
            thread: ThreadId(thread),
            time: Time::ZERO,
            kind: DependenceKind::Message,
            object: Some(ObjectId(object)),
        };
        let pairs = |seen: Option<u32>| {
            let mut streams = UnseenStreams::default();
            streams.end_wait(State::Blocked(Cause::Pipe), &wait(2, 1, 7));
            streams.end_wait(State::Blocked(Cause::Pipe), &wait(1, 2, 7));
            streams.end_wait(State::Blocked(Cause::Socket), &wait(4, 3, 8));
            streams.end_wait(State::Blocked(Cause::Condition), &wait(5, 3, 9));
            let object = seen.map(ObjectId);
            let (token, kind) = (TokenId(0), DependenceKind::Message);
            streams.acquire(&Acquisition { token, kind, object, queue: None, last: true });
            let numbers = |(one, other): ThreadPair| (one.0, other.0);
            streams.into_pairs().into_iter().map(numbers).collect::<Vec<_>>()
        };
        assert_eq!(pairs(None), [(1, 2), (3, 4)]);
        assert_eq!(pairs(Some(7)), []);
        assert_eq!(pairs(Some(6)), [(1, 2)], "another one of the kind");
    }
}
