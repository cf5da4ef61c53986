//! What a procedure's work gains: by what-if, and by the program built and run without it.

use super::{Recording, Session, first_that_holds};

/// Points by which a gain may be off: what a busy machine delays.
const CLOSE: f64 = 6.0;
/// Where others take the processors from the program, the execution of the unchanged run is off.
const ATTEMPTS: usize = 5;

/// What a procedure's work gains, % of the run.
pub struct Gains {
    /// By what-if, with its error.
    pub predicted: f64,
    pub error: f64,
    /// The least that what-if allows for.
    pub least: f64,
    /// The most that what-if allows for.
    pub most: f64,
    /// By the program built without it.
    pub truth: f64,
    pub recording: Recording,
}

impl Gains {
    /// With the procedure's work so many times as long.
    fn of(session: &Session, (source, flags): (&str, &[&str]), (procedure, factor): (&str, f64)) -> Gains {
        let program = session.build(source, flags).unwrap();
        let recording = session.record_with(&["--quiet", "--collector", "bpf"], &program);
        let answer = recording.what_if(&[&format!("procedure:{procedure}={factor}")]);
        let row = answer.rows().find(|row| row["section"] == "change").expect("the change has a row");
        let of = |key: &str| row.get(key).and_then(serde_json::Value::as_f64);
        let predicted = of("elapsed_gain_percent").unwrap();
        let error = of("elapsed_error_percent").unwrap_or(0.0);
        let seconds = |program: &std::path::Path| {
            let run = session.run(&mut std::process::Command::new(program));
            assert!(run.status.success(), "{}", run.stderr);
            run.elapsed.as_secs_f64()
        };
        let with = seconds(&program);
        let (scaled, factor) = (format!("-DSCALED=\"{procedure}\""), format!("-DFACTOR={factor}"));
        let without = seconds(&session.build(source, &[flags, &[&scaled, &factor]].concat()).unwrap());
        let least = of("gain_low_percent").unwrap_or(predicted - error);
        let most = of("gain_high_percent").unwrap_or(predicted + error);
        Gains { predicted, error, least, most, truth: 100.0 * (1.0 - without / with), recording }
    }

    pub fn text(&self) -> String {
        format!(
            "{:.1} ± {:.1}, from {:.1} to {:.1}; in truth {:.1} %",
            self.predicted, self.error, self.least, self.most, self.truth
        )
    }

    fn holds(&self) -> bool {
        let low = self.least.min(self.predicted - self.error) - CLOSE;
        let high = self.most.max(self.predicted + self.error) + CLOSE;
        (low..=high).contains(&self.truth)
    }
}

/// The first run whose true gain is in the predicted range.
#[track_caller]
pub fn held(session: &Session, program: (&str, &[&str]), procedure: &str) -> Gains {
    held_at(session, program, (procedure, 0.0))
}

#[track_caller]
pub fn held_at(session: &Session, program: (&str, &[&str]), change: (&str, f64)) -> Gains {
    first_that_holds(ATTEMPTS, || {
        let gains = Gains::of(session, program, change);
        if gains.holds() { Ok(gains) } else { Err(format!("{program:?}: {}", gains.text())) }
    })
}
