//! The only way to standard output and standard error.
//!
//! Names of a recording, a program or an argument may hold any bytes. Invariant: what goes to a terminal holds no control
//! character but line breaks and the codes of our own style. `clippy.toml` forbids both streams elsewhere, so no new
//! message can forget it.

// The streams are opened here, and here only.
#![expect(clippy::disallowed_methods)]

use std::io::{self, IsTerminal, Write};

use anyhow::{Context, Result};
use longpole_report::{visible, visible_excerpt, visible_output};

/// Writes lines, or a report with its style, to standard output. A reader that stops early is no error.
pub fn print(text: &str) -> Result<()> {
    print_raw(&visible_output(text))
}

/// Writes one line to standard output.
pub fn print_line(line: &str) -> Result<()> {
    print_raw(&format!("{}\n", visible(line)))
}

/// Writes data to standard output as it is: tables whose cells the user wants raw.
pub fn print_raw(text: &str) -> Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written.context("write to standard output"),
    }
}

/// Writes one remark to standard error, behind the name of this program.
pub fn remark(line: &str) {
    tell(&format!("longpole: {}\n", visible(line)));
}

/// Writes what failed, and what to do about it, to standard error.
pub fn failure(what: &str, hints: &[String]) {
    let hints: String = hints.iter().map(|hint| format!("  hint: {}\n", visible_excerpt(hint))).collect();
    tell(&format!("longpole: failed to {}\n{hints}", visible_excerpt(what)));
}

/// Writes what is wrong with the command line, whose arguments were made visible one by one, to standard error.
pub fn usage(text: &str) {
    tell(&visible_output(text));
}

/// Writes a report with its style to standard error.
pub fn report_beside(text: &str) {
    tell(&visible_output(text));
}

/// Whether standard error is a terminal.
pub fn has_terminal() -> bool {
    io::stderr().is_terminal()
}

/// Nothing can be done about a closed standard error.
fn tell(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}
