//! The project's own commands: `cargo xtask test` is every check and test in one.
// Talking to the terminal is what these commands are for.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod bench;
mod bpf;
mod built;
mod census;
mod checks;
mod collector_options;
mod collectors;
mod foreign;
mod fuzz;
mod judge;
mod kills;
mod layering;
mod machine_share;
mod page;
mod programs;
mod soak;
mod steps;
mod synthetic;
mod tools;
mod unsteady;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

/// Commands of the project itself.
#[derive(Parser)]
#[command(name = "cargo xtask")]
struct XtaskArguments {
    #[command(subcommand)]
    command: XtaskCommand,
}

#[derive(Subcommand)]
enum XtaskCommand {
    /// Every check and test, the end-to-end ones included, but the slowest of these.
    Test {
        /// Also the slowest, which take ten seconds or more each.
        #[arg(long)]
        slow: bool,
        /// Don't install what is missing, even where it could be done.
        #[arg(long)]
        no_install: bool,
    },
    /// The checks that run nothing: format, lints, layering, the embedded BPF object.
    Check,
    /// Count what the project keeps small: shared type names, files per metric and view, lines.
    Census {
        /// Also list the shared names with their places, and each metric and view with its files.
        #[arg(long)]
        list: bool,
    },
    /// Measure what recording and reporting cost, and keep the table below benches/runs.
    Bench {
        /// Rounds of every comparison.
        #[arg(long, default_value_t = 5)]
        rounds: u32,
        /// Only this benchmark (may be given several times); the table is then not kept.
        #[arg(long)]
        only: Vec<String>,
    },
    /// Run test suites that are not ours, recorded and bare, and compare what fails.
    Foreign {
        /// Only these suites.
        names: Vec<String>,
        /// How they are recorded: agent, bpf, 'bpf --locks', perf, process (may be given several times).
        #[arg(long, default_value = "agent")]
        collector: Vec<String>,
        /// Don't install what is missing, even where it could be done.
        #[arg(long)]
        no_install: bool,
    },
    /// Write a synthetic recording of a given number of scheduling events.
    Synthesize {
        /// Scheduling events.
        events: u64,
        /// The recording.
        path: std::path::PathBuf,
    },
    /// Run each fuzz target for a while (needs cargo-fuzz and a nightly toolchain).
    Fuzz {
        /// Only these targets.
        targets: Vec<String>,
        /// Seconds per target.
        #[arg(long, default_value_t = 60)]
        seconds: u32,
        /// Add what was run to fuzz/runs.md, and keep the corpora.
        #[arg(long)]
        keep: bool,
    },
    /// Kill recorders and recorded programs at random moments; what remains must open or say why it does not.
    Kills {
        /// How many.
        #[arg(long, default_value_t = 1000)]
        times: u32,
        /// The same seed draws the same moments.
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
    /// Record long runs with very many processes, threads and switches: memory and disk of the recorder stay flat.
    Soak {
        /// Processes, one after another.
        #[arg(long, default_value_t = 100_000)]
        processes: u32,
        /// Threads, 500 at a time.
        #[arg(long, default_value_t = 20_000)]
        threads: u32,
        /// Minutes of context switches as fast as there can be.
        #[arg(long, default_value_t = 30)]
        minutes: u32,
    },
    /// Compare predictions with true zeroing: programs rebuilt without a procedure and measured; write docs/truth.md.
    Judge {
        /// Only these programs.
        names: Vec<String>,
        /// Rounds of each program: every version runs once in each.
        #[arg(long, default_value_t = 9)]
        rounds: usize,
        /// The longpole that predicts [default: a release build].
        #[arg(long)]
        longpole: Option<std::path::PathBuf>,
        /// Record and predict anew, and keep the measured runs where the program still takes as long.
        #[arg(long)]
        keep_runs: bool,
        /// Only write docs/truth.md anew, from what was measured.
        #[arg(long)]
        page_only: bool,
    },
    /// Record programs with known answers by every collector, and write the table of docs/collectors.md.
    Collectors,
    /// Write the generated pages of docs/ anew.
    Docs,
    /// Take pictures of every view of the page, light and dark, for docs/.
    Screenshots,
}

fn main() -> ExitCode {
    match run(XtaskArguments::parse().command) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("xtask: failed to {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: XtaskCommand) -> Result<ExitCode> {
    match command {
        XtaskCommand::Test { slow, no_install } => checks::test(!no_install, slow),
        XtaskCommand::Check => checks::check(),
        XtaskCommand::Census { list } => census::run(list),
        XtaskCommand::Bench { rounds, only } => bench::run(rounds, &only),
        XtaskCommand::Foreign { names, collector, no_install } => {
            foreign::run(&names, &collector, !no_install)
        }
        XtaskCommand::Synthesize { events, path } => {
            synthetic::write(&path, events).map(|()| ExitCode::SUCCESS)
        }
        XtaskCommand::Fuzz { targets, seconds, keep } => {
            fuzz::run(&fuzz::FuzzLimits { targets, seconds, is_kept: keep })
        }
        XtaskCommand::Kills { times, seed } => kills::run(times, seed),
        XtaskCommand::Soak { processes, threads, minutes } => {
            soak::run(&soak::SoakSizes { processes, threads, minutes })
        }
        XtaskCommand::Judge { names, rounds, longpole, keep_runs, page_only } => {
            judge::run(&judge::JudgeOptions {
                names,
                rounds,
                longpole,
                keeps_runs: keep_runs,
                is_page_only: page_only,
            })
        }
        XtaskCommand::Collectors => collectors::run(),
        XtaskCommand::Docs => checks::docs(),
        XtaskCommand::Screenshots => page::screenshots(),
    }
}
