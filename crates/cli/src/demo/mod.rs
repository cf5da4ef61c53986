//! `longpole demo`: a parallel program that lies in this very binary, so that a first answer needs nothing
//! else.

mod program;

use std::process::ExitCode;

use anyhow::{Context, Result};
use longpole_record::{Options, Target};

pub use program::run_program;

use crate::arguments::Demo;
use crate::record;

/// The argument that makes this binary be the sample program.
pub const PROGRAM_ARGUMENT: &str = "demo-program";

/// Runs the command.
pub fn run(options: Demo) -> Result<ExitCode> {
    let binary = std::env::current_exe().context("find this binary")?;
    let options = Options {
        output: options.output.unwrap_or_else(|| "demo.longpole".into()),
        target: Target::Command(vec![binary.into(), PROGRAM_ARGUMENT.into()]),
        collector: record::choice(options.collector),
        locks: false,
        calls: false,
        sampler_cpus: Vec::new(),
        hertz: None,
        stack_bytes: None,
        sources: false,
        duration: None,
        outside: longpole_collect::Options::default(),
        metric_files: Vec::new(),
    };
    record::record(&options, false)
}
