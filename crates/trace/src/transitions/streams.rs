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
}

impl KnownStream {
    /// Follows a write in the first reading.
    pub(crate) fn write(&mut self, end: u64) {
        self.written = self.written.max(end);
    }

    /// Follows a read in the first reading. Writes are told before they are done, reads after.
    pub(crate) fn read(&mut self, end: u64) {
        self.read = self.read.max(end);
        self.before = self.before.max(self.read.saturating_sub(self.written));
    }
}

/// A write that was not read up.
#[derive(Clone, Copy, Debug)]
struct Unread {
    begin: u64,
    end: u64,
    thread: ThreadId,
    token: TokenId,
}

/// What was written and not read.
#[derive(Debug, Default)]
pub(super) struct Streams(FxHashMap<u64, VecDeque<Unread>>);

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
        let begin = what.position.saturating_add(known.before);
        if begin >= known.read || what.bytes == 0 {
            return;
        }
        let token = self.tokens.make();
        self.emit(thread, time, ItemKind::Release(token), observer);
        let written = Unread { begin, end: begin.saturating_add(what.bytes), thread, token };
        self.streams.0.entry(what.channel).or_default().push_back(written);
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
        let Some(unread) = self.streams.0.get_mut(&what.channel) else { return };
        let mut acquired = Vec::new();
        unread.retain(|written| {
            let is_read = written.begin < end && what.bytes > 0;
            let is_last = written.end <= end;
            if is_read {
                acquired.push((*written, is_last));
            }
            !(is_read && is_last)
        });
        if unread.is_empty() {
            self.streams.0.remove(&what.channel);
        }
        let awaits = self.threads[thread.index()].awaits.filter(|awaits| awaits.is_stream && !awaits.writes);
        let object = awaits.map(|awaits| awaits.object);
        for (written, last) in acquired {
            let bytes = written.end.min(end).saturating_sub(written.begin.max(what.position));
            observer.received((self.global(written.thread), self.global(thread)), u64::from(last), bytes);
            if written.thread != thread || last {
                let (token, kind) = (written.token, DependenceKind::Message);
                let acquisition = Acquisition { token, kind, object, queue: None, last };
                self.emit(thread, time, ItemKind::Acquire(acquisition), observer);
            }
        }
    }
}
