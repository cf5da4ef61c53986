//! Which file on this machine now holds what a process has mapped.
//!
//! A path that a process has mapped may name another file by the time we look: replaced by a rebuild,
//! deleted, or seen through another root folder. So each candidate is checked by what is known of it.

use std::path::{Path, PathBuf};

use crate::Mapping;
use crate::image::{FileIdentity, Image};

/// A file that can be opened.
#[derive(Debug)]
pub(crate) struct LocatedFile {
    pub path: PathBuf,
    pub identity: FileIdentity,
}

/// Finds the file behind a mapping of a process; `path` is the mapping's path without its deleted mark.
pub(crate) fn file_of(pid: u32, mapping: &Mapping, path: &Path, deleted: bool) -> Option<LocatedFile> {
    if !path.is_absolute() {
        return by_build_id(&mapping.build_id);
    }
    let mut candidates = Vec::with_capacity(3);
    if deleted {
        candidates.extend(mapped_file(pid, mapping));
        candidates.extend(program_file(pid, &mapping.path));
    } else {
        candidates.extend(below_other_root(pid, path));
        candidates.push(path.to_owned());
    }
    // A file of the right name can be opened without a look inside where nothing contradicts it; where the
    // kernel told the build id, opening checks it.
    let usable = |path: PathBuf| FileIdentity::of(&path).ok().map(|identity| LocatedFile { path, identity });
    let found = candidates.into_iter().find_map(usable);
    match found {
        Some(found) if deleted || matches(&found.path, &mapping.build_id) => Some(found),
        _ => mapped_file(pid, mapping).and_then(usable).or_else(|| by_build_id(&mapping.build_id)),
    }
}

fn matches(path: &Path, build_id: &[u8]) -> bool {
    build_id.is_empty() || Image::open(path).is_ok_and(|image| image.build_id() == build_id)
}

/// The link that the kernel keeps to the mapped file itself, while the process lives.
fn mapped_file(pid: u32, mapping: &Mapping) -> Option<PathBuf> {
    let link = PathBuf::from(format!("/proc/{pid}/map_files/{:x}-{:x}", mapping.start, mapping.end));
    (std::fs::read_link(&link).ok()? == mapping.path).then_some(link)
}

/// The link to the process' program, if that is what is mapped.
fn program_file(pid: u32, mapped: &Path) -> Option<PathBuf> {
    let link = PathBuf::from(format!("/proc/{pid}/exe"));
    (std::fs::read_link(&link).ok()? == mapped).then_some(link)
}

/// The path as the process sees it, where its root folder is not ours.
fn below_other_root(pid: u32, path: &Path) -> Option<PathBuf> {
    use std::os::unix::fs::MetadataExt;
    let root = PathBuf::from(format!("/proc/{pid}/root"));
    let theirs = std::fs::metadata(&root).ok()?;
    let ours = std::fs::metadata("/").ok()?;
    let same = (theirs.dev(), theirs.ino()) == (ours.dev(), ours.ino());
    (!same).then(|| root.join(path.strip_prefix("/").unwrap_or(path)))
}

/// A copy of the program or library kept under its build id by `perf` or `debuginfod`.
fn by_build_id(build_id: &[u8]) -> Option<LocatedFile> {
    if build_id.len() < 2 {
        return None;
    }
    let hex = hexadecimal(build_id);
    let mut candidates = Vec::new();
    if let Some(home) = std::env::var_os("HOME") {
        let entry = Path::new(&home).join(".debug/.build-id").join(&hex[..2]).join(&hex[2..]);
        candidates.push(entry.join("elf"));
    }
    candidates.extend(debuginfod_caches().map(|cache| cache.join(&hex).join("executable")));
    candidates.into_iter().find_map(|path| {
        let identity = FileIdentity::of(&path).ok()?;
        matches(&path, build_id).then_some(LocatedFile { path, identity })
    })
}

/// The folders in which `debuginfod` clients keep what they fetched.
pub(crate) fn debuginfod_caches() -> impl Iterator<Item = PathBuf> {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = variable("HOME");
    [
        variable("DEBUGINFOD_CACHE_PATH"),
        variable("XDG_CACHE_HOME").map(|folder| folder.join("debuginfod_client")),
        home.as_ref().map(|home| home.join(".cache/debuginfod_client")),
        home.map(|home| home.join(".debuginfod_client_cache")),
    ]
    .into_iter()
    .flatten()
}

/// A build id as text.
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
