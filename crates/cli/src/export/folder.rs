//! Whether tables may be written into a folder: into a new or empty one, or over an export where that is asked for.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use anyhow::{Context, Result};
use longpole_recording::free_name;

use crate::failure::Failure;

/// The table that every export has, in each form, and what its file begins with.
const MARKS: [(&str, &[u8]); 2] =
    [("columns.csv", b"table,column,kind,unit,title,explanation"), ("columns.parquet", b"PAR1")];

/// Refuses a folder that holds anything but an export, and an export unless it may be replaced. Writes nothing.
pub fn permit(path: &Path, force: bool) -> Result<()> {
    // Without a slash at its end, which would follow a link.
    let path: &Path = &path.components().collect::<std::path::PathBuf>();
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Ok(found) if found.is_symlink() => return Err(occupied(path, "it is a symbolic link")),
        Ok(found) if !found.is_dir() => return Err(occupied(path, "it exists and is not a folder")),
        found => found.with_context(|| format!("write tables into {}", path.display()))?,
    };
    let mut entries = fs::read_dir(path).with_context(|| format!("list {}", path.display()))?;
    if entries.next().is_none() || (force && is_export(path)) {
        return Ok(());
    }
    Err(if is_export(path) { existing(path) } else { occupied(path, "it exists and is not an export") })
}

fn is_export(folder: &Path) -> bool {
    MARKS.iter().any(|(name, begin)| {
        let file = folder.join(name);
        let is_file = fs::symlink_metadata(&file).is_ok_and(|found| found.is_file());
        is_file && begins_with(&file, begin).unwrap_or(false)
    })
}

fn begins_with(file: &Path, begin: &[u8]) -> io::Result<bool> {
    let mut found = vec![0; begin.len()];
    File::open(file)?.read_exact(&mut found)?;
    Ok(found == begin)
}

fn occupied(path: &Path, reason: &str) -> anyhow::Error {
    refused(path, reason, vec!["name a folder that does not exist yet: `-o FOLDER`".to_owned()])
}

fn existing(path: &Path) -> anyhow::Error {
    let free = format!("`-o {}` is free", free_name(path).display());
    refused(path, "there is an export already", vec!["`--force` replaces its tables".to_owned(), free])
}

fn refused(path: &Path, reason: &str, hints: Vec<String>) -> anyhow::Error {
    let error = anyhow::anyhow!("write tables into {}: {reason}", path.display());
    Failure { status: 1, hints, error }.into()
}
