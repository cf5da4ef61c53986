//! Tests that cannot be done here say so, in a place where they are counted.

use std::io::Write;

/// Notes that the current test is skipped, and why. Where `LONGPOLE_NO_SKIPS` is set (a complete run) it
/// fails instead.
///
/// # Panics
/// In a complete run, and where the list of skips (`LONGPOLE_SKIPS`) cannot be written.
#[allow(clippy::print_stderr, reason = "a skipped test says why")]
pub fn skipped(reason: &str) {
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a test");
    assert!(std::env::var_os("LONGPOLE_NO_SKIPS").is_none(), "no test may skip here: {reason}");
    eprintln!("skipped: {test}: {reason}");
    if let Some(path) = std::env::var_os("LONGPOLE_SKIPS") {
        let file = std::fs::OpenOptions::new().append(true).create(true).open(path);
        writeln!(file.expect("the list of skips"), "{test}: {reason}").expect("a written line");
    }
}
