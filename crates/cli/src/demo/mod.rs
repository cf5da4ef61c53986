//! `longpole demo`: a parallel program that lies in this very binary, so that a first answer needs nothing
//! else.

mod program;

use std::process::ExitCode;

use anyhow::{Context, Result};
use longpole_record::{RecordOptions, RecordTarget};

pub use program::run_program;

use crate::arguments::Demo;
use crate::destination::destination;
use crate::record;

/// The argument that makes this binary be the sample program.
pub const PROGRAM_ARGUMENT: &str = "demo-program";

/// Runs the command.
pub fn run(options: Demo) -> Result<ExitCode> {
    let binary = std::env::current_exe().context("find this binary")?;
    let output = destination(options.output, options.force, || "demo.longpole".into());
    let target = RecordTarget::Command(vec![binary.into(), PROGRAM_ARGUMENT.into()]);
    let options = RecordOptions {
        collector: record::choice(options.collector),
        outside: longpole_collect::CollectionOptions::default(),
        ..RecordOptions::new(output, target)
    };
    record::record(&options, false)
}
