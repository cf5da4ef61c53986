//! What the nodes and arcs of the graph are in a plan.

use longpole_event::{ThreadId, Time};
use longpole_graph::{Arc, Dependence, ParallelismLevel, Sweep};
use longpole_trace::{Acquisition, Cause, DependenceKind, LockHold, ObservationKind, PathId, State, TokenId};

use super::{Compiler, PlannedThread};
use crate::execution::plan::{CompactObjectId, NodeId, PlanStep};
use crate::pieces::PieceEnd;

impl Sweep for Compiler<'_> {
    fn pass(&mut self, from: Time, to: Time, level: ParallelismLevel) {
        if let Some(arbitration) = &mut self.arbitration {
            arbitration.pass(to.since(from));
        }
        if level.nominal == 0 {
            self.idle += to.since(from);
        }
        while let Some(departure) = self.foresight.departures.get(self.next_departure)
            && departure.time < to
        {
            let (thread, time) = (departure.thread, departure.time);
            self.cut(thread, time);
            let node = self.node();
            self.push(thread, PlanStep::Release(node));
            self.departed.insert((thread, time), node);
            self.next_departure += 1;
        }
    }

    fn arc(&mut self, arc: Arc) {
        self.ends.live(&arc);
        let arc = self.divide_in_step(arc);
        if self.arbitration.is_some() && self.follow(arc) {
            return;
        }
        let planned = &mut self.threads[arc.thread.index()];
        let of_state = match arc.state {
            State::Running => return self.run(arc.thread, arc.from, arc.to),
            State::Overhead => &mut planned.busy,
            State::Spinning => &mut planned.spun,
            // How long it waits follows from who has the lock.
            State::Blocked(Cause::Lock)
                if arc.object.is_some_and(|object| self.hand_offs.is_asked_for_anew(object)) =>
            {
                return;
            }
            State::Blocked(_) => {
                planned.object = arc.object;
                &mut planned.away
            }
            State::Ready | State::Absent => return,
        };
        *of_state += arc.length();
    }

    fn enter(&mut self, thread: ThreadId, time: Time, before: State, state: State) {
        if before == State::Absent && !self.threads[thread.index()].has_begun {
            self.threads[thread.index()].has_begun = true;
            self.slots.begin(thread);
            if self.plan.threads[thread.index()].steps.is_empty() && time > Time::ZERO {
                self.push(thread, PlanStep::Away { time: time.nanoseconds(), io: false, request: None });
            }
        }
        if before == State::Running && state != State::Ready {
            self.cut(thread, time);
        }
        match (before, state) {
            // Cut off: nobody knows how long it would have waited.
            (_, State::Absent) => {
                (self.threads[thread.index()].spun, self.threads[thread.index()].away) = (0, 0);
                self.ends.end(thread);
                self.slots.end(thread, self.ends.used(thread));
                if matches!(before, State::Blocked(_)) {
                    self.taken.end_waiting(thread);
                }
            }
            (State::Blocked(_), _) | (_, State::Running | State::Overhead) => {
                self.pass_waits(thread, time);
            }
            _ => {}
        }
        self.follow_steps(thread, time, (before, state));
        if matches!(state, State::Blocked(_)) {
            self.ends.block(thread);
            self.threads[thread.index()].idle_before = self.idle;
        }
        self.follow_stops(thread, time, (before, state));
        let resumed_at = self.plan.threads[thread.index()].steps.len();
        let taken = self.arbitration.as_mut().map_or(0.0, |own| own.enter(thread, before, state));
        self.threads[thread.index()].arbitrated.enter((before, state), taken, resumed_at);
        self.threads[thread.index()].state = state;
    }

    fn observe(&mut self, thread: ThreadId, time: Time, path: PathId, kind: ObservationKind) {
        self.place_spin(thread, time, path);
        self.watcher.observe(thread, path);
        self.threads[thread.index()].path = path;
        if let Some(end) = PieceEnd::of(path, kind) {
            self.charge(thread, end);
            self.pieces.end(thread, end);
        } else if let ObservationKind::Sample { gap } = kind {
            let PlannedThread { state, on, .. } = self.threads[thread.index()];
            if state == State::Running {
                self.pieces.sample(thread, (path, on), self.plan.charging.gap(gap));
            }
        }
    }

    fn depend(&mut self, dependence: Dependence) {
        let Dependence { source, source_time, thread, time, kind, object } = dependence;
        if source_time == time {
            self.pieces.cut(source);
        }
        self.pieces.cut(thread);
        if source == thread || !self.waits(thread) {
            return;
        }
        // It gives others what was there to be done: at which of its looks is no order of the program.
        if self.watcher.is_watching(source) {
            return;
        }
        self.ends.enable(source, Some(thread));
        let state = self.threads[thread.index()].state;
        self.unseen.end_wait(thread, state, source);
        self.streams.end_wait(state, &dependence);
        self.cut(thread, time);
        if self.threads[thread.index()].arbitrated.asks(time) || !self.hand_offs.are_order(&dependence) {
            let planned = &mut self.threads[thread.index()];
            (planned.spun, planned.away) = (0, 0);
            return;
        }
        let node = if source_time < time {
            let Some(&node) = self.departed.get(&(source, source_time)) else { return };
            node
        } else {
            if matches!(self.threads[source.index()].state, State::Blocked(_)) {
                return;
            }
            self.cut(source, time);
            self.keep_step(thread, source);
            let node = self.node();
            self.push(source, PlanStep::Release(node));
            node
        };
        self.time_limits.enable(source, kind, node);
        self.slots.wait((thread, state, object), (source, self.ends.used(source)), node);
        let step = self.plan.threads[thread.index()].steps.len();
        self.ends.wait(thread, source, step);
        let slept = self.threads[thread.index()].away;
        let sees_end = kind == DependenceKind::Join && self.sleeps(thread);
        if sees_end {
            self.take_polls(thread, slept);
        }
        self.wait(thread, (node, 1), object);
        if kind == DependenceKind::Stop {
            self.ends.stop(thread, step, (slept, time));
        }
        if sees_end || kind == DependenceKind::Stop {
            self.threads[thread.index()].away = time.since(source_time);
        }
    }

    fn release(&mut self, thread: ThreadId, time: Time, token: TokenId) {
        self.pieces.cut(thread);
        if !self.foresight.acquisitions.contains_key(&token) || self.watcher.is_watching(thread) {
            return;
        }
        self.ends.enable(thread, None);
        self.cut(thread, time);
        let fresh = NodeId(self.plan.nodes as u32);
        let (node, releases) = self.tokens.entry(token).or_insert((fresh, 0));
        *releases += 1;
        let node = *node;
        self.plan.nodes += usize::from(node == fresh);
        self.time_limits.enable(thread, DependenceKind::Signal, node);
        self.push(thread, PlanStep::Release(node));
    }

    fn acquire(&mut self, thread: ThreadId, time: Time, acquisition: Acquisition) {
        self.cut(thread, time);
        self.streams.acquire(&acquisition);
        let token = self.tokens.get(&acquisition.token).copied();
        if acquisition.last {
            self.tokens.remove(&acquisition.token);
        }
        let object = acquisition.object.and_then(CompactObjectId::new);
        if let Some((node, _)) = token {
            self.time_limits.acquire(thread, acquisition.kind, node);
            if acquisition.kind == DependenceKind::Join {
                self.slots.reap(thread, node);
            }
        }
        let wait = token.map(|(node, releases)| PlanStep::Wait { node, releases, object, spins: false });
        let get = acquisition.queue.map(|queue| self.taken.take(thread, queue, token.map(|token| token.0)));
        if self.arbitration.is_some() || get.is_some() {
            self.insert_waits(thread, acquisition.kind, (get, wait));
        } else if let Some(wait) = wait {
            self.push(thread, wait);
        }
    }

    fn hold(&mut self, thread: ThreadId, time: Time, hold: LockHold) {
        if self.arbitration.is_some() {
            self.give_back(thread, time, hold);
        }
    }

    fn finish(&mut self, _end: Time) {
        for index in 0..self.threads.len() {
            let thread = ThreadId::from_index(index);
            let is_sampled = self.pieces.piece(thread).is_sampled;
            self.charge(thread, PieceEnd::Nothing { is_sampled });
        }
    }
}
