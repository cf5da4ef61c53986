//! One kernel perf event and the ring buffer it writes.
//!
//! In: an attribute block, a process and a processor. Out: the records as bytes, in the order in which
//! the kernel wrote them. What a record means is not known here. Losses that the kernel reports are
//! records themselves (`PERF_RECORD_LOST`).

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use perf_event_open_sys::bindings::{PERF_FLAG_FD_CLOEXEC, perf_event_attr, perf_event_mmap_page};
use perf_event_open_sys::{ioctls, perf_event_open};

/// Bytes of the header in front of every record: type, flags, size.
const HEADER_BYTES: usize = 8;

/// An open perf event.
#[derive(Debug)]
pub struct PerfEvent {
    fd: OwnedFd,
}

impl PerfEvent {
    /// Opens the event for `pid` (−1: every process) on `cpu` (−1: every processor).
    ///
    /// # Errors
    /// What the kernel said.
    pub fn open(attribute: &mut perf_event_attr, pid: i32, cpu: i32) -> io::Result<PerfEvent> {
        attribute.size = u32::try_from(size_of::<perf_event_attr>()).expect("the attribute block is small");
        let flags = PERF_FLAG_FD_CLOEXEC.into();
        // SAFETY: the attribute block is a valid, initialised structure of the size it states.
        let fd = unsafe { perf_event_open(attribute, pid, cpu, -1, flags) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just made this descriptor and nobody else owns it.
        Ok(PerfEvent { fd: unsafe { OwnedFd::from_raw_fd(fd) } })
    }

    /// Starts counting and sampling.
    ///
    /// # Errors
    /// What the kernel said.
    pub fn enable(&self) -> io::Result<()> {
        // SAFETY: the descriptor is an open perf event.
        check(unsafe { ioctls::ENABLE(self.fd.as_raw_fd(), 0) })
    }

    /// Stops counting and sampling.
    ///
    /// # Errors
    /// What the kernel said.
    pub fn disable(&self) -> io::Result<()> {
        // SAFETY: the descriptor is an open perf event.
        check(unsafe { ioctls::DISABLE(self.fd.as_raw_fd(), 0) })
    }

    /// The event once more: both are closed before the kernel ends it.
    ///
    /// # Errors
    /// What the kernel said.
    pub fn try_clone(&self) -> io::Result<PerfEvent> {
        Ok(PerfEvent { fd: self.fd.try_clone()? })
    }

    /// Gives a clock another interval, nanoseconds, which begins now, and a breakpoint the number of stores of which it tells one.
    ///
    /// # Errors
    /// What the kernel said.
    pub fn set_period(&self, period: u64) -> io::Result<()> {
        // SAFETY: the descriptor is an open perf event; the kernel reads one u64 through the pointer.
        check(unsafe { ioctls::PERIOD(self.fd.as_raw_fd(), (&raw const period) as u64) })
    }

    /// Makes a breakpoint one for another word.
    ///
    /// # Errors
    /// What the kernel said.
    pub fn modify(&self, attribute: &mut perf_event_attr) -> io::Result<()> {
        attribute.size = u32::try_from(size_of::<perf_event_attr>()).expect("the attribute block is small");
        // SAFETY: the descriptor is an open perf event; the attribute block is valid, and of the size it states.
        check(unsafe { ioctls::MODIFY_ATTRIBUTES(self.fd.as_raw_fd(), attribute) })
    }

    /// Lets it fire so many more times, after which it stops; starts it where it had stopped.
    ///
    /// # Errors
    /// What the kernel said.
    pub fn allow(&self, times: i32) -> io::Result<()> {
        // SAFETY: the descriptor is an open perf event.
        check(unsafe { ioctls::REFRESH(self.fd.as_raw_fd(), times) })
    }

    /// Runs this program whenever the event fires.
    ///
    /// # Errors
    /// What the kernel said.
    pub fn run_program(&self, program: RawFd) -> io::Result<()> {
        let program = u32::try_from(program).map_err(io::Error::other)?;
        // SAFETY: both descriptors are open.
        check(unsafe { ioctls::SET_BPF(self.fd.as_raw_fd(), program) })
    }

    /// Lets this event write into the ring of `ring`, which has to be of the same processor.
    ///
    /// # Errors
    /// What the kernel said.
    pub fn write_into(&self, ring: &PerfRing) -> io::Result<()> {
        // SAFETY: both descriptors are open perf events.
        check(unsafe { ioctls::SET_OUTPUT(self.fd.as_raw_fd(), ring.event.fd.as_raw_fd()) })
    }

    /// The id by which records name this event (`PERF_SAMPLE_IDENTIFIER`).
    ///
    /// # Errors
    /// What the kernel said.
    pub fn id(&self) -> io::Result<u64> {
        let mut id = 0;
        // SAFETY: the kernel writes one u64 through the pointer.
        check(unsafe { ioctls::ID(self.fd.as_raw_fd(), &raw mut id) })?;
        Ok(id)
    }
}

impl AsRawFd for PerfEvent {
    fn as_raw_fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }
}

fn check(result: i32) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// A record as the kernel wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingRecord<'a> {
    /// `PERF_RECORD_…`.
    pub kind: u32,
    /// The header's flags (`PERF_RECORD_MISC_…`).
    pub misc: u16,
    /// Everything after the header.
    pub body: &'a [u8],
}

/// The ring buffer of a perf event. Other events of the same processor can write into it too.
#[derive(Debug)]
pub struct PerfRing {
    event: PerfEvent,
    base: NonNull<u8>,
    page_bytes: usize,
    data_bytes: usize,
    /// Holds a record that wraps around the end of the buffer.
    scratch: Vec<u8>,
}

// SAFETY: the mapping belongs to this value alone; the kernel is the only other party and is synchronised
// with through the head and tail in the control page.
unsafe impl Send for PerfRing {}

impl PerfRing {
    /// Maps a ring of `pages` data pages (a power of two).
    ///
    /// # Errors
    /// What the kernel said; `EPERM` where the locked memory of the user is used up.
    pub fn map(event: PerfEvent, pages: usize) -> io::Result<PerfRing> {
        debug_assert!(pages.is_power_of_two());
        // SAFETY: asks for a constant of the system.
        let page_bytes =
            usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).expect("the page size is positive");
        let length = (1 + pages) * page_bytes;
        // SAFETY: a new mapping at an address of the kernel's choice.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                length,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                event.fd.as_raw_fd(),
                0,
            )
        };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base = NonNull::new(base.cast()).expect("a mapping is never at address 0");
        Ok(PerfRing { event, base, page_bytes, data_bytes: pages * page_bytes, scratch: Vec::new() })
    }

    /// The event whose ring this is.
    #[must_use]
    pub fn event(&self) -> &PerfEvent {
        &self.event
    }

    /// Bytes that wait to be read.
    #[must_use]
    pub fn waiting_bytes(&self) -> usize {
        let (head, tail) = (self.head().load(Ordering::Acquire), self.tail().load(Ordering::Relaxed));
        usize::try_from(head.wrapping_sub(tail)).unwrap_or(usize::MAX)
    }

    /// Size of the ring in bytes.
    #[must_use]
    pub fn size_bytes(&self) -> usize {
        self.data_bytes
    }

    /// Hands over every record that was whole when the call began, oldest first, and frees its room.
    ///
    /// Returns whether the ring was so full that the next record may not have found room: the kernel tells of that only
    /// with the first record that finds some again.
    pub fn read(&mut self, mut take: impl FnMut(RingRecord<'_>)) -> bool {
        /// Bytes of a record with a long path.
        const LARGE_RECORD: u64 = 8 << 10;
        let head = self.head().load(Ordering::Acquire);
        let mut tail = self.tail().load(Ordering::Relaxed);
        let is_full = head.wrapping_sub(tail) + LARGE_RECORD > self.data_bytes as u64;
        let mut scratch = std::mem::take(&mut self.scratch);
        while head.wrapping_sub(tail) >= HEADER_BYTES as u64 {
            let mut header = [0; HEADER_BYTES];
            self.copy(tail, &mut header);
            let kind = u32::from_ne_bytes([header[0], header[1], header[2], header[3]]);
            let misc = u16::from_ne_bytes([header[4], header[5]]);
            let size = usize::from(u16::from_ne_bytes([header[6], header[7]]));
            if size < HEADER_BYTES {
                // The kernel never writes such a header; going on would not end.
                tail = head;
                break;
            }
            let start = tail.wrapping_add(HEADER_BYTES as u64);
            scratch.resize(size - HEADER_BYTES, 0);
            self.copy(start, &mut scratch);
            take(RingRecord { kind, misc, body: &scratch });
            tail = tail.wrapping_add(size as u64);
            self.tail().store(tail, Ordering::Release);
        }
        self.tail().store(tail, Ordering::Release);
        self.scratch = scratch;
        is_full
    }

    /// Takes out everything that was whole when the call began, for [`records`].
    pub fn take_bytes(&mut self) -> Vec<u8> {
        let head = self.head().load(Ordering::Acquire);
        let tail = self.tail().load(Ordering::Relaxed);
        let waiting = usize::try_from(head.wrapping_sub(tail)).map_or(0, |bytes| bytes.min(self.data_bytes));
        let mut bytes = vec![0; waiting];
        self.copy(tail, &mut bytes);
        self.tail().store(head, Ordering::Release);
        bytes
    }

    /// Copies from the ring at `position`, which counts bytes since the ring was made.
    fn copy(&self, position: u64, into: &mut [u8]) {
        let offset = usize::try_from(position % self.data_bytes as u64).expect("smaller than the ring");
        let first = into.len().min(self.data_bytes - offset);
        // SAFETY: the data pages follow the control page; `offset + first` lies within them, and the
        // kernel does not write between tail and head.
        unsafe {
            let data = self.base.as_ptr().add(self.page_bytes);
            std::ptr::copy_nonoverlapping(data.add(offset), into.as_mut_ptr(), first);
            std::ptr::copy_nonoverlapping(data, into.as_mut_ptr().add(first), into.len() - first);
        }
    }

    fn head(&self) -> &AtomicU64 {
        // SAFETY: the control page is mapped as long as `self` lives, and both sides use the field atomically.
        unsafe { AtomicU64::from_ptr(&raw mut (*self.control()).data_head) }
    }

    fn tail(&self) -> &AtomicU64 {
        // SAFETY: as for `head`.
        unsafe { AtomicU64::from_ptr(&raw mut (*self.control()).data_tail) }
    }

    fn control(&self) -> *mut perf_event_mmap_page {
        self.base.as_ptr().cast()
    }
}

/// The records in what [`PerfRing::take_bytes`] gave, oldest first.
pub fn records(mut bytes: &[u8]) -> impl Iterator<Item = RingRecord<'_>> {
    std::iter::from_fn(move || {
        let (header, rest) = bytes.split_at_checked(HEADER_BYTES)?;
        let kind = u32::from_ne_bytes([header[0], header[1], header[2], header[3]]);
        let misc = u16::from_ne_bytes([header[4], header[5]]);
        let size = usize::from(u16::from_ne_bytes([header[6], header[7]]));
        // The kernel never writes a smaller size; going on would not end.
        let (body, after) = rest.split_at_checked(size.checked_sub(HEADER_BYTES)?)?;
        bytes = after;
        Some(RingRecord { kind, misc, body })
    })
}

impl Drop for PerfRing {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `map` with this length and is not used after this.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.page_bytes + self.data_bytes) };
    }
}

/// The processors that are online, by number.
///
/// # Errors
/// When `/sys` cannot be read.
pub fn online_cpus() -> io::Result<Vec<u16>> {
    let text = std::fs::read_to_string("/sys/devices/system/cpu/online")?;
    parse_cpu_list(&text)
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, format!("processor list {text:?}")))
}

/// Parses `0-3,8,10-11`.
fn parse_cpu_list(text: &str) -> Option<Vec<u16>> {
    let mut cpus = Vec::new();
    for part in text.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        cpus.extend(first.parse::<u16>().ok()?..=last.parse::<u16>().ok()?);
    }
    Some(cpus)
}

#[cfg(test)]
mod tests;
