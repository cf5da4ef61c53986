//! Logs written by hand, and the timelines that must come of them.

#![allow(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

mod support;

use longpole_event::{Blocking, BusyWaiting, EventKind};
use longpole_trace::Procedure;
use support::{drawn, machine, recording};

#[test]
fn a_lock_is_suffered_where_it_was_asked_for_and_ended_by_its_holder() {
    let (_folder, trace) = recording(vec![machine("a", 0)], 100, |logs| {
        let log = &mut logs[0];
        let process = log.process(10, None);
        let (main, other) = (log.thread(process, 10), log.thread(process, 11));
        let create = log.plain(&["main", "start_worker"]);
        let frames = [
            log.frame("/bin/program", &["worker"], false),
            log.frame("/lib/libc.so.6", &["pthread_mutex_lock"], false),
            log.frame("/lib/libc.so.6", &["__lll_lock_wait"], false),
        ];
        let locking = log.stack(&frames);
        let unlocking = log.plain(&["main", "update", "pthread_mutex_unlock"]);
        log.start(0, main, None);
        log.switch_in(0, main);
        log.start(10, other, Some((main, create)));
        log.switch_in(12, other);
        log.futex(20, other, locking);
        log.wake(50, other, main, unlocking);
        log.switch_in(52, other);
        log.dead(60, other);
        log.dead(100, main);
    });
    assert_eq!(
        drawn(&trace),
        [
            "T0 0 ready",
            "T0 0 running",
            "T0 10 at main/start_worker",
            "T1 10 after T0@10 (Create)",
            "T1 10 ready",
            "T1 12 running",
            "T1 20 at main/start_worker/worker",
            "T1 20 for mutex in worker",
            "T1 20 blocked: lock",
            "T0 50 at main/update",
            "T1 50 after T0@50 (Unlock)",
            "T1 50 ready",
            "T1 52 running",
            "T1 60 absent",
            "T0 100 absent",
        ]
    );
    assert_eq!(trace.evidence().contradictions, 0);
    assert_eq!(trace.evidence().without_stack, 0);
    let is_unnamed = |procedure: &Procedure| procedure.name == "[program]" || procedure.name == "[libc.so.6]";
    assert!(!trace.paths().procedures().iter().any(is_unnamed));
}

/// The kernel tells of a wake before it tells of the switch in which the thread is.
#[test]
fn a_thread_that_is_woken_while_it_is_switched_off_is_ready_from_then_on() {
    let lines_of = |later_wake: Option<u64>| {
        let (_folder, trace) = recording(vec![machine("a", 0)], 100, |logs| {
            let log = &mut logs[0];
            let process = log.process(10, None);
            let (main, other) = (log.thread(process, 10), log.thread(process, 11));
            let locking = log.plain(&["worker", "pthread_mutex_lock"]);
            let unlocking = log.plain(&["main", "update", "pthread_mutex_unlock"]);
            for thread in [main, other] {
                log.start(0, thread, None);
                log.switch_in(0, thread);
            }
            log.wake(48, other, main, unlocking);
            log.futex(50, other, locking);
            later_wake.into_iter().for_each(|time| log.wake(time, other, main, unlocking));
            log.switch_in(60, other);
            log.dead(70, other);
            log.dead(100, main);
        });
        assert_eq!(trace.evidence().unmatched_wakes, 0);
        let is_of_wait = |line: &String| line.starts_with("T1 5") || line.starts_with("T0 48");
        drawn(&trace).into_iter().filter(is_of_wait).collect::<Vec<_>>()
    };
    let blocked = ["T1 50 at worker", "T1 50 for mutex in worker", "T1 50 blocked: lock"];
    let early = [&["T0 48 at main/update"], &blocked[..], &["T1 50 after T0@48 (Unlock)", "T1 50 ready"]];
    assert_eq!(lines_of(None), early.concat());
    // The first wake ended nothing: it went on, and waited anew.
    let later = lines_of(Some(55));
    assert!(later.contains(&"T1 55 after T0@55 (Unlock)".into()), "{later:#?}");
    assert!(!later.contains(&"T1 50 ready".into()), "{later:#?}");
}

#[test]
fn a_wait_of_which_nothing_is_known_is_not_where_the_thread_worked_before() {
    let (_folder, trace) = recording(vec![machine("a", 0)], 50, |logs| {
        let log = &mut logs[0];
        let process = log.process(10, None);
        let main = log.thread(process, 10);
        let work = log.plain(&["main", "work"]);
        log.start(0, main, None);
        log.switch_in(0, main);
        log.sample(10, main, work);
        log.out(20, main, Blocking::Interruptible);
        log.switch_in(30, main);
        log.sample(35, main, work);
        log.dead(40, main);
    });
    let lines = drawn(&trace);
    let of_wait: Vec<_> = lines.iter().filter(|line| line.starts_with("T0 20")).collect();
    assert_eq!(of_wait, ["T0 20 at main/work", "T0 20 at [no stack]", "T0 20 blocked: other"]);
    assert_eq!(trace.evidence().unmatched_wakes, 1);
}

#[test]
fn a_forked_process_has_its_creators_path_once_before_and_once_after_exec() {
    let (_folder, trace) = recording(vec![machine("a", 0)], 50, |logs| {
        let log = &mut logs[0];
        let parent = log.process(10, None);
        let child = log.process(20, Some(parent));
        let (main, forked) = (log.thread(parent, 10), log.thread(child, 20));
        let fork = log.plain(&["main", "spawn", "fork"]);
        let before = log.plain(&["main", "spawn", "prepare"]);
        let after = log.plain(&["compile"]);
        log.start(0, main, None);
        log.switch_in(0, main);
        log.start(10, forked, Some((main, fork)));
        log.switch_in(11, forked);
        log.sample(12, forked, before);
        let program = longpole_event::TextId(0);
        log.event(13, forked, EventKind::Exec { program });
        log.sample(14, forked, after);
        log.dead(20, forked);
    });
    let lines = drawn(&trace);
    assert!(lines.contains(&"T1 12 at main/spawn/prepare".into()), "{lines:#?}");
    assert!(lines.contains(&"T1 14 at main/spawn/compile".into()), "{lines:#?}");
}

#[test]
fn a_forked_process_is_called_its_parent_s_child_until_it_executes_another_program() {
    let (_folder, trace) = recording(vec![machine("a", 0)], 50, |logs| {
        let log = &mut logs[0];
        let [file, title, name] =
            ["/usr/bin/python3", "python3 pool.py", "python3"].map(|text| log.text(text));
        let parent = log.process(10, None);
        let main = log.thread(parent, 10);
        let fork = log.plain(&["main", "fork"]);
        log.start(0, main, None);
        log.event(1, main, EventKind::Exec { program: file });
        log.event(1, main, EventKind::Title { title });
        for (pid, executes) in [(20, false), (21, true)] {
            let child = log.process(pid, Some(parent));
            let forked = log.thread(child, pid);
            log.start(10, forked, Some((main, fork)));
            log.event(11, forked, EventKind::Name { name });
            if executes {
                log.event(12, forked, EventKind::Exec { program: file });
            }
            log.dead(20, forked);
        }
    });
    let labels: Vec<&str> = trace.program().processes.iter().map(|process| process.label()).collect();
    assert_eq!(labels, ["python3 pool.py", "python3 pool.py: child", "python3"]);
}

#[test]
fn time_before_a_sample_in_a_waiting_loop_is_spinning() {
    let (_folder, trace) = recording(vec![machine("a", 0)], 50, |logs| {
        let log = &mut logs[0];
        let process = log.process(10, None);
        let main = log.thread(process, 10);
        let work = log.plain(&["main"]);
        let frames = [log.frame("/bin/program", &["wait_for_flag"], true)];
        let spin = log.stack(&frames);
        log.start(0, main, None);
        log.switch_in(0, main);
        log.sample(10, main, work);
        log.sample(20, main, spin);
        log.event(25, main, EventKind::Out { blocking: Blocking::Runnable, call: None, stack: None });
        log.switch_in(28, main);
        log.sample(30, main, spin);
        log.sample(40, main, work);
        log.dead(50, main);
    });
    assert_eq!(
        drawn(&trace),
        [
            "T0 0 ready",
            "T0 0 running",
            "T0 10 at main",
            "T0 10 spinning",
            "T0 20 at wait_for_flag",
            "T0 25 ready",
            "T0 28 spinning",
            "T0 30 at wait_for_flag",
            "T0 30 running",
            "T0 40 at main",
            "T0 50 absent",
        ]
    );
}

/// The states of a thread that is sampled at 10, outside any wait, and at 20, there; and what may be waiting.
fn sampled_in(frames: &[(&str, &str, BusyWaiting)]) -> (Vec<String>, Vec<(String, u64)>) {
    let (_folder, trace) = recording(vec![machine("a", 0)], 50, |logs| {
        let log = &mut logs[0];
        let process = log.process(10, None);
        let main = log.thread(process, 10);
        let work = log.plain(&["main"]);
        let frames: Vec<_> = frames
            .iter()
            .map(|(module, procedure, waiting)| log.waiting_frame(module, &[procedure], *waiting))
            .collect();
        let there = log.stack(&frames);
        log.start(0, main, None);
        log.switch_in(4, main);
        log.sample(10, main, work);
        log.sample(20, main, there);
        log.dead(30, main);
    });
    let states =
        drawn(&trace).into_iter().filter(|line| line.starts_with("T0 10 ") && !line.contains(" at "));
    let paths = trace.paths();
    let may_wait = trace.evidence().may_wait.iter();
    let may_wait = may_wait.map(|&(id, time)| (paths.procedure_named_by(id).name.clone(), time)).collect();
    (states.collect(), may_wait)
}

#[test]
fn what_a_waiting_loop_calls_is_part_of_the_wait() {
    let (program, libc) = ("/bin/program", "/lib/libc.so.6");
    let waits = (program, "wait_until", BusyWaiting::Spins);
    let spinning = vec!["T0 10 spinning".to_owned()];
    assert_eq!(sampled_in(&[waits]).0, spinning);
    assert_eq!(sampled_in(&[waits, (libc, "pthread_mutex_trylock", BusyWaiting::Work)]).0, spinning);
    let vdso = ("[vdso]", "__vdso_clock_gettime", BusyWaiting::Work);
    let clock = (libc, "clock_gettime", BusyWaiting::Work);
    assert_eq!(sampled_in(&[waits, clock, vdso]).0, spinning);
    let kernel = ("[kernel]", "read_hpet", BusyWaiting::Work);
    assert_eq!(sampled_in(&[waits, clock, vdso, kernel]).0, spinning, "a clock that the kernel reads");
    assert!(sampled_in(&[waits, kernel]).0.is_empty(), "an interrupt");
    let works = (program, "handle", BusyWaiting::Work);
    assert!(sampled_in(&[works, clock]).0.is_empty(), "a clock that is read at work");
}

#[test]
fn what_may_be_waiting_is_work_and_is_counted() {
    let may = ("/bin/program", "progress", BusyWaiting::MayWait);
    let counted = vec![("progress".to_owned(), 10)];
    assert_eq!(sampled_in(&[may]), (vec![], counted.clone()));
    assert_eq!(sampled_in(&[may, ("/bin/program", "poll_queue", BusyWaiting::Polls)]), (vec![], counted));
    let works = ("/bin/program", "handle_message", BusyWaiting::Work);
    assert_eq!(sampled_in(&[may, works]), (vec![], vec![]), "it works while it is called");
    assert_eq!(sampled_in(&[("/bin/program", "poll_queue", BusyWaiting::Polls)]), (vec![], vec![]));
}

#[test]
fn a_message_between_machines_is_a_dependence_on_one_axis() {
    // The second machine's clock is 1000 behind: its event at 40 is at 1040 on the axis.
    let machines = vec![machine("a", 0), machine("b", 1000)];
    let (_folder, trace) = recording(machines, 2000, |logs| {
        for log in logs.iter_mut() {
            let process = log.process(10, None);
            log.thread(process, 10);
        }
        let thread = longpole_event::ThreadId(0);
        logs[0].start(0, thread, None);
        logs[0].switch_in(0, thread);
        logs[0].event(1000, thread, EventKind::Send { key: 7 });
        logs[1].start(0, thread, None);
        logs[1].switch_in(10, thread);
        logs[1].event(40, thread, EventKind::Receive { key: 7 });
    });
    let lines = drawn(&trace);
    assert!(lines.contains(&"T1 1040 after T0@1000 (Message)".into()), "{lines:#?}");
    assert_eq!(trace.program().machines.len(), 2);
    assert_eq!(trace.program().machine_of(longpole_event::ThreadId(1)).0, 1);
}

#[test]
fn contradictions_are_counted_and_the_thread_goes_on_in_the_proven_state() {
    let (_folder, trace) = recording(vec![machine("a", 0)], 50, |logs| {
        let log = &mut logs[0];
        let process = log.process(10, None);
        let main = log.thread(process, 10);
        let work = log.plain(&["main"]);
        log.start(0, main, None);
        log.switch_in(0, main);
        log.futex(10, main, work);
        log.sample(20, main, work);
        log.switch_in(30, main);
    });
    assert_eq!(trace.evidence().contradictions, 2);
    assert!(trace.evidence().has_losses());
    assert!(drawn(&trace).contains(&"T0 20 running".into()));
}

#[test]
fn a_thread_that_ran_unseen_is_not_charged_to_its_creator() {
    let (_folder, trace) = recording(vec![machine("a", 0)], 50, |logs| {
        let log = &mut logs[0];
        let process = log.process(10, None);
        let (main, other) = (log.thread(process, 10), log.thread(process, 11));
        let create = log.plain(&["main"]);
        log.start(0, main, None);
        log.switch_in(0, main);
        log.start(10, other, Some((main, create)));
        log.switch_in(12, other);
        log.dead(20, other);
    });
    assert!(drawn(&trace).contains(&"T1 20 at main/[no stack]".into()));
}

#[test]
fn the_kernel_s_way_in_is_no_procedure() {
    let (_folder, trace) = recording(vec![machine("a", 0)], 50, |logs| {
        let log = &mut logs[0];
        let process = log.process(10, None);
        let main = log.thread(process, 10);
        let frames = [
            log.frame("/bin/program", &["main"], false),
            log.frame("[kernel]", &["entry_SYSCALL_64_after_hwframe"], false),
            log.frame("[kernel]", &["do_syscall_64"], false),
            log.frame("[kernel]", &["ksys_read"], false),
        ];
        let (reading, entering) = (log.stack(&frames), log.stack(&frames[..3]));
        log.start(0, main, None);
        log.switch_in(0, main);
        log.sample(10, main, reading);
        log.sample(20, main, entering);
    });
    let lines = drawn(&trace);
    assert!(lines.contains(&"T0 10 at main/ksys_read".into()), "{lines:#?}");
    assert!(lines.contains(&"T0 20 at main".into()), "{lines:#?}");
}

#[test]
fn a_join_without_a_wake_is_ended_by_the_thread_that_ended_meanwhile() {
    let (_folder, trace) = recording(vec![machine("a", 0)], 50, |logs| {
        let log = &mut logs[0];
        let process = log.process(10, None);
        let (main, worker, other) =
            (log.thread(process, 10), log.thread(process, 11), log.thread(process, 12));
        let create = log.plain(&["main", "pthread_create"]);
        let join = log.plain(&["main", "pthread_join"]);
        log.start(0, main, None);
        log.switch_in(0, main);
        log.start(5, worker, Some((main, create)));
        log.start(5, other, Some((main, create)));
        log.switch_in(6, other);
        log.dead(7, other);
        log.switch_in(8, worker);
        log.futex(10, main, join);
        log.dead(20, worker);
        log.switch_in(22, main);
        // Nobody ends while it waits for the second time.
        log.futex(30, main, join);
        log.switch_in(40, main);
    });
    let lines = drawn(&trace);
    let joins: Vec<_> = lines.iter().filter(|line| line.contains("Join")).collect();
    assert_eq!(joins, ["T0 22 after T1@20 (Join)"], "{lines:#?}");
    assert_eq!(trace.evidence().unmatched_wakes, 1);
}

#[test]
fn a_thread_of_a_pool_waits_in_the_pool() {
    let (_folder, trace) = recording(vec![machine("a", 0)], 50, |logs| {
        let log = &mut logs[0];
        let process = log.process(10, None);
        let thread = log.thread(process, 10);
        let frames = [
            log.frame("/usr/lib/libc.so.6", &["clone3"], false),
            log.frame("/usr/lib/libc.so.6", &["start_thread"], false),
            log.frame("/usr/lib/libgomp.so.1.0.0", &["gomp_thread_start"], false),
            log.frame("/usr/lib/libgomp.so.1.0.0", &["gomp_barrier_wait_end"], false),
        ];
        let idle = log.stack(&frames);
        log.start(0, thread, None);
        log.switch_in(0, thread);
        log.futex(10, thread, idle);
    });
    let lines = drawn(&trace);
    assert!(lines.contains(&"T0 10 at clone3/start_thread/gomp_thread_start".into()), "{lines:#?}");
}
