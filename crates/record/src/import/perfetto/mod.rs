//! Imports Perfetto traces: the kernel's scheduling, samples with call stacks, slices of threads.
//!
//! In: a file of packets. Out: a recording of all processes but the kernel's own. What the trace does not hold is said in the notes.

mod notes;
mod writer;

use std::io::{Read, Seek};
use std::path::Path;

use longpole_event::MachineId;
use longpole_perfetto::PerfettoTrace;
use longpole_recording::{
    CollectorDescription, Destination, FORMAT_VERSION, LogBuilder, LogName, MachineDescription, Manifest,
};

use super::error::{ImportError, ImportResult};
use super::named::{NamedLog, finish_recording};
use crate::session::FinishedRecording;
use writer::PerfettoWriter;

/// Imports the Perfetto trace that `reader` reads, called after `file`, or only that process of it, into the new recording `output`.
///
/// # Errors
/// [`ImportError`]; the recording is created only after the trace turned out to hold what is needed.
pub fn import_perfetto(
    reader: impl Read + Seek,
    (file, only): (&Path, Option<&str>),
    output: &Destination,
) -> ImportResult<FinishedRecording> {
    let mut trace = PerfettoTrace::open(reader)?;
    if let Some(name) = only.filter(|name| !writer::has_process(trace.threads(), name)) {
        return Err(ImportError::NoProcess { name: name.to_owned() });
    }
    let manifest = describe(&trace, file);
    let folder = output.create(&manifest)?;
    let log = LogBuilder::new(folder.create_log(MachineId(0), LogName::Events)?);
    let mut writer =
        PerfettoWriter::new(NamedLog::new(log, trace.contents().stacks == 0), trace.contents(), only);
    let written = writer.write(&mut trace);
    let notes = notes::notes(&trace, &writer);
    let is_cut = trace.damage().is_cut || trace.damage().beyond > 0;
    finish_recording((folder, manifest), (&mut writer.log, written), (notes, is_cut))
}

fn describe<R: Read + Seek>(trace: &PerfettoTrace<R>, file: &Path) -> Manifest {
    let contents = trace.contents();
    // Without scheduling nothing says how many there are, so that they limit nothing.
    let cpus = if contents.switches == 0 { trace.threads().tids().count() as u32 } else { contents.cpus };
    Manifest {
        format_version: FORMAT_VERSION,
        longpole: env!("CARGO_PKG_VERSION").to_owned(),
        command: vec![file.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()],
        machines: vec![MachineDescription {
            name: contents.host.clone(),
            kernel: contents.kernel.clone(),
            cpus: cpus.max(1),
            collector: CollectorDescription {
                name: CollectorDescription::PERFETTO.to_owned(),
                sample_hertz: hertz(contents.sample_period),
                ..CollectorDescription::default()
            },
            ..MachineDescription::default()
        }],
        ..Manifest::default()
    }
}

/// Samples per second at this period, nanoseconds; 0 for none.
fn hertz(period: u64) -> u32 {
    let hertz = 1_000_000_000_u64.checked_div(period).map_or(0, |hertz| hertz.max(1));
    u32::try_from(hertz).unwrap_or(u32::MAX)
}
