//! Every way to collect, for the commands that try them all.

use anyhow::{Context, Result};

/// One way to collect.
#[derive(Clone, Copy, Debug)]
pub struct CollectorOptions {
    /// How the commands call it.
    pub title: &'static str,
    /// What `longpole record` is given for it.
    pub options: &'static [&'static str],
}

const fn way(title: &'static str, options: &'static [&'static str]) -> CollectorOptions {
    CollectorOptions { title, options }
}

/// All of them.
pub const COLLECTOR_OPTIONS: [CollectorOptions; 6] = [
    way("bpf", &["--collector", "bpf"]),
    way("bpf --locks", &["--collector", "bpf", "--locks"]),
    way("bpf --keep-last", &["--collector", "bpf", "--keep-last", "1s"]),
    way("perf", &["--collector", "perf"]),
    way("process", &["--collector", "process"]),
    CollectorOptions::AGENT,
];

impl CollectorOptions {
    /// The agent alone, all of whose hooks tell.
    pub const AGENT: CollectorOptions = way("agent", &["--collector", "agent"]);

    /// The one of this title.
    pub fn of_title(title: &str) -> Result<CollectorOptions> {
        COLLECTOR_OPTIONS.into_iter().find(|way| way.title == title).with_context(|| {
            let titles = COLLECTOR_OPTIONS.map(|way| way.title);
            format!("find the collector {title}; there are {}", titles.join(", "))
        })
    }
}
