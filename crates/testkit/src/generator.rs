//! Random runs: small, consistent timelines for property tests.
//!
//! A run is made by a list of random steps, each of which lets a little time pass and one thread do something
//! that is possible in its state. So whatever proptest shrinks is still a run: nobody wakes while not
//! waiting, nobody enables others while blocked, messages arrive after they were sent.

use longpole_event::{ThreadId, Time};
use longpole_trace::{
    Acquisition, Cause, DependenceKind, Item, ItemKind, LockHold, ObjectKind, ObservationKind, PathId, Paths,
    State, Thread, TokenId,
};
use proptest::prelude::*;

use crate::memory::MemoryTimelines;

const CAUSES: [Cause; 8] = [
    Cause::Lock,
    Cause::Condition,
    Cause::Io,
    Cause::Sleep,
    Cause::PageFault,
    Cause::Pipe,
    Cause::Barrier,
    Cause::Other,
];
const KINDS: [DependenceKind; 5] = [
    DependenceKind::Unlock,
    DependenceKind::Signal,
    DependenceKind::Barrier,
    DependenceKind::Post,
    DependenceKind::Wake,
];

/// Runs of up to `threads` threads made by up to `steps` steps.
pub fn random_timelines(threads: usize, steps: usize) -> impl Strategy<Value = MemoryTimelines> {
    let step = (0..4_u64, any::<u8>(), any::<u8>(), any::<u8>());
    let steps = proptest::collection::vec(step, steps / 3..=steps);
    (1..=2_usize, any::<bool>(), steps).prop_map(move |(roots, all_end, steps)| {
        let mut run = GeneratedRun::begin(roots.min(threads), threads);
        for (time, thread, action, argument) in steps {
            run.now = run.now + time;
            run.step(thread.into(), action, argument.into());
        }
        run.end(all_end)
    })
}

struct GeneratedRun {
    made: MemoryTimelines,
    now: Time,
    states: Vec<State>,
    /// Where each thread is, below its prefix.
    places: Vec<PathId>,
    /// Messages under way.
    sent: Vec<(ThreadId, Time)>,
    /// Tokens that can be acquired, and how many there were.
    tokens: Vec<TokenId>,
    known_tokens: u32,
    most: usize,
}

impl GeneratedRun {
    fn begin(roots: usize, most: usize) -> GeneratedRun {
        let mut made = MemoryTimelines::default();
        let machine = made.machine("random", 2);
        let _ = made.process(machine, "random");
        let mut run = GeneratedRun {
            made,
            now: Time::ZERO,
            states: Vec::new(),
            places: Vec::new(),
            sent: Vec::new(),
            tokens: Vec::new(),
            known_tokens: 0,
            most,
        };
        for _ in 0..roots {
            let thread = run.add_thread(None);
            run.enter(thread, State::Running);
        }
        run
    }

    /// Ends the run a little later; the threads that are still there live on, or end with it.
    fn end(mut self, all_end: bool) -> MemoryTimelines {
        self.now = self.now + 1;
        self.made.program.elapsed_nanoseconds = self.now.nanoseconds();
        for thread in (0..self.states.len()).map(ThreadId::from_index) {
            if all_end && self.states[thread.index()] != State::Absent {
                self.enter(thread, State::Absent);
            }
        }
        self.made
    }

    fn add_thread(&mut self, creator: Option<ThreadId>) -> ThreadId {
        let id = ThreadId::from_index(self.states.len());
        let prefix = creator.map_or(Paths::ROOT, |creator| self.places[creator.index()]);
        self.made.program.threads.push(Thread {
            process: longpole_event::ProcessId(0),
            tid: 100 + id.0,
            name: format!("T{}", id.0),
            start: self.now,
            end: None,
            creator,
            prefix,
        });
        self.states.push(State::Absent);
        self.places.push(prefix);
        id
    }

    fn push(&mut self, thread: ThreadId, what: ItemKind) {
        self.made.items.push(Item { time: self.now, thread, what });
    }

    fn enter(&mut self, thread: ThreadId, state: State) {
        assert_ne!(self.states[thread.index()], state, "a step changes the state");
        self.states[thread.index()] = state;
        self.push(thread, ItemKind::State(state));
        if state == State::Absent {
            self.made.program.threads[thread.index()].end = Some(self.now);
        }
    }

    /// The thread is observed at one of a few paths below its prefix.
    fn observe(&mut self, thread: ThreadId, argument: usize) {
        let prefix = self.made.program.threads[thread.index()].prefix;
        let outer = self.made.call(prefix, ["A", "B", "C"][argument % 3], 1);
        let path = match argument / 3 % 3 {
            0 => outer,
            1 => self.made.call(outer, "A", 2),
            _ => self.made.call(outer, "D", 3),
        };
        self.places[thread.index()] = path;
        self.push(thread, ItemKind::Observe { path, kind: ObservationKind::Boundary });
    }

    fn depend(&mut self, thread: ThreadId, source: ThreadId, source_time: Time, kind: DependenceKind) {
        self.push(thread, ItemKind::Depend { source, source_time, kind });
    }

    /// Some thread for which `is` holds.
    fn pick(&self, choice: usize, is: impl Fn(ThreadId, State) -> bool) -> Option<ThreadId> {
        let ids = (0..self.states.len()).map(ThreadId::from_index);
        let fit: Vec<_> = ids.filter(|&id| is(id, self.states[id.index()])).collect();
        (!fit.is_empty()).then(|| fit[choice % fit.len()])
    }

    fn step(&mut self, choice: usize, action: u8, argument: usize) {
        let Some(thread) = self.pick(choice, |_, state| state != State::Absent) else { return };
        match self.states[thread.index()] {
            State::Absent => {}
            State::Running => self.step_running(thread, action, argument),
            State::Spinning => self.step_spinning(thread, action, argument),
            State::Overhead => self.enter(thread, State::Running),
            // Before it lost its processor it may have spun.
            State::Ready if action.is_multiple_of(5) => self.enter(thread, State::Spinning),
            State::Ready => self.enter(thread, State::Running),
            State::Blocked(_) => self.step_blocked(thread, action, argument),
        }
    }

    /// It goes on, now and then enabled by another thread, blocks, or loses its processor.
    fn step_spinning(&mut self, thread: ThreadId, action: u8, argument: usize) {
        self.observe(thread, argument);
        match action % 5 {
            0 => return self.enter(thread, State::Blocked(CAUSES[argument % CAUSES.len()])),
            1 => return self.enter(thread, State::Ready),
            2 | 3 => {
                let source = self.pick(argument, |id, state| id != thread && state == State::Running);
                if let Some(source) = source {
                    self.depend(thread, source, self.now, DependenceKind::Unlock);
                }
            }
            _ => {}
        }
        self.enter(thread, State::Running);
    }

    /// Mostly a running thread wakes it; else something that nobody sees, or a message.
    fn step_blocked(&mut self, thread: ThreadId, action: u8, argument: usize) {
        if !action.is_multiple_of(4)
            && let Some(waker) = self.pick(argument, |_, state| state == State::Running)
        {
            return self.wake(waker, thread, argument);
        }
        if !self.sent.is_empty() && action.is_multiple_of(8) {
            let (source, time) = self.sent.swap_remove(argument % self.sent.len());
            if source != thread {
                self.depend(thread, source, time, DependenceKind::Message);
            }
        }
        self.enter(thread, if argument.is_multiple_of(2) { State::Ready } else { State::Running });
    }

    /// The thread waits for some object, or for what is not known.
    fn wait(&mut self, thread: ThreadId, argument: usize) {
        let cause = CAUSES[argument % CAUSES.len()];
        let kind = ObjectKind::ALL.iter().find(|kind| kind.cause() == cause);
        if let (Some(&kind), Some(name)) = (kind, ["m", "n", "o"].get(argument / CAUSES.len() % 4)) {
            let object = self.made.known_object(kind, name);
            self.push(thread, ItemKind::Await(object));
        }
        self.enter(thread, State::Blocked(cause));
    }

    /// It tells of what it held.
    fn hold(&mut self, thread: ThreadId, argument: usize) {
        let object = self.made.known_object(ObjectKind::Mutex, ["m", "n"][argument % 2]);
        let path = self.places[thread.index()];
        let (longest, acquisitions) = (argument as u64 % 7, 1 + argument as u64 % 3);
        let contended = acquisitions / 2;
        let nanoseconds = longest + acquisitions - 1;
        self.push(
            thread,
            ItemKind::Held(LockHold {
                object,
                path,
                outer: None,
                acquisitions,
                contended,
                nanoseconds,
                longest,
            }),
        );
    }

    /// It releases a token, a new one or one that others have released, or acquires one.
    fn pass_token(&mut self, thread: ThreadId, argument: usize) {
        if self.tokens.is_empty() || argument.is_multiple_of(4) {
            self.tokens.push(TokenId(self.known_tokens));
            self.known_tokens += 1;
        }
        let index = argument / 4 % self.tokens.len();
        let token = self.tokens[index];
        if !argument.is_multiple_of(3) && !argument.is_multiple_of(4) {
            let last = argument.is_multiple_of(5);
            if last {
                self.tokens.swap_remove(index);
            }
            let kind = KINDS[argument % KINDS.len()];
            self.push(
                thread,
                ItemKind::Acquire(Acquisition { token, kind, object: None, queue: None, last }),
            );
        } else {
            self.push(thread, ItemKind::Release(token));
        }
    }

    fn wake(&mut self, waker: ThreadId, other: ThreadId, argument: usize) {
        self.depend(other, waker, self.now, KINDS[argument % KINDS.len()]);
        // Now and then the woken thread finds nothing changed, and waits on.
        if !argument.is_multiple_of(7) {
            self.enter(other, if argument.is_multiple_of(2) { State::Ready } else { State::Running });
        }
    }

    fn step_running(&mut self, thread: ThreadId, action: u8, argument: usize) {
        // A switch-out without a stack, now and then.
        if !action.is_multiple_of(11) {
            self.observe(thread, argument);
        }
        match action % 8 {
            0 => self.wait(thread, argument),
            1 => self.enter(thread, State::Ready),
            2 => {
                if let Some(name) = ["m", "n"].get(argument % 3) {
                    let object = self.made.known_object(ObjectKind::SpinLock, name);
                    self.push(thread, ItemKind::Await(object));
                }
                self.enter(thread, State::Spinning);
            }
            3 if self.states.len() < self.most => {
                let child = self.add_thread(Some(thread));
                self.depend(child, thread, self.now, DependenceKind::Create);
                self.enter(child, if argument.is_multiple_of(2) { State::Ready } else { State::Running });
            }
            4 | 5 => {
                let blocked = |id, state| id != thread && matches!(state, State::Blocked(_));
                if let Some(other) = self.pick(argument, blocked) {
                    self.wake(thread, other, argument);
                }
            }
            6 if argument.is_multiple_of(3) => self.enter(thread, State::Overhead),
            6 if argument % 3 == 1 => self.sent.push((thread, self.now)),
            6 => self.pass_token(thread, argument),
            7 if argument % 3 == 1 => self.hold(thread, argument),
            7 if argument.is_multiple_of(3) => self.enter(thread, State::Absent),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;

    use super::*;

    /// Runs in which nothing happens would make every law hold.
    #[test]
    fn runs_hold_all_that_laws_are_about() {
        let mut runner = TestRunner::deterministic();
        let strategy = random_timelines(4, 60);
        let (mut seen, mut dependences) = (std::collections::BTreeSet::new(), 0);
        for _ in 0..100 {
            let tree = strategy.new_tree(&mut runner).expect("the strategy rejects nothing");
            for item in tree.current().items {
                seen.insert(match item.what {
                    ItemKind::State(State::Blocked(_)) => "blocked".to_owned(),
                    ItemKind::State(state) => format!("{state:?}"),
                    ItemKind::Observe { .. } => "observed".to_owned(),
                    ItemKind::Await(_) => "awaited".to_owned(),
                    ItemKind::Written { .. } => "written".to_owned(),
                    ItemKind::Held(_) => "held".to_owned(),
                    ItemKind::Release(_) => "released".to_owned(),
                    ItemKind::Acquire(_) => "acquired".to_owned(),
                    ItemKind::Depend { source_time, .. } if source_time < item.time => "under way".to_owned(),
                    ItemKind::Depend { kind, .. } => format!("{kind:?}"),
                });
                dependences += usize::from(matches!(item.what, ItemKind::Depend { .. }));
            }
        }
        let all = [
            "Absent", "Barrier", "Create", "Overhead", "Post", "Ready", "Running", "Signal", "Spinning",
            "Unlock", "Wake",
        ];
        for what in all.into_iter().chain([
            "blocked",
            "awaited",
            "held",
            "observed",
            "under way",
            "released",
            "acquired",
        ]) {
            assert!(seen.contains(what), "no {what} in {seen:?}");
        }
        assert!(dependences > 300, "only {dependences} dependences in 100 runs");
    }

    #[test]
    fn items_are_in_time_order_and_no_state_comes_twice() {
        let mut runner = TestRunner::deterministic();
        let strategy = random_timelines(4, 60);
        for _ in 0..50 {
            let made = strategy.new_tree(&mut runner).expect("the strategy rejects nothing").current();
            assert!(made.items.is_sorted_by_key(|item| item.time));
            let mut states = vec![State::Absent; made.program.threads.len()];
            for item in &made.items {
                if let ItemKind::State(state) = item.what {
                    assert_ne!(std::mem::replace(&mut states[item.thread.index()], state), state);
                }
            }
        }
    }
}
