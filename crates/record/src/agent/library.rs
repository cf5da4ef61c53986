//! The agent as a file that the program's loader can read.

use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::launch::caller_s;

/// What of the agent is to be in a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AgentPart {
    /// All of it.
    Whole,
    /// What stands in for the functions of MPI.
    Mpi,
}

impl AgentPart {
    /// What files with it are called, and the library as the build made it.
    fn file(self) -> (&'static str, &'static [u8]) {
        match self {
            AgentPart::Whole => {
                ("longpole-agent", include_bytes!(concat!(env!("OUT_DIR"), "/longpole-agent.so")))
            }
            AgentPart::Mpi => {
                ("longpole-agent-mpi", include_bytes!(concat!(env!("OUT_DIR"), "/longpole-agent-mpi.so")))
            }
        }
    }
}

/// The library in a folder from which code may be loaded. All recorders of one user and build share one file; the
/// last one removes it, unless processes of its program may still look for it.
#[derive(Debug)]
pub(crate) struct Library {
    path: PathBuf,
    /// Locked as shared while this recorder uses the file.
    file: fs::File,
    keep: bool,
}

impl Library {
    /// Finds it in the first folder that takes it, or writes it there.
    ///
    /// # Errors
    /// Where no folder does: the last one's reason.
    pub(crate) fn place(part: AgentPart) -> io::Result<Library> {
        let mut refusal = io::Error::from(io::ErrorKind::NotFound);
        for folder in folders() {
            match place_in(&folder, part) {
                Ok(library) => return Ok(library),
                Err(error) => refusal = error,
            }
        }
        Err(refusal)
    }

    /// The value of `LD_PRELOAD` that loads it before what is loaded anyway.
    pub(crate) fn preload(&self) -> OsString {
        let mut value = self.path.clone().into_os_string();
        if let Some(others) = caller_s("LD_PRELOAD").filter(|others| !others.is_empty()) {
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
        // Nobody else uses it if the lock can be had alone.
        if !self.keep && self.file.try_lock().is_ok() {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Folders for files of this session first; the loader knows no way to write a blank or a colon.
fn folders() -> impl Iterator<Item = PathBuf> {
    let own = ["XDG_RUNTIME_DIR", "TMPDIR"].into_iter().filter_map(caller_s).map(PathBuf::from);
    let common = ["/tmp", "/dev/shm", "/var/tmp"].into_iter().map(PathBuf::from);
    own.chain(common).chain(std::env::current_dir()).filter(|folder| {
        let bytes = folder.as_os_str().as_bytes();
        folder.is_absolute() && !bytes.iter().any(|byte| b" \t\n:;$".contains(byte))
    })
}

fn place_in(folder: &Path, part: AgentPart) -> io::Result<Library> {
    const ATTEMPTS: usize = 8;
    let (name, bytes) = part.file();
    let (user, build) = (user(), crc32fast::hash(bytes));
    let path = folder.join(format!("{name}-{user}-{build:08x}.so"));
    for _ in 0..ATTEMPTS {
        write_if_missing(&path, bytes)?;
        let Ok(file) = OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW).open(&path) else {
            continue;
        };
        file.lock_shared()?;
        // Whoever held it before may have removed it meanwhile.
        if !is_at(&file, &path) {
            continue;
        }
        if file.metadata()?.uid() != user || fs::read(&path)? != bytes {
            return Err(io::Error::other(format!("{} is not ours", path.display())));
        }
        may_be_loaded(&file)?;
        return Ok(Library { path, file, keep: false });
    }
    Err(io::Error::other(format!("{} comes and goes", path.display())))
}

/// Writes the file beside its place first: nobody finds a part of it. A file that another recorder has put there
/// meanwhile stays, since that one's program may be about to load it.
fn write_if_missing(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if path.exists() {
        return Ok(());
    }
    let folder = path.parent().unwrap_or(Path::new("/"));
    // Programs may run as other users: everybody may read it.
    let permissions = fs::Permissions::from_mode(0o755);
    let mut beside = tempfile::Builder::new()
        .prefix("longpole-agent-new-")
        .permissions(permissions)
        .tempfile_in(folder)?;
    beside.write_all(bytes)?;
    match beside.persist_noclobber(path) {
        Err(refusal) if refusal.error.kind() != io::ErrorKind::AlreadyExists => Err(refusal.error),
        _ => Ok(()),
    }
}

fn is_at(file: &fs::File, path: &Path) -> bool {
    let identity = |data: fs::Metadata| (data.dev(), data.ino());
    let (found, there) = (file.metadata().map(identity), fs::metadata(path).map(identity));
    matches!((found, there), (Ok(found), Ok(there)) if found == there)
}

fn user() -> u32 {
    // SAFETY: no arguments.
    unsafe { libc::geteuid() }
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
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_library_is_there_until_the_last_recorder_drops_it() {
        let library = Library::place(AgentPart::Whole).expect("some folder takes it");
        let path = library.path.clone();
        assert_eq!(fs::read(&path).unwrap(), AgentPart::Whole.file().1);
        assert!(library.preload().as_bytes().starts_with(path.as_os_str().as_bytes()));
        let other = Library::place(AgentPart::Whole).unwrap();
        assert_eq!(other.path, path);
        drop(library);
        assert!(path.exists());
        drop(other);
        // Tests of other processes may use it too.
        let mut kept = Library::place(AgentPart::Whole).unwrap();
        kept.keep();
        drop(kept);
        assert!(path.exists());
        drop(Library::place(AgentPart::Whole).unwrap());
    }

    /// Recorders that begin and end at the same time: none takes another one's file away.
    #[test]
    fn the_library_stays_at_its_place_while_others_come_and_go() {
        let folder = tempfile::tempdir().unwrap();
        let places = || {
            for _ in 0..1000 {
                // It may come and go too often to be had; what is had stays.
                let Ok(library) = place_in(folder.path(), AgentPart::Whole) else { continue };
                std::thread::sleep(Duration::from_micros(50));
                assert!(is_at(&library.file, &library.path), "somebody took {} away", library.path.display());
            }
        };
        std::thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(places))));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "the last one removes it");
    }

    #[test]
    fn the_library_needs_nothing_but_the_c_library() {
        for part in [AgentPart::Whole, AgentPart::Mpi] {
            let needed = |name: &[u8]| part.file().1.windows(name.len()).any(|window| window == name);
            assert!(needed(b"libc.so.6\0"));
            assert!(!needed(b"libgcc_s.so.1\0") && !needed(b"libpthread.so.0\0"));
        }
    }

    #[test]
    fn only_the_whole_library_stands_in_for_functions_of_libc() {
        let has =
            |part: AgentPart, name: &[u8]| part.file().1.windows(name.len()).any(|window| window == name);
        for part in [AgentPart::Whole, AgentPart::Mpi] {
            assert!(has(part, b"\0MPI_Recv\0"));
            assert_eq!(has(part, b"\0pthread_mutex_lock\0"), part == AgentPart::Whole);
        }
    }
}
