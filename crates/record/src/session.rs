//! One recording, from the options to the finished folder.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use longpole_collect::SeriesCollection;
use longpole_event::{MachineId, Time};
use longpole_recording::{
    AccessSample, CollectionCost, CpuQuota, Destination, KeptWindow, LogBuilder, LogName, Manifest, QuotaUse,
    RecordingFolder, RunOutcome, SourceCopies, WindowLimits,
};

use crate::accesses::{self, AccessRecorder};
use crate::agent::{Interpreter, Sampling};
use crate::assembler::{Assembled, Assembler};
use crate::clock::now;
use crate::collector_choice::{self, AgentUse, CollectorChoice, Opened, Settings};
use crate::emulation::EmulatedCommand;
use crate::error::{Error, Result, describe};
use crate::going_on::GoingOn;
use crate::launch::{ExitStatus, ProgramCommand, Running, Suspended};
use crate::machine::{cpu_time, hide_memory, peak_bytes, take_precedence, this_machine};
use crate::naming::FramesToName;
use crate::quota::QuotaGroup;
use crate::run::{EndedRun, RecordingRun, Started};
use crate::snapshots::Snapshots;
use crate::source_copies::{NamedSources, ProgramUser};
use crate::start_gate::StartGate;
use crate::started_program::StartedProgram;
use crate::waits_at_attach::switch_before;
use crate::{attach, stack_choice};

/// Timer samples a second and processor, where nothing else is asked for. A sample costs the program up to 10 µs in
/// a virtual machine, most of it the timer interrupt itself: at this rate less than 1 % of its CPU time.
pub const DEFAULT_HERTZ: u32 = 499;

/// Begin of the note of a recording whose names did not fit on the disk.
const NAMES_MISSING: &str = "procedures were not named";

/// What to record.
#[derive(Clone, Debug)]
pub enum RecordTarget {
    /// Start this program with these arguments.
    Command(Vec<OsString>),
    /// Attach to this process, its threads and descendants.
    Process(u32),
}

/// Where accesses to memory come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessSource {
    /// The program was built by `longpole cc`.
    Instrumented,
    /// The program is executed by an emulator.
    Emulated,
}

/// How to record.
#[derive(Clone, Debug)]
pub struct RecordOptions {
    /// Folder of the recording.
    pub output: Destination,
    /// What to record.
    pub target: RecordTarget,
    /// Which collector.
    pub collector: CollectorChoice,
    /// See the program's locks from inside too, through the agent.
    pub locks: bool,
    /// See the program's calls of MPI, through the agent, whether or not the command looks like one that makes any.
    pub mpi: bool,
    /// What all recordings of one run have in common, where this is one of several: processes of a job that names itself nowhere
    /// know each other by it.
    pub job: Option<OsString>,
    /// What the program's start waits for, where other machines' programs are to start with it.
    pub gate: Option<StartGate>,
    /// Every call of a procedure that was compiled with `-finstrument-functions`, through the agent.
    pub calls: bool,
    /// The program's accesses to memory.
    pub accesses: Option<AccessSource>,
    /// Which units of memory these are of; `None`: all.
    pub access_sample: Option<AccessSample>,
    /// Processors for the agent's sampling threads, one for each; one thread anywhere where there are none.
    pub sampler_cpus: Vec<u32>,
    /// Timer samples a second and processor; `None` for [`DEFAULT_HERTZ`].
    pub hertz: Option<u32>,
    /// User memory copied for a stack; `None` to choose by looking at the program.
    pub stack_bytes: Option<u32>,
    /// Keep copies of the source files that the recording names.
    pub sources: bool,
    /// Folders that hold sources beside those of the program.
    pub source_dirs: Vec<PathBuf>,
    /// Stop recording after this time; the program goes on.
    pub duration: Option<Duration>,
    /// Keep the last part of the run only.
    pub window: Option<KeptWindow>,
    /// Collectors of outside series.
    pub outside: longpole_collect::CollectionOptions,
    /// Files that describe metrics, kept in the recording.
    pub metric_files: Vec<longpole_recording::MetricFile>,
}

impl RecordOptions {
    /// The whole run, by the best collector that is permitted, and nothing beside it.
    #[must_use]
    pub fn new(output: Destination, target: RecordTarget) -> RecordOptions {
        RecordOptions {
            output,
            target,
            collector: CollectorChoice::default(),
            locks: false,
            mpi: false,
            job: None,
            gate: None,
            calls: false,
            accesses: None,
            access_sample: None,
            sampler_cpus: Vec::new(),
            hertz: None,
            stack_bytes: None,
            sources: false,
            source_dirs: Vec::new(),
            duration: None,
            window: None,
            outside: longpole_collect::CollectionOptions::none(),
            metric_files: Vec::new(),
        }
    }
}

/// The variable by which agents know the job.
const JOB: &str = "LONGPOLE_JOB";

/// What a recorder is doing.
#[derive(Clone, Debug, PartialEq)]
pub enum Progress {
    /// The program is about to run, or the process is recorded from now on.
    Begun,
    /// The program runs.
    Recording {
        /// Since its start.
        elapsed: Duration,
        /// What was recorded.
        assembled: Assembled,
        /// Size of the log so far.
        bytes: u64,
    },
    /// A copy of the last part of the run was asked for: its folder, or why there is none.
    Snapshot(std::result::Result<PathBuf, String>),
    /// The program has ended; addresses are being named.
    Naming {
        /// How many.
        frames: usize,
    },
}

/// A finished recording.
#[derive(Debug)]
pub struct FinishedRecording {
    /// Its folder.
    pub path: PathBuf,
    /// How the run ended.
    pub outcome: RunOutcome,
    /// Its manifest.
    pub manifest: Manifest,
    /// What was recorded.
    pub assembled: Assembled,
    /// The program, where it was started for this and goes on. Dropped, it is left alone.
    pub going_on: Option<GoingOn>,
}

/// Records a run.
///
/// # Errors
/// Only where nothing could be recorded, see [`Error`]. What goes wrong once the program runs ends the
/// recording, not the program, and is told in the manifest; so does [`Options::duration`].
pub fn record(options: &RecordOptions, progress: &mut dyn FnMut(Progress)) -> Result<FinishedRecording> {
    hide_memory();
    match &options.target {
        RecordTarget::Command(command) => record_command(options, command, progress),
        RecordTarget::Process(pid) => record_process(options, *pid, progress),
    }
}

fn record_command(
    options: &RecordOptions,
    command: &[OsString],
    progress: &mut dyn FnMut(Progress),
) -> Result<FinishedRecording> {
    let words = command;
    let command = ProgramCommand::find(words)?;
    let emulated = match options.accesses {
        Some(AccessSource::Instrumented) => accesses::look_at(command.file()).map(|()| None)?,
        Some(AccessSource::Emulated) => Some(EmulatedCommand::of(words, command.file())?),
        None => None,
    };
    let user = ProgramUser::of(&options.target);
    let settings = stack_choice::settings(options, command.file());
    let suspended = Suspended::launch(emulated.as_ref().map_or(&command, |emulated| &emulated.command))?;
    let inside = match options {
        RecordOptions { locks: true, .. } | RecordOptions { calls: true, .. } => AgentUse::Always,
        _ if settings.messages => AgentUse::Mpi,
        _ => AgentUse::WhereNeeded,
    };
    let sampling = sampling(options, &settings);
    let mut opened = collector_choice::open(options.collector, &settings, inside, &sampling)?;
    let words = match &options.target {
        RecordTarget::Command(words) => {
            words.iter().map(|word| word.to_string_lossy().into_owned()).collect()
        }
        RecordTarget::Process(_) => Vec::new(),
    };
    let (folder, mut manifest, mut assembler) =
        prepare(options, (words, command.file()), &opened, &settings, false)?;
    manifest.machines[0].collector.notes.extend(opened.look_at(command.file()));
    manifest.machines[0].collector.notes.extend(emulated.as_ref().map(|emulated| emulated.note.clone()));
    let collection = collection(options, &folder)?;
    let task = crate::raw::KernelTask { pid: suspended.pid(), tid: suspended.pid() };
    opened.collector.track(task).map_err(Error::system("record the program's first task"))?;
    collection.program(task.pid);
    if let Some(Err(source)) = options.gate.as_ref().map(StartGate::pass) {
        let _ = folder.discard();
        return Err(Error::NotReleased { source });
    }
    let begin = now();
    assembler.begin_thread(begin, task, None, None)?;
    let job = options.job.iter().map(|job| (JOB.into(), job.clone())).collect::<Vec<_>>();
    let sample = manifest.machines[0].access_sample;
    let accesses = options.accesses.map(|_| AccessRecorder::start(&folder, sample)).transpose()?;
    let mut variables = [&opened.variables[..], collection.variables(), &job].concat();
    variables.extend(accesses.iter().flat_map(AccessRecorder::variables));
    variables.extend(emulated.as_ref().map(|_| EmulatedCommand::variable()));
    progress(Progress::Begun);
    let child = match suspended.resume(&variables) {
        Ok(child) => child,
        Err(error) => {
            // Nothing ran, so there is nothing to keep.
            let _ = folder.discard();
            return Err(error.into());
        }
    };
    let arguments: Vec<&str> = manifest.command.iter().map(String::as_str).collect();
    let program = StartedProgram::new(task.pid, command.file(), &arguments);
    let snapshots = snapshots(options, &folder, &manifest);
    let started = Started { begin, program: Some(program), attached: Vec::new(), snapshots };
    finish(
        RecordingParts {
            folder,
            manifest,
            assembler,
            opened,
            child,
            started,
            collection,
            accesses,
            user,
            options,
        },
        progress,
    )
}

fn record_process(
    options: &RecordOptions,
    pid: u32,
    progress: &mut dyn FnMut(Progress),
) -> Result<FinishedRecording> {
    let missing = |source| Error::NoProcess { pid, source };
    let process = Running::attach(pid).map_err(missing)?;
    attach::may_watch(pid).map_err(missing)?;
    let user = ProgramUser::of(&options.target);
    let program = PathBuf::from(format!("/proc/{pid}/exe"));
    let settings = stack_choice::settings(options, &program);
    let sampling = sampling(options, &settings);
    let mut opened = collector_choice::open(options.collector, &settings, AgentUse::Never, &sampling)?;
    let (folder, manifest, mut assembler) =
        prepare(options, (attach::command_line(pid), &attach::program(pid)), &opened, &settings, true)?;
    let collection = collection(options, &folder)?;
    collection.program(pid);
    let begin = now();
    let attached = track_all(pid, &mut opened, &mut assembler, begin).map_err(missing)?;
    progress(Progress::Begun);
    let snapshots = snapshots(options, &folder, &manifest);
    let started = Started { begin, program: None, attached, snapshots };
    finish(
        RecordingParts {
            folder,
            manifest,
            assembler,
            opened,
            child: process,
            started,
            collection,
            accesses: None,
            user,
            options,
        },
        progress,
    )
}

/// Starts the collectors of outside series.
fn collection(options: &RecordOptions, folder: &RecordingFolder) -> Result<SeriesCollection> {
    Ok(SeriesCollection::start(&options.outside, create_log(folder, LogName::Series, options)?))
}

/// Of the bytes of a window, so many 16ths are for the log; the rest is for the names of what is in it.
fn share_of_bytes(log: LogName) -> u64 {
    match log {
        LogName::Events => 10,
        LogName::Series | LogName::Accesses => 2,
        LogName::Symbols => 4,
    }
}

/// A log of the whole run, or of its last part.
fn create_log(folder: &RecordingFolder, log: LogName, options: &RecordOptions) -> Result<LogBuilder> {
    Ok(match options.window {
        Some(KeptWindow { nanoseconds, bytes, .. }) => {
            let bytes = bytes.map(|bytes| bytes / 16 * share_of_bytes(log));
            folder.create_window(MachineId(0), log, WindowLimits { nanoseconds, bytes })?
        }
        None => LogBuilder::new(folder.create_log(MachineId(0), log)?),
    })
}

fn snapshots(options: &RecordOptions, folder: &RecordingFolder, manifest: &Manifest) -> Option<Snapshots> {
    options.window.map(|_| Snapshots::of(folder.clone(), manifest.clone()))
}

fn sampling(options: &RecordOptions, settings: &Settings) -> Sampling {
    Sampling { hertz: settings.hertz, cpus: options.sampler_cpus.clone() }
}

/// Has every task below `pid` recorded; returns their tids. Tasks that are created meanwhile are created
/// by tasks that are recorded already, or are found by the next look.
fn track_all(
    pid: u32,
    opened: &mut Opened,
    assembler: &mut Assembler,
    begin: Time,
) -> std::io::Result<Vec<u32>> {
    let mut tracked = Vec::new();
    loop {
        let mut found = attach::tasks_below(pid)?;
        found.retain(|found| !tracked.contains(&found.task.tid) && attach::may_watch(found.task.pid).is_ok());
        if found.is_empty() {
            return Ok(tracked);
        }
        for found in &found {
            opened.collector.track(found.task)?;
            tracked.push(found.task.tid);
        }
        for found in found {
            let is_new = !assembler.unwinder().knows(found.task.pid);
            if is_new && assembler.unwinder().load_maps(found.task.pid).is_err() {
                continue;
            }
            let begun = assembler.begin_thread(begin, found.task, Some(found.parent), Some(&found.name));
            begun.map_err(std::io::Error::other)?;
            let titled = assembler.title(begin, found.task, found.title.as_deref());
            titled.map_err(std::io::Error::other)?;
            if let Some(switch) = switch_before(found.task, begin) {
                assembler.push(switch).map_err(std::io::Error::other)?;
            }
        }
    }
}

/// The process that is recorded; 0 for one that is still to be started by this one.
fn pid_of(target: &RecordTarget) -> u32 {
    match *target {
        RecordTarget::Command(_) => 0,
        RecordTarget::Process(pid) => pid,
    }
}

/// The folder, the manifest as it stands while the program runs, and the log.
fn prepare(
    options: &RecordOptions,
    (command, file): (Vec<String>, &Path),
    opened: &Opened,
    settings: &Settings,
    attached: bool,
) -> Result<(RecordingFolder, Manifest, Assembler)> {
    let started = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let mut machine = this_machine();
    let root = pid_of(&options.target);
    machine.real_time = crate::machine::is_real_time(root);
    // Other parts of a run may have been given the other processors.
    if options.job.is_none() {
        crate::machine::limit_to_allowed(&mut machine, root);
    }
    machine.collector.name = opened.name.to_owned();
    machine.collector.sample_hertz = settings.hertz;
    machine.collector.stack_bytes = opened.stack_bytes(settings);
    machine.collector.notes.extend(stack_choice::note(settings, machine.collector.stack_bytes));
    machine.collector.attached = attached;
    machine.access_sample =
        options.access_sample.filter(|sample| options.accesses.is_some() && sample.one_of > 1);
    for collector in &opened.refused {
        if let Err(refusal) = &collector.available {
            machine.collector.notes.push(format!("not collected by {}: {}", collector.name, refusal.reason));
        }
    }
    machine.collector.notes.extend(opened.collector.notes());
    let manifest = Manifest {
        format_version: longpole_recording::FORMAT_VERSION,
        longpole: env!("CARGO_PKG_VERSION").to_owned(),
        command,
        program_file: file.canonicalize().map(|file| file.display().to_string()).unwrap_or_default(),
        working_directory: std::env::current_dir().unwrap_or_default().display().to_string(),
        started_unix_seconds: started,
        machines: vec![machine],
        window: options.window,
        ..Manifest::default()
    };
    let folder = options.output.create(&manifest)?;
    if let Err(error) = folder.reserve_manifest() {
        let _ = folder.discard();
        return Err(error.into());
    }
    let known = longpole_recording::MetricFile {
        name: "collectors.toml".to_owned(),
        text: longpole_collect::descriptions(&options.outside.choices),
    };
    let has_known = known.text.contains("[metric.");
    let files: Vec<_> = options.metric_files.iter().cloned().chain(has_known.then_some(known)).collect();
    folder.keep_metric_files(&files)?;
    let log = create_log(&folder, LogName::Events, options)?;
    Ok((folder, manifest, Assembler::new(log)))
}

/// Everything of a recording whose program runs.
struct RecordingParts<'a> {
    folder: RecordingFolder,
    manifest: Manifest,
    assembler: Assembler,
    opened: Opened,
    child: Running,
    started: Started,
    collection: SeriesCollection,
    accesses: Option<AccessRecorder>,
    user: ProgramUser,
    options: &'a RecordOptions,
}

/// That the quota kept the program off the processors, where it did.
fn quota_note(quota: &CpuQuota) -> Option<String> {
    let QuotaUse { periods, throttled_periods, throttled_nanoseconds } = quota.used;
    let seconds = Duration::from_nanos(throttled_nanoseconds).as_secs_f64();
    let used_up = format!("the quota was used up in {throttled_periods} of {periods} periods");
    (throttled_periods > 0).then(|| format!("{used_up}: {seconds:.3} s off the CPUs, of all CPUs together"))
}

/// Records until the end and closes the recording.
fn finish(parts: RecordingParts<'_>, progress: &mut dyn FnMut(Progress)) -> Result<FinishedRecording> {
    let RecordingParts {
        folder,
        mut manifest,
        assembler,
        opened,
        child,
        started,
        collection,
        accesses,
        user,
        options,
    } = parts;
    let begin = started.begin;
    take_precedence();
    let quota = QuotaGroup::of(pid_of(&options.target));
    let cpu_before = cpu_time();
    let interpreter = opened.part.map(Interpreter::new);
    let mut run = RecordingRun::new(opened.collector, interpreter, assembler, child, started)?;
    run.until_end(options.duration, progress)?;
    let outside = collection.stop();
    let of_accesses = accesses.map(AccessRecorder::finish).unwrap_or_default();
    let recorder_cpu = cpu_time().saturating_sub(cpu_before);
    let EndedRun {
        end,
        status,
        truncated,
        outlived,
        notes,
        frames,
        assembled,
        mut collector,
        going_on,
        clock_readings,
    } = run.close();
    if outlived {
        collector.outlived();
    }
    let recorder_cpu = recorder_cpu + collector.privileged_cpu();
    let kernel = collector.kernel_cost();
    let sampler = collector.sampler_cpu();
    let findings = collector.findings();
    let shared_lines = collector.shared_lines();
    drop(collector);

    let machine = &mut manifest.machines[0];
    machine.collector.notes.extend(findings.into_iter().chain(notes).chain(of_accesses));
    if let (Some(group), true) = (quota, machine.quota.is_some()) {
        let quota = group.described();
        machine.collector.notes.extend(quota_note(&quota));
        machine.quota = Some(quota);
    }
    machine.outside = outside;
    machine.shared_lines = (!shared_lines.lines.is_empty()).then_some(shared_lines);
    machine.clock_readings = clock_readings;
    machine.cost = Some(CollectionCost {
        recorder_cpu_seconds: recorder_cpu.as_secs_f64(),
        kernel_seconds: kernel.map(|cost| Duration::from_nanos(cost.nanoseconds).as_secs_f64()),
        kernel_runs: kernel.map(|cost| cost.runs),
        sampler_cpu_seconds: sampler.map(|time| time.as_secs_f64()),
        recorder_peak_bytes: peak_bytes(),
    });
    let (exit_code, signal) = match status {
        Some(ExitStatus::Code(code)) => (Some(code), None),
        Some(ExitStatus::Signal(signal)) => (None, Some(signal)),
        Some(ExitStatus::Unknown) | None => (None, None),
    };
    let mut frames = frames;
    let kept_since = frames.read_window(&folder).unwrap_or_else(|error| {
        manifest.machines[0].collector.notes.push(format!("{NAMES_MISSING}: {}", describe(&error)));
        None
    });
    keep_since(&mut manifest, begin, kept_since);
    let outcome = RunOutcome {
        begin_nanoseconds: kept_since.unwrap_or(begin).nanoseconds(),
        end_nanoseconds: end.nanoseconds(),
        exit_code,
        signal,
        truncated,
    };
    manifest.outcome = Some(outcome);
    progress(Progress::Naming { frames: frames.count() });
    let build_folders = if options.sources { frames.build_folders() } else { BTreeSet::new() };
    let written = write_end(&folder, &mut manifest, &frames).and_then(|files| {
        fit(&folder, &mut manifest, (begin, &mut frames)).map(|refitted| refitted.unwrap_or(files))
    });
    match written {
        Ok(files) if options.sources => {
            let kept =
                user.keep_sources(&folder, NamedSources { files, build_folders }, &options.source_dirs);
            note_missing_sources(&folder, &mut manifest, kept)?;
        }
        Err(error) if !error.is_disk_full() => return Err(error.into()),
        // Without any names they are looked up when the recording is opened; with some the others would be missing.
        Err(error) => {
            folder.remove_log(MachineId(0), LogName::Symbols)?;
            let note = format!("{NAMES_MISSING}: {}", describe(&error));
            manifest.machines[0].collector.notes.push(note);
            folder.write_manifest(&manifest)?;
        }
        Ok(_) => {}
    }
    let path = Path::to_owned(folder.path());
    let outcome = manifest.outcome.unwrap_or(outcome);
    Ok(FinishedRecording { path, outcome, manifest, assembled, going_on })
}

/// Where source files cannot be written, the recording says so and is whole without them.
fn note_missing_sources(
    folder: &RecordingFolder,
    manifest: &mut Manifest,
    kept: longpole_recording::Result<SourceCopies>,
) -> Result<()> {
    if let Err(error) = kept {
        let note = format!("source files were not kept: failed to {}", describe(&error));
        manifest.machines[0].collector.notes.push(note);
        folder.write_manifest(manifest)?;
    }
    Ok(())
}

/// Drops the oldest segments of a window until it takes no more bytes than it may, names included. Gives the names of
/// the source files where something was dropped.
fn fit(
    folder: &RecordingFolder,
    manifest: &mut Manifest,
    (begin, frames): (Time, &mut FramesToName),
) -> longpole_recording::Result<Option<Vec<String>>> {
    let mut files = None;
    let Some(most) = manifest.window.and_then(|window| window.bytes) else { return Ok(files) };
    while folder.size_bytes() > most {
        let mut has_dropped = false;
        for log in [LogName::Events, LogName::Series] {
            has_dropped |= folder.drop_oldest_segment(MachineId(0), log)?;
        }
        if !has_dropped {
            break;
        }
        let since = frames.read_window(folder)?;
        keep_since(manifest, begin, since);
        if let Some(outcome) = &mut manifest.outcome {
            outcome.begin_nanoseconds = since.unwrap_or(begin).nanoseconds();
        }
        files = Some(write_end(folder, manifest, frames)?);
    }
    Ok(files)
}

/// What of the run is kept.
pub(crate) fn keep_since(manifest: &mut Manifest, begin: Time, since: Option<Time>) {
    if let Some(window) = &mut manifest.window {
        window.dropped_nanoseconds = Some(since.map_or(0, |since| since.since(begin)));
    }
}

/// Writes the manifest first: names can be missing, the outcome should not be. Gives the names of the source files.
fn write_end(
    folder: &RecordingFolder,
    manifest: &mut Manifest,
    frames: &FramesToName,
) -> longpole_recording::Result<Vec<String>> {
    folder.write_manifest(manifest)?;
    let mut symbols = LogBuilder::new(folder.create_log(MachineId(0), LogName::Symbols)?);
    frames.write(&mut symbols)
}
