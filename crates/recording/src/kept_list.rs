//! A list in a JSON file of a recording, written anew as a whole.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{Error, Result};
use crate::regular::read_regular;

/// Bytes of the file that are read.
const LARGEST: u64 = 1 << 20;

/// What is in the file; nothing where it is not there, or not to be read.
pub(crate) fn read_list<T: DeserializeOwned>(file: &Path) -> Vec<T> {
    let read = read_regular(file, LARGEST).ok();
    read.and_then(|bytes| serde_json::from_str(&bytes).ok()).unwrap_or_default()
}

/// Writes the file by way of `new`, beside it, so that it is whole at any time.
///
/// # Errors
/// [`Error::Io`].
pub(crate) fn write_list<T: Serialize>(list: &[T], file: &Path, new: &Path) -> Result<()> {
    let text = serde_json::to_string_pretty(list).expect("texts and numbers are JSON");
    // What is left of an interrupted one goes; a link in its place is not followed.
    let _ = fs::remove_file(new);
    let write = || File::create_new(new)?.write_all(text.as_bytes());
    write().map_err(Error::io("write", new))?;
    fs::rename(new, file).map_err(Error::io("write", file))
}
