//! Where the kernel publishes the scheduler's tracepoints, and their formats.
//!
//! tracefs is closed to users and not mounted everywhere. Root mounts it; `longpole setup` keeps the
//! formats in a file that users can read, for the tracepoints' numbers stay as long as the kernel.

use std::ffi::CString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::format::Format;

const TRACEFS: &str = "/sys/kernel/tracing";
const FOLDERS: [&str; 2] = [TRACEFS, "/sys/kernel/debug/tracing"];
const CACHE: &str = "/var/cache/longpole";
/// The tracepoints that are used, all of the system `sched`.
pub(crate) const NAMES: [&str; 3] = ["sched_switch", "sched_waking", "sched_process_fork"];

/// Formats of the tracepoints in [`NAMES`], in that order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tracepoints {
    texts: Vec<String>,
    /// Whether tracefs had to be mounted.
    pub was_mounted: bool,
}

impl Tracepoints {
    /// Finds the formats: in tracefs, in tracefs mounted for it, in what `longpole setup` kept.
    ///
    /// # Errors
    /// What the system said to the best attempt: usually that tracefs is closed to this user.
    pub fn find() -> io::Result<Tracepoints> {
        let mut refused = None;
        for folder in FOLDERS {
            match read(Path::new(folder)) {
                Ok(texts) => return Ok(Tracepoints { texts, was_mounted: false }),
                Err(error) => refused = refused.or(Some(error)),
            }
        }
        if let Ok(texts) = mount().and_then(|()| read(Path::new(TRACEFS))) {
            return Ok(Tracepoints { texts, was_mounted: true });
        }
        let error = refused.unwrap_or_else(|| io::ErrorKind::NotFound.into());
        read_kept(&kept_path()?).map(|texts| Tracepoints { texts, was_mounted: false }).map_err(|_| error)
    }

    /// Keeps the formats for users who cannot read tracefs; returns the file.
    ///
    /// # Errors
    /// When the file cannot be written: only root may.
    pub fn keep(&self) -> io::Result<PathBuf> {
        let path = kept_path()?;
        fs::create_dir_all(CACHE)?;
        fs::write(&path, self.texts.join("\0"))?;
        Ok(path)
    }

    /// The format of a tracepoint.
    #[must_use]
    pub fn format(&self, name: &str) -> Option<Format> {
        self.texts.iter().filter_map(|text| Format::parse(text)).find(|format| format.name == name)
    }
}

fn read(tracefs: &Path) -> io::Result<Vec<String>> {
    let folder = tracefs.join("events/sched");
    NAMES.iter().map(|name| fs::read_to_string(folder.join(name).join("format"))).collect()
}

/// The file of this very kernel: another one may number its tracepoints otherwise.
fn kept_path() -> io::Result<PathBuf> {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease")?;
    Ok(Path::new(CACHE).join(format!("tracepoints-{}", release.trim())))
}

fn read_kept(path: &Path) -> io::Result<Vec<String>> {
    let text = fs::read_to_string(path)?;
    let texts: Vec<String> = text.split('\0').map(str::to_owned).collect();
    let is_whole = texts.len() == NAMES.len() && texts.iter().all(|text| Format::parse(text).is_some());
    is_whole.then_some(texts).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

fn mount() -> io::Result<()> {
    let text = |text: &str| CString::new(text).expect("a constant without zero bytes");
    let (kind, target) = (text("tracefs"), text(TRACEFS));
    // SAFETY: the strings are terminated and outlive the call.
    let result = unsafe { libc::mount(kind.as_ptr(), target.as_ptr(), kind.as_ptr(), 0, std::ptr::null()) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kept_file_that_is_not_whole_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kept");
        let text = |number: usize| format!("name: {}\nID: {number}\n", NAMES[number - 1]);
        fs::write(&path, [text(1), text(2), text(3)].join("\0")).unwrap();
        assert_eq!(read_kept(&path).unwrap().len(), 3);
        fs::write(&path, [text(1), text(2)].join("\0")).unwrap();
        assert!(read_kept(&path).is_err());
        fs::write(&path, [text(1), text(2), "name: x".into()].join("\0")).unwrap();
        assert!(read_kept(&path).is_err());
    }
}
