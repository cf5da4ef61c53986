//! From what a slot holds at each look to the numbers of its series.

use longpole_event::{SeriesKind, Time};
use longpole_runtime::interface::series::{SeriesSlot, UNSET};
use std::sync::atomic::Ordering::{Acquire, Relaxed};

/// What a slot holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum SlotValue {
    /// Neither set nor added to.
    Nothing,
    /// What was added, never set: it grew from zero.
    Added(f64),
    /// What was set, and added since.
    Set(f64),
}

impl SlotValue {
    /// Looks at a slot.
    pub(super) fn by(slot: &SeriesSlot) -> SlotValue {
        // In this order a value is never seen with an older count than the one that it was made with.
        let value = slot.value.load(Acquire);
        let count = slot.count.load(Relaxed) as f64;
        match value {
            UNSET if count == 0.0 => SlotValue::Nothing,
            UNSET => SlotValue::Added(count),
            bits => SlotValue::Set(f64::from_bits(bits) + count),
        }
    }
}

/// What is remembered of a slot from look to look.
///
/// ```text
/// looks       |    |    |    |    |
/// counter     0    0    0    7    7     numbers: 0 when it was made, 0 at the third look, 7 at the fourth, 7 at the last
/// gauge            3    3    8    8     numbers: 3 at the second look, 8 at the fourth
/// ```
#[derive(Debug)]
pub(super) struct SlotNumbers {
    samples: SeriesKind,
    created: Time,
    /// What it held at the last look.
    held: Option<f64>,
    /// The last look, or when it was made.
    looked: Time,
    /// Time of the last number.
    given: Option<Time>,
}

impl SlotNumbers {
    pub(super) fn new(samples: SeriesKind, created: Time) -> SlotNumbers {
        SlotNumbers { samples, created, held: None, looked: created, given: None }
    }

    /// The numbers that a look gives, in order. The last look gives the total of a counter that never changed.
    pub(super) fn look(&mut self, now: Time, held: SlotValue, is_last: bool, mut put: impl FnMut(Time, f64)) {
        let looked = std::mem::replace(&mut self.looked, now);
        let is_gauge = self.samples == SeriesKind::Gauge;
        let total = match held {
            SlotValue::Added(total) | SlotValue::Set(total) => total,
            // Added to, it can come back to zero; a counter that nobody added to is known to be zero in the end.
            SlotValue::Nothing if self.held.is_some() || (is_last && !is_gauge) => 0.0,
            SlotValue::Nothing => return,
        };
        let before = self.held.replace(total);
        if is_gauge {
            if before != Some(total) {
                put(now, total);
            }
            return;
        }
        // The first total that is set is only where it begins.
        let begin = before.or((!matches!(held, SlotValue::Set(_))).then_some(0.0));
        if begin != Some(total) || is_last {
            self.grown(looked, now, begin, total, &mut put);
            self.given = Some(now);
        }
    }

    /// The numbers of a counter or an amount that was `begin` at the look before, and when it was made if it has given
    /// none yet.
    fn grown(
        &self,
        looked: Time,
        now: Time,
        begin: Option<f64>,
        total: f64,
        put: &mut impl FnMut(Time, f64),
    ) {
        let is_counter = self.samples == SeriesKind::Counter;
        let Some(begin) = begin else {
            return put(now, if is_counter { total } else { 0.0 });
        };
        let still = if is_counter { begin } else { 0.0 };
        if self.given.is_none() && self.created < looked {
            put(self.created, still);
        }
        if self.given != Some(looked) && looked < now {
            put(looked, still);
        }
        let is_fallen = total < begin;
        put(now, if is_counter || is_fallen { total } else { total - begin });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers of a slot made at 1 and looked at at 10, 20, ...; the last look is the last.
    fn numbers(samples: SeriesKind, looks: &[SlotValue]) -> Vec<(u64, f64)> {
        let at = Time::from_nanoseconds;
        let mut numbers = SlotNumbers::new(samples, at(1));
        let mut given = Vec::new();
        for (index, &held) in looks.iter().enumerate() {
            let now = at(10 * (index as u64 + 1));
            let is_last = index + 1 == looks.len();
            numbers.look(now, held, is_last, |time, value| given.push((time.nanoseconds(), value)));
        }
        given
    }

    const NOTHING: SlotValue = SlotValue::Nothing;

    #[test]
    fn a_counter_grows_between_the_looks_that_saw_it_grow() {
        let added = |total| SlotValue::Added(total);
        let looks = [NOTHING, NOTHING, added(7.0), added(9.0), added(9.0), added(9.0), added(10.0)];
        let expected = [(1, 0.0), (20, 0.0), (30, 7.0), (40, 9.0), (60, 9.0), (70, 10.0)];
        assert_eq!(numbers(SeriesKind::Counter, &looks), expected);
        let amounts = [(1, 0.0), (20, 0.0), (30, 7.0), (40, 2.0), (60, 0.0), (70, 1.0)];
        assert_eq!(numbers(SeriesKind::Amount, &looks), amounts);
    }

    #[test]
    fn a_counter_that_never_changed_is_zero_all_along() {
        assert_eq!(numbers(SeriesKind::Counter, &[NOTHING; 3]), [(1, 0.0), (20, 0.0), (30, 0.0)]);
        assert_eq!(numbers(SeriesKind::Gauge, &[NOTHING; 3]), []);
    }

    #[test]
    fn a_counter_that_is_set_begins_at_its_first_total() {
        let set = |total| SlotValue::Set(total);
        let looks = [set(500.0), set(500.0), set(530.0)];
        assert_eq!(numbers(SeriesKind::Counter, &looks), [(10, 500.0), (20, 500.0), (30, 530.0)]);
        assert_eq!(numbers(SeriesKind::Amount, &looks), [(10, 0.0), (20, 0.0), (30, 30.0)]);
    }

    #[test]
    fn a_gauge_is_told_when_it_changes_and_comes_back_to_zero() {
        let looks = [
            NOTHING,
            SlotValue::Added(3.0),
            SlotValue::Added(3.0),
            NOTHING,
            SlotValue::Set(-1.0),
            SlotValue::Set(-1.0),
        ];
        assert_eq!(numbers(SeriesKind::Gauge, &looks), [(20, 3.0), (40, 0.0), (50, -1.0)]);
    }
}
