//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// Names the long pole of a parallel program: what holds it back, why threads wait, how sure that is.
#[derive(Debug, Parser)]
#[command(version, max_term_width = 100, after_help = EXIT_STATUS)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
}

const EXIT_STATUS: &str = "\
Exit status:
  record passes on the program's status; 128+n if signal n ended it, 127 if it was not found,
  126 if it could not be executed, 125 if longpole itself failed before or while recording.
  Other commands: 0, or 1 if they failed. 2 is a wrong command line.";

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a program, record it, and print what holds it back
    Record(Record),
    /// Answer from a recording
    Report(crate::report::ReportArgs),
    /// Predict what a change of some work would do to the recorded run
    WhatIf(crate::what_if::WhatIfArgs),
    /// Look at a recording in the browser: a page that this machine serves to itself
    View(crate::view::ViewArgs),
    /// Write a recording's answers into files that need no longpole: a page, CSV, Parquet
    Export(crate::export::ExportArgs),
    /// Make a recording of a perf.data file
    Import(Import),
    /// Record a sample program that lies in this binary, and print the report
    Demo(Demo),
    /// Say what this machine permits, what follows from it, and how to get more
    Doctor(Doctor),
    /// Once, as root: let this binary record without root
    Setup,
    /// List every number that is measured
    Metrics(Metrics),
    /// Define a metric, a column or a term
    Explain(Explain),
}

/// Options of `record`.
#[derive(Clone, Debug, Args)]
pub struct Record {
    /// Folder of the recording [default: PROGRAM.longpole in the current folder]
    #[arg(short, long, value_name = "REC")]
    pub output: Option<PathBuf>,
    /// How to collect
    #[arg(long, value_enum, default_value = "auto")]
    pub collector: Collector,
    /// See locks from inside too: free acquisitions, how long they are held, by a preloaded library
    #[arg(long, conflicts_with = "pid")]
    pub locks: bool,
    /// See every call of procedures that were compiled with -finstrument-functions, by the same library
    #[arg(long, conflicts_with = "pid")]
    pub calls: bool,
    /// Processors for the agent's sampling threads, one thread for each [default: one thread on any]
    #[arg(long, value_name = "CPU,…", value_delimiter = ',')]
    pub sampler_cpus: Vec<u32>,
    /// Samples per second and processor [default: 499]
    #[arg(short = 'F', long = "frequency", value_name = "HZ", value_parser = clap::value_parser!(u32).range(1..=20_000))]
    pub hertz: Option<u32>,
    /// Bytes of stack copied at a wait or wake [default: chosen by looking at the program]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=32_768))]
    pub stack_bytes: Option<u32>,
    /// Keep the source files that the recording names in it (2 MiB each, 64 MiB in all, at most)
    #[arg(long)]
    pub sources: bool,
    /// Collect numbers from outside the program: kernel, process, counters[=LIST], prometheus=URL, cmd:COMMAND
    /// (repeat for several), or none [default: kernel and process]
    #[arg(long, value_name = "COLLECTOR", value_parser = wanted)]
    pub collect: Vec<Wanted>,
    /// Milliseconds between two looks of these collectors [default: 10]
    #[arg(long, value_name = "MILLISECONDS", value_parser = milliseconds)]
    pub collect_interval: Option<Duration>,
    /// A file that describes metrics (docs/metrics-files.md), to be kept in the recording; can be given several times
    #[arg(long, value_name = "FILE")]
    pub metrics: Vec<PathBuf>,
    /// Attach to a running process and those below it, until Ctrl-C, --duration or its end
    #[arg(short, long, conflicts_with = "program")]
    pub pid: Option<u32>,
    /// Stop recording after so many seconds; the program goes on
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub duration: Option<Duration>,
    /// Print nothing but errors when the recording is finished
    #[arg(short, long)]
    pub quiet: bool,
    /// The program and its arguments
    #[arg(last = true, required_unless_present = "pid", value_name = "PROGRAM")]
    pub program: Vec<OsString>,
}

/// Ways to collect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Collector {
    /// The best one that this machine permits
    Auto,
    /// Programs in the kernel
    Bpf,
    /// System-wide tracepoints
    Perf,
    /// What everybody may see of a program of their own
    Process,
    /// What the program itself can see, through a preloaded library
    Agent,
}

/// Options of `import`.
#[derive(Clone, Debug, Args)]
pub struct Import {
    /// Output of `perf record -e sched:sched_switch,sched:sched_waking,cpu-clock -g`
    pub file: PathBuf,
    /// Folder of the recording [default: FILE.longpole]
    #[arg(short, long, value_name = "REC")]
    pub output: Option<PathBuf>,
}

/// Options of `demo`.
#[derive(Clone, Debug, Args)]
pub struct Demo {
    /// Folder of the recording [default: demo.longpole in the current folder]
    #[arg(short, long, value_name = "REC")]
    pub output: Option<PathBuf>,
    /// How to collect
    #[arg(long, value_enum, default_value = "auto")]
    pub collector: Collector,
}

/// Options of `doctor`.
#[derive(Clone, Debug, Args)]
pub struct Doctor {
    /// A program to look at: does it keep frame pointers, does it have names and lines?
    pub program: Option<PathBuf>,
}

/// Options of `metrics`.
#[derive(Clone, Debug, Args)]
pub struct Metrics {
    /// How to write the list; JSON has the definitions too
    #[arg(long, value_enum, default_value_t)]
    pub format: ListFormat,
}

/// Forms of a list of definitions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ListFormat {
    /// For people
    #[default]
    Text,
    /// One object
    Json,
}

/// Options of `explain`.
#[derive(Clone, Debug, Args)]
pub struct Explain {
    /// A metric, a column of a report, or a term
    pub topic: String,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| format!("{text} is no number of seconds"))?;
    Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
}

/// A collector of outside series that is asked for, or that none is.
#[derive(Clone, Debug)]
pub enum Wanted {
    Collector(longpole_collect::Choice),
    Nothing,
}

fn wanted(text: &str) -> Result<Wanted, String> {
    if text == "none" {
        return Ok(Wanted::Nothing);
    }
    text.parse()
        .map(Wanted::Collector)
        .map_err(|error: longpole_collect::BadChoice| format!("failed to {error}"))
}

fn milliseconds(text: &str) -> Result<Duration, String> {
    let number: u64 = text.parse().map_err(|_| "not a whole number of milliseconds".to_owned())?;
    if (1..=60_000).contains(&number) {
        Ok(Duration::from_millis(number))
    } else {
        Err("from 1 to 60000".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn the_program_s_options_are_left_alone() {
        let parsed =
            Arguments::try_parse_from(["longpole", "record", "-F", "99", "--", "ls", "-F", "--help"]);
        let Command::Record(record) = parsed.expect("a valid command line").command else { panic!("record") };
        assert_eq!(record.hertz, Some(99));
        assert_eq!(record.program, ["ls", "-F", "--help"]);
    }

    #[test]
    fn something_has_to_be_recorded() {
        assert!(Arguments::try_parse_from(["longpole", "record"]).is_err());
        assert!(Arguments::try_parse_from(["longpole", "record", "--pid", "1"]).is_ok());
        assert!(Arguments::try_parse_from(["longpole", "record", "--pid", "1", "--", "ls"]).is_err());
    }
}
