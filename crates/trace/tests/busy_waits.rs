//! Busy-waits of which a collector saw the store that ended them (metrics.md §1).

#![allow(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

mod support;

use longpole_event::{Blocking, EventKind, PrimitiveId, PrimitiveKind, StackId, ThreadId};
use support::{Log, drawn_of, two};

struct Places {
    works: StackId,
    spins: StackId,
    writes: StackId,
    flag: PrimitiveId,
}

impl Places {
    fn new(log: &mut Log, process: longpole_event::ProcessId) -> Places {
        let [main, wait] =
            [("main", false), ("wait", true)].map(|(name, spins)| log.frame("/bin/p", &[name], spins));
        Places {
            works: log.plain(&["main", "work"]),
            spins: log.stack(&[main, wait]),
            writes: log.plain(&["main", "finish"]),
            flag: log.primitive(process, PrimitiveKind::Futex, 0x4000, "ready"),
        }
    }
}

fn freed(log: &mut Log, time: u64, thread: ThreadId, by: ThreadId, places: &Places) {
    let (primitive, stack) = (places.flag, Some(places.writes));
    log.event(time, thread, EventKind::Freed { by, primitive, stack });
}

#[test]
fn a_busy_wait_ends_at_the_store_and_lasts_as_long_as_its_samples_stand_for() {
    let (_folder, trace) = two(|log, process, [one, other]| {
        let places = Places::new(log, process);
        log.sample(10, one, places.works);
        log.sample(20, one, places.spins);
        log.sample(30, one, places.spins);
        freed(log, 34, one, other, &places);
        log.sample(40, one, places.works);
    });
    let expected = [
        "0 ready",
        "0 running",
        "10 at main/work",
        "14 at main/work",
        "14 at main/wait",
        "14 for ready",
        "14 spinning",
        "20 at main/wait",
        "30 at main/wait",
        "34 at main/wait",
        "34 after T1@34 (Signal)",
        "34 running",
        "40 at main/work",
        "100 absent",
    ];
    assert_eq!(drawn_of(&trace, "T0"), expected);
    assert!(drawn_of(&trace, "T1").contains(&"34 at main/finish".to_owned()));
    assert_eq!(trace.evidence().contradictions, 0);
}

#[test]
fn a_thread_that_spins_again_at_once_waits_twice() {
    let (_folder, trace) = two(|log, process, [one, other]| {
        let places = Places::new(log, process);
        log.sample(10, one, places.works);
        log.sample(20, one, places.spins);
        freed(log, 24, one, other, &places);
        log.sample(30, one, places.spins);
        freed(log, 36, one, other, &places);
        log.sample(40, one, places.works);
    });
    let states: Vec<_> = drawn_of(&trace, "T0").into_iter().filter(|line| !line.contains(" at ")).collect();
    let expected = [
        "0 ready",
        "0 running",
        "14 for ready",
        "14 spinning",
        "24 after T1@24 (Signal)",
        "24 running",
        "29 for ready",
        "29 spinning",
        "36 after T1@36 (Signal)",
        "36 running",
        "100 absent",
    ];
    assert_eq!(states, expected);
}

#[test]
fn a_thread_without_its_processor_is_freed_too() {
    let (_folder, trace) = two(|log, process, [one, other]| {
        let places = Places::new(log, process);
        log.sample(10, one, places.works);
        log.sample(20, one, places.spins);
        log.out(26, one, Blocking::Runnable);
        freed(log, 30, one, other, &places);
        log.switch_in(36, one);
        log.sample(40, one, places.works);
    });
    let states: Vec<_> = drawn_of(&trace, "T0").into_iter().filter(|line| !line.contains(" at ")).collect();
    let expected = [
        "0 ready",
        "0 running",
        "16 for ready",
        "16 spinning",
        "26 ready",
        "30 after T1@30 (Signal)",
        "36 running",
        "100 absent",
    ];
    assert_eq!(states, expected);
}

#[test]
fn threads_that_come_to_their_loop_by_writing_the_word_wait_for_each_other() {
    let (_folder, trace) = two(|log, process, [one, other]| {
        let places = Places::new(log, process);
        log.sample(10, one, places.works);
        log.sample(20, one, places.spins);
        log.event(30, one, EventKind::Arrive { primitive: places.flag });
        log.event(30, other, EventKind::Arrive { primitive: places.flag });
        freed(log, 30, one, other, &places);
        log.event(30, other, EventKind::Depart { primitive: places.flag });
        log.sample(40, one, places.works);
    });
    let of = |thread| -> Vec<String> {
        drawn_of(&trace, thread)
            .into_iter()
            .filter(|line| line.starts_with("30 ") && !line.contains(" at "))
            .collect()
    };
    assert_eq!(of("T0"), ["30 releases 0", "30 after T1@30 (Signal)", "30 acquires 0", "30 running"]);
    assert_eq!(of("T1"), ["30 releases 0", "30 acquires 0"]);
}

#[test]
fn a_thread_that_tells_of_its_waits_knows_better() {
    let (_folder, trace) = two(|log, process, [one, other]| {
        let places = Places::new(log, process);
        let lock = log.primitive(process, PrimitiveKind::Mutex, 0x2000, "");
        log.awaits(10, one, lock, None);
        freed(log, 20, one, other, &places);
        log.proceed(30, one);
    });
    assert!(!drawn_of(&trace, "T0").iter().any(|line| line.contains("after T1@20")));
    assert_eq!(trace.evidence().contradictions, 0);
}
