//! Connections between machines: what one log wrote into a stream, and another one read from it.
//!
//! ```text
//!   log 0   ==|write 0…100|========|write 100…200|====      both ends give a stream of a connection the same number, and
//!   log 1   ~~~~~~~~~~~~~~~~|read 0…60|==~~~~~~~~~~~~~|read 60…200|     count its bytes from the first one
//! ```
//! A write is told when it is done on some kernels and before it on others. What its thread wrote or read before was over in either
//! case, which is what clocks are compared by.

use longpole_event::{EventKind, ThreadId, Time};
use rustc_hash::FxHashMap;

use crate::messages::MessagePrecedence;

/// Set in the numbers of streams that lead from one machine to another.
const BETWEEN_MACHINES: u64 = 1 << 63;

/// Bytes that were written into a stream: 24 bytes for each time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CarriedWrite {
    /// How many bytes were written up to its end.
    pub(crate) end: u64,
    pub(crate) thread: ThreadId,
    pub(crate) time: Time,
}

/// An event about a stream between machines.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CarriedEvent {
    pub(crate) time: Time,
    pub(crate) thread: ThreadId,
    pub(crate) kind: EventKind,
    /// The wait after which the thread has not waited again.
    pub(crate) waited: Option<ReadWait>,
}

/// A wait before a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReadWait {
    /// Wakes of the thread before the one that ended it.
    pub(crate) wake: u64,
    pub(crate) begin: Time,
    pub(crate) end: Time,
}

/// Who ended a wait from another machine, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CarriedWake {
    pub(crate) source: ThreadId,
    pub(crate) time: Time,
}

/// Who ended waits, by thread and how often it had been woken before.
pub(crate) type CarriedWakes = FxHashMap<(ThreadId, u64), CarriedWake>;

/// What was written into streams that other logs read, by stream, in the order of their bytes.
pub(crate) type CarriedStreams = FxHashMap<u64, Vec<CarriedWrite>>;

/// One direction of a connection.
#[derive(Clone, Debug, Default)]
struct LoggedConnection {
    /// With a time before each.
    writes: Vec<(CarriedWrite, Option<Time>)>,
    /// By whom, when, and up to which byte.
    reads: Vec<(ThreadId, Time, u64)>,
}

/// What all logs say of connections; threads are the recording's.
#[derive(Debug, Default)]
pub(crate) struct LoggedConnections {
    streams: FxHashMap<u64, LoggedConnection>,
    /// When each thread wrote or read last.
    last: FxHashMap<ThreadId, Time>,
    /// Waits before reads: of which stream, from which byte on, by whom.
    waits: Vec<(u64, u64, ThreadId, ReadWait)>,
}

/// Whether the event is about a stream between machines.
pub(crate) fn is_carried(kind: EventKind) -> bool {
    match kind {
        EventKind::Write { channel, .. } | EventKind::Read { channel, .. } => channel & BETWEEN_MACHINES != 0,
        _ => false,
    }
}

impl LoggedConnections {
    /// Takes the next event of a log.
    pub(crate) fn take(&mut self, thread: ThreadId, time: Time, kind: EventKind) {
        let before = self.last.insert(thread, time);
        match kind {
            EventKind::Write { channel, position, bytes } => {
                let write = CarriedWrite { end: position.saturating_add(bytes), thread, time };
                self.streams.entry(channel).or_default().writes.push((write, before));
            }
            EventKind::Read { channel, position, bytes } => {
                let read = (thread, time, position.saturating_add(bytes));
                self.streams.entry(channel).or_default().reads.push(read);
            }
            _ => {}
        }
    }

    /// Takes the wait of an event that [`take`](Self::take) took.
    pub(crate) fn take_wait(&mut self, thread: ThreadId, kind: EventKind, waited: ReadWait) {
        if let EventKind::Read { channel, position, .. } = kind {
            self.waits.push((channel, position, thread, waited));
        }
    }

    /// Who ended the waits before reads: the writer of the first byte that was read, if it wrote it after the wait had begun.
    ///
    /// ```text
    ///   reader   ==|Out~~~~~~~~~~~~~Wake|==read 100…300      the wait was for the write of byte 100; several reads may follow a
    ///   writer   ==========|write 100…200|                   wait for whatever comes: the first whose bytes were not there counts
    /// ```
    pub(crate) fn wakes(&self, carried: &CarriedStreams) -> CarriedWakes {
        let mut wakes = CarriedWakes::default();
        for &(channel, position, reader, ReadWait { wake, begin, end }) in &self.waits {
            let Some(writes) = carried.get(&channel) else { continue };
            let first = writes.partition_point(|write| write.end <= position);
            if let Some(write) = writes.get(first).filter(|write| write.time > begin) {
                let found = CarriedWake { source: write.thread, time: write.time.min(end) };
                wakes.entry((reader, wake)).or_insert(found);
            }
        }
        wakes
    }

    /// The streams that one log wrote and another one read. More bytes that were read than written are no such stream: one end was
    /// not seen from its first byte on.
    fn between(&self, log: impl Fn(ThreadId) -> usize) -> impl Iterator<Item = (u64, &LoggedConnection)> {
        self.streams.iter().filter_map(move |(&channel, stream)| {
            let only = |mut logs: Box<dyn Iterator<Item = usize> + '_>| {
                let first = logs.next()?;
                logs.all(|other| other == first).then_some(first)
            };
            let writer = only(Box::new(stream.writes.iter().map(|(write, _)| log(write.thread))))?;
            let reader = only(Box::new(stream.reads.iter().map(|read| log(read.0))))?;
            let written = stream.writes.iter().map(|(write, _)| write.end).max()?;
            let read = stream.reads.iter().map(|read| read.2).max()?;
            (writer != reader && read <= written).then_some((channel, stream))
        })
    }

    /// What came before what on another machine: `log` says in which log a thread is, `machine` by which clock.
    pub(crate) fn precedences(
        &self,
        log: impl Fn(ThreadId) -> usize,
        machine: impl Fn(ThreadId) -> usize,
    ) -> Vec<MessagePrecedence> {
        let mut found = Vec::new();
        for (_, stream) in self.between(log) {
            let mut writes = stream.writes.clone();
            writes.sort_by_key(|(write, _)| write.end);
            for &(reader, received, end) in &stream.reads {
                let last = writes.partition_point(|(write, _)| write.end < end);
                let Some(&(write, Some(before))) = writes.get(last) else { continue };
                let places = (machine(write.thread), machine(reader));
                if places.0 != places.1 {
                    found.push(MessagePrecedence {
                        before: (places.0, before),
                        after: (places.1, received),
                        leaves_with: None,
                    });
                }
            }
        }
        found.sort_unstable_by_key(|precedence| (precedence.before, precedence.after));
        found
    }

    /// Who wrote what other logs read.
    pub(crate) fn carried(&self, log: impl Fn(ThreadId) -> usize) -> CarriedStreams {
        let writes = |stream: &LoggedConnection| {
            let mut writes: Vec<CarriedWrite> = stream.writes.iter().map(|&(write, _)| write).collect();
            writes.sort_by_key(|write| write.end);
            writes
        };
        self.between(log).map(|(channel, stream)| (channel, writes(stream))).collect()
    }
}

/// The writes of which bytes from `begin` to `end` are; of those that one thread made in a row, the last.
pub(crate) fn written(writes: &[CarriedWrite], begin: u64, end: u64) -> impl Iterator<Item = CarriedWrite> {
    let first = writes.partition_point(|write| write.end <= begin);
    let behind = writes.partition_point(|write| write.end < end).saturating_add(1).min(writes.len());
    let part = &writes[first..behind.max(first)];
    part.chunk_by(|one, next| one.thread == next.thread).filter_map(|chunk| chunk.last().copied())
}

/// How many of the writes end within the bytes from `begin` to `end`, and how many of these bytes each thread wrote.
pub(crate) fn shares(writes: &[CarriedWrite], begin: u64, end: u64) -> Vec<(ThreadId, u64, u64)> {
    let first = writes.partition_point(|write| write.end <= begin);
    let mut from = begin;
    let mut shares = Vec::new();
    for write in &writes[first..] {
        let until = write.end.min(end);
        if from >= until {
            break;
        }
        shares.push((write.thread, u64::from(write.end <= end), until - from));
        from = until;
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHANNEL: u64 = BETWEEN_MACHINES | 7;

    fn write(position: u64, bytes: u64) -> EventKind {
        EventKind::Write { channel: CHANNEL, position, bytes }
    }

    fn read(position: u64, bytes: u64) -> EventKind {
        EventKind::Read { channel: CHANNEL, position, bytes }
    }

    /// Threads 0 and 1 are of log 0, others of log 1.
    fn log(thread: ThreadId) -> usize {
        usize::from(thread.0 > 1)
    }

    fn logged(events: &[(u32, u64, EventKind)]) -> LoggedConnections {
        let mut logged = LoggedConnections::default();
        for &(thread, time, kind) in events {
            logged.take(ThreadId(thread), Time::from_nanoseconds(time), kind);
        }
        logged
    }

    #[test]
    fn a_read_depends_on_all_who_wrote_what_it_read() {
        let logged = logged(&[(0, 10, write(0, 100)), (1, 20, write(100, 100)), (2, 30, read(0, 150))]);
        let carried = logged.carried(log);
        let of = |begin, end| {
            let writes = written(&carried[&CHANNEL], begin, end);
            writes.map(|write| (write.thread.0, write.time.nanoseconds())).collect::<Vec<_>>()
        };
        assert_eq!(of(0, 150), [(0, 10), (1, 20)]);
        assert_eq!([of(0, 100), of(100, 200), of(60, 100)], [[(0, 10)], [(1, 20)], [(0, 10)]]);
    }

    #[test]
    fn a_wait_was_for_the_writer_of_what_was_not_there_when_it_began() {
        let mut logged = logged(&[(0, 10, write(0, 100)), (1, 40, write(100, 100)), (2, 60, read(0, 150))]);
        let waited = |wake, begin| ReadWait {
            wake,
            begin: Time::from_nanoseconds(begin),
            end: Time::from_nanoseconds(50),
        };
        // What was read first was there before, what came next was not.
        logged.take_wait(ThreadId(2), read(0, 100), waited(7, 20));
        logged.take_wait(ThreadId(2), read(100, 50), waited(7, 20));
        logged.take_wait(ThreadId(3), read(100, 50), waited(7, 45));
        let wakes = logged.wakes(&logged.carried(log));
        let expected = CarriedWake { source: ThreadId(1), time: Time::from_nanoseconds(40) };
        assert_eq!(wakes.into_iter().collect::<Vec<_>>(), [((ThreadId(2), 7), expected)]);
    }

    #[test]
    fn bytes_of_a_read_are_those_of_all_writes_in_it() {
        let logged = logged(&[(0, 10, write(0, 100)), (1, 20, write(100, 100)), (2, 30, read(0, 200))]);
        let writes = &logged.carried(log)[&CHANNEL];
        assert_eq!(shares(writes, 50, 150), [(ThreadId(0), 1, 50), (ThreadId(1), 0, 50)]);
        assert_eq!(shares(writes, 150, 200), [(ThreadId(1), 1, 50)]);
        assert_eq!(shares(writes, 0, 0), []);
    }

    #[test]
    fn a_stream_within_one_log_is_not_carried_and_one_read_beyond_its_end_neither() {
        assert!(logged(&[(0, 10, write(0, 100)), (1, 20, read(0, 100))]).carried(log).is_empty());
        assert!(logged(&[(0, 10, write(0, 100)), (2, 20, read(0, 101))]).carried(log).is_empty());
        let both = [(0, 10, write(0, 100)), (2, 20, write(0, 100)), (2, 30, read(0, 100))];
        assert!(logged(&both).carried(log).is_empty());
    }

    #[test]
    fn what_the_writer_did_before_came_before_the_read() {
        let events =
            [(0, 5, write(0, 10)), (2, 900, read(0, 10)), (0, 20, write(10, 10)), (2, 901, read(10, 10))];
        let at = Time::from_nanoseconds;
        let expected = MessagePrecedence { before: (0, at(5)), after: (1, at(901)), leaves_with: None };
        assert_eq!(logged(&events).precedences(log, log), [expected]);
    }
}
