//! `longpole join`: one recording of those that recorders made of the parts of a run.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use longpole_answer::join_parts;
use longpole_event::MachineId;

use crate::arguments::Join;
use crate::destination::destination;
use crate::failure::Failure;
use crate::{record, terminal};

/// Runs the command.
pub fn run(options: &Join) -> Result<ExitCode> {
    join(options, || default_output(&options.parts[0]), false)?;
    Ok(ExitCode::SUCCESS)
}

/// Makes the recording, and prints the answer.
pub fn join(options: &Join, default: impl FnOnce() -> PathBuf, quiet: bool) -> Result<()> {
    let paths = parts(&options.parts)?;
    let output = destination(options.output.clone(), options.force, default);
    let (parts, joined) = join_parts(&paths)?.map_err(|refusal| Failure {
        status: 1,
        hints: Vec::new(),
        error: anyhow::anyhow!("failed to join: {refusal}"),
    })?;
    let folder = output.create(&joined.manifest)?;
    for (index, part) in parts.iter().enumerate() {
        folder.adopt(MachineId::from_index(index), part.folder(), MachineId(0))?;
    }
    if !quiet {
        for note in &joined.notes {
            terminal::remark(note);
        }
        record::short_answer(folder.path())?;
        record::say_where(folder.path());
    }
    Ok(())
}

/// The recordings that were named, and those in the folders that were.
fn parts(named: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut parts = Vec::new();
    for path in named {
        if path.join("recording.json").exists() {
            parts.push(path.clone());
            continue;
        }
        let entries = fs::read_dir(path).with_context(|| format!("failed to list {}", path.display()))?;
        let mut found: Vec<PathBuf> =
            entries.flatten().map(|entry| entry.path()).filter(|path| is_recording(path)).collect();
        // Rank 2 before rank 10.
        found.sort_by_key(|path| (path.as_os_str().len(), path.clone()));
        parts.extend(found);
    }
    Ok(parts)
}

fn is_recording(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "longpole") && path.join("recording.json").exists()
}

/// `FOLDER.longpole`, beside the folder.
fn default_output(first: &Path) -> PathBuf {
    let mut name = first.file_stem().map_or_else(|| OsString::from("joined"), OsString::from);
    name.push(".longpole");
    name.into()
}
