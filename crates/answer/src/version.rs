//! Of which recording and by which longpole something was computed.

use std::fmt::Write;
use std::fs::Metadata;
use std::time::{SystemTime, UNIX_EPOCH};

use longpole_recording::Folder;

/// Size and last change of a recording's files, as they were when it was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Version {
    files: Vec<Option<(u64, SystemTime)>>,
}

impl Version {
    /// Of the recording as it is now.
    pub(crate) fn of(folder: &Folder, machines: usize) -> Version {
        Version { files: folder.versions(machines) }
    }

    /// Whether files that are there now are other ones. Those that are gone are not: what is known of them stays true.
    pub(crate) fn is_replaced_by(&self, now: &Version) -> bool {
        self.files.iter().zip(&now.files).any(|(then, now)| now.is_some() && now != then)
    }

    /// A line that says it, with the version of this program; `None` where that cannot be told.
    pub(crate) fn line(&self) -> Option<String> {
        // Two builds of one version can answer differently.
        let program = std::env::current_exe().and_then(std::fs::metadata).ok()?;
        let mut line = format!("{} {}", env!("CARGO_PKG_VERSION"), change(&program)?);
        for file in &self.files {
            match file {
                Some((length, changed)) => write!(line, " {length}@{}", nanoseconds(*changed)?).ok()?,
                None => line.push_str(" -"),
            }
        }
        Some(line)
    }
}

fn change(metadata: &Metadata) -> Option<String> {
    Some(format!("{}@{}", metadata.len(), nanoseconds(metadata.modified().ok()?)?))
}

fn nanoseconds(time: SystemTime) -> Option<u128> {
    Some(time.duration_since(UNIX_EPOCH).ok()?.as_nanos())
}
