//! What threads say of themselves, and the timelines that must come of it.

#![allow(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

mod support;

use longpole_event::{Blocking, EventKind, PrimitiveId, PrimitiveKind, StackId};
use longpole_trace::ObjectKind;
use support::{drawn_of, two};

#[test]
fn a_thread_on_its_processor_between_await_and_proceed_spins() {
    let (_folder, trace) = two(|log, process, [one, _]| {
        let lock = log.primitive(process, PrimitiveKind::SpinLock, 0x2000, "table_lock");
        let stack = log.plain(&["main", "get", "pthread_spin_lock"]);
        let inner = log.plain(&["main", "get", "pthread_spin_lock"]);
        log.awaits(10, one, lock, Some(stack));
        log.sample(15, one, inner);
        log.out(20, one, Blocking::Runnable);
        log.switch_in(25, one);
        log.proceed(30, one);
        log.sample(40, one, inner);
        log.dead(50, one);
    });
    assert_eq!(
        drawn_of(&trace, "T0"),
        [
            "0 ready",
            "0 running",
            "10 at main/get",
            "10 for table_lock",
            "10 spinning",
            "15 at main/get",
            "20 ready",
            "25 spinning",
            "30 at main/get",
            "30 running",
            "40 at main/get/pthread_spin_lock",
            "50 absent",
        ]
    );
    assert_eq!(trace.objects().all()[0].kind, ObjectKind::SpinLock);
    assert_eq!(trace.evidence().contradictions, 0);
    assert_eq!(trace.evidence().waits_for_objects, 1);
}

#[test]
fn a_told_wait_explains_a_switch_that_says_nothing() {
    let (_folder, trace) = two(|log, process, [one, two]| {
        let lock = log.primitive(process, PrimitiveKind::Mutex, 0x2000, "cache");
        let stack = log.plain(&["main", "get", "pthread_mutex_lock"]);
        let unlock = log.plain(&["main", "put", "pthread_mutex_unlock"]);
        log.awaits(10, one, lock, Some(stack));
        log.out(12, one, Blocking::Interruptible);
        log.wake(30, one, two, unlock);
        log.switch_in(31, one);
        log.proceed(32, one);
        log.out(40, one, Blocking::Interruptible);
    });
    assert_eq!(
        drawn_of(&trace, "T0")[2..],
        [
            "10 at main/get",
            "10 for cache",
            "10 spinning",
            "12 at main/get",
            "12 blocked: lock",
            "30 after T1@30 (Unlock)",
            "30 ready",
            "31 spinning",
            "32 at main/get",
            "32 running",
            // Nothing is known of this one.
            "40 at main/get",
            "40 at [no stack]",
            "40 blocked: other",
            "100 absent",
        ]
    );
    assert_eq!((trace.evidence().waits_for_objects, trace.evidence().waits_without_object), (1, 1));
}

#[test]
fn a_thread_that_was_woken_and_blocks_again_waits_a_second_time() {
    let (_folder, trace) = two(|log, process, [one, two]| {
        let lock = log.primitive(process, PrimitiveKind::Mutex, 0x2000, "cache");
        let unlock = log.plain(&["main", "put", "pthread_mutex_unlock"]);
        log.awaits(10, one, lock, None);
        log.out(12, one, Blocking::Interruptible);
        log.wake(30, one, two, unlock);
        log.switch_in(31, one);
        log.out(32, one, Blocking::Interruptible);
    });
    let waits =
        drawn_of(&trace, "T0").into_iter().filter(|line| line.contains("for cache")).collect::<Vec<_>>();
    assert_eq!(waits, ["10 for cache", "32 for cache"]);
}

#[test]
fn where_a_thread_waits_is_told_by_its_switch_where_its_own_word_does_not() {
    let (_folder, trace) = two(|log, process, [one, two]| {
        let lock = log.primitive(process, PrimitiveKind::Mutex, 0x10, "");
        let before = log.plain(&["main", "compute"]);
        let asks = log.plain(&["main", "get", "pthread_mutex_lock"]);
        let unlock = log.plain(&["main", "put", "pthread_mutex_unlock"]);
        log.sample(5, one, before);
        log.awaits(10, one, lock, None);
        log.futex(12, one, asks);
        log.wake(30, one, two, unlock);
        log.switch_in(31, one);
        log.proceed(32, one);
    });
    assert_eq!(
        drawn_of(&trace, "T0")[2..],
        [
            "5 at main/compute",
            "10 for mutex in get",
            "10 spinning",
            "12 at main/get",
            "12 blocked: lock",
            "30 after T1@30 (Unlock)",
            "30 ready",
            "31 spinning",
            "32 at main/get",
            "32 running",
            "100 absent",
        ]
    );
}

#[test]
fn a_runtime_s_barrier_is_the_told_one_whatever_word_it_waits_on() {
    let (_folder, trace) = two(|log, process, [one, _]| {
        let team = log.primitive(process, PrimitiveKind::Barrier, 0x9000, "end of the region");
        let frames = [
            log.frame("/bin/program", &["main"], false),
            log.frame("/usr/lib/libgomp.so.1.0.0", &["gomp_team_barrier_wait"], false),
            log.frame("/tmp/longpole-agent-0.so", &["hook"], false),
        ];
        let stack = log.stack(&frames);
        log.awaits(10, one, team, None);
        log.futex_at(12, one, stack, 0x4444);
    });
    let told: Vec<_> = drawn_of(&trace, "T0")
        .into_iter()
        .filter(|line| line.contains("for") || line.contains("blocked"))
        .collect();
    assert_eq!(told, ["10 for end of the region", "12 blocked: barrier"]);
    assert_eq!(trace.objects().all().len(), 1);
}

#[test]
fn the_collector_s_own_frames_are_no_place() {
    let (_folder, trace) = two(|log, process, [one, _]| {
        let lock = log.primitive(process, PrimitiveKind::Barrier, 0x9000, "");
        let frames = [
            log.frame("/usr/lib/libgomp.so.1.0.0", &["gomp_team_barrier_wait"], false),
            log.frame("/tmp/longpole-agent-0.so", &["hook"], false),
        ];
        let stack = log.stack(&frames);
        log.awaits(10, one, lock, Some(stack));
    });
    assert!(
        drawn_of(&trace, "T0").contains(&"10 at gomp_team_barrier_wait".to_owned()),
        "{:?}",
        drawn_of(&trace, "T0")
    );
}

#[test]
fn a_sample_in_the_collector_s_own_code_is_one_in_the_procedure_that_called_it() {
    let (_folder, trace) = two(|log, _, [one, _]| {
        let frames = [
            log.frame("/bin/program", &["main"], false),
            log.frame("/bin/program", &["parse"], false),
            log.frame("/tmp/longpole-agent-0.so", &["__cyg_profile_func_enter"], false),
            log.frame("/tmp/longpole-agent-0.so", &["push"], false),
        ];
        let stack = log.stack(&frames);
        log.sample(10, one, stack);
        let only = log.stack(&frames[2..]);
        log.sample(20, one, only);
        let called = log.frame("/bin/program", &["callback"], false);
        let from_there = log.stack(&[&frames[2..], &[called]].concat());
        log.sample(30, one, from_there);
    });
    let told = drawn_of(&trace, "T0");
    assert!(told.contains(&"10 at main/parse".to_owned()), "{told:?}");
    assert!(told.contains(&"20 at [no stack]".to_owned()), "{told:?}");
    assert!(told.contains(&"30 at callback".to_owned()), "{told:?}");
}

#[test]
fn a_thread_that_speaks_is_on_a_processor_whatever_was_seen_of_it() {
    let (_folder, trace) = two(|log, process, [one, _]| {
        let lock = log.primitive(process, PrimitiveKind::Mutex, 0x10, "m");
        log.out(10, one, Blocking::Runnable);
        log.awaits(20, one, lock, None);
        // That it has got the processor is seen late, as when one looks from time to time.
        log.switch_in(21, one);
        log.out(22, one, Blocking::Interruptible);
        log.proceed(30, one);
        log.switch_in(31, one);
        log.switch_in(32, one);
    });
    let states: Vec<_> = drawn_of(&trace, "T0").into_iter().filter(|line| !line.contains(" at ")).collect();
    assert_eq!(
        states[2..],
        [
            "10 ready",
            "20 running",
            "20 for m",
            "20 spinning",
            "22 blocked: lock",
            "30 spinning",
            "30 running",
            "100 absent"
        ]
    );
    assert_eq!(trace.evidence().contradictions, 1, "the last one only");
}

#[test]
fn the_kernel_is_believed_where_it_sees_another_wait() {
    let (_folder, trace) = two(|log, process, [one, two]| {
        let condition = log.primitive(process, PrimitiveKind::Condition, 0x2028, "ready");
        let mutex = log.primitive(process, PrimitiveKind::Mutex, 0x2040, "queue");
        let wait = log.plain(&["main", "take", "pthread_cond_wait"]);
        let signal = log.plain(&["main", "give", "pthread_cond_signal"]);
        log.awaits(10, one, condition, Some(wait));
        // The second futex of the condition.
        log.futex_at(12, one, wait, 0x202c);
        log.wake(20, one, two, signal);
        log.switch_in(21, one);
        // Before it can go on it needs the mutex, which the agent said nothing of.
        log.futex_at(22, one, wait, 0x2040);
        log.wake(30, one, two, signal);
        log.switch_in(31, one);
        log.proceed(32, one);
        let _ = mutex;
    });
    let told: Vec<_> = drawn_of(&trace, "T0")
        .into_iter()
        .filter(|line| line.contains("for ") || line.contains("blocked") || line.contains("after"))
        .collect();
    assert_eq!(
        told,
        [
            "10 for ready",
            "12 blocked: condition",
            "20 after T1@20 (Signal)",
            "22 for queue",
            "22 blocked: lock",
            "30 after T1@30 (Unlock)",
        ]
    );
}

#[test]
fn a_known_primitive_says_what_a_futex_is_of_which_the_stack_tells_nothing() {
    let (_folder, trace) = two(|log, process, [one, _]| {
        log.primitive(process, PrimitiveKind::Semaphore, 0x10, "slots");
        let stack = log.plain(&["main", "take_slot"]);
        log.futex(10, one, stack);
    });
    assert_eq!(
        drawn_of(&trace, "T0")[2..5],
        ["10 at main/take_slot", "10 for slots", "10 blocked: semaphore"]
    );
}

/// One hold of `nanoseconds`, for which the lock was free.
fn held(primitive: PrimitiveId, stack: StackId, nanoseconds: u64) -> EventKind {
    EventKind::Held {
        primitive,
        stack: Some(stack),
        outer: None,
        acquisitions: 1,
        contended: 0,
        nanoseconds,
        longest: nanoseconds,
    }
}

#[test]
fn a_spin_is_ended_by_the_holder_that_let_go_last() {
    let (_folder, trace) = two(|log, process, [one, two]| {
        let lock = log.primitive(process, PrimitiveKind::SpinLock, 0x2000, "table");
        let (asks, holds) = (log.plain(&["main", "get"]), log.plain(&["main", "put", "pthread_spin_lock"]));
        log.event(5, two, held(lock, holds, 4));
        log.awaits(10, one, lock, Some(asks));
        log.event(29, two, held(lock, holds, 20));
        log.proceed(30, one);
        // Nobody was seen to let go of it.
        log.awaits(40, one, lock, Some(asks));
        log.proceed(45, one);
    });
    assert_eq!(
        drawn_of(&trace, "T1")[2..],
        [
            "5 held table 1/0 for 4/4 at main/put",
            // Somebody waits for this one: where it was let go is seen.
            "29 at main/put",
            "29 held table 1/0 for 20/20 at main/put",
            "100 absent",
        ]
    );
    let ended: Vec<_> = drawn_of(&trace, "T0").into_iter().filter(|line| line.contains("after")).collect();
    assert_eq!(ended, ["30 after T1@29 (Unlock)"]);
    assert_eq!(trace.evidence().unmatched_wakes, 1);
}

#[test]
fn a_release_that_the_holder_tells_of_ends_a_spin() {
    let (_folder, trace) = two(|log, process, [one, two]| {
        let lock = log.primitive(process, PrimitiveKind::Mutex, 0x2000, "table");
        let asks = log.plain(&["main", "get"]);
        let unlock = log.plain(&["main", "put", "pthread_mutex_unlock"]);
        log.awaits(10, one, lock, Some(asks));
        log.wake(19, one, two, unlock);
        log.proceed(20, one);
    });
    assert_eq!(drawn_of(&trace, "T1")[2], "19 at main/put");
    assert!(drawn_of(&trace, "T0").contains(&"20 after T1@19 (Unlock)".to_owned()));
    assert_eq!(trace.evidence().unmatched_wakes, 0);
}

#[test]
fn the_last_to_arrive_at_a_barrier_ends_the_waits_of_the_others() {
    let (_folder, trace) = two(|log, process, [one, two]| {
        let barrier = log.primitive(process, PrimitiveKind::Barrier, 0x2000, "step");
        let stack = log.plain(&["main", "solve", "pthread_barrier_wait"]);
        log.awaits(10, one, barrier, Some(stack));
        log.out(12, one, Blocking::Interruptible);
        log.awaits(30, two, barrier, Some(stack));
        log.proceed(31, two);
        // It is fast and comes again before the other one has left.
        log.awaits(34, two, barrier, Some(stack));
        log.switch_in(35, one);
        log.proceed(36, one);
        log.awaits(40, one, barrier, Some(stack));
        log.proceed(41, two);
        log.proceed(42, one);
    });
    let after = |thread: &str| drawn_of(&trace, thread).into_iter().filter(|line| line.contains("after"));
    assert_eq!(after("T0").collect::<Vec<_>>(), ["35 after T1@30 (Barrier)"]);
    assert_eq!(after("T1").collect::<Vec<_>>(), ["41 after T0@40 (Barrier)"]);
    assert_eq!(trace.evidence().unmatched_wakes, 0);
}

#[test]
fn what_is_held_and_never_waited_for_is_an_object_too() {
    let (_folder, trace) = two(|log, process, [one, _]| {
        let named = log.primitive(process, PrimitiveKind::Mutex, 0x2000, "quiet");
        let unnamed = log.primitive(process, PrimitiveKind::ReadWriteLock, 0x3000, "");
        let stack = log.plain(&["main", "put", "pthread_mutex_lock"]);
        log.event(5, one, held(named, stack, 4));
        log.event(6, one, held(unnamed, stack, 1));
    });
    let objects: Vec<_> =
        trace.objects().all().iter().map(|object| (object.kind, object.name.as_str())).collect();
    assert_eq!(objects, [(ObjectKind::Mutex, "quiet"), (ObjectKind::RwLock, "rwlock in put")]);
    assert_eq!(trace.evidence().waits_for_objects, 0);
}

#[test]
fn the_collector_s_time_is_taken_from_where_the_thread_ran() {
    let (_folder, trace) = two(|log, process, [one, _]| {
        let lock = log.primitive(process, PrimitiveKind::Mutex, 0x2000, "m");
        let work = log.plain(&["main"]);
        log.out(10, one, Blocking::Runnable);
        log.switch_in(15, one);
        log.sample(18, one, work);
        log.awaits(20, one, lock, None);
        log.proceed(30, one);
        // 3 since the wait, all 5 before it, and 2 of the first stretch.
        log.event(33, one, EventKind::Overhead { nanoseconds: 10 });
        log.event(40, one, EventKind::Overhead { nanoseconds: 4 });
    });
    let states =
        drawn_of(&trace, "T0").into_iter().filter(|line| !line.contains(" at ") && !line.contains("for"));
    assert_eq!(
        states.collect::<Vec<_>>(),
        [
            "0 ready",
            "0 running",
            "8 overhead",
            "10 ready",
            "15 running",
            "15 overhead",
            "20 spinning",
            "30 running",
            "30 overhead",
            "33 running",
            "36 overhead",
            "40 running",
            "100 absent",
        ]
    );
    assert_eq!(trace.evidence().overhead_nanoseconds, 14);
    assert_eq!(trace.evidence().contradictions, 0);
}

#[test]
fn a_proceed_without_an_await_is_counted() {
    let (_folder, trace) = two(|log, _, [one, _]| log.proceed(10, one));
    assert_eq!(trace.evidence().contradictions, 1);
    let (_folder, trace) = two(|log, process, [one, _]| {
        let lock = log.primitive(process, PrimitiveKind::Mutex, 0x2000, "");
        log.awaits(10, one, lock, None);
        // Its Proceed is lost.
        log.awaits(20, one, lock, None);
        log.event(30, one, EventKind::Proceed);
    });
    assert_eq!(trace.evidence().contradictions, 0);
    let states: Vec<_> = drawn_of(&trace, "T0").into_iter().filter(|line| !line.contains(" at ")).collect();
    assert_eq!(
        states[2..],
        [
            "10 for mutex",
            "10 spinning",
            "20 running",
            "20 for mutex",
            "20 spinning",
            "30 running",
            "100 absent"
        ]
    );
}
