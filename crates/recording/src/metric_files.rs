//! Descriptions of metrics that are kept in a recording: files of `docs/metrics-files.md`, in `metrics/`.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use crate::contents::is_number;
use crate::error::{Error, Result};
use crate::folder::RecordingFolder;
use crate::regular::read_regular;

pub(crate) const METRICS: &str = "metrics";
/// Bytes of a file that describes metrics, at most.
pub const LARGEST_METRIC_FILE: u64 = 1 << 20;
/// Files that are read.
const MOST: usize = 256;

/// A file that describes metrics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetricFile {
    /// What errors call it.
    pub name: String,
    /// Its text.
    pub text: String,
}

impl RecordingFolder {
    /// Keeps files that describe metrics, in their order.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn keep_metric_files(&self, files: &[MetricFile]) -> Result<()> {
        if files.is_empty() {
            return Ok(());
        }
        let folder = self.path().join(METRICS);
        fs::create_dir_all(&folder).map_err(Error::io("create", &folder))?;
        for (index, file) in files.iter().enumerate() {
            let base = Path::new(&file.name).file_name().unwrap_or("metrics".as_ref()).to_string_lossy();
            let path = folder.join(format!("{index:03}-{base}"));
            fs::write(&path, &file.text).map_err(Error::io("write", &path))?;
        }
        Ok(())
    }

    /// The files that describe metrics, in the order in which they were given.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn metric_files(&self) -> Result<Vec<MetricFile>> {
        let folder = self.path().join(METRICS);
        let Ok(entries) = fs::read_dir(&folder) else { return Ok(Vec::new()) };
        let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
        let is_readable = |path: &Path| {
            is_kept(path.file_name().and_then(OsStr::to_str).unwrap_or_default())
                && fs::metadata(path).is_ok_and(|file| file.is_file() && file.len() <= LARGEST_METRIC_FILE)
        };
        paths.retain(|path| is_readable(path));
        paths.sort();
        if paths.len() > MOST {
            let reason = format!("it holds {} files, and {MOST} can be read", paths.len());
            return Err(Error::NotARecording { path: folder, reason });
        }
        let read = |path: &std::path::PathBuf| {
            let text = read_regular(path, LARGEST_METRIC_FILE).map_err(Error::unreadable(path))?;
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            // Without the number that keeps the order.
            let name = name.split_once('-').map_or(&*name, |(_, name)| name).to_owned();
            Ok(MetricFile { name, text })
        };
        paths.iter().map(read).collect()
    }
}

/// Whether a kept file has this name: `007-NAME`.
pub(crate) fn is_kept(name: &str) -> bool {
    name.split_once('-').is_some_and(|(number, _)| number.len() >= 3 && is_number(number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::Manifest;

    #[test]
    fn files_come_back_in_the_order_in_which_they_were_given() {
        let place = tempfile::tempdir().unwrap();
        let folder = RecordingFolder::create(&place.path().join("x.longpole"), &Manifest::default()).unwrap();
        assert_eq!(folder.metric_files().unwrap(), []);
        let file = |name: &str, text: &str| MetricFile { name: name.to_owned(), text: text.to_owned() };
        folder.keep_metric_files(&[file("/tmp/z.toml", "one"), file("a-b.ips2", "two")]).unwrap();
        assert_eq!(folder.metric_files().unwrap(), [file("z.toml", "one"), file("a-b.ips2", "two")]);
    }
}
