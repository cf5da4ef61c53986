//! The `longpole` binary: arguments, wiring, exit statuses.
//!
//! Text on standard output is data; everything else goes to standard error.

mod answer;
mod arguments;
mod curve;
mod definitions;
mod demo;
mod doctor;
mod export;
mod failure;
mod import;
mod metric_files;
mod record;
mod report;
mod setup;
mod view;
mod what_if;

use std::process::ExitCode;

use clap::Parser;

use crate::arguments::{Arguments, Command};

fn main() -> ExitCode {
    // The sample program is this binary run again; it must not see anything of the command line's parsing.
    if std::env::args_os().nth(1).is_some_and(|argument| argument == demo::PROGRAM_ARGUMENT) {
        demo::run_program();
        return ExitCode::SUCCESS;
    }
    let arguments = Arguments::parse();
    let result = match arguments.command {
        Command::Record(options) => record::run(options),
        Command::Report(options) => report::run(&options).map(|()| ExitCode::SUCCESS),
        Command::WhatIf(options) => what_if::run(&options).map(|()| ExitCode::SUCCESS),
        Command::View(options) => view::run(&options).map(|()| ExitCode::SUCCESS),
        Command::Export(options) => export::run(&options).map(|()| ExitCode::SUCCESS),
        Command::Import(options) => import::run(&options),
        Command::Demo(options) => demo::run(options),
        Command::Doctor(options) => doctor::run(&options),
        Command::Setup => setup::run(),
        Command::Metrics(options) => definitions::metrics(&options),
        Command::Explain(options) => definitions::explain(&options),
    };
    result.unwrap_or_else(|error| failure::report(&error))
}
