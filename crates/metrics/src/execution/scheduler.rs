//! Executes a plan: events in the order of time, processors shared evenly.
//!
//! ```text
//!   3 threads can run on 2 processors: each runs at 2/3 of full speed. All run equally fast, so one clock of *service*
//!   is enough: a thread that comes at service s with work w has finished when the clock shows s + w.
//! ```

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use longpole_trace::ObjectId;

use super::node_releases::NodeReleases;
use super::plan::{ExecutedSpinEnds, ExecutionPlan, Factors, NodeId, PlanStep, next_look};
use super::queues::{ExecutedQueues, PlannedItem};

/// A moment that comes for a thread.
#[derive(Clone, Copy, Debug, PartialEq)]
struct SchedulerEvent {
    at: f64,
    thread: usize,
}

impl Eq for SchedulerEvent {}

impl Ord for SchedulerEvent {
    fn cmp(&self, other: &Self) -> Ordering {
        self.at.total_cmp(&other.at).then(self.thread.cmp(&other.thread))
    }
}

impl PartialOrd for SchedulerEvent {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The processors of one machine.
#[derive(Debug, Default)]
struct ProcessorPool {
    processors: f64,
    /// How much a thread that ran from the begin would have got, nanoseconds.
    service: f64,
    working: BinaryHeap<Reverse<SchedulerEvent>>,
    spinning: usize,
}

impl ProcessorPool {
    fn speed(&self) -> f64 {
        let threads = (self.working.len() + self.spinning) as f64;
        if threads > self.processors { self.processors / threads } else { 1.0 }
    }

    /// When the first of those that work has finished.
    fn next(&self, now: f64) -> Option<f64> {
        let Reverse(first) = self.working.peek()?;
        Some(now + (first.at - self.service).max(0.0) / self.speed())
    }
}

struct Scheduler<'a, F> {
    plan: &'a ExecutionPlan,
    factors: &'a Factors,
    is_free: &'a F,
    now: f64,
    /// By thread: whose steps of the plan it does, since it took an item perhaps another one's.
    planned: Vec<usize>,
    next: Vec<u32>,
    /// Threads that wait for a node on a processor.
    spins: Vec<bool>,
    /// Threads in a busy-wait of unknown end; these last at least until `spin_ends`.
    in_unknown: Vec<bool>,
    spin_ends: Option<&'a ExecutedSpinEnds>,
    ended_spins: ExecutedSpinEnds,
    nodes: NodeReleases,
    /// Threads that a release lets go.
    let_go: Vec<u32>,
    queues: ExecutedQueues<'a>,
    pools: Vec<ProcessorPool>,
    away: BinaryHeap<Reverse<SchedulerEvent>>,
    /// Threads that can go on now.
    going: Vec<usize>,
    end: f64,
}

/// What an execution came to.
#[derive(Clone, Debug)]
pub(super) struct ScheduledRun {
    /// How long it takes, nanoseconds.
    pub elapsed: f64,
    /// Ends of its busy-waits of unknown end.
    pub spin_ends: ExecutedSpinEnds,
}

/// Executes the plan with these factors of its places; busy-waits of unknown end last until `spin_ends`, if there are any.
pub(super) fn execute(
    plan: &ExecutionPlan,
    factors: &Factors,
    is_free: &impl Fn(ObjectId) -> bool,
    spin_ends: Option<&ExecutedSpinEnds>,
) -> ScheduledRun {
    let pool =
        |&processors: &u32| ProcessorPool { processors: f64::from(processors), ..ProcessorPool::default() };
    let mut scheduler = Scheduler {
        plan,
        factors,
        is_free,
        now: 0.0,
        planned: (0..plan.threads.len()).collect(),
        next: vec![0; plan.threads.len()],
        spins: vec![false; plan.threads.len()],
        in_unknown: vec![false; plan.threads.len()],
        spin_ends,
        ended_spins: vec![Vec::new(); plan.threads.len()],
        nodes: NodeReleases::new(plan.nodes, plan.threads.len()),
        let_go: Vec::new(),
        queues: ExecutedQueues::of(plan),
        pools: plan.processors.iter().map(pool).collect(),
        away: BinaryHeap::new(),
        going: (0..plan.threads.len()).rev().collect(),
        end: 0.0,
    };
    scheduler.run();
    ScheduledRun { elapsed: scheduler.end, spin_ends: scheduler.ended_spins }
}

impl<F: Fn(ObjectId) -> bool> Scheduler<'_, F> {
    fn run(&mut self) {
        loop {
            while let Some(thread) = self.going.pop() {
                self.advance(thread);
            }
            let pools = self.pools.iter().enumerate();
            let first = pools.filter_map(|(index, pool)| Some((pool.next(self.now)?, Some(index))));
            let away = self.away.peek().map(|Reverse(moment)| (moment.at, None));
            let Some((at, pool)) = first.chain(away).min_by(|a, b| a.0.total_cmp(&b.0)) else { return };
            self.pass(at);
            let moment = match pool {
                Some(index) => {
                    let moment = self.pools[index].working.pop();
                    if let Some(Reverse(moment)) = moment {
                        self.pools[index].service = self.pools[index].service.max(moment.at);
                    }
                    moment
                }
                None => self.away.pop(),
            };
            self.going.extend(moment.map(|Reverse(moment)| moment.thread));
        }
    }

    fn pass(&mut self, to: f64) {
        for pool in &mut self.pools {
            pool.service += (to - self.now) * pool.speed();
        }
        self.now = to;
    }

    /// Does the thread's steps up to one that takes time.
    fn advance(&mut self, thread: usize) {
        let machine = self.plan.threads[thread].machine;
        self.end_spin(thread);
        while let Some(&step) = self.plan.threads[self.planned[thread]].steps.get(self.next[thread] as usize)
        {
            self.next[thread] += 1;
            let on_processor = match step {
                PlanStep::Work { place, time } => time as f64 * self.factors.work[place as usize],
                PlanStep::Spin { place, time } => {
                    self.in_unknown[thread] = true;
                    if let Some(end) = self.spin_end(thread) {
                        self.spin_until(thread, end);
                        return;
                    }
                    time as f64 * self.factors.spinning[place as usize]
                }
                PlanStep::Busy(time) => time as f64,
                // Others' part in the run is no part of this order.
                PlanStep::Displaced { .. } | PlanStep::Lock(_) | PlanStep::Unlock(_) => continue,
                PlanStep::Get(own) => {
                    let Some(item) = self.queues.get(thread as u32, own) else { return };
                    self.go_on_with(thread, item);
                    self.close(item.queue);
                    continue;
                }
                PlanStep::Away { request: Some(object), .. } if (self.is_free)(object.object()) => continue,
                PlanStep::Away { time, .. } => {
                    let at = self.now + time as f64;
                    self.away.push(Reverse(SchedulerEvent { at, thread }));
                    return;
                }
                PlanStep::Sleep { time, moment } => {
                    // What a thread polls for comes no earlier.
                    let at = self.now + time.nanoseconds() as f64;
                    let at = if self.spin_ends.is_some() { at.max(moment as f64) } else { at };
                    self.away.push(Reverse(SchedulerEvent { at, thread }));
                    return;
                }
                PlanStep::Until { moment } if moment as f64 <= self.now => continue,
                PlanStep::Until { moment } => {
                    self.away.push(Reverse(SchedulerEvent { at: moment as f64, thread }));
                    return;
                }
                PlanStep::Look { period, moment } => {
                    let at = next_look(self.now, period, moment);
                    self.away.push(Reverse(SchedulerEvent { at, thread }));
                    return;
                }
                PlanStep::Release(node) => {
                    self.release(node);
                    continue;
                }
                PlanStep::Wait { object: Some(object), .. } if (self.is_free)(object.object()) => continue,
                PlanStep::Wait { node, releases, .. } if self.nodes.has(node, releases) => continue,
                PlanStep::Wait { node, releases, spins, .. } => {
                    self.nodes.wait(thread as u32, node, releases);
                    self.spins[thread] = spins;
                    self.pools[machine].spinning += usize::from(spins);
                    return;
                }
            };
            if on_processor > 0.0 {
                let pool = &mut self.pools[machine];
                pool.working.push(Reverse(SchedulerEvent { at: pool.service + on_processor, thread }));
                return;
            }
            self.end_spin(thread);
        }
        if !self.plan.threads[self.planned[thread]].is_killed {
            self.end = self.end.max(self.now);
        }
    }

    /// When the thread's busy-wait ended in the other execution.
    fn spin_end(&self, thread: usize) -> Option<f64> {
        let planned = self.planned[thread];
        let ends = &self.spin_ends?[planned];
        ends.get(self.ended_spins[planned].len()).map(|&end| end as f64)
    }

    /// The thread is on a processor until then, whatever part of it it gets.
    fn spin_until(&mut self, thread: usize, end: f64) {
        self.spins[thread] = true;
        self.pools[self.plan.threads[thread].machine].spinning += 1;
        self.away.push(Reverse(SchedulerEvent { at: end.max(self.now), thread }));
    }

    /// The thread goes on: if it was in a busy-wait of unknown end, that is over.
    fn end_spin(&mut self, thread: usize) {
        if std::mem::take(&mut self.in_unknown[thread]) {
            self.stop_spinning(thread);
            self.ended_spins[self.planned[thread]].push(self.now.round() as u64);
        }
    }

    fn stop_spinning(&mut self, thread: usize) {
        if std::mem::take(&mut self.spins[thread]) {
            self.pools[self.plan.threads[thread].machine].spinning -= 1;
        }
    }

    /// The thread does what was done for this item, or at this end.
    fn go_on_with(&mut self, thread: usize, item: PlannedItem) {
        (self.planned[thread], self.next[thread]) = (item.thread, item.step as u32);
    }

    /// Threads that wait for an item when all are taken go on.
    fn close(&mut self, queue: usize) {
        while let Some((thread, end)) = self.queues.close(queue) {
            self.go_on_with(thread as usize, end);
            self.going.push(thread as usize);
        }
    }

    fn release(&mut self, of: NodeId) {
        let mut let_go = std::mem::take(&mut self.let_go);
        self.nodes.release(of, &mut let_go);
        for thread in let_go.drain(..) {
            self.stop_spinning(thread as usize);
            self.going.push(thread as usize);
        }
        self.let_go = let_go;
        if let Some((thread, item)) = self.queues.put(of) {
            self.go_on_with(thread as usize, item);
            self.going.push(thread as usize);
            self.close(item.queue);
        }
    }
}
