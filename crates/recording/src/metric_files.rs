//! Descriptions of metrics that are kept in a recording: files of `docs/metrics-files.md`, in `metrics/`.

use std::fs;
use std::path::Path;

use crate::error::{Error, Result};
use crate::folder::Folder;

const METRICS: &str = "metrics";
/// Bytes of one file that are read.
const LARGEST: u64 = 1 << 20;

/// A file that describes metrics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetricFile {
    /// What errors call it.
    pub name: String,
    /// Its text.
    pub text: String,
}

impl Folder {
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
        paths.retain(|path| fs::metadata(path).is_ok_and(|file| file.is_file() && file.len() <= LARGEST));
        paths.sort();
        let read = |path: &std::path::PathBuf| {
            let bytes = fs::read(path).map_err(Error::io("read", path))?;
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            // Without the number that keeps the order.
            let name = name.split_once('-').map_or(&*name, |(_, name)| name).to_owned();
            Ok(MetricFile { name, text: String::from_utf8_lossy(&bytes).into_owned() })
        };
        paths.iter().map(read).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::Manifest;

    #[test]
    fn files_come_back_in_the_order_in_which_they_were_given() {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder::create(&place.path().join("x.longpole"), &Manifest::default()).unwrap();
        assert_eq!(folder.metric_files().unwrap(), []);
        let file = |name: &str, text: &str| MetricFile { name: name.to_owned(), text: text.to_owned() };
        folder.keep_metric_files(&[file("/tmp/z.toml", "one"), file("a-b.ips2", "two")]).unwrap();
        assert_eq!(folder.metric_files().unwrap(), [file("z.toml", "one"), file("a-b.ips2", "two")]);
    }
}
