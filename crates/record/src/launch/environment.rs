//! Variables that the program gets beside those of the recorder's caller.
//!
//! They are known only when the child has been forked, and the child must not allocate: it reads them from its
//! pipe into room that was made before.

use std::ffi::{CString, OsStr, OsString, c_char};
use std::os::fd::RawFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::ptr;

/// Variables that can be added. Where the caller has one of the same name, it is replaced.
const MOST_ADDED: usize = 8;
/// Bytes for all of them.
const ROOM: usize = 16 * 1024;

/// A variable and its value.
pub type EnvironmentVariable = (OsString, OsString);

/// The environment of the recorder's caller, with room for more.
pub(super) struct Environment {
    /// Keeps the texts that `with_room` points to.
    _texts: Vec<CString>,
    with_room: Vec<*const c_char>,
    additions: Vec<u8>,
}

impl Environment {
    pub(super) fn of_caller() -> Environment {
        Environment::of(whole_environment())
    }

    fn of(texts: Vec<CString>) -> Environment {
        let mut with_room: Vec<_> = texts.iter().map(|text| text.as_ptr()).collect();
        with_room.resize(with_room.len() + MOST_ADDED + 1, ptr::null());
        Environment { _texts: texts, with_room, additions: vec![0; ROOM] }
    }

    /// In the child: reads what [`message`] made. `None` where the recorder is gone.
    ///
    /// # Safety
    /// Only after a fork; calls nothing that allocates.
    pub(super) unsafe fn receive(&mut self, descriptor: RawFd) -> Option<*const *const c_char> {
        let mut length = [0_u8; 4];
        // SAFETY: the buffers are as long as is said.
        if !unsafe { read_all(descriptor, &mut length) } {
            return None;
        }
        let length = u32::from_ne_bytes(length) as usize;
        let room = self.additions.get_mut(..length)?;
        // SAFETY: as above.
        if !unsafe { read_all(descriptor, room) } {
            return None;
        }
        let mut begin = 0;
        for end in 0..length {
            if self.additions[end] == 0 {
                // SAFETY: the text ends here, and all texts that are pointed to end in a zero byte.
                unsafe { self.set(begin) };
                begin = end + 1;
            }
        }
        Some(self.with_room.as_ptr())
    }

    /// Puts the variable whose text begins here into the place of one of the same name, or behind all others.
    unsafe fn set(&mut self, begin: usize) {
        let added: *const c_char = self.additions[begin..].as_ptr().cast();
        let last = self.with_room.len() - 1;
        for slot in &mut self.with_room[..last] {
            // SAFETY: both are terminated texts, by the caller's word.
            if slot.is_null() || unsafe { has_same_name(*slot, added) } {
                *slot = added;
                return;
            }
        }
    }
}

/// Whether two texts of the form `NAME=VALUE` are of one variable.
unsafe fn has_same_name(one: *const c_char, other: *const c_char) -> bool {
    for at in 0.. {
        // SAFETY: no text is read beyond its end, which differs from `=`.
        let (one, other) = unsafe { (*one.add(at), *other.add(at)) };
        if one != other || one == 0 {
            return false;
        }
        if one == b'='.cast_signed() {
            return true;
        }
    }
    false
}

/// The variable of the recorder's caller, also where the loader has hidden it from a recorder with capabilities.
pub(crate) fn caller_s(name: &str) -> Option<OsString> {
    let begin = format!("{name}=");
    let texts = whole_environment();
    let value = texts.iter().find_map(|text| text.to_bytes().strip_prefix(begin.as_bytes()));
    value.map(|value| OsStr::from_bytes(value).to_owned())
}

/// The caller's environment. The loader takes variables such as `LD_LIBRARY_PATH` out of the environment of a program
/// with capabilities, and so out of that of all whom it starts; but the texts stay where the kernel has put them. The
/// program that is recorded gains no rights and needs them.
fn whole_environment() -> Vec<CString> {
    // SAFETY: no memory is passed.
    let is_secure = unsafe { libc::getauxval(libc::AT_SECURE) } != 0;
    let hidden = is_secure.then(initial_environment).flatten();
    hidden.unwrap_or_else(|| std::env::vars_os().filter_map(|(name, value)| text(&name, &value)).collect())
}

/// The texts of the environment as the kernel put them into this process's memory.
fn initial_environment() -> Option<Vec<CString>> {
    /// Of the fields behind the name: where the environment begins, and where it ends.
    const PLACES: [usize; 2] = [47, 48];
    /// What the kernel takes at most.
    const MOST: usize = 32 << 20;
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_ascii_whitespace().collect();
    let [begin, end] = PLACES.map(|at| fields.get(at).and_then(|field| field.parse::<usize>().ok()));
    let (begin, length) = (begin?, end?.checked_sub(begin?)?);
    if begin == 0 || length > MOST {
        return None;
    }
    // SAFETY: the kernel says that the environment lies there; it is part of the stack of the first thread, which is
    // there as long as the process, and nothing writes to it.
    let bytes = unsafe { std::slice::from_raw_parts(begin as *const u8, length) };
    let texts = bytes.split(|&byte| byte == 0).filter(|text| text.contains(&b'='));
    texts.map(|text| CString::new(text).ok()).collect()
}

/// What the recorder writes to the child's pipe; `None` where it is too long to be passed on.
pub(super) fn message(additions: &[EnvironmentVariable]) -> Option<Vec<u8>> {
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

#[cfg(test)]
mod tests {
    use std::ffi::CStr;

    use super::*;

    fn received(caller: &[&str], added: &[(&str, &str)]) -> Vec<String> {
        let texts = caller.iter().map(|text| CString::new(*text).unwrap()).collect();
        let mut environment = Environment::of(texts);
        let added: Vec<EnvironmentVariable> =
            added.iter().map(|&(name, value)| (name.into(), value.into())).collect();
        let mut pipe = [0; 2];
        // SAFETY: room for two descriptors.
        assert_eq!(unsafe { libc::pipe(pipe.as_mut_ptr()) }, 0);
        let message = message(&added).unwrap();
        // SAFETY: writes a whole buffer; reads it again; what is returned are terminated texts up to a null pointer.
        unsafe {
            libc::write(pipe[1], message.as_ptr().cast(), message.len());
            let mut variable = environment.receive(pipe[0]).unwrap();
            pipe.iter().for_each(|&end| _ = libc::close(end));
            let mut found = Vec::new();
            while !(*variable).is_null() {
                found.push(CStr::from_ptr(*variable).to_str().unwrap().to_owned());
                variable = variable.add(1);
            }
            found
        }
    }

    #[test]
    fn what_is_added_replaces_its_namesake_and_nothing_else() {
        let caller = ["LD_PRELOAD=mine.so", "PATH=/bin", "LD_PRELOADED=1", "ODD"];
        assert_eq!(received(&caller, &[]), caller);
        let mut expected = caller.to_vec();
        expected.push("LONGPOLE_SERIES=x");
        assert_eq!(received(&caller, &[("LONGPOLE_SERIES", "x")]), expected);
        let replaced = ["LD_PRELOAD=agent.so:mine.so", "PATH=/bin", "LD_PRELOADED=1", "ODD", "A="];
        assert_eq!(received(&caller, &[("LD_PRELOAD", "agent.so:mine.so"), ("A", "")]), replaced);
    }

    #[test]
    fn the_kernel_s_own_texts_are_the_environment() {
        let initial = initial_environment().unwrap();
        let has = |name: &str| initial.iter().any(|text| text.to_bytes().starts_with(name.as_bytes()));
        assert!(has("PATH=") && has("CARGO_MANIFEST_DIR="), "{initial:?}");
        assert_eq!(caller_s("PATH"), std::env::var_os("PATH"));
    }
}
