//! `longpole setup`: once as root, so that recording needs no root afterwards.
//!
//! A file beside the binary gets the capabilities that the collector `bpf` needs, and the identities of the scheduler's tracepoints and
//! those of futex calls, which only root can read from tracefs, are copied to where every user can read them. The latter are
//! of use without any capability: users may have them of their own threads (`process`).

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::process::ExitCode;

use anyhow::{Context, Result};
use longpole_record::setup::{CAPABILITIES, GrantedAtStart, grant, install, privileged_file};
use longpole_record::tracefs;

use crate::arguments::Setup;
use crate::failure::Failure;
use crate::terminal::print;

/// Runs the command.
pub fn run(options: &Setup) -> Result<ExitCode> {
    let binary = std::env::current_exe().context("find this binary")?;
    // SAFETY: geteuid has no preconditions and cannot fail.
    if unsafe { libc::geteuid() } != 0 {
        return Err(Failure {
            status: 1,
            hints: vec![format!("sudo {} setup", binary.display())],
            error: anyhow::anyhow!("set up: only root can give a file capabilities"),
        }
        .into());
    }
    let mut text = String::new();
    let names: Vec<_> = CAPABILITIES.iter().map(|&(_, name)| name).collect();
    let names = names.join(", ");
    let file = if options.perf {
        grant(&binary, GrantedAtStart::Effective)
            .with_context(|| format!("give {} its capabilities", binary.display()))?;
        let _ = fs::remove_file(privileged_file(&binary));
        writeln!(text, "{0} may now record without root: it has {names}.", binary.display())?;
        binary.clone()
    } else {
        let file = install(&binary).context("install the file that has the capabilities")?;
        writeln!(
            text,
            "{} may now record without root: {} has {names} and does for it what needs them.",
            binary.display(),
            file.display()
        )?;
        file
    };
    let copied = tracefs::copy_for_users().context("copy the tracepoints' identities")?;
    writeln!(
        text,
        "The identities of {copied} tracepoints are kept in {}, until another kernel runs: by them any copy of longpole, \
         without capabilities too, sees the locks that threads of a user's own program wait for (collector process).",
        tracefs::COPY
    )?;
    if fs::metadata(&file)?.mode() & 0o001 != 0 {
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
