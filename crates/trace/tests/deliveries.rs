//! Waits for data that had been written long before they arrived: logs written by hand.

#![allow(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

mod support;

use longpole_event::{EventKind, ThreadId, Waker};
use support::{drawn_of, machine, recording};

const MILLISECOND: u64 = 1_000_000;

/// The causes of the waits of the first thread, which begins to receive at each of these times and is woken at the second, and then reads 10
/// bytes; the other thread writes 10 bytes at these times. All in milliseconds.
fn causes(writes: &[u64], waits: &[(u64, u64)], waker: impl Fn(ThreadId) -> Waker) -> Vec<String> {
    let (_folder, trace) = recording(vec![machine("a", 0)], 100 * MILLISECOND, |logs| {
        let log = &mut logs[0];
        let process = log.process(10, None);
        let [reader, writer] = [10, 11].map(|tid| log.thread(process, tid));
        for thread in [reader, writer] {
            log.start(0, thread, None);
            log.switch_in(0, thread);
        }
        let stack = log.plain(&["receive"]);
        // With the wait of each; writes, which have none, come first.
        let mut events: Vec<_> = writes.iter().map(|&time| (time, None)).collect();
        for &wait in waits {
            events.extend([(wait.0, Some(wait)), (wait.1, Some(wait))]);
        }
        events.sort_unstable();
        let (mut written, mut read) = (0, 0);
        for (time, wait) in events {
            let at = time * MILLISECOND;
            if wait.is_none() {
                log.event(at, writer, EventKind::Write { channel: 5, position: written, bytes: 10 });
                written += 10;
            } else if wait.is_some_and(|(begin, _)| begin == time) {
                log.receives(at, reader, stack);
            } else {
                log.event(at, reader, EventKind::Wake { waker: waker(writer), call: None, stack: None });
                log.switch_in(at + 1, reader);
                log.event(at + 2, reader, EventKind::Read { channel: 5, position: read, bytes: 10 });
                read += 10;
            }
        }
    });
    drawn_of(&trace, "T0")
        .into_iter()
        .filter_map(|line| Some(line.split_once("blocked: ")?.1.to_owned()))
        .collect()
}

#[test]
fn who_waits_for_data_that_was_written_long_before_waits_for_its_delivery() {
    let interrupt = |_| Waker::Interrupt;
    assert_eq!(causes(&[1, 11], &[(0, 1), (10, 51)], interrupt), ["socket", "delivery"]);
    // Written before the wait began; written at its end.
    assert_eq!(causes(&[1, 3], &[(0, 1), (10, 51)], interrupt), ["socket", "delivery"]);
    assert_eq!(causes(&[1, 51], &[(0, 1), (10, 51)], interrupt), ["socket", "socket"]);
}

#[test]
fn who_is_woken_by_another_thread_waited_for_that() {
    assert_eq!(causes(&[1, 11], &[(0, 1), (10, 51)], Waker::Thread), ["socket", "socket"]);
}
