//! Waits for the clock, in programs that are run anew without a procedure: those for timers end at a moment, so less work before them
//! makes them longer; and threads that sleep until there is something to do, or until they are told to stop, wait for what nothing shows.

use longpole_trace::Cause;

use crate::support::{Collector, Recording, Session, held, held_at, or_skip};

#[test]
fn work_between_the_ticks_of_a_timer_gains_nothing_and_between_sleeps_all() {
    let session = Session::start();
    or_skip!(Collector::Bpf.permitted());
    for (flags, cause) in [(&[][..], Cause::Timer), (&["-DUNTIL"], Cause::Timer), (&["-DFOR"], Cause::Sleep)]
    {
        let gains = held(&session, ("paced_ticks.c", flags), "handle_tick");
        assert!(gains.recording.waits().seconds(|wait| wait.cause == cause) > 0.0, "{flags:?}");
    }
}

#[test]
fn what_threads_may_poll_for_by_sleeping_may_gain_all_of_its_work() {
    let session = Session::start();
    or_skip!(Collector::Bpf.permitted());
    let gains = held(&session, ("sleeping_workers.c", &[]), "large_task");
    // The execution alone does not see it.
    assert!(gains.most > gains.predicted + 10.0, "{}", gains.text());
    let summary = gains.recording.report("summary", "procedure");
    let is_large = |row: &serde_json::Map<String, serde_json::Value>| {
        row["section"] == "change" && row["text"] == "large_task"
    };
    assert!(summary.rows().any(is_large), "{}", gains.text());
}

#[test]
fn a_wait_for_descriptors_that_no_thread_ended_may_end_at_a_moment_or_after_a_time() {
    let session = Session::start();
    or_skip!(Collector::Bpf.permitted());
    for flag in ["-DPOLL", "-DEPOLL", "-DTIMEOUT"] {
        held(&session, ("paced_ticks.c", &[flag]), "handle_tick");
    }
}

#[test]
fn a_watcher_that_is_joined_sleeps_as_often_as_others_compute() {
    let session = Session::start();
    or_skip!(Collector::Bpf.permitted());
    for flags in [&["-pthread"][..], &["-pthread", "-DTIMER"]] {
        let gains = held(&session, ("joined_watcher.c", flags), "compute");
        let summary = gains.recording.report("summary", "procedure");
        let changes: Vec<_> = summary.rows().filter(|row| row["section"] == "change").collect();
        // The sleeps hold up next to nothing: what is computed meanwhile has to be computed.
        assert!(changes[0]["text"] == "compute", "{flags:?} {changes:?}");
    }
}

/// The watcher sleeps twice, and once where it is told to end in its first sleep.
#[test]
fn a_watcher_that_seldom_looks_ends_at_its_next_look() {
    let session = Session::start();
    or_skip!(Collector::Bpf.permitted());
    let seldom = ("joined_watcher.c", &["-pthread", "-DPERIOD_MS=220"][..]);
    let gains = held_at(&session, seldom, ("compute", 0.5));
    assert!(gains.truth > 40.0, "{}", gains.text());
}

#[test]
fn work_in_the_background_until_it_is_killed_holds_no_shorter_run_up() {
    let session = Session::start();
    or_skip!(Collector::Bpf.permitted());
    for flags in [&["-pthread"][..], &["-pthread", "-DPROCESS"]] {
        let gains = held(&session, ("statistics.c", flags), "solve");
        assert!(gains.truth > 50.0 && gains.predicted > 0.8 * gains.truth, "{flags:?}: {}", gains.text());
        let path = gains.recording.report("critical-path", "procedure");
        assert!(path.sum("procedure", "refresh", "seconds") < 0.01, "{flags:?}: {}", gains.text());
    }
}

/// Nobody killed it: it died of its own fault.
#[test]
fn work_of_a_child_that_crashes_is_waited_for() {
    let session = Session::start();
    or_skip!(Collector::Bpf.permitted());
    let gains = held(&session, ("crashing_child.c", &[]), "child_work");
    assert!(gains.truth > 35.0, "{}", gains.text());
}

/// It had as much to do, or was told to end by a flag: the range holds both.
#[test]
fn work_in_the_background_until_it_is_told_to_end_may_hold_a_shorter_run_up() {
    let session = Session::start();
    or_skip!(Collector::Bpf.permitted());
    let joined = ("statistics.c", &["-pthread", "-DJOINED"][..]);
    let gains = held(&session, joined, "solve");
    assert!(gains.truth > 50.0, "{}", gains.text());
    held_at(&session, joined, ("solve", 0.5));
}

/// There are as many reloads as the readers take time for; the recorded waits for them are no order of the program.
#[test]
fn a_lock_that_a_thread_takes_until_it_is_told_to_end_holds_no_shorter_run_up() {
    let session = Session::start();
    or_skip!(Collector::Bpf.permitted());
    let reloaded = ("reloader.c", &["-pthread"][..]);
    let gains = held(&session, reloaded, "serve");
    assert!(gains.truth > 85.0, "{}", gains.text());
    held_at(&session, reloaded, ("serve", 0.5));
}

/// A thread that works for a third of its life and waits for those whom it serves may have been told to end, too.
#[test]
fn a_thread_that_refreshes_a_table_does_so_as_often_as_there_is_time() {
    let session = Session::start();
    or_skip!(Collector::Bpf.permitted());
    let refreshed = ("refreshed_table.c", &["-pthread"][..]);
    for (procedure, factor, least) in [("look_up", 0.0, 45.0), ("look_up", 0.5, 20.0), ("refresh", 0.0, 10.0)]
    {
        let gains = held_at(&session, refreshed, (procedure, factor));
        assert!(gains.truth > least, "{procedure} at {factor}: {}", gains.text());
    }
}

#[test]
fn time_limits_of_a_wait_pass_as_often_as_the_worker_computes_for() {
    let session = Session::start();
    or_skip!(Collector::Bpf.permitted());
    let gains = held(&session, ("timed_wait.c", &["-pthread"]), "compute");
    // Where the limits kept their time, the gain would be next to none, with a range as wide as what other programs took.
    assert!(gains.predicted > 0.8 * gains.truth, "{}", gains.text());
}

/// The parent has nothing to do but to look; that the child ended in its last sleep tells what for.
#[test]
fn who_looks_every_now_and_then_whether_a_child_has_ended_waits_for_its_work() {
    let session = Session::start();
    or_skip!(Collector::Bpf.permitted());
    let gains = held(&session, ("child_poll.c", &[]), "child_work");
    assert!(gains.truth > 90.0, "{}", gains.text());
    let summary = gains.recording.report("summary", "procedure");
    assert!(summary.all_changes().any(|row| is_about(row, "child_work")), "{}", gains.text());
}

/// The row of its sleeps waits for the child, whatever that does: to wait for its end gains 10 of 330 ms at most.
#[test]
fn who_looks_whether_a_child_has_ended_that_sleeps_waits_for_what_it_sleeps_for() {
    let session = Session::start();
    let program = session.build("child_poll.c", &[]).unwrap();
    let recording = or_skip!(session.record(Collector::Bpf, &[program.to_str().unwrap(), "asleep"]));
    let summary = recording.report("summary", "procedure");
    let changes: Vec<_> = summary.all_changes().collect();
    assert!(is_about(changes[0], "child_pause"), "{changes:?}");
    let elapsed = summary.number("recording", "elapsed_seconds");
    for row in changes.iter().filter(|row| is_about(row, "look_again")) {
        let most = row.get("gain_high_seconds").and_then(serde_json::Value::as_f64);
        assert!(most.is_some_and(|most| most < 0.1 * elapsed), "{row:?}");
    }
}

/// About one sleep for each item: not the times, but the loop's code tells that it only looks.
#[test]
fn a_thread_that_sleeps_until_an_item_is_there_waits_for_who_makes_it() {
    let session = Session::start();
    or_skip!(Collector::Bpf.permitted());
    let gains = held(&session, ("poll_usleep.c", &["-pthread"]), "produce");
    assert!(gains.truth > 50.0, "{}", gains.text());
    let of_cause = |cause| gains.recording.waits().seconds(|wait| wait.cause == cause);
    assert!(of_cause(Cause::PollingSleep) > 10.0 * of_cause(Cause::Sleep), "{}", gains.text());
}

/// The runtime's own loop around the kernel's sleep is no loop of the program.
#[test]
fn sleeps_of_rust_that_only_look_are_told_by_the_loop_around_them() {
    let session = Session::start();
    let program = or_skip!(session.build("poll_sleep.rs", &[]));
    let recording = Recording::at(&or_skip!(session.record_as("sleeps.longpole", &program)));
    let of_cause = |cause| recording.waits().seconds(|wait| wait.cause == cause);
    assert!(of_cause(Cause::PollingSleep) > 10.0 * of_cause(Cause::Sleep));
    let answer = recording.what_if(&["procedure:produce=0"]);
    let row = answer.rows().find(|row| row["section"] == "change").expect("the change has a row");
    let of = |key: &str| row.get(key).and_then(serde_json::Value::as_f64);
    let most = of("gain_high_percent");
    // 185 of 245 ms; beside other programs a smaller part of the run.
    assert!(most.is_some_and(|most| most > 30.0), "{row:?}");
}

/// Whether an entry of the list of changes names this.
fn is_about(row: &serde_json::Map<String, serde_json::Value>, what: &str) -> bool {
    row["text"].as_str().is_some_and(|text| text.contains(what))
}

/// What the threads sleep for is the work with the lock: waiting for it properly gains little.
#[test]
fn polling_for_a_lock_comes_after_the_work_that_it_waits_for() {
    let session = Session::start();
    or_skip!(Collector::Bpf.permitted());
    let program = session.build("poll_trylock.c", &["-pthread"]).unwrap();
    let recording = session.record_with(&["--quiet", "--collector", "bpf"], &program);
    let summary = recording.report("summary", "procedure");
    let changes: Vec<_> = summary.all_changes().collect();
    let at = |what: &str| changes.iter().position(|row| is_about(row, what));
    let (work, polls) = (at("use_device"), at("polling sleep"));
    assert!(work.is_some() && polls.is_none_or(|polls| work < Some(polls)), "{changes:?}");
    let Some(polls) = polls else { return };
    let truth = session.least_seconds(&program, &[]) - session.least_seconds(&program, &["wait"]);
    let most = changes[polls]["gain_high_seconds"].as_f64().unwrap();
    assert!(most > 0.9 * truth, "at most {most} s; in truth {truth}");
}

/// Nobody tells the consumer of an item, so each lies until the time limit of its wait.
#[test]
fn a_wait_that_only_its_time_limit_ends_is_to_be_signalled() {
    let session = Session::start();
    or_skip!(Collector::Bpf.permitted());
    let program = session.build("unsignalled.c", &["-pthread"]).unwrap();
    let recording = session.record_with(&["--quiet", "--collector", "bpf"], &program);
    let summary = recording.report("summary", "procedure");
    let change = summary.changes("signal it in time").next().expect("the wait has a row");
    assert!(change["text"].as_str().unwrap().ends_with("in `take_item`"), "{change:?}");
    let truth = session.least_seconds(&program, &[]) - session.least_seconds(&program, &["signal"]);
    let most = change["gain_high_seconds"].as_f64().unwrap();
    assert!(most > 0.9 * truth && truth > 0.1, "at most {most} s; in truth {truth}");
}

/// Node.js, asyncio and tokio sleep by the time limit of their poll: that is no wait for a descriptor.
#[test]
#[ignore = "it takes ten seconds: cargo xtask test --slow"]
fn timers_of_an_event_loop_are_sleeps_and_not_waits_for_descriptors() {
    let session = Session::start();
    let program = session.build("event_timers.c", &[]).unwrap();
    let without = session.least_seconds(&program, &["never"]);
    for collector in [Collector::Bpf, Collector::Perf] {
        let Ok(()) = collector.permitted() else { continue };
        // How long the loop waits for its timers and for descriptors, and the most that its waits are said to gain.
        let waited = |mode: &str| {
            let make = || session.record(collector, &[program.as_os_str(), mode.as_ref()]);
            let recording = Recording::made_whole(make).unwrap();
            let of_cause =
                |cause| recording.waits().seconds(|wait| wait.cause == cause && wait.is_in("wait_for_event"));
            let summary = recording.report("summary", "procedure");
            let row = summary.all_changes().find(|row| is_about(row, "poll timeout in `wait_for_event`"));
            let most = row.and_then(|row| row["gain_high_seconds"].as_f64());
            // A poll of one descriptor is a wait for what that is, where the call is seen.
            (of_cause(Cause::PollTimeout), of_cause(Cause::Poll) + of_cause(Cause::Pipe), most)
        };
        for mode in ["epoll", "select", "timer"] {
            let (timers, descriptors, most) = waited(mode);
            let found = format!("{}, {mode}: {timers} s, {descriptors} s, {most:?}", collector.name());
            // Of a wake that was not recorded nothing tells that a timer was it; those of idle processors are not always for `perf`.
            assert!(timers + descriptors > 0.39, "{found}");
            if collector == Collector::Perf && descriptors > 0.0 {
                continue;
            }
            assert!(descriptors < 0.11, "{found}");
            let truth = session.least_seconds(&program, &[mode]) - without;
            assert!(
                most.is_some_and(|most| most + descriptors > 0.9 * truth && truth > 0.3),
                "{found}; {truth} s"
            );
        }
        let (timers, descriptors, most) = waited("peer");
        assert!(timers < 0.01 && descriptors > 0.05, "{timers} s, {descriptors} s, {most:?}");
        let (timers, descriptors, most) = waited("look");
        assert!(timers + descriptors > 0.39 && most.is_none_or(|most| most < 0.1), "{timers} s, {most:?}");
    }
}

/// How often the background thread sleeps follows from how long the others work; they wait for its lock, and not for its pauses.
#[test]
fn a_thread_that_is_told_to_stop_holds_nobody_up_but_by_its_lock() {
    let session = Session::start();
    or_skip!(Collector::Bpf.permitted());
    let program = session.build("stop_flag.c", &["-pthread"]).unwrap();
    let recording = session.record_with(&["--quiet", "--collector", "bpf"], &program);
    let answer = recording.report("summary", "procedure");
    let changes: Vec<_> = answer.all_changes().collect();
    let lock = changes.iter().find(|row| is_about(row, "mutex table_lock"));
    let most = lock.and_then(|row| row["gain_high_seconds"].as_f64());
    let truth = session.least_seconds(&program, &[]) - session.least_seconds(&program, &["alone"]);
    assert!(most.is_some_and(|most| most > 0.8 * truth), "{truth} s; {changes:?}");
    // Its pauses beside the lock are most of its life; the last one alone counts, up to 28 ms.
    let pauses = changes.iter().find(|row| is_about(row, "sleep in `refresher`"));
    let most = pauses.and_then(|row| row["gain_high_seconds"].as_f64()).unwrap_or(0.0);
    assert!(most < 0.1, "{changes:?}");
    // Without the lock it takes as long as the work.
    let free = recording.what_if(&["object:table_lock=0"]);
    let change = free.rows().find(|row| row["section"] == "change").expect("the change has a row");
    let of = |key: &str| change.get(key).and_then(serde_json::Value::as_f64).unwrap_or(0.0);
    let most = of("elapsed_gain_percent") + of("elapsed_error_percent");
    assert!(most.max(of("gain_high_percent")) > 10.0, "{change:?}");
}

/// After two beats nothing in the recording tells a thread that looks whether it is to end from one that has three beats to do.
#[test]
#[ignore = "it takes ten seconds: cargo xtask test --slow"]
fn a_thread_that_slept_twice_may_have_been_told_to_end_or_have_had_to_sleep_so_often() {
    let session = Session::start();
    or_skip!(Collector::Bpf.permitted());
    for flags in [&[][..], &["-DTIMER"], &["-DCONDITION"], &["-DCOUNTED"]] {
        let gains = held(&session, ("heartbeat.c", &[flags, &["-pthread"]].concat()), "compute");
        assert_eq!(gains.truth > 50.0, flags != ["-DCOUNTED"], "{flags:?}: {}", gains.text());
        assert!(gains.least < 5.0 && gains.most > 50.0, "{flags:?}: {}", gains.text());
        let summary = gains.recording.report("summary", "procedure");
        let row = summary.all_changes().find(|row| is_about(row, "compute"));
        let gain = |key: &str| row.and_then(|row| row.get(key)?.as_f64());
        assert!(gain("gain_low_seconds").is_none_or(|low| low < 0.1), "{flags:?}: {row:?}");
        assert!(gain("gain_high_seconds").is_some_and(|high| high > 0.4), "{flags:?}: {row:?}");
    }
}
