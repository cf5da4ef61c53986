//! What calls of instrumented procedures cost: on the profile stack only, and with every call an event.

use std::process::Command;

use anyhow::{Context, Result};
use serde_json::Value;

use super::child::measure;
use super::measurements::{Measurements, ResultPage};
use super::recording::Setting;

/// Threads, and calls of each: a quarter of a second or so without a recorder's help.
const RUNS: [(u32, &str); 2] = [(1, "1x10000000"), (8, "8x2500000")];

/// What one way of recording came to.
#[derive(Default)]
struct CallsOutcome {
    added: Measurements,
    lost: Measurements,
    bytes: Measurements,
}

impl Setting {
    /// Added time per call (entry and exit) of threads that do nothing else, and how much of it all was lost.
    pub fn agent_calls(&self, page: &mut ResultPage) -> Result<()> {
        let program = self.build_with("benches/instrumented_calls.c", "-finstrument-functions")?;
        for (threads, argument) in RUNS {
            let mut bare = Measurements::default();
            let (mut states, mut calls) = (CallsOutcome::default(), CallsOutcome::default());
            for _ in 0..self.rounds {
                let alone = measure(Command::new(&program).arg(argument))?.number("nanoseconds_per_call")?;
                bare.push(alone);
                for (option, outcome) in [("--locks", &mut states), ("--calls", &mut calls)] {
                    let mut record = Command::new(&self.longpole);
                    record.args(["record", "--quiet", "--force", option, "-o"]).arg(self.recording());
                    let usage = measure(record.arg("--").arg(&program).arg(argument))?;
                    outcome.added.push(usage.number("nanoseconds_per_call")? - alone);
                    outcome.lost.push(self.evidence("lost_calls").unwrap_or(0.0));
                    outcome.bytes.push(self.recorded_bytes()?);
                }
            }
            let (name, count) = (format!("instrumented calls, {threads} threads"), calls_in(argument));
            page.add(&format!("{name}, bare: time per call"), "ns", bare, None);
            page.add(&format!("{name}, record --locks: added"), "ns", states.added, Some(25.0));
            page.add(&format!("{name}, record --calls: added"), "ns", calls.added, Some(25.0));
            let share = calls.lost.scaled(100.0 / (2.0 * count));
            page.add(&format!("{name}, record --calls: events lost (counted)"), "%", share, None);
            let bytes = calls.bytes.scaled(1.0 / count);
            page.add(&format!("{name}, record --calls: on disk per call"), "bytes", bytes, None);
        }
        Ok(())
    }

    /// A number of the evidence of the recording that was made last.
    fn evidence(&self, key: &str) -> Result<f64> {
        let mut report = Command::new(&self.longpole);
        report.arg("report").arg(self.recording()).args(["--view", "evidence", "--format", "json"]);
        let value: Value =
            serde_json::from_str(&measure(&mut report)?.output).context("read the evidence")?;
        value["evidence"][key].as_f64().with_context(|| format!("find {key} in the evidence"))
    }
}

/// Calls that all threads make together.
fn calls_in(argument: &str) -> f64 {
    argument.split('x').filter_map(|factor| factor.parse::<f64>().ok()).product()
}
