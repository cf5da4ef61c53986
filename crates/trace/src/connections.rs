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
                    found.push(MessagePrecedence { before: (places.0, before), after: (places.1, received) });
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
        let expected = MessagePrecedence { before: (0, at(5)), after: (1, at(901)) };
        assert_eq!(logged(&events).precedences(log, log), [expected]);
    }
}
