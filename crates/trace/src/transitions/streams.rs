//! Streams of bytes: what reads depends on those who wrote it.
//!
//! ```text
//!   A  write 0…100 ===== write 100…200        a read of bytes 0 to 150 acquires the tokens of both writes, whether or
//!   B  ================================ read 0…150           not it waited; the second is not read up yet
//! ```
//! What a thread reads that waited for a stream last is of that stream, and need not be waited for where that is not.

use std::collections::VecDeque;

use longpole_event::{ThreadId, Time};
use rustc_hash::FxHashMap;

use super::Transitions;
use super::room::PIPE_BUFFER;
use crate::connections::{shares, written};
use crate::observer::Observer;
use crate::timeline::{Acquisition, DependenceKind, ItemKind, TokenId};

/// Bytes that went into a stream or out of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transfer {
    pub(super) channel: u64,
    pub(super) position: u64,
    pub(super) bytes: u64,
}

/// What the first reading says of a stream.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct KnownStream {
    /// Where its last read ends.
    pub(crate) read: u64,
    /// Where its last write ends.
    pub(crate) written: u64,
    /// Bytes that were in it before the first write that was seen.
    pub(crate) before: u64,
    /// The most bytes that were in it when a write began.
    most: u64,
}

impl KnownStream {
    /// Follows a write in the first reading; one of nothing says where the last part of a run begins.
    pub(crate) fn write(&mut self, begin: u64, bytes: u64) {
        if bytes == 0 {
            self.read = self.read.max(begin);
        }
        self.most = self.most.max(begin.saturating_add(self.before).saturating_sub(self.read));
        self.written = self.written.max(begin.saturating_add(bytes));
    }

    /// Follows a read in the first reading. Writes are told before they are done, reads after.
    pub(crate) fn read(&mut self, end: u64) {
        self.read = self.read.max(end);
        self.before = self.before.max(self.read.saturating_sub(self.written));
    }

    /// How many bytes it holds, if it is a pipe.
    pub(super) fn capacity(&self) -> u64 {
        self.most.max(PIPE_BUFFER)
    }
}

/// Bytes of a stream that a thread wrote, or made room for, and that were not all used.
#[derive(Clone, Copy, Debug)]
pub(super) struct StreamPart {
    pub(super) begin: u64,
    pub(super) end: u64,
    pub(super) thread: ThreadId,
    pub(super) token: TokenId,
}

/// Parts that were not used up, by stream.
#[derive(Debug, Default)]
pub(super) struct StreamParts(FxHashMap<u64, VecDeque<StreamPart>>);

impl StreamParts {
    pub(super) fn add(&mut self, channel: u64, part: StreamPart) {
        self.0.entry(channel).or_default().push_back(part);
    }

    /// What is used of a stream up to this byte, and whether nothing is left of each.
    pub(super) fn used(&mut self, channel: u64, end: u64) -> Vec<(StreamPart, bool)> {
        let Some(parts) = self.0.get_mut(&channel) else { return Vec::new() };
        let mut used = Vec::new();
        parts.retain(|part| {
            let (is_used, is_last) = (part.begin < end, part.end <= end);
            if is_used {
                used.push((*part, is_last));
            }
            !(is_used && is_last)
        });
        if parts.is_empty() {
            self.0.remove(&channel);
        }
        used
    }
}

/// What was written into streams and not read, and what was read and not written over.
#[derive(Debug, Default)]
pub(super) struct Streams {
    unread: StreamParts,
    pub(super) room: StreamParts,
}

impl Transitions<'_> {
    /// The thread writes.
    pub(super) fn write(
        &mut self,
        thread: ThreadId,
        time: Time,
        what: Transfer,
        observer: &mut impl Observer,
    ) {
        let Some(known) = self.sources.dependences.streams.get(&what.channel) else { return };
        self.take_room(thread, time, (what, known), observer);
        let begin = what.position.saturating_add(known.before);
        if begin >= known.read || what.bytes == 0 {
            return;
        }
        let token = self.tokens.make();
        self.emit(thread, time, ItemKind::Release(token), observer);
        let written = StreamPart { begin, end: begin.saturating_add(what.bytes), thread, token };
        self.streams.unread.add(what.channel, written);
    }

    /// The thread has read.
    pub(super) fn read(
        &mut self,
        thread: ThreadId,
        time: Time,
        what: Transfer,
        observer: &mut impl Observer,
    ) {
        let end = what.position.saturating_add(what.bytes);
        if let Some(writes) = self.sources.sent.carried.get(&what.channel) {
            for (source, messages, bytes) in shares(writes, what.position, end) {
                observer.received((source, self.global(thread)), messages, bytes);
            }
            for write in written(writes, what.position, end) {
                let (source, source_time, kind) =
                    (write.thread, write.time.min(time), DependenceKind::Message);
                self.emit(thread, time, ItemKind::Depend { source, source_time, kind }, observer);
            }
            return;
        }
        for (written, last) in self.streams.unread.used(what.channel, end) {
            let bytes = written.end.min(end).saturating_sub(written.begin.max(what.position));
            observer.received((self.global(written.thread), self.global(thread)), u64::from(last), bytes);
            if written.thread != thread || last {
                self.acquire_part(thread, time, (written.token, last, false), observer);
            }
        }
        self.make_room(thread, time, what, observer);
    }

    /// The thread depends on a part of the stream that it waited for last, or could have waited for.
    pub(super) fn acquire_part(
        &mut self,
        thread: ThreadId,
        time: Time,
        (token, last, writes): (TokenId, bool, bool),
        observer: &mut impl Observer,
    ) {
        let awaits =
            self.threads[thread.index()].awaits.filter(|awaits| awaits.is_stream && awaits.writes == writes);
        let object = awaits.map(|awaits| awaits.object);
        let acquisition = Acquisition { token, kind: DependenceKind::Message, object, queue: None, last };
        self.emit(thread, time, ItemKind::Acquire(acquisition), observer);
    }
}
