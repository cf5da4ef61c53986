//! The memory that this process shares with the recorder: the header from the beginning, areas as threads need them.
//!
//! What most programs need is mapped at once, when the program begins: later the process may have changed its root or its
//! user, or may no longer make system calls as it likes. No descriptor stays open; a program with more threads opens
//! the file by its name again.

use core::ffi::{CStr, c_char};
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, Ordering};

use longpole_ring::{
    AREA_BYTES, AREAS, AREAS_PER_SEGMENT, AgentHeader, Area, EventClock, HEADER_BYTES, Owner, RingLength,
    stride,
};

use crate::{lifecycle, system};

const SEGMENTS: usize = AREAS / AREAS_PER_SEGMENT;
/// Areas that are mapped with the header.
const FIRST_AREAS: usize = 1024;
/// Of a program's limited address space the agent takes one part in so many.
const SHARE_OF_LIMIT: u64 = 64;
const LONGEST_PATH: usize = 128;

static HEADER: AtomicPtr<AgentHeader> = AtomicPtr::new(ptr::null_mut());
static SEGMENT: [AtomicPtr<u8>; SEGMENTS] = [const { AtomicPtr::new(ptr::null_mut()) }; SEGMENTS];
/// Areas that are mapped behind the header.
static MAPPED: AtomicUsize = AtomicUsize::new(0);
static MAPPED_BYTES: AtomicUsize = AtomicUsize::new(0);
/// Segments that may still be mapped.
static SEGMENTS_LEFT: AtomicUsize = AtomicUsize::new(SEGMENTS);
/// The process may no longer map memory as it likes.
static IS_CONFINED: AtomicBool = AtomicBool::new(false);
/// The process may be ended for a system call.
static IS_FILTERED: AtomicBool = AtomicBool::new(false);
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
    let areas = areas_within_limit();
    let Some(address) = map(path, 0, HEADER_BYTES + areas * AREA_BYTES) else { return };
    let header: *mut AgentHeader = address.cast();
    // SAFETY: the mapping is as long as a header, page-aligned, and stays; all its words are atomic.
    let is_ours = unsafe { &*header }.is_ours();
    if !is_ours {
        return;
    }
    // SAFETY: one thread, and nobody reads before `HEADER` is set.
    unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), (&raw mut PATH).cast(), bytes.len()) };
    // SAFETY: the mapping stays.
    let stride = stride(unsafe { &*header }.mode());
    MAPPED.store(areas * AREA_BYTES / stride, Ordering::Relaxed);
    MAPPED_BYTES.store(areas * AREA_BYTES, Ordering::Relaxed);
    if areas == 0 {
        let segments = SEGMENTS_LEFT.load(Ordering::Relaxed) * AREA_BYTES / stride;
        SEGMENTS_LEFT.store(segments.max(1), Ordering::Relaxed);
    }
    PID.store(system::pid(), Ordering::Relaxed);
    HEADER.store(header, Ordering::Release);
}

/// Areas to map at once: none where address space is limited, since segments are smaller.
fn areas_within_limit() -> usize {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is a valid place for the answer.
    unsafe { libc::getrlimit(libc::RLIMIT_AS, &raw mut limit) };
    if limit.rlim_cur == libc::RLIM_INFINITY {
        return FIRST_AREAS;
    }
    let segments = (limit.rlim_cur / SHARE_OF_LIMIT) as usize / (AREAS_PER_SEGMENT * AREA_BYTES);
    SEGMENTS_LEFT.store(segments.max(1), Ordering::Relaxed);
    0
}

/// The process is about to lose a freedom: nothing is mapped from now on.
pub fn confine() {
    IS_CONFINED.store(true, Ordering::Relaxed);
}

/// The process is about to put a filter on its system calls: the agent makes none from now on. It falls silent where the
/// time is not certain to be had without one.
pub fn filter() {
    confine();
    IS_FILTERED.store(true, Ordering::Relaxed);
    if header().is_some_and(|header| header.clock() == EventClock::Monotonic) {
        leave();
    }
}

/// Whether the agent may make system calls of its own in this process.
#[must_use]
pub fn may_call() -> bool {
    !IS_FILTERED.load(Ordering::Relaxed)
}

/// The process is about to forbid even to ask for the time: the agent falls silent in it.
pub fn leave() {
    IS_FILTERED.store(true, Ordering::Relaxed);
    let header = HEADER.load(Ordering::Acquire);
    // SAFETY: a pointer that is stored there points to a mapping that is never undone.
    if let Some(header) = unsafe { header.as_ref() } {
        header.count_thread_without_area();
        HEADER.store(ptr::null_mut(), Ordering::Release);
    }
}

/// Whether [`confine`] was called.
#[must_use]
pub fn is_confined() -> bool {
    IS_CONFINED.load(Ordering::Relaxed)
}

/// Gives the mapped areas back that no thread has: the process is about to limit its address space, or to lock it.
pub fn shrink() {
    /// Threads that are just now getting an area.
    const MARGIN: usize = 64;
    confine();
    let base = HEADER.load(Ordering::Acquire).cast::<u8>();
    // SAFETY: a pointer that is stored there points to a mapping that is never undone.
    let Some(header) = (unsafe { base.cast::<AgentHeader>().as_ref() }) else { return };
    let mapped = MAPPED.load(Ordering::Relaxed);
    let kept = header.pool.used() + MARGIN;
    if kept >= mapped || MAPPED.compare_exchange(mapped, kept, Ordering::Relaxed, Ordering::Relaxed).is_err()
    {
        return;
    }
    let kept_bytes = kept * stride(header.mode());
    let bytes = MAPPED_BYTES.load(Ordering::Relaxed) - kept_bytes;
    // SAFETY: areas from `kept` on are nobody's, and no longer handed out.
    unsafe { system::unmap(base.add(HEADER_BYTES + kept_bytes), bytes) };
}

/// Maps a part of the recorder's memory. In another root, or among other processes, its path can lead to a file of
/// somebody else's: so only a file is taken that nobody can cut off under the mapping.
fn map(path: &CStr, offset: usize, length: usize) -> Option<*mut u8> {
    let descriptor = system::open(path)?;
    let address = if system::is_sealed(descriptor) { system::map(descriptor, offset, length) } else { None };
    system::close(descriptor);
    if let Some(address) = address {
        system::leave_out_of_core_dumps(address, length);
    }
    address
}

/// The header, while the recorder records.
#[inline(always)]
#[must_use]
pub fn header() -> Option<&'static AgentHeader> {
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
pub fn renew(pid: u32) {
    PID.store(pid, Ordering::Relaxed);
}

/// An area for the calling thread; `None` where there is none, which is counted.
#[cold]
#[must_use]
pub fn claim(header: &AgentHeader) -> Option<&'static Area> {
    let tid = lifecycle::tid();
    let index = tid.and_then(|_| header.pool.claim());
    let mode = header.mode();
    let area = index.and_then(|index| area(index, stride(mode)));
    if let (Some(index), None) = (index, area) {
        // It is as clean as it came.
        header.pool.give_back(index);
    }
    match area.zip(tid) {
        Some((area, tid)) => {
            if RingLength::of(mode) == RingLength::Long {
                // SAFETY: areas are so far apart that each is followed by its long ring.
                unsafe { area.lengthen() };
            }
            area.begin(Owner { pid: pid(), tid });
        }
        None => header.count_thread_without_area(),
    }
    area
}

fn area(index: usize, stride: usize) -> Option<&'static Area> {
    if index < MAPPED.load(Ordering::Relaxed) {
        let base = HEADER.load(Ordering::Acquire).cast::<u8>();
        // SAFETY: the mapping holds more areas than `index`, and all words of an area are atomic.
        return Some(unsafe { &*base.add(HEADER_BYTES + index * stride).cast::<Area>() });
    }
    let segment = &SEGMENT[index / AREAS_PER_SEGMENT];
    let mut address = segment.load(Ordering::Acquire);
    if address.is_null() {
        let left = SEGMENTS_LEFT.load(Ordering::Relaxed);
        if is_confined() || left == 0 {
            return None;
        }
        SEGMENTS_LEFT.store(left - 1, Ordering::Relaxed);
        // SAFETY: written before `HEADER` was set, and not since.
        let path = unsafe { CStr::from_ptr((&raw const PATH).cast()) };
        let bytes = AREAS_PER_SEGMENT * stride;
        address = map(path, HEADER_BYTES + index / AREAS_PER_SEGMENT * bytes, bytes)?;
        // Another thread may have mapped it too: both mappings show the same memory, and the second stays unused.
        segment.store(address, Ordering::Release);
    }
    // SAFETY: the mapping holds this many areas, is never undone, and all words of an area are atomic.
    Some(unsafe { &*address.add(index % AREAS_PER_SEGMENT * stride).cast::<Area>() })
}
