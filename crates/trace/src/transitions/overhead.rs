//! Stretches in which a thread was in the collector's code; where they lie the survey has found.

use longpole_event::{ThreadId, Time};

use super::Transitions;
use crate::observer::Observer;
use crate::overheads::Overhead;
use crate::state::State;

impl Transitions<'_> {
    /// When the collector's next stretch begins.
    pub(crate) fn next_overhead(&self) -> Option<Time> {
        self.sources.overheads.get(self.next_overhead).map(|overhead| overhead.from)
    }

    /// The collector's next stretch begins.
    pub(crate) fn begin_overhead(&mut self, observer: &mut impl Observer) {
        let Some(&Overhead { from, thread, to }) = self.sources.overheads.get(self.next_overhead) else {
            return;
        };
        self.next_overhead += 1;
        let live = &mut self.threads[thread.index()];
        // What samples say is spinning stays that.
        if matches!(live.state, State::Running | State::Overhead) {
            live.overhead_until = to;
            self.enter(thread, from, State::Overhead, observer);
        }
    }

    /// The collector's stretch is over, at the event that told of it.
    pub(super) fn end_overhead(&mut self, thread: ThreadId, time: Time, observer: &mut impl Observer) {
        if self.threads[thread.index()].state == State::Overhead {
            self.enter_processor(thread, time, observer);
        }
    }
}
