//! Programs that tell of regions, tasks, names and their own locks: through the C header, and with rayon and tokio through
//! the Rust crate.

use std::path::PathBuf;
use std::process::Command;

use crate::support::{Recording, Session, first, is_root, longpole, or_skip};

const KERNEL: &[&str] = &["--collector", "bpf", "--locks"];
const ALONE: &[&str] = &["--collector", "agent"];

fn record(session: &Session, options: &[&str], program: &PathBuf) -> Result<Recording, String> {
    if options == KERNEL && !is_root() {
        return Err("the collector bpf needs root".into());
    }
    let path = session.path().join("told.longpole");
    let mut command = longpole();
    command.args(["record", "-q", "--force", "-o"]).arg(&path).args(options).arg("--").arg(program);
    let run = session.run(&mut command);
    assert!(run.status.success(), "{}{}", run.stdout, run.stderr);
    Ok(Recording { path, run })
}

/// Asserts the inclusive CPU time of procedures and regions, each within 15 ms.
fn assert_inclusive(recording: &Recording, expected: &[(&str, f64)]) {
    let profile = recording.report("profile", "procedure");
    for &(name, seconds) in expected {
        let found = profile.sum("procedure", name, "inclusive_seconds");
        let table = || profile.table("procedure");
        assert!((found - seconds).abs() < 0.015, "{}\n{name}: {found} s, not {seconds}", table());
    }
}

#[test]
fn regions_tasks_and_names_of_a_c_program_are_in_the_answers() {
    let session = Session::start();
    let program = or_skip!(session.build("regions.c", &[]));
    let recording = or_skip!(record(&session, KERNEL, &program));
    let told = [("resize", 0.09), ("load", 0.06), ("solve", 0.03), ("refine", 0.03)];
    assert_inclusive(&recording, &told);
    // The task's work is its maker's, though another thread does it.
    assert_inclusive(&recording, &[("hand_out", 0.09), ("work_on", 0.18)]);
    let profile = recording.report("profile", "procedure");
    assert!((profile.sum_of("running_seconds") - 0.34).abs() < 0.03, "{}", profile.table("procedure"));
    let objects = recording.report_with("objects", "object", &["--all"]);
    assert_eq!(objects.sum("object", "the turn", "acquisitions"), 8.0, "{:#}", objects.value["rows"]);
    let threads = recording.report("threads", "thread");
    assert!(threads.rows().any(|row| row["thread"] == "task runner"), "{:#}", threads.value["rows"]);
}

#[test]
fn with_nothing_but_the_agent_work_goes_by_the_names_of_its_regions() {
    let session = Session::start();
    let program = or_skip!(session.build("regions.c", &[]));
    let recording = or_skip!(record(&session, ALONE, &program));
    let profile = recording.report("profile", "procedure");
    let inclusive =
        ["resize", "load", "solve"].map(|name| profile.sum("procedure", name, "inclusive_seconds"));
    // 0.18 s in all. On a busy machine when a thread had no processor is known too late to say where: a short region may
    // be short of its time.
    let table = profile.table("procedure");
    assert!(inclusive.iter().all(|&seconds| seconds > 0.0), "{table}\n{inclusive:?}");
    assert!(inclusive.iter().sum::<f64>() > 0.1, "{table}\n{inclusive:?}");
    let objects = recording.report_with("objects", "object", &["--all"]);
    assert_eq!(objects.sum("object", "the turn", "acquisitions"), 8.0, "{:#}", objects.value["rows"]);
}

/// Builds an example of the runtime's crate, of the whole workspace: so libraries have the features of the other tests' builds, which
/// compiled them.
pub fn example(name: &str) -> PathBuf {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args(["build", "--quiet", "--locked", "--workspace", "--example", name])
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
        .status()
        .unwrap();
    assert!(status.success(), "the example {name} could not be built");
    let target = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    target.parent().expect("the target folder").join("debug/examples").join(name)
}

#[test]
fn what_rayon_s_threads_do_is_the_work_of_those_who_handed_it_out() {
    let session = Session::start();
    let recording = or_skip!(record(&session, KERNEL, &example("rayon")));
    assert_inclusive(&recording, &[("price_orders", 0.16), ("check_both", 0.12), ("pricing", 0.16)]);
    assert_inclusive(&recording, &[("check credit", 0.08), ("check stock", 0.04)]);
    let profile = recording.report("profile", "procedure");
    assert!(first(&profile, "procedure").ends_with("price"), "{}", profile.table("procedure"));
}

#[test]
fn what_tokio_s_workers_do_is_the_work_of_those_who_spawned_it() {
    let session = Session::start();
    let recording = or_skip!(record(&session, KERNEL, &example("tokio")));
    assert_inclusive(&recording, &[("accept_queries", 0.16), ("accept_reports", 0.12)]);
    assert_inclusive(&recording, &[("query", 0.16), ("report", 0.12)]);
}
