//! Of which recording and by which longpole something was computed.

use std::fmt::Write;
use std::fs::Metadata;
use std::time::{SystemTime, UNIX_EPOCH};

use longpole_recording::RecordingFolder;

/// Size and last change of a recording's files, as they were when it was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Version {
    files: Vec<Option<(u64, SystemTime)>>,
}

/// What can become of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileChange {
    /// They are not there any more.
    Gone,
    /// Other ones are there.
    Replaced,
}

impl Version {
    /// Of the recording as it is now.
    pub(crate) fn of(folder: &RecordingFolder, machines: usize) -> Version {
        Version { files: folder.versions(machines) }
    }

    /// What has become of the files since then.
    pub(crate) fn change(&self, now: &Version) -> Option<FileChange> {
        let mut pairs = self.files.iter().zip(&now.files);
        match pairs.find(|(then, now)| then != now)? {
            (_, None) => Some(FileChange::Gone),
            (_, Some(_)) => Some(FileChange::Replaced),
        }
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

#[cfg(test)]
mod tests {
    use std::fs;

    use longpole_testkit::Drawing;

    use super::*;

    #[test]
    fn it_is_told_what_became_of_the_files() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.longpole");
        Drawing::example().write(&path).unwrap();
        let (folder, manifest) = RecordingFolder::open(&path).unwrap();
        let now = || Version::of(&folder, manifest.machines.len());
        let then = now();
        assert_eq!(then.change(&now()), None);
        fs::create_dir(folder.cache()).unwrap();
        assert_eq!(then.change(&now()), None, "what is computed changes nothing");
        fs::write(path.join("machine-0/events.log"), "other").unwrap();
        assert_eq!(then.change(&now()), Some(FileChange::Replaced));
        assert_ne!(then.line(), now().line());
        fs::remove_dir_all(&path).unwrap();
        assert_eq!(then.change(&now()), Some(FileChange::Gone));
    }
}
