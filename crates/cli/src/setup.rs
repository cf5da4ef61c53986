//! `longpole setup`: once as root, so that recording needs no root afterwards.
//!
//! The binary gets the capabilities that the collectors `bpf` and `perf` need, and the identities of the scheduler's tracepoints and those
//! of futex calls, which only root can read from tracefs, are copied to where every user can read them. The latter are
//! of use without any capability: users may have them of their own threads (`process`).

use std::ffi::CString;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};
use longpole_record::tracefs;

use crate::failure::Failure;
use crate::terminal::print;

/// Capabilities that recording needs, by number and name (capability.h).
///
/// `cap_perfmon` and `cap_bpf` for the collectors, `cap_syslog` for the kernel's addresses.
pub const CAPABILITIES: &[(u32, &str)] = &[(34, "cap_syslog"), (38, "cap_perfmon"), (39, "cap_bpf")];

/// Runs the command.
pub fn run() -> Result<ExitCode> {
    let binary = std::env::current_exe().context("find this binary")?;
    // SAFETY: geteuid has no preconditions and cannot fail.
    if unsafe { libc::geteuid() } != 0 {
        return Err(Failure {
            status: 1,
            hints: vec![format!("sudo {} setup", binary.display())],
            error: anyhow::anyhow!("set up: only root can give a binary capabilities"),
        }
        .into());
    }
    let mut text = String::new();
    grant(&binary).with_context(|| format!("give {} its capabilities", binary.display()))?;
    let names: Vec<_> = CAPABILITIES.iter().map(|&(_, name)| name).collect();
    writeln!(text, "{} may now record without root: it has {}.", binary.display(), names.join(", "))?;
    let copied = tracefs::copy_for_users().context("copy the tracepoints' identities")?;
    writeln!(
        text,
        "The identities of {copied} tracepoints are kept in {}, until another kernel runs: by them any copy of longpole, \
         without capabilities too, sees the locks that threads of a user's own program wait for (collector process).",
        tracefs::COPY
    )?;
    if fs::metadata(&binary)?.mode() & 0o001 != 0 {
        writeln!(
            text,
            "Note: every user of this machine can execute it, and so watch the scheduling of every program. To narrow \
             that:\n  chgrp GROUP {0}; chmod 750 {0}; {0} setup",
            binary.display()
        )?;
    }
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// Sets the file's capabilities: permitted and effective (`struct vfs_cap_data`, revision 2).
fn grant(binary: &Path) -> io::Result<()> {
    const REVISION_2: u32 = 0x0200_0000;
    const EFFECTIVE: u32 = 1;
    let mut permitted = [0_u32; 2];
    for &(number, _) in CAPABILITIES {
        permitted[(number / 32) as usize] |= 1 << (number % 32);
    }
    let words = [REVISION_2 | EFFECTIVE, permitted[0], 0, permitted[1], 0];
    let value: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let path = CString::new(binary.as_os_str().as_bytes())?;
    // SAFETY: both strings end in a zero byte and the value's length is its own.
    let result = unsafe {
        libc::setxattr(path.as_ptr(), c"security.capability".as_ptr(), value.as_ptr().cast(), value.len(), 0)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
