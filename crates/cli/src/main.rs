//! The `longpole` binary: arguments, wiring, exit statuses.
//!
//! Text on standard output is data; everything else goes to standard error.

mod answer;
mod arguments;
mod check;
mod compiler;
mod curve;
mod definitions;
mod demo;
mod destination;
mod diff;
mod doctor;
mod export;
mod failure;
mod hosts;
mod import;
mod join;
mod metric_files;
mod part;
mod record;
mod report;
mod rust_compiler;
mod setup;
mod simulate;
mod snapshot;
mod terminal;
mod view;
mod what_if;
mod zero;

use std::process::ExitCode;

use clap::Parser;

use crate::arguments::{Arguments, CliCommand};

fn main() -> ExitCode {
    // The sample program is this binary run again; it must not see anything of the command line's parsing.
    if std::env::args_os().nth(1).is_some_and(|argument| argument == demo::PROGRAM_ARGUMENT) {
        demo::run_program();
        return ExitCode::SUCCESS;
    }
    if std::env::args_os().nth(1).is_some_and(|argument| argument == longpole_record::agent::KEEPER_ARGUMENT)
    {
        longpole_record::agent::hold_memory();
        return ExitCode::SUCCESS;
    }
    longpole_record::setup::use_privileged_names();
    let (arguments, is_short) = arguments::completed(std::env::args_os().collect());
    let arguments = match Arguments::try_parse_from(arguments) {
        Ok(arguments) => arguments,
        Err(error) => return failure::of_arguments(error),
    };
    let result = match arguments.command {
        CliCommand::Record(options) => {
            record::run(options).map_err(|error| if is_short { record::or_a_command(error) } else { error })
        }
        CliCommand::Report(options) => report::run(&options).map(|()| ExitCode::SUCCESS),
        CliCommand::WhatIf(options) => what_if::run(&options).map(|()| ExitCode::SUCCESS),
        CliCommand::Zero(options) => zero::run(&options).map(|()| ExitCode::SUCCESS),
        CliCommand::Diff(options) => diff::run(&options).map(|()| ExitCode::SUCCESS),
        CliCommand::Check(options) => check::run(&options),
        CliCommand::View(options) => view::run(&options).map(|()| ExitCode::SUCCESS),
        CliCommand::Export(options) => export::run(&options).map(|()| ExitCode::SUCCESS),
        CliCommand::Cc(options) => compiler::run(compiler::CompiledLanguage::C, &options.arguments),
        CliCommand::Cxx(options) => compiler::run(compiler::CompiledLanguage::Cxx, &options.arguments),
        CliCommand::Fortran(options) => {
            compiler::run(compiler::CompiledLanguage::Fortran, &options.arguments)
        }
        CliCommand::Rustc(options) => rust_compiler::run_rustc(&options.arguments),
        CliCommand::Cargo(options) => rust_compiler::run_cargo(&options.arguments),
        CliCommand::Snapshot(options) => snapshot::run(&options).map(|()| ExitCode::SUCCESS),
        CliCommand::Join(options) => join::run(&options),
        CliCommand::Import(options) => import::run(options),
        CliCommand::Simulate(options) => simulate::run(&options),
        CliCommand::Demo(options) => demo::run(options),
        CliCommand::Doctor(options) => doctor::run(&options),
        CliCommand::Setup(options) => setup::run(&options),
        CliCommand::Metrics(options) => definitions::metrics(&options),
        CliCommand::Explain(options) => definitions::explain(&options),
    };
    result.unwrap_or_else(|error| failure::report(&error))
}
