//! What lost records would have come to.
//!
//! The kernel says how many records found no room, not which. Some are about other programs, and a switch or a wait takes
//! several records of which one event is made. What is in the rings before and after records are lost is taken for a sample of them:
//!
//! ```text
//!   round n           | round n + 1
//!   own own other own | LOST own other other        3/4 before, 1/3 after: the mean of both
//! ```

/// Counts what is read and made, and what was lost meanwhile.
#[derive(Debug, Default)]
pub(super) struct EventShares {
    /// Records about recorded threads, since the beginning, and events that were made of them.
    own: u64,
    told: u64,
    /// The last records about recorded threads among all, of a round that had any.
    share: Option<f64>,
    /// Records about recorded threads that were lost and are not told yet.
    lost: f64,
}

impl EventShares {
    /// A round of reading ends: so many records, so many of them about recorded threads, and so many lost.
    pub(super) fn end_round(&mut self, records: u64, own: u64, lost: u64) {
        self.own += own;
        let now = if records > 0 { Some(own as f64 / records as f64) } else { None };
        let (before, after) = (self.share.or(now).unwrap_or(1.0), now.or(self.share).unwrap_or(1.0));
        // The kernel tells of losses with the first record that finds room again.
        self.lost += lost as f64 * (before + after) / 2.0;
        self.share = now.or(self.share);
    }

    /// So many events were made.
    pub(super) fn tell(&mut self, events: u64) {
        self.told += events;
    }

    /// Events that were lost since the last call.
    pub(super) fn take(&mut self) -> u64 {
        // Before the first event nothing says how many records make one.
        let rate = if self.told == 0 || self.own == 0 { 1.0 } else { self.told as f64 / self.own as f64 };
        (std::mem::take(&mut self.lost) * rate).round() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_are_counted_in_events_of_recorded_threads() {
        let mut shares = EventShares::default();
        // A quarter of the records is about recorded threads, and two records make one event.
        shares.end_round(400, 100, 1_000);
        shares.tell(50);
        assert_eq!((shares.take(), shares.take()), (125, 0));
        // A round in which nothing was read is like the one before.
        shares.end_round(0, 0, 80);
        assert_eq!(shares.take(), 10);
    }

    #[test]
    fn what_came_before_a_loss_and_what_comes_after_it_count_alike() {
        let mut shares = EventShares::default();
        shares.end_round(1_000, 0, 0);
        shares.end_round(1_000, 500, 4_000);
        shares.tell(500);
        assert_eq!(shares.take(), 1_000);
    }

    #[test]
    fn a_flood_of_others_is_no_loss_of_ours() {
        let mut shares = EventShares::default();
        shares.end_round(1_000, 0, 1_000_000);
        assert_eq!(shares.take(), 0);
    }

    #[test]
    fn before_anything_is_known_each_lost_record_counts() {
        let mut shares = EventShares::default();
        shares.end_round(0, 0, 7);
        assert_eq!(shares.take(), 7);
    }
}
