//! Commands that end when they are interrupted.

use std::os::unix::process::CommandExt;
use std::process::Command;

/// What a shell runs in the background ignores interrupts, and so would all that these tests start.
pub fn heed_interrupts(command: &mut Command) -> &mut Command {
    let heed = || {
        // SAFETY: sets a signal's disposition to its default, which is safe after fork.
        unsafe { libc::signal(libc::SIGINT, libc::SIG_DFL) };
        Ok(())
    };
    // SAFETY: the closure only makes a system call.
    unsafe { command.pre_exec(heed) }
}
