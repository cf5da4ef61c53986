//! The lock of a recording's folder: held while a recorder writes into it, so that a second one is refused.

use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use crate::error::{Error, Result};
use crate::folder::LOCK;

/// An exclusive lock. The system releases it when the recorder ends, even when it is killed.
#[derive(Debug)]
pub(crate) struct FolderLock {
    _file: File,
}

/// What became of taking a lock.
pub(crate) enum Locking {
    /// It is this process's until it is dropped.
    Taken(FolderLock),
    /// Another recorder has it.
    Held,
}

/// Takes the lock of a folder. A file system without locks counts as unlocked: the ids of logs still show a mixture.
///
/// # Errors
/// [`Error::Io`].
pub(crate) fn take(folder: &Path) -> Result<Locking> {
    let path = folder.join(LOCK);
    let mut options = File::options();
    options.read(true).write(true).create(true).truncate(false).custom_flags(libc::O_NOFOLLOW);
    loop {
        let file = options.open(&path).map_err(Error::io("create", &path))?;
        match file.try_lock() {
            Ok(()) if !is_at(&file, &path) => {}
            Ok(()) => return Ok(Locking::Taken(FolderLock { _file: file })),
            Err(TryLockError::WouldBlock) => return Ok(Locking::Held),
            Err(TryLockError::Error(error)) if is_unsupported(&error) => {
                return Ok(Locking::Taken(FolderLock { _file: file }));
            }
            Err(TryLockError::Error(error)) => return Err(Error::io("lock", &path)(error)),
        }
    }
}

/// Whether a recorder holds the lock of a folder; writes nothing.
pub(crate) fn is_held(folder: &Path) -> bool {
    let path = folder.join(LOCK);
    let is_file = fs::symlink_metadata(&path).is_ok_and(|found| found.is_file());
    let file = is_file.then(|| File::open(&path).ok()).flatten();
    file.is_some_and(|file| matches!(file.try_lock(), Err(TryLockError::WouldBlock)))
}

/// Whether the file is still the one of this name: a recorder that gave up removes its own.
fn is_at(file: &File, path: &Path) -> bool {
    let (Ok(file), Ok(named)) = (file.metadata(), fs::symlink_metadata(path)) else { return false };
    (file.dev(), file.ino()) == (named.dev(), named.ino())
}

fn is_unsupported(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::EOPNOTSUPP | libc::ENOLCK))
}
