//! Every way to collect, for the commands that try them all.

use anyhow::{Context, Result};

/// One way to collect.
#[derive(Clone, Copy, Debug)]
pub struct CollectorOptions {
    /// How the commands call it.
    pub title: &'static str,
    /// What `longpole record` is given for it.
    pub options: &'static [&'static str],
    /// Only the system administrator may.
    pub needs_root: bool,
}

const fn by_kernel(title: &'static str, options: &'static [&'static str]) -> CollectorOptions {
    CollectorOptions { title, options, needs_root: true }
}

const fn by_user(title: &'static str, options: &'static [&'static str]) -> CollectorOptions {
    CollectorOptions { title, options, needs_root: false }
}

/// All of them.
pub const COLLECTOR_OPTIONS: [CollectorOptions; 6] = [
    by_kernel("bpf", &["--collector", "bpf"]),
    by_kernel("bpf --locks", &["--collector", "bpf", "--locks"]),
    by_kernel("bpf --keep-last", &["--collector", "bpf", "--keep-last", "1s"]),
    by_kernel("perf", &["--collector", "perf"]),
    by_user("process", &["--collector", "process"]),
    CollectorOptions::AGENT,
];

impl CollectorOptions {
    /// The agent alone, all of whose hooks tell.
    pub const AGENT: CollectorOptions = by_user("agent", &["--collector", "agent"]);

    /// The one of this title.
    pub fn of_title(title: &str) -> Result<CollectorOptions> {
        COLLECTOR_OPTIONS.into_iter().find(|way| way.title == title).with_context(|| {
            let titles = COLLECTOR_OPTIONS.map(|way| way.title);
            format!("find the collector {title}; there are {}", titles.join(", "))
        })
    }
}
