//! The state table of objects (metrics.md §3; Q table 1): for how long threads waited for each, for how long any did, and
//! how many threads were runnable and busy meanwhile.
//!
//! ```text
//!   1 = mutex m         m blocked (thread time): 2..4 and 3..4
//!   T1  AA11A             N 2, then twice 1
//!   T2  BBB1B           m wanted (time with one waiter or more): 2..4
//!   T3  CCCCC             N 2, then 1
//! ```
//! Objects of one kind and name are one row: it is wanted while any of them is.
//!
//! Time: per wait and cut of it, the number of levels that occurred meanwhile. Memory: levels per object and cause;
//! levels per live thread.
//!
//! It cannot see objects that nobody waited for.

use std::collections::BTreeMap;

use longpole_event::{ThreadId, Time};
use longpole_graph::{Arc, ParallelismLevel, Sweep};
use longpole_trace::{ObjectId, ObjectKind, Objects, Program, State};

use crate::analysis::Node;
use crate::states::{BothLevels, Condition, ConditionTimes, LevelsSeen, StateRow, StateTable};
use crate::wait_ends::goes_on;

/// The first object of the kind and name of each.
pub(crate) fn first_of_name(objects: &Objects) -> Vec<ObjectId> {
    let mut first: BTreeMap<(ObjectKind, &str), ObjectId> = BTreeMap::new();
    let ids = (0..objects.all().len() as u32).map(ObjectId);
    let all = objects.all().iter().zip(ids);
    all.map(|(object, id)| *first.entry((object.kind, &object.name)).or_insert(id)).collect()
}

#[derive(Clone, Debug, Default)]
struct WantedQueue {
    waiters: u32,
    looks: LevelsSeen,
    account: ConditionTimes,
}

#[derive(Clone, Debug, Default)]
struct WantedThread {
    /// What it waits for.
    object: Option<ObjectId>,
    /// What it is about to wait for.
    next: Option<ObjectId>,
    is_blocked: bool,
    looks: LevelsSeen,
}

/// The sweep of the state table of objects.
#[derive(Debug)]
pub(crate) struct ObjectStateSweep {
    levels: BothLevels,
    first: Vec<ObjectId>,
    queues: Vec<WantedQueue>,
    per_thread: Vec<WantedThread>,
}

impl ObjectStateSweep {
    pub fn new(program: &Program, objects: &Objects) -> Self {
        ObjectStateSweep {
            levels: BothLevels::default(),
            first: first_of_name(objects),
            queues: vec![WantedQueue::default(); objects.all().len()],
            per_thread: vec![WantedThread::default(); program.threads.len()],
        }
    }

    fn of_thread(&mut self, thread: ThreadId) -> &mut WantedThread {
        if thread.index() >= self.per_thread.len() {
            self.per_thread.resize(thread.index() + 1, WantedThread::default());
        }
        &mut self.per_thread[thread.index()]
    }

    fn join(&mut self, thread: ThreadId, object: ObjectId, time: Time) {
        let (levels, queue) = (&self.levels, &mut self.queues[object.index()]);
        if queue.waiters == 0 {
            queue.looks.skip(levels, time);
        }
        queue.waiters += 1;
        self.per_thread[thread.index()].looks.skip(levels, time);
    }

    fn leave(&mut self, object: ObjectId, time: Time) {
        let queue = &mut self.queues[object.index()];
        queue.waiters -= 1;
        if queue.waiters == 0 {
            let spreads = queue.account.entry(Condition::Wanted).or_default();
            spreads.look(&mut queue.looks, &self.levels, time);
        }
    }

    /// The thread waits for something else than before.
    fn change(&mut self, thread: ThreadId, time: Time, (old, new): (Option<ObjectId>, Option<ObjectId>)) {
        if old == new {
            return;
        }
        if let Some(old) = old {
            self.leave(old, time);
        }
        if let Some(new) = new {
            self.join(thread, new, time);
        }
    }

    /// The table, once the sweep is finished.
    pub fn into_states(self) -> StateTable {
        let ids = (0..self.queues.len() as u32).map(ObjectId);
        let rows = ids.zip(self.queues).filter(|(_, queue)| !queue.account.is_empty());
        let row = |account: ConditionTimes| StateRow { inclusive: account.clone(), own: account };
        StateTable { rows: rows.map(|(id, queue)| (Node::Object(id), row(queue.account))).collect() }
    }
}

impl Sweep for ObjectStateSweep {
    fn pass(&mut self, from: Time, to: Time, level: ParallelismLevel) {
        self.levels.pass(from, to, level);
    }

    fn arc(&mut self, arc: Arc) {
        let Some(object) = arc.object else { return };
        let looks = &mut self.per_thread[arc.thread.index()].looks;
        let condition = match arc.state {
            State::Blocked(cause) => Condition::Blocked(cause),
            State::Spinning => Condition::Spinning,
            // It spun, and lost its processor.
            State::Ready => Condition::Ready,
            State::Running | State::Overhead | State::Absent => return,
        };
        let queue = &mut self.queues[self.first[object.index()].index()];
        queue.account.entry(condition).or_default().look(looks, &self.levels, arc.to);
    }

    fn begin_wait(&mut self, thread: ThreadId, time: Time, object: ObjectId) {
        let object = self.first[object.index()];
        let of_thread = self.of_thread(thread);
        if of_thread.is_blocked {
            let before = of_thread.object.replace(object);
            self.change(thread, time, (before, Some(object)));
        } else {
            of_thread.next = Some(object);
        }
    }

    fn enter(&mut self, thread: ThreadId, time: Time, before: State, state: State) {
        let is_blocked = matches!(state, State::Blocked(_));
        let of_thread = self.of_thread(thread);
        let was_blocked = std::mem::replace(&mut of_thread.is_blocked, is_blocked);
        let waits_on = if was_blocked { is_blocked } else { goes_on(before, state) };
        let old = of_thread.object;
        of_thread.object = match of_thread.next.take() {
            Some(next) if is_blocked || state == State::Spinning => Some(next),
            _ => old.filter(|_| waits_on),
        };
        let new = of_thread.object;
        self.change(thread, time, (old, new));
    }

    fn finish(&mut self, end: Time) {
        for index in 0..self.per_thread.len() {
            if let Some(object) = self.per_thread[index].object.take() {
                self.leave(object, end);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use longpole_testkit::draw;
    use longpole_trace::Cause;

    use super::*;

    #[test]
    fn an_object_is_waited_for_by_each_and_wanted_once() {
        let made = draw("1 = mutex m\nT1 AA11A\nT2 BBB1B\nT3 CCCCC");
        let mut watch = ObjectStateSweep::new(&made.program, &made.objects);
        let Ok(()) = longpole_graph::sweep(&made, false, &mut watch);
        let row = watch.into_states().rows.remove(&Node::Object(made.object("m"))).unwrap().own;
        assert_eq!(row[&Condition::Blocked(Cause::Lock)].nominal.levels(), [(1, 2), (2, 1)]);
        assert_eq!(row[&Condition::Wanted].nominal.levels(), [(1, 1), (2, 1)]);
    }

    #[test]
    fn an_object_is_spun_for_too() {
        let made = draw("1 = mutex m\nT1 A¹¹1A\nT2 BBBBB");
        let mut watch = ObjectStateSweep::new(&made.program, &made.objects);
        let Ok(()) = longpole_graph::sweep(&made, false, &mut watch);
        let row = watch.into_states().rows.remove(&Node::Object(made.object("m"))).unwrap().own;
        assert_eq!(row[&Condition::Spinning].effective.levels(), [(1, 2)]);
        assert_eq!(row[&Condition::Blocked(Cause::Lock)].effective.levels(), [(1, 1)]);
        assert_eq!(row[&Condition::Wanted].nominal.levels(), [(1, 1), (2, 2)]);
    }
}
