//! Programs of Rust, by rustc and by cargo: a user finds false sharing by the commands that the answers print.

use std::path::{Path, PathBuf};

use super::{number, record};
use crate::support::{Session, longpole, programs, run};

/// Transfers of the procedure that counts, and the share of false sharing in its requests.
fn counted(session: &Session, program: &Path, mode: &str) -> (u64, f64) {
    let recording = record(session, program, &["4", "500", mode]);
    let answer = recording.report("communication", "procedure");
    let is_count = |name: &str| name.ends_with("::count");
    let row = answer.rows().find(|row| row["procedure"].as_str().is_some_and(is_count)).expect("`count`");
    let objects = recording.report("communication", "object");
    let object = objects.rows().next().unwrap();
    if mode == "plain" {
        // The place in the program, though the standard library allocates.
        let name = object["object"].as_str().unwrap();
        assert!(name.contains("::make::<") && name.contains(".rs:24"), "{name}");
    }
    (number(row, "transfers"), row["false_sharing_percent"].as_f64().unwrap())
}

fn assert_counters(session: &Session, program: &Path) {
    let (transfers, falsely) = counted(session, program, "plain");
    // 4 * 500 - 4 if all threads began at once in virtual time too; there they begin where they are created, one after the other.
    assert!((1500..=1996).contains(&transfers) && falsely > 90.0, "{transfers} transfers, {falsely} %");
    assert_eq!(counted(session, program, "padded").0, 0);
}

#[test]
fn counters_in_a_vector_are_falsely_shared_until_they_are_padded() {
    let session = Session::beside_others();
    let program = session.path().join("counters");
    let mut command = longpole();
    command.env("XDG_DATA_HOME", session.path().join("data")).args(["rustc", "-O", "-o"]).arg(&program);
    let built = run(command.arg(programs().join("shared_counters.rs")));
    assert!(built.status.success(), "{}", built.stderr);
    assert_counters(&session, &program);
}

#[test]
fn cargo_builds_the_program_and_leaves_its_build_script_alone() {
    let session = Session::beside_others();
    let folder: PathBuf = session.path().join("counters");
    std::fs::create_dir_all(folder.join("src")).unwrap();
    let manifest = "[package]\nname = \"counters\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[workspace]\n";
    std::fs::write(folder.join("Cargo.toml"), manifest).unwrap();
    std::fs::write(folder.join("build.rs"), "fn main() {}\n").unwrap();
    std::fs::copy(programs().join("shared_counters.rs"), folder.join("src/main.rs")).unwrap();
    let mut command = longpole();
    command.env("XDG_DATA_HOME", session.path().join("data")).env_remove("CARGO_TARGET_DIR");
    command.args(["cargo", "build", "--release", "--offline"]).current_dir(&folder);
    let built = run(&mut command);
    assert!(built.status.success(), "{}", built.stderr);
    let hint = "to record cargo itself: `longpole record cargo build --release --offline`";
    assert!(built.stderr.contains(hint), "{}", built.stderr);
    assert_counters(&session, &folder.join("target/x86_64-unknown-linux-gnu/release/counters"));
}
