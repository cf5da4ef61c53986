//! Imports traces in Chrome's JSON format: slices of threads, and of the streams of a GPU with who launched them and who waits for them.
//!
//! In: a file. Out: a recording of its processes. What the trace does not hold is said in the notes.

mod lane_waits;
mod notes;
mod writer;

use std::io::Read;
use std::path::Path;

use longpole_chrome::ChromeTrace;
use longpole_event::MachineId;
use longpole_recording::{
    CollectorDescription, Destination, FORMAT_VERSION, LogBuilder, LogName, MachineDescription, Manifest,
    RunOutcome,
};

use super::error::{ImportError, ImportResult};
use super::named::NamedLog;
use crate::assembler::Assembled;
use crate::session::FinishedRecording;
use writer::ChromeWriter;

/// What is chosen of a trace, and what it does not say itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct ImportChoice<'a> {
    /// The only process that is imported, by its pid or name.
    pub process: Option<&'a str>,
    /// Which process of a distributed job the trace is of, and how many there are.
    pub rank: Option<(u32, u32)>,
}

/// Imports the trace that `reader` reads, called after `file`, into the new recording `output`.
///
/// # Errors
/// [`ImportError`]; the recording is created only after the trace turned out to hold what is needed.
pub fn import_chrome(
    reader: impl Read,
    (file, choice): (&Path, ImportChoice<'_>),
    output: &Destination,
) -> ImportResult<FinishedRecording> {
    let trace = ChromeTrace::read(reader)?;
    if let Some(name) = choice.process.filter(|name| !writer::has_process(&trace, name)) {
        return Err(ImportError::NoProcess { name: name.to_owned() });
    }
    let mut manifest = describe(&trace, file);
    let folder = output.create(&manifest)?;
    let log = |name| -> ImportResult<_> { Ok(LogBuilder::new(folder.create_log(MachineId(0), name)?)) };
    let mut writer = ChromeWriter::new(&trace, NamedLog::new(log(LogName::Events)?, true), choice);
    let mut is_full = false;
    let written = writer
        .write()
        .and_then(|()| log(LogName::Symbols))
        .and_then(|mut symbols| writer.log.finish(&mut symbols));
    match written {
        Err(ImportError::Recording(error)) if error.is_disk_full() => is_full = true,
        result => result?,
    }
    let mut notes = notes::notes(&trace, &writer);
    if is_full {
        notes.push("the disk became full: the rest of the trace is not in the recording".to_owned());
    }
    manifest.machines[0].collector.notes = notes;
    let (begin, end) = writer.log.span.unwrap_or_default();
    let truncated = is_full || trace.damage().is_cut || trace.damage().beyond > 0;
    let outcome = RunOutcome {
        begin_nanoseconds: begin,
        end_nanoseconds: end,
        exit_code: None,
        signal: None,
        truncated,
    };
    manifest.outcome = Some(outcome);
    folder.write_manifest(&manifest)?;
    let assembled = Assembled { events: writer.log.events, samples: writer.log.samples, lost: 0 };
    Ok(FinishedRecording { path: folder.path().to_owned(), outcome, manifest, assembled, going_on: None })
}

fn describe(trace: &ChromeTrace, file: &Path) -> Manifest {
    let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let name = name.split('.').next().unwrap_or_default().to_owned();
    Manifest {
        format_version: FORMAT_VERSION,
        longpole: env!("CARGO_PKG_VERSION").to_owned(),
        command: vec![name.clone()],
        machines: vec![MachineDescription {
            name,
            // Nothing says how many there are, so that they limit nothing.
            cpus: trace.lanes().len().max(1) as u32,
            collector: CollectorDescription {
                name: CollectorDescription::CHROME.to_owned(),
                ..CollectorDescription::default()
            },
            ..MachineDescription::default()
        }],
        ..Manifest::default()
    }
}
