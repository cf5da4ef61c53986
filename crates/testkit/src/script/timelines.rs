//! An execution as the timelines that a collector which sees everything would record.

use std::collections::BTreeMap;

use longpole_event::{ProcessId, ThreadId, Time};
use longpole_trace::{
    Acquisition, Cause, ConditionRules, ConditionSites, DependenceKind, Item, ItemKind, LockHold,
    MonitorStep, Monitors, ObjectId, ObjectKind, ObservationKind, PathId, Paths, QueueId, State, Thread,
    TokenId,
};

use super::executor::ScriptEvent;
use super::{Conditions, Execution, Script, ScriptStep};
use crate::memory::MemoryTimelines;

/// What a token stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum TokenMeaning {
    /// The end of a thread.
    End(usize),
    /// A round of a barrier.
    Round(usize, usize),
    /// What a take of a semaphore takes, by number.
    Item(usize, u64),
    /// A flag.
    Flag(usize),
    /// What a thread told of conditions, by number.
    Told(u64),
}

struct Timeline<'a> {
    script: &'a Script,
    made: MemoryTimelines,
    now: Time,
    states: Vec<State>,
    spins: Vec<bool>,
    /// Threads that wait at a barrier.
    arrived: Vec<bool>,
    /// Of procedures that nothing calls.
    paths: Vec<PathId>,
    /// Where each thread is.
    here: Vec<PathId>,
    tokens: BTreeMap<TokenMeaning, TokenId>,
    /// Rounds that each thread has done at each barrier.
    rounds: BTreeMap<(usize, usize), usize>,
    posts: Vec<u64>,
    takes: Vec<u64>,
    /// Mutexes that each thread holds, since when, and whether it had to wait.
    held: BTreeMap<(usize, usize), (Time, bool)>,
    /// Threads that wait for a mutex.
    contended: Vec<bool>,
    monitors: Monitors<'a>,
    told: u64,
}

/// What follows from the signals of an execution, by what its threads tell.
fn condition_rules(execution: &Execution) -> ConditionRules {
    let told = || {
        execution.occurrences.iter().filter_map(|occurrence| match occurrence.what {
            ScriptEvent::Told(step) => Some((ThreadId::from_index(occurrence.thread), step)),
            _ => None,
        })
    };
    let mut sites = ConditionSites::default();
    told().for_each(|(thread, step)| sites.take(thread, step));
    let mut counter = sites.into_counter();
    told().for_each(|(thread, step)| counter.take(thread, step));
    counter.into_rules()
}

impl Script {
    /// Executes the program and gives its timelines; procedure number p has the id p.
    #[must_use]
    pub fn timelines(&self, conditions: &Conditions) -> MemoryTimelines {
        let execution = self.execute(conditions);
        let mut made = MemoryTimelines::default();
        let cpus = conditions.processors.min(1024) as u32;
        let machine = made.machine("script", cpus);
        made.program.machines[machine.index()].real_time = conditions.has_own_queues;
        let process = made.process(machine, "script");
        let paths = self.procedures.iter().map(|name| made.call(Paths::ROOT, name, 1)).collect();
        for (index, thread) in self.threads.iter().enumerate() {
            made.program.threads.push(Thread {
                process,
                tid: 100 + index as u32,
                name: thread.name.clone(),
                start: Time::ZERO,
                end: None,
                creator: None,
                prefix: Paths::ROOT,
            });
        }
        made.program.elapsed_nanoseconds = execution.elapsed;
        let rules = condition_rules(&execution);
        let mut timeline = Timeline {
            script: self,
            made,
            now: Time::ZERO,
            states: vec![State::Absent; self.threads.len()],
            spins: vec![false; self.threads.len()],
            arrived: vec![false; self.threads.len()],
            paths,
            here: vec![Paths::ROOT; self.threads.len()],
            tokens: BTreeMap::new(),
            rounds: BTreeMap::new(),
            posts: vec![0; self.semaphores.len()],
            takes: vec![0; self.semaphores.len()],
            held: BTreeMap::new(),
            contended: vec![false; self.threads.len()],
            monitors: Monitors::new(&rules),
            told: 0,
        };
        for occurrence in &execution.occurrences {
            timeline.now = Time::from_nanoseconds(occurrence.time);
            timeline.take(occurrence.thread, occurrence.what);
        }
        assert_eq!(timeline.made.program.processes.len(), ProcessId(1).index());
        for index in 0..2 * self.monitors.len() {
            let object = timeline.condition(index);
            timeline.made.objects.set_signals(object, rules.signals(index as u32));
        }
        timeline.made.settle_exclusions();
        timeline.made
    }
}

impl Timeline<'_> {
    fn push(&mut self, thread: usize, what: ItemKind) {
        self.made.items.push(Item { time: self.now, thread: ThreadId::from_index(thread), what });
    }

    fn enter(&mut self, thread: usize, state: State) {
        if std::mem::replace(&mut self.states[thread], state) != state {
            self.push(thread, ItemKind::State(state));
        }
    }

    fn path(&mut self, thread: usize, procedure: usize) -> PathId {
        if self.script.callers.is_empty() {
            return self.paths[procedure];
        }
        let outer = match self.script.callers[procedure] {
            Some(caller) => self.path(thread, caller),
            None => self.made.program.threads[thread].prefix,
        };
        self.made.call(outer, &self.script.procedures[procedure], 1)
    }

    fn depend(&mut self, thread: usize, source: usize, kind: DependenceKind) {
        let source = ThreadId::from_index(source);
        self.push(thread, ItemKind::Depend { source, source_time: self.now, kind });
    }

    fn token(&mut self, node: TokenMeaning) -> TokenId {
        let next = TokenId(self.tokens.len() as u32);
        *self.tokens.entry(node).or_insert(next)
    }

    fn release(&mut self, thread: usize, node: TokenMeaning) {
        let token = self.token(node);
        self.push(thread, ItemKind::Release(token));
    }

    fn acquire(&mut self, thread: usize, node: TokenMeaning, kind: DependenceKind, object: Option<ObjectId>) {
        let token = self.token(node);
        self.push(thread, ItemKind::Acquire(Acquisition { token, kind, object, queue: None, last: false }));
    }

    fn take(&mut self, thread: usize, what: ScriptEvent) {
        match what {
            ScriptEvent::Begins(creator) => {
                self.made.program.threads[thread].start = self.now;
                if let Some(creator) = creator {
                    self.made.program.threads[thread].creator = Some(ThreadId::from_index(creator));
                    if !self.script.callers.is_empty() {
                        self.here[thread] = self.here[creator];
                        self.made.program.threads[thread].prefix = self.here[creator];
                    }
                    self.depend(thread, creator, DependenceKind::Create);
                }
                self.enter(thread, State::Ready);
            }
            ScriptEvent::Runs => {
                self.enter(thread, if self.spins[thread] { State::Spinning } else { State::Running })
            }
            ScriptEvent::Queues => self.enter(thread, State::Ready),
            ScriptEvent::Was(procedure) => {
                let path = self.path(thread, procedure);
                self.here[thread] = path;
                self.push(thread, ItemKind::Observe { path, kind: ObservationKind::Boundary });
            }
            ScriptEvent::Waits(step) => self.wait(thread, step),
            ScriptEvent::Woken(waker, step) => {
                if let Some(waker) = waker {
                    self.depend(thread, waker, kind_of(step));
                }
                let was_spinning = std::mem::take(&mut self.spins[thread]);
                match self.states[thread] {
                    State::Spinning => self.enter(thread, State::Running),
                    State::Ready if was_spinning => {}
                    _ => self.enter(thread, State::Ready),
                }
            }
            ScriptEvent::Did(step) => self.did(thread, step),
            ScriptEvent::Told(step) => self.tell(thread, step),
            ScriptEvent::Ends => {
                self.release(thread, TokenMeaning::End(thread));
                self.made.program.threads[thread].end = Some(self.now);
                self.enter(thread, State::Absent);
            }
        }
    }

    fn wait(&mut self, thread: usize, step: ScriptStep) {
        if let ScriptStep::Spin(_) = step {
            self.spins[thread] = true;
            self.enter(thread, State::Spinning);
            return;
        }
        if let ScriptStep::Barrier(barrier) = step {
            self.release_round(thread, barrier);
            self.arrived[thread] = true;
        }
        if let Some(object) = self.object(step) {
            self.push(thread, ItemKind::Await(object));
        }
        self.contended[thread] = matches!(step, ScriptStep::Lock(_));
        let cause = match step {
            ScriptStep::Sleep(_) => Cause::Sleep,
            ScriptStep::Join(_) => Cause::Join,
            ScriptStep::Lock(_) => Cause::Lock,
            ScriptStep::Barrier(_) => Cause::Barrier,
            ScriptStep::Take(_) => Cause::Semaphore,
            ScriptStep::Monitor(..) => Cause::Condition,
            _ => Cause::Other,
        };
        self.enter(thread, State::Blocked(cause));
    }

    fn object(&mut self, step: ScriptStep) -> Option<ObjectId> {
        let (kind, name) = match step {
            ScriptStep::Lock(mutex) => (ObjectKind::Mutex, self.script.mutexes[mutex].clone()),
            ScriptStep::Barrier(barrier) => (ObjectKind::Barrier, self.script.barriers[barrier].0.clone()),
            ScriptStep::Take(semaphore) => {
                (ObjectKind::Semaphore, self.script.semaphores[semaphore].0.clone())
            }
            ScriptStep::Monitor(verb, monitor) => {
                return Some(self.condition(2 * monitor + verb.condition()));
            }
            _ => return None,
        };
        Some(self.made.known_object(kind, &name))
    }

    /// The condition of this number: two of each monitor.
    fn condition(&mut self, index: usize) -> ObjectId {
        let name = format!("{}.{}", self.script.monitors[index / 2].name, index % 2);
        self.made.known_object(ObjectKind::Condition, &name)
    }

    fn tell(&mut self, thread: usize, step: MonitorStep) {
        let mut done = Vec::new();
        let (tokens, told) = (&mut self.tokens, &mut self.told);
        let mut make = || {
            *told += 1;
            let next = TokenId(tokens.len() as u32);
            *tokens.entry(TokenMeaning::Told(*told)).or_insert(next)
        };
        self.monitors.take(ThreadId::from_index(thread), step, &mut make, &mut done);
        for token in done {
            let what = token.item_kind(|queue| self.script.shares_items.then_some(QueueId(queue as u32)));
            self.push(thread, what);
        }
    }

    /// The thread's hold of a mutex is over, as the agent tells it.
    fn hold(&mut self, thread: usize, mutex: usize) {
        let Some((since, contended)) = self.held.remove(&(thread, mutex)) else { return };
        let object = self.made.known_object(ObjectKind::Mutex, &self.script.mutexes[mutex]);
        let nanoseconds = self.now.since(since);
        self.push(
            thread,
            ItemKind::Held(LockHold {
                object,
                path: Paths::ROOT,
                outer: None,
                acquisitions: 1,
                contended: u64::from(contended),
                nanoseconds,
                longest: nanoseconds,
            }),
        );
    }

    fn release_round(&mut self, thread: usize, barrier: usize) {
        let round = self.rounds.get(&(thread, barrier)).copied().unwrap_or(0);
        self.release(thread, TokenMeaning::Round(barrier, round));
    }

    fn did(&mut self, thread: usize, step: ScriptStep) {
        let object = self.object(step);
        match step {
            ScriptStep::Barrier(barrier) => {
                if !std::mem::take(&mut self.arrived[thread]) {
                    self.release_round(thread, barrier);
                }
                let round = self.rounds.entry((thread, barrier)).or_default();
                let node = TokenMeaning::Round(barrier, *round);
                *round += 1;
                self.acquire(thread, node, DependenceKind::Barrier, object);
            }
            ScriptStep::Post(semaphore) => {
                let item = self.posts[semaphore] + self.script.semaphores[semaphore].1;
                self.posts[semaphore] += 1;
                self.release(thread, TokenMeaning::Item(semaphore, item));
            }
            ScriptStep::Take(semaphore) => {
                let item = self.takes[semaphore];
                self.takes[semaphore] += 1;
                self.acquire(thread, TokenMeaning::Item(semaphore, item), DependenceKind::Post, object);
            }
            ScriptStep::Lock(mutex) => {
                let contended = std::mem::take(&mut self.contended[thread]);
                self.held.insert((thread, mutex), (self.now, contended));
            }
            ScriptStep::Unlock(mutex) => self.hold(thread, mutex),
            ScriptStep::Join(other) => {
                self.acquire(thread, TokenMeaning::End(other), DependenceKind::Join, None)
            }
            ScriptStep::Set(flag) => self.release(thread, TokenMeaning::Flag(flag)),
            ScriptStep::Spin(flag) => {
                self.spins[thread] = false;
                self.acquire(thread, TokenMeaning::Flag(flag), DependenceKind::Signal, None);
            }
            _ => {}
        }
    }
}

fn kind_of(step: ScriptStep) -> DependenceKind {
    match step {
        ScriptStep::Unlock(_) => DependenceKind::Unlock,
        ScriptStep::Barrier(_) => DependenceKind::Barrier,
        ScriptStep::Post(_) => DependenceKind::Post,
        ScriptStep::Join(_) => DependenceKind::Join,
        ScriptStep::Set(_) | ScriptStep::Monitor(..) => DependenceKind::Signal,
        _ => DependenceKind::Wake,
    }
}
