//! `longpole record`: runs the program, records it, and gives the short answer.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::Result;
use indicatif::{ProgressBar, ProgressStyle};
use longpole_record::{
    AccessSource, CollectorChoice, EmulationObstacle, Error, ExitStatus, FinishedRecording, GoingOn,
    LaunchError, Progress, RecordOptions, RecordTarget, StartGate,
};
use longpole_recording::{AccessSample, CollectorDescription, KeptWindow};
use longpole_report::Style;

use crate::arguments::{AccessArgument, AccessShare, CollectorArgument, RecordArgs, SeriesSourceArgument};
use crate::destination::destination;
use crate::failure::{self, Failure, RECORDER_FAILED};
use crate::part::RunPartPlace;
use crate::{arguments, hosts, metric_files, report, terminal};

/// Runs the command.
pub fn run(options: RecordArgs) -> Result<ExitCode> {
    if !options.on.is_empty() {
        return hosts::run(&options);
    }
    refuse_unfit_for_emulator(&options)?;
    let quiet = options.quiet || options.part;
    let target = match options.pid {
        Some(pid) => RecordTarget::Process(pid),
        None => RecordTarget::Command(options.program),
    };
    let part = options.output.as_deref().filter(|_| options.part).map(RunPartPlace::below).transpose()?;
    let output = match &part {
        Some(part) => part.destination(options.force),
        None => destination(options.output, options.force, || default_output_of(&target)),
    };
    record(
        &RecordOptions {
            output,
            target,
            collector: choice(options.collector),
            locks: options.locks,
            mpi: options.mpi || options.part,
            job: part.map(|part| part.job),
            gate: options.gate.map(|folder| StartGate { folder }),
            calls: options.calls,
            accesses: options.access.map(access_source),
            access_sample: options.access_sample.map(|share| sample(share, options.access_sample_unit)),
            sampler_cpus: options.sampler_cpus,
            hertz: options.hertz,
            stack_bytes: options.stack_bytes,
            sources: options.sources,
            source_dirs: options.source_dirs,
            duration: options.duration,
            window: window(options.keep_last, options.max_size),
            outside: outside(&options.collect, options.collect_interval),
            metric_files: metric_files::read(&options.metrics)?,
        },
        quiet,
    )
}

/// The units that are followed; where the user does not say what chooses, the time does.
fn sample(AccessShare { one_of, seed }: AccessShare, unit: Option<u64>) -> AccessSample {
    let now = || {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::from(since.subsec_nanos() ^ std::process::id())
    };
    AccessSample { one_of, unit: unit.unwrap_or(64), seed: seed.unwrap_or_else(now) }
}

/// What of the run is to be kept; `None` for all.
fn window(time: Option<Duration>, bytes: Option<u64>) -> Option<KeptWindow> {
    let nanoseconds = time.map(|time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
    let is_asked = nanoseconds.is_some() || bytes.is_some();
    is_asked.then_some(KeptWindow { nanoseconds, bytes, dropped_nanoseconds: None })
}

/// The failure to find a program whose name was given without `record`: it may be a misspelt command.
pub fn or_a_command(error: anyhow::Error) -> anyhow::Error {
    match error.downcast::<Failure>() {
        Ok(mut failure) => {
            failure.hints.extend(misspelt_command(&failure.error));
            failure.into()
        }
        Err(error) => error,
    }
}

fn misspelt_command(error: &anyhow::Error) -> Option<String> {
    let Some(Error::Launch(LaunchError::NotFound { program })) = error.downcast_ref() else { return None };
    let program = program.to_str()?;
    let commands = arguments::commands();
    let near = commands.iter().filter(|command| longpole_series::is_like(program, command));
    let near: Vec<String> = near.map(|command| format!("`longpole {command}`")).collect();
    (!near.is_empty()).then(|| format!("did you mean {}?", near.join(", ")))
}

/// The collectors of outside series: those asked for, `kernel` and `process` where none is.
fn outside(
    collect: &[SeriesSourceArgument],
    interval: Option<Duration>,
) -> longpole_collect::CollectionOptions {
    let defaults = longpole_collect::CollectionOptions::default();
    let asked = collect.iter().filter_map(|wanted| match wanted {
        SeriesSourceArgument::Collector(choice) => Some(choice.clone()),
        SeriesSourceArgument::Nothing => None,
    });
    let choices = if collect.is_empty() { defaults.choices } else { asked.collect() };
    longpole_collect::CollectionOptions { choices, interval: interval.unwrap_or(defaults.interval) }
}

/// Records, prints the short answer, and passes the program's exit status on.
pub fn record(options: &RecordOptions, quiet: bool) -> Result<ExitCode> {
    let bar = progress_bar();
    let is_shown = !quiet && terminal::has_terminal();
    let begun = is_shown.then(|| line_at_begin(&options.target));
    let finished = longpole_record::record(options, &mut |progress| show(&bar, progress, begun));
    bar.finish_and_clear();
    let finished = finished.map_err(explain)?;
    // On a full disk the manifest may not hold the reason either.
    for note in notes_of_truncation(&finished) {
        terminal::remark(note);
    }
    if !quiet {
        if let Some(note) = note_of_absence(&finished) {
            terminal::remark(note);
        }
        if options.accesses == Some(AccessSource::Emulated) {
            terminal::remark(
                "times are those of the emulator; `longpole report --view communication` answers from the accesses",
            );
        } else if let Err(error) = short_answer(&finished.path) {
            // The program's exit status matters more than our report about it.
            failure::report(&error);
        }
        say_where(&finished.path);
    }
    let ended = match (finished.outcome.exit_code, finished.outcome.signal) {
        (Some(code), _) => ExitStatus::Code(code),
        (None, Some(signal)) => ExitStatus::Signal(signal),
        (None, None) => ExitStatus::Unknown,
    };
    let ended = match finished.going_on {
        Some(program) => wait_for(program, quiet),
        None => ended,
    };
    Ok(ExitCode::from(status(ended)))
}

/// The program was started by us and goes on: we stay its parent, as a shell would. That is said wherever the answer
/// is: a program that never ends would keep a script waiting without a word.
fn wait_for(program: GoingOn, quiet: bool) -> ExitStatus {
    if !quiet {
        let pid = program.pid();
        let how = if terminal::has_terminal() { "Ctrl-C".to_owned() } else { format!("`kill {pid}`") };
        terminal::remark(&format!(
            "the program goes on as process {pid}, waiting for its end; {how} ends it"
        ));
    }
    program.wait().unwrap_or(ExitStatus::Unknown)
}

/// How the user ends the recording: an interrupt from the terminal reaches the program, too.
fn line_at_begin(target: &RecordTarget) -> &'static str {
    match target {
        RecordTarget::Command(_) => "recording; Ctrl-C ends the program and the recording",
        RecordTarget::Process(_) => "recording; Ctrl-C ends the recording, the process goes on",
    }
}

/// Says where the recording is.
pub fn say_where(recording: &Path) {
    terminal::remark(&format!("the recording is {}", recording.display()));
}

/// Why the recording is shorter than the run.
fn notes_of_truncation(finished: &FinishedRecording) -> impl Iterator<Item = &String> {
    let machines = finished.manifest.machines.iter().filter(|_| finished.outcome.truncated);
    let notes = machines.flat_map(|machine| &machine.collector.notes);
    notes.filter(|note| note.starts_with(CollectorDescription::FAILURE))
}

/// That the agent was wanted and is not in the program.
fn note_of_absence(finished: &FinishedRecording) -> Option<&String> {
    let mut notes = finished.manifest.machines.iter().flat_map(|machine| &machine.collector.notes);
    notes.find(|note| note.starts_with("the agent is not in") || note.starts_with("the agent was in none"))
}

/// Prints the short answer of a recording, on standard error: standard output is the program's.
pub fn short_answer(recording: &Path) -> Result<()> {
    let text = report::summary(recording, Style::of_stderr())?;
    terminal::report_beside(&text);
    Ok(())
}

/// The agent would be in the emulator, and see its locks in place of the program's; the emulator's plugin follows all lines.
fn refuse_unfit_for_emulator(options: &RecordArgs) -> Result<()> {
    const AGENT: &str = "it sees a program that is not emulated";
    let asked = [
        ("--locks", options.locks, AGENT),
        ("--calls", options.calls, AGENT),
        ("--mpi", options.mpi, AGENT),
        ("--part", options.part, AGENT),
        ("--access-sample", options.access_sample.is_some(), "the emulator sees all cache lines"),
    ];
    let unfit = asked.iter().find(|(_, is_asked, _)| *is_asked);
    match (options.access, unfit) {
        (Some(AccessArgument::Emulate), Some((option, _, reason))) => {
            let error = anyhow::anyhow!("{option} does not go with --access=emulate: {reason}");
            Err(Failure { status: RECORDER_FAILED, hints: Vec::new(), error }.into())
        }
        _ => Ok(()),
    }
}

/// Where accesses are to come from.
fn access_source(access: AccessArgument) -> AccessSource {
    match access {
        AccessArgument::Instrumented => AccessSource::Instrumented,
        AccessArgument::Emulate => AccessSource::Emulated,
    }
}

/// The collector asked for.
pub fn choice(collector: CollectorArgument) -> CollectorChoice {
    match collector {
        CollectorArgument::Auto => CollectorChoice::Auto,
        CollectorArgument::Bpf => CollectorChoice::Bpf,
        CollectorArgument::Perf => CollectorChoice::Perf,
        CollectorArgument::Process => CollectorChoice::Process,
        CollectorArgument::Agent => CollectorChoice::Agent,
    }
}

/// `PROGRAM.longpole` or `pid-N.longpole` in the current folder.
fn default_output_of(target: &RecordTarget) -> PathBuf {
    match target {
        RecordTarget::Process(pid) => format!("pid-{pid}.longpole").into(),
        RecordTarget::Command(command) => default_output(command),
    }
}

/// `PROGRAM.longpole` in the current folder.
pub fn default_output(command: &[OsString]) -> PathBuf {
    let program = command.first().map(Path::new).and_then(Path::file_name);
    let mut name = program.map_or_else(|| "recording".into(), OsString::from);
    name.push(".longpole");
    name.into()
}

/// The program's own status; 128+n when signal n ended it.
fn status(ended: ExitStatus) -> u8 {
    match ended {
        ExitStatus::Code(code) => (code & 0xff) as u8,
        ExitStatus::Signal(signal) => 128_u8.saturating_add((signal & 0x7f) as u8),
        ExitStatus::Unknown => 0,
    }
}

fn explain(error: Error) -> anyhow::Error {
    let (status, hints) = match &error {
        Error::Launch(LaunchError::NotFound { .. }) => (127, vec![]),
        Error::Launch(LaunchError::NotExecutable { .. }) => (126, vec![]),
        Error::NoCollector { collectors } => {
            let remedies = collectors.iter().filter_map(|collector| collector.available.as_ref().err());
            let mut hints: Vec<_> = remedies.map(|refusal| refusal.remedy.clone()).collect();
            hints.push("`longpole doctor` shows all that this machine permits".into());
            hints.dedup();
            (RECORDER_FAILED, hints)
        }
        Error::NotInstrumented { .. } => {
            let hint = "build it with `longpole cc` (or `longpole c++`, `fortran`, `rustc`, `cargo`) in place of the compiler, also where \
                        it is linked (CC=\"longpole cc\"), and without -fsanitize=thread";
            let other = "or record it as it is, in an emulator: --access=emulate";
            (RECORDER_FAILED, vec![hint.to_owned(), other.to_owned()])
        }
        Error::NotEmulated { obstacle, .. } => {
            (RECORDER_FAILED, vec![instead_of_emulation(obstacle).to_owned()])
        }
        Error::NoEmulator => {
            let hint = "install QEMU's user-mode emulator: the package qemu-user of Debian and Ubuntu, qemu-user of Fedora";
            (RECORDER_FAILED, vec![hint.to_owned()])
        }
        Error::EmulatorRefused { .. } => {
            let hint = "the plugin works with QEMU 7.0 to 8.2 built with plugins, as Debian 12 and Ubuntu 24.04 have it; put that \
                        qemu-x86_64 first in PATH, or build the program with `longpole cc`";
            (RECORDER_FAILED, vec![hint.to_owned()])
        }
        Error::Recording(error) => (RECORDER_FAILED, error.hints()),
        _ => (RECORDER_FAILED, vec![]),
    };
    Failure { status, hints, error: error.into() }.into()
}

/// What to do about a program that cannot be emulated.
fn instead_of_emulation(obstacle: &EmulationObstacle) -> &'static str {
    match obstacle {
        EmulationObstacle::Instrumented => "record it with --access alone",
        EmulationObstacle::RaceDetector => "build it without -fsanitize=thread",
        EmulationObstacle::NoProgram => {
            "name the program that executes it: `longpole record --access=emulate -- python3 SCRIPT`"
        }
        EmulationObstacle::OtherProcessor => "record it on a machine of its own kind, built by `longpole cc`",
        EmulationObstacle::Static | EmulationObstacle::OtherLoader(_) => {
            "link it dynamically with the GNU C library (`-static` keeps every library out)"
        }
    }
}

/// Progress on standard error, and only where that is a terminal.
fn progress_bar() -> ProgressBar {
    if !terminal::has_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{spinner} {msg}").expect("a valid template");
    ProgressBar::new_spinner().with_style(style)
}

/// While the program runs the terminal is its own: nothing is drawn over what it writes.
fn show(bar: &ProgressBar, progress: Progress, begun: Option<&str>) {
    match progress {
        Progress::Begun => {
            if let Some(line) = begun {
                terminal::remark(line);
            }
        }
        Progress::Snapshot(Ok(path)) => terminal::remark(&format!("the snapshot is {}", path.display())),
        Progress::Snapshot(Err(reason)) => terminal::remark(&format!("the snapshot was not kept: {reason}")),
        Progress::Recording { .. } => {}
        Progress::Naming { frames } => {
            bar.set_message(format!("longpole: naming {frames} addresses"));
            bar.tick();
        }
    }
}
