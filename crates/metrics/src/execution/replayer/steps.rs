//! What a thread does on its processor, step by step.

use std::cmp::Reverse;

use longpole_trace::ObjectId;

use super::{PlanReplayer, ReplayStatus, scaled};
use crate::execution::plan::{ExecutedSpinEnds, NO_PLACE, NodeId, PlanStep, next_look};

impl<F: Fn(ObjectId) -> bool> PlanReplayer<'_, F> {
    /// Does the thread's steps up to one that takes time, or makes it wait.
    pub(super) fn advance(&mut self, thread: u32) {
        loop {
            let planned = self.threads[thread as usize].planned;
            if self.threads[thread as usize].spins_until.take().is_some() {
                self.ended_spins[planned].push(self.now);
            }
            let Some(&step) = self.upcoming(thread, 0) else {
                self.open -= usize::from(!self.plan.threads[planned].is_killed);
                return self.leave(thread);
            };
            self.threads[thread as usize].next += 1;
            if self.does(thread, step) {
                return;
            }
        }
    }

    /// The thread's next step, or one behind it.
    pub(super) fn upcoming(&self, thread: u32, behind: usize) -> Option<&PlanStep> {
        let own = &self.threads[thread as usize];
        self.plan.threads[own.planned].steps.get(own.next + behind)
    }

    /// Does the step; whether it takes time, or makes the thread wait.
    fn does(&mut self, thread: u32, step: PlanStep) -> bool {
        match step {
            PlanStep::Work { place, time } => {
                if self.pays_latency(thread, self.conditions.latency) {
                    // The work comes after it.
                    self.threads[thread as usize].next -= 1;
                    return true;
                }
                let time = self.work(thread, (place, time));
                self.works(thread, time)
            }
            PlanStep::Spin { place, time } => {
                self.spins(thread, scaled(time, self.factors.spinning[place as usize]))
            }
            PlanStep::Busy(time) => self.works(thread, time),
            PlanStep::Away { request: Some(object), .. } if (self.is_free)(object.object()) => false,
            PlanStep::Away { time, io, .. } => {
                let factor = if io { self.conditions.io } else { 1.0 };
                self.threads[thread as usize].owes_latency = true;
                self.goes_away(thread, scaled(time, factor))
            }
            PlanStep::Sleep { time, moment } => {
                self.threads[thread as usize].owes_latency = true;
                // What a thread polls for comes no earlier.
                let least = if self.spin_ends.is_some() { moment.saturating_sub(self.now) } else { 0 };
                self.goes_away(thread, time.nanoseconds().max(least))
            }
            PlanStep::Until { moment } => {
                self.threads[thread as usize].owes_latency = true;
                self.goes_away(thread, moment.saturating_sub(self.now))
            }
            PlanStep::Look { period, moment } => {
                self.threads[thread as usize].owes_latency = true;
                let at = next_look(self.now as f64, period, moment) as u64;
                self.goes_away(thread, at.saturating_sub(self.now))
            }
            PlanStep::Displaced { place: NO_PLACE, time } => self.pays_latency(thread, time),
            PlanStep::Displaced { place, time } => {
                self.works(thread, scaled(time, self.factors.work[place as usize]))
            }
            PlanStep::Release(node) => {
                self.release(thread, node);
                false
            }
            PlanStep::Get(own) => {
                let Some(item) = self.queues.get(thread, own) else {
                    self.threads[thread as usize].owes_latency = true;
                    self.leave(thread);
                    return true;
                };
                self.go_on_with(thread, item);
                self.close(item.queue, thread);
                false
            }
            PlanStep::Wait { object: Some(object), .. } if (self.is_free)(object.object()) => false,
            PlanStep::Wait { node, releases, spins, .. } => self.waits(thread, (node, releases), spins),
            PlanStep::Lock(lock) => !(self.is_free)(lock.object()) && !self.takes(thread, lock),
            PlanStep::Unlock(lock) => {
                if !(self.is_free)(lock.object()) {
                    self.gives_back(thread, lock);
                }
                false
            }
        }
    }

    /// The time of a piece of work with those that follow at once: where a piece ends nothing happens.
    fn work(&mut self, thread: u32, (place, time): (u32, u64)) -> u64 {
        let mut sum = self.piece(thread, place, time);
        while let Some(&PlanStep::Work { place, time }) = self.upcoming(thread, 0) {
            self.threads[thread as usize].next += 1;
            sum += self.piece(thread, place, time);
        }
        sum
    }

    pub(super) fn works(&mut self, thread: u32, time: u64) -> bool {
        let own = &mut self.threads[thread as usize];
        own.until = self.now.saturating_add(time);
        time > 0
    }

    /// Busy-waits for so long, or until the busy-wait of the other execution ended.
    fn spins(&mut self, thread: u32, time: u64) -> bool {
        let planned = self.threads[thread as usize].planned;
        let of_other = |ends: &ExecutedSpinEnds| ends[planned].get(self.ended_spins[planned].len()).copied();
        let end = self.spin_ends.and_then(of_other).unwrap_or(self.now.saturating_add(time));
        self.threads[thread as usize].spins_until = Some(end);
        self.works(thread, end.saturating_sub(self.now))
    }

    fn goes_away(&mut self, thread: u32, time: u64) -> bool {
        if time > 0 {
            self.leave(thread);
            self.timers.push(Reverse((self.now.saturating_add(time), thread)));
        }
        time > 0
    }

    fn waits(&mut self, thread: u32, (node, releases): (NodeId, u32), spins: bool) -> bool {
        if self.nodes.has(node, releases) {
            return false;
        }
        self.nodes.wait(thread, node, releases);
        if spins {
            self.threads[thread as usize].until = u64::MAX;
        } else {
            self.threads[thread as usize].owes_latency = true;
            self.leave(thread);
        }
        true
    }

    fn release(&mut self, waker: u32, of: NodeId) {
        let mut let_go = std::mem::take(&mut self.let_go);
        self.nodes.release(of, &mut let_go);
        for thread in let_go.drain(..) {
            let own = &mut self.threads[thread as usize];
            match own.status {
                ReplayStatus::Off => self.enqueue(thread, Some(waker)),
                // It waited on its processor, or in the queue for one.
                ReplayStatus::Queued => own.left = 0,
                ReplayStatus::OnProcessor => own.until = self.now,
            }
        }
        self.let_go = let_go;
        if let Some((thread, item)) = self.queues.put(of) {
            self.go_on_with(thread, item);
            self.enqueue(thread, Some(waker));
            self.close(item.queue, waker);
        }
    }
}
