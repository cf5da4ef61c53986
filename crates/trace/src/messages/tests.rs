use longpole_event::{MPI_OPENED, MessageEnvelope};

use super::planned::EarlierMessage;
use super::*;
use crate::message_traffic::MessageTraffic;
use crate::objects::ObjectKind;
use crate::timeline::DependenceKind;

fn at(nanoseconds: u64) -> Time {
    Time::from_nanoseconds(nanoseconds)
}

fn enters() -> EventKind {
    EventKind::Communicate { communicator: 1, peer: Some(0), stack: None }
}

fn message(channel: u64) -> MessageEnvelope {
    MessageEnvelope { channel, communicator: 1, peer: 0, tag: 0, bytes: 4 }
}

fn receives(channel: u64, posted: u64) -> EventKind {
    EventKind::MessageReceive { message: message(channel), posted }
}

/// What is planned of events of threads 0, 1, … at times, in the order of time.
fn planned(events: &[(u32, u64, EventKind)]) -> PlannedCalls {
    let mut logged = LoggedMessages::default();
    for &(thread, time, kind) in events {
        logged.take(ThreadId(thread), at(time), kind);
    }
    logged.plan(FxHashMap::default())
}

/// An ordinal, what the wait is for, and when and by whom it is ended.
type TestedWait = (u64, ObjectKind, Option<(Time, ThreadId)>);

fn waits(calls: &PlannedCalls, thread: u32) -> Vec<TestedWait> {
    let of = |call: &PlannedCall| call.wait.map(|wait| (call.ordinal, wait.kind, wait.release));
    calls.of(ThreadId(thread)).iter().filter_map(of).collect()
}

#[test]
fn a_receive_waits_until_the_sender_comes() {
    let calls = planned(&[
        (0, 10, enters()),
        (1, 50, enters()),
        (1, 50, EventKind::MessageSend(message(7))),
        (1, 51, EventKind::MessageSent { channel: 7, posted: 1 }),
        (1, 51, EventKind::Communicated),
        (0, 55, receives(7, 45)),
        (0, 55, EventKind::Communicated),
    ]);
    assert_eq!(waits(&calls, 0), [(0, ObjectKind::Sender, Some((at(50), ThreadId(1))))]);
    assert_eq!(waits(&calls, 1), [], "the receive was there");
    let MessageTraffic { matched, unmatched_sends, unmatched_receives, resized, .. } = calls.traffic;
    assert_eq!((matched, unmatched_sends, unmatched_receives, resized), (1, 0, 0, 0));
    let flow = calls.flows[&(ThreadId(1), ThreadId(0))];
    assert_eq!((flow.messages, flow.bytes, flow.waits, flow.waited_nanoseconds), (1, 4, 1, 40));
}

#[test]
fn a_send_waits_only_where_it_was_not_over_before_the_receive() {
    let of = |sent: u64| {
        planned(&[
            (1, 10, enters()),
            (1, 10, EventKind::MessageSend(message(7))),
            (1, sent, EventKind::MessageSent { channel: 7, posted: sent - 10 }),
            (1, sent, EventKind::Communicated),
            (0, 40, enters()),
            (0, 45, receives(7, 5)),
            (0, 45, EventKind::Communicated),
        ])
    };
    assert_eq!(waits(&of(42), 1), [(0, ObjectKind::Receiver, Some((at(40), ThreadId(0))))]);
    assert_eq!(waits(&of(11), 1), [], "it was eager");
    let earlier = &of(11).of(ThreadId(0))[0].earlier.clone();
    let expected = EarlierMessage { source: ThreadId(1), time: at(10), kind: DependenceKind::Message };
    assert_eq!(earlier[..], [expected]);
}

#[test]
fn a_message_that_comes_before_it_is_sent_is_counted_and_was_sent_when_it_came() {
    let calls = planned(&[
        (0, 10, enters()),
        (0, 20, receives(7, 10)),
        (0, 20, EventKind::Communicated),
        (1, 27, enters()),
        (1, 27, EventKind::MessageSend(message(7))),
        (1, 28, EventKind::Communicated),
    ]);
    assert_eq!((calls.traffic.reversed, calls.traffic.most_reversed_nanoseconds), (1, 7));
    // It was sent when it arrived at the latest.
    assert_eq!(waits(&calls, 0), [(0, ObjectKind::Sender, Some((at(20), ThreadId(1))))]);
}

#[test]
fn receives_of_a_channel_get_its_messages_in_the_order_in_which_they_were_posted() {
    let calls = planned(&[
        (1, 30, enters()),
        (1, 30, EventKind::MessageSend(message(7))),
        (1, 31, EventKind::Communicated),
        (1, 60, enters()),
        (1, 60, EventKind::MessageSend(message(7))),
        (1, 61, EventKind::Communicated),
        // The one that was posted at 10 is complete after the one that was posted at 12.
        (0, 20, enters()),
        (0, 65, receives(7, 53)),
        (0, 65, EventKind::Communicated),
        (0, 66, enters()),
        (0, 67, receives(7, 57)),
        (0, 67, EventKind::Communicated),
    ]);
    assert_eq!(waits(&calls, 0), [(0, ObjectKind::Sender, Some((at(60), ThreadId(1))))]);
    assert_eq!(calls.of(ThreadId(0))[1].earlier[0].time, at(30));
}

#[test]
fn a_probe_waits_for_what_the_next_receive_gets() {
    let calls = planned(&[
        (0, 5, enters()),
        (1, 30, enters()),
        (1, 30, EventKind::MessageSend(message(7))),
        (1, 31, EventKind::Communicated),
        (0, 35, EventKind::MessageProbe(message(7))),
        (0, 35, EventKind::Communicated),
        (0, 40, enters()),
        (0, 41, receives(7, 1)),
        (0, 41, EventKind::Communicated),
    ]);
    assert_eq!(waits(&calls, 0), [(0, ObjectKind::Sender, Some((at(30), ThreadId(1))))]);
}

#[test]
fn a_message_that_both_have_posted_may_wait_for_the_other_ranks_next_call() {
    // Both post at 10; the receiver waits from 200 on, the sender comes to its next call at 900.
    let of = |received: u64| {
        let us = 1000;
        planned(&[
            (0, 10 * us, enters()),
            (1, 10 * us, enters()),
            (1, 10 * us, EventKind::MessageSend(message(7))),
            (0, 11 * us, EventKind::Communicated),
            (1, 12 * us, EventKind::Communicated),
            (0, 200 * us, enters()),
            (1, 900 * us, enters()),
            (0, received * us, receives(7, (received - 10) * us)),
            (0, received * us, EventKind::Communicated),
            (1, 3000 * us, EventKind::MessageSent { channel: 7, posted: 2990 * us }),
            (1, 3000 * us, EventKind::Communicated),
        ])
    };
    assert_eq!(waits(&of(950), 0), [(1, ObjectKind::Sender, Some((at(900_000), ThreadId(1))))]);
    // It was there, or went on for another reason.
    for received in [210, 890, 1800] {
        assert_eq!(waits(&of(received), 0), [], "{received}");
    }
}

#[test]
fn what_was_begun_is_waited_for_where_it_is_completed() {
    let begun = CollectiveMeeting {
        communicator: 1,
        round: 0,
        rank: 0,
        size: 2,
        order: CollectiveOrder::AllToAll,
        root: 0,
        is_begun: true,
    };
    let calls = planned(&[
        (0, 5, enters()),
        (0, 5, EventKind::Meet(begun)),
        (0, 6, EventKind::Communicated),
        (0, 20, enters()),
        (1, 30, enters()),
        (1, 30, EventKind::Meet(CollectiveMeeting { rank: 1, is_begun: false, ..begun })),
        (1, 36, EventKind::Communicated),
        (0, 35, EventKind::MeetingComplete { communicator: 1, round: 0 }),
        (0, 36, EventKind::Communicated),
    ]);
    assert_eq!(waits(&calls, 0), [(1, ObjectKind::Communicator, Some((at(30), ThreadId(1))))]);
}

fn meets(rank: u32, order: CollectiveOrder) -> EventKind {
    EventKind::Meet(CollectiveMeeting {
        communicator: 1,
        round: 0,
        rank,
        size: 3,
        order,
        root: 1,
        is_begun: false,
    })
}

/// Who waits until when where rank r comes at 10 (r + 1), and all leave at 50.
fn met(order: CollectiveOrder) -> [Option<u64>; 3] {
    let mut events = Vec::new();
    for rank in 0..3 {
        let time = 10 * (u64::from(rank) + 1);
        events.extend([(rank, time, enters()), (rank, time, meets(rank, order))]);
    }
    events.extend((0..3).map(|rank| (rank, 50, EventKind::Communicated)));
    let calls = planned(&events);
    [0, 1, 2].map(|rank| {
        let wait = waits(&calls, rank).first().copied();
        wait.and_then(|(_, _, release)| release).map(|(time, _)| time.nanoseconds())
    })
}

#[test]
fn members_wait_for_those_whom_the_operation_needs() {
    assert_eq!(met(CollectiveOrder::AllToAll), [Some(30), Some(30), None]);
    assert_eq!(met(CollectiveOrder::FromRoot), [Some(20), None, None]);
    assert_eq!(met(CollectiveOrder::ToRoot), [None, Some(30), None]);
    assert_eq!(met(CollectiveOrder::Prefix), [None, None, None]);
}

fn orders(channel: u64, tag: i32, bytes: u64) -> MessageEnvelope {
    MessageEnvelope { tag, bytes, ..message(channel) }
}

/// A window is opened at 30; its access begins at 10 in a call until then, and ends in one from `completed` to 60.
fn accessed(started: u64, completed: u64) -> PlannedCalls {
    let (opened, call) = (orders(7, MPI_OPENED, 0), EventKind::Communicated);
    let mut events = vec![
        (0, 10, enters()),
        (0, 10, EventKind::MessageProbe(opened)),
        (0, started, call),
        (0, completed, enters()),
        (1, 30, enters()),
        (1, 30, EventKind::MessageSend(opened)),
        (1, 31, call),
        (0, 60, EventKind::MessageReceive { message: opened, posted: 50 }),
        (0, 60, call),
    ];
    events.sort_by_key(|&(_, time, _)| time);
    planned(&events)
}

#[test]
fn an_access_waits_for_its_window_where_the_call_goes_on_until_that_is_opened() {
    let calls = accessed(35, 40);
    assert_eq!(waits(&calls, 0), [(0, ObjectKind::Sender, Some((at(30), ThreadId(1))))]);
    let MessageTraffic { matched, unmatched_sends, unmatched_receives, .. } = calls.traffic;
    assert_eq!((matched, unmatched_sends, unmatched_receives), (0, 0, 0), "it is no message");
    assert_eq!(waits(&accessed(12, 20), 0), [(1, ObjectKind::Sender, Some((at(30), ThreadId(1))))]);
}

/// Threads 0 and 1 want the lock of a window at 10 and at 20, and have it until 50 and until 80.
fn locked(bytes: u64) -> PlannedCalls {
    let lock = |posted| EventKind::MessageReceive { message: orders(7, MPI_LOCK, bytes), posted };
    let unlock = EventKind::MessageSend(orders(7, MPI_LOCK, 0));
    planned(&[
        (0, 10, enters()),
        (0, 11, lock(1)),
        (0, 11, EventKind::Communicated),
        (1, 20, enters()),
        (0, 50, enters()),
        (0, 50, unlock),
        (0, 52, EventKind::Communicated),
        (1, 53, lock(33)),
        (1, 53, EventKind::Communicated),
        (1, 80, enters()),
        (1, 80, unlock),
        (1, 81, EventKind::Communicated),
    ])
}

#[test]
fn who_wants_the_lock_of_a_window_waits_until_it_is_given_back_unless_both_share_it() {
    assert_eq!(waits(&locked(1), 1), [(0, ObjectKind::Lock, Some((at(50), ThreadId(0))))]);
    assert_eq!(waits(&locked(1), 0), []);
    assert_eq!(waits(&locked(0), 1), []);
}

#[test]
fn a_lock_that_is_taken_late_is_waited_for_in_the_call_that_needs_it() {
    let lock = |bytes, posted| EventKind::MessageReceive { message: orders(7, MPI_LOCK, bytes), posted };
    let unlock = EventKind::MessageSend(orders(7, MPI_LOCK, 0));
    let calls = planned(&[
        (0, 10, enters()),
        (0, 11, lock(0, 1)),
        (0, 11, EventKind::Communicated),
        (1, 20, enters()),
        (1, 21, lock(1, 1)),
        (1, 21, EventKind::Communicated),
        (1, 30, enters()),
        (0, 50, enters()),
        (0, 50, unlock),
        (0, 52, EventKind::Communicated),
        (1, 53, EventKind::MessageProbe(orders(7, MPI_LOCK, 0))),
        (1, 53, EventKind::Communicated),
    ]);
    assert_eq!(waits(&calls, 1), [(1, ObjectKind::Lock, Some((at(50), ThreadId(0))))]);
    assert_eq!(waits(&calls, 0), []);
}

#[test]
fn what_is_written_into_memory_goes_to_its_owner_and_what_is_read_comes_from_there() {
    let of = |bytes| orders(7, longpole_event::MPI_ACCESSES, bytes);
    let calls = planned(&[
        (1, 5, EventKind::MessageProbe(of(0))),
        (0, 10, enters()),
        (0, 10, EventKind::MessageSend(of(400))),
        (0, 11, EventKind::Communicated),
        (0, 20, enters()),
        (0, 20, EventKind::MessageReceive { message: of(40), posted: 0 }),
        (0, 21, EventKind::Communicated),
    ]);
    let flow = |from, to| {
        let flow = calls.flows[&(ThreadId(from), ThreadId(to))];
        (flow.messages, flow.bytes)
    };
    assert_eq!((flow(0, 1), flow(1, 0)), ((1, 400), (1, 40)));
    let MessageTraffic { matched, unmatched_sends, accesses, .. } = calls.traffic;
    assert_eq!((matched, unmatched_sends, accesses), (0, 0, 2));
    assert_eq!(waits(&calls, 0), []);
}

#[test]
fn where_one_never_comes_nobody_is_let_go() {
    let calls = planned(&[
        (0, 10, enters()),
        (0, 10, meets(0, CollectiveOrder::AllToAll)),
        (1, 20, enters()),
        (1, 20, meets(1, CollectiveOrder::AllToAll)),
    ]);
    assert_eq!(waits(&calls, 0), [(0, ObjectKind::Communicator, None)]);
    assert_eq!((calls.traffic.collectives, calls.traffic.incomplete_collectives), (0, 1));
}
