//! What a thread can have told.
//!
//! The program can write into the shared memory, so numbers that nobody can have counted are cut to what is possible:
//! they would else overflow sums, here and in every answer of the recording.

use longpole_ring::HoldRow;

use super::ticks::Ticks;

/// How far the clocks of processors may be apart, and how much later than the reader a thread may write.
const SLACK_NANOSECONDS: u64 = 10_000_000;
/// Trial calls of one process.
const MOST_TRIALS: u64 = 1 << 20;

/// Bounds of what is read in one round.
#[derive(Clone, Copy, Debug)]
pub(super) struct RoundBounds {
    /// Ticks when the recording began.
    first: u64,
    /// Ticks that nothing is later than.
    last: u64,
    /// Events that can have been lost since the last round: none takes less than a nanosecond.
    most_losses: u64,
}

impl RoundBounds {
    /// Those of a round that begins now, so long after the last.
    pub(super) fn new(ticks: &Ticks, nanoseconds: u64) -> RoundBounds {
        let slack = ticks.of_nanoseconds(SLACK_NANOSECONDS);
        let most_losses = nanoseconds.saturating_add(SLACK_NANOSECONDS);
        RoundBounds { first: ticks.first(), last: ticks.now().saturating_add(slack), most_losses }
    }

    /// The round goes on at `now`: a reader that lacks a processor for a while finds what threads wrote meanwhile, which is later
    /// than its round's beginning by as long.
    pub(super) fn go_on(&mut self, now: u64, ticks: &Ticks) {
        let slack = ticks.of_nanoseconds(SLACK_NANOSECONDS);
        self.last = self.last.max(now.saturating_add(slack));
    }

    /// Whether nothing can be that late, as far as is known.
    pub(super) fn is_beyond(&self, ticks: u64) -> bool {
        ticks > self.last
    }

    /// A moment of the recording.
    pub(super) fn moment(&self, ticks: u64) -> u64 {
        ticks.clamp(self.first, self.last)
    }

    /// How many can have been lost.
    pub(super) fn losses(&self, count: u64) -> u64 {
        count.min(self.most_losses)
    }

    /// How many trial calls can have been made, and how long they took in all.
    pub(super) fn trial(&self, count: u64, ticks: u64) -> (u64, u64) {
        (count.min(MOST_TRIALS), ticks.min(self.ticks()))
    }

    /// How long a thread can have done something, in nanoseconds.
    pub(super) fn nanoseconds(&self, nanoseconds: u64, ticks: &Ticks) -> u64 {
        nanoseconds.min(ticks.duration(self.ticks()))
    }

    /// What the holds of a lock at one place can have come to. The time is extrapolated from some of the holds, so it may
    /// be more than has passed, but not by much.
    pub(super) fn row(&self, row: HoldRow) -> HoldRow {
        const EXTRAPOLATED: u64 = 64;
        let most = self.ticks();
        let acquisitions = row.acquisitions.min(most);
        HoldRow {
            acquisitions,
            contended: row.contended.min(acquisitions),
            ticks: row.ticks.min(most.saturating_mul(EXTRAPOLATED)),
            longest: row.longest.min(most),
            last: self.moment(row.last),
            ..row
        }
    }

    /// Ticks of the recording so far.
    fn ticks(&self) -> u64 {
        self.last.saturating_sub(self.first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: RoundBounds = RoundBounds { first: 100, last: 1_100, most_losses: 50 };

    #[test]
    fn what_is_possible_stays_as_it_is() {
        let row = HoldRow {
            subject: 1,
            place: 2,
            kind: 3,
            outer: 4,
            acquisitions: 10,
            contended: 9,
            ticks: 800,
            longest: 500,
            last: 900,
        };
        assert_eq!(BOUNDS.row(row), row);
        assert_eq!((BOUNDS.moment(500), BOUNDS.losses(49), BOUNDS.trial(256, 10)), (500, 49, (256, 10)));
    }

    #[test]
    fn what_was_told_while_the_reader_lacked_a_processor_keeps_its_time() {
        let ticks = Ticks::new(super::super::ticks::choose());
        let mut bounds = BOUNDS;
        assert!(bounds.is_beyond(1_101) && !bounds.is_beyond(1_100));
        bounds.go_on(5_000, &ticks);
        assert_eq!((bounds.moment(4_900), bounds.is_beyond(5_000)), (4_900, false));
        assert_eq!(bounds.moment(u64::MAX), bounds.last, "nobody can have counted that");
    }

    #[test]
    fn what_is_not_is_cut() {
        let most = u64::MAX;
        let row = HoldRow {
            subject: 1,
            place: 2,
            kind: 3,
            outer: 4,
            acquisitions: most,
            contended: most,
            ticks: most,
            longest: most,
            last: most,
        };
        let cut = BOUNDS.row(row);
        assert_eq!((cut.acquisitions, cut.contended, cut.ticks, cut.longest), (1_000, 1_000, 64_000, 1_000));
        assert_eq!((cut.last, BOUNDS.moment(0), BOUNDS.losses(most)), (1_100, 100, 50));
    }
}
