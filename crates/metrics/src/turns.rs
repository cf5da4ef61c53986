//! How long threads keep their processor while others want one: the turns of the machine's scheduler, as recorded (metrics.md §5, replay).
//!
//! A turn ends where a thread that could run on loses its processor to another. Their median is the quantum of replay. Constant time
//! per item; a number per turn, of which the first million are kept.

use longpole_event::{ThreadId, Time};
use longpole_graph::Sweep;
use longpole_trace::{Program, State};

/// Turns that are kept.
const MOST_TURNS: usize = 1 << 20;
/// Fewer turns than this say nothing.
const FEWEST_TURNS: usize = 10;
/// Most quanta in a run. Threads that an event woke at once have turns of a nanosecond, of which an execution would be made for ever.
const MOST_QUANTA: u64 = 100_000;
/// The quantum where the recording says nothing of it, nanoseconds: that of Linux on a machine of a few processors.
const USUAL: u64 = 3_000_000;

/// Finds the turns.
pub(crate) struct TurnCollector {
    /// By thread, since when it has its processor.
    since: Vec<Option<Time>>,
    turns: Vec<u64>,
}

impl TurnCollector {
    pub fn new(program: &Program) -> Self {
        TurnCollector { since: vec![None; program.threads.len()], turns: Vec::new() }
    }

    /// The median turn, nanoseconds, of a run that took so long; at least one, and at least a part of the run of which no more than
    /// `MOST_QUANTA` fit into it.
    pub fn into_quantum(mut self, elapsed: u64) -> u64 {
        if self.turns.len() < FEWEST_TURNS {
            return USUAL;
        }
        let middle = self.turns.len() / 2;
        (*self.turns.select_nth_unstable(middle).1).max(elapsed / MOST_QUANTA).max(1)
    }
}

impl Sweep for TurnCollector {
    fn enter(&mut self, thread: ThreadId, time: Time, before: State, state: State) {
        let since = &mut self.since[thread.index()];
        if state.is_on_cpu() {
            if !before.is_on_cpu() {
                *since = Some(time);
            }
            return;
        }
        let began = since.take();
        if let (State::Ready, Some(began)) = (state, began)
            && self.turns.len() < MOST_TURNS
        {
            self.turns.push(time.since(began));
        }
    }
}

#[cfg(test)]
mod tests {
    use longpole_graph::sweep;
    use longpole_testkit::script::{Conditions, Script};

    use super::*;

    #[test]
    fn the_quantum_of_a_crowded_run_is_found() {
        let script = Script::parse("main: fork A, fork B, X 900, join A, join B\nA: Y 700\nB: Z 800");
        let conditions = Conditions { processors: 2, quantum: 11, ..Conditions::unlimited() };
        let timelines = script.timelines(&conditions);
        let mut turns = TurnCollector::new(&timelines.program);
        let Ok(()) = sweep(&timelines, false, &mut turns);
        assert_eq!(turns.into_quantum(timelines.program.elapsed_nanoseconds), 11);
    }

    /// A run of 120 ms whose turns were a nanosecond took minutes to execute.
    #[test]
    fn a_quantum_is_not_so_short_that_a_run_has_more_than_can_be_executed() {
        let turns = || TurnCollector { since: Vec::new(), turns: vec![1; FEWEST_TURNS] };
        assert_eq!(turns().into_quantum(120_000_000), 1_200);
        assert_eq!(turns().into_quantum(10), 1);
    }
}
