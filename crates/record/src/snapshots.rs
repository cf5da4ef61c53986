//! Copies of what is kept of a run, made while it is recorded: each is a recording of its own.
//!
//! The segments are copied, or shared where the file system can, between two rounds of the recorder; looking up names
//! takes longer, and is done in a thread beside it.

use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::JoinHandle;

use longpole_event::{MachineId, Time};
use longpole_recording::{Destination, LogBuilder, LogName, Manifest, RecordingFolder, RunOutcome};

use crate::error::describe;
use crate::naming::FramesToName;
use crate::session::keep_since;

/// What became of a copy: its folder, or why there is none.
type SnapshotResult = std::result::Result<PathBuf, String>;

/// The copies of one recording.
#[derive(Debug)]
pub(crate) struct Snapshots {
    folder: RecordingFolder,
    manifest: Manifest,
    threads: Vec<JoinHandle<()>>,
    results: (Sender<SnapshotResult>, Receiver<SnapshotResult>),
}

impl Snapshots {
    pub(crate) fn of(folder: RecordingFolder, manifest: Manifest) -> Snapshots {
        Snapshots { folder, manifest, threads: Vec::new(), results: mpsc::channel() }
    }

    /// Copies what is kept of a run that began at `begin`, up to now. The frames are those of the whole run.
    pub(crate) fn take(&mut self, begin: Time, now: Time, frames: FramesToName) {
        let (from, mut manifest) = (self.folder.clone(), self.manifest.clone());
        manifest.outcome = None;
        let copied = from.snapshot(&Destination::FirstFree(name(&from)), &manifest);
        let result = self.results.0.clone();
        let finish = move || {
            let copied = copied.and_then(|copy| {
                finish(&copy, manifest, (begin, now), frames)?;
                Ok(copy.path().to_owned())
            });
            // The recorder may be gone.
            let _ = result.send(copied.map_err(|error| describe(&error)));
        };
        match std::thread::Builder::new().name("snapshot".into()).spawn(finish) {
            Ok(thread) => self.threads.push(thread),
            Err(error) => drop(self.results.0.send(Err(error.to_string()))),
        }
        self.threads.retain(|thread| !thread.is_finished());
    }

    /// What became of those that are finished since the last call.
    pub(crate) fn taken(&mut self) -> impl Iterator<Item = SnapshotResult> + '_ {
        self.results.1.try_iter()
    }

    /// Waits for those that are not finished; gives what the recording has to say of them.
    pub(crate) fn finish(mut self) -> Vec<String> {
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
        let failed =
            |taken: SnapshotResult| taken.err().map(|reason| format!("a snapshot was not kept: {reason}"));
        self.results.1.try_iter().filter_map(failed).collect()
    }
}

/// `x-snapshot.longpole` beside `x.longpole`.
fn name(of: &RecordingFolder) -> PathBuf {
    let mut name = of.path().file_stem().unwrap_or_default().to_owned();
    name.push("-snapshot");
    if let Some(extension) = of.path().extension() {
        name.push(".");
        name.push(extension);
    }
    of.path().with_file_name(name)
}

/// Names what was copied; the outcome is last, so that a recording that has one is whole.
fn finish(
    copy: &RecordingFolder,
    mut manifest: Manifest,
    (begin, now): (Time, Time),
    mut frames: FramesToName,
) -> longpole_recording::Result<()> {
    let since = frames.read_window(copy)?;
    keep_since(&mut manifest, begin, since);
    let mut symbols = LogBuilder::new(copy.create_log(MachineId(0), LogName::Symbols)?);
    frames.write(&mut symbols)?;
    manifest.outcome = Some(RunOutcome {
        begin_nanoseconds: since.unwrap_or(begin).nanoseconds(),
        end_nanoseconds: now.nanoseconds(),
        exit_code: None,
        signal: None,
        truncated: false,
    });
    copy.write_manifest(&manifest)
}
