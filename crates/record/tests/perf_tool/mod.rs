//! Recordings by the installed `perf`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use longpole_record::import::{ImportChoice, import};
use longpole_recording::Destination;

use crate::lockers::build;
use crate::recorded::Recorded;
use longpole_testkit::skipped;

const EVENTS: &str = "sched:sched_switch,sched:sched_waking,cpu-clock";

/// A recording of the machine that finds two runs of a program cannot tell them apart.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Records the program with perf; `None` with the reason printed where perf cannot.
fn record(folder: &Path, program: &str, options: &[&str]) -> Option<PathBuf> {
    let program = build(folder, program);
    let file = folder.join("perf.data");
    let mut perf = Command::new("perf");
    // Large rings for busy machines; without build ids, for perf 6.1 ends at one that is longer than it thinks.
    perf.args(["record", "-q", "-B", "-m", "2048", "-e", EVENTS])
        .args(options)
        .arg("-o")
        .arg(&file)
        .arg(program);
    let Ok(output) = perf.output() else {
        skipped("perf is not installed");
        return None;
    };
    if output.status.code() != Some(3) {
        let said = String::from_utf8_lossy(&output.stderr);
        skipped(&format!("perf may not record tracepoints here: {said}"));
        return None;
    }
    Some(file)
}

/// The import of what perf records of the program, without losses.
pub fn recorded(folder: &Path, program: &str, options: &[&str]) -> Option<Recorded> {
    let _guard = ONE_AT_A_TIME.lock();
    for attempt in 0..8 {
        let file = record(folder, program, options)?;
        let output = folder.join(format!("imported-{attempt}.longpole"));
        let finished =
            import(&file, ImportChoice::default(), &Destination::Replace(output.clone())).expect("an import");
        assert_eq!(finished.path, output);
        let recorded = Recorded::open(&output);
        if recorded.lost() == 0 {
            return Some(recorded);
        }
    }
    skipped("perf lost events in every attempt, other programs switch too often");
    None
}
