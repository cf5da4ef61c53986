//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use longpole_answer::Choice;
use longpole_report::visible;

use crate::hosts::RemoteShell;
use crate::simulate::Simulate;

/// Names the long pole of a parallel program: what holds it back, why threads wait, how sure that is.
#[derive(Debug, Parser)]
#[command(version, max_term_width = 100, override_usage = USAGE, after_help = EXIT_STATUS)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: CliCommand,
}

const USAGE: &str = "longpole [OPTIONS OF record] PROGRAM [ARGUMENTS]...\n       longpole COMMAND ...";

const EXIT_STATUS: &str = "\
`longpole PROGRAM` is short for `longpole record PROGRAM`. Options come before the program's name;
what follows it belongs to the program. To record a program that has the name of a command, write
`longpole ./report` or `longpole -- report`.

Exit status:
  record passes on the program's status; 128+n if signal n ended it, 127 if it was not found,
  126 if it could not be executed, 125 if longpole itself failed before or while recording.
  Other commands: 0, or 1 if they failed. 2 is a wrong command line.
  check: also 3 if one of its conditions holds.";

#[derive(Debug, Subcommand)]
pub enum CliCommand {
    /// Run a program, record it, and print what holds it back
    Record(RecordArgs),
    /// Answer from a recording
    Report(crate::report::ReportArgs),
    /// Predict what a change of some work would do to the recorded run
    WhatIf(crate::what_if::WhatIfArgs),
    /// Test predictions on changed versions of the real program, run in turn with the unchanged one
    Zero(crate::zero::ZeroArgs),
    /// Compare two recordings, before and after a change: what changed, and why the elapsed time differs
    Diff(crate::diff::DiffArgs),
    /// Fail if recordings of a program are worse than others, beyond their noise: a gate for continuous integration
    Check(crate::check::CheckArgs),
    /// Look at a recording in the browser: a page that this machine serves to itself
    View(crate::view::ViewArgs),
    /// Write a recording's answers into files that need no longpole: a page, CSV, Parquet
    Export(crate::export::ExportArgs),
    /// Compile and link C so that `record --access` can record the program
    #[command(disable_help_flag = true)]
    Cc(CompilerArgs),
    /// The same for C++
    #[command(name = "c++", disable_help_flag = true)]
    Cxx(CompilerArgs),
    /// The same for Fortran
    #[command(disable_help_flag = true)]
    Fortran(CompilerArgs),
    /// The same for Rust, by rustc
    #[command(disable_help_flag = true)]
    Rustc(CompilerArgs),
    /// The same for Rust, by cargo: programs are in target/HOST
    #[command(disable_help_flag = true)]
    Cargo(CompilerArgs),
    /// Save what a recorder with --keep-last or --max-size has kept so far, while it goes on
    Snapshot(Snapshot),
    /// Make one recording of those that `record --part` has made of a run on several machines
    Join(Join),
    /// Make a recording of a perf.data file, or of an OTF2, Perfetto or Chrome JSON trace
    Import(Import),
    /// Run the recorded accesses of a program on a simulated machine, and make a recording of that
    Simulate(Simulate),
    /// Record a sample program that lies in this binary, and print the report
    Demo(Demo),
    /// Say what this machine permits, what follows from it, and how to get more
    Doctor(Doctor),
    /// Once, as root: let this binary record without root
    Setup(Setup),
    /// List every number that is measured
    Metrics(Metrics),
    /// Define a metric, a column or a term
    Explain(Explain),
}

/// Arguments of the compilers' commands.
#[derive(Clone, Debug, Args)]
#[command(override_usage = "longpole cc ARGUMENTS OF THE COMPILER...")]
pub struct CompilerArgs {
    /// The compiler's own arguments
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENTS")]
    pub arguments: Vec<OsString>,
}

/// Options of `record`.
#[derive(Clone, Debug, Args)]
#[command(
    override_usage = "longpole record [OPTIONS] PROGRAM [ARGUMENTS]...\n       longpole record [OPTIONS] --pid PID"
)]
pub struct RecordArgs {
    /// Folder of the recording [default: PROGRAM.longpole in the current folder, or PROGRAM-2.longpole, ...: the first
    /// that is free]
    #[arg(short, long, value_name = "REC")]
    pub output: Option<PathBuf>,
    /// Replace the recording that is in the folder; other files there stay
    #[arg(long)]
    pub force: bool,
    /// Record a part of a run of MPI, a rank or a machine, into a folder of its own below REC; `longpole join REC` puts them together
    #[arg(long, requires = "output", conflicts_with_all = ["pid", "keep_last", "max_size"])]
    pub part: bool,
    /// Run and record the program on each of these hosts, which ssh reaches, and make one recording of all
    #[arg(
        long,
        value_name = "HOST,…",
        value_delimiter = ',',
        conflicts_with_all = ["pid", "part", "access", "sources", "metrics", "keep_last", "max_size"]
    )]
    pub on: Vec<String>,
    /// What runs a command line on a host in place of `ssh {host}`: `docker exec -i {host} sh -c` [default: LONGPOLE_RSH, else ssh]
    #[arg(
        long,
        value_name = "COMMAND",
        requires = "on",
        value_parser = RemoteShell::parse
    )]
    pub remote_shell: Option<RemoteShell>,
    /// Where longpole is on the hosts [default: where their shells find it]
    #[arg(long, value_name = "PATH", requires = "on")]
    pub remote_longpole: Option<PathBuf>,
    /// Folder by which recorders of several hosts wait for each other
    #[arg(long, value_name = "FOLDER", hide = true, conflicts_with = "pid")]
    pub gate: Option<PathBuf>,
    /// How to collect
    #[arg(long, value_enum, default_value = "auto")]
    pub collector: CollectorArgument,
    /// See locks from inside too: free acquisitions, how long they are held, by a preloaded library
    #[arg(long, conflicts_with = "pid")]
    pub locks: bool,
    /// See calls of MPI also where the command is no launcher (mpirun, mpiexec, srun, …) and not linked with MPI
    #[arg(long, conflicts_with = "pid")]
    pub mpi: bool,
    /// See every call of procedures that were compiled with -finstrument-functions, by the same library
    #[arg(long, conflicts_with = "pid")]
    pub calls: bool,
    /// Record every access to memory, for the views communication, sharing, patterns and causality; the program is slower then, so
    /// that times of other views are not those of a run without this
    #[arg(
        long,
        value_enum,
        value_name = "HOW",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "instrumented",
        conflicts_with = "pid"
    )]
    pub access: Option<AccessArgument>,
    /// Follow one of N cache lines only, as `1/16`, so that reports take a fraction of the time and memory: counts are then
    /// estimates for all lines, with the range in which they are. A hash of the address chooses; `1/16@7` chooses others than `1/16@8`
    #[arg(long, value_name = "1/N", requires = "access", value_parser = access_share)]
    pub access_sample: Option<AccessShare>,
    /// Bytes of what is followed as a whole in place of a cache line: reports take a `--unit` up to this [default: 64]
    #[arg(long, value_name = "BYTES", requires = "access_sample", value_parser = sample_unit)]
    pub access_sample_unit: Option<u64>,
    /// Processors for the agent's sampling threads, one thread for each [default: one thread on any]
    #[arg(long, value_name = "CPU,…", value_delimiter = ',')]
    pub sampler_cpus: Vec<u32>,
    /// Samples per second and processor [default: 499]
    #[arg(short = 'F', long = "frequency", value_name = "HZ", value_parser = clap::value_parser!(u32).range(1..=20_000))]
    pub hertz: Option<u32>,
    /// Bytes of stack copied at a wait or wake [default: chosen by looking at the program]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=32_768))]
    pub stack_bytes: Option<u32>,
    /// Keep copies of the program's source files in the recording (2 MiB each, 64 MiB in all, at most)
    #[arg(long)]
    pub sources: bool,
    /// A folder that holds sources, beside those in which the program was built and runs; can be given several times
    #[arg(long = "source-dir", value_name = "DIR", requires = "sources")]
    pub source_dirs: Vec<PathBuf>,
    /// Collect numbers from outside the program: kernel, process, counters[=LIST], prometheus=URL, cmd:COMMAND
    /// (repeat for several), or none [default: kernel and process]
    #[arg(long, value_name = "COLLECTOR", value_parser = wanted)]
    pub collect: Vec<SeriesSourceArgument>,
    /// Milliseconds between two looks of these collectors [default: 10]
    #[arg(long, value_name = "MILLISECONDS", value_parser = milliseconds)]
    pub collect_interval: Option<Duration>,
    /// A file that describes metrics (docs/metrics-files.md), to be kept in the recording; can be given several times
    #[arg(long, value_name = "FILE")]
    pub metrics: Vec<PathBuf>,
    /// Attach to a running process and those below it, until Ctrl-C, --duration or its end
    #[arg(short, long, conflicts_with = "program")]
    pub pid: Option<u32>,
    /// Stop recording after this time (10s, 500ms, 5m) and print the answer; the program goes on, and one that was started
    /// here stays in the foreground until it ends
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub duration: Option<Duration>,
    /// Keep at least the last so many seconds of the run, and drop what was before: 60s, 5m, 1h
    #[arg(long, value_name = "TIME", value_parser = kept_time)]
    pub keep_last: Option<Duration>,
    /// Keep at most so much of the run, the last part of it: 100M, 2G; not counting copies of sources
    #[arg(long, value_name = "SIZE", value_parser = kept_size)]
    pub max_size: Option<u64>,
    /// Print nothing but errors when the recording is finished
    #[arg(short, long)]
    pub quiet: bool,
    /// The program and its arguments; `--` may precede them
    #[arg(trailing_var_arg = true, required_unless_present = "pid", value_name = "PROGRAM")]
    pub program: Vec<OsString>,
}

/// A share of the units of memory, and what chooses them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccessShare {
    /// One unit in so many.
    pub one_of: u32,
    /// What chooses; `None`: anything.
    pub seed: Option<u64>,
}

/// `1/16`, or `1/16@7`.
fn access_share(text: &str) -> Result<AccessShare, String> {
    let (share, seed) = match text.split_once('@') {
        Some((share, seed)) => {
            (share, Some(seed.parse::<u64>().map_err(|_| format!("`{seed}` is no number"))?))
        }
        None => (text, None),
    };
    let one_of = share.strip_prefix("1/").and_then(|number| number.parse().ok());
    let one_of = one_of.filter(|number| (1..=65_536).contains(number));
    let one_of = one_of.ok_or_else(|| format!("`{share}` is no share from 1/1 to 1/65536, such as 1/16"))?;
    Ok(AccessShare { one_of, seed })
}

/// Bytes that are followed as a whole.
fn sample_unit(text: &str) -> Result<u64, String> {
    let bytes = text.parse().ok().filter(|bytes: &u64| bytes.is_power_of_two());
    let bytes = bytes.filter(|bytes| (64..=1 << 20).contains(bytes));
    bytes.ok_or_else(|| format!("`{text}` is no power of two from 64 to 1048576"))
}

/// Ways to see accesses to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AccessArgument {
    /// The program was built by `longpole cc`, `c++`, `fortran`, `rustc` or `cargo` [default]
    Instrumented,
    /// Any program, executed by QEMU's user-mode emulator (qemu-x86_64)
    Emulate,
}

/// Ways to collect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CollectorArgument {
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

/// Options of `snapshot`.
#[derive(Clone, Debug, Args)]
pub struct Snapshot {
    /// The recorder, or the program that it started
    pub pid: u32,
}

/// Options of `join`.
#[derive(Clone, Debug, Args)]
pub struct Join {
    /// The folder with the parts, or the parts
    #[arg(required = true, value_name = "PART")]
    pub parts: Vec<PathBuf>,
    /// Folder of the recording [default: FOLDER.longpole, or FOLDER-2.longpole, ...: the first that is free]
    #[arg(short, long, value_name = "REC")]
    pub output: Option<PathBuf>,
    /// Replace the recording that is in the folder; other files there stay
    #[arg(long)]
    pub force: bool,
}

/// Options of `import`.
#[derive(Clone, Debug, Args)]
pub struct Import {
    /// Output of `perf record -e sched:sched_switch,sched:sched_waking,cpu-clock -g`, the anchor file of an OTF2 trace
    /// (traces.otf2), a Perfetto trace (.pftrace), or a trace in Chrome's JSON format (.json, .json.gz)
    pub file: PathBuf,
    /// Import only this process of a Perfetto trace or of Chrome's JSON: a pid, or the name of a program
    #[arg(long, value_name = "PROCESS")]
    pub process: Option<String>,
    /// Which process of a distributed job a trace in Chrome's JSON format is of, such as 0/8; PyTorch's say it themselves
    #[arg(long, value_name = "RANK/SIZE", value_parser = rank_of_size)]
    pub rank: Option<(u32, u32)>,
    /// Folder of the recording [default: FILE.longpole, or FILE-2.longpole, ...: the first that is free]
    #[arg(short, long, value_name = "REC")]
    pub output: Option<PathBuf>,
    /// Replace the recording that is in the folder; other files there stay
    #[arg(long)]
    pub force: bool,
}

/// Options of `demo`.
#[derive(Clone, Debug, Args)]
pub struct Demo {
    /// Folder of the recording [default: demo.longpole in the current folder, or demo-2.longpole, ...: the first that is
    /// free]
    #[arg(short, long, value_name = "REC")]
    pub output: Option<PathBuf>,
    /// Replace the recording that is in the folder; other files there stay
    #[arg(long)]
    pub force: bool,
    /// How to collect
    #[arg(long, value_enum, default_value = "auto")]
    pub collector: CollectorArgument,
}

/// Options of `doctor`.
#[derive(Clone, Debug, Args)]
pub struct Doctor {
    /// A program to look at: does it keep frame pointers, does it have names and lines?
    pub program: Option<PathBuf>,
}

/// Options of `setup`.
#[derive(Clone, Debug, Args)]
pub struct Setup {
    /// Give the binary itself the capabilities, which it then has as long as it records: for the collector perf, on kernels that do
    /// not permit bpf
    #[arg(long)]
    pub perf: bool,
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

/// The command line with `record` put before a program's name: `longpole ./prog x` is `longpole record ./prog x`. The
/// second value says whether that was done.
pub fn completed(mut arguments: Vec<OsString>) -> (Vec<OsString>, bool) {
    let is_own = |first: &OsString| {
        let first = first.to_str().unwrap_or_default();
        ["help", "-h", "--help", "-V", "--version"].contains(&first)
            || commands().iter().any(|name| name == first)
    };
    let is_short = arguments.get(1).is_some_and(|first| !is_own(first));
    if is_short {
        arguments.insert(1, "record".into());
    }
    (arguments, is_short)
}

/// The names of all commands.
pub fn commands() -> Vec<String> {
    let commands = Arguments::command();
    commands.get_subcommands().map(|command| command.get_name().to_owned()).collect()
}

/// A time with its unit: `90`, `1.5`, `90s`, `500ms`, `5m`, `1h`; without one it is in seconds.
fn time(text: &str) -> Result<Duration, String> {
    const UNITS: [(&str, f64); 4] = [("ms", 1e-3), ("s", 1.0), ("m", 60.0), ("h", 3600.0)];
    let of_unit = |&(unit, factor): &(&str, f64)| Some((text.strip_suffix(unit)?, factor));
    let (number, factor) = UNITS.iter().find_map(of_unit).unwrap_or((text, 1.0));
    let number: f64 =
        number.trim_end().parse().map_err(|_| format!("{} is no time: 10, 500ms, 5m", visible(text)))?;
    Duration::try_from_secs_f64(number * factor).map_err(|error| error.to_string())
}

/// The same, of more than nothing.
pub fn kept_time(text: &str) -> Result<Duration, String> {
    let time = time(text)?;
    if time.is_zero() { Err("it has to be more than 0".to_owned()) } else { Ok(time) }
}

/// Bytes that a recording needs at least to hold anything.
const SMALLEST_SIZE: u64 = 1 << 20;

/// A number of bytes with its unit, in powers of 1024: `1048576`, `1024K`, `100M`, `2GiB`.
fn kept_size(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let factor: u64 = match text[digits.len()..].to_ascii_uppercase().as_str() {
        "" | "B" => 1,
        "K" | "KB" | "KIB" => 1 << 10,
        "M" | "MB" | "MIB" => 1 << 20,
        "G" | "GB" | "GIB" => 1 << 30,
        "T" | "TB" | "TIB" => 1 << 40,
        _ => return Err(format!("{} is no size: 100M, 2G", visible(text))),
    };
    let number: u64 = digits.parse().map_err(|_| format!("{} is no size: 100M, 2G", visible(text)))?;
    let bytes = number.checked_mul(factor).ok_or("it is too large")?;
    if bytes < SMALLEST_SIZE { Err("it has to be 1M at least".to_owned()) } else { Ok(bytes) }
}

/// A collector of outside series that is asked for, or that none is.
#[derive(Clone, Debug)]
pub enum SeriesSourceArgument {
    Collector(longpole_collect::SeriesSourceChoice),
    Nothing,
}

fn wanted(text: &str) -> Result<SeriesSourceArgument, String> {
    if text == "none" {
        return Ok(SeriesSourceArgument::Nothing);
    }
    text.parse()
        .map(SeriesSourceArgument::Collector)
        .map_err(|error: longpole_collect::BadChoice| visible(&format!("failed to {error}")).into_owned())
}

fn milliseconds(text: &str) -> Result<Duration, String> {
    let number: u64 = text.parse().map_err(|_| "not a whole number of milliseconds".to_owned())?;
    if (1..=60_000).contains(&number) {
        Ok(Duration::from_millis(number))
    } else {
        Err("from 1 to 60000".to_owned())
    }
}

/// Reads the word of a choice; the help lists all of them with what they mean.
pub fn choice<C: Choice>() -> impl TypedValueParser<Value = C> {
    let words = C::CHOICES.iter().map(|&(_, word, meaning)| PossibleValue::new(word).help(meaning));
    PossibleValuesParser::new(words).map(|word| C::of_word(&word).expect("it is one of the words"))
}

/// A rank below the number of ranks.
fn rank_of_size(text: &str) -> Result<(u32, u32), String> {
    let parts = text.split_once('/').and_then(|(rank, size)| Some((rank.parse().ok()?, size.parse().ok()?)));
    parts
        .filter(|(rank, size)| rank < size)
        .ok_or_else(|| "write RANK/SIZE, such as 0/8: ranks count from 0".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn the_program_s_options_are_left_alone() {
        let parsed =
            Arguments::try_parse_from(["longpole", "record", "-F", "99", "--", "ls", "-F", "--help"]);
        let CliCommand::Record(record) = parsed.expect("a valid command line").command else {
            panic!("record")
        };
        assert_eq!(record.hertz, Some(99));
        assert_eq!(record.program, ["ls", "-F", "--help"]);
    }

    #[test]
    fn times_and_sizes_have_units() {
        let seconds = |text| kept_time(text).map(|time| time.as_secs_f64());
        assert_eq!(["90", "90s", "1.5m", "1h"].map(seconds), [Ok(90.0), Ok(90.0), Ok(90.0), Ok(3600.0)]);
        assert_eq!(
            ["500ms", "0", "2 s"].map(time),
            [500, 0, 2000].map(|time| Ok(Duration::from_millis(time)))
        );
        assert!(["", "s", "0s", "-1s", "1d", "1é"].map(seconds).iter().all(Result::is_err));
        assert_eq!(["1048576", "1024k", "1MiB"].map(kept_size), [Ok(1 << 20), Ok(1 << 20), Ok(1 << 20)]);
        assert!(["", "1K", "M", "1.5G", "1X", "99999999999T"].map(kept_size).iter().all(Result::is_err));
    }

    /// The program and its arguments that a command line records.
    fn recorded(words: &[&str]) -> Vec<OsString> {
        let (arguments, _) = completed(words.iter().map(OsString::from).collect());
        let parsed =
            Arguments::try_parse_from(arguments).unwrap_or_else(|error| panic!("{words:?}: {error}"));
        let CliCommand::Record(record) = parsed.command else { panic!("{words:?} records") };
        record.program
    }

    #[test]
    fn a_program_needs_no_dashes_before_it() {
        for (words, program) in [
            (&["longpole", "record", "sleep", "0.1"][..], &["sleep", "0.1"][..]),
            (&["longpole", "record", "-F", "99", "ls", "-F", "--help"], &["ls", "-F", "--help"]),
            (&["longpole", "record", "cargo", "test", "--", "x"], &["cargo", "test", "--", "x"]),
            (&["longpole", "record", "--", "cargo", "test", "--", "x"], &["cargo", "test", "--", "x"]),
            (&["longpole", "record", "report", "--view", "x"], &["report", "--view", "x"]),
            (&["longpole", "./prog", "-o", "x"], &["./prog", "-o", "x"]),
            (&["longpole", "--locks", "-o", "y", "prog", "--locks"], &["prog", "--locks"]),
            (&["longpole", "--", "report"], &["report"]),
            (&["longpole", "./report"], &["./report"]),
        ] {
            assert_eq!(recorded(words), program, "{words:?}");
        }
    }

    #[test]
    fn the_names_of_commands_are_no_programs() {
        let command = |words: &[&str]| {
            let (arguments, is_short) = completed(words.iter().map(OsString::from).collect());
            assert!(!is_short, "{words:?}");
            Arguments::try_parse_from(arguments).map(|arguments| arguments.command)
        };
        assert!(matches!(command(&["longpole", "report", "x"]), Ok(CliCommand::Report(_))));
        assert!(matches!(command(&["longpole", "what-if", "--set", "x=0"]), Ok(CliCommand::WhatIf(_))));
        for words in
            [&["longpole"][..], &["longpole", "--help"], &["longpole", "help", "report"], &["longpole", "-V"]]
        {
            assert!(command(words).is_err(), "{words:?}");
        }
    }

    #[test]
    fn a_wrong_option_is_not_taken_for_a_program() {
        for words in [&["longpole", "record", "--lokcs", "ls"][..], &["longpole", "--lokcs", "ls"]] {
            let (arguments, _) = completed(words.iter().map(OsString::from).collect());
            let error = Arguments::try_parse_from(arguments).unwrap_err().to_string();
            assert!(error.contains("'--locks'"), "{error}");
        }
    }

    #[test]
    fn something_has_to_be_recorded() {
        assert!(Arguments::try_parse_from(["longpole", "record"]).is_err());
        assert!(Arguments::try_parse_from(["longpole", "record", "--pid", "1"]).is_ok());
        assert!(Arguments::try_parse_from(["longpole", "record", "--pid", "1", "--", "ls"]).is_err());
    }
}
