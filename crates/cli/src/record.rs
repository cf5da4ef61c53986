//! `longpole record`: runs the program, records it, and gives the short answer.

use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use indicatif::{ProgressBar, ProgressStyle};
use longpole_record::{Choice, Error, Finished, LaunchError, Options, Progress, Target};
use longpole_report::Style;

use crate::arguments::{Collector, Record, Wanted};
use crate::failure::{self, Failure, RECORDER_FAILED};
use crate::{metric_files, report};

/// Runs the command.
pub fn run(options: Record) -> Result<ExitCode> {
    let quiet = options.quiet;
    let target = match options.pid {
        Some(pid) => Target::Process(pid),
        None => Target::Command(options.program),
    };
    let output = options.output.unwrap_or_else(|| default_output(&target));
    record(
        &Options {
            output,
            target,
            collector: choice(options.collector),
            locks: options.locks,
            calls: options.calls,
            sampler_cpus: options.sampler_cpus,
            hertz: options.hertz,
            stack_bytes: options.stack_bytes,
            sources: options.sources,
            duration: options.duration,
            outside: outside(&options.collect, options.collect_interval),
            metric_files: metric_files::read(&options.metrics)?,
        },
        quiet,
    )
}

/// The collectors of outside series: those asked for, `kernel` and `process` where none is.
fn outside(collect: &[Wanted], interval: Option<Duration>) -> longpole_collect::Options {
    let defaults = longpole_collect::Options::default();
    let asked = collect.iter().filter_map(|wanted| match wanted {
        Wanted::Collector(choice) => Some(choice.clone()),
        Wanted::Nothing => None,
    });
    let choices = if collect.is_empty() { defaults.choices } else { asked.collect() };
    longpole_collect::Options { choices, interval: interval.unwrap_or(defaults.interval) }
}

/// Records, prints the short answer, and passes the program's exit status on.
pub fn record(options: &Options, quiet: bool) -> Result<ExitCode> {
    let bar = progress_bar();
    let finished = longpole_record::record(options, &mut |progress| show(&bar, progress));
    bar.finish_and_clear();
    let finished = finished.map_err(explain)?;
    // On a full disk the manifest may not hold the reason either.
    for note in notes_of_truncation(&finished) {
        let _ = writeln!(std::io::stderr(), "longpole: {note}");
    }
    if !quiet {
        if let Some(note) = note_of_absence(&finished) {
            let _ = writeln!(std::io::stderr(), "longpole: {note}");
        }
        // The program's exit status matters more than our report about it.
        if let Err(error) = short_answer(&finished.path) {
            failure::report(&error);
        }
    }
    Ok(ExitCode::from(status(&finished)))
}

/// Why the recording is shorter than the run.
fn notes_of_truncation(finished: &Finished) -> impl Iterator<Item = &String> {
    let machines = finished.manifest.machines.iter().filter(|_| finished.outcome.truncated);
    let notes = machines.flat_map(|machine| &machine.collector.notes);
    notes.filter(|note| note.starts_with("the recording ends before the program"))
}

/// That the agent was wanted and is not in the program.
fn note_of_absence(finished: &Finished) -> Option<&String> {
    let mut notes = finished.manifest.machines.iter().flat_map(|machine| &machine.collector.notes);
    notes.find(|note| note.starts_with("the agent is not in") || note.starts_with("the agent was in none"))
}

/// Prints the short answer of a recording, on standard error: standard output is the program's.
pub fn short_answer(recording: &Path) -> Result<()> {
    let text = report::summary(recording, Style::of_stderr())?;
    let mut stderr = std::io::stderr().lock();
    stderr.write_all(text.as_bytes())?;
    Ok(())
}

/// The collector asked for.
pub fn choice(collector: Collector) -> Choice {
    match collector {
        Collector::Auto => Choice::Auto,
        Collector::Bpf => Choice::Bpf,
        Collector::Perf => Choice::Perf,
        Collector::Process => Choice::Process,
        Collector::Agent => Choice::Agent,
    }
}

/// `PROGRAM.longpole` or `pid-N.longpole` in the current folder.
fn default_output(target: &Target) -> PathBuf {
    let name = match target {
        Target::Process(pid) => OsString::from(format!("pid-{pid}")),
        Target::Command(command) => {
            let program = command.first().map(Path::new).and_then(Path::file_name);
            program.map_or_else(|| "recording".into(), OsString::from)
        }
    };
    let mut name = name;
    name.push(".longpole");
    name.into()
}

/// The program's own status; 128+n when signal n ended it.
fn status(finished: &Finished) -> u8 {
    let outcome = finished.outcome;
    match (outcome.exit_code, outcome.signal) {
        (Some(code), _) => (code & 0xff) as u8,
        (None, Some(signal)) => 128_u8.saturating_add((signal & 0x7f) as u8),
        (None, None) => 0,
    }
}

fn explain(error: Error) -> anyhow::Error {
    let (status, hints) = match &error {
        Error::Launch(LaunchError::NotFound { .. }) => (127, vec![]),
        Error::Launch(LaunchError::NotExecutable { .. }) => (126, vec![]),
        Error::NoRung { rungs } => {
            let remedies = rungs.iter().filter_map(|rung| rung.available.as_ref().err());
            let mut hints: Vec<_> = remedies.map(|refusal| refusal.remedy.clone()).collect();
            hints.push("`longpole doctor` shows all that this machine permits".into());
            hints.dedup();
            (RECORDER_FAILED, hints)
        }
        _ => (RECORDER_FAILED, vec![]),
    };
    Failure { status, hints, error: error.into() }.into()
}

/// Progress on standard error, and only where that is a terminal.
fn progress_bar() -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{spinner} {msg}").expect("a valid template");
    ProgressBar::new_spinner().with_style(style)
}

/// While the program runs the terminal is its own: nothing is drawn over what it writes.
fn show(bar: &ProgressBar, progress: Progress) {
    match progress {
        Progress::Recording { .. } => {}
        Progress::Naming { frames } => {
            bar.set_message(format!("longpole: naming {frames} addresses"));
            bar.tick();
        }
    }
}
