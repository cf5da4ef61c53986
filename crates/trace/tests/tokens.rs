//! Dependences for which nobody waited: logs written by hand, and the tokens that must come of them.

#![allow(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

mod support;

use longpole_event::{Blocking, EventKind, PrimitiveKind, ProcessId, ThreadId, Waker};
use support::{Log, drawn, drawn_of, machine, recording, two};

/// The lines of what three threads of one process, which run from the beginning, do by these events.
fn tokens(write: impl FnOnce(&mut Log, [ThreadId; 3])) -> Vec<String> {
    let (_folder, trace) = recording(vec![machine("a", 0)], 1000, |logs| {
        let log = &mut logs[0];
        let process = log.process(10, None);
        let threads = [10, 11, 12].map(|tid| log.thread(process, tid));
        for thread in threads {
            log.start(0, thread, None);
            log.switch_in(0, thread);
        }
        write(log, threads);
    });
    assert_eq!(trace.evidence().contradictions, 0);
    let is_token =
        |line: &String| line.contains("releases") || line.contains("acquires") || line.contains("absent");
    drawn(&trace).into_iter().filter(is_token).filter(|line| !line.contains("1000")).collect()
}

#[test]
fn a_join_long_after_the_end_depends_on_it() {
    let lines = tokens(|log, [main, other, _]| {
        log.dead(100, other);
        log.event(500, main, EventKind::Joined { ended: other });
    });
    assert_eq!(lines, ["T1 100 releases 0", "T1 100 absent", "T0 500 acquires 0"]);
}

#[test]
fn a_join_before_the_end_depends_on_it_where_the_thread_goes_on() {
    let lines = tokens(|log, [main, other, third]| {
        log.event(50, main, EventKind::Joined { ended: other });
        let joining = log.plain(&["main", "pthread_join"]);
        log.futex(60, main, joining);
        let ending = log.plain(&["end"]);
        log.wake(90, main, other, ending);
        log.dead(100, other);
        log.switch_in(120, main);
        // It ends while the other one runs, which has not blocked yet.
        log.event(150, main, EventKind::Joined { ended: third });
        log.dead(170, third);
    });
    let expected = [
        "T1 100 releases 0",
        "T1 100 absent",
        "T0 120 acquires 0",
        "T2 170 releases 1",
        "T0 170 acquires 1",
        "T2 170 absent",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn an_end_that_is_seen_after_a_sleep_is_what_the_sleep_was_for() {
    let sleeps = |ends: u64| {
        let (_folder, trace) = two(|log, _, [main, other]| {
            let sleeping = log.plain(&["main", "clock_nanosleep"]);
            for (since, woken) in [(10, 30), (31, 50), (51, 70)] {
                if (since..woken).contains(&ends) {
                    log.dead(ends, other);
                }
                let (blocking, call, stack) = (Blocking::Interruptible, None, Some(sleeping));
                log.event(since, main, EventKind::Out { blocking, call, stack });
                log.event(woken, main, EventKind::Wake { waker: Waker::HardInterrupt, call, stack: None });
                log.switch_in(woken, main);
            }
            log.event(70, main, EventKind::Joined { ended: other });
        });
        drawn_of(&trace, "T0").into_iter().filter(|line| line.contains("after")).collect::<Vec<_>>()
    };
    assert_eq!(sleeps(60), ["70 after T1@60 (Join)"]);
    // It would have been seen after the sleep before.
    assert_eq!(sleeps(40), [""; 0]);
}

#[test]
fn an_end_that_nobody_joins_releases_nothing() {
    assert_eq!(tokens(|log, [_, other, _]| log.dead(100, other)), ["T1 100 absent"]);
}

#[test]
fn a_child_that_is_waited_for_releases_what_all_its_threads_did() {
    let (_folder, trace) = recording(vec![machine("a", 0)], 1000, |logs| {
        let log = &mut logs[0];
        let (parent, child) = (log.process(10, None), log.process(20, None));
        let main = log.thread(parent, 10);
        let threads = [20, 21].map(|tid| log.thread(child, tid));
        for thread in [main, threads[0], threads[1]] {
            log.start(0, thread, None);
            log.switch_in(0, thread);
        }
        log.dead(100, threads[1]);
        log.dead(110, threads[0]);
        log.event(500, main, EventKind::Joined { ended: threads[0] });
    });
    let lines: Vec<_> = drawn(&trace)
        .into_iter()
        .filter(|line| line.contains("0 releases") || line.contains("acquires"))
        .collect();
    assert_eq!(lines, ["T2 100 releases 0", "T1 110 releases 0", "T0 500 acquires 0"]);
}

#[test]
fn whoever_leaves_a_barrier_depends_on_all_that_came() {
    let lines = tokens(|log, [last, first, second]| {
        let waiting = log.plain(&["work", "pthread_barrier_wait"]);
        log.futex(100, first, waiting);
        log.futex(200, second, waiting);
        log.wake(300, first, last, waiting);
        log.wake(301, second, last, waiting);
    });
    let expected = [
        "T1 300 releases 0",
        "T2 300 releases 0",
        "T0 300 releases 0",
        "T0 300 acquires 0",
        "T1 300 acquires 0",
        "T2 301 acquires 0",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn arrivals_that_threads_tell_of_need_no_wait() {
    let lines = tokens(|log, [first, second, _]| {
        let primitive = log.primitive(ProcessId(0), PrimitiveKind::Barrier, 0x1000, "meeting");
        log.event(100, first, EventKind::Arrive { primitive });
        log.event(200, second, EventKind::Arrive { primitive });
        log.event(201, second, EventKind::Depart { primitive });
        // It comes again before the other one has left.
        log.event(202, second, EventKind::Arrive { primitive });
        log.event(210, first, EventKind::Depart { primitive });
        log.event(220, first, EventKind::Arrive { primitive });
        log.event(221, first, EventKind::Depart { primitive });
        log.event(222, second, EventKind::Depart { primitive });
    });
    let expected = [
        "T0 201 releases 0",
        "T1 201 releases 0",
        "T1 201 acquires 0",
        "T0 210 acquires 0",
        "T1 221 releases 1",
        "T0 221 releases 1",
        "T0 221 acquires 1",
        "T1 222 acquires 1",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn what_is_read_depends_on_those_who_wrote_it() {
    let lines = tokens(|log, [reader, first, second]| {
        let write = |position, bytes| EventKind::Write { channel: 5, position, bytes };
        let read = |position, bytes| EventKind::Read { channel: 5, position, bytes };
        log.event(100, first, write(0, 100));
        log.event(200, second, write(100, 100));
        // Nobody reads it.
        log.event(250, second, write(200, 100));
        log.event(300, reader, read(0, 150));
        log.event(400, reader, read(150, 50));
    });
    let expected = [
        "T1 100 releases 0",
        "T2 200 releases 1",
        "T0 300 acquires 0",
        "T0 300 acquires 1",
        "T0 400 acquires 1",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn what_is_written_into_a_pipe_depends_on_those_who_made_room_for_it() {
    let of_stream = |channel| {
        tokens(|log, [reader, writer, _]| {
            let write = |position, bytes| EventKind::Write { channel, position, bytes };
            let read = |position, bytes| EventKind::Read { channel, position, bytes };
            log.event(100, writer, write(0, 40_000));
            log.event(200, reader, read(0, 20_000));
            log.event(300, reader, read(20_000, 20_000));
            // The first 14,464 bytes of the first read are written over, then all of it.
            log.event(400, writer, write(40_000, 40_000));
            log.event(500, writer, write(80_000, 10_000));
            // Nothing that is written needs its room.
            log.event(600, reader, read(40_000, 40_000));
        })
    };
    let written = ["T1 100 releases 0", "T0 200 acquires 0", "T0 300 acquires 0", "T1 400 releases 1"];
    let expected = [
        "T1 100 releases 0",
        "T0 200 acquires 0",
        "T0 200 releases 1",
        "T0 300 acquires 0",
        "T0 300 releases 2",
        "T1 400 acquires 1",
        "T1 400 releases 3",
        "T1 500 acquires 1",
        "T1 500 acquires 2",
        "T0 600 acquires 3",
    ];
    assert_eq!(of_stream(0x7069_7065_0000_0001), expected);
    assert_eq!(of_stream(5), [&written[..], &["T0 600 acquires 1"]].concat(), "no pipe");
}

#[test]
fn the_nth_post_is_for_the_nth_take_after_those_that_were_there() {
    let lines = tokens(|log, [main, first, _]| {
        let primitive = log.primitive(ProcessId(0), PrimitiveKind::Semaphore, 0x1000, "items");
        // One was there when the recording began.
        log.event(100, main, EventKind::Take { primitive });
        log.event(200, first, EventKind::Post { primitive, count: 1 });
        log.event(300, first, EventKind::Post { primitive, count: 1 });
        log.event(400, main, EventKind::Take { primitive });
        log.event(500, main, EventKind::Take { primitive });
        log.event(600, first, EventKind::Post { primitive, count: 1 });
    });
    let expected = ["T1 200 releases 0", "T1 300 releases 1", "T0 400 acquires 0", "T0 500 acquires 1"];
    assert_eq!(lines, expected);
}

#[test]
fn a_semaphore_that_its_takers_post_is_a_pool_and_no_order() {
    let lines = tokens(|log, [main, first, second]| {
        let primitive = log.primitive(ProcessId(0), PrimitiveKind::Semaphore, 0x1000, "items");
        log.event(50, main, EventKind::Initialise { primitive, count: 0 });
        // Posts before the first take are its initial count.
        log.event(60, main, EventKind::Post { primitive, count: 1 });
        for (time, thread) in [(100, first), (200, second), (300, first)] {
            log.event(time, thread, EventKind::Take { primitive });
            log.event(time + 50, thread, EventKind::Post { primitive, count: 1 });
        }
    });
    assert_eq!(lines, Vec::<String>::new());
}
