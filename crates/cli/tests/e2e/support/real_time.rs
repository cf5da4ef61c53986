//! Runs that give way to no other: other programs have only the processors that these leave idle.

use std::ffi::OsStr;
use std::process::Command;
use std::time::Instant;

use super::{Recording, Session, find, is_root, longpole};

/// Pairs of runs that tell what one of two programs saves.
const PAIRS: usize = 5;

/// Whether this machine has such runs.
pub fn may_be_real_time() -> Result<(), String> {
    find("chrt")?;
    if is_root() { Ok(()) } else { Err("real time needs root".to_owned()) }
}

fn real_time(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new("chrt");
    command.args(["-r", "1"]).arg(program);
    command
}

/// Elapsed time of a run, seconds.
fn seconds<P: AsRef<OsStr>>(command: &[P]) -> f64 {
    let begin = Instant::now();
    let output = real_time(&command[0]).args(&command[1..]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    begin.elapsed().as_secs_f64()
}

/// What the first of two commands takes less than the second, percent, from the least to the most; they run in turn.
pub fn saved_percents<P: AsRef<OsStr>>(quick: &[P], slow: &[P]) -> Vec<f64> {
    let saved = |_| 100.0 * (1.0 - seconds(quick) / seconds(slow));
    let mut saved: Vec<f64> = (0..PAIRS).map(saved).collect();
    saved.sort_by(f64::total_cmp);
    saved
}

/// Elapsed time of a command, seconds: the least of several runs.
pub fn least_real_time<P: AsRef<OsStr>>(command: &[P]) -> f64 {
    (0..PAIRS).map(|_| seconds(command)).fold(f64::INFINITY, f64::min)
}

/// Records a command; recorder and program both.
pub fn record_in_real_time<P: AsRef<OsStr>>(session: &Session, options: &[&str], command: &[P]) -> Recording {
    let path = session.path().join("real-time.longpole");
    let mut recorder = real_time(longpole().get_program());
    recorder.args(["record", "-q", "--force"]).args(options).arg("-o").arg(&path).arg("--").args(command);
    let run = session.run(&mut recorder);
    assert!(run.status.success(), "{}{}", run.stdout, run.stderr);
    Recording { path, run }
}
