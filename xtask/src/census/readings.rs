//! How often a question reads the log: the opens of `events.log` that strace sees.
//!
//! The recording is a copy of the smallest one that the tests keep, without anything computed before.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// The recording that is asked.
const RECORDING: &str = "crates/cli/tests/fixtures/version-4.longpole";

/// Opens of `events.log` by view; `None` where there is no strace that may trace.
pub fn count(root: &Path, longpole: &Path, views: &[String]) -> Result<Option<BTreeMap<String, usize>>> {
    let folder = tempfile::tempdir().context("make a folder")?;
    let traces = |command: &mut Command| {
        command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
    };
    if !traces(Command::new("strace").arg("-o").arg(folder.path().join("probe")).arg("true")) {
        return Ok(None);
    }
    let mut readings = BTreeMap::new();
    for view in views {
        let recording = folder.path().join(format!("{view}.longpole"));
        copy(&root.join(RECORDING), &recording)?;
        let trace = folder.path().join(format!("{view}.strace"));
        let mut question = Command::new("strace");
        question.args(["-f", "-e", "trace=open,openat", "-o"]).arg(&trace).arg(longpole);
        question.arg("report").arg(&recording).args(["--view", view]);
        if !traces(&mut question) {
            bail!("run {question:?}");
        }
        let text = fs::read_to_string(&trace).with_context(|| format!("read {}", trace.display()))?;
        let opens = text.lines().filter(|line| line.contains("events.log") && !line.contains("resumed>"));
        readings.insert(view.clone(), opens.count());
    }
    Ok(Some(readings))
}

/// Copies a folder without what was computed from it.
fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to).with_context(|| format!("make {}", to.display()))?;
    for entry in fs::read_dir(from).with_context(|| format!("list {}", from.display()))? {
        let entry = entry.with_context(|| format!("list {}", from.display()))?;
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            if entry.file_name() != "cache" {
                copy(&path, &target)?;
            }
        } else {
            fs::copy(&path, &target).with_context(|| format!("copy {}", path.display()))?;
        }
    }
    Ok(())
}
