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
};

use super::error::{ImportError, ImportResult};
use super::named::{NamedLog, finish_recording};
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
    let manifest = describe(&trace, file);
    let folder = output.create(&manifest)?;
    let log = LogBuilder::new(folder.create_log(MachineId(0), LogName::Events)?);
    let mut writer = ChromeWriter::new(&trace, NamedLog::new(log, true), choice);
    let written = writer.write();
    let notes = notes::notes(&trace, &writer);
    let is_cut = trace.damage().is_cut || trace.damage().beyond > 0;
    finish_recording((folder, manifest), (&mut writer.log, written), (notes, is_cut))
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
