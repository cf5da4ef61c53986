//! A command's processes: its group, and those that left it, which carry its mark in their environment.

use std::fs;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// The variable of the mark.
pub(super) const VARIABLE: &str = "LONGPOLE_COLLECTOR";

/// A mark that no other command of this or another recorder has now.
pub(super) fn mark() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let now = crate::clock::now().nanoseconds();
    format!("{}.{}.{now}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

/// The processes of one command.
#[derive(Debug)]
pub(super) struct CommandProcesses {
    pid: libc::pid_t,
    is_reaped: bool,
    /// The entry of the environment, as it stands there.
    mark: Vec<u8>,
}

impl CommandProcesses {
    /// Of the command whose first process is our child and leads its group.
    pub(super) fn new(pid: u32, mark: String) -> CommandProcesses {
        let pid = libc::pid_t::try_from(pid).expect("a pid fits");
        CommandProcesses { pid, is_reaped: false, mark: format!("{VARIABLE}={mark}").into_bytes() }
    }

    /// Status of the first process, and CPU time of it and all it waited for, once it has ended.
    pub(super) fn reap(&mut self) -> Option<(i32, Duration)> {
        if self.is_reaped {
            return None;
        }
        let mut status = 0;
        // SAFETY: the kernel writes the status and the usage; zero is a valid usage.
        let (ended, usage) = unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            (libc::wait4(self.pid, &raw mut status, libc::WNOHANG, &raw mut usage), usage)
        };
        if ended == 0 {
            return None;
        }
        self.is_reaped = true;
        // Somebody else has taken the status: it has ended all the same.
        if ended < 0 {
            return Some((0, Duration::ZERO));
        }
        let time =
            |time: libc::timeval| Duration::new(time.tv_sec.unsigned_abs(), time.tv_usec as u32 * 1000);
        Some((status, time(usage.ru_utime) + time(usage.ru_stime)))
    }

    /// CPU time of those that run now, and of those they waited for.
    pub(super) fn cpu(&self) -> Duration {
        self.others().chain((!self.is_reaped).then_some(self.pid)).map(cpu_of).sum()
    }

    /// Whether any of them runs.
    pub(super) fn is_alive(&self) -> bool {
        !self.is_reaped || self.others().next().is_some()
    }

    /// Sends all of them a signal.
    pub(super) fn signal(&self, signal: i32) {
        // The group's number stays taken as long as any of it runs, and no longer: without the first process it is only
        // sure where somebody with our mark is seen in it.
        if !self.is_reaped {
            // SAFETY: plain system calls; who has ended is no harm.
            unsafe { libc::kill(-self.pid, signal) };
        }
        for pid in self.others() {
            // SAFETY: as above.
            unsafe { libc::kill(pid, signal) };
        }
    }

    /// Kills all of them, and those that they start meanwhile.
    pub(super) fn kill(&self) {
        for _ in 0..10 {
            self.signal(libc::SIGKILL);
            if self.others().next().is_none() {
                return;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Those that carry the mark, without the first process and without those that have ended.
    fn others(&self) -> impl Iterator<Item = libc::pid_t> + '_ {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<libc::pid_t>().ok());
        pids.filter(|&pid| pid != self.pid && self.is_marked(pid))
    }

    fn is_marked(&self, pid: libc::pid_t) -> bool {
        // One that has ended and is not waited for has no environment any more.
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|&byte| byte == 0).any(|entry| entry == self.mark)
    }
}

/// CPU time of a process and of those it waited for.
fn cpu_of(pid: libc::pid_t) -> Duration {
    /// Of `utime`, behind the name: state is the first.
    const FIRST: usize = 11;
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let Some((_, fields)) = text.rsplit_once(')') else { return Duration::ZERO };
    let times = fields.split_ascii_whitespace().skip(FIRST).take(4);
    let ticks: u64 = times.filter_map(|word| word.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 10)
}
