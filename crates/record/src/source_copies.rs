//! Copies of the sources that a recording names, read with the rights of the user who ran the program.
//!
//! The recorder may have more rights than the program: it runs as root, or has capabilities. A thread that has given them
//! up reads the sources, so the kernel decides what that user may read, folder by folder.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use longpole_recording::{
    LARGEST_SOURCE, LARGEST_SOURCES, RecordingFolder, SourceCopies, SourceRefusal, SourceRoots,
};

use crate::session::RecordTarget;

/// Who ran the program, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ProgramUser {
    user: libc::uid_t,
    group: libc::gid_t,
    /// The folder in which the program runs.
    folder: PathBuf,
}

/// The sources that a recording names.
#[derive(Clone, Debug, Default)]
pub(crate) struct NamedSources {
    /// Names of files, those that are wanted most first.
    pub(crate) files: Vec<String>,
    /// Where the program was built.
    pub(crate) build_folders: BTreeSet<PathBuf>,
}

impl ProgramUser {
    /// The user of a process; of a command the one who runs the recorder, behind `sudo` too.
    pub(crate) fn of(target: &RecordTarget) -> ProgramUser {
        // SAFETY: neither call has a precondition or can fail.
        let (user, group) = unsafe { (libc::getuid(), libc::getgid()) };
        let own = ProgramUser { user, group, folder: std::env::current_dir().unwrap_or_default() };
        match target {
            RecordTarget::Process(pid) => ProgramUser::of_process(*pid).unwrap_or(own),
            RecordTarget::Command(_) if user == 0 => {
                let number = |name: &str| std::env::var(name).ok()?.parse().ok();
                let behind = number("SUDO_UID").zip(number("SUDO_GID"));
                behind.map_or(own.clone(), |(user, group)| ProgramUser { user, group, ..own })
            }
            RecordTarget::Command(_) => own,
        }
    }

    fn of_process(pid: u32) -> Option<ProgramUser> {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let real = |key: &str| -> Option<u32> {
            status.lines().find_map(|line| line.strip_prefix(key))?.split_whitespace().next()?.parse().ok()
        };
        let folder = fs::read_link(format!("/proc/{pid}/cwd")).ok()?;
        Some(ProgramUser { user: real("Uid:")?, group: real("Gid:")?, folder })
    }

    /// Keeps copies of the sources that this user may read, below the program's folders and those that were named.
    ///
    /// # Errors
    /// [`longpole_recording::Error::Io`].
    pub(crate) fn keep_sources(
        &self,
        folder: &RecordingFolder,
        named: NamedSources,
        source_dirs: &[PathBuf],
    ) -> longpole_recording::Result<SourceCopies> {
        let read = || self.read(&named, source_dirs);
        let texts = std::thread::scope(|scope| {
            let reader = scope.spawn(|| self.take_rights().map(|()| read()));
            reader.join().expect("reading sources does not panic")
        });
        let refused = |_: io::Error| vec![Err(SourceRefusal::Unreadable); named.files.len()];
        folder.keep_sources(named.files.iter().cloned().zip(texts.unwrap_or_else(refused)).collect())
    }

    /// The text of each file, as long as there is room.
    fn read(&self, named: &NamedSources, source_dirs: &[PathBuf]) -> Vec<Result<Vec<u8>, SourceRefusal>> {
        let built: Vec<PathBuf> = named.build_folders.iter().map(|folder| self.folder.join(folder)).collect();
        let of_program = built.iter().map(PathBuf::as_path).chain([self.folder.as_path()]);
        let roots = SourceRoots::named(source_dirs.iter().map(PathBuf::as_path)).with_program(of_program);
        let mut room = LARGEST_SOURCES;
        let text = |name: &String| {
            let text = roots.read(&self.folder.join(Path::new(name)), room.min(LARGEST_SOURCE));
            room -= text.as_ref().map_or(0, |text| text.len() as u64);
            text
        };
        named.files.iter().map(text).collect()
    }

    /// Gives up, for the calling thread alone, all rights that this user has not. The C library's functions would do it
    /// for the whole process.
    fn take_rights(&self) -> io::Result<()> {
        // SAFETY: plain system calls that change the calling thread, with pointers to values that outlive them.
        unsafe {
            if libc::geteuid() == 0 && self.user != 0 {
                check(libc::syscall(libc::SYS_setgroups, 1, &raw const self.group))?;
                check(libc::syscall(libc::SYS_setresgid, self.group, self.group, self.group))?;
                check(libc::syscall(libc::SYS_setresuid, self.user, self.user, self.user))?;
            }
            let none = [CapabilitySet::default(); 2];
            let header = CapabilityHeader { version: CAPABILITY_VERSION_3, pid: 0 };
            check(libc::syscall(libc::SYS_capset, &raw const header, none.as_ptr()))
        }
    }
}

/// `_LINUX_CAPABILITY_VERSION_3`: sets of 64 capabilities.
const CAPABILITY_VERSION_3: u32 = 0x2008_0522;

/// `struct __user_cap_header_struct`.
#[repr(C)]
struct CapabilityHeader {
    version: u32,
    pid: libc::c_int,
}

/// `struct __user_cap_data_struct`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct CapabilitySet {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

fn check(result: libc::c_long) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, chown};

    use longpole_recording::{FORMAT_VERSION, Manifest};

    use super::*;

    /// A recording beside the files `open.c`, `secret.c` of root alone and `private/a.c` in a folder of root alone.
    fn place() -> (tempfile::TempDir, RecordingFolder) {
        let place = tempfile::tempdir().unwrap();
        let manifest = Manifest { format_version: FORMAT_VERSION, ..Manifest::default() };
        let folder = RecordingFolder::create(&place.path().join("x.longpole"), &manifest).unwrap();
        let mode = |name: &str, mode| {
            fs::set_permissions(place.path().join(name), fs::Permissions::from_mode(mode)).unwrap();
        };
        fs::create_dir(place.path().join("private")).unwrap();
        for name in ["open.c", "secret.c", "private/a.c"] {
            fs::write(place.path().join(name), name).unwrap();
        }
        mode("", 0o755);
        mode("open.c", 0o644);
        mode("secret.c", 0o600);
        mode("private", 0o700);
        (place, folder)
    }

    fn kept(user: &ProgramUser, folder: &RecordingFolder) -> Vec<String> {
        let files = ["open.c", "secret.c", "private/a.c"].map(str::to_owned).to_vec();
        let named = NamedSources { files, ..NamedSources::default() };
        let sources = user.keep_sources(folder, named, &[]).unwrap();
        sources.files.into_iter().map(|file| file.path).collect()
    }

    #[test]
    fn root_reads_for_another_user_only_what_that_user_may_read() {
        // SAFETY: no preconditions.
        if unsafe { libc::geteuid() } != 0 {
            return longpole_testkit::skipped("only root can take another user's rights");
        }
        let (place, folder) = place();
        let nobody = ProgramUser { user: 65534, group: 65534, folder: place.path().to_owned() };
        assert_eq!(kept(&nobody, &folder), ["open.c"]);
        let root = ProgramUser { user: 0, group: 0, ..nobody };
        assert_eq!(kept(&root, &folder), ["open.c", "secret.c", "private/a.c"]);
        chown(place.path().join("secret.c"), Some(65534), None).unwrap();
        assert_eq!(kept(&root, &folder), ["open.c", "private/a.c"], "root alone has no right to it");
        // The recorder itself keeps its rights.
        assert!(fs::read(place.path().join("secret.c")).is_ok());
    }
}
