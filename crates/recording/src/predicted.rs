//! What changes were predicted to gain when somebody asked (`longpole what-if`): `predicted.json`, so that a later recording of the
//! changed program can be compared with it.

use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::folder::RecordingFolder;
use crate::kept_list::{read_list, write_list};

pub(crate) const PREDICTED: &str = "predicted.json";
pub(crate) const NEW_PREDICTED: &str = "predicted.json.new";
/// Predictions that are kept: the latest ones.
const MOST: usize = 32;

/// A change, and what it was predicted to gain.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PredictedChange {
    /// The change as `what-if --set` takes it; several with blanks between them.
    pub change: String,
    /// The predicted gain, per cent of the recorded run.
    pub gain_percent: f64,
    /// The predicted range.
    pub range_percent: (f64, f64),
}

impl RecordingFolder {
    /// What was predicted, in the order in which it was; nothing where the file is not there, or not to be read.
    #[must_use]
    pub fn predicted(&self) -> Vec<PredictedChange> {
        read_list(&self.path().join(PREDICTED))
    }

    /// Keeps a prediction; an earlier one of the same change goes.
    ///
    /// # Errors
    /// [`Error::Io`](crate::Error::Io).
    pub fn keep_predicted(&self, prediction: PredictedChange) -> Result<()> {
        let mut all = self.predicted();
        all.retain(|earlier| earlier.change != prediction.change);
        all.push(prediction);
        let latest = &all[all.len().saturating_sub(MOST)..];
        write_list(latest, &self.path().join(PREDICTED), &self.path().join(NEW_PREDICTED))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::Manifest;

    #[test]
    fn the_latest_predictions_are_kept_one_of_each_change() {
        let folder = tempfile::tempdir().unwrap();
        let folder = RecordingFolder::create(&folder.path().join("x"), &Manifest::default()).unwrap();
        let keep = |change: &str, gain_percent| {
            let range_percent = (0.0, gain_percent);
            let prediction = PredictedChange { change: change.to_owned(), gain_percent, range_percent };
            folder.keep_predicted(prediction).unwrap();
        };
        for number in 0..40 {
            keep(&format!("p{number}=0"), 1.0);
        }
        keep("p20=0", 2.0);
        let kept = folder.predicted();
        assert_eq!((kept.len(), kept[0].change.as_str()), (32, "p8=0"));
        assert_eq!((kept[31].change.as_str(), kept[31].gain_percent), ("p20=0", 2.0));
    }
}
