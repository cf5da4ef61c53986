//! What a test measures goes before everything else on the machine.

use std::ffi::CStr;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// The highest priority of an ordinary thread, as a nice value and as text.
const FIRST: (libc::c_int, &[u8]) = (-20, b"-20");
const AUTOGROUP: &CStr = c"/proc/self/autogroup";

/// Starts the command in a session of its own whose threads get nearly all of the processors, however many others want
/// them; without the right to that, as anybody's. The programs' answers are worked out for a machine that has nothing else
/// to do.
pub fn go_first(command: &mut Command) -> &mut Command {
    let go_first = || {
        // SAFETY: system calls on memory that lives as long as the program; they are safe after fork.
        unsafe {
            libc::setsid();
            libc::setpriority(libc::PRIO_PROCESS, 0, FIRST.0);
            // Where the scheduler shares processors among sessions, a nice value says nothing to other sessions.
            let file = libc::open(AUTOGROUP.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
            if file >= 0 {
                libc::write(file, FIRST.1.as_ptr().cast(), FIRST.1.len());
                libc::close(file);
            }
        }
        Ok(())
    };
    // SAFETY: the closure only makes system calls.
    unsafe { command.pre_exec(go_first) }
}
