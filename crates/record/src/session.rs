//! One recording, from the options to the finished folder.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use longpole_collect::Collection;
use longpole_event::{MachineId, Time};
use longpole_recording::{Cost, Folder, LogBuilder, LogName, Manifest, Outcome};

use crate::agent::{Interpreter, Sampling};
use crate::assembler::{Assembled, Assembler};
use crate::clock::now;
use crate::error::{Error, Result};
use crate::launch::{Command, ExitStatus, Running, Suspended};
use crate::machine::{cpu_time, peak_bytes, take_precedence, this_machine};
use crate::naming::FramesToName;
use crate::run::{Run, Started, describe};
use crate::rungs::{self, Choice, Inside, Opened, Settings};
use crate::{attach, stack_choice};

/// Timer samples a second and processor, where nothing else is asked for. A sample costs the program up to 10 µs in
/// a virtual machine, most of it the timer interrupt itself: at this rate less than 1 % of its CPU time.
pub const DEFAULT_HERTZ: u32 = 499;

/// What to record.
#[derive(Clone, Debug)]
pub enum Target {
    /// Start this program with these arguments.
    Command(Vec<OsString>),
    /// Attach to this process, its threads and descendants.
    Process(u32),
}

/// How to record.
#[derive(Clone, Debug)]
pub struct Options {
    /// Folder of the recording.
    pub output: PathBuf,
    /// What to record.
    pub target: Target,
    /// Which collector.
    pub collector: Choice,
    /// See the program's locks from inside too, through the agent.
    pub locks: bool,
    /// Every call of a procedure that was compiled with `-finstrument-functions`, through the agent.
    pub calls: bool,
    /// Processors for the agent's sampling threads, one for each; one thread anywhere where there are none.
    pub sampler_cpus: Vec<u32>,
    /// Timer samples a second and processor; `None` for [`DEFAULT_HERTZ`].
    pub hertz: Option<u32>,
    /// User memory copied for a stack; `None` to choose by looking at the program.
    pub stack_bytes: Option<u32>,
    /// Keep copies of the source files that the recording names.
    pub sources: bool,
    /// Stop recording after this time; the program goes on.
    pub duration: Option<Duration>,
    /// Collectors of outside series.
    pub outside: longpole_collect::Options,
    /// Files that describe metrics, kept in the recording.
    pub metric_files: Vec<longpole_recording::MetricFile>,
}

/// What a recorder is doing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Progress {
    /// The program runs.
    Recording {
        /// Since its start.
        elapsed: Duration,
        /// What was recorded.
        assembled: Assembled,
        /// Size of the log so far.
        bytes: u64,
    },
    /// The program has ended; addresses are being named.
    Naming {
        /// How many.
        frames: usize,
    },
}

/// A finished recording.
#[derive(Clone, Debug, PartialEq)]
pub struct Finished {
    /// Its folder.
    pub path: PathBuf,
    /// How the run ended.
    pub outcome: Outcome,
    /// Its manifest.
    pub manifest: Manifest,
    /// What was recorded.
    pub assembled: Assembled,
}

/// Records a run.
///
/// # Errors
/// Only where nothing could be recorded, see [`Error`]. What goes wrong once the program runs ends the
/// recording, not the program, and is told in the manifest.
pub fn record(options: &Options, progress: &mut dyn FnMut(Progress)) -> Result<Finished> {
    match &options.target {
        Target::Command(command) => record_command(options, command, progress),
        Target::Process(pid) => record_process(options, *pid, progress),
    }
}

fn record_command(
    options: &Options,
    command: &[OsString],
    progress: &mut dyn FnMut(Progress),
) -> Result<Finished> {
    let command = Command::find(command)?;
    let settings = stack_choice::settings(options, command.file());
    let suspended = Suspended::launch(&command)?;
    let inside = if options.locks || options.calls { Inside::Always } else { Inside::WhereNeeded };
    let sampling = sampling(options, &settings);
    let mut opened = rungs::open(options.collector, &settings, inside, &sampling)?;
    let words = match &options.target {
        Target::Command(words) => words.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
        Target::Process(_) => Vec::new(),
    };
    let (folder, mut manifest, mut assembler) = prepare(options, words, &opened, &settings, false)?;
    manifest.machines[0].collector.notes.extend(opened.look_at(command.file()));
    let collection = collection(options, &folder)?;
    let task = crate::raw::Task { pid: suspended.pid(), tid: suspended.pid() };
    opened.collector.track(task).map_err(Error::system("record the program's first task"))?;
    collection.program(task.pid);
    let begin = now();
    assembler.begin_thread(begin, task, None, None)?;
    let variables = [&opened.variables[..], collection.variables()].concat();
    let child = match suspended.resume(&variables) {
        Ok(child) => child,
        Err(error) => {
            // Nothing ran, so there is nothing to keep.
            let _ = std::fs::remove_dir_all(folder.path());
            return Err(error.into());
        }
    };
    let started = Started { begin, root: Some(task.tid), attached: Vec::new() };
    finish(Parts { folder, manifest, assembler, opened, child, started, collection, options }, progress)
}

fn record_process(options: &Options, pid: u32, progress: &mut dyn FnMut(Progress)) -> Result<Finished> {
    let missing = |source| Error::NoProcess { pid, source };
    let process = Running::attach(pid).map_err(missing)?;
    let program = PathBuf::from(format!("/proc/{pid}/exe"));
    let settings = stack_choice::settings(options, &program);
    let sampling = sampling(options, &settings);
    let mut opened = rungs::open(options.collector, &settings, Inside::Never, &sampling)?;
    let (folder, manifest, mut assembler) =
        prepare(options, attach::command_line(pid), &opened, &settings, true)?;
    let collection = collection(options, &folder)?;
    collection.program(pid);
    let begin = now();
    let attached = track_all(pid, &mut opened, &mut assembler, begin).map_err(missing)?;
    let started = Started { begin, root: None, attached };
    finish(
        Parts { folder, manifest, assembler, opened, child: process, started, collection, options },
        progress,
    )
}

/// Starts the collectors of outside series.
fn collection(options: &Options, folder: &Folder) -> Result<Collection> {
    let log = LogBuilder::new(folder.create_log(MachineId(0), LogName::Series)?);
    Ok(Collection::start(&options.outside, log))
}

fn sampling(options: &Options, settings: &Settings) -> Sampling {
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
        found.retain(|found| !tracked.contains(&found.task.tid));
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
        }
    }
}

/// The folder, the manifest as it stands while the program runs, and the log.
fn prepare(
    options: &Options,
    command: Vec<String>,
    opened: &Opened,
    settings: &Settings,
    attached: bool,
) -> Result<(Folder, Manifest, Assembler)> {
    let started = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let mut machine = this_machine();
    machine.collector.name = opened.name.to_owned();
    machine.collector.sample_hertz = settings.hertz;
    machine.collector.stack_bytes = opened.stack_bytes(settings);
    machine.collector.notes.extend(stack_choice::note(settings, machine.collector.stack_bytes));
    machine.collector.attached = attached;
    for rung in &opened.refused {
        if let Err(refusal) = &rung.available {
            machine.collector.notes.push(format!("not collected by {}: {}", rung.name, refusal.reason));
        }
    }
    machine.collector.notes.extend(opened.collector.notes());
    let manifest = Manifest {
        format_version: longpole_recording::FORMAT_VERSION,
        longpole: env!("CARGO_PKG_VERSION").to_owned(),
        command,
        working_directory: std::env::current_dir().unwrap_or_default().display().to_string(),
        started_unix_seconds: started,
        machines: vec![machine],
        outcome: None,
    };
    let folder = Folder::create(&options.output, &manifest)?;
    let known = longpole_recording::MetricFile {
        name: "collectors.toml".to_owned(),
        text: longpole_collect::descriptions(&options.outside.choices),
    };
    let has_known = known.text.contains("[metric.");
    let files: Vec<_> = options.metric_files.iter().cloned().chain(has_known.then_some(known)).collect();
    folder.keep_metric_files(&files)?;
    let log = LogBuilder::new(folder.create_log(MachineId(0), LogName::Events)?);
    Ok((folder, manifest, Assembler::new(log)))
}

/// Everything of a recording whose program runs.
struct Parts<'a> {
    folder: Folder,
    manifest: Manifest,
    assembler: Assembler,
    opened: Opened,
    child: Running,
    started: Started,
    collection: Collection,
    options: &'a Options,
}

/// Records until the end and closes the recording.
fn finish(parts: Parts<'_>, progress: &mut dyn FnMut(Progress)) -> Result<Finished> {
    let Parts { folder, mut manifest, assembler, mut opened, child, started, collection, options } = parts;
    let begin = started.begin;
    take_precedence();
    let cpu_before = cpu_time();
    let interpreter = opened.part.map(Interpreter::new);
    let mut run = Run::new(&mut *opened.collector, interpreter, assembler, child, started)?;
    run.until_end(options.duration, progress)?;
    let outside = collection.stop();
    let recorder_cpu = cpu_time().saturating_sub(cpu_before);
    let ended = run.close();
    if ended.outlived {
        opened.collector.outlived();
    }
    let kernel = opened.collector.kernel_cost();
    let sampler = opened.collector.sampler_cpu();
    let findings = opened.collector.findings();
    drop(opened);

    let machine = &mut manifest.machines[0];
    machine.collector.notes.extend(findings.into_iter().chain(ended.notes));
    machine.outside = outside;
    machine.cost = Some(Cost {
        recorder_cpu_seconds: recorder_cpu.as_secs_f64(),
        kernel_seconds: kernel.map(|cost| Duration::from_nanos(cost.nanoseconds).as_secs_f64()),
        kernel_runs: kernel.map(|cost| cost.runs),
        sampler_cpu_seconds: sampler.map(|time| time.as_secs_f64()),
        recorder_peak_bytes: peak_bytes(),
    });
    let (exit_code, signal) = match ended.status {
        Some(ExitStatus::Code(code)) => (Some(code), None),
        Some(ExitStatus::Signal(signal)) => (None, Some(signal)),
        Some(ExitStatus::Unknown) | None => (None, None),
    };
    let outcome = Outcome {
        begin_nanoseconds: begin.nanoseconds(),
        end_nanoseconds: ended.end.nanoseconds(),
        exit_code,
        signal,
        truncated: ended.truncated,
    };
    manifest.outcome = Some(outcome);
    progress(Progress::Naming { frames: ended.frames.count() });
    match write_end(&folder, &mut manifest, ended.frames) {
        Ok(files) if options.sources => keep_sources(&folder, &mut manifest, &files)?,
        Err(error) if !error.is_disk_full() => return Err(error.into()),
        Err(_) => manifest.outcome.get_or_insert(outcome).truncated = true,
        Ok(_) => {}
    }
    let path = Path::to_owned(folder.path());
    Ok(Finished { path, outcome: manifest.outcome.unwrap_or(outcome), manifest, assembled: ended.assembled })
}

/// Keeps the source files. Where they cannot be written, the recording says so and is whole without them.
fn keep_sources(folder: &Folder, manifest: &mut Manifest, files: &[String]) -> Result<()> {
    if let Err(error) = folder.keep_sources(files, Path::new(&manifest.working_directory)) {
        let note = format!("source files were not kept: failed to {}", describe(&error));
        manifest.machines[0].collector.notes.push(note);
        folder.write_manifest(manifest)?;
    }
    Ok(())
}

/// Writes the manifest first: names can be missing, the outcome should not be. Gives the names of the source files.
fn write_end(
    folder: &Folder,
    manifest: &mut Manifest,
    frames: FramesToName,
) -> longpole_recording::Result<Vec<String>> {
    folder.write_manifest(manifest)?;
    let mut symbols = LogBuilder::new(folder.create_log(MachineId(0), LogName::Symbols)?);
    frames.write(&mut symbols)
}
