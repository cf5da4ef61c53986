//! `cargo xtask fuzz`: every reader under libFuzzer and the address sanitizer, and the record of how much was run.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, Result, bail, ensure};
use longpole_event::{Encoder, Record};

use crate::steps::{Steps, root, succeed};

/// A longer run of one input is a hang.
const LONGEST_SECONDS: u32 = 10;
/// More memory is a defect: a reader is bounded by its input.
const MOST_MEBIBYTES: u32 = 1024;

/// How much is run.
pub struct FuzzLimits {
    /// Seconds for each target.
    pub seconds: u32,
    /// Only these targets; all of them if none is named.
    pub targets: Vec<String>,
    /// Add what was run to `fuzz/runs.md`, and keep the corpora.
    pub is_kept: bool,
}

/// What one target did.
#[derive(Debug, Default, PartialEq, Eq)]
struct FuzzCounts {
    executions: u64,
    /// Edges of the code that some input passed.
    edges: u64,
    /// Inputs in the corpus.
    inputs: u64,
}

/// Runs the targets. What one ran is kept as it ends, whatever becomes of the next ones.
pub fn run(limits: &FuzzLimits) -> Result<ExitCode> {
    let mut steps = Steps::new();
    let is_meant = |target: &String| limits.targets.is_empty() || limits.targets.contains(target);
    let meant: Vec<_> = targets()?.into_iter().filter(is_meant).collect();
    ensure!(!meant.is_empty(), "run any target");
    for target in meant {
        steps.step(&target, || {
            unpack(&target)?;
            let output = fuzz(&target, limits.seconds)?;
            let counts = count(&output).context("read what libFuzzer printed")?;
            if limits.is_kept {
                keep(&target)?;
                record(&target, &counts, limits.seconds)?;
            }
            Ok(())
        });
    }
    if limits.is_kept {
        let rows = fs::read_to_string(runs()).context("read the rows")?;
        println!("executions in all that are kept: {}", sum(&rows));
    }
    Ok(steps.finish(&[]))
}

/// The names of all targets.
fn targets() -> Result<Vec<String>> {
    let folder = root().join("fuzz/fuzz_targets");
    let mut names = Vec::new();
    for entry in fs::read_dir(&folder).with_context(|| format!("list {}", folder.display()))? {
        let path = entry.context("list the fuzz targets")?.path();
        names.extend(path.file_stem().map(|stem| stem.to_string_lossy().into_owned()));
    }
    names.sort();
    Ok(names)
}

/// Cargo of the nightly toolchain, whatever toolchain runs this.
fn nightly(arguments: &[&str]) -> Command {
    let mut command = Command::new("rustup");
    command.args(["run", "nightly", "cargo"]).args(arguments).current_dir(root());
    ["RUSTUP_TOOLCHAIN", "CARGO", "RUSTC"].into_iter().for_each(|name| _ = command.env_remove(name));
    command
}

/// Runs one target; what it printed.
fn fuzz(target: &str, seconds: u32) -> Result<String> {
    let mut command = nightly(&["fuzz", "run", target, "--"]);
    command
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-timeout={LONGEST_SECONDS}"))
        .arg(format!("-rss_limit_mb={MOST_MEBIBYTES}"))
        .arg("-print_final_stats=1")
        .env("TMPDIR", "/dev/shm")
        .stdin(Stdio::null())
        .stderr(Stdio::piped());
    let output = command.output().with_context(|| format!("start {command:?}"))?;
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    if !output.status.success() {
        eprintln!("{text}");
        bail!("run {command:?}: {}", output.status);
    }
    Ok(text)
}

/// What libFuzzer's last lines count: `#4096 DONE cov: 120 ft: 300 corp: 20/1Kb …` and `stat::number_of_executed_units: 4096`.
fn count(output: &str) -> Result<FuzzCounts> {
    let executions = output.lines().find_map(|line| line.strip_prefix("stat::number_of_executed_units:"));
    let executions = executions.context("there is no number of executions")?.trim().parse()?;
    let done = output.lines().rev().find(|line| line.contains("cov: ") && line.contains("corp: "));
    let after = |name: &str| -> Result<u64> {
        let rest = done.and_then(|line| line.split_once(name)).context("there is no line of coverage")?.1;
        let digits = rest.split(|letter: char| !letter.is_ascii_digit()).next().unwrap_or_default();
        digits.parse().with_context(|| format!("read `{name}`"))
    };
    Ok(FuzzCounts { executions, edges: after("cov: ")?, inputs: after("corp: ")? })
}

fn corpus(target: &str) -> PathBuf {
    root().join("fuzz/corpus").join(target)
}

fn archive(target: &str) -> PathBuf {
    root().join("fuzz/corpora").join(format!("{target}.tar.zst"))
}

/// Puts the kept inputs of a target, and its seeds, where the fuzzer looks for them.
fn unpack(target: &str) -> Result<()> {
    let folder = corpus(target);
    fs::create_dir_all(&folder).with_context(|| format!("make {}", folder.display()))?;
    for (number, seed) in seeds(target)?.iter().enumerate() {
        let copy = folder.join(format!("seed-{number}"));
        fs::copy(seed, copy).with_context(|| format!("copy {}", seed.display()))?;
    }
    if target == "event_decoder" {
        for (number, record) in Record::examples().iter().enumerate() {
            let mut block = Encoder::default();
            block.push(record);
            let seed = folder.join(format!("seed-{number}"));
            fs::write(&seed, block.take()).with_context(|| format!("write {}", seed.display()))?;
        }
    }
    if target == "symbols" {
        let program = root().join("programs/pure_computation.c");
        let mut compiler = Command::new("cc");
        succeed(compiler.args(["-g", "-O1", "-o"]).arg(folder.join("seed-0")).arg(program).arg("-lpthread"))?;
    }
    if archive(target).exists() {
        tar(&["--extract", "--zstd", "--file"], target)?;
    }
    Ok(())
}

/// Files of the project that a target can begin with.
fn seeds(target: &str) -> Result<Vec<PathBuf>> {
    let (folder, end) = match target {
        "otf2_trace" => ("crates/record/tests/fixtures/otf2", "packed"),
        "perfetto_trace" => ("crates/record/tests/fixtures/perfetto", "pftrace"),
        "chrome_trace" => ("crates/record/tests/fixtures/chrome", "json"),
        "perf_data" => ("crates/record/tests/fixtures", "data"),
        "log_reader" => ("crates/cli/tests/fixtures", "log"),
        "manifest" => ("crates/cli/tests/fixtures", "json"),
        _ => return Ok(Vec::new()),
    };
    let mut found = Vec::new();
    files_below(&root().join(folder), end, &mut found)?;
    found.sort();
    Ok(found)
}

fn files_below(folder: &Path, end: &str, found: &mut Vec<PathBuf>) -> Result<()> {
    let Ok(entries) = fs::read_dir(folder) else { return Ok(()) };
    for entry in entries {
        let path = entry.context("list the seeds")?.path();
        if path.is_dir() {
            files_below(&path, end, found)?;
        } else if path.extension().is_some_and(|extension| extension == end) {
            found.push(path);
        }
    }
    Ok(())
}

/// Keeps the smallest corpus that reaches as much.
fn keep(target: &str) -> Result<()> {
    succeed(nightly(&["fuzz", "cmin", target]).env("TMPDIR", "/dev/shm").stderr(Stdio::null()))?;
    let folder = root().join("fuzz/corpora");
    fs::create_dir_all(&folder).with_context(|| format!("make {}", folder.display()))?;
    tar(&["--create", "--zstd", "--sort=name", "--mtime=@0", "--owner=0", "--group=0", "--file"], target)
}

fn tar(options: &[&str], target: &str) -> Result<()> {
    let mut command = Command::new("tar");
    command.args(options).arg(archive(target)).arg("--directory").arg(root().join("fuzz/corpus"));
    if options.contains(&"--create") {
        command.arg(target);
    }
    succeed(&mut command)
}

/// The table of what was run.
fn runs() -> PathBuf {
    root().join("fuzz/runs.md")
}

/// Adds a row to it.
fn record(target: &str, counts: &FuzzCounts, seconds: u32) -> Result<()> {
    let path = runs();
    let mut text = fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
    let date = Command::new("date").arg("+%F").output().context("ask for the date")?.stdout;
    let date = String::from_utf8_lossy(&date).trim().to_owned();
    let FuzzCounts { executions, edges, inputs } = counts;
    text += &format!("| {date} | {target} | {seconds} | {executions} | {edges} | {inputs} |\n");
    fs::write(&path, text).with_context(|| format!("write {}", path.display()))
}

/// The executions of all rows.
fn sum(rows: &str) -> u64 {
    let cell = |row: &str| row.split('|').nth(4).and_then(|cell| cell.trim().parse::<u64>().ok());
    rows.lines().filter_map(cell).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_fuzzer_printed_is_counted() {
        let output = "#2\tINITED cov: 3 ft: 4 corp: 1/1b exec/s: 0 rss: 30Mb\n\
                      #4096\tDONE   cov: 120 ft: 300 corp: 20/1Kb lim: 40 exec/s: 2048 rss: 35Mb\n\
                      Done 4096 runs in 2 second(s)\nstat::number_of_executed_units: 4096\n";
        assert_eq!(count(output).unwrap(), FuzzCounts { executions: 4096, edges: 120, inputs: 20 });
        assert!(count("Killed").is_err());
    }

    #[test]
    fn the_executions_of_all_rows_are_added() {
        let rows = "| date | target | seconds | executions | edges | inputs |\n|---|---|---:|---:|---:|---:|\n\
                    | d | a | 60 | 1000 | 5 | 6 |\n| d | b | 60 | 24 | 5 | 6 |\n";
        assert_eq!(sum(rows), 1024);
    }
}
