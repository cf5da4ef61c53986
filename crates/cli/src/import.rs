//! `longpole import`: a recording of what `perf record` wrote, or of a trace.

use std::process::ExitCode;

use anyhow::Result;
use longpole_record::import::{ImportChoice, ImportError, import};

use crate::arguments::Import;
use crate::destination::destination;
use crate::failure::Failure;
use crate::record;

/// Runs the command.
pub fn run(options: Import) -> Result<ExitCode> {
    let file = options.file;
    let output = destination(options.output, options.force, || {
        let mut name = file.clone().into_os_string();
        name.push(".longpole");
        name.into()
    });
    let choice = ImportChoice { process: options.process.as_deref(), rank: options.rank };
    let finished = import(&file, choice, &output).map_err(explain)?;
    record::short_answer(&finished.path)?;
    record::say_where(&finished.path);
    Ok(ExitCode::SUCCESS)
}

fn explain(error: ImportError) -> anyhow::Error {
    let hints = if let ImportError::Recording(error) = &error { error.hints() } else { Vec::new() };
    Failure { status: 1, hints, error: error.into() }.into()
}
