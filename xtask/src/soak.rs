//! `cargo xtask soak`: long runs with much to record. The recorder's memory, and with a limit its disk, stay flat.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::built::{self, BuildProfile};
use crate::programs;
use crate::steps::{Steps, succeed};

/// Bytes of the recording that `--max-size` permits, in its notation and as a number.
const LIMIT: (&str, u64) = ("64M", 64 << 20);
/// Memory may grow by so much from the second quarter of a run to its last: allocators keep what they got.
const MOST_GROWTH: f64 = 1.25;
/// Growth below this is noise, in bytes.
const LEAST_GROWTH: u64 = 8 << 20;
/// Runs of the program that makes threads: in a run of seconds what a recorder takes when it begins and ends is most of it.
const ROUNDS: u32 = 5;
/// Time between two looks at the recorder.
const INTERVAL: Duration = Duration::from_millis(250);

/// How much each load does.
pub struct SoakSizes {
    /// Processes that do nothing, one after another.
    pub processes: u32,
    /// Threads that do nearly nothing, 500 at a time.
    pub threads: u32,
    /// Minutes of context switches as fast as there can be.
    pub minutes: u32,
}

/// What a recorder took at one time.
#[derive(Clone, Copy, Debug, Default)]
struct Footprint {
    memory: u64,
    disk: u64,
}

/// Runs the loads; prints a table.
pub fn run(sizes: &SoakSizes) -> Result<ExitCode> {
    let longpole = built::longpole(BuildProfile::Release)?;
    let folder = tempfile::tempdir().context("make a folder")?;
    let mut steps = Steps::new();
    let mut table = String::from(
        "| load | seconds | memory: second quarter, MiB | last quarter | most | disk, most, MiB |\n|---|---:|---:|---:|---:|---:|\n",
    );
    for (title, command) in loads(folder.path(), sizes)? {
        steps.step(&title, || {
            let begin = Instant::now();
            let footprints = watch(&longpole, folder.path(), &command)?;
            let row = row(&title, begin.elapsed(), &footprints)?;
            writeln!(table, "{row}").expect("a string takes all");
            judge(&footprints)
        });
    }
    println!("{table}");
    Ok(steps.finish(&[]))
}

/// The programs that are recorded.
fn loads(folder: &Path, sizes: &SoakSizes) -> Result<Vec<(String, Vec<String>)>> {
    let build = |name: &str| -> Result<String> {
        Ok(programs::build(folder, name, &[])?.to_string_lossy().into_owned())
    };
    let SoakSizes { processes, threads, minutes } = sizes;
    let shell = |script: String| vec!["/bin/sh".to_owned(), "-c".to_owned(), script];
    let one_by_one = shell(format!("i=0; while [ $i -lt {processes} ]; do /bin/true; i=$((i+1)); done"));
    let many_threads = build("many_threads")?;
    let in_rounds = shell(format!("for i in $(seq {ROUNDS}); do {many_threads} {threads} || exit 1; done"));
    // Runs of a second or two, until the time is over.
    let seconds = minutes * 60;
    let ping_pong = build("ping_pong")?;
    let for_long = shell(format!(
        "end=$(($(date +%s)+{seconds})); while [ $(date +%s) -lt $end ]; do {ping_pong} 300000; done"
    ));
    Ok(vec![
        (format!("{processes} processes"), one_by_one),
        (format!("{ROUNDS} × {threads} threads"), in_rounds),
        (format!("{minutes} minutes of switches"), for_long),
    ])
}

/// Records a command with a limit of disk, and looks at the recorder until it ends.
fn watch(longpole: &Path, folder: &Path, command: &[String]) -> Result<Vec<Footprint>> {
    let recording = folder.join("soaked.longpole");
    let mut recorder = Command::new(longpole);
    recorder.args(["record", "--quiet", "--force", "--max-size", LIMIT.0, "--output"]).arg(&recording);
    recorder.arg("--").args(command).stdin(Stdio::null()).stdout(Stdio::null());
    let mut recorder = recorder.spawn().context("start longpole")?;
    let mut footprints = Vec::new();
    let status = loop {
        if let Some(status) = recorder.try_wait().context("wait for longpole")? {
            break status;
        }
        footprints.push(Footprint { memory: memory_of(&recorder), disk: bytes_below(&recording) });
        std::thread::sleep(INTERVAL);
    };
    if !status.success() {
        bail!("record: {status}");
    }
    succeed(Command::new(longpole).arg("report").arg(&recording).stdout(Stdio::null()))?;
    Ok(footprints)
}

/// Resident memory in bytes; none once the recorder has ended.
fn memory_of(recorder: &Child) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", recorder.id())).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kibibytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kibibytes.unwrap_or_default() << 10
}

/// Bytes of all files in a folder and below it.
fn bytes_below(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    let bytes = |path: PathBuf| match fs::symlink_metadata(&path) {
        Ok(file) if file.is_dir() => bytes_below(&path),
        Ok(file) => file.len(),
        Err(_) => 0,
    };
    entries.filter_map(|entry| Some(bytes(entry.ok()?.path()))).sum()
}

/// The middle of what was resident in a quarter of the run.
fn middle(quarter: &[Footprint]) -> u64 {
    let mut memory: Vec<u64> =
        quarter.iter().map(|footprint| footprint.memory).filter(|&memory| memory > 0).collect();
    memory.sort_unstable();
    memory.get(memory.len() / 2).copied().unwrap_or_default()
}

/// Memory in the second and in the last quarter: in the first one the recorder gets all that it needs.
fn ends(footprints: &[Footprint]) -> (u64, u64) {
    let quarter = footprints.len().div_ceil(4);
    let second = &footprints[quarter.min(footprints.len())..(2 * quarter).min(footprints.len())];
    (middle(second), middle(&footprints[footprints.len() - quarter..]))
}

fn row(title: &str, took: Duration, footprints: &[Footprint]) -> Result<String> {
    let (first, last) = ends(footprints);
    let most = footprints.iter().map(|footprint| footprint.memory).max().context("look at the recorder")?;
    let disk = footprints.iter().map(|footprint| footprint.disk).max().unwrap_or_default();
    let mebibytes = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    Ok(format!(
        "| {title} | {:.0} | {:.1} | {:.1} | {:.1} | {:.1} |",
        took.as_secs_f64(),
        mebibytes(first),
        mebibytes(last),
        mebibytes(most),
        mebibytes(disk)
    ))
}

fn judge(footprints: &[Footprint]) -> Result<()> {
    let (first, last) = ends(footprints);
    if last > first + LEAST_GROWTH && last as f64 > first as f64 * MOST_GROWTH {
        bail!("keep the memory flat: {first} bytes in the second quarter, {last} in the last");
    }
    let disk = footprints.iter().map(|footprint| footprint.disk).max().unwrap_or_default();
    if disk > LIMIT.1 + (LIMIT.1 >> 3) {
        bail!("keep the disk below {}: {disk} bytes", LIMIT.0);
    }
    Ok(())
}
