//! What a report costs: time and memory on recordings of growing length.

use std::process::Command;

use anyhow::{Context, Result};

use super::child::measure;
use super::measurements::{Measurements, ResultPage};
use super::recording::Setting;
use crate::synthetic;

impl Setting {
    /// `report` on synthetic recordings of 10^5, 10^6 and 10^7 scheduling events.
    pub fn reports(&self, page: &mut ResultPage) -> Result<()> {
        let mut per_event = Vec::new();
        for power in [5, 6, 7] {
            let events = 10_u64.pow(power);
            let path = self.folder.join(format!("synthetic-{power}.longpole"));
            synthetic::write(&path, events)?;
            let (mut seconds, mut memory, mut nanoseconds) =
                <(Measurements, Measurements, Measurements)>::default();
            for _ in 0..self.rounds {
                let usage = measure(Command::new(&self.longpole).arg("report").arg(&path))?;
                seconds.push(usage.seconds);
                memory.push(usage.peak_bytes as f64 / f64::from(1 << 20));
                nanoseconds.push(usage.seconds * 1e9 / events as f64);
            }
            std::fs::remove_dir_all(&path)?;
            per_event.push(nanoseconds.median());
            let is_largest = power == 7;
            let name = format!("report on 10^{power} events");
            page.add(&format!("{name}: time"), "s", seconds, is_largest.then_some(15.0));
            page.add(&format!("{name}: memory"), "MiB", memory, is_largest.then_some(1024.0));
            page.add(&format!("{name}: time per event"), "ns", nanoseconds, None);
        }
        let mut growth = Measurements::default();
        growth.push(per_event[2] / per_event[0]);
        page.add("report: time per event, 10^7 : 10^5", "ratio", growth, Some(1.3));
        Ok(())
    }

    /// Every view of a synthetic recording of 10^7 scheduling events with 1,000 procedures, each by itself, then all for
    /// one reading of it.
    pub fn views(&self, page: &mut ResultPage) -> Result<()> {
        let path = self.folder.join("synthetic-views.longpole");
        synthetic::write(&path, 10_000_000)?;
        for view in views(&self.longpole)?.into_iter().chain(["all".to_owned()]) {
            let mut command = Command::new(&self.longpole);
            let usage = measure(command.arg("report").arg(&path).args(["--view", &view]))?;
            let mebibytes = usage.peak_bytes as f64 / f64::from(1 << 20);
            let goal = |goal: f64| (view == "all").then_some(goal);
            page.add(
                &format!("view {view}, 10^7 events: time"),
                "s",
                Measurements::of(usage.seconds),
                goal(60.0),
            );
            page.add(
                &format!("view {view}, 10^7 events: memory"),
                "MiB",
                Measurements::of(mebibytes),
                goal(2048.0),
            );
        }
        std::fs::remove_dir_all(&path)?;
        Ok(())
    }
}

/// The views there are: `report` names them where it is asked for one that is none.
fn views(longpole: &std::path::Path) -> Result<Vec<String>> {
    let output = Command::new(longpole).args(["report", "--view", "none"]).output()?;
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    let line = errors.lines().find_map(|line| line.split_once("the views are "));
    let (_, names) = line.with_context(|| format!("find the views in: {errors}"))?;
    let names = names.trim_end_matches([')', '.']);
    Ok(names.split([',', ' ']).filter(|name| !name.is_empty()).map(str::to_owned).collect())
}
