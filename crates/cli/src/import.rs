//! `longpole import`: a recording of what `perf record` wrote.

use std::process::ExitCode;

use anyhow::Result;

use crate::arguments::Import;
use crate::record;

/// Runs the command.
pub fn run(options: &Import) -> Result<ExitCode> {
    let output = options.output.clone().unwrap_or_else(|| {
        let mut name = options.file.clone().into_os_string();
        name.push(".longpole");
        name.into()
    });
    longpole_record::import::import(&options.file, &output)?;
    record::short_answer(&output)?;
    Ok(ExitCode::SUCCESS)
}
