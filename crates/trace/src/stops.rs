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

use longpole_event::{StackId, Waker};

/// Sleeps at one place from which on they are a loop.
const LOOKS: u32 = 4;
/// Places of which sleeps are counted, per thread.
const MOST_PLACES: usize = 8;

/// One thread's sleeps.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sleeps {
    /// How often it slept at each place.
    slept: Vec<(StackId, u32)>,
    /// Where it waits now, if it waits.
    waits_at: Option<StackId>,
    /// Since it was joined: the number of the wake that ended the sleep of then, and where it has slept.
    joined: Option<(u64, Vec<StackId>)>,
}

impl Sleeps {
    /// The thread waits there.
    pub(crate) fn wait(&mut self, place: StackId) {
        self.waits_at = Some(place);
    }

    /// Its wait is over.
    pub(crate) fn wake(&mut self, waker: Waker) {
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

    /// Another thread waits for its end from now on; it was woken so often before.
    pub(crate) fn join(&mut self, wakes: u64) {
        let Some(place) = self.waits_at else { return };
        if self.slept.iter().any(|&(at, count)| at == place && count >= LOOKS) {
            self.joined = Some((wakes, Vec::new()));
        }
    }

    /// Of a thread that ends: the number, from 0, of the wake that ended the sleep in which it was told to.
    pub(crate) fn stopped(&self) -> Option<u64> {
        self.joined.as_ref().map(|&(wake, _)| wake)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After so many sleeps the thread is joined in one more, then sleeps at these places and ends.
    fn stopped(before: u32, later: &[u32]) -> Option<u64> {
        let mut sleeps = Sleeps::default();
        let sleep = |sleeps: &mut Sleeps, place: u32| {
            sleeps.wait(StackId(place));
            sleeps.wake(Waker::Interrupt);
        };
        (0..before).for_each(|_| sleep(&mut sleeps, 7));
        sleeps.wait(StackId(7));
        sleeps.join(before.into());
        sleeps.wake(Waker::Interrupt);
        later.iter().for_each(|&place| sleep(&mut sleeps, place));
        sleeps.stopped()
    }

    #[test]
    fn a_thread_that_is_joined_in_one_of_many_sleeps_and_ends_then_was_told_to() {
        assert_eq!(stopped(6, &[]), Some(6));
        // Another part of its loop.
        assert_eq!(stopped(6, &[8]), Some(6));
    }

    #[test]
    fn one_that_goes_on_or_that_slept_a_few_times_was_not() {
        for (before, later) in [(6, &[7, 7][..]), (6, &[8, 8]), (LOOKS - 1, &[])] {
            assert_eq!(stopped(before, later), None, "{before} {later:?}");
        }
    }
}
