//! `cargo xtask bench`: what recording and reporting cost, kept by date and machine.

mod agent;
mod calls;
mod child;
mod measurements;
mod recording;
mod reporting;
mod unprivileged;

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};

use crate::built::{self, BuildProfile};
use crate::steps::root;
use measurements::ResultPage;
use recording::Setting;

type Benchmark = fn(&Setting, &mut ResultPage) -> Result<()>;

const BENCHMARKS: &[(&str, Benchmark)] = &[
    ("ping-pong", Setting::ping_pong),
    ("fixed-work", Setting::fixed_work),
    ("start-up", Setting::start_up),
    ("agent-locks", Setting::agent_locks),
    ("agent-threads", Setting::agent_threads),
    ("agent-contended", Setting::agent_contended),
    ("agent-sampler", Setting::agent_sampler),
    ("agent-calls", Setting::agent_calls),
    ("memory", Setting::memory),
    ("report", Setting::reports),
    ("views", Setting::views),
];

/// Runs the benchmarks whose names are in `only` (all of them if it is empty) and writes the page.
pub fn run(rounds: u32, only: &[String]) -> Result<ExitCode> {
    if let Some(name) = only.iter().find(|name| BENCHMARKS.iter().all(|(known, _)| known != name)) {
        let known: Vec<&str> = BENCHMARKS.iter().map(|(name, _)| *name).collect();
        bail!("find the benchmark {name}; there are {}", known.join(", "));
    }
    let longpole = built::longpole(BuildProfile::Release)?;
    let folder = built::target().join("bench");
    fs::create_dir_all(&folder).context("create the folder of the benchmarks")?;
    let setting = Setting { longpole, folder, rounds };
    let mut page = ResultPage::default();
    for (name, benchmark) in BENCHMARKS {
        if only.is_empty() || only.iter().any(|chosen| chosen == name) {
            benchmark(&setting, &mut page).with_context(|| format!("run the benchmark {name}"))?;
        }
    }
    // A part of the benchmarks is for looking at; only a whole run is kept.
    if only.is_empty() && !page.is_empty() {
        keep(&page, rounds)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes the page below `benches/runs`.
fn keep(page: &ResultPage, rounds: u32) -> Result<()> {
    let date = output(Command::new("date").arg("+%F"))?;
    let kernel = output(Command::new("uname").arg("-r"))?;
    let cpus = std::thread::available_parallelism().context("count the processors")?;
    let processor = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model =
        processor.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or("unknown processor");
    let model = model.trim_start_matches(['\t', ' ', ':']);
    let heading = format!("{date}: {cpus} processors ({model}), Linux {kernel}, {rounds} rounds");
    let name = format!("{date}-{cpus}cpu-linux-{}", kernel.split('-').next().unwrap_or(&kernel));
    let runs = root().join("benches/runs");
    fs::create_dir_all(&runs).with_context(|| format!("create {}", runs.display()))?;
    write(&runs.join(format!("{name}.md")), &page.markdown(&heading))?;
    write(&runs.join(format!("{name}.json")), &format!("{:#}\n", page.json(&heading)))
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).with_context(|| format!("write {}", path.display()))?;
    println!("written: {}", path.display());
    Ok(())
}

fn output(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("run {command:?}"))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
