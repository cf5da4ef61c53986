//! Deliveries: whether a thread waited for data that had been written long before.
//!
//! ```text
//!   writer  =|write 0…100|=|write 100…120|~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~      the system holds back what was written last until
//!   reader  ~~~~~~~~~~~Wake|=read 0…100=|Out~~~~~~~~~~~~~~~~~~~~~Wake|=read 100…120=      the first part is acknowledged: 40 ms on Linux
//! ```
//! Within a machine what is written arrives at once, unless the sender is told to wait for more (Nagle's algorithm), or a queue, a rule or
//! a loss holds it up. Memory: 16 bytes for each write that is not read up.

use std::collections::VecDeque;

use longpole_event::Time;
use rustc_hash::FxHashMap;

use crate::connections::ReadWait;

/// What arrives later than this was held back, nanoseconds: the least delay of an acknowledgement is 40 ms, and where other programs have
/// the processors soft interrupts are put off for some milliseconds.
const LONGEST_DELIVERY: u64 = 20_000_000;

/// What was written into one stream, and is not known to be read.
#[derive(Debug, Default)]
struct UnreadWrites {
    /// Where each ends, and when it was done.
    writes: VecDeque<(u64, Time)>,
    /// Where the last one ended.
    written: u64,
}

/// The streams of one log, in the first reading.
#[derive(Debug, Default)]
pub(crate) struct Deliveries(FxHashMap<u64, UnreadWrites>);

impl Deliveries {
    /// Something was written, up to this byte.
    pub(crate) fn write(&mut self, channel: u64, end: u64, time: Time) {
        let stream = self.0.entry(channel).or_default();
        stream.writes.push_back((end, time));
        stream.written = stream.written.max(end);
    }

    /// These bytes were read: when the first of them was written. What was in the stream before its first write counts from another byte, as
    /// the first read beyond its last write shows: of such a stream nothing is known.
    pub(crate) fn read(&mut self, channel: u64, begin: u64, end: u64) -> Option<Time> {
        let stream = self.0.get_mut(&channel)?;
        if end > stream.written {
            stream.written = u64::MAX;
        }
        if stream.written == u64::MAX {
            stream.writes.clear();
            return None;
        }
        while stream.writes.front().is_some_and(|&(written, _)| written <= begin) {
            stream.writes.pop_front();
        }
        let first = stream.writes.front().map(|&(_, time)| time);
        while stream.writes.front().is_some_and(|&(written, _)| written <= end) {
            stream.writes.pop_front();
        }
        first
    }
}

/// Whether most of a wait was for data that had been written, long before it arrived.
pub(crate) fn is_late(wait: ReadWait, written: Time) -> bool {
    let held_back = wait.end.since(wait.begin.max(written));
    held_back >= LONGEST_DELIVERY && 2 * held_back >= wait.end.since(wait.begin)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(milliseconds: u64) -> Time {
        Time::from_nanoseconds(milliseconds * 1_000_000)
    }

    fn is_late_after(written: u64, begin: u64, end: u64) -> bool {
        is_late(ReadWait { wake: 0, begin: at(begin), end: at(end) }, at(written))
    }

    #[test]
    fn a_read_tells_when_its_first_byte_was_written() {
        let mut streams = Deliveries::default();
        for (end, time) in [(100, 1), (120, 2), (300, 3)] {
            streams.write(7, end, at(time));
        }
        assert_eq!(streams.read(7, 0, 100), Some(at(1)));
        // A part of the second, then the rest of it with the third.
        assert_eq!(streams.read(7, 100, 110), Some(at(2)));
        assert_eq!(streams.read(7, 110, 300), Some(at(2)));
        assert_eq!(streams.read(7, 300, 310), None, "never written");
        assert_eq!(streams.read(8, 0, 10), None);
    }

    #[test]
    fn a_stream_that_held_something_before_its_first_write_tells_nothing() {
        let mut streams = Deliveries::default();
        streams.write(7, 100, at(1));
        assert_eq!(streams.read(7, 0, 150), None);
        streams.write(7, 200, at(2));
        assert_eq!(streams.read(7, 150, 200), None);
    }

    #[test]
    fn data_is_late_where_most_of_the_wait_came_after_it_was_written() {
        assert!(is_late_after(11, 10, 51));
        assert!(is_late_after(5, 10, 51), "written before the wait");
        assert!(!is_late_after(51, 10, 51), "as soon as it was written");
        assert!(!is_late_after(40, 10, 51), "an interrupt that was put off");
        assert!(!is_late_after(60, 10, 101), "most of the time nothing was written");
    }
}
