//! Who holds the locks that threads wait for: glibc's mutexes keep the owner's thread id beside the word of their futex.
//!
//! ```text
//!   pthread_mutex_t    │ lock │ count │ owner │ users │ kind │ …      32 bits each; the futex is `lock`
//! ```
//! In: threads that have waited at a futex for a while. Out: the owner, if the memory there can be nothing but a mutex
//! that a thread of the process holds. A wait is looked at again when it has lasted twice as long, so that the last look
//! of a wait that lasts to the end is not older than half of it.
//!
//! It cannot see owners of reader-writer locks, nor of locks of other libraries, which keep none.

use std::fs;
use std::io;

use longpole_event::Time;

use crate::raw::KernelTask;

/// Waits shorter than this are not looked at, nanoseconds.
const SHORTEST: u64 = 100_000_000;
/// Waits that one look takes in; the others have their turn at the next.
pub(crate) const MOST_AT_A_LOOK: usize = 256;
/// Time between two looks, nanoseconds.
pub(crate) const BETWEEN_LOOKS: u64 = 200_000_000;

/// A wait at a futex.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FutexWait {
    /// Address of the futex.
    pub(crate) word: u64,
    /// When it began.
    since: Time,
    /// When it is looked at next.
    next: Time,
    /// The owner that was told last.
    pub(crate) told: Option<u32>,
}

impl FutexWait {
    /// A wait that begins now.
    pub(crate) fn begin(word: u64, since: Time) -> FutexWait {
        FutexWait { word, since, next: since + SHORTEST, told: None }
    }

    /// Whether it is time for a look; if so, when the next one is due is known.
    pub(crate) fn is_due(&mut self, now: Time) -> bool {
        let is_due = now >= self.next;
        if is_due {
            self.next = now + now.since(self.since);
        }
        is_due
    }
}

/// The tid that the mutex at this address names as its owner, while the task waits for it.
pub(crate) fn owner(waiter: KernelTask, word: u64) -> Option<u32> {
    if !waits_at(waiter, word) {
        return None;
    }
    let owner = owner_in(&read(waiter.pid, word).ok()?)?;
    // What was known of the wait is a little old: it may be over.
    waits_at(waiter, word).then_some(owner)
}

/// Whether the task is in a futex call on this word.
fn waits_at(KernelTask { pid, tid }: KernelTask, word: u64) -> bool {
    let call = fs::read_to_string(format!("/proc/{pid}/task/{tid}/syscall")).unwrap_or_default();
    let mut words = call.split_ascii_whitespace();
    words.next() == Some("202") && words.next() == Some(format!("{word:#x}").as_str())
}

/// The words of a mutex that somebody waits for; see `struct __pthread_mutex_s` of glibc on x86-64.
fn owner_in(words: &[u32; 5]) -> Option<u32> {
    /// Bits of the kind that glibc uses.
    const KINDS: u32 = 0x3ff;
    /// Bits of the thread id in the word of a mutex that inherits priority or outlives its owner.
    const TID: u32 = 0x3fff_ffff;
    const WAITED_FOR: u32 = 2;
    let &[lock, _, owner, users, kind] = words;
    let is_taken = lock == WAITED_FOR || (lock & TID) == owner;
    (is_taken && owner != 0 && owner & !TID == 0 && users != 0 && kind & !KINDS == 0).then_some(owner)
}

fn read(pid: u32, address: u64) -> io::Result<[u32; 5]> {
    let mut words = [0_u32; 5];
    let bytes = size_of_val(&words);
    let address = usize::try_from(address).map_err(io::Error::other)?;
    let local = libc::iovec { iov_base: words.as_mut_ptr().cast(), iov_len: bytes };
    let remote = libc::iovec { iov_base: std::ptr::without_provenance_mut(address), iov_len: bytes };
    let pid = libc::pid_t::try_from(pid).map_err(io::Error::other)?;
    // SAFETY: the kernel writes at most `bytes` bytes into `words`, and reads the other process's memory only.
    let read = unsafe { libc::process_vm_readv(pid, &raw const local, 1, &raw const remote, 1, 0) };
    match usize::try_from(read) {
        Ok(read) if read == bytes => Ok(words),
        Ok(_) => Err(io::ErrorKind::UnexpectedEof.into()),
        Err(_) => Err(io::Error::last_os_error()),
    }
}

/// Whether thread ids in the process's memory are those by which we know its threads.
pub(crate) fn has_our_ids(pid: u32) -> bool {
    let namespace = |of: &str| fs::read_link(format!("/proc/{of}/ns/pid")).ok();
    namespace("self").is_some_and(|ours| namespace(&pid.to_string()) == Some(ours))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(milliseconds: u64) -> Time {
        Time::from_nanoseconds(milliseconds * 1_000_000)
    }

    #[test]
    fn a_taken_mutex_has_an_owner_and_nothing_else_has() {
        assert_eq!(owner_in(&[2, 0, 77, 2, 0]), Some(77));
        // It inherits priority: the word is the owner, and that others wait.
        assert_eq!(owner_in(&[0x8000_0000 | 77, 1, 77, 1, 0x21]), Some(77));
        // Free, a condition's sequence, a semaphore, a futex of somebody else's.
        for words in [[0, 0, 0, 0, 0], [4, 0, 6, 0, 0], [1, 0, 0, 0, 3], [2, 0, 77, 2, 0xffff_0000]] {
            assert_eq!(owner_in(&words), None, "{words:?}");
        }
    }

    #[test]
    fn the_owner_is_read_from_a_mutex_for_which_a_thread_waits() {
        static MUTEX: Shared = Shared(std::cell::UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER));
        struct Shared(std::cell::UnsafeCell<libc::pthread_mutex_t>);
        // SAFETY: only the functions of the C library touch it.
        unsafe impl Sync for Shared {}
        // SAFETY: no arguments.
        let tid = || u32::try_from(unsafe { libc::gettid() }).unwrap();
        let (told, known) = std::sync::mpsc::channel();
        // SAFETY: the mutex is initialised and stays where it is; this thread unlocks it below.
        unsafe { libc::pthread_mutex_lock(MUTEX.0.get()) };
        let other = std::thread::spawn(move || {
            told.send(tid()).unwrap();
            // SAFETY: as above.
            unsafe {
                libc::pthread_mutex_lock(MUTEX.0.get());
                libc::pthread_mutex_unlock(MUTEX.0.get());
            }
        });
        let waiter = KernelTask { pid: std::process::id(), tid: known.recv().unwrap() };
        let word = MUTEX.0.get().addr() as u64;
        while !waits_at(waiter, word) {
            std::thread::yield_now();
        }
        assert_eq!(owner(waiter, word), Some(tid()));
        assert_eq!(owner(waiter, word + 8), None, "it does not wait there");
        // SAFETY: this thread holds it.
        unsafe { libc::pthread_mutex_unlock(MUTEX.0.get()) };
        other.join().unwrap();
        assert_eq!(owner(waiter, word), None);
        assert!(has_our_ids(std::process::id()));
    }

    #[test]
    fn looks_at_a_wait_grow_rarer() {
        let mut wait = FutexWait::begin(1, at(1000));
        let looks = (1000..9000).filter(|&now| wait.is_due(at(now))).count();
        // After 100, 200, 400, 800, 1600, 3200, 6400 ms.
        assert_eq!(looks, 7);
    }
}
