//! Writes what an import yields as a recording.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek};
use std::path::Path;
use std::time::UNIX_EPOCH;

use longpole_event::MachineId;
use longpole_otf2::TraceAnchor;
use longpole_recording::{
    CollectorDescription, Destination, FORMAT_VERSION, LogBuilder, LogName, MachineDescription, Manifest,
    RunOutcome, open_regular,
};

use super::error::{ImportError, ImportResult};
use super::otf2::import_trace;
use super::{ImportSource, ImportSummary};
use crate::assembler::Assembler;
use crate::session::FinishedRecording;

/// Imports `file`, a `perf.data` or the anchor file of an OTF2 trace, into the new recording `output`.
///
/// # Errors
/// [`ImportError`]; the recording is created only after the file turned out to hold what is needed.
pub fn import(file: &Path, output: &Destination) -> ImportResult<FinishedRecording> {
    import_file(file, output).map_err(|error| match error {
        ImportError::Recording(error) => ImportError::Recording(error),
        reason => ImportError::File { path: file.to_owned(), reason: Box::new(reason) },
    })
}

fn import_file(file: &Path, output: &Destination) -> ImportResult<FinishedRecording> {
    let mut opened = open_regular(file).map_err(ImportError::Read)?;
    if is_trace(&mut opened).map_err(ImportError::Read)? {
        return import_trace(file, output);
    }
    let started = opened.metadata().and_then(|metadata| metadata.modified()).map_err(ImportError::Read)?;
    let source = ImportSource::open(BufReader::with_capacity(1 << 20, opened))?;
    let mut manifest = Manifest {
        format_version: FORMAT_VERSION,
        longpole: env!("CARGO_PKG_VERSION").to_owned(),
        command: vec!["import".to_owned(), file.display().to_string()],
        started_unix_seconds: started.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()),
        ..Manifest::default()
    };
    let folder = output.create(&manifest)?;
    let log = |name| Ok::<_, ImportError>(LogBuilder::new(folder.create_log(MachineId(0), name)?));
    let mut assembler = Assembler::new(log(LogName::Events)?);
    let mut is_full = false;
    let summary = source.events(&mut |event| {
        if is_full {
            return Ok(());
        }
        match assembler.push(event) {
            Err(error) if error.is_disk_full() => is_full = true,
            result => result?,
        }
        Ok(())
    })?;
    let assembled = assembler.assembled();
    let frames = assembler.frames_to_name();
    let written = assembler.finish().map(drop).and_then(|()| {
        let symbols = folder.create_log(MachineId(0), LogName::Symbols)?;
        frames.write(&mut LogBuilder::new(symbols)).map(drop)
    });
    match written {
        Err(error) if error.is_disk_full() => is_full = true,
        result => result?,
    }
    let outcome = describe(&mut manifest, summary, is_full);
    folder.write_manifest(&manifest)?;
    Ok(FinishedRecording { path: folder.path().to_owned(), outcome, manifest, assembled, going_on: None })
}

/// Whether a file begins as the anchor file of an OTF2 trace.
fn is_trace(file: &mut File) -> io::Result<bool> {
    let mut begin = Vec::new();
    file.by_ref().take(16).read_to_end(&mut begin)?;
    file.rewind()?;
    Ok(TraceAnchor::begins(&begin))
}

fn describe(manifest: &mut Manifest, mut summary: ImportSummary, is_full: bool) -> RunOutcome {
    if is_full {
        summary.notes.push("the disk became full: the rest of the file is not in the recording".to_owned());
    }
    manifest.command = summary.command;
    manifest.machines = vec![MachineDescription {
        name: summary.host,
        kernel: summary.kernel,
        cpus: summary.cpus,
        collector: CollectorDescription {
            name: "import".to_owned(),
            sample_hertz: summary.hertz,
            notes: summary.notes,
            ..CollectorDescription::default()
        },
        ..MachineDescription::default()
    }];
    let (begin, end) = summary.span.unwrap_or_default();
    let outcome = RunOutcome {
        begin_nanoseconds: begin.nanoseconds(),
        end_nanoseconds: end.nanoseconds(),
        exit_code: None,
        signal: None,
        truncated: is_full || summary.is_truncated,
    };
    manifest.outcome = Some(outcome);
    outcome
}
