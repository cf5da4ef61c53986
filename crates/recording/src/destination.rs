//! Where a new recording goes: no recording is replaced unless that is asked for, no other file is ever removed, and two
//! recorders never write into one folder.
//!
//! ```text
//! look (nothing is written) ──► lock ──► look again ──► remove what is replaced ──► manifest
//! ```

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::contents::Contents;
use crate::error::{Error, Result};
use crate::folder::RecordingFolder;
use crate::id::RecordingId;
use crate::lock::{self, Locking};
use crate::manifest::Manifest;

/// What a free name is made of where the folder asked for has none, such as `.`.
const NAMELESS: &str = "recording.longpole";

/// The folder of a new recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// This folder, which must not exist or be empty.
    New(PathBuf),
    /// This folder; a recording in it is replaced, unless a recorder is writing it.
    Replace(PathBuf),
    /// This folder, or with a number at the end of its name (`NAME-2.longpole`): the first that does not exist.
    FirstFree(PathBuf),
}

impl Destination {
    /// Creates the folder and its manifest, and holds the folder's lock as long as the [`RecordingFolder`] lives.
    ///
    /// # Errors
    /// [`Error::Existing`], [`Error::Busy`], [`Error::Occupied`], [`Error::Io`].
    pub fn create(&self, manifest: &Manifest) -> Result<RecordingFolder> {
        self.create_with(None, manifest)
    }

    /// The same, for a recording with this id.
    pub(crate) fn create_with(
        &self,
        id: Option<RecordingId>,
        manifest: &Manifest,
    ) -> Result<RecordingFolder> {
        match self {
            Destination::New(path) => claim(path, false, (id, manifest)),
            Destination::Replace(path) => claim(path, true, (id, manifest)),
            Destination::FirstFree(path) => first_free(path, (id, manifest)),
        }
    }
}

fn first_free(path: &Path, content: (Option<RecordingId>, &Manifest)) -> Result<RecordingFolder> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(Error::io("create", parent))?;
    }
    let mut number = 1;
    loop {
        let path = numbered(path, number);
        number += 1;
        // Of several recorders that try the same name at once, the system lets one create the folder.
        match fs::create_dir(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            created => created.map_err(Error::io("create", &path))?,
        }
        match claim(&path, false, content) {
            // A recorder that was given this very name found the folder while it was empty.
            Err(Error::Busy { .. } | Error::Existing { .. }) => {}
            claimed => return claimed,
        }
    }
}

fn claim(
    path: &Path,
    replaces: bool,
    (id, manifest): (Option<RecordingId>, &Manifest),
) -> Result<RecordingFolder> {
    // Without a slash at its end, which would follow a link.
    let path: PathBuf = path.components().collect();
    create_folder(&path)?;
    match look(&path, replaces) {
        // Whatever is in the way, it is the other recorder's and may change at any moment.
        Err(_) if lock::is_held(&path) => return Err(busy(&path)),
        looked => looked?,
    };
    let Locking::Taken(lock) = lock::take(&path)? else { return Err(busy(&path)) };
    look(&path, replaces)?.remove()?;
    RecordingFolder::begin((path, lock), id, manifest)
}

fn create_folder(path: &Path) -> Result<()> {
    let occupied = |reason: &str| Error::Occupied { path: path.to_owned(), reason: reason.to_owned() };
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => Ok(()),
        Ok(found) if found.is_symlink() => Err(occupied("it is a symbolic link")),
        Ok(_) => Err(occupied("it exists and is not a folder")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            fs::create_dir_all(path).map_err(Error::io("create", path))
        }
        Err(error) => Err(Error::io("create", path)(error)),
    }
}

/// What a folder holds, if a recording may begin there.
fn look(path: &Path, replaces: bool) -> Result<Contents> {
    let contents = Contents::of(path)?;
    if contents.is_bare() {
        return Ok(contents);
    }
    let occupied = |reason: String| Error::Occupied { path: path.to_owned(), reason };
    if !contents.has_manifest() {
        return Err(occupied("it exists and is not a recording".to_owned()));
    }
    match RecordingFolder::open(path) {
        Ok(_) if replaces => Ok(contents),
        Ok(_) => Err(Error::Existing { path: path.to_owned(), free: free_name(path) }),
        Err(Error::NotARecording { reason, .. }) => {
            Err(occupied(format!("it exists and is not a recording of longpole: {reason}")))
        }
        Err(Error::NewerVersion { found, .. }) => {
            Err(occupied(format!("it holds a recording of the newer format version {found}")))
        }
        Err(error) => Err(error),
    }
}

fn busy(path: &Path) -> Error {
    Error::Busy { path: path.to_owned(), free: free_name(path) }
}

/// A name like this one that does not exist: `NAME-2`, or with the next number that is free.
///
/// # Panics
/// Never: there are more numbers than folders.
#[must_use]
pub fn free_name(path: &Path) -> PathBuf {
    let is_free = |path: &PathBuf| fs::symlink_metadata(path).is_err();
    (2..).map(|number| numbered(path, number)).find(is_free).expect("there are more numbers than folders")
}

/// `NAME-3.longpole` for `NAME.longpole` and 3; the first has no number.
fn numbered(path: &Path, number: u32) -> PathBuf {
    if number == 1 {
        return path.to_owned();
    }
    let name = Path::new(path.file_name().unwrap_or(OsStr::new(NAMELESS)));
    let mut numbered = name.file_stem().unwrap_or_default().to_owned();
    numbered.push(format!("-{number}"));
    if let Some(extension) = name.extension() {
        numbered.push(".");
        numbered.push(extension);
    }
    path.with_file_name(numbered)
}

#[cfg(test)]
mod tests;
