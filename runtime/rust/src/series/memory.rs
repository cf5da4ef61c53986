//! Where the recorder takes metrics from: looked for once, remembered for ever.

use core::ffi::CStr;
use core::sync::atomic::{AtomicPtr, Ordering::Relaxed};

use super::memory_request;
use crate::interface::series::{LINK, MAGIC, SeriesMemory, VARIABLE, VERSION};

/// The answer: null where nobody has looked yet, [`absent`] where there is no recorder.
static ANSWER: AtomicPtr<SeriesMemory> = AtomicPtr::new(core::ptr::null_mut());

/// What stands for "there is none".
pub(super) const fn absent<T>() -> *mut T {
    core::ptr::without_provenance_mut(1)
}

/// The memory, where a recorder takes metrics.
pub(super) fn memory() -> Option<&'static SeriesMemory> {
    let mut answer = ANSWER.load(Relaxed);
    if answer.is_null() {
        answer = look();
        // Two threads that look at once both find it; the second mapping stays unused.
        ANSWER.store(answer, Relaxed);
    }
    // SAFETY: neither null nor absent, so it is what `mapped` checked, which is never unmapped; all words are atomic.
    (answer != absent()).then(|| unsafe { &*answer })
}

#[cold]
fn look() -> *mut SeriesMemory {
    // SAFETY: errno is thread-local and always there.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    let before = unsafe { *errno };
    let found = variable().and_then(file).and_then(mapped).unwrap_or(absent());
    // SAFETY: as above.
    unsafe { *errno = before };
    found
}

/// What the variable says; nothing in programs that have more rights than whoever started them.
fn variable() -> Option<&'static CStr> {
    // SAFETY: plain calls; the text lives as long as nobody changes the environment, which nobody does before `main`.
    unsafe {
        let text = libc::getenv(VARIABLE.as_ptr());
        (!text.is_null() && libc::getauxval(libc::AT_SECURE) == 0).then(|| CStr::from_ptr(text))
    }
}

/// The file that it names, open.
fn file(variable: &CStr) -> Option<libc::c_int> {
    let text = variable.to_bytes();
    let mut parts = text.split(|&byte| byte == b':');
    let (path, door) = (parts.next()?, parts.next());
    open(path).or_else(|| memory_request::ask(door?, text))
}

/// Opens the file by its path; `None` where this process may not.
fn open(path: &[u8]) -> Option<libc::c_int> {
    const ROOM: usize = 64;
    let mut text = [0_u8; ROOM];
    // The last byte stays zero.
    text[..ROOM - 1].get_mut(..path.len())?.copy_from_slice(path);
    let mut link = [0_u8; LINK.len() + 1];
    // SAFETY: the path is a terminated string; the kernel writes at most the buffer's length.
    let length = unsafe { libc::readlink(text.as_ptr().cast(), link.as_mut_ptr().cast(), link.len()) };
    // Anything else may be a device or a pipe, of a program that has the recorder's pid now.
    if usize::try_from(length).ok().and_then(|length| link.get(..length)) != Some(LINK) {
        return None;
    }
    let flags = libc::O_RDWR | libc::O_CLOEXEC | libc::O_NOCTTY | libc::O_NONBLOCK;
    // SAFETY: as above.
    let descriptor = unsafe { libc::open(text.as_ptr().cast(), flags) };
    (descriptor >= 0).then_some(descriptor)
}

/// Maps the file, which it closes, if it is what it should be.
fn mapped(descriptor: libc::c_int) -> Option<*mut SeriesMemory> {
    // SAFETY: a new mapping, as long as the file; the descriptor is ours.
    let memory = unsafe {
        let memory = if is_whole(descriptor) { map(descriptor) } else { libc::MAP_FAILED };
        libc::close(descriptor);
        memory
    };
    if memory == libc::MAP_FAILED {
        return None;
    }
    // SAFETY: a mapping of this size, page-aligned, of words that are all atomic.
    let header = unsafe { &(*memory.cast::<SeriesMemory>()).header };
    let is_known = header.magic.load(Relaxed) == MAGIC
        && header.version.load(Relaxed) == VERSION
        && header.size.load(Relaxed) as usize == size_of::<SeriesMemory>();
    is_known.then_some(memory.cast())
}

/// Whether the file is as long as the memory.
fn is_whole(descriptor: libc::c_int) -> bool {
    // SAFETY: all zeros are a valid `stat`, which the kernel fills.
    unsafe {
        let mut status: libc::stat = core::mem::zeroed();
        libc::fstat(descriptor, &raw mut status) == 0
            && usize::try_from(status.st_size).is_ok_and(|size| size >= size_of::<SeriesMemory>())
    }
}

unsafe fn map(descriptor: libc::c_int) -> *mut libc::c_void {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let bytes = size_of::<SeriesMemory>();
    // SAFETY: a new mapping at an address of the kernel's choice.
    unsafe { libc::mmap(core::ptr::null_mut(), bytes, access, libc::MAP_SHARED, descriptor, 0) }
}

extern "C" fn look_at_start() {
    memory();
}

#[cfg(feature = "enabled")]
#[used]
// SAFETY: the section holds pointers to functions, which the loader calls before `main`.
#[unsafe(link_section = ".init_array")]
static LOOK_AT_START: extern "C" fn() = look_at_start;

#[cfg(not(feature = "enabled"))]
const _: extern "C" fn() = look_at_start;
