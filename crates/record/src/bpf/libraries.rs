//! The C libraries that recorded processes use, whose joins of threads are seen: those by `pthread_join` always, others once a
//! program or library takes such a function from another.

use std::fs::File;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use longpole_privileged::{KernelAccess, RARE_JOINS, USUAL_JOIN};
use longpole_symbols::{imports_any, maps_of};
use rustc_hash::FxHashSet;

use super::areas::is_file;
use crate::collector_choice::Settings;
use crate::raw::{RawEvent, RawKind};

/// The C libraries whose joins are seen.
#[derive(Debug, Default)]
pub(super) struct Libraries {
    /// Paths in processes, and files by device and inode, that were looked at.
    paths: FxHashSet<PathBuf>,
    files: FxHashSet<(u64, u64)>,
    /// Those attached to.
    libraries: Vec<File>,
    functions: usize,
    /// Rare joins are seen too.
    rare_joins: bool,
    /// What is to be looked at.
    mapped: Vec<(u32, PathBuf)>,
    /// None is looked at: a breakpoint in the library's code would be an instruction of the emulated program.
    is_emulated: bool,
}

impl Libraries {
    /// Attaches the programs to the library that this program itself uses, which is mostly that of the recorded one: so its
    /// first join is seen.
    pub(super) fn open(access: &mut KernelAccess, settings: &Settings) -> Libraries {
        let &Settings { is_emulated, rare_joins, .. } = settings;
        let mut libraries = Libraries { is_emulated, rare_joins, ..Libraries::default() };
        libraries.look_at_process(access, std::process::id());
        libraries
    }

    /// What will be missing.
    pub(super) fn missing(&self) -> Option<&'static str> {
        (self.functions == 0).then_some("joins of threads that had ended already")
    }

    /// Looks for libraries in what a process has mapped already.
    pub(super) fn look_at_process(&mut self, access: &mut KernelAccess, pid: u32) {
        for mapping in maps_of(pid).unwrap_or_default() {
            self.look(access, pid, &mapping.path);
        }
    }

    /// Keeps what was just mapped until there is time for it.
    pub(super) fn learn(&mut self, event: &RawEvent) {
        if let RawKind::Map { pid, mapping } = &event.kind
            && is_file(mapping.path.as_os_str().as_encoded_bytes())
            && !self.paths.contains(&mapping.path)
        {
            self.mapped.push((*pid, mapping.path.clone()));
        }
    }

    /// Looks for libraries among what was mapped.
    pub(super) fn look_at_mapped(&mut self, access: &mut KernelAccess) {
        for (pid, path) in std::mem::take(&mut self.mapped) {
            self.look(access, pid, &path);
        }
    }

    fn look(&mut self, access: &mut KernelAccess, pid: u32, path: &Path) {
        let is_c_library = is_c_library(path);
        let is_of_use = is_c_library || (!self.rare_joins && path.is_absolute());
        if self.is_emulated || !is_of_use || !self.paths.insert(path.to_owned()) {
            return;
        }
        // As the process sees it, which may be in a container.
        let inside = PathBuf::from(format!("/proc/{pid}/root")).join(path.strip_prefix("/").unwrap_or(path));
        // Whatever else has the name, it is not waited for.
        let open = File::options().read(true).custom_flags(libc::O_NONBLOCK).open(&inside);
        let Ok((of, file)) = open.and_then(|file| Ok((file.metadata()?, file))) else {
            self.paths.remove(path);
            return;
        };
        if !self.files.insert((of.dev(), of.ino())) {
            return;
        }
        if is_c_library {
            self.functions += access.attach_library(&file, &[USUAL_JOIN]).unwrap_or(0);
            if self.rare_joins {
                let _ = access.attach_library(&file, &RARE_JOINS);
            }
            self.libraries.push(file);
        } else if imports_any(&inside, &RARE_JOINS) {
            self.rare_joins = true;
            for library in &self.libraries {
                let _ = access.attach_library(library, &RARE_JOINS);
            }
        }
    }
}

/// Whether a file is named as C libraries with threads are: glibc's, its separate one of older versions, musl's.
pub(super) fn is_c_library(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let begins = ["libc.so", "libc-2.", "libpthread", "ld-musl-", "libc.musl-"];
    path.is_absolute() && begins.iter().any(|begin| name.starts_with(begin))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c_libraries_are_known_by_their_names() {
        let is = |path: &str| is_c_library(Path::new(path));
        assert!(is("/usr/lib/x86_64-linux-gnu/libc.so.6"));
        assert!(is("/lib/ld-musl-x86_64.so.1"));
        assert!(is("/lib64/libpthread-2.31.so"));
        assert!(!is("/usr/lib/x86_64-linux-gnu/libcrypto.so.3"));
        assert!(!is("//anon"));
    }
}
