//! The memory that this process shares with the recorder: the header from the beginning, areas as threads need them.
//!
//! No descriptor stays open: the file is opened by its name for each mapping.

use core::ffi::{CStr, c_char};
use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use longpole_ring::{AREA_BYTES, AREAS, AREAS_PER_SEGMENT, Area, HEADER_BYTES, Header, Owner, SEGMENT_BYTES};

use crate::system;

const SEGMENTS: usize = AREAS / AREAS_PER_SEGMENT;
const LONGEST_PATH: usize = 128;

static HEADER: AtomicPtr<Header> = AtomicPtr::new(ptr::null_mut());
static SEGMENT: [AtomicPtr<u8>; SEGMENTS] = [const { AtomicPtr::new(ptr::null_mut()) }; SEGMENTS];
static PID: AtomicU32 = AtomicU32::new(0);
/// Written once, before [`HEADER`].
static mut PATH: [u8; LONGEST_PATH] = [0; LONGEST_PATH];

/// Maps the header of the file with this path; nothing happens where that is not possible.
///
/// # Safety
/// Once, while the process has one thread; `path` ends with a zero.
pub unsafe fn connect(path: *const c_char) {
    // SAFETY: the caller's.
    let path = unsafe { CStr::from_ptr(path) };
    let bytes = path.to_bytes_with_nul();
    if bytes.len() > LONGEST_PATH {
        return;
    }
    let Some(address) = map(path, 0, HEADER_BYTES) else { return };
    let header: *mut Header = address.cast();
    // SAFETY: the mapping is as long as a header, page-aligned, and stays; all its words are atomic.
    let is_ours = unsafe { &*header }.is_ours();
    if !is_ours {
        return;
    }
    // SAFETY: one thread, and nobody reads before `HEADER` is set.
    unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), (&raw mut PATH).cast(), bytes.len()) };
    PID.store(system::pid(), Ordering::Relaxed);
    HEADER.store(header, Ordering::Release);
}

fn map(path: &CStr, offset: usize, length: usize) -> Option<*mut u8> {
    let descriptor = system::open(path)?;
    let address = system::map(descriptor, offset, length);
    system::close(descriptor);
    address
}

/// The header, while the recorder records.
#[inline(always)]
#[must_use]
pub fn header() -> Option<&'static Header> {
    let header = HEADER.load(Ordering::Acquire);
    // SAFETY: a pointer that is stored there points to a mapping that is never undone.
    unsafe { header.as_ref() }.filter(|header| header.is_recording())
}

/// This process.
#[inline]
#[must_use]
pub fn pid() -> u32 {
    PID.load(Ordering::Relaxed)
}

/// This process is a new one, made by a fork.
pub fn renew() {
    PID.store(system::pid(), Ordering::Relaxed);
}

/// An area for the calling thread; `None` where there is none, which is counted.
#[cold]
#[must_use]
pub fn claim(header: &Header) -> Option<&'static Area> {
    let area = header.pool.claim().and_then(area);
    match area {
        Some(area) => area.begin(Owner { pid: pid(), tid: system::tid() }),
        None => header.count_thread_without_area(),
    }
    area
}

fn area(index: usize) -> Option<&'static Area> {
    let segment = &SEGMENT[index / AREAS_PER_SEGMENT];
    let mut address = segment.load(Ordering::Acquire);
    if address.is_null() {
        // SAFETY: written before `HEADER` was set, and not since.
        let path = unsafe { CStr::from_ptr((&raw const PATH).cast()) };
        let offset = HEADER_BYTES + index / AREAS_PER_SEGMENT * SEGMENT_BYTES;
        address = map(path, offset, SEGMENT_BYTES)?;
        // Another thread may have mapped it too: both mappings show the same memory, and the second stays unused.
        segment.store(address, Ordering::Release);
    }
    // SAFETY: the mapping holds this many areas, is never undone, and all words of an area are atomic.
    Some(unsafe { &*address.add(index % AREAS_PER_SEGMENT * AREA_BYTES).cast::<Area>() })
}
