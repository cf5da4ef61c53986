//! The stream of one thread, as bytes.
//!
//! ```text
//! message   header, bytes[bytes], places:[u64; places]            (little endian)
//! record    head:u16 and what its upper four bits say:
//!             0  the address that this place accessed last
//!             1  that one + i8     2  + i16     3  + i32
//!             4  address:u64
//!             5  address:u64, and the place is the next one of `places`
//!             6  none: the lower twelve bits are how many accesses were not recorded since the record before
//!            15  an operation: lower byte its number, the four bits between how many u64 follow
//! ```
//! The lower twelve bits of a head are the *slot* of a place: writer and reader keep the same table of 4,096 places, each
//! with the address that it accessed last. A place is a return address with the kind and size of its accesses. An access
//! costs 2 bytes and what its distance from the last one needs: 3 in a loop over an array.

/// The version of the protocol between library and recorder.
pub const PROTOCOL: u32 = 1;

/// The variable that names the recorder's socket.
pub const SOCKET_VARIABLE: &str = "LONGPOLE_ACCESS";

/// Name of the library as the loader knows it.
pub const LIBRARY: &str = "liblongpole-access.so";

/// Places of a thread's table.
pub const SLOTS: usize = 4096;

/// Bytes of a block's records, at most.
pub const BLOCK_BYTES: usize = 60 << 10;

/// New places of a block, at most.
pub const BLOCK_PLACES: usize = 2048;

/// Bytes of a message, at most.
pub const MESSAGE_BYTES: usize = HEADER_BYTES + BLOCK_BYTES + 8 * BLOCK_PLACES;

/// Bytes of a [`MessageHeader`].
pub const HEADER_BYTES: usize = 32;

/// The message is a block of a thread's stream.
pub const BLOCK: u32 = 1;
/// The message is the text of the process's mappings, or a part of it.
pub const MAPS: u32 = 2;
/// The message is names, which the recorder adds when the run has ended (JSON).
pub const NAMES: u32 = 3;

/// The message is rows of two u64, of limits of groups of units; its number says which.
pub const SAMPLE: u32 = 4;
/// Rows of [`SAMPLE`]: group and limit, of each group that is followed.
pub const FOLLOWED_LIMITS: u32 = 1;
/// Unit and limit of those groups with the highest limits that are not followed.
pub const HIGHEST_LIMITS: u32 = 2;
/// How many groups that are not followed have a limit of so many bits, from 0 on, and the sum of their limits. The last message.
pub const LIMITS_BY_CLASS: u32 = 3;

/// What is before the bytes of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MessageHeader {
    /// [`PROTOCOL`].
    pub protocol: u32,
    /// [`BLOCK`], [`MAPS`], [`NAMES`] or [`SAMPLE`].
    pub kind: u32,
    /// The process.
    pub pid: u32,
    /// The thread's number in its process: 0 is the first one, others in the order of their creation.
    pub thread: u32,
    /// Of the thread's blocks, from 0.
    pub number: u32,
    /// Bytes of records.
    pub bytes: u32,
    /// New places.
    pub places: u32,
    /// The kernel's number of the thread.
    pub tid: u32,
}

impl MessageHeader {
    /// The header as bytes.
    #[must_use]
    pub fn encode(&self) -> [u8; HEADER_BYTES] {
        let Self { protocol, kind, pid, thread, number, bytes, places, tid } = *self;
        let mut encoded = [0; HEADER_BYTES];
        let words = [protocol, kind, pid, thread, number, bytes, places, tid];
        for (room, word) in encoded.chunks_exact_mut(4).zip(words) {
            room.copy_from_slice(&word.to_le_bytes());
        }
        encoded
    }

    /// The header of a message; `None` where it is too short or its lengths are not its own.
    #[must_use]
    pub fn decode(message: &[u8]) -> Option<Self> {
        let mut words = [0_u32; HEADER_BYTES / 4];
        for (word, bytes) in words.iter_mut().zip(message.get(..HEADER_BYTES)?.chunks_exact(4)) {
            *word = u32::from_le_bytes(bytes.try_into().ok()?);
        }
        let [protocol, kind, pid, thread, number, bytes, places, tid] = words;
        let length = HEADER_BYTES as u64 + u64::from(bytes) + 8 * u64::from(places);
        (length == message.len() as u64).then_some(Self {
            protocol,
            kind,
            pid,
            thread,
            number,
            bytes,
            places,
            tid,
        })
    }
}

/// What an access, or another thing at a place, is.
pub const READ: u64 = 0;
/// Writes.
pub const WRITE: u64 = 1;
/// Reads and writes in one step.
pub const UPDATE: u64 = 2;
/// A procedure begins; the place is its caller.
pub const ENTER: u64 = 3;

/// Nothing: the place is that of an operation, so that it gets a name.
pub const MENTION: u64 = 4;

/// The key of a place: the return address, what happens there, and the power of two that is the size.
#[inline(always)]
#[must_use]
pub const fn place(address: u64, kind: u64, size_power: u64) -> u64 {
    (address & ((1 << 48) - 1)) | kind << 48 | size_power << 52
}

/// The slot of a place.
#[inline(always)]
#[must_use]
pub const fn slot_of(place: u64) -> usize {
    (place.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 52) as usize
}

/// How the address of a record is given: the upper four bits of its head.
pub const SAME: u16 = 0;
/// A byte of distance.
pub const NEAR: u16 = 1;
/// Two bytes.
pub const MIDDLE: u16 = 2;
/// Four bytes.
pub const FAR: u16 = 3;
/// The address itself.
pub const ABSOLUTE: u16 = 4;
/// The address itself, of a place that is new in its slot.
pub const NEW_PLACE: u16 = 5;
/// No access: so many accesses to units that are not followed ([`crate::unit_sample`]).
pub const SKIPPED: u16 = 6;
/// Accesses of one such record, at most.
pub const MOST_SKIPPED: u32 = 0xfff;
/// No access.
pub const OPERATION: u16 = 15;

/// The bit of tokens that are no address: the synchronisation of an OpenMP runtime, which keeps it to itself.
pub const OPENMP: u64 = 1 << 63;

/// What synchronises the threads of an OpenMP program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum OpenMpToken {
    /// A parallel region begins.
    Begin = 1,
    /// A barrier inside it.
    Barrier,
    /// It ends.
    End,
    /// A critical section without a name.
    Critical,
    /// An atomic update that the processor cannot do at once.
    Update,
    /// The ordered part of a loop.
    Ordered,
}

impl OpenMpToken {
    /// The token of this kind in the regions that the thread of this number opens, at this depth of nesting.
    #[must_use]
    pub const fn of_team(self, thread: u32, level: u8) -> u64 {
        OPENMP | (self as u64) << 56 | (level as u64) << 32 | thread as u64
    }

    /// The token of this kind for what the runtime has at an address.
    #[must_use]
    pub const fn of_address(self, address: u64) -> u64 {
        OPENMP | (self as u64) << 56 | (address & ((1 << 48) - 1))
    }

    /// What a token is; `None`: an address.
    #[must_use]
    pub const fn of(token: u64) -> Option<OpenMpToken> {
        use OpenMpToken as T;
        const ALL: [OpenMpToken; 6] = [T::Begin, T::Barrier, T::End, T::Critical, T::Update, T::Ordered];
        let kind = token >> 56 & 0x7f;
        if token & OPENMP == 0 || kind == 0 || kind > ALL.len() as u64 {
            return None;
        }
        Some(ALL[kind as usize - 1])
    }
}

/// Operations of a thread. The words of each end with the return address, where it has any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Operation {
    /// The procedure that was entered last ends.
    Exit = 1,
    /// Lock, place: has it now.
    Lock,
    /// Lock, place: has given it back.
    Unlock,
    /// Barrier, members, place: has arrived.
    Barrier,
    /// Number of a new thread, place.
    Fork,
    /// Number of an ended thread, place.
    Join,
    /// Semaphore, place.
    Post,
    /// Semaphore, place: has taken one.
    Await,
    /// What carries an order (a condition, an atomic variable), its version after this operation, place.
    Publish,
    /// The same; the version that this thread saw.
    Observe,
    /// Address, size, place.
    Allocate,
    /// Address.
    Free,
    /// Lowest address and size of the thread's stack.
    Stack,
    /// Address, size, kind, place: an access of any size.
    Range,
    /// The thread ends.
    End,
}

impl Operation {
    /// The operation with this number.
    #[must_use]
    pub const fn of(number: u8) -> Option<Self> {
        use Operation as O;
        const ALL: [Operation; 15] = [
            O::Exit,
            O::Lock,
            O::Unlock,
            O::Barrier,
            O::Fork,
            O::Join,
            O::Post,
            O::Await,
            O::Publish,
            O::Observe,
            O::Allocate,
            O::Free,
            O::Stack,
            O::Range,
            O::End,
        ];
        if number == 0 || number as usize > ALL.len() { None } else { Some(ALL[number as usize - 1]) }
    }
}
