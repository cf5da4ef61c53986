//! `cargo xtask judge`: predictions against true zeroing, the program rebuilt without a procedure and measured (the paper that
//! compares metrics, section 3). Measures of a program are kept below `benches/runs/judge/`, one file a program and day;
//! `docs/truth.md` is written from the newest of each, so one program can be judged again.

mod list;
mod page;
mod predict;
mod program;
mod quiet;
mod score;
mod verdict;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use longpole_trials::{TrialError, TrialRun, measure};
use serde_json::Value;

use self::list::PROGRAMS;
use self::predict::{AskedRecording, Replayed};
use self::program::{BuiltVersion, JudgedProgram};
use self::quiet::{ShortTurns, make_real_time, processors};
use self::verdict::{ChangeVerdict, JudgedPrediction, JudgedRecording, ProgramVerdict};
use crate::built::{BuildProfile, longpole, target};
use crate::steps::root;

const RESULTS: &str = "benches/runs/judge";
const PAGE: &str = "docs/truth.md";
/// Recordings of a program until replay accepts one.
const RECORDINGS: usize = 5;
/// Runs of today that are compared with kept ones.
const COMPARED: usize = 5;

/// Between two runs other programs have the processors. The kernel keeps a twentieth of each second for them, and takes it from a real-time
/// program in its midst where they did not have it before.
const PAUSE: Duration = Duration::from_millis(120);

/// What the command line says.
pub struct JudgeOptions {
    /// Only these programs; all if empty.
    pub names: Vec<String>,
    /// Rounds of each program.
    pub rounds: usize,
    /// The longpole that predicts; one is built if there is none.
    pub longpole: Option<PathBuf>,
    /// Record and predict anew, and keep what was measured, where the unchanged program still takes as long.
    pub keeps_runs: bool,
    /// Only write the page anew.
    pub is_page_only: bool,
}

/// Judges, and writes the page.
pub fn run(options: &JudgeOptions) -> Result<ExitCode> {
    let chosen: Vec<&JudgedProgram> = if options.names.is_empty() {
        PROGRAMS.iter().collect()
    } else {
        options.names.iter().map(|name| find(name)).collect::<Result<_>>()?
    };
    let mut failed = Vec::new();
    if !options.is_page_only {
        let longpole = match &options.longpole {
            Some(path) => path.canonicalize().with_context(|| format!("find {}", path.display()))?,
            None => longpole(BuildProfile::Release)?,
        };
        for program in chosen {
            eprintln!("==> {}", program.name);
            // What is known of the others is not lost by one that cannot be judged here.
            if let Err(error) = judge(program, &longpole, options).and_then(|verdict| keep(&verdict)) {
                eprintln!("    {}: failed to {error:#}", program.name);
                failed.push(program.name);
            }
        }
    }
    let path = root().join(PAGE);
    fs::write(&path, page::write(&newest(&root().join(RESULTS))?))
        .with_context(|| format!("write {}", path.display()))?;
    println!("xtask: wrote {PAGE}");
    if !failed.is_empty() {
        bail!("judge {}", failed.join(", "));
    }
    Ok(ExitCode::SUCCESS)
}

fn find(name: &str) -> Result<&'static JudgedProgram> {
    PROGRAMS.iter().find(|program| program.name == name).with_context(|| {
        let names: Vec<&str> = PROGRAMS.iter().map(|program| program.name).collect();
        format!("find the program {name}; there are {}", names.join(", "))
    })
}

/// Records, predicts and measures one program.
fn judge(program: &JudgedProgram, longpole: &Path, options: &JudgeOptions) -> Result<ProgramVerdict> {
    let folder = target().join("judge").join(program.name);
    let (unchanged, changed) = program.build(&folder)?;
    let _turns = ShortTurns::start()?;
    let (recording, predictions) = record(program, &unchanged, &folder, longpole)?;
    let changes = program.changes.iter().zip(predictions);
    let mut verdict = ProgramVerdict {
        program: program.name.to_owned(),
        date: told(Command::new("date").args(["-u", "+%F"]))?,
        machine: format!("{} CPUs, Linux {}", processors(), told(Command::new("uname").arg("-r"))?),
        commit: told(Command::new("git").args(["rev-parse", "--short", "HEAD"]).current_dir(root()))?,
        recording,
        unchanged: Vec::new(),
        changes: changes
            .map(|(change, predicted)| ChangeVerdict {
                name: change.name.to_owned(),
                set: change.set.to_owned(),
                predicted,
                runs: Vec::new(),
            })
            .collect(),
    };
    let mut rounds = options.rounds;
    if options.keeps_runs {
        let known = newest(&root().join(RESULTS))?;
        let (_, known) = known
            .into_iter()
            .find(|(other, _)| other.name == program.name)
            .context("find what was measured of it")?;
        let today = (0..COMPARED).map(|_| run_real_time(&unchanged)).collect::<Result<Vec<_>, _>>()?;
        if known.holds_beside(&today) {
            return Ok(verdict.with_runs_of(known));
        }
        eprintln!("    this machine is not the one that its kept runs are from: measured again");
        rounds = rounds.max(known.unchanged.len());
    }
    for round in 0..rounds {
        measure_round(&mut verdict, round, &unchanged, &changed)?;
    }
    Ok(verdict)
}

/// A run on processors that other programs have only where it leaves them idle.
fn run_real_time(version: &BuiltVersion) -> Result<TrialRun, TrialError> {
    let mut command = version.command();
    make_real_time(&mut command);
    std::thread::sleep(PAUSE);
    measure(&mut command, 0)
}

/// One run of each version: the unchanged one in the middle of the others, which begin with another one each round.
fn measure_round(
    verdict: &mut ProgramVerdict,
    round: usize,
    unchanged: &BuiltVersion,
    changed: &[BuiltVersion],
) -> Result<()> {
    for place in 0..changed.len() {
        if place == changed.len() / 2 {
            verdict.unchanged.push(run_real_time(unchanged)?);
        }
        let index = (place + round) % changed.len();
        verdict.changes[index].runs.push(run_real_time(&changed[index])?);
    }
    Ok(())
}

/// A recording that replay accepts, else the last one that was made; and its predictions.
fn record(
    program: &JudgedProgram,
    version: &BuiltVersion,
    folder: &Path,
    longpole: &Path,
) -> Result<(JudgedRecording, Vec<JudgedPrediction>)> {
    let path = folder.join("recording.longpole");
    let oracle = AskedRecording { longpole, recording: &path };
    let mut refusals = Vec::new();
    let replay = loop {
        let mut command = Command::new(longpole);
        command.args(["record", "--quiet", "--force", "--locks", "--frequency", predict::FREQUENCY, "-o"]);
        command.arg(&path).arg("--");
        let mut command = version.command_under(command);
        make_real_time(&mut command);
        std::thread::sleep(PAUSE);
        measure(&mut command, 0)?;
        match oracle.replay(program.changes)? {
            Replayed::Answer(replay) => break Some(replay),
            Replayed::Refused(reason) => refusals.push(reason),
        }
        if refusals.len() == RECORDINGS {
            break None;
        }
    };
    let recording = JudgedRecording {
        elapsed_seconds: oracle.elapsed_seconds()?,
        refusals,
        kept_orders: replay.as_ref().map(kept_orders).unwrap_or_default(),
    };
    Ok((recording, oracle.predict(program.changes, replay.as_ref())?))
}

/// Locks that did not go to whoever comes first.
fn kept_orders(replay: &Value) -> Vec<String> {
    let rows = replay["rows"].as_array().into_iter().flatten().filter(|row| row["section"] == "lock");
    rows.filter(|row| row["replayed_order"] != "first to come")
        .map(|row| {
            let text = |field: &str| row[field].as_str().unwrap_or_default().to_owned();
            format!("{}: {}", text("object"), text("replayed_order"))
        })
        .collect()
}

/// Keeps what was measured.
fn keep(verdict: &ProgramVerdict) -> Result<()> {
    let folder = root().join(RESULTS);
    fs::create_dir_all(&folder).with_context(|| format!("create {}", folder.display()))?;
    let path = folder.join(format!("{}-{}.json", verdict.date, verdict.program));
    let text = serde_json::to_string(verdict).context("write the measures as JSON")?;
    // A line for each run: what changes between two days can be read.
    let text = text.replace("{\"elapsed_seconds\"", "\n{\"elapsed_seconds\"");
    fs::write(&path, text + "\n").with_context(|| format!("write {}", path.display()))
}

/// The newest verdict of each program that is still in the list, in its order, with the changes that are still in it.
fn newest(folder: &Path) -> Result<Vec<(&'static JudgedProgram, ProgramVerdict)>> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)
        .with_context(|| format!("read {}", folder.display()))?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()?;
    paths.sort();
    let mut found = BTreeMap::new();
    for path in paths.iter().filter(|path| path.extension().is_some_and(|extension| extension == "json")) {
        let text = fs::read_to_string(path).with_context(|| format!("read {}", path.display()))?;
        let verdict: ProgramVerdict =
            serde_json::from_str(&text).with_context(|| format!("read {}", path.display()))?;
        found.insert(verdict.program.clone(), verdict);
    }
    let judged = PROGRAMS.iter().filter_map(|program| {
        let mut verdict = found.remove(program.name)?;
        verdict.changes.retain(|known| program.changes.iter().any(|change| change.set == known.set));
        Some((program, verdict))
    });
    Ok(judged.collect())
}

/// What a command prints.
fn told(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("start {command:?}"))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
