//! Options that say what metrics are: `--define` and `--metrics`.

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;
use longpole_answer::MetricFile;
use longpole_recording::{LARGEST_METRIC_FILE, read_regular};

/// Metrics that the user defines.
#[derive(Args, Clone, Debug, Default)]
pub struct DefinitionArgs {
    /// A metric made of others, such as `share = (cpu_time + spin_time) / sys_user_time`; can be given several times.
    #[arg(long, value_name = "NAME = FORMULA")]
    pub define: Vec<String>,
    /// A file that describes metrics (docs/metrics-files.md); can be given several times.
    #[arg(long = "metrics", value_name = "FILE")]
    pub files: Vec<PathBuf>,
}

impl DefinitionArgs {
    /// The files, read.
    pub fn read(&self) -> Result<Vec<MetricFile>> {
        read(&self.files)
    }
}

/// The files, read.
pub fn read(files: &[PathBuf]) -> Result<Vec<MetricFile>> {
    let read = |path: &PathBuf| {
        let text =
            read_regular(path, LARGEST_METRIC_FILE).with_context(|| format!("read {}", path.display()))?;
        Ok(MetricFile { name: path.display().to_string(), text })
    };
    files.iter().map(read).collect()
}
