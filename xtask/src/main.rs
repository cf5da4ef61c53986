//! The project's own commands: `cargo xtask test` is every check and test in one.
// Talking to the terminal is what these commands are for.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod bench;
mod bpf;
mod checks;
mod collectors;
mod foreign;
mod layering;
mod page;
mod steps;
mod synthetic;
mod tools;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

/// Commands of the project itself.
#[derive(Parser)]
#[command(name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Every check and every test, the end-to-end ones included.
    Test {
        /// Don't install what is missing, even where it could be done.
        #[arg(long)]
        no_install: bool,
    },
    /// The checks that run nothing: format, lints, layering, the embedded BPF object.
    Check,
    /// Measure what recording and reporting cost, and keep the table below benches/runs.
    Bench {
        /// Rounds of every comparison.
        #[arg(long, default_value_t = 5)]
        rounds: u32,
        /// Only this benchmark (may be given several times); the table is then not kept.
        #[arg(long)]
        only: Vec<String>,
    },
    /// Run test suites that are not ours with the agent and without, and compare what fails.
    Foreign {
        /// Only these suites.
        names: Vec<String>,
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
        /// Seconds per target.
        #[arg(long, default_value_t = 60)]
        seconds: u32,
    },
    /// Record programs with known answers by every collector, and write the table of docs/collectors.md.
    Collectors,
    /// Write the generated pages of docs/ anew.
    Docs,
    /// Take pictures of every view of the page, light and dark, for docs/.
    Screenshots,
}

fn main() -> ExitCode {
    match run(Arguments::parse().command) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("xtask: failed to {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> Result<ExitCode> {
    match command {
        Command::Test { no_install } => checks::test(!no_install),
        Command::Check => checks::check(),
        Command::Bench { rounds, only } => bench::run(rounds, &only),
        Command::Foreign { names, no_install } => foreign::run(&names, !no_install),
        Command::Synthesize { events, path } => synthetic::write(&path, events).map(|()| ExitCode::SUCCESS),
        Command::Fuzz { seconds } => checks::fuzz(seconds),
        Command::Collectors => collectors::run(),
        Command::Docs => checks::docs(),
        Command::Screenshots => page::screenshots(),
    }
}
