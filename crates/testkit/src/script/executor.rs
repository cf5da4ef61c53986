//! Executes a [`Script`] on processors.
//!
//! Threads that can run queue first come, first served; a processor keeps a thread for a quantum, or until it waits.
//! All steps but compute and sleep take no time, yet a thread does them only on a processor. A spin ends when its flag
//! is set and takes the processor until then.
//!
//! With queues of their own ([`Conditions::has_own_queues`]) each processor has a queue. A thread queues for the processor that it had last
//! if that is free, else for the first free one, else for its last one; a new thread's last one is that of its creator. A processor without
//! a queue takes the first of the longest one.

use std::collections::VecDeque;

use longpole_trace::MonitorStep;

use super::monitor::{self, MonitorState, MonitorVerb};
use super::{Script, ScriptStep};

/// How a program is executed.
#[derive(Clone, Debug)]
pub struct Conditions {
    /// Processors; as many as threads, or more, is as many as wanted.
    pub processors: usize,
    /// Whether each processor has a queue of its own; else there is one for all.
    pub has_own_queues: bool,
    /// Longest time that a thread keeps a processor that others want.
    pub quantum: u64,
    /// Factor of the CPU time of each procedure; those beyond have 1.
    pub factors: Vec<f64>,
    /// Factor of sleeps.
    pub sleep: f64,
}

impl Conditions {
    /// As many processors as wanted, everything as it is written.
    #[must_use]
    pub fn unlimited() -> Conditions {
        Conditions {
            processors: usize::MAX,
            has_own_queues: false,
            quantum: u64::MAX,
            factors: Vec::new(),
            sleep: 1.0,
        }
    }

    /// The same with the procedure at this factor.
    #[must_use]
    pub fn with(mut self, procedure: usize, factor: f64) -> Conditions {
        if self.factors.len() <= procedure {
            self.factors.resize(procedure + 1, 1.0);
        }
        self.factors[procedure] = factor;
        self
    }

    fn time_of(&self, procedure: usize, time: u64) -> u64 {
        (time as f64 * self.factors.get(procedure).copied().unwrap_or(1.0)).round() as u64
    }
}

/// What an execution did.
#[derive(Clone, Debug, Default)]
pub struct Execution {
    /// Until the last thread ended, nanoseconds.
    pub elapsed: u64,
    /// What happened, in the order of time.
    pub occurrences: Vec<Occurrence>,
}

/// Something that happened to a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Occurrence {
    /// Nanoseconds since the begin.
    pub time: u64,
    /// The thread.
    pub thread: usize,
    /// What.
    pub what: ScriptEvent,
}

/// What happens to threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScriptEvent {
    /// It was created by this thread; the first one by none.
    Begins(Option<usize>),
    /// It got a processor.
    Runs,
    /// It lost its processor, though it could run on, or began to queue for one.
    Queues,
    /// It was at this procedure until now.
    Was(usize),
    /// It waits for this step to succeed.
    Waits(ScriptStep),
    /// It was let go on by this thread, in this step; a timer is no thread.
    Woken(Option<usize>, ScriptStep),
    /// It did the step, which may have made it wait.
    Did(ScriptStep),
    /// It did this with a mutex or condition, by its own word.
    Told(MonitorStep),
    /// It ended.
    Ends,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ScriptStatus {
    NotBegun,
    Queued,
    Running,
    Waiting,
    Ended,
}

#[derive(Debug)]
struct ExecutingThread {
    status: ScriptStatus,
    /// Which it has, or had last, or its creator had when it was created.
    processor: Option<usize>,
    next: usize,
    /// CPU time of its step that is left.
    left: u64,
    in_step: bool,
    slice: u64,
    /// When its timer ends its wait.
    timer: Option<u64>,
    /// Its wait is over, so its step is done.
    granted: bool,
}

#[derive(Debug, Default)]
struct Mutex {
    is_held: bool,
    queue: VecDeque<usize>,
}

#[derive(Debug, Default)]
struct Semaphore {
    value: u64,
    queue: VecDeque<usize>,
}

struct Executor<'a> {
    script: &'a Script,
    conditions: &'a Conditions,
    now: u64,
    threads: Vec<ExecutingThread>,
    /// One for all processors, or one for each.
    queues: Vec<VecDeque<usize>>,
    running: Vec<usize>,
    mutexes: Vec<Mutex>,
    semaphores: Vec<Semaphore>,
    arrived: Vec<Vec<usize>>,
    monitors: Vec<MonitorState>,
    flags: Vec<bool>,
    joiners: Vec<Vec<usize>>,
    done: Vec<Occurrence>,
}

impl Script {
    /// Executes the program.
    ///
    /// # Panics
    /// Where the program never ends.
    #[must_use]
    pub fn execute(&self, conditions: &Conditions) -> Execution {
        let thread = |_| ExecutingThread {
            status: ScriptStatus::NotBegun,
            processor: None,
            next: 0,
            left: 0,
            in_step: false,
            slice: 0,
            timer: None,
            granted: false,
        };
        let mut executor = Executor {
            script: self,
            conditions,
            now: 0,
            threads: (0..self.threads.len()).map(thread).collect(),
            queues: vec![VecDeque::new(); if conditions.has_own_queues { conditions.processors } else { 1 }],
            running: Vec::new(),
            mutexes: self.mutexes.iter().map(|_| Mutex::default()).collect(),
            semaphores: self
                .semaphores
                .iter()
                .map(|&(_, value)| Semaphore { value, ..Semaphore::default() })
                .collect(),
            arrived: vec![Vec::new(); self.barriers.len()],
            monitors: self
                .monitors
                .iter()
                .map(|monitor| MonitorState::new(monitor, self.threads.len()))
                .collect(),
            flags: vec![false; self.flags.len()],
            joiners: vec![Vec::new(); self.threads.len()],
            done: Vec::new(),
        };
        executor.begin(0, None);
        executor.run();
        Execution { elapsed: executor.now, occurrences: executor.done }
    }
}

impl Executor<'_> {
    fn run(&mut self) {
        loop {
            self.dispatch();
            let Some(next) = self.next_time() else { break };
            self.pass(next);
        }
        let open: Vec<&str> = (0..self.threads.len())
            .filter(|&thread| {
                matches!(self.threads[thread].status, ScriptStatus::Waiting | ScriptStatus::Running)
            })
            .map(|thread| self.script.threads[thread].name.as_str())
            .collect();
        assert!(open.is_empty(), "{open:?} wait for ever in\n{}", self.script.text());
    }

    fn note(&mut self, thread: usize, what: ScriptEvent) {
        self.done.push(Occurrence { time: self.now, thread, what });
    }

    fn begin(&mut self, thread: usize, creator: Option<usize>) {
        assert_eq!(self.threads[thread].status, ScriptStatus::NotBegun, "a thread begins once");
        self.note(thread, ScriptEvent::Begins(creator));
        self.threads[thread].processor = creator.and_then(|creator| self.threads[creator].processor);
        let is_free = self.free().next();
        let queue = is_free.or(self.threads[thread].processor).unwrap_or(0);
        self.queue_at(thread, queue);
    }

    /// The thread can run: it queues.
    fn queue(&mut self, thread: usize) {
        let last = self.threads[thread].processor;
        let free = self.free().find(|&free| Some(free) == last).or_else(|| self.free().next());
        self.queue_at(thread, free.or(last).unwrap_or(0));
    }

    fn queue_at(&mut self, thread: usize, queue: usize) {
        self.threads[thread].status = ScriptStatus::Queued;
        let queue = if self.conditions.has_own_queues { queue } else { 0 };
        self.queues[queue].push_back(thread);
    }

    /// Processors with queues of their own that have nothing to do.
    fn free(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.queues.len())
            .filter(|&processor| !self.is_taken(processor) && self.queues[processor].is_empty())
    }

    fn is_taken(&self, processor: usize) -> bool {
        self.running.iter().any(|&thread| self.threads[thread].processor == Some(processor))
    }

    /// Those that want the thread's processor.
    fn rivals(&self, thread: usize) -> &VecDeque<usize> {
        let own = self.threads[thread].processor.filter(|_| self.conditions.has_own_queues);
        &self.queues[own.unwrap_or(0)]
    }

    /// The next thread that gets a processor.
    fn next_thread(&mut self) -> Option<usize> {
        if !self.conditions.has_own_queues {
            let has_room = self.running.len() < self.conditions.processors;
            return if has_room { self.queues[0].pop_front() } else { None };
        }
        let free: Vec<usize> =
            (0..self.queues.len()).filter(|&processor| !self.is_taken(processor)).collect();
        let own = free.iter().copied().find(|&processor| !self.queues[processor].is_empty());
        let longest = self.queues.iter().map(VecDeque::len).max()?;
        let queue = own.or_else(|| self.queues.iter().position(|queue| queue.len() == longest))?;
        let processor = own.or(free.first().copied())?;
        let thread = self.queues[queue].pop_front()?;
        self.threads[thread].processor = Some(processor);
        Some(thread)
    }

    /// Gives processors to those that queue, and lets them do what takes no time, until nothing is left to do now.
    fn dispatch(&mut self) {
        while let Some(thread) = self.next_thread() {
            self.threads[thread].status = ScriptStatus::Running;
            self.threads[thread].slice = 0;
            self.running.push(thread);
            self.note(thread, ScriptEvent::Runs);
            self.advance(thread);
        }
    }

    /// Does the thread's steps up to one that takes time.
    fn advance(&mut self, thread: usize) {
        loop {
            let Some(&step) = self.script.threads[thread].steps.get(self.threads[thread].next) else {
                return self.end(thread);
            };
            if std::mem::take(&mut self.threads[thread].granted) {
                self.finish_step(thread, step);
                continue;
            }
            match step {
                ScriptStep::Compute(procedure, time) => {
                    let state = &mut self.threads[thread];
                    if !std::mem::replace(&mut state.in_step, true) {
                        state.left = self.conditions.time_of(procedure, time);
                    }
                    if state.left > 0 {
                        return;
                    }
                    self.note(thread, ScriptEvent::Was(procedure));
                    self.finish_step(thread, step);
                }
                ScriptStep::Spin(flag) if !self.flags[flag] => {
                    if !std::mem::replace(&mut self.threads[thread].in_step, true) {
                        self.note(thread, ScriptEvent::Waits(step));
                    }
                    return;
                }
                _ if self.try_step(thread, step) => self.finish_step(thread, step),
                _ => return self.wait(thread, step),
            }
        }
    }

    fn finish_step(&mut self, thread: usize, step: ScriptStep) {
        self.note(thread, ScriptEvent::Did(step));
        self.threads[thread].in_step = false;
        self.threads[thread].next += 1;
    }

    /// Does a step that may make the thread wait; whether it is done.
    fn try_step(&mut self, thread: usize, step: ScriptStep) -> bool {
        match step {
            ScriptStep::Compute(..) | ScriptStep::Spin(_) => true,
            ScriptStep::Sleep(time) => {
                let time = (time as f64 * self.conditions.sleep).round() as u64;
                self.threads[thread].timer = (time > 0).then_some(self.now + time);
                time == 0
            }
            ScriptStep::Fork(other) => {
                self.begin(other, Some(thread));
                true
            }
            ScriptStep::Join(other) => {
                let has_ended = self.threads[other].status == ScriptStatus::Ended;
                if !has_ended {
                    self.joiners[other].push(thread);
                }
                has_ended
            }
            ScriptStep::Lock(mutex) => {
                let mutex = &mut self.mutexes[mutex];
                if mutex.is_held {
                    mutex.queue.push_back(thread);
                    return false;
                }
                mutex.is_held = true;
                true
            }
            ScriptStep::Unlock(mutex) => {
                match self.mutexes[mutex].queue.pop_front() {
                    Some(next) => self.wake(next, Some(thread), step),
                    None => self.mutexes[mutex].is_held = false,
                }
                true
            }
            ScriptStep::Barrier(barrier) => self.arrive(thread, barrier),
            ScriptStep::Post(semaphore) => {
                match self.semaphores[semaphore].queue.pop_front() {
                    Some(next) => self.wake(next, Some(thread), step),
                    None => self.semaphores[semaphore].value += 1,
                }
                true
            }
            ScriptStep::Take(semaphore) => {
                let semaphore = &mut self.semaphores[semaphore];
                if semaphore.value == 0 {
                    semaphore.queue.push_back(thread);
                    return false;
                }
                semaphore.value -= 1;
                true
            }
            ScriptStep::Monitor(verb, monitor) => self.attempt(thread, verb, monitor),
            ScriptStep::Set(flag) => {
                self.set(thread, flag);
                true
            }
        }
    }

    /// Enters a monitor, or looks again after a wait; whether its section is done.
    fn attempt(&mut self, thread: usize, verb: MonitorVerb, index: usize) -> bool {
        let is_first = !std::mem::replace(&mut self.threads[thread].in_step, true);
        let begin = if is_first { monitor::begins(index, verb) } else { monitor::waited(index, verb) };
        self.note(thread, ScriptEvent::Told(begin));
        let state = &mut self.monitors[index];
        let Some(signalled) = state.attempt((thread, is_first), verb) else {
            state.waiting[verb.condition()].push_back(thread);
            return false;
        };
        if let Some(signalled) = signalled {
            let waiting = &mut state.waiting[signalled.condition];
            let most = if signalled.broadcast { waiting.len() } else { 1.min(waiting.len()) };
            let woken: Vec<usize> = waiting.drain(..most).collect();
            self.note(thread, ScriptEvent::Told(monitor::signals(index, signalled)));
            for other in woken {
                self.note(other, ScriptEvent::Woken(Some(thread), ScriptStep::Monitor(verb, index)));
                self.queue(other);
            }
        }
        self.note(thread, ScriptEvent::Told(monitor::ends(index)));
        true
    }

    fn arrive(&mut self, thread: usize, barrier: usize) -> bool {
        if self.arrived[barrier].len() + 1 < self.script.barriers[barrier].1 {
            self.arrived[barrier].push(thread);
            return false;
        }
        for other in std::mem::take(&mut self.arrived[barrier]) {
            self.wake(other, Some(thread), ScriptStep::Barrier(barrier));
        }
        true
    }

    fn set(&mut self, thread: usize, flag: usize) {
        self.flags[flag] = true;
        let spins = |other: &usize| {
            let state = &self.threads[*other];
            let step = self.script.threads[*other].steps.get(state.next);
            state.in_step && step == Some(&ScriptStep::Spin(flag))
        };
        let spinning: Vec<usize> = (0..self.threads.len()).filter(spins).collect();
        for other in spinning {
            self.note(other, ScriptEvent::Woken(Some(thread), ScriptStep::Set(flag)));
            self.threads[other].granted = true;
        }
    }

    fn wait(&mut self, thread: usize, step: ScriptStep) {
        self.note(thread, ScriptEvent::Waits(step));
        self.threads[thread].status = ScriptStatus::Waiting;
        self.running.retain(|&other| other != thread);
    }

    fn wake(&mut self, thread: usize, waker: Option<usize>, step: ScriptStep) {
        self.note(thread, ScriptEvent::Woken(waker, step));
        let state = &mut self.threads[thread];
        (state.granted, state.timer) = (true, None);
        self.queue(thread);
    }

    fn end(&mut self, thread: usize) {
        self.threads[thread].status = ScriptStatus::Ended;
        // It is still on its processor when it wakes them.
        for joiner in std::mem::take(&mut self.joiners[thread]) {
            self.wake(joiner, Some(thread), ScriptStep::Join(thread));
        }
        self.running.retain(|&other| other != thread);
        self.note(thread, ScriptEvent::Ends);
    }

    /// CPU time until something changes for a running thread; none where it spins for something not yet set.
    fn until_change(&self, thread: usize) -> Option<u64> {
        let state = &self.threads[thread];
        let quantum = self.conditions.quantum.saturating_sub(state.slice);
        let turn = (!self.rivals(thread).is_empty()).then_some(quantum);
        if state.granted {
            return Some(0);
        }
        let spins = matches!(self.script.threads[thread].steps[state.next], ScriptStep::Spin(_));
        let work = (!spins).then_some(state.left);
        work.into_iter().chain(turn).min()
    }

    fn next_time(&self) -> Option<u64> {
        let changes = self.running.iter().filter_map(|&thread| Some(self.now + self.until_change(thread)?));
        changes.chain(self.threads.iter().filter_map(|thread| thread.timer)).min()
    }

    fn pass(&mut self, to: u64) {
        let passed = to - self.now;
        self.now = to;
        for &thread in &self.running {
            let state = &mut self.threads[thread];
            state.left = state.left.saturating_sub(passed);
            state.slice += passed;
        }
        for thread in 0..self.threads.len() {
            if self.threads[thread].timer == Some(to) {
                let step = self.script.threads[thread].steps[self.threads[thread].next];
                self.wake(thread, None, step);
            }
        }
        for thread in self.running.clone() {
            if self.threads[thread].status != ScriptStatus::Running {
                continue;
            }
            let step = self.script.threads[thread].steps[self.threads[thread].next];
            let is_done = match step {
                ScriptStep::Spin(flag) => self.flags[flag],
                _ => self.threads[thread].left == 0,
            };
            if is_done {
                self.advance(thread);
            } else if self.threads[thread].slice >= self.conditions.quantum && !self.rivals(thread).is_empty()
            {
                self.preempt(thread, step);
            }
        }
    }

    fn preempt(&mut self, thread: usize, step: ScriptStep) {
        if let ScriptStep::Compute(procedure, _) = step {
            self.note(thread, ScriptEvent::Was(procedure));
        }
        self.note(thread, ScriptEvent::Queues);
        self.running.retain(|&other| other != thread);
        self.queue_at(thread, self.threads[thread].processor.unwrap_or(0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn elapsed(text: &str, conditions: &Conditions) -> u64 {
        Script::parse(text).execute(conditions).elapsed
    }

    const FORK_JOIN: &str = "main: fork P1, fork P2, fork P3, join P1, join P2, join P3, D 100\n\
                             P1: A 120\nP2: B 90\nP3: C 30";

    #[test]
    fn the_longest_of_several_threads_counts_at_their_joins() {
        let unlimited = Conditions::unlimited();
        assert_eq!(elapsed(FORK_JOIN, &unlimited), 220);
        let script = Script::parse(FORK_JOIN);
        let without =
            |name| script.execute(&Conditions::unlimited().with(script.procedure(name), 0.0)).elapsed;
        assert_eq!((without("A"), without("B"), without("D")), (190, 220, 120));
    }

    #[test]
    fn few_processors_are_shared_by_turns() {
        let one = Conditions { processors: 1, quantum: 10, ..Conditions::unlimited() };
        assert_eq!(elapsed(FORK_JOIN, &one), 340);
        // Until 90 both processors are taken: P1, P2 and P3 have had 30 + 30 + 30 of each 45; … the longest is alone last.
        let two = Conditions { processors: 2, quantum: 10, ..Conditions::unlimited() };
        assert_eq!(elapsed("main: fork W, fork V, A 30, join W, join V\nW: B 30\nV: C 30", &two), 50);
    }

    /// As `programs/fork_join.c` under a real-time policy on two processors: P1 has one for itself, P2 and P3 share the other.
    #[test]
    fn with_queues_of_their_own_the_longest_thread_keeps_a_processor() {
        let script = Script::parse(FORK_JOIN);
        let two = Conditions { processors: 2, quantum: 4, has_own_queues: true, ..Conditions::unlimited() };
        assert_eq!(script.execute(&two).elapsed, 120 + 100);
        // P1 ends at 60, when P3 has 2 of its work left; P2 has 58 left, and P1's processor to itself.
        assert_eq!(script.execute(&two.clone().with(script.procedure("A"), 0.5)).elapsed, 118 + 100);
        assert_eq!(script.execute(&two.with(script.procedure("A"), 0.0)).elapsed, 90 + 100);
    }

    #[test]
    fn a_barrier_lets_all_go_when_the_last_arrives() {
        let text = "barrier b = 3\nmain: fork T2, fork T3, A 120, barrier b, join T2, join T3\n\
                    T2: B 90, barrier b\nT3: C 30, barrier b, Q 100";
        assert_eq!(elapsed(text, &Conditions::unlimited()), 220);
    }

    #[test]
    fn a_semaphore_hands_out_its_posts_in_order() {
        let text = "semaphore s = 0\nmain: fork Q, P 20, post s, P 20, post s, join Q, D 150\n\
                    Q: take s, C 25, take s, C 25";
        // Items at 20 and 40; the consumer ends at 20 + 25 + 25.
        assert_eq!(elapsed(text, &Conditions::unlimited()), 70 + 150);
    }

    #[test]
    fn a_mutex_is_handed_over_in_the_order_of_coming() {
        let text = "main: fork A, fork B, lock m, X 10, unlock m, join A, join B\n\
                    A: Y 2, lock m, Z 5, unlock m\nB: Y 1, lock m, W 7, unlock m";
        let run = Script::parse(text).execute(&Conditions::unlimited());
        assert_eq!(run.elapsed, 10 + 7 + 5);
    }

    #[test]
    fn a_spin_takes_its_processor_until_the_flag_is_set() {
        let text = "main: fork W, A 30, set f, join W\nW: spin f, B 5";
        assert_eq!(elapsed(text, &Conditions::unlimited()), 35);
        let one = Conditions { processors: 1, quantum: 10, ..Conditions::unlimited() };
        // W spins two whole quanta between the three of A; then it has its turn.
        assert_eq!(elapsed(text, &one), 30 + 20 + 5);
    }

    #[test]
    fn sleeps_can_be_taken_out() {
        let text = "main: A 5, sleep 20, B 5";
        assert_eq!(elapsed(text, &Conditions::unlimited()), 30);
        assert_eq!(elapsed(text, &Conditions { sleep: 0.0, ..Conditions::unlimited() }), 10);
    }
}
