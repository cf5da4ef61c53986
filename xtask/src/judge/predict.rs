//! What longpole predicts of a program, asked as its users ask: a recording, its report, what-if and replay.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::program::{JudgedChange, JudgedRow};
use super::verdict::JudgedPrediction;

/// Samples per second: enough that their error is small beside that of the metrics.
pub const FREQUENCY: &str = "4999";

/// The views with a share of each procedure, and the field of their rows for its own work.
const VIEWS: &str = "profile,critical-path,npt,slack,zeroing";

/// Answers of a recording.
pub struct AskedRecording<'a> {
    pub longpole: &'a Path,
    pub recording: &'a Path,
}

/// A replay, or why there is none.
pub enum Replayed {
    Answer(Value),
    Refused(String),
}

impl AskedRecording<'_> {
    /// The predictions for these changes, in their order.
    pub fn predict(&self, changes: &[JudgedChange], replay: Option<&Value>) -> Result<Vec<JudgedPrediction>> {
        let views = |by| self.answer(&["report", "--view", VIEWS, "--by", by, "--format", "json"]);
        let (procedures, processes) = (views("procedure")?, views("process")?);
        let what_if = read(&mut self.what_if_command(changes, &[]))?;
        let (what_if, none) = (changed(&what_if), Value::Null);
        let replay = replay.map_or_else(|| vec![&none; changes.len()], changed);
        if what_if.len() != changes.len() || replay.len() != changes.len() {
            bail!("find a row for each change in the answers of what-if");
        }
        let rows = changes.iter().zip(what_if.iter().zip(&replay));
        rows.map(|(change, (what_if, replay))| {
            let mut gain = JudgedPrediction {
                what_if: what_if["elapsed_gain_percent"].as_f64(),
                replay: replay["elapsed_gain_percent"].as_f64(),
                replay_low: replay["gain_low_percent"].as_f64(),
                replay_high: replay["gain_high_percent"].as_f64(),
                ..JudgedPrediction::default()
            };
            if let Some(row) = change.row() {
                let views = if row.by == "process" { &processes } else { &procedures };
                add_shares(&mut gain, (row, change.factor()?), views)?;
            }
            Ok(gain)
        })
        .collect()
    }

    /// The replay with each of these changes alone.
    pub fn replay(&self, changes: &[JudgedChange]) -> Result<Replayed> {
        let output = self.what_if_command(changes, &["--replay"]).output().context("run the replay")?;
        if output.status.success() {
            return Ok(Replayed::Answer(serde_json::from_slice(&output.stdout).context("read the replay")?));
        }
        let told = String::from_utf8_lossy(&output.stderr);
        let reason = told.lines().next().unwrap_or_default();
        // Anything else is a mistake in the table of programs, or a defect.
        match reason.split_once("failed to replay the run: ") {
            Some((_, reason)) => Ok(Replayed::Refused(reason.to_owned())),
            None => bail!("replay {}: {told}", self.recording.display()),
        }
    }

    /// Elapsed seconds of the recorded run.
    pub fn elapsed_seconds(&self) -> Result<f64> {
        let answer = self.answer(&["report", "--view", "profile", "--top", "1", "--format", "json"])?;
        answer["recording"]["elapsed_seconds"].as_f64().context("find the elapsed time of the recording")
    }

    fn what_if_command(&self, changes: &[JudgedChange], options: &[&str]) -> Command {
        let mut command = Command::new(self.longpole);
        command.args(["what-if", "--format", "json"]).args(options).arg(self.recording);
        for change in changes {
            command.arg("--set").arg(change.set);
        }
        command
    }

    fn answer(&self, arguments: &[&str]) -> Result<Value> {
        read(Command::new(self.longpole).args(arguments).arg(self.recording))
    }
}

fn read(command: &mut Command) -> Result<Value> {
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("start {command:?}"))?;
    if !output.status.success() {
        bail!("run {command:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
    serde_json::from_slice(&output.stdout).with_context(|| format!("read the answer of {command:?}"))
}

/// The rows of the changes, each alone.
fn changed(answer: &Value) -> Vec<&Value> {
    answer["rows"].as_array().into_iter().flatten().filter(|row| row["section"] == "change").collect()
}

/// Adds what the metrics of procedures say: the share of its time that the change takes away from each.
fn add_shares(gain: &mut JudgedPrediction, (row, factor): (JudgedRow, f64), views: &Value) -> Result<()> {
    let JudgedRow { by, share: field, name } = row;
    let taken = 1.0 - factor;
    let share = |view: &str| {
        let view = views.as_array()?.iter().find(|answer| answer["view"] == view)?;
        let row = view["rows"].as_array()?.iter().find(|row| row[by] == name)?;
        row[field].as_f64()
    };
    let Some(gprof) = share("profile") else {
        bail!("find {name} in the profile: was it inlined, or never called?");
    };
    gain.gprof = Some(gprof * taken);
    // Who has no row in these has no share of them.
    gain.critical_path = Some(share("critical-path").unwrap_or(0.0) * taken);
    gain.npt = Some(share("npt").unwrap_or(0.0) * taken);
    if taken == 1.0 {
        gain.slack = Some(share("slack").unwrap_or(0.0));
        gain.zeroing = Some(share("zeroing").unwrap_or(0.0));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn views() -> Value {
        json!([
            {"view": "profile", "rows": [{"procedure": "A", "percent": 40.0, "inclusive_percent": 60.0}]},
            {"view": "critical-path", "rows": []},
            {"view": "npt", "rows": [{"procedure": "A", "percent": 30.0, "inclusive_percent": 50.0}]},
            {"view": "slack", "rows": [{"procedure": "A", "percent": 5.0, "inclusive_percent": 6.0}]},
            {"view": "zeroing", "rows": [{"procedure": "A", "percent": 20.0, "inclusive_percent": 25.0}]}
        ])
    }

    fn shares(share: &'static str, name: &'static str, factor: f64) -> Result<JudgedPrediction> {
        let mut gain = JudgedPrediction::default();
        add_shares(&mut gain, (JudgedRow { by: "procedure", share, name }, factor), &views()).map(|()| gain)
    }

    #[test]
    fn half_a_procedure_is_half_its_share_and_no_zeroing() {
        let gain = shares("percent", "A", 0.5).unwrap();
        assert_eq!((gain.gprof, gain.critical_path, gain.npt), (Some(20.0), Some(0.0), Some(15.0)));
        assert_eq!((gain.slack, gain.zeroing), (None, None));
    }

    #[test]
    fn a_procedure_with_all_that_it_calls_has_its_inclusive_share() {
        let gain = shares("inclusive_percent", "A", 0.0).unwrap();
        assert_eq!((gain.gprof, gain.slack, gain.zeroing), (Some(60.0), Some(6.0), Some(25.0)));
    }

    #[test]
    fn a_procedure_that_was_not_seen_is_an_error_and_not_nothing() {
        assert!(shares("percent", "B", 0.0).is_err());
    }
}
