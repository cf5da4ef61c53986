//! `longpole metrics` and `longpole explain`: definitions from the registry.

use std::process::ExitCode;

use anyhow::Result;

use crate::arguments::{Explain, ListFormat, Metrics};
use crate::failure::Failure;
use crate::terminal::print;

/// Lists every metric.
pub fn metrics(options: &Metrics) -> Result<ExitCode> {
    let list = match options.format {
        ListFormat::Text => longpole_report::list_metrics(),
        ListFormat::Json => longpole_report::registry_json(),
    };
    print(&list)?;
    Ok(ExitCode::SUCCESS)
}

/// Defines one.
pub fn explain(options: &Explain) -> Result<ExitCode> {
    match longpole_report::explain(&options.topic) {
        Ok(text) => {
            print(&text)?;
            Ok(ExitCode::SUCCESS)
        }
        Err(nearest) => Err(Failure {
            status: 1,
            hints: vec![
                format!("did you mean {}?", nearest.join(", ")),
                "`longpole metrics` lists all that is measured".into(),
            ],
            error: anyhow::anyhow!("explain {}: nothing here has that name", options.topic),
        }
        .into()),
    }
}
