//! Programs as oracles (metrics.md §10): small parallel programs as text, which can be executed anew with any procedure
//! removed or scaled.
//!
//! A drawing says what was recorded, so one that lacks a dependence cannot show that the dependence is missing. A
//! program can: it is executed once as it is and recorded, and once more with a procedure changed; what a metric
//! predicts from the first execution is compared with the second.
//!
//! ```text
//!   semaphore items = 0
//!   barrier b = 2
//!   main:  fork W, A 30, post items, barrier b, join W, D 100
//!   W:     take items, B 50, barrier b
//! ```
//! A line is a thread, `main` the first; a step is a procedure's name with its CPU time, or one of
//!
//! | step | what it does |
//! |---|---|
//! | `sleep n` | waits for a timer |
//! | `fork T`, `join T` | begins a thread; waits for its end, which may have come long before |
//! | `lock m`, `unlock m` | a mutex, handed to those that wait in the order of their coming |
//! | `barrier b` | waits for as many threads as the barrier is declared with |
//! | `post s`, `take s` | a semaphore; the n-th post is for the take n + initial value |
//! | `put q`, `get q` | a queue behind a mutex with two conditions, of as many places as it is declared with, 0 for any number; a `lazy` one signals only where some thread waits |
//! | `down l`, `await l` | a latch behind a mutex: goes down, or waits until it was so often as it is declared with |
//! | `meet m` | a barrier made of a mutex, a condition and a count |
//! | `publish b`, `follow b` | tells all; waits until there is one that the thread has not followed |
//! | `set f`, `spin f` | a flag that is waited for on a processor |
//!
//! Times are nanoseconds. The executor ([`execute`](Script::execute)) is given processors, a quantum and factors of
//! procedures; whatever is not compute takes no time. It shares nothing with what it judges.

mod executor;
mod monitor;
mod parser;
mod random;
mod timelines;

pub use executor::{Conditions, Execution, Occurrence, ScriptEvent};
pub use monitor::{Monitor, MonitorKind, MonitorVerb};
pub use random::{random_script, random_script_with_a_mutex, random_script_with_calls};

use std::collections::BTreeMap;

/// A program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script {
    /// Names of procedures; steps name them by position.
    pub procedures: Vec<String>,
    /// The threads; the first is there from the begin.
    pub threads: Vec<ScriptThread>,
    /// Semaphores: name and initial value.
    pub semaphores: Vec<(String, u64)>,
    /// Barriers: name and number of threads.
    pub barriers: Vec<(String, usize)>,
    /// What is behind a mutex with conditions.
    pub monitors: Vec<Monitor>,
    /// Names of mutexes.
    pub mutexes: Vec<String>,
    /// Names of flags.
    pub flags: Vec<String>,
    /// Threads that get from one queue do for each item what the item asks for, so that collectors tell whoever takes it. Else what a
    /// thread does is its own, whatever it takes.
    pub shares_items: bool,
    /// The procedure that calls each procedure, one before it; empty where none calls another. A thread's paths then begin with
    /// the one at which it was created.
    pub callers: Vec<Option<usize>>,
}

/// A thread of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScriptThread {
    /// Its name.
    pub name: String,
    /// What it does.
    pub steps: Vec<ScriptStep>,
}

/// What a thread does; numbers are positions in the lists of [`Script`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScriptStep {
    /// Runs a procedure for so many nanoseconds of CPU time.
    Compute(usize, u64),
    /// Waits for a timer, nanoseconds.
    Sleep(u64),
    /// Begins a thread.
    Fork(usize),
    /// Waits for the end of a thread.
    Join(usize),
    /// Acquires a mutex.
    Lock(usize),
    /// Releases it.
    Unlock(usize),
    /// Arrives at a barrier, and leaves it with all others.
    Barrier(usize),
    /// Posts a semaphore.
    Post(usize),
    /// Waits for a semaphore.
    Take(usize),
    /// Does something to a monitor.
    Monitor(MonitorVerb, usize),
    /// Sets a flag.
    Set(usize),
    /// Waits for a flag on its processor.
    Spin(usize),
}

impl Script {
    /// Reads a program.
    ///
    /// # Panics
    /// Where the text is none.
    #[must_use]
    pub fn parse(text: &str) -> Script {
        parser::parse(text).unwrap_or_else(|reason| panic!("{reason} in this program:\n{text}"))
    }

    /// The position of the procedure of this name.
    ///
    /// # Panics
    /// When there is none.
    #[must_use]
    pub fn procedure(&self, name: &str) -> usize {
        let index = self.procedures.iter().position(|procedure| procedure == name);
        index.unwrap_or_else(|| panic!("no procedure is named {name}"))
    }

    /// The same program without the work that is told by thread and position of its step.
    #[must_use]
    pub fn without(&self, is_left_out: impl Fn(usize, usize) -> bool) -> Script {
        let mut script = self.clone();
        for (thread, own) in script.threads.iter_mut().enumerate() {
            for (index, step) in own.steps.iter_mut().enumerate() {
                if let ScriptStep::Compute(_, time) = step
                    && is_left_out(thread, index)
                {
                    *time = 0;
                }
            }
        }
        script
    }

    /// The same program without these steps.
    #[must_use]
    pub fn without_steps(&self, is_left_out: impl Fn(ScriptStep) -> bool) -> Script {
        let mut script = self.clone();
        for thread in &mut script.threads {
            thread.steps.retain(|&step| !is_left_out(step));
        }
        script
    }

    /// The procedures on the path of this step, the innermost first: what calls it, and what the thread was created by.
    #[must_use]
    pub fn procedures_above(&self, thread: usize, step: usize) -> Vec<usize> {
        let steps = &self.threads[thread].steps;
        let last = steps[..=step].iter().rev().find_map(|step| match *step {
            ScriptStep::Compute(procedure, _) => Some(procedure),
            _ => None,
        });
        let caller = |&procedure: &usize| self.callers.get(procedure).copied().flatten();
        let mut above: Vec<usize> = std::iter::successors(last, caller).collect();
        let creation = self.threads.iter().enumerate().find_map(|(creator, other)| {
            let fork = other.steps.iter().position(|&step| step == ScriptStep::Fork(thread))?;
            Some((creator, fork))
        });
        if let Some((creator, fork)) = creation.filter(|_| !self.callers.is_empty()) {
            above.extend(self.procedures_above(creator, fork));
        }
        above
    }

    /// The steps of all threads by number, for messages of failing tests.
    #[must_use]
    pub fn text(&self) -> String {
        let mut lines: Vec<String> =
            self.semaphores.iter().map(|(name, initial)| format!("semaphore {name} = {initial}")).collect();
        lines.extend(self.barriers.iter().map(|(name, threads)| format!("barrier {name} = {threads}")));
        lines.extend(self.monitors.iter().map(Monitor::text));
        for thread in &self.threads {
            let steps: Vec<String> = thread.steps.iter().map(|&step| self.step_text(step)).collect();
            lines.push(format!("{}: {}", thread.name, steps.join(", ")));
        }
        lines.join("\n")
    }

    fn step_text(&self, step: ScriptStep) -> String {
        match step {
            ScriptStep::Compute(procedure, time) => format!("{} {time}", self.procedures[procedure]),
            ScriptStep::Sleep(time) => format!("sleep {time}"),
            ScriptStep::Fork(thread) => format!("fork {}", self.threads[thread].name),
            ScriptStep::Join(thread) => format!("join {}", self.threads[thread].name),
            ScriptStep::Lock(mutex) => format!("lock {}", self.mutexes[mutex]),
            ScriptStep::Unlock(mutex) => format!("unlock {}", self.mutexes[mutex]),
            ScriptStep::Barrier(barrier) => format!("barrier {}", self.barriers[barrier].0),
            ScriptStep::Post(semaphore) => format!("post {}", self.semaphores[semaphore].0),
            ScriptStep::Take(semaphore) => format!("take {}", self.semaphores[semaphore].0),
            ScriptStep::Monitor(verb, monitor) => format!("{} {}", verb.name(), self.monitors[monitor].name),
            ScriptStep::Set(flag) => format!("set {}", self.flags[flag]),
            ScriptStep::Spin(flag) => format!("spin {}", self.flags[flag]),
        }
    }
}

/// Positions of names as they come up.
#[derive(Debug, Default)]
struct NameTable(BTreeMap<String, usize>);

impl NameTable {
    fn index(&mut self, name: &str) -> usize {
        let next = self.0.len();
        *self.0.entry(name.to_owned()).or_insert(next)
    }

    fn into_names(self) -> Vec<String> {
        let mut names: Vec<(usize, String)> = self.0.into_iter().map(|(name, index)| (index, name)).collect();
        names.sort();
        names.into_iter().map(|(_, name)| name).collect()
    }
}
