//! A machine that is as quiet for the judged program as it can be made without stopping what belongs to others.

use std::fs;
use std::io::Error;
use std::os::unix::process::CommandExt;
use std::process::Command;

use anyhow::{Context, Result};

/// How long a real-time thread has the processor before others of its priority have it, milliseconds.
const TURN: &str = "/proc/sys/kernel/sched_rr_timeslice_ms";
/// About as long as the turns of the ordinary scheduler.
pub const TURN_MILLISECONDS: &str = "4";

/// While it lives, real-time threads take turns as short as those of the ordinary scheduler; else they would be thirty times as
/// long, and a program with more threads than processors another one.
pub struct ShortTurns {
    before: String,
}

impl ShortTurns {
    /// Needs the right to change the kernel's settings.
    pub fn start() -> Result<Self> {
        let before = fs::read_to_string(TURN).with_context(|| format!("read {TURN}"))?;
        fs::write(TURN, TURN_MILLISECONDS).with_context(|| format!("write {TURN} (as root)"))?;
        Ok(ShortTurns { before })
    }
}

impl Drop for ShortTurns {
    fn drop(&mut self) {
        let _ = fs::write(TURN, self.before.trim());
    }
}

/// Makes a command real-time (`SCHED_RR`, the lowest priority): others only get the processors that it leaves idle, and the twentieth
/// part that the kernel keeps for them where it leaves none.
pub fn make_real_time(command: &mut Command) {
    let set = || {
        // SAFETY: plain values on this thread's stack, read by the kernel during the call.
        let result = unsafe {
            let mut parameters: libc::sched_param = std::mem::zeroed();
            parameters.sched_priority = 1;
            libc::sched_setscheduler(0, libc::SCHED_RR, &raw const parameters)
        };
        if result == 0 { Ok(()) } else { Err(Error::last_os_error()) }
    };
    // SAFETY: the closure makes one system call, and allocates nothing.
    unsafe { command.pre_exec(set) };
}

/// How many processors there are.
pub fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
