//! Queues from which several threads take items: what is done for an item belongs to the item, not to the thread that took it in the
//! recording (metrics.md §5, replay).
//!
//! ```text
//!   recorded    W1  get a  aaaaaaaa  end          without a's work   W1  get a, get c, end
//!               W2  get b  bb  get c  cc  end                        W2  get b  bb  end
//! ```
//! A thread's steps are cut before each item that it takes. Whoever has come to the end of such a piece goes on with that of the next item
//! that is there; *ends*, of which there is one for each thread that found the queue closed, come when no item is left.
//!
//! Threads take whatever item is there only if they began at the same call path on the same machine; others keep their own.

use std::collections::{BTreeMap, VecDeque};

use longpole_event::ThreadId;
use longpole_trace::{Program, QueueId};
use rustc_hash::FxHashMap;

use super::plan::{ExecutionPlan, NodeId, PlanStep};

/// What a thread takes from a queue, and where that is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PlannedItem {
    /// Position of the queue.
    pub queue: usize,
    /// The node that is released when it is there; `None`: an end.
    pub node: Option<NodeId>,
    /// Position of the thread that took it.
    pub thread: usize,
    /// Position of the first of its steps.
    pub step: usize,
}

/// All queues of a plan.
#[derive(Clone, Debug, Default)]
pub(crate) struct PlannedQueues {
    /// In the recorded order of each queue.
    pub items: Vec<PlannedItem>,
    /// Number of queues.
    pub queues: usize,
}

impl ExecutionPlan {
    /// Leaves each item to the thread that took it in the recording. Whether any was not so before.
    pub fn keep_items(&mut self) -> bool {
        let had_any = !std::mem::take(&mut self.queues).items.is_empty();
        if had_any {
            for thread in &mut self.threads {
                thread.steps.retain(|step| !matches!(step, PlanStep::Get(_)));
            }
            self.find_known_items();
        }
        had_any
    }
}

/// The queues of a plan that is executed.
#[derive(Clone, Debug)]
pub(super) struct ExecutedQueues<'a> {
    items: &'a [PlannedItem],
    queues: Vec<ExecutedQueue>,
    /// The item that is there when the node is released.
    of_node: FxHashMap<NodeId, u32>,
}

#[derive(Clone, Debug, Default)]
struct ExecutedQueue {
    /// Items that are there, in the order in which they came.
    there: VecDeque<u32>,
    /// Items that nobody took yet.
    untaken: usize,
    /// For threads that find the queue closed.
    ends: VecDeque<u32>,
    /// Threads that wait, in the order in which they came.
    waiting: VecDeque<u32>,
}

impl<'a> ExecutedQueues<'a> {
    pub fn of(plan: &'a ExecutionPlan) -> ExecutedQueues<'a> {
        let items = &plan.queues.items;
        let mut queues = vec![ExecutedQueue::default(); plan.queues.queues];
        let mut of_node = FxHashMap::default();
        for (index, item) in items.iter().enumerate() {
            let queue = &mut queues[item.queue];
            match item.node {
                Some(node) => {
                    of_node.insert(node, index as u32);
                    queue.untaken += 1;
                }
                None => queue.ends.push_back(index as u32),
            }
        }
        ExecutedQueues { items, queues, of_node }
    }

    /// What the thread takes, which took the item `own` in the recording; if there is nothing it waits.
    pub fn get(&mut self, thread: u32, own: u32) -> Option<PlannedItem> {
        let queue = &mut self.queues[self.items[own as usize].queue];
        let item = queue.there.pop_front();
        queue.untaken -= usize::from(item.is_some());
        let end = |queue: &mut ExecutedQueue| match queue.ends.iter().position(|&end| end == own) {
            _ if queue.untaken > 0 => None,
            Some(index) => queue.ends.remove(index),
            None => queue.ends.pop_front(),
        };
        let item = item.or_else(|| end(queue));
        if item.is_none() {
            queue.waiting.push_back(thread);
        }
        item.map(|item| self.items[item as usize])
    }

    /// The node is released. If that puts an item into a queue, the thread that waits there longest takes it.
    pub fn put(&mut self, node: NodeId) -> Option<(u32, PlannedItem)> {
        let item = *self.of_node.get(&node)?;
        let queue = &mut self.queues[self.items[item as usize].queue];
        let Some(thread) = queue.waiting.pop_front() else {
            queue.there.push_back(item);
            return None;
        };
        queue.untaken -= 1;
        Some((thread, self.items[item as usize]))
    }

    /// A thread that waits at this queue though all items are taken, and its end.
    pub fn close(&mut self, queue: usize) -> Option<(u32, PlannedItem)> {
        let state = &mut self.queues[queue];
        if state.untaken > 0 || state.ends.is_empty() {
            return None;
        }
        let thread = state.waiting.pop_front()?;
        let end = state.ends.pop_front()?;
        Some((thread, self.items[end as usize]))
    }
}

/// Items as they were taken.
#[derive(Clone, Debug, Default)]
pub(super) struct TakenItems {
    items: Vec<TakenItem>,
    /// Threads that waited for an item when they ended.
    ended_waiting: Vec<(ThreadId, QueueId)>,
}

#[derive(Clone, Copy, Debug)]
struct TakenItem {
    queue: QueueId,
    thread: ThreadId,
    node: Option<NodeId>,
}

impl TakenItems {
    /// The thread takes the item of this node, or an end: its step.
    pub fn take(&mut self, thread: ThreadId, queue: QueueId, node: Option<NodeId>) -> PlanStep {
        self.items.push(TakenItem { queue, thread, node });
        PlanStep::Get(self.items.len() as u32 - 1)
    }

    /// The thread ended in a wait: if it took items, it waited for the next one.
    pub fn end_waiting(&mut self, thread: ThreadId) {
        let last = self.items.iter().rfind(|item| item.thread == thread).map(|item| item.queue);
        self.ended_waiting.extend(last.map(|queue| (thread, queue)));
    }

    /// Gives the plan its queues; steps for items that only their threads can take go.
    pub fn into_queues(mut self, plan: &mut ExecutionPlan, program: &Program) {
        if self.items.is_empty() {
            return;
        }
        for (thread, queue) in std::mem::take(&mut self.ended_waiting) {
            let step = self.take(thread, queue, None);
            plan.threads[thread.index()].steps.push(step);
        }
        let kept = self.kept(program);
        let mut numbers: FxHashMap<u32, u32> = FxHashMap::default();
        for (item, &queue) in kept.iter().enumerate() {
            let Some(queue) = queue else { continue };
            numbers.insert(item as u32, plan.queues.items.len() as u32);
            let node = self.items[item].node;
            plan.queues.items.push(PlannedItem { queue, node, thread: 0, step: 0 });
            plan.queues.queues = plan.queues.queues.max(queue + 1);
        }
        for (index, thread) in plan.threads.iter_mut().enumerate() {
            thread.steps.retain(|step| !matches!(step, PlanStep::Get(item) if !numbers.contains_key(item)));
            for (position, step) in thread.steps.iter_mut().enumerate() {
                if let PlanStep::Get(item) = step {
                    *item = numbers[item];
                    let planned = &mut plan.queues.items[*item as usize];
                    (planned.thread, planned.step) = (index, position + 1);
                }
            }
        }
    }

    /// By item: the number of its queue, where any thread can take it.
    fn kept(&self, program: &Program) -> Vec<Option<usize>> {
        let mut of_queue: BTreeMap<QueueId, Vec<usize>> = BTreeMap::new();
        for (index, item) in self.items.iter().enumerate() {
            of_queue.entry(item.queue).or_default().push(index);
        }
        let mut kept = vec![None; self.items.len()];
        let mut queues = 0;
        for items in of_queue.into_values() {
            let begin = |thread: ThreadId| {
                let thread = &program.threads[thread.index()];
                (thread.prefix, program.processes[thread.process.index()].machine)
            };
            let first = self.items[items[0]].thread;
            let mut others = items.iter().map(|&item| self.items[item].thread);
            let are_alike = others.clone().all(|thread| begin(thread) == begin(first));
            if !are_alike || others.all(|thread| thread == first) {
                continue;
            }
            // An end before an item is a pass whose signal was not seen.
            let last = items.iter().rposition(|&item| self.items[item].node.is_some());
            let is_kept = |&(place, &item): &(usize, &usize)| {
                self.items[item].node.is_some() || last.is_none_or(|last| place > last)
            };
            for (_, &item) in items.iter().enumerate().filter(is_kept) {
                kept[item] = Some(queues);
            }
            queues += 1;
        }
        kept
    }
}
