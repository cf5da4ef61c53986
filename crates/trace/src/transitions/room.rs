//! Room in pipes: who writes depends on those who read what was there before.
//!
//! ```text
//!   A  write 0…64 ==== write 64…128 =====      a pipe holds 64 KiB: the second write needs the room of the first, and acquires what
//!   B  ======= read 0…64 ============          the read released, whether or not it waited
//! ```
//! A pipe holds 65,536 bytes where nobody changes that (pipe(7)); where more were in it at once, it holds those. Room of reads that
//! are not done when a write begins need no token: the write waits for them.

use longpole_event::{ThreadId, Time};

use super::Transitions;
use super::streams::{KnownStream, StreamPart, Transfer};
use crate::observer::Observer;
use crate::timeline::ItemKind;

/// How many bytes a pipe holds by default (pipe(7)).
pub(super) const PIPE_BUFFER: u64 = 1 << 16;

/// The upper half of the number of a pipe.
const PIPE_STREAMS: u64 = 0x7069_7065;

fn is_pipe(channel: u64) -> bool {
    channel >> 32 == PIPE_STREAMS
}

impl Transitions<'_> {
    /// The thread has read: those who write later may need the room.
    pub(super) fn make_room(
        &mut self,
        thread: ThreadId,
        time: Time,
        what: Transfer,
        observer: &mut impl Observer,
    ) {
        let Some(known) = self.sources.dependences.streams.get(&what.channel) else { return };
        let needed = known.written.saturating_add(known.before).saturating_sub(known.capacity());
        if !is_pipe(what.channel) || what.position >= needed || what.bytes == 0 {
            return;
        }
        let token = self.tokens.make();
        self.emit(thread, time, ItemKind::Release(token), observer);
        let end = what.position.saturating_add(what.bytes);
        self.streams.room.add(what.channel, StreamPart { begin: what.position, end, thread, token });
    }

    /// The thread writes, and needs the room of what was read.
    pub(super) fn take_room(
        &mut self,
        thread: ThreadId,
        time: Time,
        (what, known): (Transfer, &KnownStream),
        observer: &mut impl Observer,
    ) {
        let end = what.position.saturating_add(known.before).saturating_add(what.bytes);
        let needed = end.saturating_sub(known.capacity());
        for (made, last) in self.streams.room.used(what.channel, needed) {
            if made.thread != thread || last {
                self.acquire_part(thread, time, (made.token, last, true), observer);
            }
        }
    }
}
