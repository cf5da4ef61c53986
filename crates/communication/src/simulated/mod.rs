//! The simulated run as a recording: nodes as threads, with waits for requests, locks and barriers, in virtual time.
//!
//! The streams are run twice: once to know which units are requested, of which data, so that they have names, and once to
//! write what happens. Both runs are the same.

mod code;
mod order;
mod threads;
mod units;
mod writer;

use std::path::PathBuf;

use longpole_coherence::{ProcessorId, VirtualRun};
use longpole_event::MachineId;
use longpole_recording::{
    CollectorDescription, Destination, FORMAT_VERSION, LogBuilder, LogName, MachineDescription, Manifest,
    RecordingFolder, RunOutcome, SimulatedMachine,
};

use crate::error::{Error, Result};
use crate::log::largest_process;
use crate::names::ProcessNames;
use crate::sample::whole;
use crate::settings::{CommunicationOptions, UnitProtocol};
use crate::streams::ProcessStreams;
use units::UnitNames;
use writer::SimulatedRunWriter;

/// What is simulated, and on how many nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SimulationOptions {
    /// Protocol, unit and costs.
    pub communication: CommunicationOptions,
    /// Nodes; `None`: as many as threads.
    pub nodes: Option<u16>,
}

/// A simulated run that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimulatedRecording {
    /// Folder of the recording.
    pub path: PathBuf,
    /// Virtual nanoseconds.
    pub elapsed: u64,
    /// Requests.
    pub requests: u64,
}

/// Simulates the accesses of a recording, and writes the run as a recording.
///
/// # Errors
/// [`Error::NoAccesses`], [`Error::TooManyNodes`], and those of reading, simulating and writing.
pub fn write_simulated_recording(
    (folder, manifest): (&RecordingFolder, &Manifest),
    options: SimulationOptions,
    destination: &Destination,
) -> Result<SimulatedRecording> {
    let found = largest_process(folder)?.ok_or_else(|| Error::NoAccesses(folder.path().to_owned()))?;
    whole("write a simulated run", manifest)?;
    let process = &found.process;
    let streams = ProcessStreams::of(found.reader, process);
    let threads = process.threads.len();
    if let Some(nodes) = options.nodes.filter(|&nodes| usize::from(nodes) > threads) {
        return Err(Error::TooManyNodes { nodes, threads });
    }
    let settings = options.communication.settings();
    let mut setup = streams.setup(settings, options.communication.step_costs());
    setup.nodes = options.nodes.map_or(Vec::new(), |nodes| nodes_of(streams.threads(), nodes));
    let first = VirtualRun::of_recorded(streams.steps(process), &setup)?;
    let lost_blocks = found.lost_blocks + streams.shared.borrow().lost_blocks;
    let noun = if options.communication.protocol() == UnitProtocol::Lines { "line" } else { "page" };
    let names = {
        let shared = streams.shared.borrow();
        let names = ProcessNames::new(process, &shared);
        UnitNames::of(&first.communication, names, (noun, settings.unit))
    };
    let nodes = options.nodes.map_or(streams.threads(), usize::from);
    let mut described = describe(manifest, (&options, &setup), (nodes, streams.threads()));
    let notes = &mut described.machines[0].collector.notes;
    if found.others > 0 {
        notes.push(format!("simulated: the process with most accesses, of {}", found.others + 1));
    }
    if lost_blocks > 0 {
        notes.push(format!("simulated: {lost_blocks} blocks of accesses are missing or damaged"));
    }
    if first.unfollowed > 0 {
        notes.push(format!(
            "simulated: {} steps would wait in virtual time for what comes later, and went on without",
            first.unfollowed
        ));
    }
    let written = destination.create(&described)?;
    let log =
        |name| Ok::<_, longpole_recording::Error>(LogBuilder::new(written.create_log(MachineId(0), name)?));
    let title = manifest.command.first().map_or("", String::as_str);
    let mut writer = SimulatedRunWriter::new(
        (process, &streams, &names),
        (log(LogName::Events)?, title, found.pid),
        (options.communication.protocol(), &setup.nodes),
    )?;
    let run = VirtualRun::observed(streams.steps(process), &setup, &mut writer)?;
    let elapsed = run.ends.iter().copied().max().unwrap_or(0);
    writer.finish(elapsed, &mut log(LogName::Symbols)?)?;
    described.outcome = Some(RunOutcome {
        begin_nanoseconds: 0,
        end_nanoseconds: elapsed,
        exit_code: manifest.outcome.and_then(|outcome| outcome.exit_code),
        signal: None,
        truncated: false,
    });
    if nodes == streams.threads() {
        carry_accesses(folder, &written)?;
    }
    written.write_manifest(&described)?;
    let requests = run.communication.total_requests;
    Ok(SimulatedRecording { path: written.path().to_owned(), elapsed, requests })
}

/// Copies the accesses, so that the simulated recording says who makes whom fetch what, too.
fn carry_accesses(from: &RecordingFolder, into: &RecordingFolder) -> Result<()> {
    let Some(mut reader) = from.open_log(MachineId(0), LogName::Accesses)? else { return Ok(()) };
    let mut log = into.create_log(MachineId(0), LogName::Accesses)?;
    while let Some((_, block)) = reader.next_block()? {
        log.push_block(block)?;
    }
    Ok(())
}

/// The node of each thread: neighbours share one.
fn nodes_of(threads: usize, nodes: u16) -> Vec<ProcessorId> {
    (0..threads).map(|thread| ProcessorId((thread * usize::from(nodes) / threads) as u16)).collect()
}

fn describe(
    manifest: &Manifest,
    (options, setup): (&SimulationOptions, &longpole_coherence::VirtualRunSetup),
    (nodes, threads): (usize, usize),
) -> Manifest {
    let settings = &setup.settings;
    let of_nodes = if nodes == threads { String::new() } else { format!(" on {nodes} nodes") };
    let simulated = format!(
        "simulated: {threads} threads{of_nodes}, protocol {}, units of {} bytes, in virtual time",
        options.communication.protocol().name(),
        settings.unit
    );
    let costs = format!(
        "costs in ns: access {}, request {} and {} per byte, upgrade {}, lock {}, barrier {}",
        setup.costs.access,
        settings.costs.request,
        settings.costs.byte_picoseconds as f64 / 1000.0,
        settings.costs.upgrade,
        setup.costs.lock,
        setup.costs.barrier
    );
    let machine = MachineDescription {
        name: CollectorDescription::SIMULATION.to_owned(),
        cpus: threads as u32,
        collector: CollectorDescription {
            name: CollectorDescription::SIMULATION.to_owned(),
            notes: vec![simulated, costs],
            ..CollectorDescription::default()
        },
        ..MachineDescription::default()
    };
    Manifest {
        format_version: FORMAT_VERSION,
        longpole: env!("CARGO_PKG_VERSION").to_owned(),
        command: manifest.command.clone(),
        program_file: manifest.program_file.clone(),
        working_directory: manifest.working_directory.clone(),
        started_unix_seconds: manifest.started_unix_seconds,
        machines: vec![machine],
        simulation: Some(SimulatedMachine {
            protocol: options.communication.protocol().name().to_owned(),
            unit: settings.unit,
            nodes: nodes as u32,
            access: setup.costs.access,
            request: settings.costs.request,
            byte_picoseconds: settings.costs.byte_picoseconds,
            upgrade: settings.costs.upgrade,
            lock: setup.costs.lock,
            barrier: setup.costs.barrier,
        }),
        ..Manifest::default()
    }
}
