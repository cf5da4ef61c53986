//! What changes of the program were measured to gain (metrics.md §5, true zeroing): `measured.json`, beside what predicts it.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::folder::RecordingFolder;
use crate::kept_list::{read_list, write_list};

pub(crate) const MEASURED: &str = "measured.json";
pub(crate) const NEW_MEASURED: &str = "measured.json.new";
/// A change of the program, and what it was measured to gain.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeasuredChange {
    /// The change as `what-if --set` takes it: `solve=0`.
    pub change: String,
    /// The command that ran the changed program.
    pub command: String,
    /// The median gain, per cent of the unchanged run.
    pub gain_percent: f64,
    /// The interval that holds this median in 95 of 100 cases; `None` of too few runs.
    pub interval_percent: Option<(f64, f64)>,
    /// Pairs of runs behind it.
    pub pairs: usize,
}

impl RecordingFolder {
    /// What was measured, in the order in which it was; nothing where the file is not there, or not to be read.
    #[must_use]
    pub fn measured(&self) -> Vec<MeasuredChange> {
        read_list(&self.measured_file())
    }

    /// Keeps what was measured; an earlier measurement of the same change goes.
    ///
    /// # Errors
    /// [`Error::Io`](crate::Error::Io).
    pub fn keep_measured(&self, changes: &[MeasuredChange]) -> Result<()> {
        let mut all = self.measured();
        all.retain(|earlier| !changes.iter().any(|change| change.change == earlier.change));
        all.extend_from_slice(changes);
        let (file, new) = (self.measured_file(), self.path().join(NEW_MEASURED));
        write_list(&all, &file, &new)
    }

    /// The file of what was measured, which answers depend on.
    #[must_use]
    pub fn measured_file(&self) -> PathBuf {
        self.path().join(MEASURED)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::manifest::Manifest;

    fn change(change: &str, gain_percent: f64) -> MeasuredChange {
        let command = "./without".to_owned();
        MeasuredChange { change: change.to_owned(), command, gain_percent, interval_percent: None, pairs: 3 }
    }

    #[test]
    fn a_later_measurement_of_a_change_replaces_the_earlier_one() {
        let folder = tempfile::tempdir().unwrap();
        let folder = RecordingFolder::create(&folder.path().join("x"), &Manifest::default()).unwrap();
        assert!(folder.measured().is_empty());
        folder.keep_measured(&[change("a=0", 10.0), change("b=0", 20.0)]).unwrap();
        folder.keep_measured(&[change("a=0", 12.0)]).unwrap();
        assert_eq!(folder.measured(), [change("b=0", 20.0), change("a=0", 12.0)]);
        fs::write(folder.measured_file(), "[{").unwrap();
        assert!(folder.measured().is_empty());
    }

    #[test]
    fn it_goes_with_the_recording() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("x");
        let folder = RecordingFolder::create(&path, &Manifest::default()).unwrap();
        folder.keep_measured(&[change("a=0", 10.0)]).unwrap();
        drop(folder);
        let contents = crate::contents::Contents::of(&path).unwrap();
        contents.remove().unwrap();
        assert!(!path.join(MEASURED).exists());
    }
}
