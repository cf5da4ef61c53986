//! Which hand-offs between threads are arcs of the graph (metrics.md §1).
//!
//! ```text
//!   A  ==mm====mm==        A waited at the end for B's hold of m. That B came first is no rule of the program: without
//!   B  mm==mmmmm===        the work before it, A comes first. The wait is explained by the hold, and yet no arc leads on.
//! ```
//! Exclusion is not order. Yet where a lock is held for much of the run, its holds queue behind each other in any order, and
//! recorded hand-offs say more than none: they are arcs from a third of the run on. Tables of waits and of those who
//! caused them know no such rule, nor does the critical path by elapsed time: they say what happened. Of the two paths that
//! come to the end of such a wait, both as long as the run is old, the latter takes the one that asked for the lock, and from then on
//! what the holders did.
//!
//! Where tokens say which signal of a condition each thread goes on by, wakes are no arcs either: who was woken may have come
//! too late for the item of that signal, and have waited on for another.

use longpole_graph::Dependence;
use longpole_trace::{ObjectId, ObjectKind, Objects, Signals};

use crate::analysis::Order;

/// The part of the time in which a lock can exclude threads from which on one that is held so long has arcs.
const BUSY: f64 = 1.0 / 3.0;

/// Tells hand-offs that are arcs.
#[derive(Clone, Debug, Default)]
pub(crate) struct HandOffs {
    /// Objects whose hand-offs are no arcs.
    are_none: Vec<bool>,
    /// Objects that exclude others while one has them; none where all hand-offs are followed as recorded.
    exclude: Vec<bool>,
    /// Locks of interpreters.
    of_interpreters: Vec<bool>,
    /// Whether there are locks whose hand-offs are no arcs, since they are seldom held.
    leave_out_locks: bool,
}

impl HandOffs {
    /// Those between threads that wait for these objects.
    pub fn new(objects: &Objects, order: Order) -> Self {
        let is_seldom_held = |(index, object): (usize, &longpole_trace::Object)| {
            let is_busy = objects.exclusion(ObjectId(index as u32)) > BUSY;
            order == Order::Busy && object.kind.excludes() && !is_busy
        };
        let are_none = |(index, object): (usize, &longpole_trace::Object)| {
            objects.signals(ObjectId(index as u32)) == Signals::Numbered || is_seldom_held((index, object))
        };
        let of_all = |is_it: &dyn Fn(ObjectKind) -> bool| {
            objects.all().iter().map(|object| is_it(object.kind)).collect()
        };
        HandOffs {
            are_none: objects.all().iter().enumerate().map(are_none).collect(),
            exclude: of_all(&|kind| order == Order::Busy && kind.excludes()),
            of_interpreters: of_all(&|kind| kind == ObjectKind::InterpreterLock),
            leave_out_locks: objects.all().iter().enumerate().any(is_seldom_held),
        }
    }

    /// Whether the thread waited for another one to give back what only one can have, and that is no order.
    pub fn is_exclusion(&self, dependence: &Dependence) -> bool {
        dependence.object.is_some_and(|object| self.excludes(object))
    }

    /// Whether only one thread can have the object, in whatever order.
    pub fn excludes(&self, object: ObjectId) -> bool {
        has(&self.exclude, object)
    }

    /// Whether a thread that waits for this object asks for it anew every few milliseconds, so that the end of such a wait is none: CPython
    /// does, which asks who has the lock to give it back.
    pub fn is_asked_for_anew(&self, object: ObjectId) -> bool {
        has(&self.of_interpreters, object)
    }

    /// Whether the recorded order of all locks has more arcs.
    pub fn leave_out_locks(&self) -> bool {
        self.leave_out_locks
    }

    /// Whether the dependence is an arc.
    pub fn are_order(&self, dependence: &Dependence) -> bool {
        !dependence.object.is_some_and(|object| has(&self.are_none, object))
    }
}

fn has(objects: &[bool], object: ObjectId) -> bool {
    objects.get(object.index()).copied().unwrap_or(false)
}
