//! `cargo xtask census`: counts of what makes the code expensive to own, in one command.
//!
//! Shared type names (also a part of `cargo xtask check`), files that a metric or a view touches, readings of
//! `events.log` for a question, lines. Each module says how it counts.

mod lines;
mod mentions;
mod readings;
mod sources;
mod type_names;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::built::{self, BuildProfile};
use crate::steps::root;
use sources::ProductionFile;
use type_names::TypeNames;

/// Fails where a type's name is newly shared, or the list of shared names is longer than need be.
pub fn check() -> Result<()> {
    let root = root();
    TypeNames::of(&sources::production(&root)?).compare(&type_names::kept_list(&root)?)
}

/// `cargo xtask census`.
pub fn run(list: bool) -> Result<ExitCode> {
    let root = root();
    let files = sources::production(&root)?;
    print_names(&TypeNames::of(&files), list);
    print_lines(&root, &files)?;
    let longpole = built::longpole(BuildProfile::Dev)?;
    let mentions = mentions::count(&root, &files, &metric_definitions(&longpole)?)?;
    print_counts("files that name a metric", &mentions.metrics, list);
    print_counts("files that name a view", &mentions.views, list);
    match readings::count(&root, &longpole, &mentions::view_names(&root)?)? {
        Some(readings) => print_counts("readings of events.log for a view", &readings, list),
        None => println!("readings of events.log for a view: skipped, as strace cannot trace here"),
    }
    Ok(ExitCode::SUCCESS)
}

/// Definitions of all metrics, as the program prints them.
fn metric_definitions(longpole: &Path) -> Result<Value> {
    let mut command = std::process::Command::new(longpole);
    let output = command.args(["metrics", "--format", "json"]).output().context("run longpole metrics")?;
    if !output.status.success() {
        bail!("run longpole metrics: {}", String::from_utf8_lossy(&output.stderr));
    }
    serde_json::from_slice(&output.stdout).context("read the metrics")
}

fn print_names(names: &TypeNames, list: bool) {
    let (mut distinct, mut sharing) = (0, 0);
    for (name, places) in names.shared() {
        distinct += 1;
        sharing += places.len();
        if list {
            println!("{name}");
            for place in places {
                println!("    {place}");
            }
        }
    }
    let types = names.types();
    let percent = 100.0 * sharing as f64 / types as f64;
    println!("type names: {types} types, {sharing} of them ({percent:.1} %) share {distinct} names");
}

fn print_lines(root: &Path, files: &[ProductionFile]) -> Result<()> {
    let lines::LineCounts { code, comments, blank, tests } = lines::count(root, files)?;
    let production = code + comments + blank;
    println!(
        "lines of Rust: {production} of production ({code} code, {comments} comments, {blank} blank), {tests} of tests"
    );
    Ok(())
}

/// Prints the spread of counts, and with `list` each of them.
fn print_counts(title: &str, counts: &BTreeMap<String, usize>, list: bool) {
    if list {
        for (name, count) in counts {
            println!("    {count:3} {name}");
        }
    }
    let mut sorted: Vec<usize> = counts.values().copied().collect();
    sorted.sort_unstable();
    let at =
        |percent: usize| sorted.get(sorted.len().saturating_sub(1) * percent / 100).copied().unwrap_or(0);
    println!(
        "{title}: median {}, 90th percentile {}, most {} ({} in all)",
        at(50),
        at(90),
        at(100),
        sorted.len()
    );
}
