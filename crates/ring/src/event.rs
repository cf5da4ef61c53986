//! Events as words of a ring.
//!
//! ```text
//! word 0   kind:6  length in words:10  subject:48    (an address of the program, or a number)
//! word 1   time, in ticks of the header's clock
//! word 2…  what the kind says
//! ```

use crate::numbered::numbered;

/// Words of the longest event.
pub const LONGEST_EVENT: usize = 1023;

const KIND_BITS: u32 = 6;
const LENGTH_BITS: u32 = 10;
const SUBJECT_BITS: u32 = 48;

numbered! {
    /// What an event tells.
    pub enum RingEventKind {
        /// The process has mapped this memory: it has become a new program. Subject: 0. Word 2: the process's flags.
        Began = 1,
        /// A thread is about to be created. Subject: its key. Word 2: key of the stack.
        Creates = 2,
        /// This thread was created. Subject: the key that its creator told. Word 2: its handle (`pthread_t`).
        Created = 3,
        /// A process is about to be created. Subject: its key. Word 2: key of the stack.
        Forks = 4,
        /// This process was created by a fork. Subject: the key that its creator told. Word 2: the creator's pid.
        Forked = 5,
        /// This thread ends.
        Ends = 6,
        /// This thread has a name. Words 2…: its bytes, zeroes after the end.
        Named = 7,
        /// A stack. Subject: 0. Word 2: its key; 3 to 5: instruction pointer, stack pointer, frame pointer; 6: words
        /// of the frame-pointer chain; then the chain, then memory from the stack pointer upwards.
        Stack = 8,
        /// The thread begins to wait. Subject: what for. Word 2: [`crate::WaitKind`], and a descriptor or number
        /// above its low 8 bits; 3: key of the stack, 0 for none.
        Waits = 9,
        /// The wait is over. Subject: what for. Word 2: 1 where it was granted, 0 where it was given up.
        Done = 10,
        /// Somebody who waits for the subject can go on, or try again. Word 2: [`crate::WaitKind`]; 3: key of the stack.
        Releases = 11,
        /// What holds of the subject at one place came to. Word 2: place; 3: kind; 4: acquisitions; 5: contended; 6:
        /// ticks held; 7: ticks of the longest; 8: what was held already, with its kind in the highest byte.
        Held = 12,
        /// The thread entered a region. Subject: address of its name. Word 2: key of the stack.
        Enters = 13,
        /// The thread left the region or task that it entered last.
        Leaves = 14,
        /// The thread made a task. Subject: its key. Word 2: key of the stack.
        Spawns = 15,
        /// The thread begins a task. Subject: its key. Word 2: address of its name; 3: key of the stack.
        Runs = 16,
        /// A text of the program. Subject: its address. Words 2…: its bytes, zeroes after the end.
        Text = 17,
        /// The subject has a name. Word 2: bytes of memory it takes; 3…: the name's bytes, zeroes after the end.
        NamesObject = 18,
        /// The thread entered an instrumented procedure. Subject: its address. Word 1: see [`call_event`].
        Calls = 19,
        /// The thread left an instrumented procedure. As [`RingEventKind::Calls`].
        Returns = 20,
        /// Before this event others found no room. Subject: how many. Word 1: see [`call_event`]; the depth is 1 where calls of MPI
        /// were among them.
        Lost = 21,
        /// What trial calls took amid other work, which goes on meanwhile as far as the processor can. Subject: ticks of
        /// all. Word 2: how many.
        Trial = 22,
        /// The process ends: all its threads with it.
        Exits = 23,
        /// The thread adds to a semaphore. Subject: the semaphore. Word 2: how much.
        Posts = 24,
        /// The thread has taken one from a semaphore. Subject: the semaphore.
        Takes = 25,
        /// The thread has given a semaphore its first count. Subject: the semaphore. Word 2: the count.
        Initialises = 26,
        /// The thread has acquired a mutex with which threads wait for conditions. Subject: the mutex. Word 2: the return
        /// address of the acquisition.
        Locks = 27,
        /// The thread is about to release such a mutex. Subject: the mutex.
        Unlocks = 28,
        /// A wait for a condition has returned. Subject: the condition. Word 2: the mutex, which the thread holds again; 3: 1
        /// where it was signalled, 0 where its time was over.
        Waited = 29,
        /// The thread signals a condition, whether or not any thread waits. Subject: the condition. Word 2: 1 where it is
        /// to all that wait.
        Signals = 30,
        /// The thread enters a call of MPI. Subject: the communicator's handle, 0 for none. Word 2: [`crate::MpiCall`] in its
        /// lowest 8 bits, above them bytes, or the request that the call is about; 3: rank of the other end or the root in its low half,
        /// tag above, both signed; 4: key of the stack.
        Communicates = 31,
        /// The thread leaves that call. Subject: the request that it made, 0 for none. Word 2: 1 where it succeeded. Where
        /// that is known, 3: source in its low half, tag above; 4: bytes.
        Communicated = 32,
        /// A request is complete, as the call says that the thread is about to leave. Subject: the request. Words 2 to 4 as of
        /// [`RingEventKind::Communicated`]; word 2 is 0 where it was cancelled.
        Completes = 33,
        /// The process has a communicator. Subject: its handle. Word 2: handle of the one that it was made from, 0 for none; 3:
        /// own rank in its low half, size above; 4: the job; 5…: ranks of its members in the job, two a word, where it was made from another.
        Communicator = 34,
        /// The call that the thread is about to leave has found a message. Subject: the communicator's handle. Word 2: the
        /// handle with which it took the message, 0 where it did not; 3 and 4 as of [`RingEventKind::Communicated`].
        Probed = 35,
        /// The call that the thread is in starts a request that was prepared. Subject: the request.
        Starts = 36,
        /// The process has a window of the memory of several. Subject: its handle. Word 2: handle of their communicator.
        Window = 37,
        /// The call that the thread is in is about this member of a window's group. Subject: the window's handle. Word 2: its rank.
        Addresses = 38,
        /// The call that the thread is in is of a function of which only the name is known. Subject: 0. Words 2…: its bytes, zeroes
        /// after the end.
        NamesCall = 39,
        /// The process has neighbours in a communicator. Subject: its handle. Word 2: how many of them send to it in the low
        /// half, how many it sends to above; 3…: their ranks, two a word.
        Neighbours = 40,
        /// The thread has waited for room in its ring. Subject: 0. Word 2: nanoseconds; 3: of these on a processor.
        Delayed = 41,
    }
}

/// The first word of an event.
#[must_use]
#[inline]
pub(crate) const fn first_word(kind: u8, length: usize, subject: u64) -> u64 {
    (kind as u64) | ((length as u64) << KIND_BITS) | (subject << (KIND_BITS + LENGTH_BITS))
}

/// Whether the event that begins so is one of those that [`call_event`] makes of calls.
pub(crate) const fn is_call(first: u64) -> bool {
    let kind = first & ((1 << KIND_BITS) - 1);
    kind == RingEventKind::Calls as u64 || kind == RingEventKind::Returns as u64
}

/// Whether the event that begins so is the begin of a call of MPI.
pub(crate) const fn is_communication(first: u64) -> bool {
    first & ((1 << KIND_BITS) - 1) == RingEventKind::Communicates as u64
}

/// Words of the event that begins so.
pub(crate) const fn length(first: u64) -> usize {
    ((first >> KIND_BITS) & ((1 << LENGTH_BITS) - 1)) as usize
}

/// An event of `WORDS` words, ready for a ring.
///
/// Subjects are cut to 48 bits, which all addresses of x86-64 programs with four-level page tables fit in.
#[must_use]
#[inline]
pub fn event<const WORDS: usize>(kind: RingEventKind, subject: u64, time: u64, rest: &[u64]) -> [u64; WORDS] {
    let mut words = [0; WORDS];
    words[0] = first_word(kind as u8, WORDS, subject & ((1 << SUBJECT_BITS) - 1));
    words[1] = time;
    words[2..].copy_from_slice(rest);
    words
}

const DEPTH_BITS: u32 = 16;
const TIME_BITS: u32 = 64 - DEPTH_BITS;
/// The depth of calls that are deeper than can be told.
pub const DEEPEST_CALL: u32 = (1 << DEPTH_BITS) - 1;

/// An event of the kinds [`RingEventKind::Calls`] and [`RingEventKind::Returns`], which are many: its time is cut to 48 bits, and above
/// it stands the depth that the procedure has on the profile stack, so that a lost event costs no other its meaning.
#[must_use]
#[inline]
pub fn call_event(kind: RingEventKind, procedure: u64, time: u64, depth: u32) -> [u64; 2] {
    let depth = depth.min(DEEPEST_CALL) as u64;
    event(kind, procedure, depth << TIME_BITS | time & ((1 << TIME_BITS) - 1), &[])
}

/// Writes the first two words of an event of `length` words, whose other words come from elsewhere.
#[inline]
pub fn event_in(words: &mut [u64], length: usize, kind: RingEventKind, subject: u64, time: u64) {
    words[0] = first_word(kind as u8, length, subject & ((1 << SUBJECT_BITS) - 1));
    words[1] = time;
}

/// The words of one event, as the reader copies them.
#[derive(Clone, Debug)]
pub struct EventWords {
    words: [u64; LONGEST_EVENT],
    length: usize,
}

impl Default for EventWords {
    fn default() -> Self {
        EventWords { words: [0; LONGEST_EVENT], length: 0 }
    }
}

impl core::ops::Deref for EventWords {
    type Target = [u64];

    fn deref(&self) -> &[u64] {
        &self.words[..self.length]
    }
}

impl EventWords {
    pub(crate) fn clear(&mut self) {
        self.length = 0;
    }

    pub(crate) fn push(&mut self, word: u64) {
        self.words[self.length] = word;
        self.length += 1;
    }

    /// What the words say; `None` where they are of no known kind or too short.
    #[must_use]
    pub fn event(&self) -> Option<RingEvent<'_>> {
        let (&first, &time) = (self.first()?, self.get(1)?);
        let kind = RingEventKind::of(first as u8 & ((1 << KIND_BITS) - 1))?;
        Some(RingEvent { kind, subject: first >> (KIND_BITS + LENGTH_BITS), time, rest: &self[2..] })
    }
}

/// An event, taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingEvent<'a> {
    /// What it tells.
    pub kind: RingEventKind,
    /// What about: an address of the program, or a number.
    pub subject: u64,
    /// When, in ticks of the header's clock.
    pub time: u64,
    /// Further words, from word 2 on.
    pub rest: &'a [u64],
}

impl RingEvent<'_> {
    /// The time (in whole) and the depth of an event that [`call_event`] made within 13 hours of `now`.
    #[must_use]
    pub fn call(&self, now: u64) -> (u64, u32) {
        let behind = (now.wrapping_sub(self.time) << DEPTH_BITS).cast_signed() >> DEPTH_BITS;
        (now.wrapping_sub(behind.cast_unsigned()), (self.time >> TIME_BITS) as u32)
    }

    /// Word `index`, counted from word 2; 0 where the event has none.
    #[must_use]
    pub fn word(&self, index: usize) -> u64 {
        self.rest.get(index).copied().unwrap_or(0)
    }

    /// The text from word `from` (counted from word 2) on, up to its first zero.
    pub fn bytes(&self, from: usize) -> impl Iterator<Item = u8> + '_ {
        let words = self.rest.get(from..).unwrap_or_default();
        words.iter().flat_map(|word| word.to_le_bytes()).take_while(|&byte| byte != 0)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_what_was_made() {
        let made: [u64; 4] = event(RingEventKind::Waits, 0x7fff_1234_5678, 99, &[5, 6]);
        let mut words = EventWords::default();
        made.iter().for_each(|&word| words.push(word));
        let expected =
            RingEvent { kind: RingEventKind::Waits, subject: 0x7fff_1234_5678, time: 99, rest: &[5, 6] };
        assert_eq!(words.event(), Some(expected));
        assert_eq!(length(made[0]), 4);
    }

    #[test]
    fn every_kind_is_found_by_its_number() {
        let known: Vec<u8> = (0..=255).filter_map(RingEventKind::of).map(|kind| kind as u8).collect();
        assert!(known.len() > 36 && known.iter().copied().eq(1..=known.len() as u8), "{known:?}");
        assert!((0..=255).all(|number| RingEventKind::of(number).is_none_or(|kind| kind as u8 == number)));
        assert!((0..=255).filter_map(RingEventKind::of).all(|kind| (kind as u32) < 1 << KIND_BITS));
    }

    #[test]
    fn calls_keep_their_time_and_depth() {
        let now: u64 = 0x0123_4567_89ab_cdef;
        for time in [now - 1_000_000, now + 1_000, now] {
            for (depth, expected) in [(1, 1), (1_000, 1_000), (70_000, DEEPEST_CALL)] {
                let mut words = EventWords::default();
                call_event(RingEventKind::Calls, 0x5555_0000_1000, time, depth)
                    .iter()
                    .for_each(|&word| words.push(word));
                let event = words.event().unwrap();
                assert_eq!(
                    (event.kind, event.subject, event.call(now)),
                    (RingEventKind::Calls, 0x5555_0000_1000, (time, expected))
                );
            }
        }
    }

    #[test]
    fn texts_end_at_their_first_zero() {
        let rest = [u64::from_le_bytes(*b"queue lo"), u64::from_le_bytes(*b"ck\0rest\0")];
        let event = RingEvent { kind: RingEventKind::Text, subject: 1, time: 2, rest: &rest };
        assert_eq!(event.bytes(0).collect::<Vec<_>>(), b"queue lock");
    }
}
