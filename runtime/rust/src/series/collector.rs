//! The loop of a collector: a look every so often, until it is told to end.

use core::ptr::null_mut;
use core::sync::atomic::AtomicBool;
use core::sync::atomic::Ordering::Relaxed;
use core::time::Duration;

use super::memory::memory;
use super::now;

/// A signal has told the collector to end.
static IS_TOLD: AtomicBool = AtomicBool::new(false);

extern "C" fn tell(_: libc::c_int) {
    IS_TOLD.store(true, Relaxed);
}

/// The looks of a collector. They end at `SIGTERM` or `SIGINT`, which is how the recorder ends collectors, and when the
/// recorder is gone.
///
/// ```no_run
/// use core::time::Duration;
/// use longpole_runtime::{Looks, Metric, MetricNode};
///
/// let load = Metric::gauge(c"load").at(MetricNode::Machine);
/// for _ in Looks::every(Duration::from_millis(100)) {
///     let text = std::fs::read_to_string("/proc/loadavg").unwrap();
///     load.set(text.split(' ').next().unwrap().parse().unwrap());
/// }
/// ```
#[derive(Debug)]
pub struct Looks {
    interval: u64,
    next: u64,
    /// The recorder was seen: in another pid namespace it cannot be.
    recorder: Option<libc::pid_t>,
}

impl Looks {
    /// A look every so often, the first at once. From now on the two signals end these looks, not the process.
    #[must_use]
    pub fn every(interval: Duration) -> Looks {
        for signal in [libc::SIGTERM, libc::SIGINT] {
            // SAFETY: all zeros are a valid action; the handler only stores to an atomic.
            unsafe {
                let mut action: libc::sigaction = core::mem::zeroed();
                action.sa_sigaction = tell as *const () as libc::sighandler_t;
                libc::sigaction(signal, &raw const action, null_mut());
            }
        }
        let recorder = memory().map(|memory| memory.header.recorder.load(Relaxed));
        let recorder = recorder.and_then(|pid| libc::pid_t::try_from(pid).ok());
        let interval = u64::try_from(interval.as_nanos()).unwrap_or(u64::MAX).max(1);
        Looks { interval, next: now(), recorder: recorder.filter(|&pid| pid > 0 && is_alive(pid)) }
    }

    fn is_over(&self) -> bool {
        let has_stopped = memory().is_some_and(|memory| memory.header.stopped.load(Relaxed) != 0);
        IS_TOLD.load(Relaxed) || has_stopped || self.recorder.is_some_and(|pid| !is_alive(pid))
    }

    /// Waits for the time of the next look, or a signal. The signals are let in only while it waits, so that none comes
    /// between the question whether there was one and the wait.
    fn wait(&self) {
        let rest = self.next.saturating_sub(now());
        // SAFETY: all zeros are valid sets; the system fills and reads them.
        unsafe {
            let mut kept_out: libc::sigset_t = core::mem::zeroed();
            let mut before: libc::sigset_t = core::mem::zeroed();
            libc::sigemptyset(&raw mut kept_out);
            libc::sigaddset(&raw mut kept_out, libc::SIGTERM);
            libc::sigaddset(&raw mut kept_out, libc::SIGINT);
            libc::pthread_sigmask(libc::SIG_BLOCK, &raw const kept_out, &raw mut before);
            if rest > 0 && !IS_TOLD.load(Relaxed) {
                let rest = libc::timespec {
                    tv_sec: (rest / 1_000_000_000) as libc::time_t,
                    tv_nsec: (rest % 1_000_000_000) as libc::c_long,
                };
                libc::pselect(0, null_mut(), null_mut(), null_mut(), &raw const rest, &raw const before);
            }
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, null_mut());
        }
    }
}

impl Iterator for Looks {
    type Item = ();

    /// Waits for the next look; `None` where there is to be none. Looks that came too late are left out.
    fn next(&mut self) -> Option<()> {
        while !self.is_over() {
            if now() >= self.next {
                let late = (now() - self.next) / self.interval;
                self.next = self.next.saturating_add(self.interval.saturating_mul(late + 1));
                return Some(());
            }
            self.wait();
        }
        None
    }
}

fn is_alive(pid: libc::pid_t) -> bool {
    // SAFETY: signal 0 is sent to nobody; errno is thread-local and always there.
    unsafe { libc::kill(pid, 0) == 0 || *libc::__errno_location() == libc::EPERM }
}
