//! For how much time each sample stands: half the timer's interval before it, and half of that after it (metrics.md §1, rule 2).
//!
//! ```text
//!   looks at a processor   ↑     ↑        ↑  ↑        how long ago the look before was, is in each record
//!   found                  A     A   other A          gap of the second: (6 + 9) / 2
//! ```
//! The interval after a sample is known when the timer has looked again; until then the sample is kept back, one for each
//! processor. Looks that find no recorded task are told where the look before found one. An interval many times as long as the mean
//! is none: the timer was stopped while the processor idled, or looks were lost, and the thread did not work for so long.

use longpole_event::Time;

use super::wire::TimerLook;
use crate::raw::{RawEvent, RawKind};

/// Mean intervals after which the next look is no longer waited for, and a longer interval counts as not known: the processor is
/// gone, or records were lost.
const LONGEST_WAIT: u64 = 8;

/// Samples whose gaps are being found.
#[derive(Debug)]
pub(crate) struct SampleGaps {
    /// By processor.
    kept: Vec<Option<KeptSample>>,
    /// Nanoseconds.
    longest_wait: u64,
    is_stopped: bool,
}

/// A sample that is kept back until the timer looks again.
#[derive(Debug)]
struct KeptSample {
    sample: RawEvent,
    /// How long ago the timer had looked before, nanoseconds; 0 where that is not known.
    before: u64,
}

impl KeptSample {
    /// The sample with its gap: an interval that is not known was as long as the other.
    fn ended(mut self, after: u64, longest: u64) -> RawEvent {
        let known =
            [self.before, after].map(|interval| Some(interval).filter(|it| (1..=longest).contains(it)));
        let intervals = known[0].or(known[1]).zip(known[1].or(known[0]));
        if let RawKind::Sample { gap, .. } = &mut self.sample.kind {
            *gap = intervals.map_or(0, |(before, after)| (before + after) / 2);
        }
        self.sample
    }
}

impl SampleGaps {
    /// Of timers of this rate.
    pub(crate) fn new(hertz: u32) -> SampleGaps {
        let longest_wait = longpole_privileged::mean(hertz) * LONGEST_WAIT;
        SampleGaps { kept: Vec::new(), longest_wait, is_stopped: false }
    }

    /// If the last event is a sample, keeps it back; its gap is still the interval before it.
    pub(crate) fn take_last(&mut self, events: &mut Vec<RawEvent>) {
        let Some(&RawEvent { time, cpu, kind: RawKind::Sample { gap: before, .. } }) = events.last() else {
            return;
        };
        let sample = events.pop().expect("it is the last");
        self.look(TimerLook { cpu, time, before }, events);
        self.kept[usize::from(cpu)] = Some(KeptSample { sample, before });
    }

    /// The timer has looked; hands over the sample of its look before.
    pub(crate) fn look(&mut self, look: TimerLook, into: &mut Vec<RawEvent>) {
        let cpu = usize::from(look.cpu);
        if cpu >= self.kept.len() {
            self.kept.resize_with(cpu + 1, || None);
        }
        if let Some(kept) = self.kept[cpu].take() {
            // Else looks between the two are missing.
            let is_next = look.before > 0 && look.time.since(kept.sample.time) == look.before;
            into.push(kept.ended(if is_next { look.before } else { 0 }, self.longest_wait));
        }
    }

    /// Hands over what has been kept back for too long at this time; after the end, everything.
    pub(crate) fn end_round(&mut self, time: Time, into: &mut Vec<RawEvent>) {
        let longest = self.longest_wait;
        for kept in &mut self.kept {
            let is_over = |kept: &mut KeptSample| self.is_stopped || time.since(kept.sample.time) > longest;
            into.extend(kept.take_if(is_over).map(|kept| kept.ended(0, longest)));
        }
    }

    /// The time of the earliest sample that is kept back.
    pub(crate) fn kept_back(&self) -> Option<Time> {
        self.kept.iter().flatten().map(|kept| kept.sample.time).min()
    }

    /// The timers look no more.
    pub(crate) fn stop(&mut self) {
        self.is_stopped = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raw::{KernelTask, RawStack};

    fn time(nanoseconds: u64) -> Time {
        Time::from_nanoseconds(nanoseconds)
    }

    fn sample(at: u64, cpu: u16, before: u64) -> RawEvent {
        let task = KernelTask { pid: 1, tid: 7 };
        let kind = RawKind::Sample { task, kernel: false, stack: RawStack::None, gap: before };
        RawEvent { time: time(at), cpu, kind }
    }

    /// Times and gaps.
    fn gaps(events: &[RawEvent]) -> Vec<(u64, u64)> {
        let gap = |event: &RawEvent| match event.kind {
            RawKind::Sample { gap, .. } => (event.time.nanoseconds(), gap),
            _ => panic!("{event:?}"),
        };
        events.iter().map(gap).collect()
    }

    /// A timer of 1 kHz.
    struct Timer {
        gaps: SampleGaps,
        out: Vec<RawEvent>,
    }

    impl Timer {
        fn new() -> Timer {
            Timer { gaps: SampleGaps::new(1000), out: Vec::new() }
        }

        fn sample(&mut self, at: u64, cpu: u16, before: u64) {
            self.out.push(sample(at, cpu, before));
            self.gaps.take_last(&mut self.out);
        }

        fn elsewhere(&mut self, at: u64, cpu: u16, before: u64) {
            self.gaps.look(TimerLook { cpu, time: time(at), before }, &mut self.out);
        }
    }

    #[test]
    fn a_sample_stands_for_half_of_both_intervals() {
        let mut timer = Timer::new();
        timer.sample(1_000_000, 0, 600_000);
        timer.sample(1_500_000, 3, 800_000);
        assert!(timer.out.is_empty() && timer.gaps.kept_back() == Some(time(1_000_000)));
        timer.sample(1_900_000, 0, 900_000);
        timer.elsewhere(2_300_000, 3, 800_000);
        assert_eq!(gaps(&timer.out), [(1_000_000, 750_000), (1_500_000, 800_000)]);
        assert_eq!(timer.gaps.kept_back(), Some(time(1_900_000)));
    }

    #[test]
    fn an_interval_that_is_not_known_is_taken_to_be_as_long_as_the_other() {
        let mut timer = Timer::new();
        timer.sample(1_000_000, 0, 0);
        timer.sample(1_900_000, 0, 900_000);
        // A record between them was lost: the look before was at another time.
        timer.sample(4_000_000, 0, 700_000);
        timer.gaps.stop();
        timer.gaps.end_round(time(4_000_001), &mut timer.out);
        assert_eq!(gaps(&timer.out), [(1_000_000, 900_000), (1_900_000, 900_000), (4_000_000, 700_000)]);
    }

    #[test]
    fn an_interval_in_which_the_timer_was_stopped_is_not_known() {
        let mut timer = Timer::new();
        timer.sample(2_000_000_000, 0, 1_900_000_000);
        timer.sample(2_001_000_000, 0, 1_000_000);
        timer.elsewhere(2_101_000_000, 0, 100_000_000);
        assert_eq!(gaps(&timer.out), [(2_000_000_000, 1_000_000), (2_001_000_000, 1_000_000)]);
    }

    #[test]
    fn nothing_is_kept_back_for_long() {
        let mut timer = Timer::new();
        timer.sample(1_000_000, 0, 0);
        timer.gaps.end_round(time(9_000_000), &mut timer.out);
        assert!(timer.out.is_empty());
        timer.gaps.end_round(time(9_000_001), &mut timer.out);
        assert_eq!((gaps(&timer.out), timer.gaps.kept_back()), (vec![(1_000_000, 0)], None));
    }
}
