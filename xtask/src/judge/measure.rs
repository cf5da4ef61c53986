//! Runs of versions of a program in turn: how long they take, and what of the machine.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use super::verdict::JudgedRun;

/// Between two runs other programs have the processors. The kernel keeps a twentieth of each second for them, and takes it from a real-time
/// program in its midst where they did not have it before.
const PAUSE: Duration = Duration::from_millis(120);

/// Runs a command once, to its end, after a pause.
// It is waited for by `wait4`, which knows more than the standard library's wait.
#[allow(clippy::zombie_processes)]
pub fn measure(command: &mut Command) -> Result<JudgedRun> {
    command.stdin(Stdio::null()).stdout(Stdio::null());
    std::thread::sleep(PAUSE);
    let begin = Instant::now();
    let child = command.spawn().with_context(|| format!("start {command:?}"))?;
    let mut status = 0;
    // SAFETY: a structure of plain numbers.
    let mut own: libc::rusage = unsafe { std::mem::zeroed() };
    let pid = libc::pid_t::try_from(child.id()).context("take a process id for a number")?;
    // SAFETY: both point to values that outlive the call.
    if unsafe { libc::wait4(pid, &raw mut status, 0, &raw mut own) } != pid {
        bail!("wait for {command:?}: {}", std::io::Error::last_os_error());
    }
    let elapsed_seconds = begin.elapsed().as_secs_f64();
    ensure!(status == 0, "run {command:?}: status {status:#x}");
    Ok(JudgedRun {
        elapsed_seconds,
        cpu_seconds: seconds(own.ru_utime) + seconds(own.ru_stime),
        page_faults: number(own.ru_minflt + own.ru_majflt),
        switches: number(own.ru_nvcsw + own.ru_nivcsw),
    })
}

fn seconds(time: libc::timeval) -> f64 {
    time.tv_sec as f64 + time.tv_usec as f64 * 1e-6
}

fn number(count: i64) -> u64 {
    u64::try_from(count).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_of_nothing_takes_next_to_no_cpu_time_and_ends_well() {
        let run = measure(&mut Command::new("true")).unwrap();
        assert!(run.cpu_seconds < 1.0 && run.elapsed_seconds > 0.0 && run.page_faults > 0);
    }

    #[test]
    fn a_run_that_fails_is_no_measurement() {
        let error = measure(&mut Command::new("false")).unwrap_err();
        assert!(error.to_string().contains("status 0x100"), "{error}");
    }
}
