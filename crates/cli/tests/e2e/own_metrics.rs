//! Programs with metrics of their own, and collectors that are written with the runtime, of C and of Rust: what they
//! print is what the recording holds.

use std::path::{Path, PathBuf};
use std::process::Command;

use longpole_event::{SeriesKind, SeriesNode};

use crate::support::{Run, Series, Session, longpole, or_skip, series};

/// Builds an example of `runtime/c`.
fn c_example(session: &Session, name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../runtime/c");
    let program = session.path().join(name);
    let mut command = Command::new("gcc");
    command.args(["-O2", "-Wall", "-Wextra", "-Werror", "-pthread", "-I"]).arg(&folder);
    command.arg("-o").arg(&program).arg(folder.join("examples").join(name).with_extension("c"));
    assert!(command.status().unwrap().success(), "{command:?}");
    program
}

/// Records with these options by the collector that needs no privilege.
fn record(session: &Session, options: &[String], program: &[&str]) -> (Run, Vec<Series>, PathBuf) {
    let path = session.path().join("own.longpole");
    let mut command = longpole();
    command.args(["record", "-q", "--force", "--collector", "agent", "-o"]).arg(&path).args(options);
    let run = session.run(command.arg("--").args(program));
    assert!(run.status.success(), "{}{}", run.stdout, run.stderr);
    let series = series(&path);
    (run, series, path)
}

fn one<'a>(all: &'a [Series], metric: &str) -> &'a Series {
    let found: Vec<_> = all.iter().filter(|series| series.metric == metric).collect();
    assert_eq!(found.len(), 1, "{metric}: {found:?}");
    found[0]
}

/// The number that the program printed behind this name.
fn printed(run: &Run, name: &str) -> f64 {
    let line =
        run.stdout.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_else(|| panic!("{run:?}"));
    line.trim().parse().unwrap()
}

fn assert_transactions(program: &Path) {
    let session = Session::start();
    let (run, all, _) = record(&session, &[], &[program.to_str().unwrap()]);
    for metric in ["commits", "aborts"] {
        let counted = one(&all, metric);
        assert_eq!(counted.last(), printed(&run, metric), "{counted:?}");
        assert_eq!((counted.samples, counted.unit.as_str()), (SeriesKind::Counter, "transactions"));
        assert!(matches!(counted.node, SeriesNode::Process { .. }), "{counted:?}");
        assert_eq!(counted.collector, "program");
        // Some 0.2 s in all: it grew look by look.
        assert!(counted.values.len() > 5, "{counted:?}");
    }
    assert_eq!(one(&all, "queued").last(), printed(&run, "queued"));
    let latency = one(&all, "latency");
    let expected = printed(&run, "commits") + printed(&run, "aborts");
    assert_eq!((latency.node, latency.values.len() as f64), (SeriesNode::Program, expected));
}

#[test]
fn what_a_c_program_counts_is_in_the_recording() {
    let session = Session::start();
    let program = c_example(&session, "transactions");
    let kept = tempfile::tempdir().unwrap();
    let copy = kept.path().join("transactions");
    std::fs::copy(program, &copy).unwrap();
    drop(session);
    assert_transactions(&copy);
}

#[test]
fn what_a_rust_program_counts_is_in_the_recording() {
    assert_transactions(&crate::runtime::example("transactions"));
}

fn assert_collector(session: &Session, program: &Path) {
    let options = ["--collect".to_owned(), format!("cmd:{} 2> looks", program.display())];
    let (_, all, path) = record(session, &options, &["sleep", "0.5"]);
    let looks = one(&all, "looks");
    let told = std::fs::read_to_string(session.path().join("looks")).unwrap();
    assert_eq!(format!("{} looks\n", looks.last()), told, "{looks:?}");
    assert!((4.0..=8.0).contains(&looks.last()), "ten a second: {looks:?}");
    assert_eq!((looks.node, looks.label.as_str()), (SeriesNode::Machine, "collector"));
    assert_eq!((one(&all, "load").node, one(&all, "load").label.as_str()), (SeriesNode::Machine, ""));
    // It ended as it was told to: nothing is said of it.
    let manifest = std::fs::read_to_string(path.join("recording.json")).unwrap();
    let manifest: serde_json::Value = serde_json::from_str(&manifest).unwrap();
    for account in manifest["machines"][0]["outside"].as_array().unwrap() {
        assert_eq!(account["troubles"], serde_json::json!([]), "{account}");
    }
}

#[test]
fn a_collector_of_c_gives_what_it_saw() {
    let session = Session::start();
    let program = c_example(&session, "collector");
    assert_collector(&session, &program);
}

#[test]
fn a_collector_of_rust_gives_what_it_saw() {
    let session = Session::start();
    assert_collector(&session, &crate::runtime::example("collector"));
}

#[test]
fn a_program_of_another_user_is_heard() {
    let session = Session::start();
    let program = c_example(&session, "transactions");
    let setpriv = or_skip!(crate::support::find("setpriv"));
    if !crate::support::is_root() {
        return crate::support::skipped("giving up root needs root");
    }
    let user = ["--reuid", "65534", "--regid", "65534", "--clear-groups", "--inh-caps", "-all"];
    let mut command = vec![setpriv.to_str().unwrap()];
    command.extend(user);
    command.push(program.to_str().unwrap());
    let (run, all, _) = record(&session, &[], &command);
    assert_eq!(one(&all, "commits").last(), printed(&run, "commits"));
}

#[test]
fn where_nothing_is_collected_the_program_is_not_told() {
    let session = Session::start();
    let path = session.path().join("none.longpole");
    let mut command = longpole();
    command.args(["record", "-q", "--collector", "agent", "--collect", "none", "-o"]).arg(&path);
    let run = session.run(command.args(["--", "sh", "-c", "echo told:$LONGPOLE_SERIES"]));
    assert!(run.stdout.starts_with("told:\n"), "{run:?}");
}
