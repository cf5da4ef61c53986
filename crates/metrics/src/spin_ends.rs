//! Busy-waits of which nothing tells who ended them.
//!
//! ```text
//!   T1  ===~~~~====     a dependence on T1 arrives where its busy-wait ends: it is known who ended that
//!   T2  ======s====     without one, the 4 columns count here
//! ```
//! A thread that spins is let go by a store of another thread. Only where a collector saw that store, or threads tell what they
//! spin for and others that they let go, is there a dependence. Else the critical path ends at the busy-wait, and gains of
//! what the thread waited for are too small.
//!
//! Constant time per item; two numbers per thread.

use longpole_event::{ThreadId, Time};
use longpole_graph::{Arc, Dependence, Sweep};
use longpole_trace::State;

/// The sweep that finds them.
#[derive(Debug, Default)]
pub(crate) struct SpinEnds {
    /// Busy-waiting that nothing has explained yet, by thread, nanoseconds.
    open: Vec<u64>,
    unknown: u64,
}

impl SpinEnds {
    /// Busy-waits of which nothing tells who ended them, of all threads, nanoseconds; once the sweep is finished.
    pub fn unknown(&self) -> u64 {
        self.unknown
    }

    fn open(&mut self, thread: ThreadId) -> &mut u64 {
        if thread.index() >= self.open.len() {
            self.open.resize(thread.index() + 1, 0);
        }
        &mut self.open[thread.index()]
    }

    /// The thread goes on, and nothing explained why.
    fn close(&mut self, thread: ThreadId) {
        let time = std::mem::take(self.open(thread));
        self.unknown += time;
    }
}

impl Sweep for SpinEnds {
    fn arc(&mut self, arc: Arc) {
        if arc.state == State::Spinning {
            *self.open(arc.thread) += arc.length();
        }
    }

    fn enter(&mut self, thread: ThreadId, _time: Time, _before: State, state: State) {
        // Whoever blocks, or loses its processor, while it spins may still be let go.
        if matches!(state, State::Running | State::Overhead | State::Absent) {
            self.close(thread);
        }
    }

    fn depend(&mut self, dependence: Dependence) {
        if dependence.source != dependence.thread {
            *self.open(dependence.thread) = 0;
        }
    }

    fn finish(&mut self, _end: Time) {
        self.unknown += self.open.drain(..).sum::<u64>();
    }
}

#[cfg(test)]
mod tests {
    use crate::drawn::Drawn;

    fn unknown(drawing: &str) -> u64 {
        Drawn::new(drawing).analysis.spun_for_unknown
    }

    #[test]
    fn a_busy_wait_that_nothing_explains_counts() {
        assert_eq!(unknown("T1 A~~~~AA\nT2 BBBBBBB"), 4);
    }

    #[test]
    fn a_busy_wait_that_a_dependence_ends_is_explained() {
        assert_eq!(unknown("T1 A~~~~AA\nT2 BBBBBBB\nT2@5 -> T1 unlock"), 0);
    }

    #[test]
    fn what_spins_to_the_end_counts_too() {
        assert_eq!(unknown("T1 A~~~\nT2 BBBB"), 3);
    }
}
