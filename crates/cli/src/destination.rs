//! Where a new recording goes, by the options `--output` and `--force`.

use std::path::PathBuf;

use longpole_recording::Destination;

/// The folder that was named, else the default one or the first free name like it. With `force` the recording in that
/// folder is replaced.
pub fn destination(output: Option<PathBuf>, force: bool, default: impl FnOnce() -> PathBuf) -> Destination {
    match (output, force) {
        (Some(path), false) => Destination::New(path),
        (Some(path), true) => Destination::Replace(path),
        (None, false) => Destination::FirstFree(default()),
        (None, true) => Destination::Replace(default()),
    }
}
