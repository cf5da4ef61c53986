//! What a report costs: time and memory on recordings of growing length.

use std::process::Command;

use anyhow::Result;

use super::child::measure;
use super::figures::{Figures, Page};
use super::recording::Setting;
use crate::synthetic;

impl Setting {
    /// `report` on synthetic recordings of 10^5, 10^6 and 10^7 scheduling events.
    pub fn reports(&self, page: &mut Page) -> Result<()> {
        let mut per_event = Vec::new();
        for power in [5, 6, 7] {
            let events = 10_u64.pow(power);
            let path = self.folder.join(format!("synthetic-{power}.longpole"));
            synthetic::write(&path, events)?;
            let (mut seconds, mut memory, mut nanoseconds) = <(Figures, Figures, Figures)>::default();
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
        let mut growth = Figures::default();
        growth.push(per_event[2] / per_event[0]);
        page.add("report: time per event, 10^7 : 10^5", "ratio", growth, Some(1.3));
        Ok(())
    }
}
