//! The part of a plan in which locks have no recorded order (metrics.md §5, replay): threads ask for them and give them back.
//!
//! ```text
//!   recorded    T2  ==BB....YYYY     asked for m at 4, had it from 8 on: T1 gave it back then
//!   in order    T2  B 4, wait x, Y 4            x: what T1 releases when it gives m back
//!   arbitrated  T2  B 4, lock m, Y 4, unlock m
//! ```
//! The machine's processors are shared with other programs. Where threads are ready and fewer threads of the program than there are
//! processors have one, the processors that lack are *taken*: by other programs, or by the way of a thread to its processor. The threads
//! that are ready are *displaced* for that time, all together for as much as was taken; it belongs to the run and is a step, which takes a
//! processor. Where all processors have a thread of the program, executing the plan brings about who waits.
//!
//! What a wait loop waits for is waited for before the lock is taken that the loop has in its hands: a thread that found its item
//! there held the lock already, and one that does not find it there has given the lock back.

use longpole_event::{ThreadId, Time};
use longpole_graph::Arc;
use longpole_trace::{Cause, DependenceKind, LockHold, ObjectId, Program, State};

use super::compiler::Compiler;
use super::plan::{CompactObjectId, NO_PLACE, NodeId, PlanStep};
use crate::lock_uses::LockUses;

/// Work between a lock and what is said of its condition, nanoseconds: that of the agent.
const SHORT: u64 = 5_000;

/// What is known of locks, and of processors.
pub(super) struct Arbitration<'a> {
    uses: &'a LockUses,
    /// By thread: the next request.
    next: Vec<usize>,
    /// By thread: its machine.
    machines: Vec<usize>,
    processors: Vec<u32>,
    on_processors: Vec<u32>,
    ready: Vec<u32>,
    /// By machine: what of the time so far was taken from each thread that was ready, nanoseconds.
    taken: Vec<f64>,
}

impl<'a> Arbitration<'a> {
    pub fn new(uses: &'a LockUses, program: &Program) -> Self {
        let machine =
            |thread: &longpole_trace::Thread| program.processes[thread.process.index()].machine.index();
        Arbitration {
            uses,
            next: vec![0; program.threads.len()],
            machines: program.threads.iter().map(machine).collect(),
            processors: program.machines.iter().map(|machine| machine.cpus.max(1)).collect(),
            on_processors: vec![0; program.machines.len()],
            ready: vec![0; program.machines.len()],
            taken: vec![0.0; program.machines.len()],
        }
    }

    pub fn pass(&mut self, time: u64) {
        for (machine, taken) in self.taken.iter_mut().enumerate() {
            let lacking = self.processors[machine].saturating_sub(self.on_processors[machine]);
            let ready = self.ready[machine];
            if ready > 0 {
                *taken += time as f64 * f64::from(lacking.min(ready)) / f64::from(ready);
            }
        }
    }

    /// A thread changes its state; what was taken from each thread of its machine so far.
    pub fn enter(&mut self, thread: ThreadId, before: State, state: State) -> f64 {
        let machine = self.machines[thread.index()];
        let on = &mut self.on_processors[machine];
        *on = *on + u32::from(state.is_on_cpu()) - u32::from(before.is_on_cpu());
        let ready = &mut self.ready[machine];
        *ready = *ready + u32::from(state == State::Ready) - u32::from(before == State::Ready);
        self.taken[machine]
    }

    /// The thread's next request, if it comes no later than this.
    fn request(&mut self, thread: ThreadId, until: Time) -> Option<crate::lock_uses::LockRequest> {
        let next = &mut self.next[thread.index()];
        let request = *self.uses.requests(thread).get(*next)?;
        (request.time <= until).then(|| {
            *next += 1;
            request
        })
    }
}

/// What of a thread's time has no step yet.
#[derive(Clone, Debug, Default)]
pub(super) struct ArbitratedThread {
    /// The lock that it asked for, and when it had it.
    asked: Option<(ObjectId, Time)>,
    /// What was taken from each thread of its machine when it was looked at last.
    taken_seen: f64,
    /// Whether it is ready because it was let go on.
    was_woken: bool,
    /// How long it was displaced in the midst of its work, and after it was let go on.
    displaced: f64,
    latency: f64,
    /// What its last wait was for, and the steps that it had when it went on.
    resumed: Option<(Cause, usize)>,
    /// The step of that wait, where it has one.
    wait: Option<usize>,
    /// Its present wait has its token already.
    has_token: bool,
    /// Locks that it holds.
    held: Vec<ObjectId>,
}

impl ArbitratedThread {
    /// Whether it waits at this time for a lock that goes to whoever comes first.
    pub fn asks(&self, time: Time) -> bool {
        self.asked.is_some_and(|(_, held_from)| time <= held_from)
    }

    /// The thread, which has so many steps, changes its state.
    pub fn enter(&mut self, (before, state): (State, State), taken: f64, steps: usize) {
        self.taken_seen = taken;
        if state == State::Ready {
            self.was_woken = !before.is_on_cpu();
        }
        match (before, state) {
            (State::Blocked(_), _) if std::mem::take(&mut self.has_token) => self.wait = None,
            (State::Blocked(cause), _) => self.resumed = Some((cause, steps)),
            (_, State::Blocked(_)) => (self.resumed, self.wait) = (None, None),
            _ => {}
        }
    }

    /// The thread's present wait has this step.
    pub fn waits(&mut self, step: usize) {
        self.wait = Some(step);
    }
}

impl Compiler<'_> {
    /// Follows requests up to the arc's end. Whether the arc is accounted for.
    pub(super) fn follow(&mut self, arc: Arc) -> bool {
        let Arc { thread, from, to, state, object } = arc;
        self.request_locks(thread, from);
        self.look_at_taken(thread, state);
        let own = &mut self.threads[thread.index()].arbitrated;
        if own.asked.is_some_and(|(_, held_from)| from >= held_from) {
            own.asked = None;
        }
        match (state, own.asked) {
            (State::Running, _) => {
                let mut at = from;
                while let Some(request) = self.request_within(thread, to) {
                    self.run(thread, at, request.time);
                    at = at.max(request.time);
                    self.ask(thread, request);
                }
                self.run(thread, at, to);
                true
            }
            // The lock itself is waited for instead.
            (State::Blocked(_) | State::Spinning, Some((lock, _))) => {
                object.is_none_or(|object| object == lock)
            }
            _ => false,
        }
    }

    fn request_within(&mut self, thread: ThreadId, to: Time) -> Option<crate::lock_uses::LockRequest> {
        // One at the very end belongs to what follows.
        self.arbitration.as_mut()?.request(thread, to - 1)
    }

    fn request_locks(&mut self, thread: ThreadId, until: Time) {
        while let Some(request) = self.arbitration.as_mut().and_then(|own| own.request(thread, until)) {
            self.ask(thread, request);
        }
    }

    fn ask(&mut self, thread: ThreadId, request: crate::lock_uses::LockRequest) {
        let Some(lock) = CompactObjectId::new(request.lock) else { return };
        self.cut(thread, request.time);
        self.push(thread, PlanStep::Lock(lock));
        self.threads[thread.index()].arbitrated.held.push(request.lock);
        if request.held_from > request.time {
            self.threads[thread.index()].arbitrated.asked = Some((request.lock, request.held_from));
        }
    }

    /// The thread's hold is over.
    pub(super) fn give_back(&mut self, thread: ThreadId, time: Time, hold: LockHold) {
        if !self.arbitration.as_ref().is_some_and(|own| own.uses.has(&hold)) {
            return;
        }
        self.request_locks(thread, time - 1);
        // Of requests at this very time only that of a hold of no length comes before its end.
        while !self.holds(thread, hold.object)
            && let Some(request) = self.arbitration.as_mut().and_then(|own| own.request(thread, time))
        {
            self.ask(thread, request);
        }
        self.cut(thread, time);
        let held = &mut self.threads[thread.index()].arbitrated.held;
        if let Some(index) = held.iter().rposition(|&lock| lock == hold.object)
            && let Some(lock) = CompactObjectId::new(held.remove(index))
        {
            self.push(thread, PlanStep::Unlock(lock));
        }
    }

    fn holds(&self, thread: ThreadId, lock: ObjectId) -> bool {
        self.threads[thread.index()].arbitrated.held.contains(&lock)
    }

    fn look_at_taken(&mut self, thread: ThreadId, state: State) {
        let Some(arbitration) = &self.arbitration else { return };
        let taken = arbitration.taken[arbitration.machines[thread.index()]];
        let own = &mut self.threads[thread.index()].arbitrated;
        let since = taken - std::mem::replace(&mut own.taken_seen, taken);
        if state == State::Ready {
            *(if own.was_woken { &mut own.latency } else { &mut own.displaced }) += since;
        }
    }

    /// The thread works on after a wait: on its way to a processor it was displaced first. How long it was displaced since.
    pub(super) fn resume(&mut self, thread: ThreadId) -> u64 {
        let own = &mut self.threads[thread.index()].arbitrated;
        let latency = std::mem::take(&mut own.latency).round() as u64;
        let displaced = std::mem::take(&mut own.displaced).round() as u64;
        if latency > 0 {
            self.push(thread, PlanStep::Displaced { place: NO_PLACE, time: latency });
        }
        displaced
    }

    /// The place of the step that was pushed last.
    pub(super) fn place_of_last_work(&self, thread: ThreadId) -> u32 {
        match self.plan.threads[thread.index()].steps.last() {
            Some(PlanStep::Work { place, .. }) => *place,
            _ => NO_PLACE,
        }
    }

    /// A wait for a token stands where the thread waited for it, if it did; else here, or before the lock behind which the token's
    /// condition is. Before it stands the step that takes the item which the token is, if it is one.
    pub(super) fn insert_waits(
        &mut self,
        thread: ThreadId,
        kind: DependenceKind,
        (get, wait): (Option<PlanStep>, Option<PlanStep>),
    ) {
        let planned = &mut self.threads[thread.index()];
        let steps = self.plan.threads[thread.index()].steps.len();
        let own = &mut planned.arbitrated;
        let resumed = match planned.state {
            // Whoever lets it go on tells of its token.
            State::Blocked(cause) if ends(kind, cause) => {
                own.has_token |= wait.is_some();
                Some(steps)
            }
            _ => own.resumed.take_if(|&mut (cause, _)| ends(kind, cause)).map(|(_, steps)| steps),
        };
        let waited = resumed.and_then(|_| own.wait.take());
        let steps = &mut self.plan.threads[thread.index()].steps;
        if let Some(at) = waited
            && let Some(PlanStep::Wait { spins: spun, .. }) = steps.get(at).copied()
        {
            if let Some(PlanStep::Wait { node, releases, object, spins }) = wait {
                // Its token says more than who let it go in this run.
                steps[at] = PlanStep::Wait { node, releases, object, spins: spins || spun };
                if kind == DependenceKind::Barrier {
                    arrive_first(&mut steps[at..], node);
                }
            }
            return self.insert(thread, at, get);
        }
        let at = position(steps, resumed, kind);
        self.insert(thread, at, wait);
        self.insert(thread, at, get);
    }

    fn insert(&mut self, thread: ThreadId, at: usize, step: Option<PlanStep>) {
        let Some(step) = step else { return };
        self.push(thread, step);
        let steps = &mut self.plan.threads[thread.index()].steps;
        if steps.last() == Some(&step) {
            steps[at..].rotate_right(1);
        }
    }
}

/// That a thread arrived at a barrier is known when the first one leaves it, so its arrival stands behind its wait, which is the first of
/// these steps. It waits for its own arrival too.
///
/// ```text
///   known        wait x, release x, work       executed        release x, wait x, work
/// ```
fn arrive_first(steps: &mut [PlanStep], barrier: NodeId) {
    if let Some(arrival) = steps.iter().position(|step| *step == PlanStep::Release(barrier)) {
        steps[..=arrival].rotate_right(1);
    }
}

/// Where a wait for a token of this kind belongs among these steps; `resumed`: their number when the thread went on after it.
fn position(steps: &[PlanStep], resumed: Option<usize>, kind: DependenceKind) -> usize {
    let is_signal = kind == DependenceKind::Signal;
    let mut at = steps.len();
    while let Some(before) = at.checked_sub(1) {
        let has_waited = resumed.is_some_and(|resumed| resumed <= before);
        let is_behind = match steps[before] {
            PlanStep::Lock(_) => is_signal,
            PlanStep::Work { time, .. } if is_signal && time < SHORT => {
                let lock = before.checked_sub(1).is_some_and(|lock| matches!(steps[lock], PlanStep::Lock(_)));
                has_waited || lock
            }
            PlanStep::Work { .. } | PlanStep::Busy(_) | PlanStep::Displaced { .. } => has_waited,
            _ => false,
        };
        if !is_behind {
            break;
        }
        at = before;
    }
    at
}

/// Whether a dependence of this kind ends waits of this cause.
fn ends(kind: DependenceKind, cause: Cause) -> bool {
    match kind {
        DependenceKind::Join => cause == Cause::Join,
        DependenceKind::Barrier => matches!(cause, Cause::Barrier | Cause::Collective),
        DependenceKind::Post => cause == Cause::Semaphore,
        DependenceKind::Signal => matches!(cause, Cause::Condition | Cause::Park),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arrival_at_a_barrier_comes_before_the_wait_for_all_arrivals() {
        let (own, other) = (NodeId(3), NodeId(5));
        let wait = PlanStep::Wait { node: own, releases: 2, object: None, spins: false };
        let work = PlanStep::Work { place: 0, time: 7 };
        let mut steps = [wait, PlanStep::Release(other), PlanStep::Release(own), work];
        arrive_first(&mut steps, own);
        assert_eq!(steps, [PlanStep::Release(own), wait, PlanStep::Release(other), work]);
        // The last to arrive has told of it before.
        let mut steps = [wait, PlanStep::Release(other), work];
        arrive_first(&mut steps, own);
        assert_eq!(steps, [wait, PlanStep::Release(other), work]);
    }
}
