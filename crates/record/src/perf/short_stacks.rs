//! Copies of stacks become shorter while events come faster than they can be read.
//!
//! ```text
//!   copies waiting    ..::||||::....        a run that calls futexes 400,000 times a second
//!   stacks            full |  short  | full
//! ```
//! A copied stack is most of what such an event takes in a ring: shorter ones cut call paths at their outer end, lost events cost waits and
//! wakes. Each event is open twice, with full and with short stacks, and one of the two is enabled. Between the two a few events can be missed.

use std::os::fd::AsRawFd;
use std::time::Duration;

use longpole_event::Time;
use perf_event_open_sys::bindings::perf_event_attr;

use super::attributes::is_clock;
use super::layout::sample;
use longpole_privileged::PerfEvent;

/// Bytes of a short stack: the frames of the C library and of its caller.
const SHORT_BYTES: u32 = 512;
/// So many bytes of copies waiting make stacks short.
const MANY_BYTES: usize = 16 << 20;
/// Stacks stay short for so long at least; twice as long each time that it did not last.
const HOLD: Duration = Duration::from_secs(1);

/// The event with short stacks, where it copies longer ones and is no clock: samples keep theirs.
fn short(attribute: &perf_event_attr) -> Option<perf_event_attr> {
    let copies = !is_clock(attribute)
        && attribute.sample_type & sample::STACK_USER != 0
        && attribute.sample_stack_user > SHORT_BYTES;
    copies.then_some(perf_event_attr { sample_stack_user: SHORT_BYTES, ..*attribute })
}

/// The event once more, with short stacks, not started; `None` where that is not to be had: stacks stay full then.
///
/// It takes a descriptor only while fewer than half of those that this process may have are in use.
pub(crate) fn open_short(attribute: &perf_event_attr, pid: i32, cpu: u16) -> Option<PerfEvent> {
    let event = PerfEvent::open(&mut short(attribute)?, pid, cpu.into()).ok()?;
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current.unwrap_or(u64::MAX);
    // Descriptors are numbered from 0.
    let is_scarce = u64::try_from(event.as_raw_fd()).is_ok_and(|used| used >= limit / 2);
    (!is_scarce).then_some(event)
}

/// The events that are open twice.
#[derive(Debug)]
pub(super) struct ShortStacks {
    /// With short stacks, and the reader's number of the event with full ones.
    events: Vec<(usize, PerfEvent)>,
    state: StackLength,
}

/// Which stacks are copied, and since when.
#[derive(Debug)]
struct StackLength {
    begun: Time,
    short_since: Option<Time>,
    hold: Duration,
    /// Time with short stacks before that, and how often, and when first.
    nanoseconds: u64,
    times: u64,
    first: Option<Time>,
}

/// What was copied and is not decoded yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct CopyBacklog {
    /// Bytes of it, with those of this round.
    pub(super) bytes: usize,
    /// All before this round was decoded.
    pub(super) is_decoded: bool,
    /// Records were lost.
    pub(super) is_losing: bool,
}

/// What to do about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StackChange {
    Shorten,
    Restore,
}

impl ShortStacks {
    /// Of no events yet.
    pub(super) fn new() -> ShortStacks {
        let begun = crate::clock::now();
        let (nanoseconds, times) = (0, 0);
        let state = StackLength { begun, short_since: None, hold: HOLD, nanoseconds, times, first: None };
        ShortStacks { events: Vec::new(), state }
    }

    /// Also this one, not started, which has full stacks in the event of number `full`.
    pub(super) fn add(&mut self, full: usize, short: PerfEvent) {
        self.events.push((full, short));
    }

    /// Stops the events with short stacks.
    pub(super) fn stop(&mut self) {
        self.state.end(crate::clock::now());
        // An event that cannot be stopped ends with its descriptor.
        self.events.iter().for_each(|(_, event)| _ = event.disable());
    }

    /// At a round of copying. `full` gives the events with full stacks.
    pub(super) fn adapt<'a>(
        &'a mut self,
        time: Time,
        backlog: CopyBacklog,
        full: impl Fn(usize) -> &'a PerfEvent,
    ) {
        if self.events.is_empty() {
            return;
        }
        let Some(change) = self.state.change(time, backlog) else { return };
        for (number, short) in &self.events {
            let (from, to) = match change {
                StackChange::Shorten => (full(*number), short),
                StackChange::Restore => (short, full(*number)),
            };
            // Never both at a time: an event that comes twice would be two.
            if from.disable().is_ok() {
                let _ = to.enable();
            }
        }
    }

    /// What a reader of the results has to know.
    pub(super) fn finding(&self) -> Option<String> {
        self.state.finding()
    }
}

impl StackLength {
    fn change(&mut self, time: Time, backlog: CopyBacklog) -> Option<StackChange> {
        match self.short_since {
            None if backlog.is_losing || backlog.bytes > MANY_BYTES => {
                self.short_since = Some(time);
                self.first.get_or_insert(time);
                self.times += 1;
                Some(StackChange::Shorten)
            }
            Some(since)
                if backlog.is_decoded
                    && !backlog.is_losing
                    && u128::from(time.since(since)) >= self.hold.as_nanos() =>
            {
                self.end(time);
                self.hold *= 2;
                Some(StackChange::Restore)
            }
            _ => None,
        }
    }

    fn end(&mut self, time: Time) {
        self.nanoseconds += self.short_since.take().map_or(0, |since| time.since(since));
    }

    fn finding(&self) -> Option<String> {
        let first = self.first?.since(self.begun) as f64 / 1e9;
        let seconds = self.nanoseconds as f64 / 1e9;
        let times = if self.times == 1 { String::new() } else { format!(", {} times", self.times) };
        Some(format!(
            "events came faster than they could be read: from {first:.2} s on, for {seconds:.2} s in all{times}, only {SHORT_BYTES} bytes of each \
             stack were copied at switches, wakes and futex calls; call paths of waits that are deeper are cut there"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(milliseconds: u64) -> Time {
        Time::from_nanoseconds(milliseconds * 1_000_000)
    }

    #[test]
    fn stacks_are_short_while_events_come_too_fast_and_longer_each_time() {
        let mut state = StackLength {
            begun: at(0),
            short_since: None,
            hold: HOLD,
            nanoseconds: 0,
            times: 0,
            first: None,
        };
        let waiting = |bytes, is_losing| CopyBacklog { bytes, is_decoded: false, is_losing };
        let decoded = |is_losing| CopyBacklog { bytes: 2 << 20, is_decoded: true, is_losing };
        assert_eq!((state.change(at(10), waiting(MANY_BYTES, false)), state.finding()), (None, None));
        assert_eq!(state.change(at(20), waiting(MANY_BYTES + 1, false)), Some(StackChange::Shorten));
        assert_eq!(state.change(at(30), waiting(MANY_BYTES + 1, true)), None);
        // It has not lasted for a second, or something still waits.
        assert_eq!(state.change(at(1_019), decoded(false)), None);
        assert_eq!(state.change(at(1_020), waiting(1, false)), None);
        assert_eq!(state.change(at(1_020), decoded(false)), Some(StackChange::Restore));
        assert_eq!(state.change(at(1_100), decoded(true)), Some(StackChange::Shorten));
        assert_eq!(state.change(at(3_000), decoded(false)), None);
        state.end(at(3_100));
        let finding = state.finding().unwrap();
        assert!(finding.contains("from 0.02 s on, for 3.00 s in all, 2 times, only 512 bytes"), "{finding}");
    }

    #[test]
    fn only_events_with_longer_stacks_have_short_ones() {
        let of = |sample_type, sample_stack_user| perf_event_attr {
            sample_type,
            sample_stack_user,
            ..Default::default()
        };
        assert_eq!(
            short(&of(sample::STACK_USER, 8192)).map(|short| short.sample_stack_user),
            Some(SHORT_BYTES)
        );
        assert!(short(&of(sample::STACK_USER, 512)).is_none() && short(&of(0, 8192)).is_none());
    }
}
