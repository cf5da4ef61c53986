//! Which files of this machine a recording or a page may take for sources.
//!
//! A recording names its sources, and the names come from the debug information of whatever program was recorded: a
//! hostile one names `/etc/shadow`. A file is read only when all of these hold, whoever asks:
//!
//! ```text
//!   its name ends like a source file's          table.c, lib.rs; headers of the system without an end: <vector>
//!   it is a regular file, once links are followed
//!   it is below a folder that the user named    --source-dir
//!     or below one of the program               where it was built, where it ran
//!     or below /usr, and readable by everyone
//! ```
//! The folders of a program are hostile as well. Nothing below `/etc`, `/proc` and the like is a source of it, and of `/`,
//! a home folder and other wide ones only the files directly in them are.

use std::fmt;
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::regular::open_regular_unlinked;

/// Ends of names of source files.
const ENDS: &[&str] = &[
    "c", "h", "cc", "cpp", "cxx", "c++", "hh", "hpp", "hxx", "h++", "inc", "inl", "ipp", "tcc", "tpp", "txx",
    "def", "s", "asm", "rs", "go", "d", "zig", "nim", "swift", "m", "mm", "f", "f77", "f90", "f95", "f03",
    "f08", "for", "ftn", "fpp", "adb", "ads", "pas", "java", "kt", "scala", "cs", "fs", "js", "mjs", "cjs",
    "ts", "jsx", "tsx", "py", "pyx", "pxd", "pxi", "rb", "php", "pl", "pm", "lua", "jl", "r", "hs", "ml",
    "mli", "erl", "ex", "exs", "clj", "lisp", "scm", "cu", "cuh", "cl", "hip", "ispc", "y", "yy", "l", "ll",
    "vala", "cr", "odin", "dart",
];
/// A program has no sources below these.
const NEVER: &[&str] = &["/etc", "/proc", "/sys", "/dev", "/run", "/boot"];
/// Folders of which much does not belong to one program: only the files directly in them are taken.
const WIDE: &[&str] = &[
    "/", "/home", "/root", "/usr", "/var", "/var/lib", "/var/log", "/var/tmp", "/opt", "/srv", "/mnt",
    "/media", "/tmp", "/lib", "/lib64", "/bin", "/sbin",
];
/// Where sources of the system are that every program includes.
const SYSTEM: &str = "/usr";
/// A file with a zero byte among so many first ones is no text.
const LOOKED_AT: usize = 8 << 10;

/// Why a file is not taken for a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceRefusal {
    /// There is none of that name.
    Missing,
    /// Its name does not end like one of a source file.
    Name,
    /// It is not below a folder that may hold sources.
    Outside,
    /// It is a folder, a pipe or a device.
    NotRegular,
    /// The user who ran the program may not read it.
    Unreadable,
    /// It is larger than what is kept or shown.
    Large,
    /// It holds zero bytes.
    NoText,
}

impl fmt::Display for SourceRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SourceRefusal::Missing => "no such file",
            SourceRefusal::Name => "not the name of a source file",
            SourceRefusal::Outside => "outside the program's folders; --source-dir adds one",
            SourceRefusal::NotRegular => "not a regular file",
            SourceRefusal::Unreadable => "not readable by the user who ran the program",
            SourceRefusal::Large => "too large",
            SourceRefusal::NoText => "not a text",
        })
    }
}

impl From<io::Error> for SourceRefusal {
    fn from(error: io::Error) -> SourceRefusal {
        match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => SourceRefusal::Missing,
            io::ErrorKind::InvalidInput => SourceRefusal::NotRegular,
            _ => SourceRefusal::Unreadable,
        }
    }
}

/// The folders that may hold sources, without links in their paths.
#[derive(Clone, Debug, Default)]
pub struct SourceRoots {
    named: Vec<PathBuf>,
    of_program: Vec<PathBuf>,
    homes: Vec<PathBuf>,
}

impl SourceRoots {
    /// Folders that the user named, and no others.
    #[must_use]
    pub fn named<'a>(folders: impl IntoIterator<Item = &'a Path>) -> SourceRoots {
        SourceRoots { named: followed(folders), ..SourceRoots::default() }
    }

    /// With folders that the program says are its own, and the system's.
    #[must_use]
    pub fn with_program<'a>(self, folders: impl IntoIterator<Item = &'a Path>) -> SourceRoots {
        let system = [Path::new(SYSTEM)];
        let mut homes: Vec<PathBuf> = std::env::var_os("HOME").map(PathBuf::from).into_iter().collect();
        homes = followed(homes.iter().map(PathBuf::as_path));
        SourceRoots { of_program: followed(folders.into_iter().chain(system)), homes, ..self }
    }

    /// The text of a file, if it is a source of at most so many bytes.
    ///
    /// # Errors
    /// Why it is none.
    pub fn read(&self, path: &Path, most: u64) -> Result<Vec<u8>, SourceRefusal> {
        if !has_source_name(path) {
            return Err(SourceRefusal::Name);
        }
        let path = path.canonicalize()?;
        if !has_source_name(&path) {
            return Err(SourceRefusal::Name);
        }
        let file = open_regular_unlinked(&path)?;
        // A folder may have become a link since the path was followed: what counts is where the opened file is.
        let opened = std::fs::read_link(format!("/proc/thread-self/fd/{}", file.as_raw_fd()))?;
        let is_public = || file.metadata().is_ok_and(|found| found.permissions().mode() & 0o004 != 0);
        if opened != path || !self.holds(&path, is_public) {
            return Err(SourceRefusal::Outside);
        }
        let mut text = Vec::new();
        file.take(most + 1).read_to_end(&mut text)?;
        if text.len() as u64 > most {
            return Err(SourceRefusal::Large);
        }
        if text[..text.len().min(LOOKED_AT)].contains(&0) { Err(SourceRefusal::NoText) } else { Ok(text) }
    }

    fn holds(&self, path: &Path, is_public: impl Fn() -> bool) -> bool {
        if self.named.iter().any(|folder| path.starts_with(folder)) {
            return true;
        }
        !NEVER.iter().any(|folder| path.starts_with(folder))
            && self.of_program.iter().any(|folder| match folder {
                folder if folder == Path::new(SYSTEM) => path.starts_with(folder) && is_public(),
                folder if self.is_wide(folder) => path.parent() == Some(folder),
                folder => path.starts_with(folder),
            })
    }

    /// Whether much below a folder is none of one program's business.
    fn is_wide(&self, folder: &Path) -> bool {
        WIDE.iter().any(|wide| folder == Path::new(wide))
            || folder.parent() == Some(Path::new("/home"))
            || self.homes.iter().any(|home| home.starts_with(folder))
    }
}

/// Folders as they are when their links are followed; those that are there.
fn followed<'a>(folders: impl IntoIterator<Item = &'a Path>) -> Vec<PathBuf> {
    folders.into_iter().filter_map(|folder| folder.canonicalize().ok()).collect()
}

/// Whether a file's name is one of a source; standard headers of C++ have no end.
fn has_source_name(path: &Path) -> bool {
    match path.extension() {
        Some(end) => end.to_str().is_some_and(|end| ENDS.contains(&end.to_ascii_lowercase().as_str())),
        None => path.starts_with(SYSTEM) && path.components().any(|part| part.as_os_str() == "include"),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    const MOST: u64 = 1 << 20;

    fn written(folder: &Path, name: &str) -> PathBuf {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, name).unwrap();
        path
    }

    fn place() -> (tempfile::TempDir, PathBuf) {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().canonicalize().unwrap();
        (place, path)
    }

    #[test]
    fn only_what_is_named_like_a_source_below_a_root_is_one() {
        let (_place, place) = place();
        let roots = SourceRoots::default().with_program([place.join("build").as_path()]);
        assert_eq!(
            roots.read(&written(&place, "build/a.c"), MOST),
            Err(SourceRefusal::Outside),
            "no such root"
        );
        let roots = SourceRoots::default().with_program([place.join("build").as_path()]);
        assert_eq!(roots.read(&place.join("build/a.c"), MOST).as_deref(), Ok(&b"build/a.c"[..]));
        assert_eq!(roots.read(&place.join("build/../build/a.c"), MOST).as_deref(), Ok(&b"build/a.c"[..]));
        for (name, why) in [
            ("outside.c", SourceRefusal::Outside),
            ("build/key.pem", SourceRefusal::Name),
            ("build/id_rsa", SourceRefusal::Name),
            ("build/.env", SourceRefusal::Name),
            ("build/../outside.c", SourceRefusal::Outside),
        ] {
            assert_eq!(roots.read(&written(&place, name), MOST), Err(why), "{name}");
        }
        assert_eq!(roots.read(Path::new("/etc/shadow"), MOST), Err(SourceRefusal::Name));
        assert_eq!(roots.read(&place.join("build/none.c"), MOST), Err(SourceRefusal::Missing));
    }

    #[test]
    fn links_lead_nowhere_else() {
        let (_place, place) = place();
        let secret = written(&place, "secret/key.pem");
        let other = written(&place, "other/a.c");
        fs::create_dir(place.join("build")).unwrap();
        symlink(&secret, place.join("build/key.c")).unwrap();
        symlink(&other, place.join("build/other.c")).unwrap();
        symlink(place.join("other"), place.join("build/folder")).unwrap();
        written(&place, "build/real/a.c");
        symlink(place.join("build/real"), place.join("build/linked")).unwrap();
        let roots = SourceRoots::named([place.join("build").as_path()]);
        assert_eq!(roots.read(&place.join("build/key.c"), MOST), Err(SourceRefusal::Name));
        assert_eq!(roots.read(&place.join("build/other.c"), MOST), Err(SourceRefusal::Outside));
        assert_eq!(roots.read(&place.join("build/folder/a.c"), MOST), Err(SourceRefusal::Outside));
        assert!(roots.read(&place.join("build/linked/a.c"), MOST).is_ok(), "a link within the folder");
    }

    #[test]
    fn wide_folders_of_a_program_do_not_open_what_is_below_them() {
        let (_place, place) = place();
        let mut roots = SourceRoots::default().with_program([place.join("home").as_path()]);
        roots.homes = vec![place.join("home/me")];
        roots.of_program = vec![place.join("home/me"), PathBuf::from("/")];
        assert!(roots.read(&written(&place, "home/me/hello.c"), MOST).is_ok());
        assert_eq!(roots.read(&written(&place, "home/me/private/a.c"), MOST), Err(SourceRefusal::Outside));
        for never in ["/etc/x.c", "/proc/1/x.c", "/dev/x.c", "/run/x.c"] {
            let roots =
                SourceRoots { of_program: vec![Path::new(never).parent().unwrap().into()], ..roots.clone() };
            assert!(!roots.holds(Path::new(never), || true), "{never}");
        }
    }

    #[test]
    fn sources_of_the_system_are_those_that_everyone_may_read() {
        let roots = SourceRoots { of_program: vec![SYSTEM.into()], ..SourceRoots::default() };
        assert!(roots.holds(Path::new("/usr/include/stdio.h"), || true));
        assert!(!roots.holds(Path::new("/usr/include/private.h"), || false));
        assert!(has_source_name(Path::new("/usr/include/c++/12/vector")));
        assert!(!has_source_name(Path::new("/usr/lib/secret")));
    }

    #[test]
    fn pipes_are_refused_without_waiting() {
        let (_place, place) = place();
        let name = std::ffi::CString::new(place.join("pipe.c").to_str().unwrap()).unwrap();
        // SAFETY: the name ends in a zero byte.
        assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
        let roots = SourceRoots::named([place.as_path()]);
        assert_eq!(roots.read(&place.join("pipe.c"), MOST), Err(SourceRefusal::NotRegular));
    }
}
