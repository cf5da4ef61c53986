//! What a folder holds of a recording, by name and kind, so that nothing else in it is ever removed.

use std::fs::{self, DirEntry};
use std::io;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::folder::{CACHE, ITEM_COLUMNS, LOCK, LogName, MACHINE, MANIFEST, NEW_ITEM_COLUMNS, NEW_MANIFEST};
use crate::measured::{MEASURED, NEW_MEASURED};
use crate::predicted::{NEW_PREDICTED, PREDICTED};
use crate::{metric_files, sources};

/// The entries of a folder that belong to a recording.
#[derive(Debug, Default)]
pub(crate) struct Contents {
    manifest: Option<PathBuf>,
    /// The lock and an unfinished manifest: what a recorder leaves that was stopped before it had a manifest.
    first: Vec<PathBuf>,
    files: Vec<PathBuf>,
    folders: Vec<PathBuf>,
    has_others: bool,
}

/// The files that a folder of a recording consists of.
type IsKnown = fn(&str) -> bool;

impl Contents {
    /// Looks at a folder.
    ///
    /// # Errors
    /// [`Error::Occupied`] where an entry has a name of a recording's but is not a regular file or folder, so that
    /// writing there would follow a link; [`Error::Io`].
    pub fn of(folder: &Path) -> Result<Contents> {
        let mut contents = Contents::default();
        for entry in entries(folder)? {
            let name = entry.file_name();
            match name.to_str().unwrap_or_default() {
                MANIFEST => contents.manifest = Some(plain_file(folder, &entry)?),
                MEASURED | NEW_MEASURED | PREDICTED | NEW_PREDICTED => {
                    contents.files.push(plain_file(folder, &entry)?);
                }
                LOCK | NEW_MANIFEST => contents.first.push(plain_file(folder, &entry)?),
                name => match folder_named(name) {
                    Some(is_known) => contents.add_folder(folder, &entry, is_known)?,
                    None => contents.has_others = true,
                },
            }
        }
        Ok(contents)
    }

    fn add_folder(&mut self, folder: &Path, entry: &DirEntry, is_known: IsKnown) -> Result<()> {
        if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            return Err(odd_kind(folder, entry));
        }
        for inner in entries(&entry.path())? {
            if is_known(inner.file_name().to_str().unwrap_or_default()) {
                self.files.push(plain_file(folder, &inner)?);
            }
        }
        self.folders.push(entry.path());
        Ok(())
    }

    /// Whether there is a manifest, of whatever kind of project.
    pub fn has_manifest(&self) -> bool {
        self.manifest.is_some()
    }

    /// Whether a recording can begin here without any removal.
    pub fn is_bare(&self) -> bool {
        !self.has_manifest() && self.files.is_empty() && self.folders.is_empty() && !self.has_others
    }

    /// Removes the recording's files, the manifest last: where removal is interrupted, the folder is a recording still.
    /// The lock stays, and so do folders that hold anything else.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn remove(&self) -> Result<()> {
        for file in &self.files {
            fs::remove_file(file).map_err(Error::io("remove", file))?;
        }
        for folder in &self.folders {
            match fs::remove_dir(folder) {
                Err(error) if error.kind() != io::ErrorKind::DirectoryNotEmpty => {
                    return Err(Error::io("remove", folder)(error));
                }
                _ => {}
            }
        }
        self.manifest.iter().try_for_each(|file| fs::remove_file(file).map_err(Error::io("remove", file)))
    }
}

/// Which files a folder of this name consists of; `None` where the name is not one of a recording's.
fn folder_named(name: &str) -> Option<IsKnown> {
    match name {
        metric_files::METRICS => Some(metric_files::is_kept),
        sources::SOURCES => Some(sources::is_kept),
        CACHE => Some(is_computed),
        _ => {
            name.strip_prefix(MACHINE).filter(|number| is_number(number)).map(|_| LogName::is_file as IsKnown)
        }
    }
}

/// What was computed of the recording: answers, and its items as columns.
fn is_computed(name: &str) -> bool {
    is_answer(name) || matches!(name, ITEM_COLUMNS | NEW_ITEM_COLUMNS)
}

/// `HASH.answer`, and `HASH.PID.new` while it is written.
fn is_answer(name: &str) -> bool {
    let Some((hash, end)) = name.split_once('.') else { return false };
    let is_hash = hash.len() == 16 && hash.bytes().all(|digit| digit.is_ascii_hexdigit());
    is_hash && (end == "answer" || end.strip_suffix(".new").is_some_and(is_number))
}

/// Whether the text is digits only.
pub(crate) fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn entries(folder: &Path) -> Result<Vec<DirEntry>> {
    let entries = fs::read_dir(folder).and_then(Iterator::collect);
    entries.map_err(Error::io("list", folder))
}

fn plain_file(folder: &Path, entry: &DirEntry) -> Result<PathBuf> {
    // Of the entry itself, not of what a link leads to.
    let is_plain = entry.file_type().is_ok_and(|kind| kind.is_file());
    if is_plain { Ok(entry.path()) } else { Err(odd_kind(folder, entry)) }
}

fn odd_kind(folder: &Path, entry: &DirEntry) -> Error {
    let path = entry.path();
    let name = path.strip_prefix(folder).unwrap_or(&path).display();
    let kind = if entry.file_type().is_ok_and(|kind| kind.is_symlink()) {
        "a symbolic link"
    } else {
        "not of the kind that a recording has there"
    };
    Error::Occupied { path: folder.to_owned(), reason: format!("{name} in it is {kind}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_a_recording_are_known_and_others_are_not() {
        for name in
            ["0123456789abcdef.answer", "0123456789abcdef.4711.new", "items.columns", "items.columns.new"]
        {
            assert!(is_computed(name), "{name}");
        }
        for name in ["notes.answer", "0123456789abcdef.txt", "0123456789abcdef.new", "answer", ""] {
            assert!(!is_computed(name), "{name}");
        }
        for name in ["machine-0", "machine-17", "sources", "metrics", "cache"] {
            assert!(folder_named(name).is_some(), "{name}");
        }
        for name in ["machine-", "machine-x", "machine", "src", "Sources", ""] {
            assert!(folder_named(name).is_none(), "{name}");
        }
    }
}
