//! How much of the machine others took: what `/proc/stat` counts, less what this process and its children used.

use std::fs;

use anyhow::{Context, Result};

/// Clock ticks up to now (proc(5), `stat` and `PID/stat`).
pub struct MachineTimes {
    /// Of all processors: busy, or taken by the host of a virtual machine (*steal*).
    busy: u64,
    whole: u64,
    /// Of this process and of the children it has waited for.
    own: u64,
}

impl MachineTimes {
    /// # Errors
    /// Where `/proc` cannot be read.
    pub fn now() -> Result<MachineTimes> {
        let stat = fs::read_to_string("/proc/stat").context("read /proc/stat")?;
        let own = fs::read_to_string("/proc/self/stat").context("read /proc/self/stat")?;
        parse(&stat, &own).context("find the times in /proc/stat")
    }

    /// What others took between this and later, as a share of all processors' time.
    pub fn share_of_others(&self, later: &MachineTimes) -> f64 {
        let since = |of: fn(&MachineTimes) -> u64| of(later).saturating_sub(of(self)) as f64;
        let others = since(|times| times.busy) - since(|times| times.own);
        others.max(0.0) / since(|times| times.whole).max(1.0)
    }
}

fn parse(stat: &str, own: &str) -> Option<MachineTimes> {
    let ticks = |text: &str| -> Vec<u64> { text.split_whitespace().flat_map(str::parse).collect() };
    // user nice system idle iowait irq softirq steal; what guests take is in user.
    let all = ticks(stat.lines().next()?.strip_prefix("cpu ")?);
    let whole = all.get(..8)?.iter().sum();
    let idle = all[3] + all[4];
    // utime, stime, cutime and cstime are the fields 14 to 17; the name in the second one may have spaces.
    let fields: Vec<&str> = own.rsplit_once(')')?.1.split_whitespace().collect();
    let own = fields.get(11..15)?.iter().map(|field| field.parse::<u64>().unwrap_or(0)).sum();
    Some(MachineTimes { busy: whole - idle, whole, own })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_take_what_is_busy_and_not_ours() {
        let own = |ticks: u64| format!("7 (a) b) S 1 1 1 0 -1 0 0 0 0 0 {ticks} 2 3 4 20 0 1 0 5 6 7");
        let begin = parse("cpu  100 0 50 800 50 0 0 0 0 0\ncpu0 1", &own(10)).unwrap();
        // 200 ticks: 100 idle, 10 stolen, 90 busy of which 60 are ours.
        let end = parse("cpu  170 0 60 880 70 5 5 10 0 0", &own(70)).unwrap();
        assert!((begin.share_of_others(&end) - 40.0 / 200.0).abs() < 1e-9);
        assert!(parse("cpu  1 2 3", &own(1)).is_none());
    }
}
