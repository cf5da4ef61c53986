//! Which crate may depend on which: the table of ARCHITECTURE.md, checked against the manifests.

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::steps::cargo;

/// A crate and the crates of this workspace that it may use. `record` and the analysis (trace and later)
/// never see each other: they meet in the recording.
const ALLOWED: &[(&str, &[&str])] = &[
    ("longpole-event", &[]),
    ("longpole-ring", &[]),
    ("longpole-agent", &["ring", "runtime"]),
    ("longpole-recording", &["event"]),
    ("longpole-symbols", &["event", "recording"]),
    ("longpole-collect", &["event", "recording", "runtime"]),
    (
        "longpole-record",
        &[
            "access",
            "chrome",
            "event",
            "otf2",
            "perfetto",
            "privileged",
            "ring",
            "recording",
            "symbols",
            "collect",
        ],
    ),
    ("longpole-trace", &["event", "recording", "symbols"]),
    ("longpole-graph", &["event", "trace"]),
    ("longpole-metrics", &["event", "trace", "graph"]),
    ("longpole-series", &["event", "recording", "trace", "metrics"]),
    ("longpole-report", &["event", "trace", "graph", "metrics", "series", "communication", "trials"]),
    ("longpole-timeline", &["event", "trace", "graph", "metrics", "series", "report"]),
    (
        "longpole-answer",
        &["event", "recording", "trace", "metrics", "series", "timeline", "communication", "report"],
    ),
    ("longpole-server", &["recording", "metrics", "series", "timeline", "report", "answer"]),
    ("longpole-tables", &[]),
    ("longpole-coherence", &[]),
    ("longpole-access", &[]),
    ("longpole-emulate", &["access"]),
    ("longpole-otf2", &[]),
    ("longpole-perfetto", &[]),
    ("longpole-chrome", &[]),
    ("longpole-privileged", &[]),
    ("longpole-communication", &["access", "coherence", "event", "recording"]),
    ("longpole-delay", &[]),
    ("longpole-trials", &["delay"]),
    (
        "longpole",
        &[
            "event",
            "recording",
            "symbols",
            "collect",
            "record",
            "metrics",
            "series",
            "report",
            "answer",
            "tables",
            "trials",
            "server",
            "runtime",
        ],
    ),
    ("longpole-runtime", &[]),
    ("longpole-testkit", &["event", "recording", "trace"]),
    ("xtask", &["event", "recording", "trials"]),
];

/// Checks every dependency edge between crates of the workspace.
pub fn check() -> Result<()> {
    let output = cargo(&["metadata", "--no-deps", "--format-version", "1", "--locked"])
        .output()
        .context("run cargo metadata")?;
    if !output.status.success() {
        bail!("run cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    }
    let metadata = serde_json::from_slice(&output.stdout).context("read the metadata")?;
    let found = violations(&metadata);
    if !found.is_empty() {
        bail!("keep the layers apart:\n  {}", found.join("\n  "));
    }
    Ok(())
}

/// Edges that the table does not have.
fn violations(metadata: &Value) -> Vec<String> {
    let mut found = Vec::new();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let name = package["name"].as_str().unwrap_or_default();
        let Some((_, allowed)) = ALLOWED.iter().find(|(package, _)| *package == name) else {
            found.push(format!("{name} has no entry in the table of layers"));
            continue;
        };
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let target = dependency["name"].as_str().unwrap_or_default();
            let ours = ALLOWED.iter().any(|(package, _)| *package == target);
            // Tests may look anywhere; what ships may not.
            let is_for_tests = dependency["kind"].as_str() == Some("dev");
            let role = target.strip_prefix("longpole-").unwrap_or(target);
            if ours && !is_for_tests && !allowed.contains(&role) {
                found.push(format!("{name} must not depend on {target}"));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn metadata(name: &str, dependency: &str, kind: Option<&str>) -> Value {
        json!({"packages": [{"name": name, "dependencies": [{"name": dependency, "kind": kind}]}]})
    }

    #[test]
    fn an_edge_against_the_direction_of_the_stages_is_named() {
        let found = violations(&metadata("longpole-record", "longpole-trace", None));
        assert_eq!(found, ["longpole-record must not depend on longpole-trace"]);
    }

    #[test]
    fn edges_of_the_table_and_edges_of_tests_pass() {
        assert!(violations(&metadata("longpole-graph", "longpole-trace", None)).is_empty());
        assert!(violations(&metadata("longpole-trace", "longpole-testkit", Some("dev"))).is_empty());
        assert!(violations(&metadata("longpole-graph", "serde", None)).is_empty());
    }

    #[test]
    fn a_crate_without_an_entry_is_named() {
        let found = violations(&metadata("longpole-new", "serde", None));
        assert_eq!(found, ["longpole-new has no entry in the table of layers"]);
    }
}
