//! The stream of one thread while it is written.

use core::ptr;
use core::sync::atomic::{AtomicI32, AtomicU32, AtomicUsize, Ordering};

use super::followed::{self, RaisedLimits, TouchingThread, UnitGroup};
use crate::format::{
    ABSOLUTE, BLOCK, BLOCK_BYTES, BLOCK_PLACES, FAR, MAPS, MENTION, MIDDLE, MOST_SKIPPED, MessageHeader,
    NEAR, NEW_PLACE, OPERATION, Operation, PROTOCOL, READ, SAME, SKIPPED, SLOTS, place, slot_of,
};

/// Bytes of the longest record, with the accesses before it that were not recorded.
const LONGEST: usize = 2 + 2 + 8 * 4;

#[derive(Clone, Copy)]
#[repr(C)]
struct StreamSlot {
    place: u64,
    last: u64,
}

/// A thread's stream: in memory of its own, which is zero at first.
#[repr(C)]
pub struct ThreadStream {
    cursor: *mut u8,
    /// From here on there is no room for the longest record.
    limit: *mut u8,
    /// The groups of units, where not all are followed; else null.
    groups: *const UnitGroup,
    /// Accesses since the last record that were not recorded.
    skipped: u32,
    /// Procedures that were entered at the end of the records, with nothing after it.
    entered: u32,
    /// Where these records end.
    entered_end: *mut u8,
    places: usize,
    pub thread: u32,
    tid: u32,
    number: u32,
    /// Who writes a block out: the thread, or one that ends the process.
    writing: AtomicU32,
    pub handle: libc::pthread_t,
    next: *mut ThreadStream,
    raised: RaisedLimits,
    new_places: [u64; BLOCK_PLACES],
    slots: [StreamSlot; SLOTS],
    bytes: [u8; BLOCK_BYTES],
}

/// The recorder's socket; −1 where there is none.
static SOCKET: AtomicI32 = AtomicI32::new(-1);
/// Every stream that was begun, newest first. None is unmapped before the process ends.
static STREAMS: AtomicUsize = AtomicUsize::new(0);
/// Numbers of threads that were given.
static THREADS: AtomicU32 = AtomicU32::new(0);
static PID: AtomicU32 = AtomicU32::new(0);

/// Whether a recorder listens.
#[inline(always)]
pub fn is_on() -> bool {
    SOCKET.load(Ordering::Relaxed) >= 0
}

pub fn set_socket(socket: i32) {
    PID.store(unsafe { libc::getpid() }.cast_unsigned(), Ordering::Relaxed);
    SOCKET.store(socket, Ordering::Relaxed);
}

/// Records nothing from now on: in a child process, or where the recorder is gone.
pub fn switch_off() {
    SOCKET.store(-1, Ordering::Relaxed);
}

/// The number of the next thread.
pub fn next_thread() -> u32 {
    THREADS.fetch_add(1, Ordering::Relaxed)
}

/// The stream of a thread that was created and not yet joined, by its handle.
pub fn find_thread(handle: libc::pthread_t) -> Option<u32> {
    let mut at = STREAMS.load(Ordering::Acquire) as *const ThreadStream;
    while let Some(stream) = unsafe { at.as_ref() } {
        if stream.handle == handle {
            return Some(stream.thread);
        }
        at = stream.next;
    }
    None
}

/// A new stream for the calling thread; null where there is no memory.
pub fn create(thread: u32) -> *mut ThreadStream {
    let length = size_of::<ThreadStream>();
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    let memory = unsafe { libc::mmap(ptr::null_mut(), length, protection, kind, -1, 0) };
    if memory == libc::MAP_FAILED {
        return ptr::null_mut();
    }
    let stream: *mut ThreadStream = memory.cast();
    unsafe {
        let bytes = (&raw mut (*stream).bytes).cast::<u8>();
        (*stream).cursor = bytes;
        (*stream).limit = bytes.add(BLOCK_BYTES - LONGEST);
        (*stream).thread = thread;
        (*stream).groups = followed::table();
        (*stream).tid = libc::syscall(libc::SYS_gettid) as u32;
        (*stream).handle = libc::pthread_self();
        let mut first = STREAMS.load(Ordering::Relaxed);
        loop {
            (*stream).next = first as *mut ThreadStream;
            match STREAMS.compare_exchange(first, stream as usize, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => break,
                Err(newer) => first = newer,
            }
        }
    }
    stream
}

impl ThreadStream {
    /// An access, which is recorded where its unit is followed.
    #[inline(always)]
    pub fn access(&mut self, place: u64, address: u64) {
        if self.groups.is_null() || self.is_followed(place, address) {
            self.place(place, address);
        }
    }

    /// Whether one of the units that an access touches is followed; else it is counted.
    #[inline(never)]
    fn is_followed(&mut self, place: u64, address: u64) -> bool {
        let last = address.wrapping_add((1 << (place >> 52 & 15)) - 1);
        let writes = place >> 48 & 15 != READ;
        let groups = self.groups;
        let mut thread = self.touching();
        let mut is_followed = unsafe { followed::touch(groups, &mut thread, address, writes) };
        // Units have at least as many bytes as a cache line.
        if (address ^ last) >> 6 != 0 {
            is_followed |= unsafe { followed::touch(groups, &mut thread, last, writes) };
        }
        if is_followed {
            self.write_skipped();
            return true;
        }
        self.skip();
        false
    }

    /// An access of any size, by this caller.
    pub fn range(&mut self, (address, size): (u64, u64), kind: u64, caller: u64) {
        let writes = kind != READ;
        let groups = self.groups;
        if !groups.is_null()
            && !unsafe { followed::touch_range(groups, &mut self.touching(), (address, size), writes) }
        {
            return self.skip();
        }
        self.operation_of(Operation::Range, [address, size, kind, caller], caller);
    }

    /// An access that is recorded in any case: one of an atomic variable, whose version is recorded before.
    pub fn access_always(&mut self, place: u64, address: u64) {
        if !self.groups.is_null() {
            let (groups, writes) = (self.groups, place >> 48 & 15 != READ);
            unsafe { followed::touch(groups, &mut self.touching(), address, writes) };
            self.write_skipped();
        }
        self.place(place, address);
    }

    fn touching(&mut self) -> TouchingThread<'_> {
        TouchingThread { number: self.thread, raised: &mut self.raised }
    }

    /// Counts an access that is not recorded.
    fn skip(&mut self) {
        self.skipped += 1;
        if self.skipped == MOST_SKIPPED {
            self.write_skipped();
            if self.cursor >= self.limit {
                self.flush();
            }
        }
    }

    fn write_skipped(&mut self) {
        if self.skipped > 0 {
            unsafe {
                self.cursor.cast::<u16>().write_unaligned(SKIPPED << 12 | self.skipped as u16);
                self.cursor = self.cursor.add(2);
            }
            self.skipped = 0;
        }
    }

    /// The begin of a procedure.
    #[inline(always)]
    pub fn enter(&mut self, place: u64) {
        let before = self.cursor;
        self.place(place, 0);
        // Where hardly any access is recorded, most calls are taken back.
        if !self.groups.is_null() && self.cursor == before.wrapping_add(2) {
            self.entered = if self.entered_end == before { self.entered + 1 } else { 1 };
            self.entered_end = self.cursor;
        }
    }

    /// Its end.
    #[inline(always)]
    pub fn exit(&mut self) {
        if self.entered_end == self.cursor && self.entered > 0 {
            self.entered -= 1;
            self.cursor = self.cursor.wrapping_sub(2);
            self.entered_end = self.cursor;
            return;
        }
        self.write_operation(Operation::Exit, []);
    }

    /// A place: an access or the begin of a procedure.
    #[inline(always)]
    pub fn place(&mut self, place: u64, address: u64) {
        let slot = slot_of(place);
        let at = unsafe { self.slots.get_unchecked_mut(slot) };
        let cursor = self.cursor;
        if at.place != place {
            return self.new_place(place, address);
        }
        let distance = address.wrapping_sub(at.last) as i64;
        at.last = address;
        let head = slot as u16;
        // The records end at the cursor at every moment: another thread that ends the process reads up to there.
        unsafe {
            self.cursor = if distance == 0 {
                cursor.cast::<u16>().write_unaligned(head | SAME << 12);
                cursor.add(2)
            } else if distance == i64::from(distance as i8) {
                cursor.cast::<u16>().write_unaligned(head | NEAR << 12);
                cursor.add(2).write(distance as u8);
                cursor.add(3)
            } else {
                write_far(cursor, head, distance, address)
            };
        }
        if self.cursor >= self.limit {
            self.flush();
        }
    }

    #[cold]
    #[inline(never)]
    fn new_place(&mut self, place: u64, address: u64) {
        let slot = slot_of(place);
        self.slots[slot] = StreamSlot { place, last: address };
        self.new_places[self.places] = place;
        self.places += 1;
        let cursor = self.cursor;
        unsafe {
            cursor.cast::<u16>().write_unaligned(slot as u16 | NEW_PLACE << 12);
            cursor.add(2).cast::<u64>().write_unaligned(address);
            self.cursor = cursor.add(10);
        }
        if self.places == BLOCK_PLACES || self.cursor >= self.limit {
            self.flush();
        }
    }

    /// Synchronisation and the like, by this caller.
    pub fn operation_of<const N: usize>(&mut self, operation: Operation, arguments: [u64; N], caller: u64) {
        let mention = place(caller, MENTION, 0);
        if self.slots[slot_of(mention)].place != mention {
            self.new_place(mention, 0);
        }
        self.operation(operation, arguments);
    }

    /// The same, where the caller plays no part.
    pub fn operation<const N: usize>(&mut self, operation: Operation, arguments: [u64; N]) {
        self.write_skipped();
        self.write_operation(operation, arguments);
    }

    fn write_operation<const N: usize>(&mut self, operation: Operation, arguments: [u64; N]) {
        let mut cursor = self.cursor;
        unsafe {
            cursor.cast::<u16>().write_unaligned(OPERATION << 12 | (N as u16) << 8 | operation as u16);
            cursor = cursor.add(2);
            for argument in arguments {
                cursor.cast::<u64>().write_unaligned(argument);
                cursor = cursor.add(8);
            }
        }
        self.cursor = cursor;
        if self.cursor >= self.limit {
            self.flush();
        }
    }

    /// Hands the block to the recorder.
    #[cold]
    #[inline(never)]
    pub fn flush(&mut self) {
        self.write_skipped();
        while self.writing.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_err() {
            // The process is being ended by another thread, which has this one's records.
            unsafe { libc::sched_yield() };
        }
        unsafe { self.send() };
        self.writing.store(0, Ordering::Release);
    }

    unsafe fn send(&mut self) {
        let begin = (&raw mut self.bytes).cast::<u8>();
        let bytes = unsafe { self.cursor.offset_from(begin) } as usize;
        if bytes == 0 {
            return;
        }
        let header = MessageHeader {
            protocol: PROTOCOL,
            kind: BLOCK,
            pid: PID.load(Ordering::Relaxed),
            thread: self.thread,
            number: self.number,
            bytes: bytes as u32,
            places: self.places as u32,
            tid: self.tid,
        };
        let places = 8 * self.places;
        send(&header, (begin, bytes), ((&raw mut self.new_places).cast(), places));
        self.number += 1;
        self.places = 0;
        self.cursor = begin;
        self.entered_end = ptr::null_mut();
    }
}

/// Distances of more than a byte.
#[inline(never)]
unsafe fn write_far(cursor: *mut u8, head: u16, distance: i64, address: u64) -> *mut u8 {
    unsafe {
        if distance == i64::from(distance as i16) {
            cursor.cast::<u16>().write_unaligned(head | MIDDLE << 12);
            cursor.add(2).cast::<i16>().write_unaligned(distance as i16);
            cursor.add(4)
        } else if distance == i64::from(distance as i32) {
            cursor.cast::<u16>().write_unaligned(head | FAR << 12);
            cursor.add(2).cast::<i32>().write_unaligned(distance as i32);
            cursor.add(6)
        } else {
            cursor.cast::<u16>().write_unaligned(head | ABSOLUTE << 12);
            cursor.add(2).cast::<u64>().write_unaligned(address);
            cursor.add(10)
        }
    }
}

/// Writes out what every thread has recorded: at the end of the process. Threads that go on are cut here.
pub fn flush_all() {
    let mut at = STREAMS.load(Ordering::Acquire) as *mut ThreadStream;
    while let Some(stream) = unsafe { at.as_mut() } {
        // A thread that is writing a block has less than one left.
        if stream.writing.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_ok() {
            unsafe { stream.send() };
            stream.writing.store(0, Ordering::Release);
        }
        stream.raised.settle();
        at = stream.next;
    }
}

/// Sends the text of the process's mappings.
pub fn send_maps() {
    if !is_on() {
        return;
    }
    let mut text = [0_u8; 16 << 10];
    unsafe {
        let file = libc::open(c"/proc/self/maps".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        if file < 0 {
            return;
        }
        loop {
            let count = libc::read(file, text.as_mut_ptr().cast(), text.len());
            if count <= 0 {
                break;
            }
            let pid = PID.load(Ordering::Relaxed);
            let bytes = count as u32;
            let header =
                MessageHeader { protocol: PROTOCOL, kind: MAPS, pid, bytes, ..MessageHeader::default() };
            send(&header, (text.as_mut_ptr(), count as usize), (text.as_mut_ptr(), 0));
        }
        libc::close(file);
    }
}

/// Sends bytes that are of no thread.
pub fn send_own(header: MessageHeader, bytes: (*mut u8, usize)) {
    let header = MessageHeader { pid: PID.load(Ordering::Relaxed), ..header };
    send(&header, bytes, (bytes.0, 0));
}

/// One message; waits until the socket takes it.
fn send(header: &MessageHeader, first: (*mut u8, usize), second: (*mut u8, usize)) {
    let mut encoded = header.encode();
    let part = |(base, length): (*mut u8, usize)| libc::iovec { iov_base: base.cast(), iov_len: length };
    let mut parts = [part((encoded.as_mut_ptr(), encoded.len())), part(first), part(second)];
    unsafe {
        let mut message: libc::msghdr = core::mem::zeroed();
        message.msg_iov = parts.as_mut_ptr();
        message.msg_iovlen = parts.len();
        let errno = *libc::__errno_location();
        loop {
            let socket = SOCKET.load(Ordering::Relaxed);
            if socket < 0 {
                break;
            }
            if libc::sendmsg(socket, &raw const message, libc::MSG_NOSIGNAL) >= 0 {
                break;
            }
            if *libc::__errno_location() != libc::EINTR {
                switch_off();
            }
        }
        *libc::__errno_location() = errno;
    }
}
