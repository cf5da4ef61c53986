//! Threads of collectors: they get no signals, which are for the recorder, and it waits for them elsewhere.

use std::io;
use std::mem::MaybeUninit;
use std::thread::{Builder, JoinHandle};

/// Starts a thread with all signals blocked.
///
/// # Errors
/// When the system starts no more threads.
pub(crate) fn start<R: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> R + Send + 'static,
) -> io::Result<JoinHandle<R>> {
    let mut before = MaybeUninit::<libc::sigset_t>::uninit();
    let mut all = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: both calls write only to the sets, which are large enough; the first fills the set that the second reads.
    let failed = unsafe {
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr())
    };
    // It inherits the mask of the thread that starts it.
    let thread = Builder::new().name(name.to_owned()).spawn(work);
    if failed == 0 {
        // SAFETY: the set was written by the first call; nothing else is touched.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), std::ptr::null_mut()) };
    }
    thread
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_blocked(signal: i32) -> bool {
        let mut mask = MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: without a new set the call only writes the present one.
        unsafe {
            libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::null(), mask.as_mut_ptr());
            libc::sigismember(mask.as_ptr(), signal) == 1
        }
    }

    #[test]
    fn such_a_thread_gets_no_signals_and_the_one_that_started_it_does() {
        let inside = start("masked", || is_blocked(libc::SIGINT)).unwrap().join().unwrap();
        assert!(inside && !is_blocked(libc::SIGINT));
    }
}
