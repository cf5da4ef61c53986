//! The agent as a file that the program's loader can read.

use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The library, as the build made it.
static BYTES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/longpole-agent.so"));

/// The library in a folder from which code may be loaded; removed with this value.
#[derive(Debug)]
pub(crate) struct Library {
    path: PathBuf,
    keep: bool,
}

impl Library {
    /// Writes it to the first folder that takes it.
    ///
    /// # Errors
    /// Where no folder does: the last one's reason.
    pub(crate) fn place() -> io::Result<Library> {
        let mut refusal = io::Error::from(io::ErrorKind::NotFound);
        for folder in folders() {
            match place_in(&folder) {
                Ok(library) => return Ok(library),
                Err(error) => refusal = error,
            }
        }
        Err(refusal)
    }

    /// The value of `LD_PRELOAD` that loads it before what is loaded anyway.
    pub(crate) fn preload(&self) -> OsString {
        let mut value = self.path.clone().into_os_string();
        if let Some(others) = std::env::var_os("LD_PRELOAD").filter(|others| !others.is_empty()) {
            value.push(":");
            value.push(others);
        }
        value
    }

    /// Leaves the file where it is: processes of the program go on, and new ones will look for it.
    pub(crate) fn keep(&mut self) {
        self.keep = true;
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        if !self.keep {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Folders for files of this session first; the loader knows no way to write a blank or a colon.
fn folders() -> impl Iterator<Item = PathBuf> {
    let own = ["XDG_RUNTIME_DIR", "TMPDIR"].into_iter().filter_map(std::env::var_os).map(PathBuf::from);
    let common = ["/tmp", "/dev/shm", "/var/tmp"].into_iter().map(PathBuf::from);
    own.chain(common).chain(std::env::current_dir()).filter(|folder| {
        let bytes = folder.as_os_str().as_bytes();
        folder.is_absolute() && !bytes.iter().any(|byte| b" \t\n:;$".contains(byte))
    })
}

fn place_in(folder: &Path) -> io::Result<Library> {
    let path = folder.join(format!("longpole-agent-{}.so", std::process::id()));
    // One of a recorder with this pid that was killed.
    let _ = fs::remove_file(&path);
    // Programs may run as other users: everybody may read it.
    let mut file = OpenOptions::new().write(true).read(true).create_new(true).mode(0o755).open(&path)?;
    let library = Library { path, keep: false };
    file.write_all(BYTES)?;
    may_be_loaded(&file)?;
    Ok(library)
}

/// Folders can be mounted so that nothing in them is executed.
fn may_be_loaded(file: &fs::File) -> io::Result<()> {
    const PAGE: usize = 4096;
    // SAFETY: a new mapping at an address of the kernel's choice, undone at once.
    unsafe {
        let protection = libc::PROT_READ | libc::PROT_EXEC;
        let address =
            libc::mmap(std::ptr::null_mut(), PAGE, protection, libc::MAP_PRIVATE, file.as_raw_fd(), 0);
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        libc::munmap(address, PAGE);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_is_there_until_it_is_dropped() {
        let library = Library::place().expect("some folder takes it");
        let path = library.path.clone();
        assert_eq!(fs::read(&path).unwrap(), BYTES);
        assert!(library.preload().as_bytes().starts_with(path.as_os_str().as_bytes()));
        drop(library);
        assert!(!path.exists());
    }

    #[test]
    fn the_library_needs_nothing_but_the_c_library() {
        let needed = |name: &[u8]| BYTES.windows(name.len()).any(|window| window == name);
        assert!(needed(b"libc.so.6\0"));
        assert!(!needed(b"libgcc_s.so.1\0") && !needed(b"libpthread.so.0\0"));
    }
}
