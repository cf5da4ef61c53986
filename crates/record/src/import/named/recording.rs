//! The end of an import: what is left of the log, the symbols, and the manifest with what a reader has to know.

use longpole_event::MachineId;
use longpole_recording::{LogBuilder, LogName, Manifest, RecordingFolder, RunOutcome};

use super::super::error::{ImportError, ImportResult};
use super::log::NamedLog;
use crate::assembler::Assembled;
use crate::session::FinishedRecording;

/// Ends the recording of a trace of which all events were `written`, or those before the disk became full.
///
/// # Errors
/// [`ImportError`]: that of writing, unless the disk became full.
pub(in super::super) fn finish_recording(
    (folder, mut manifest): (RecordingFolder, Manifest),
    (log, written): (&mut NamedLog, ImportResult<()>),
    (mut notes, is_cut): (Vec<String>, bool),
) -> ImportResult<FinishedRecording> {
    let mut is_full = false;
    let finished = written
        .and_then(|()| Ok(LogBuilder::new(folder.create_log(MachineId(0), LogName::Symbols)?)))
        .and_then(|mut symbols| log.finish(&mut symbols));
    match finished {
        Err(ImportError::Recording(error)) if error.is_disk_full() => is_full = true,
        result => result?,
    }
    if is_full {
        notes.push("the disk became full: the rest of the trace is not in the recording".to_owned());
    }
    manifest.machines[0].collector.notes = notes;
    let (begin, end) = log.span.unwrap_or_default();
    let outcome = RunOutcome {
        begin_nanoseconds: begin,
        end_nanoseconds: end,
        exit_code: None,
        signal: None,
        truncated: is_full || is_cut,
    };
    manifest.outcome = Some(outcome);
    folder.write_manifest(&manifest)?;
    let assembled = Assembled { events: log.events, samples: log.samples, lost: 0 };
    Ok(FinishedRecording { path: folder.path().to_owned(), outcome, manifest, assembled, going_on: None })
}
