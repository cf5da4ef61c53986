//! What was measured and predicted of one program, as it is kept below `benches/runs/judge/`, and what follows from it.

use longpole_trials::{TrialRun, TrueGain, median};
use serde::{Deserialize, Serialize};

/// Groups of rounds, of each of which the best runs are compared: no fewer, so that there is an interval.
pub const GROUPS: usize = 7;

/// By how much the unchanged program's median run may differ from its kept one, as a ratio. On a machine whose memory was slower, programs
/// that use much of it took 1.1 to 1.5 times as long, and 25 of their 43 ranges missed the kept gains (6 on the machine that these were from); the
/// others took within 2 % as long.
const SAME_MACHINE: f64 = 1.05;

/// What the metrics say that a change gains, per cent of the run; `None` where a metric says nothing of such a change.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct JudgedPrediction {
    pub gprof: Option<f64>,
    pub critical_path: Option<f64>,
    pub npt: Option<f64>,
    pub slack: Option<f64>,
    pub zeroing: Option<f64>,
    pub what_if: Option<f64>,
    pub replay: Option<f64>,
    pub replay_low: Option<f64>,
    pub replay_high: Option<f64>,
}

/// A change: what was predicted, and the runs of the program with it, in the order of the rounds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ChangeVerdict {
    pub name: String,
    /// As `longpole what-if --set` takes it.
    pub set: String,
    pub predicted: JudgedPrediction,
    pub runs: Vec<TrialRun>,
}

/// The recording that the predictions are from.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct JudgedRecording {
    pub elapsed_seconds: f64,
    /// Why recordings made before it could not be replayed; also why it could not, if none could.
    pub refusals: Vec<String>,
    /// Locks that kept their recorded order in the replay, and why.
    pub kept_orders: Vec<String>,
}

/// Everything that is known of one judged program.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ProgramVerdict {
    pub program: String,
    pub date: String,
    pub machine: String,
    /// The commit of longpole that recorded and predicted.
    pub commit: String,
    pub recording: JudgedRecording,
    pub unchanged: Vec<TrialRun>,
    pub changes: Vec<ChangeVerdict>,
}

impl ProgramVerdict {
    /// The same predictions with the runs of another verdict, and its date.
    pub fn with_runs_of(mut self, mut other: ProgramVerdict) -> ProgramVerdict {
        for change in &mut self.changes {
            let known = other.changes.iter_mut().find(|known| known.set == change.set);
            change.runs = known.map(|known| std::mem::take(&mut known.runs)).unwrap_or_default();
        }
        ProgramVerdict { unchanged: other.unchanged, date: other.date, ..self }
    }

    /// Whether these runs of the unchanged program take as long as the kept ones: then the others would, too, and need not be run again.
    pub fn holds_beside(&self, today: &[TrialRun]) -> bool {
        let typical =
            |runs: &[TrialRun]| median(&runs.iter().map(|run| run.elapsed_seconds).collect::<Vec<_>>());
        let (Some(then), Some(now)) = (typical(&self.unchanged), typical(today)) else { return false };
        (1.0 / SAME_MACHINE..=SAME_MACHINE).contains(&(now / then))
    }

    /// The truth of a change; `None` without a single undisturbed pair.
    pub fn truth(&self, change: &ChangeVerdict) -> Option<TrueGain> {
        TrueGain::of_best(&self.unchanged, &change.runs, self.unchanged.len() / GROUPS)
    }
}

impl ChangeVerdict {
    /// Whether the metrics of procedures speak of it, and in full: it leaves the work of a procedure out.
    pub fn is_zeroing(&self) -> bool {
        !self.set.starts_with("object:") && self.set.ends_with("=0")
    }

    /// Whether the true gain lies inside the predicted range; `None` without a range.
    pub fn is_inside(&self, truth: &TrueGain) -> Option<bool> {
        let (low, high) = (self.predicted.replay_low?, self.predicted.replay_high?);
        Some(low <= truth.percent && truth.percent <= high)
    }
}

/// A metric that is judged: its title, and what it predicts.
pub struct JudgedMetric {
    pub title: &'static str,
    pub predicted: fn(&JudgedPrediction) -> Option<f64>,
}

/// All of them, in the order of the columns.
pub const METRICS: [JudgedMetric; 7] = [
    JudgedMetric { title: "gprof", predicted: |gain| gain.gprof },
    JudgedMetric { title: "critical path", predicted: |gain| gain.critical_path },
    JudgedMetric { title: "NPT", predicted: |gain| gain.npt },
    JudgedMetric { title: "slack", predicted: |gain| gain.slack },
    JudgedMetric { title: "zeroing", predicted: |gain| gain.zeroing },
    JudgedMetric { title: "what-if", predicted: |gain| gain.what_if },
    JudgedMetric { title: "replay", predicted: |gain| gain.replay },
];

#[cfg(test)]
mod tests {
    use super::*;

    fn run(elapsed_seconds: f64, cpu_seconds: f64) -> TrialRun {
        TrialRun { elapsed_seconds, cpu_seconds, page_faults: 100, switches: 10 }
    }

    fn unchanged(runs: Vec<TrialRun>) -> ProgramVerdict {
        ProgramVerdict {
            program: "drawn".into(),
            date: String::new(),
            machine: String::new(),
            commit: String::new(),
            recording: JudgedRecording::default(),
            unchanged: runs,
            changes: Vec::new(),
        }
    }

    #[test]
    fn kept_runs_hold_where_the_unchanged_program_takes_as_long() {
        let known = unchanged(vec![run(1.0, 2.0), run(1.02, 2.0), run(1.3, 2.0)]);
        assert!(known.holds_beside(&[run(0.9, 2.0), run(1.05, 2.0), run(1.06, 2.0)]));
        assert!(!known.holds_beside(&[run(1.2, 2.0)]));
        assert!(!known.holds_beside(&[run(0.8, 2.0)]));
        assert!(!known.holds_beside(&[]));
    }

    #[test]
    fn a_pair_with_a_disturbed_run_does_not_count() {
        let change = ChangeVerdict {
            name: "A".into(),
            set: "self:A=0".into(),
            predicted: JudgedPrediction {
                replay_low: Some(40.0),
                replay_high: Some(60.0),
                ..JudgedPrediction::default()
            },
            runs: vec![run(0.5, 1.0), run(0.1, 1.3), run(0.9, 1.0), run(0.52, 1.1)],
        };
        let verdict = unchanged(vec![run(1.0, 2.0), run(1.0, 2.0), run(1.0, 2.5), run(1.0, 2.0)]);
        let truth = verdict.truth(&change).unwrap();
        assert_eq!((truth.pairs, truth.measured), (2, 4));
        assert!((truth.percent - 49.0).abs() < 1e-9 && (truth.best_percent - 50.0).abs() < 1e-9);
        assert_eq!(change.is_inside(&truth), Some(true));
    }
}
