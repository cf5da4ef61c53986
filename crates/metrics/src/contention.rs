//! Contention for synchronisation objects (metrics.md §3; Q table 1): how often and how long threads waited for each.
//!
//! ```text
//!   1 = mutex m         m: 2 waits, 5 in all
//!   T1  AA111A
//!   T2  AA11A.
//! ```
//! Constant time per item; memory per object and per live thread.
//!
//! It cannot see accesses that did not wait: the kernel does not.

use longpole_event::{ThreadId, Time};
use longpole_graph::{Arc, Sweep};
use longpole_trace::{ObjectId, Objects};

/// What happened at each object.
#[derive(Clone, Debug, Default)]
pub struct Contention {
    /// By object id.
    pub objects: Vec<Contended>,
}

/// What happened at one object; times are nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contended {
    /// Waits that began.
    pub waits: u64,
    /// Time waited by all threads together.
    pub waited: u64,
}

impl Contention {
    pub(crate) fn new(objects: &Objects) -> Self {
        Contention { objects: vec![Contended::default(); objects.all().len()] }
    }
}

impl Sweep for Contention {
    fn begin_wait(&mut self, _thread: ThreadId, _time: Time, object: ObjectId) {
        self.objects[object.index()].waits += 1;
    }

    fn arc(&mut self, arc: Arc) {
        if let Some(object) = arc.object {
            self.objects[object.index()].waited += arc.length();
        }
    }
}

#[cfg(test)]
mod tests {
    use longpole_testkit::draw;
    use longpole_trace::Timelines;

    use super::*;

    #[test]
    fn waits_are_counted_and_summed_by_object() {
        let drawn = draw("1 = mutex m\n2 = condition c\nT1 AA111A2A\nT2 AA11A");
        let mut contention = Contention::new(drawn.objects());
        let Ok(()) = longpole_graph::sweep(&drawn, false, &mut contention);
        let of = |name| contention.objects[drawn.object(name).index()].clone();
        assert_eq!(of("m"), Contended { waits: 2, waited: 5 });
        assert_eq!(of("c"), Contended { waits: 1, waited: 1 });
    }
}
