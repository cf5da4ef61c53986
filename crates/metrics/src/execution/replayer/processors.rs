//! The processors of a machine, and who queues for them.
//!
//! ```text
//!   even         P1 P2 P3 ──► processor 0, processor 1        all threads share all processors in turns
//!   own queues   P2 P3 ──► processor 0    P1 ──► processor 1  the longest thread keeps one for itself
//! ```
//! With queues of their own, a thread goes to the processor that it had last if that is free, else to a free one, else it queues where it was. A
//! processor without a thread of its own takes one from the longest queue. The models differ in where a new thread begins.
//!
//! Time: constant per event with one queue, else linear in the processors.

use std::collections::VecDeque;

/// How a scheduler gives processors to threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchedulerModel {
    /// One queue for all processors, so that threads share them evenly: a fair scheduler that moves threads often.
    Even,
    /// A queue for each processor; a new thread queues for the processor with the fewest threads: a fair scheduler that moves none unless a
    /// processor is free.
    Placed,
    /// A queue for each processor; a new thread queues where it was created, unless another processor is free: `SCHED_RR`, `SCHED_FIFO`.
    RealTime,
}

/// The processors of one machine.
#[derive(Clone, Debug)]
pub(super) struct ReplayedMachine {
    model: SchedulerModel,
    processors: usize,
    /// By processor; one for all in the even model.
    queues: Vec<VecDeque<u32>>,
    /// By processor.
    is_taken: Vec<bool>,
    /// Threads on processors, in the order in which they got them.
    running: Vec<u32>,
}

impl ReplayedMachine {
    pub fn new(model: SchedulerModel, processors: u32) -> Self {
        let processors = processors.max(1) as usize;
        let queues = if model == SchedulerModel::Even { 1 } else { processors };
        ReplayedMachine {
            model,
            processors,
            queues: vec![VecDeque::new(); queues],
            is_taken: vec![false; queues],
            running: Vec::new(),
        }
    }

    pub fn running(&self) -> &[u32] {
        &self.running
    }

    /// A thread that had this processor queues; `creator`: the processor of the thread that lets it go on.
    pub fn enqueue(&mut self, thread: u32, last: Option<u32>, creator: Option<u32>) {
        let queue = self.choose(last.map(|last| last as usize), creator.map(|creator| creator as usize));
        self.queues[queue].push_back(thread);
    }

    fn choose(&self, last: Option<usize>, creator: Option<usize>) -> usize {
        if self.queues.len() == 1 {
            return 0;
        }
        let is_free = |&queue: &usize| !self.is_taken[queue] && self.queues[queue].is_empty();
        let free = last.filter(is_free).or_else(|| (0..self.queues.len()).find(is_free));
        let elsewhere = || match self.model {
            SchedulerModel::Placed => self.shortest(),
            _ => creator.unwrap_or(0),
        };
        free.or(last).unwrap_or_else(elsewhere)
    }

    fn shortest(&self) -> usize {
        let threads = |&queue: &usize| self.queues[queue].len() + usize::from(self.is_taken[queue]);
        (0..self.queues.len()).min_by_key(threads).unwrap_or(0)
    }

    /// A thread whose turn is over queues where it ran.
    pub fn requeue(&mut self, thread: u32, processor: Option<u32>) {
        let queue = self.queue_of(processor);
        self.queues[queue].push_back(thread);
    }

    /// The next thread that gets a processor, and which one.
    pub fn next(&mut self) -> Option<(u32, u32)> {
        let (queue, processor) = if self.queues.len() == 1 {
            (0, (self.running.len() < self.processors).then_some(0)?)
        } else {
            self.match_processor()?
        };
        let thread = self.queues[queue].pop_front()?;
        self.is_taken[processor] = true;
        self.running.push(thread);
        Some((thread, processor as u32))
    }

    /// A free processor and the queue that it takes from: its own, else the longest.
    fn match_processor(&self) -> Option<(usize, usize)> {
        let mut free = (0..self.queues.len()).filter(|&processor| !self.is_taken[processor]);
        let first = free.clone().next()?;
        if let Some(own) = free.find(|&processor| !self.queues[processor].is_empty()) {
            return Some((own, own));
        }
        let longest = (0..self.queues.len()).rev().max_by_key(|&queue| self.queues[queue].len())?;
        Some((longest, first))
    }

    /// Whether another thread waits for this processor.
    pub fn others_want(&self, processor: Option<u32>) -> bool {
        !self.queues[self.queue_of(processor)].is_empty()
    }

    pub fn leave(&mut self, thread: u32, processor: Option<u32>) {
        if let Some(index) = self.running.iter().position(|&other| other == thread) {
            self.running.remove(index);
            let queue = self.queue_of(processor);
            self.is_taken[queue] = false;
        }
    }

    fn queue_of(&self, processor: Option<u32>) -> usize {
        if self.queues.len() == 1 { 0 } else { processor.unwrap_or(0) as usize }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(machine: &mut ReplayedMachine) -> Vec<(u32, u32)> {
        std::iter::from_fn(|| machine.next()).collect()
    }

    #[test]
    fn a_new_thread_queues_where_it_was_created_or_at_the_shortest_queue() {
        for (model, third) in [(SchedulerModel::RealTime, 1), (SchedulerModel::Placed, 0)] {
            let mut machine = ReplayedMachine::new(model, 2);
            machine.enqueue(0, None, None);
            machine.enqueue(1, None, Some(0));
            assert_eq!(given(&mut machine), [(0, 0), (1, 1)]);
            // Both have a thread. Where it was created, and where fewer are: the same number, so the first.
            machine.enqueue(2, None, Some(1));
            assert!(machine.others_want(Some(third)) && !machine.others_want(Some(1 - third)));
        }
    }

    #[test]
    fn a_processor_without_a_thread_takes_one_from_the_longest_queue() {
        let mut machine = ReplayedMachine::new(SchedulerModel::RealTime, 2);
        for thread in 0..4 {
            machine.enqueue(thread, None, Some(0));
        }
        assert_eq!(given(&mut machine), [(0, 0), (1, 1)]);
        machine.leave(1, Some(1));
        // 2 queues for processor 0, where it was created.
        assert_eq!(given(&mut machine), [(2, 1)]);
        // One that waited goes back to its processor if it is free, else it queues there.
        machine.leave(2, Some(1));
        machine.enqueue(1, Some(1), Some(0));
        assert_eq!(given(&mut machine), [(1, 1)]);
        machine.enqueue(2, Some(1), Some(0));
        assert!(machine.others_want(Some(1)));
    }

    #[test]
    fn one_queue_serves_all_processors() {
        let mut machine = ReplayedMachine::new(SchedulerModel::Even, 2);
        (0..3).for_each(|thread| machine.enqueue(thread, None, None));
        assert_eq!(given(&mut machine).len(), 2);
        assert!(machine.others_want(Some(0)));
        machine.leave(0, Some(0));
        assert_eq!(given(&mut machine), [(2, 0)]);
    }
}
