//! Which processes the recorder's caller may not look into, though the recorder has the capabilities to.
//!
//! A process becomes private when it executes a file that gives it rights which the caller has not: another user's or
//! group's, or capabilities. It stays so whatever it executes then, and so do the processes that it creates. When such a
//! process runs and waits is recorded all the same; where it is, is not.

use std::ffi::CString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustc_hash::FxHashSet;

/// The private processes of a recorder whose caller is not root.
#[derive(Debug)]
pub struct Privacy {
    user: u32,
    group: u32,
    private: FxHashSet<u32>,
}

impl Privacy {
    /// Of this process's caller; `None` where that is root, who may look into everything.
    #[must_use]
    pub fn of_caller() -> Option<Privacy> {
        // SAFETY: no arguments.
        let (user, group) = unsafe { (libc::getuid(), libc::getgid()) };
        (user != 0).then(|| Privacy::of(user, group))
    }

    /// Of a caller with these ids.
    #[must_use]
    pub fn of(user: u32, group: u32) -> Privacy {
        Privacy { user, group, private: FxHashSet::default() }
    }

    /// The process has mapped the code of a file: its program, or a library.
    pub fn map(&mut self, pid: u32, file: &Path) {
        if self.gives_rights(file) {
            self.private.insert(pid);
        }
    }

    /// A process was created, perhaps with the number of an earlier one.
    pub fn fork(&mut self, parent: u32, child: u32) {
        if self.private.contains(&parent) {
            self.private.insert(child);
        } else if child != parent {
            self.private.remove(&child);
        }
    }

    /// The process is private if it has rights now that the caller has not: what told of that may have been lost. The kernel gives the
    /// folder of such a process, and of one that had them, to another user.
    pub fn look_at(&mut self, pid: u32) {
        let is_anothers = |folder: fs::Metadata| folder.uid() != self.user;
        if !self.is_private(pid) && fs::metadata(format!("/proc/{pid}")).is_ok_and(is_anothers) {
            self.private.insert(pid);
        }
    }

    /// Whether the caller may not look into the process.
    #[must_use]
    pub fn is_private(&self, pid: u32) -> bool {
        self.private.contains(&pid)
    }

    fn gives_rights(&self, file: &Path) -> bool {
        let Ok(metadata) = fs::metadata(file) else { return false };
        let sets_user = metadata.mode() & libc::S_ISUID != 0 && metadata.uid() != self.user;
        let sets_group = metadata.mode() & libc::S_ISGID != 0 && metadata.gid() != self.group;
        metadata.is_file() && (sets_user || sets_group || has_capabilities(file))
    }
}

fn has_capabilities(file: &Path) -> bool {
    let Ok(path) = CString::new(file.as_os_str().as_bytes()) else { return false };
    // SAFETY: both texts end in a zero byte; without room the kernel only tells the length.
    unsafe { libc::getxattr(path.as_ptr(), c"security.capability".as_ptr(), std::ptr::null_mut(), 0) > 0 }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn what_gives_rights_makes_its_process_and_those_below_private() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, mode: u32| {
            let path = folder.path().join(name);
            fs::write(&path, "").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            path
        };
        let (plain, sets_user, sets_group) =
            (file("plain", 0o755), file("user", 0o4755), file("group", 0o2755));
        let own = fs::metadata(&plain).unwrap();
        let mut other = Privacy::of(own.uid() + 1, own.gid() + 1);
        other.map(1, &plain);
        other.map(2, &sets_user);
        other.map(3, &sets_group);
        assert_eq!([1, 2, 3].map(|pid| other.is_private(pid)), [false, true, true]);
        other.fork(2, 20);
        other.fork(1, 3);
        assert!(other.is_private(20) && !other.is_private(3), "by its creator, not by who had its number");
        let mut owner = Privacy::of(own.uid(), own.gid());
        owner.map(2, &sets_user);
        owner.map(3, &sets_group);
        assert!(!owner.is_private(2) && !owner.is_private(3), "no rights beyond the caller's");
    }
}
