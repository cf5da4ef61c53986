//! Threads that end since another one told them to: a background thread looks for that after each of its sleeps.
//!
//! ```text
//!   A   work work work work  stop = 1, join ..........    A tells and joins
//!   B   . sleep . sleep . sleep . sleep ........... end   B would have slept on and on
//! ```
//! The flag is an access to memory that no collector sees. It is known by what follows: a thread that has slept at one place
//! [`LOOKS`] times or more is joined in such a sleep, and sleeps nowhere twice from then on. The sleep in which it was joined then
//! depends on the one that joins it.
//!
//! It cannot be told from a thread that had as many sleeps to do, if another one came to its join in the last of them.
//!
//! Constant time per event; a few words per thread that sleeps.

use longpole_event::{Blocking, Event, EventKind, StackId, ThreadId, Waker};
use rustc_hash::FxHashMap;

/// Sleeps at one place from which on they are a loop.
const LOOKS: u32 = 4;
/// Places of which sleeps are counted, per thread.
const MOST_PLACES: usize = 8;

/// One thread's sleeps.
#[derive(Debug, Default)]
struct Sleeper {
    /// How often it slept at each place.
    slept: Vec<(StackId, u32)>,
    /// Where it waits now, if it waits.
    waits_at: Option<StackId>,
    /// Times it was woken.
    wakes: u64,
    /// Since it was joined: the number of the wake that ended the sleep of then, and where it has slept.
    joined: Option<(u64, Vec<StackId>)>,
}

/// The survey of sleeps.
#[derive(Debug, Default)]
pub(crate) struct Stops {
    sleepers: FxHashMap<ThreadId, Sleeper>,
    found: FxHashMap<ThreadId, u64>,
}

impl Stops {
    /// Takes the next event of the log.
    pub(crate) fn take(&mut self, event: &Event) {
        match event.kind {
            EventKind::Out { blocking: Blocking::Interruptible, stack: Some(stack), .. } => {
                self.sleepers.entry(event.thread).or_default().waits_at = Some(stack);
            }
            EventKind::Wake { waker, .. } => {
                self.sleepers.entry(event.thread).or_default().wake(waker);
            }
            EventKind::Joined { ended } => {
                if let Some(sleeper) = self.sleepers.get_mut(&ended) {
                    sleeper.join();
                }
            }
            EventKind::Exit => {
                if let Some((wake, _)) =
                    self.sleepers.remove(&event.thread).and_then(|sleeper| sleeper.joined)
                {
                    self.found.insert(event.thread, wake);
                }
            }
            _ => {}
        }
    }

    /// Whether the wake of this number, from 0, ends the sleep in which the thread was told to end.
    pub(crate) fn ends_with(&self, thread: ThreadId, wake: u64) -> bool {
        self.found.get(&thread) == Some(&wake)
    }
}

impl Sleeper {
    fn wake(&mut self, waker: Waker) {
        self.wakes += 1;
        let Some(place) = self.waits_at.take().filter(|_| waker == Waker::Interrupt) else { return };
        if let Some((_, later)) = &mut self.joined {
            if later.contains(&place) {
                self.joined = None;
            } else {
                later.push(place);
            }
        }
        if let Some((_, count)) = self.slept.iter_mut().find(|(at, _)| *at == place) {
            *count += 1;
        } else if self.slept.len() < MOST_PLACES {
            self.slept.push((place, 1));
        }
    }

    fn join(&mut self) {
        let Some(place) = self.waits_at else { return };
        if self.slept.iter().any(|&(at, count)| at == place && count >= LOOKS) {
            self.joined = Some((self.wakes, Vec::new()));
        }
    }
}

#[cfg(test)]
mod tests {
    use longpole_event::Time;

    use super::*;

    const SLEEPER: ThreadId = ThreadId(1);

    /// After so many sleeps the thread is joined in one more, then sleeps at these places and ends.
    fn found(before: u32, later: &[u32]) -> Stops {
        let mut stops = Stops::default();
        let mut tell = |thread, kind| stops.take(&Event { time: Time::ZERO, thread, cpu: 0, kind });
        let mut sleep = |place: u32, joined: bool| {
            let stack = Some(StackId(place));
            tell(SLEEPER, EventKind::Out { blocking: Blocking::Interruptible, call: None, stack });
            if joined {
                tell(ThreadId(0), EventKind::Joined { ended: SLEEPER });
            }
            tell(SLEEPER, EventKind::Wake { waker: Waker::Interrupt, call: None, stack: None });
        };
        (0..before).for_each(|_| sleep(7, false));
        sleep(7, true);
        later.iter().for_each(|&place| sleep(place, false));
        tell(SLEEPER, EventKind::Exit);
        stops
    }

    #[test]
    fn a_thread_that_is_joined_in_one_of_many_sleeps_and_ends_then_was_told_to() {
        assert!(found(6, &[]).ends_with(SLEEPER, 6));
        assert!(!found(6, &[]).ends_with(SLEEPER, 5));
        // Another part of its loop.
        assert!(found(6, &[8]).ends_with(SLEEPER, 6));
    }

    #[test]
    fn one_that_goes_on_or_that_slept_a_few_times_was_not() {
        for stops in [found(6, &[7, 7]), found(6, &[8, 8]), found(LOOKS - 1, &[])] {
            assert_eq!(stops.found, FxHashMap::default());
        }
    }
}
