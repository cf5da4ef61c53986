//! Files of tasks: kept open as long as there is room for open files.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::kept_file::KeptFile;

/// Files kept open at most.
const MOST_KEPT: usize = 8192;

/// Room for open files.
#[derive(Clone, Debug)]
pub(super) struct OpenFileLimit(Arc<AtomicUsize>);

impl OpenFileLimit {
    /// Half of what this process may open: the rest is the recorder's.
    pub(super) fn of_this_process() -> OpenFileLimit {
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: the kernel writes into `limit` only.
        let failed = unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) };
        let most = if failed == 0 { usize::try_from(limit.rlim_cur).unwrap_or(MOST_KEPT) / 2 } else { 0 };
        OpenFileLimit(Arc::new(AtomicUsize::new(most.min(MOST_KEPT))))
    }

    fn slot(&self) -> Option<OpenFileSlot> {
        let less = |left: usize| left.checked_sub(1);
        let taken = self.0.try_update(Ordering::Relaxed, Ordering::Relaxed, less);
        taken.is_ok().then(|| OpenFileSlot(Arc::clone(&self.0)))
    }
}

/// Room for one of them.
#[derive(Debug)]
struct OpenFileSlot(Arc<AtomicUsize>);

impl Drop for OpenFileSlot {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// A file of a task.
#[derive(Debug)]
pub(super) struct TaskFile {
    path: PathBuf,
    kept: Option<(KeptFile, OpenFileSlot)>,
}

impl TaskFile {
    pub(super) fn new(path: PathBuf) -> TaskFile {
        TaskFile { path, kept: None }
    }

    /// Its text.
    ///
    /// # Errors
    /// When the task has ended, or the file may not be read.
    pub(super) fn read<'a>(&mut self, room: &OpenFileLimit, buffer: &'a mut Vec<u8>) -> io::Result<&'a [u8]> {
        if let Some((file, _)) = &self.kept {
            return file.read_record(buffer);
        }
        let file = KeptFile::open(&self.path)?;
        let text = file.read_record(buffer)?;
        // Without room it is opened again at the next look.
        self.kept = room.slot().map(|slot| (file, slot));
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_read_with_and_without_room() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, "12").unwrap();
        let room = OpenFileLimit(Arc::new(AtomicUsize::new(1)));
        let mut files = [TaskFile::new(path.clone()), TaskFile::new(path)];
        let mut buffer = Vec::new();
        for file in &mut files {
            assert_eq!(file.read(&room, &mut buffer).unwrap(), b"12");
        }
        assert!(files[0].kept.is_some() && files[1].kept.is_none());
        drop(files);
        assert_eq!(room.0.load(Ordering::Relaxed), 1);
    }
}
