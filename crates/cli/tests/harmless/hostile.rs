//! What a program does to the memory that it shares with the recorder harms nobody but itself.

use std::path::Path;

use crate::run::{build, longpole, run};

const WAYS: [&[&str]; 3] = [&["--collector", "agent"], &["--collector", "agent", "--calls"], &["--locks"]];

/// Runs a shell command under the recorder, which has to end as the command does and leave a recording that is read.
fn record(way: &[&str], script: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let recording = folder.path().join("run.longpole");
    let mut command = longpole();
    command.args(["record", "--quiet"]).args(way).arg("-o").arg(&recording).arg("--");
    let recorded = run(command.args(["sh", "-c", script]));
    assert_eq!(recorded.status, 7, "{way:?}: {}", recorded.stderr);
    let report = run(longpole().arg("report").arg(&recording));
    assert_eq!(report.status, 0, "{way:?}: {}", report.stderr);
    recorded.stdout
}

#[test]
fn the_memory_cannot_be_cut_off() {
    // Neither shorter nor longer; what is refused is said by the system, in words of its own.
    let script = "for size in 0 64K +1; do truncate -s $size $LONGPOLE_AGENT 2>&1; done; sh -c true; exit 7";
    for way in WAYS {
        let said = record(way, script);
        assert_eq!(said.matches("Operation not permitted").count(), 3, "{way:?}: {said}");
    }
}

#[test]
fn scribbles_do_not_reach_the_recorder() {
    let (scribble, locker) = (build("scribble.c"), build("told.c"));
    let (scribble, locker) = (scribble.display(), locker.display());
    for (number, way) in WAYS.iter().enumerate() {
        // A program with the agent in it may be hurt by the scribbles; the shell that says 7 has none.
        let script = format!(
            "exec env -u LD_PRELOAD sh -c 'P=\"'$LD_PRELOAD'\"; (LD_PRELOAD=$P {locker} >/dev/null 2>&1) 2>/dev/null & \
             {scribble} $LONGPOLE_AGENT {number} 20000; wait; exit 7'"
        );
        assert_eq!(record(way, &script), "scribbled\n", "{way:?}");
    }
}

/// A folder under the name of the recorder's memory is somebody else's file there: it is left alone.
#[test]
fn only_the_recorder_s_own_memory_is_mapped() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let program = build("plain.c");
    let bare = run(&mut std::process::Command::new(&program));
    let script = format!("LONGPOLE_AGENT={} {}; exit $?", file.path().display(), program.display());
    let recorded = record_as(Path::new("/bin/sh"), &["-c", &script]);
    assert_eq!(recorded, bare);
}

fn record_as(program: &Path, arguments: &[&str]) -> crate::run::Shown {
    let folder = tempfile::tempdir().unwrap();
    let mut command = longpole();
    command.args(["record", "--quiet", "--collector", "agent", "-o"]).arg(folder.path().join("run.longpole"));
    run(command.arg("--").arg(program).args(arguments))
}
