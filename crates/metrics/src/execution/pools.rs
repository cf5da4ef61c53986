//! Threads that share work by a queue which the recording does not show.
//!
//! ```text
//!   recorded    W1  aaaaaaaa        W1 took one item, W2 four. Without a's work W1 would have taken some of the others,
//!               W2  bbccddee        but nothing recorded tells that they were items: then 4 become 2, and not 4.
//! ```
//! Threads that began at one call path, and whose waits for conditions, semaphores and the like threads of other kinds end, wait for work
//! that any of them could do; so do the threads of runtimes that run tasks. What is saved of their work then saves time for all of them.
//! Where the queue is known, [`super::queues`] follows it.

use std::collections::{BTreeMap, BTreeSet};

use longpole_event::ThreadId;
use longpole_trace::{Cause, Program, State, TaskRuntime};

use super::plan::{ExecutionPlan, Factors, PlanStep};

/// The part of waits that other threads than these have to end.
const FED: f64 = 0.8;

/// Threads that may do each other's work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UnseenQueue {
    /// Positions of the threads.
    threads: Vec<usize>,
    /// How many of them can work at a time.
    width: u32,
    /// Whether executions give items to whichever of them comes first.
    has_known_items: bool,
}

/// Finds them.
#[derive(Debug)]
pub(super) struct UnseenQueues {
    /// By thread: its group.
    groups: Vec<usize>,
    fed: Vec<FedThreads>,
    runtime: TaskRuntime,
}

#[derive(Clone, Debug, Default)]
struct FedThreads {
    threads: Vec<usize>,
    machine: usize,
    /// Waits that threads of the group ended, and that others did.
    by_own: u64,
    by_others: u64,
    waited: BTreeSet<usize>,
}

impl UnseenQueues {
    pub fn new(program: &Program, runtime: TaskRuntime) -> UnseenQueues {
        let mut numbers = BTreeMap::new();
        let mut fed: Vec<FedThreads> = Vec::new();
        let group = |(index, thread): (usize, &longpole_trace::Thread)| {
            let machine = program.processes[thread.process.index()].machine.index();
            let path = (runtime != TaskRuntime::Go).then_some(thread.prefix);
            let number = *numbers.entry((machine, path)).or_insert(fed.len());
            if number == fed.len() {
                fed.push(FedThreads { machine, ..FedThreads::default() });
            }
            fed[number].threads.push(index);
            number
        };
        let groups = program.threads.iter().enumerate().map(group).collect();
        UnseenQueues { groups, fed, runtime }
    }

    /// The source ends the thread's wait in this state.
    pub fn end_wait(&mut self, thread: ThreadId, state: State, source: ThreadId) {
        if !matches!(state, State::Blocked(Cause::Condition | Cause::Semaphore | Cause::Park)) {
            return;
        }
        let group = self.groups[thread.index()];
        let fed = &mut self.fed[group];
        fed.waited.insert(thread.index());
        if self.groups[source.index()] == group {
            fed.by_own += 1;
        } else {
            fed.by_others += 1;
        }
    }

    /// The threads that may do each other's work, on so many processors.
    pub fn found(&self, processors: &[u32]) -> Vec<UnseenQueue> {
        let shares_work = |fed: &&FedThreads| {
            let waits = (fed.by_own + fed.by_others) as f64;
            let is_fed = fed.waited.len() > 1 && fed.by_others as f64 >= FED * waits;
            fed.threads.len() > 1 && (is_fed || self.runtime != TaskRuntime::None)
        };
        let queue = |fed: &FedThreads| UnseenQueue {
            threads: fed.threads.clone(),
            width: (fed.threads.len() as u32).min(processors[fed.machine]).max(1),
            has_known_items: false,
        };
        self.fed.iter().filter(shares_work).map(queue).collect()
    }
}

impl ExecutionPlan {
    /// Queues that the recording does not show, and whose items keep their threads in executions.
    pub fn unseen(&self) -> impl Iterator<Item = &UnseenQueue> {
        self.unseen_queues.iter().filter(|queue| !queue.has_known_items)
    }

    /// Tells the queues of which some items are known from the others.
    pub(super) fn find_known_items(&mut self) {
        let takes_items =
            |&thread: &usize| self.threads[thread].steps.iter().any(|step| matches!(step, PlanStep::Get(_)));
        for queue in &mut self.unseen_queues {
            queue.has_known_items = queue.threads.iter().any(takes_items);
        }
    }

    /// What is gained at least, nanoseconds, where threads that share work would go on sharing what is left of it evenly.
    pub(super) fn evened(&self, factors: &Factors) -> f64 {
        let of_queue = |queue: &UnseenQueue| {
            let steps = queue.threads.iter().flat_map(|&thread| &self.threads[thread].steps);
            steps.map(|step| factors.saved_work(step)).sum::<f64>() / f64::from(queue.width)
        };
        self.unseen().map(of_queue).sum()
    }
}

#[cfg(test)]
mod tests {
    use longpole_testkit::draw;

    use super::*;

    const WAITS: State = State::Blocked(Cause::Condition);

    #[test]
    fn threads_that_others_feed_share_their_work() {
        let mut program = draw("main AAAA\nworker BBBB\nworker2 BBBB").program;
        let begin = longpole_trace::PathId(1);
        program.threads[1].prefix = begin;
        program.threads[2].prefix = begin;
        let [main, one, two] = [0, 1, 2].map(ThreadId);
        let mut found = UnseenQueues::new(&program, TaskRuntime::None);
        found.end_wait(one, WAITS, main);
        assert!(found.found(&[4]).is_empty(), "one thread that waits shares nothing");
        found.end_wait(two, WAITS, main);
        assert_eq!(
            found.found(&[4]),
            [UnseenQueue { threads: vec![1, 2], width: 2, has_known_items: false }]
        );
        assert_eq!(found.found(&[1])[0].width, 1);
        // They let each other go: a barrier, or turns.
        found.end_wait(one, WAITS, two);
        assert!(found.found(&[4]).is_empty());
        assert!(UnseenQueues::new(&program, TaskRuntime::Tasks).found(&[4]).len() == 1);
        assert_eq!(UnseenQueues::new(&program, TaskRuntime::Go).found(&[4])[0].threads, [0, 1, 2]);
    }
}
