//! Imports OTF2 traces: what their threads did, as a recording of the same run would have it.
//!
//! In: the anchor file of a trace. Out: a recording with a log for each machine. Every moment at which a thread enters or leaves a
//! region is known, so that charges are exact; between these a thread works, but for the waits that its calls of MPI, barriers,
//! locks and ends of threads show.

mod calls;
mod code;
mod communicators;
mod layout;
mod locks;
mod notes;
mod regions;
mod stream;
mod teams;
mod thread_ends;
mod writer;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::Path;

use longpole_event::MachineId;
use longpole_otf2::{
    LocalDefinitions, LocationEvents, TraceAnchor, TraceDefinitions, TraceFile, TraceFiles, TraceFolder,
    read_definitions,
};
use longpole_recording::{
    CollectorDescription, Destination, FORMAT_VERSION, LogBuilder, LogName, MachineDescription, Manifest,
    RecordingFolder, RunOutcome, open_regular,
};

use super::error::{ImportError, ImportResult};
use crate::assembler::Assembled;
use crate::session::FinishedRecording;
use layout::TraceLayout;
use notes::TraceNotes;
use stream::{EventStream, TickScale};
use writer::TraceWriter;

/// Threads of a trace that are imported.
const MOST_THREADS: u64 = 1 << 20;
/// Machines of a recording.
const MOST_MACHINES: u64 = 4096;
/// Bytes of all files of events together that are in memory, and the least of each.
const WINDOWS: usize = 64 << 20;
const WINDOW: std::ops::RangeInclusive<usize> = 4 << 10..=256 << 10;

/// Imports the trace with this anchor file into the new recording `output`.
pub(super) fn import_trace(anchor: &Path, output: &Destination) -> ImportResult<FinishedRecording> {
    import_trace_files(&mut TraceFolder::new(anchor, open_regular), anchor, output)
}

/// Imports the trace with these files, called after this anchor file, into the new recording `output`.
///
/// # Errors
/// [`ImportError`]; the recording is created only after the definitions turned out to be there.
pub fn import_trace_files(
    files: &mut impl TraceFiles,
    anchor: &Path,
    output: &Destination,
) -> ImportResult<FinishedRecording> {
    let trace = OpenTrace::open(files)?;
    let mut manifest = trace.describe(anchor);
    let folder = output.create(&manifest)?;
    let (mut is_full, mut written) = (false, TraceOutcome::default());
    match trace.write(files, (&folder, &manifest), &mut written) {
        Err(ImportError::Recording(error)) if error.is_disk_full() => is_full = true,
        result => result?,
    }
    if is_full {
        written.notes.push("the disk became full: the rest of the trace is not in the recording".to_owned());
    }
    for machine in &mut manifest.machines {
        machine.collector.notes.clone_from(&written.notes);
    }
    let (begin, end) = written.span;
    let outcome = RunOutcome {
        begin_nanoseconds: begin,
        end_nanoseconds: end,
        exit_code: None,
        signal: None,
        truncated: is_full || written.is_cut,
    };
    manifest.outcome = Some(outcome);
    folder.write_manifest(&manifest)?;
    let assembled = Assembled { events: written.events, samples: 0, lost: 0 };
    Ok(FinishedRecording { path: folder.path().to_owned(), outcome, manifest, assembled, going_on: None })
}

/// What an import came to.
#[derive(Debug, Default)]
struct TraceOutcome {
    span: (u64, u64),
    events: u64,
    is_cut: bool,
    notes: Vec<String>,
}

/// A trace whose definitions are read.
struct OpenTrace {
    anchor: TraceAnchor,
    definitions: TraceDefinitions,
    layout: TraceLayout,
}

impl OpenTrace {
    fn open(files: &mut impl TraceFiles) -> ImportResult<OpenTrace> {
        let anchor = TraceAnchor::read(files)?;
        let definitions = read_definitions(files, &anchor)?;
        let layout = TraceLayout::of(&definitions);
        let limits = [
            (layout.threads.len() as u64, MOST_THREADS, "threads"),
            (layout.machines.len() as u64, MOST_MACHINES, "machines"),
        ];
        if let Some(&(_, most, what)) = limits.iter().find(|(count, most, _)| count > most) {
            return Err(longpole_otf2::TraceError::TooMany { what, most }.into());
        }
        if layout.threads.is_empty() {
            let (file, reason) = (TraceFile::Definitions, "it has no threads");
            return Err(longpole_otf2::TraceError::Definitions { file, reason }.into());
        }
        Ok(OpenTrace { anchor, definitions, layout })
    }

    fn describe(&self, anchor: &Path) -> Manifest {
        let machine = |machine: &layout::TracedMachine| MachineDescription {
            name: if machine.name.is_empty() { self.anchor.machine.clone() } else { machine.name.clone() },
            // A trace does not say how many processors there were: each thread had one.
            cpus: machine.threads,
            collector: CollectorDescription {
                name: CollectorDescription::OTF2.to_owned(),
                ..CollectorDescription::default()
            },
            ..MachineDescription::default()
        };
        Manifest {
            format_version: FORMAT_VERSION,
            longpole: env!("CARGO_PKG_VERSION").to_owned(),
            command: vec![program_name(anchor)],
            started_unix_seconds: self.definitions.clock.realtime.unwrap_or(0) / 1_000_000_000,
            machines: self.layout.machines.iter().map(machine).collect(),
            ..Manifest::default()
        }
    }

    fn write(
        &self,
        files: &mut impl TraceFiles,
        (folder, manifest): (&RecordingFolder, &Manifest),
        outcome: &mut TraceOutcome,
    ) -> ImportResult<()> {
        let logs = |name| -> ImportResult<Vec<LogBuilder>> {
            let machines = 0..self.layout.machines.len();
            let log = |machine| Ok(LogBuilder::new(folder.create_log(MachineId(machine as u32), name)?));
            machines.map(log).collect()
        };
        let mut notes = TraceNotes::default();
        let mut streams = self.streams(files, &mut notes)?;
        let program = manifest.command.first().cloned().unwrap_or_default();
        let known = (&self.definitions, &self.layout);
        let mut writer = TraceWriter::new(known, program, logs(LogName::Events)?);
        let result = merge(files, &mut streams, &mut writer);
        notes.take_damage(&streams);
        outcome.span = writer.span.unwrap_or_default();
        outcome.events = writer.counts.events;
        outcome.is_cut = notes.is_cut();
        outcome.notes = notes.texts((&self.anchor, &self.definitions, &self.layout), &writer.counts);
        result?;
        let counts = writer.finish(logs(LogName::Symbols)?)?;
        outcome.notes = notes.texts((&self.anchor, &self.definitions, &self.layout), &counts);
        Ok(())
    }

    fn streams(&self, files: &mut impl TraceFiles, notes: &mut TraceNotes) -> ImportResult<Vec<EventStream>> {
        let clock = self.definitions.clock;
        let scale = TickScale { offset: clock.offset, resolution: clock.resolution };
        let memory = (WINDOWS / self.layout.threads.len()).clamp(*WINDOW.start(), *WINDOW.end());
        let mut streams = Vec::with_capacity(self.layout.threads.len());
        for thread in &self.layout.threads {
            let local = LocalDefinitions::read(files, thread.location, self.anchor.definition_chunk)?;
            notes.take_local(&local);
            let location = (thread.location, local);
            let events = LocationEvents::open(files, location, (self.anchor.event_chunk, memory))?;
            notes.missing += u64::from(events.is_none());
            streams.push(EventStream::new(events, scale));
        }
        Ok(streams)
    }
}

/// Hands over the events of all threads in the order of time. Of events at one time those of threads that wait come last: what lets
/// them go on is before them.
fn merge(
    files: &mut impl TraceFiles,
    streams: &mut [EventStream],
    writer: &mut TraceWriter<'_>,
) -> ImportResult<()> {
    let mut next = BinaryHeap::with_capacity(streams.len());
    for (thread, stream) in streams.iter_mut().enumerate() {
        next.extend(stream.next_time(files)?.map(|time| Reverse((time, false, thread))));
    }
    while let Some(Reverse((_, _, thread))) = next.pop() {
        let limit = next.peek().map(|&Reverse(other)| other);
        let stream = &mut streams[thread];
        // Most events are followed by one of the same thread.
        while let Some((time, event)) = stream.next(files)? {
            writer.take((thread, time), event, &mut |place| stream.peek(files, place))?;
            let Some(time) = stream.next_time(files)? else {
                writer.end_of_events(thread)?;
                break;
            };
            let key = (time, writer.threads[thread].waits.is_some(), thread);
            if limit.is_some_and(|limit| limit < key) {
                next.push(Reverse(key));
                break;
            }
        }
    }
    Ok(())
}

/// What the program is called: no trace says it, so that it has the name of the trace's folder, or of its anchor file.
fn program_name(anchor: &Path) -> String {
    let name = |path: Option<&std::ffi::OsStr>| path.map(|name| name.to_string_lossy().into_owned());
    let stem = name(anchor.file_stem()).unwrap_or_default();
    if stem != "traces" {
        return stem;
    }
    let folder = anchor.canonicalize().ok().and_then(|path| name(path.parent()?.file_name()));
    folder.unwrap_or(stem)
}
