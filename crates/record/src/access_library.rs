//! The library of instrumented programs as a file that they are linked with, and that their loader finds.

use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use longpole_access::format::LIBRARY;

use crate::launch::caller_s;

const BYTES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/liblongpole-access.so"));

/// The folder that holds the library of this build, in which it is written where it is not there yet. Programs that were
/// linked with it look for it there as long as they live, so the folder is one that stays: that of the user's data.
///
/// # Errors
/// Where no folder takes it.
pub fn access_library_folder() -> io::Result<PathBuf> {
    let home = |name: &str| caller_s(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let data = home("XDG_DATA_HOME").or_else(|| Some(home("HOME")?.join(".local/share")));
    let data = data.unwrap_or_else(|| PathBuf::from("/var/tmp"));
    let folder = data.join("longpole").join(format!("access-{:08x}", crc32fast::hash(BYTES)));
    keep_library(&folder, LIBRARY, BYTES)?;
    Ok(folder)
}

/// Writes a library into the folder where it is not there yet. Gives its path.
pub(crate) fn keep_library(folder: &Path, name: &str, bytes: &[u8]) -> io::Result<PathBuf> {
    let path = folder.join(name);
    if std::fs::read(&path).is_ok_and(|found| found == bytes) {
        return Ok(path);
    }
    std::fs::create_dir_all(folder)?;
    // Nobody finds a part of it.
    let beside = folder.join(format!("{name}.{}", std::process::id()));
    let mut file =
        std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o755).open(&beside)?;
    io::Write::write_all(&mut file, bytes)?;
    std::fs::rename(&beside, &path)?;
    Ok(path)
}
