//! Writes what an import yields as a recording.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek};
use std::path::Path;
use std::time::UNIX_EPOCH;

use longpole_chrome::ChromeTrace;
use longpole_event::MachineId;
use longpole_otf2::TraceAnchor;
use longpole_perfetto::PerfettoTrace;
use longpole_recording::{
    CollectorDescription, Destination, FORMAT_VERSION, LogBuilder, LogName, MachineDescription, Manifest,
    RunOutcome, open_regular,
};

use super::chrome::{ImportChoice, import_chrome};
use super::container;
use super::error::{ImportError, ImportResult};
use super::otf2::import_trace;
use super::perfetto::import_perfetto;
use super::{ImportSource, ImportSummary};
use crate::assembler::Assembler;
use crate::session::FinishedRecording;

/// Imports `file`, a `perf.data`, the anchor file of an OTF2 trace, a Perfetto trace or one in Chrome's JSON format, into the new
/// recording `output`.
///
/// # Errors
/// [`ImportError`]; the recording is created only after the file turned out to hold what is needed.
pub fn import(
    file: &Path,
    choice: ImportChoice<'_>,
    output: &Destination,
) -> ImportResult<FinishedRecording> {
    import_file(file, choice, output).map_err(|error| match error {
        ImportError::Recording(error) => ImportError::Recording(error),
        reason => ImportError::File { path: file.to_owned(), reason: Box::new(reason) },
    })
}

fn import_file(
    file: &Path,
    choice: ImportChoice<'_>,
    output: &Destination,
) -> ImportResult<FinishedRecording> {
    let mut opened = open_regular(file).map_err(ImportError::Read)?;
    match kind_of(&mut opened).map_err(ImportError::Read)? {
        ImportedKind::Otf2 | ImportedKind::PerfData if choice.process.is_some() || choice.rank.is_some() => {
            Err(ImportError::NotChosen)
        }
        ImportedKind::Perfetto if choice.rank.is_some() => Err(ImportError::NotChosen),
        ImportedKind::Otf2 => import_trace(file, output),
        ImportedKind::PerfData => import_perf_data(file, opened, output),
        ImportedKind::Perfetto => import_perfetto(opened, (file, choice.process), output),
        ImportedKind::Chrome => import_chrome(opened, (file, choice), output),
        ImportedKind::Unknown => Err(ImportError::UnknownKind),
    }
}

fn import_perf_data(file: &Path, opened: File, output: &Destination) -> ImportResult<FinishedRecording> {
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

/// What a file can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ImportedKind {
    PerfData,
    Otf2,
    Perfetto,
    Chrome,
    Unknown,
}

/// What a file is, by its first bytes.
fn kind_of(file: &mut File) -> io::Result<ImportedKind> {
    let mut begin = Vec::new();
    file.by_ref().take(64).read_to_end(&mut begin)?;
    file.rewind()?;
    Ok(match () {
        () if TraceAnchor::begins(&begin) => ImportedKind::Otf2,
        () if container::begins(&begin) => ImportedKind::PerfData,
        () if PerfettoTrace::<File>::begins(&begin) => ImportedKind::Perfetto,
        () if ChromeTrace::begins(&begin) => ImportedKind::Chrome,
        () => ImportedKind::Unknown,
    })
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
