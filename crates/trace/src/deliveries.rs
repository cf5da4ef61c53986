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
use crate::transitions::KnownStream;

/// What arrives later than this was held back, nanoseconds: the least delay of an acknowledgement is 40 ms, and where other programs have
/// the processors soft interrupts are put off for some milliseconds.
const LONGEST_DELIVERY: u64 = 20_000_000;

/// What was written into the streams of one log and is not read up, in the first reading: where each write ends, and when it was done.
#[derive(Debug, Default)]
pub(crate) struct Deliveries(FxHashMap<u64, VecDeque<(u64, Time)>>);

impl Deliveries {
    /// Something was written, up to this byte.
    pub(crate) fn write(&mut self, channel: u64, end: u64, time: Time) {
        self.0.entry(channel).or_default().push_back((end, time));
    }

    /// These bytes were read: when the first of them was written. In a stream that held something before its first write they count from
    /// another byte: of such a one nothing is known.
    pub(crate) fn read(&mut self, channel: u64, begin: u64, end: u64, known: KnownStream) -> Option<Time> {
        if known.before > 0 {
            self.0.remove(&channel);
            return None;
        }
        let writes = self.0.get_mut(&channel)?;
        while writes.front().is_some_and(|&(written, _)| written <= begin) {
            writes.pop_front();
        }
        let first = writes.front().map(|&(_, time)| time);
        while writes.front().is_some_and(|&(written, _)| written <= end) {
            writes.pop_front();
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

    /// Writes up to these bytes, one after the other.
    fn write(streams: &mut Deliveries, known: &mut KnownStream, writes: &[(u64, u64)]) {
        for &(end, time) in writes {
            known.write(0, end);
            streams.write(7, end, at(time));
        }
    }

    fn read(streams: &mut Deliveries, known: &mut KnownStream, begin: u64, end: u64) -> Option<Time> {
        known.read(end);
        streams.read(7, begin, end, *known)
    }

    #[test]
    fn a_read_tells_when_its_first_byte_was_written() {
        let (mut streams, mut known) = (Deliveries::default(), KnownStream::default());
        write(&mut streams, &mut known, &[(100, 1), (120, 2), (300, 3)]);
        assert_eq!(read(&mut streams, &mut known, 0, 100), Some(at(1)));
        // A part of the second, then the rest of it with the third.
        assert_eq!(read(&mut streams, &mut known, 100, 110), Some(at(2)));
        assert_eq!(read(&mut streams, &mut known, 110, 300), Some(at(2)));
        assert_eq!(read(&mut streams, &mut known, 300, 310), None, "never written");
        assert_eq!(streams.read(8, 0, 10, KnownStream::default()), None);
    }

    #[test]
    fn a_stream_that_held_something_before_its_first_write_tells_nothing() {
        let (mut streams, mut known) = (Deliveries::default(), KnownStream::default());
        write(&mut streams, &mut known, &[(100, 1)]);
        assert_eq!(read(&mut streams, &mut known, 0, 150), None);
        write(&mut streams, &mut known, &[(200, 2)]);
        assert_eq!(read(&mut streams, &mut known, 150, 200), None);
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
