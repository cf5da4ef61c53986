//! `cargo xtask kills`: recorders and programs killed at random moments. What remains opens, or says why it does not.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Output, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use crate::built::{self, BuildProfile};
use crate::collector_options::COLLECTOR_OPTIONS;
use crate::programs;

/// The latest moment of a kill after the recorder's start: later than the first records are written, and for some
/// recorders while they end.
const LATEST_MILLISECONDS: u64 = 1_600;
/// A report that takes longer hangs, and a program that lost its recorder ends within this time, also beside other work.
const PATIENCE: Duration = Duration::from_secs(60);

/// What `timeout` ends with where it ended the command.
const TIMED_OUT: i32 = 124;

/// Who is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Victim {
    Recorder,
    Program,
}

/// What remained of the killed runs of one way.
#[derive(Debug, Default)]
struct KillCounts {
    /// The report has an answer.
    opened: u32,
    /// The report says why there is none.
    refused: BTreeMap<String, u32>,
}

impl KillCounts {
    fn kills(&self) -> u32 {
        self.opened + self.refused.values().sum::<u32>()
    }
}

/// Numbers that look random, the same for the same seed (splitmix64).
struct Draws(u64);

impl Draws {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        ((mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb) >> 16) % limit
    }
}

/// Kills so many runs; the first remainder that neither opens nor says why ends it, and is kept.
pub fn run(times: u32, seed: u64) -> Result<ExitCode> {
    let longpole = built::longpole(BuildProfile::Dev)?;
    let folder = tempfile::tempdir().context("make a folder")?;
    let program = programs::build(folder.path(), "lock_hog", &[])?;
    let mut draws = Draws(seed);
    let mut counts: BTreeMap<(&str, Victim), KillCounts> = BTreeMap::new();
    for number in 0..times {
        let way = COLLECTOR_OPTIONS[number as usize % COLLECTOR_OPTIONS.len()];
        let victim = if draws.below(2) == 0 { Victim::Recorder } else { Victim::Program };
        let moment = Duration::from_micros(draws.below(LATEST_MILLISECONDS * 1000));
        let run = KilledRun {
            longpole: &longpole,
            folder: folder.path(),
            program: &program,
            options: way.options,
            victim,
            moment,
        };
        let into = counts.entry((way.title, victim)).or_default();
        if let Err(error) = run.judge(into) {
            let kept = folder.keep();
            eprintln!(
                "kill {number} of seed {seed}: {victim:?} of {} after {moment:?}; see {}",
                way.title,
                kept.display()
            );
            return Err(error);
        }
    }
    println!("{}", table(&counts));
    Ok(ExitCode::SUCCESS)
}

/// One run that is killed.
struct KilledRun<'a> {
    longpole: &'a Path,
    folder: &'a Path,
    program: &'a Path,
    options: &'a [&'a str],
    victim: Victim,
    moment: Duration,
}

impl KilledRun<'_> {
    /// Records, kills, waits for who is left, and reads what remains.
    fn judge(&self, counts: &mut KillCounts) -> Result<()> {
        let (recording, pid) = (self.folder.join("killed.longpole"), self.folder.join("pid"));
        let ended = self.folder.join("ended");
        let _ = fs::remove_dir_all(&recording);
        [&pid, &ended].into_iter().for_each(|file| _ = fs::remove_file(file));
        let mut recorder = self.start(&recording)?;
        std::thread::sleep(self.moment);
        let program = || fs::read_to_string(&pid).ok()?.trim().parse::<i32>().ok();
        match (self.victim, program()) {
            (Victim::Program, Some(program)) => kill(program),
            // A program that has not begun cannot be killed: its recorder is.
            _ => recorder.kill().context("kill the recorder")?,
        }
        recorder.wait().context("wait for the recorder")?;
        if let Some(program) = program() {
            wait_for("the program's end", || !Path::new(&format!("/proc/{program}")).exists())?;
        }
        self.read(&recording, counts)
    }

    fn start(&self, recording: &Path) -> Result<Child> {
        let mut command = Command::new(self.longpole);
        command.args(["record", "--quiet", "--force", "--output"]).arg(recording).args(self.options);
        command.args(["--", "/bin/sh", "-c", "echo $$ > pid; exec \"$0\""]).arg(self.program);
        command.current_dir(self.folder).process_group(0);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().context("start longpole")
    }

    fn read(&self, recording: &Path, counts: &mut KillCounts) -> Result<()> {
        let output = report(self.longpole, recording)?;
        ensure!(output.status.code() != Some(TIMED_OUT), "report within {PATIENCE:?}");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        ensure!(!said.contains("panicked"), "report without a panic: {said}");
        if output.status.success() {
            ensure!(!output.stdout.is_empty(), "print an answer");
            counts.opened += 1;
        } else {
            let reason = said.strip_prefix("longpole: ").context("say why there is no answer")?;
            let reason = reason.replace(&*self.folder.to_string_lossy(), "…");
            *counts.refused.entry(reason.lines().next().unwrap_or_default().to_owned()).or_default() += 1;
        }
        Ok(())
    }
}

fn kill(pid: i32) {
    let command = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    // The number may be another process's by now.
    if !["lock_hog", "sh"].contains(&command.trim()) {
        return;
    }
    // SAFETY: a plain system call; the process is the program's, which its recorder has not waited for yet, or is gone.
    unsafe { libc::kill(pid, libc::SIGKILL) };
}

fn report(longpole: &Path, recording: &Path) -> Result<Output> {
    let mut command = Command::new("timeout");
    command.arg(PATIENCE.as_secs().to_string()).arg(longpole);
    command.arg("report").arg(recording).stdin(Stdio::null());
    command.output().context("start a report")
}

fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) -> Result<()> {
    let begin = Instant::now();
    while !is_so() {
        if begin.elapsed() > PATIENCE {
            bail!("wait for {what}: it does not come");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}

fn table(counts: &BTreeMap<(&str, Victim), KillCounts>) -> String {
    let mut table =
        String::from("| collector | killed | times | opened | said why not |\n|---|---|---:|---:|---|\n");
    for ((way, victim), counts) in counts {
        let reasons: Vec<_> =
            counts.refused.iter().map(|(reason, times)| format!("{times} × {reason}")).collect();
        let (kills, opened) = (counts.kills(), counts.opened);
        let reasons = if reasons.is_empty() { "–".to_owned() } else { reasons.join("; ") };
        writeln!(table, "| `{way}` | {victim:?} | {kills} | {opened} | {reasons} |")
            .expect("a string takes all");
    }
    let kills: u32 = counts.values().map(KillCounts::kills).sum();
    let opened: u32 = counts.values().map(|counts| counts.opened).sum();
    table
        + &format!(
            "\n{kills} kills, {opened} remainders opened, the others said why; none panicked or hung.\n"
        )
}
