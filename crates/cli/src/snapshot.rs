//! `longpole snapshot`: asks a recorder that keeps the last part of a run for a copy of it.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use longpole_record::SNAPSHOT_SIGNAL;
use longpole_recording::RecordingFolder;

use crate::arguments::Snapshot;
use crate::terminal;

/// Time that a recorder has for a copy, names included.
const PATIENCE: Duration = Duration::from_secs(120);
const INTERVAL: Duration = Duration::from_millis(50);

/// Runs the command: the path of the copy is what it prints.
pub fn run(options: &Snapshot) -> Result<()> {
    let (recorder, recording) = recorder_of(options.pid)?;
    let before = snapshots_of(&recording);
    signal(recorder).with_context(|| format!("signal the recorder, process {recorder}"))?;
    let end = Instant::now() + PATIENCE;
    while Instant::now() < end {
        // A copy has its outcome when it is whole.
        let is_new = |path: &PathBuf| !before.contains(path) && is_finished(path);
        if let Some(path) = snapshots_of(&recording).into_iter().find(is_new) {
            return terminal::print_line(&path.display().to_string());
        }
        if !Path::new(&format!("/proc/{recorder}")).exists() {
            bail!("save a snapshot: the recorder has ended; its recording is {}", recording.display());
        }
        std::thread::sleep(INTERVAL);
    }
    Err(anyhow!("save a snapshot: the recorder has not made one within {} s", PATIENCE.as_secs()))
}

fn is_finished(recording: &Path) -> bool {
    RecordingFolder::open(recording).is_ok_and(|(_, manifest)| manifest.outcome.is_some())
}

/// The recorder that this process is, or that started it, and the folder that it writes.
fn recorder_of(pid: u32) -> Result<(u32, PathBuf)> {
    if !Path::new(&format!("/proc/{pid}")).exists() {
        bail!("find process {pid}");
    }
    let parent = parent_of(pid);
    let mut recorders = [Some(pid), parent].into_iter().flatten();
    let found = recorders.find_map(|pid| Some((pid, recording_of(pid)?)));
    found.with_context(|| {
        format!("find a recorder with --keep-last or --max-size in process {pid} or its parent")
    })
}

fn parent_of(pid: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("PPid:"))?;
    line.trim().parse().ok()
}

/// The recording that a process holds the lock of, where it keeps the last part of a run.
fn recording_of(pid: u32) -> Option<PathBuf> {
    let descriptors = fs::read_dir(format!("/proc/{pid}/fd")).ok()?.flatten();
    let mut files = descriptors.filter_map(|entry| fs::read_link(entry.path()).ok());
    let folder = files.find(|file| file.ends_with("recording.lock"))?.parent()?.to_owned();
    let (_, manifest) = RecordingFolder::open(&folder).ok()?;
    manifest.window.map(|_| folder)
}

/// The copies of a recording that stand beside it.
fn snapshots_of(recording: &Path) -> Vec<PathBuf> {
    let Some(folder) = recording.parent() else { return Vec::new() };
    let mut start = recording.file_stem().unwrap_or_default().to_owned();
    start.push("-snapshot");
    let is_one = |path: &PathBuf| {
        let name = path.file_name().map(|name| name.as_encoded_bytes().to_vec());
        name.is_some_and(|name| name.starts_with(start.as_encoded_bytes()))
    };
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    entries.flatten().map(|entry| entry.path()).filter(is_one).collect()
}

fn signal(pid: u32) -> std::io::Result<()> {
    let pid = i32::try_from(pid).map_err(std::io::Error::other)?;
    // SAFETY: sends a signal, no memory is passed.
    match unsafe { libc::kill(pid, SNAPSHOT_SIGNAL) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}
