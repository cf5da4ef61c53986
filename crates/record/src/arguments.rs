//! Which arguments of a system call are kept.
//!
//! Only those that tell what a thread waits for, or whom it wakes: a call is stored once for each set of
//! arguments, and lengths, buffers and timeouts would make every call another one.

use longpole_event::{CallDefinition, FileKind};

/// The call with the arguments that do not matter set to 0.
pub(crate) fn essential(call: CallDefinition) -> CallDefinition {
    let [first, second, third] = call.arguments;
    let arguments = match call.number {
        // futex: address and operation; the tid of the thread that a join waits for, or the word that processes share
        202 if second == JOIN => [first, second, third],
        202 => [first, second, file(call)],
        // futex_wait, futex_wake, futex_requeue: address
        454..=456 => [first, 0, 0],
        // poll, ppoll: the number of descriptors (none is a sleep), and the file behind the only one
        7 | 271 => [0, second, file(call)],
        // select, pselect6: the number of descriptors
        23 | 270 => [first, 0, 0],
        // ioctl, fcntl, flock: descriptor, command and file
        16 | 72 | 73 => [first & 0xffff_ffff, second, file(call)],
        // wait4, waitid: whom
        61 => [first, 0, 0],
        247 => [first, second, 0],
        // clock_nanosleep: whether it sleeps until a moment
        230 => [0, second & TIMER_ABSTIME, 0],
        // kill, tkill, tgkill: whom, and the signal
        62 | 200 => [first, second, 0],
        234 => [first, second, third],
        // semop, semtimedop: the set, and which of it where the collector has put that in the place of an address
        65 | 220 => [first & 0xffff_ffff, Some(second).filter(|&at| at <= LAST_SEMAPHORE).unwrap_or(0), 0],
        // msgsnd, msgrcv: the queue
        69 | 70 => [first & 0xffff_ffff, 0, 0],
        number if is_on_descriptor(number) => [first & 0xffff_ffff, 0, file(call)],
        _ => [0; 3],
    };
    CallDefinition { arguments, ..call }
}

/// The number that stands for the file, or for the word in it: a collector that has looked at it puts it in the third argument.
fn file(call: CallDefinition) -> u64 {
    if call.file == FileKind::None { 0 } else { call.arguments[2] }
}

/// The word of memory that a call waits on; `None` where it waits on none, or on the id of a thread.
pub(crate) fn futex_word(call: &CallDefinition) -> Option<u64> {
    let is_futex = matches!(call.number, 202 | 454..=456) && call.arguments[1] != JOIN;
    is_futex.then_some(call.arguments[0])
}

/// `FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME`, not private: glibc waits so for the end of a thread only.
const JOIN: u64 = 9 | 256;

const TIMER_ABSTIME: u64 = 1;

/// Numbers of semaphores in a set have 16 bits.
const LAST_SEMAPHORE: u64 = 0xffff;

/// Whether the first argument is a descriptor.
fn is_on_descriptor(number: i32) -> bool {
    matches!(number,
        0 | 1 | 3 | 17..=20 | 40 | 42..=47 | 74 | 75 | 77 | 217 | 232 | 242 | 243 | 275 | 276 | 278 | 281 | 285 | 288
        | 295 | 296 | 299 | 307 | 326..=328 | 441)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(number: i32) -> [u64; 3] {
        essential(CallDefinition { number, arguments: [5, 6, 7], file: FileKind::None }).arguments
    }

    #[test]
    fn the_lock_is_kept_and_the_expected_value_is_not() {
        assert_eq!(kept(202), [5, 6, 0]);
    }

    #[test]
    fn what_processes_share_keeps_its_number() {
        let futex = CallDefinition { number: 202, arguments: [5, 0, 7], file: FileKind::Regular };
        assert_eq!(essential(futex).arguments, [5, 0, 7]);
        assert_eq!(kept(65), [5, 6, 0]);
        let told = CallDefinition { number: 65, arguments: [5, 0x7fff_0000_1000, 1], file: FileKind::None };
        assert_eq!(essential(told).arguments, [5, 0, 0]);
    }

    #[test]
    fn a_join_keeps_the_tid() {
        let join = CallDefinition { number: 202, arguments: [5, JOIN, 77], file: FileKind::None };
        assert_eq!(essential(join).arguments, [5, JOIN, 77]);
    }

    #[test]
    fn a_read_keeps_its_descriptor_and_the_number_of_the_file_behind_it() {
        assert_eq!(kept(0), [5, 0, 0]);
        let read = CallDefinition { number: 0, arguments: [5, 6, 7], file: FileKind::Pipe };
        assert_eq!(essential(read).arguments, [5, 0, 7]);
    }

    #[test]
    fn a_sleep_keeps_whether_it_ends_at_a_moment() {
        assert_eq!(kept(35), [0; 3]);
        assert_eq!(kept(230), [0; 3]);
        let until = CallDefinition { number: 230, arguments: [5, TIMER_ABSTIME, 7], file: FileKind::None };
        assert_eq!(essential(until).arguments, [0, TIMER_ABSTIME, 0]);
        assert_eq!(kept(-1), [0; 3]);
    }
}
