//! Variables that the program gets beside those of the recorder's caller.
//!
//! They are known only when the child has been forked, and the child must not allocate: it reads them from its
//! pipe into room that was made before.

use std::ffi::{CString, OsStr, OsString, c_char};
use std::os::fd::RawFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::ptr;

/// Variables that can be added, by name. Where the caller has one of the same name, it is replaced.
const NAMES: [&str; 4] = ["LD_PRELOAD", "LONGPOLE_AGENT", "LONGPOLE_SERIES", "ASAN_OPTIONS"];
/// Bytes for all of them.
const ROOM: usize = 16 * 1024;

/// A variable and its value.
pub type Variable = (OsString, OsString);

/// What the child got to know.
pub(super) enum Received {
    /// The caller's environment stays as it is.
    AsItIs,
    /// This one.
    With(*const *const c_char),
}

/// The environment as it is, and with room for more.
pub(super) struct Environment {
    /// Keeps the texts that `with_room` points to.
    _texts: Vec<CString>,
    with_room: Vec<*const c_char>,
    additions: Vec<u8>,
    first_free: usize,
}

impl Environment {
    pub(super) fn of_caller() -> Environment {
        let others = std::env::vars_os().filter(|(name, _)| !NAMES.iter().any(|own| name == own));
        let texts: Vec<_> = others.filter_map(|(name, value)| text(&name, &value)).collect();
        let mut with_room: Vec<_> = texts.iter().map(|text| text.as_ptr()).collect();
        let first_free = with_room.len();
        with_room.resize(first_free + NAMES.len() + 1, ptr::null());
        Environment { _texts: texts, with_room, additions: vec![0; ROOM], first_free }
    }

    /// In the child: reads what [`message`] made. `None` where the recorder is gone.
    ///
    /// # Safety
    /// Only after a fork; calls nothing that allocates.
    pub(super) unsafe fn receive(&mut self, descriptor: RawFd) -> Option<Received> {
        let mut length = [0_u8; 4];
        // SAFETY: the buffers are as long as is said.
        if !unsafe { read_all(descriptor, &mut length) } {
            return None;
        }
        let length = u32::from_ne_bytes(length) as usize;
        let room = self.additions.get_mut(..length)?;
        if length == 0 {
            return Some(Received::AsItIs);
        }
        // SAFETY: as above.
        if !unsafe { read_all(descriptor, room) } {
            return None;
        }
        let mut begin = 0;
        let mut slot = self.first_free;
        for end in 0..length {
            if self.additions[end] == 0 && slot < self.with_room.len() - 1 {
                self.with_room[slot] = self.additions[begin..].as_ptr().cast();
                slot += 1;
                begin = end + 1;
            }
        }
        Some(Received::With(self.with_room.as_ptr()))
    }
}

/// What the recorder writes to the child's pipe; `None` where it is too long to be passed on.
pub(super) fn message(additions: &[Variable]) -> Option<Vec<u8>> {
    let texts = additions.iter().filter_map(|(name, value)| text(name, value));
    let texts: Vec<u8> = texts.flat_map(CString::into_bytes_with_nul).collect();
    if texts.len() > ROOM {
        return None;
    }
    let length = u32::try_from(texts.len()).ok()?;
    Some(length.to_ne_bytes().into_iter().chain(texts).collect())
}

fn text(name: &OsStr, value: &OsStr) -> Option<CString> {
    let mut text = name.to_owned().into_vec();
    text.push(b'=');
    text.extend(value.as_bytes());
    CString::new(text).ok()
}

/// Reads until the buffer is full; `false` where the other end is gone.
unsafe fn read_all(descriptor: RawFd, buffer: &mut [u8]) -> bool {
    let mut filled = 0;
    while filled < buffer.len() {
        // SAFETY: the buffer has this much room.
        let count =
            unsafe { libc::read(descriptor, buffer[filled..].as_mut_ptr().cast(), buffer.len() - filled) };
        match usize::try_from(count) {
            Ok(0) => return false,
            Ok(count) => filled += count,
            // SAFETY: the thread's own error number.
            Err(_) if unsafe { *libc::__errno_location() } == libc::EINTR => {}
            Err(_) => return false,
        }
    }
    true
}
