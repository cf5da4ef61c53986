//! Regions, tasks and instrumented procedures, and the paths that must come of them.

#![allow(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

mod support;

use longpole_event::{EventKind, FrameId, StackId};
use longpole_trace::{Procedure, Trace};
use support::{drawn_of, machine, recording, two};

/// Where a thread is seen, and what it depends on.
fn seen(trace: &Trace, thread: &str) -> Vec<String> {
    let lines = drawn_of(trace, thread).into_iter();
    lines.filter(|line| line.contains(" at ") || line.contains("after")).collect()
}

fn enter(frame: FrameId, stack: Option<StackId>, task: Option<u64>) -> EventKind {
    EventKind::Enter { frame, stack, task }
}

#[test]
fn a_region_stands_between_where_it_was_entered_and_what_is_called_in_it() {
    let (_folder, trace) = two(|log, _, [one, _]| {
        let region = log.mark("load tables");
        let main = log.frame("/bin/program", &["main"], false);
        // Three calls in one procedure: three addresses.
        let [at_enter, at_bar, elsewhere] = [0; 3].map(|_| log.frame("/bin/program", &["foo"], false));
        let mark = log.frame("/bin/program", &["longpole_region_enter"], false);
        let bar = log.frame("/bin/program", &["bar"], false);
        let idle = log.frame("/bin/program", &["idle"], false);
        let entering = log.stack(&[main, at_enter, mark]);
        let [in_bar, in_foo, in_idle] =
            [&[main, at_bar, bar][..], &[main, elsewhere], &[main, idle]].map(|frames| log.stack(frames));
        log.sample(5, one, in_bar);
        log.event(10, one, enter(region, Some(entering), None));
        log.sample(20, one, in_bar);
        log.sample(30, one, in_foo);
        log.sample(40, one, in_idle);
        log.event(50, one, EventKind::Leave);
        log.sample(60, one, in_bar);
    });
    assert_eq!(
        seen(&trace, "T0"),
        [
            "5 at main/foo/bar",
            "10 at main/foo",
            "10 at main/foo/load tables",
            "20 at main/foo/load tables/bar",
            "30 at main/foo/load tables",
            // Not beneath foo any more: as found.
            "40 at main/idle",
            "50 at main/foo/load tables",
            "50 at main/foo",
            "60 at main/foo/bar",
        ]
    );
    // Of the nine looks one is the stack with which it entered, five are the timer's; three it made itself.
    assert_eq!((trace.evidence().told_observations, trace.evidence().samples), (3, 5));
    let region = trace.paths().procedures().iter().find(|procedure| procedure.is_region()).unwrap();
    assert_eq!((region.name.as_str(), region.module.as_str()), ("load tables", Procedure::REGION));
}

#[test]
fn what_is_inlined_into_the_procedure_of_a_region_is_in_the_region() {
    let (_folder, trace) = two(|log, _, [one, _]| {
        let region = log.mark("r");
        let main = log.frame("/bin/program", &["main"], false);
        let at_enter = log.frame("/bin/program", &["foo"], false);
        let inlined = log.frame("/bin/program", &["helper", "foo"], false);
        let (entering, helping) = (log.stack(&[main, at_enter]), log.stack(&[main, inlined]));
        log.event(10, one, enter(region, Some(entering), None));
        log.sample(20, one, helping);
    });
    assert!(seen(&trace, "T0").contains(&"20 at main/foo/r/helper".to_owned()), "{:?}", seen(&trace, "T0"));
}

#[test]
fn regions_lie_in_each_other_and_stacks_that_left_the_inner_one_are_in_the_outer_one() {
    let (_folder, trace) = two(|log, _, [one, _]| {
        let (outer, inner) = (log.mark("outer"), log.mark("inner"));
        let [main, foo, bar, baz, qux] =
            ["main", "foo", "bar", "baz", "qux"].map(|name| log.frame("/bin/program", &[name], false));
        let at_foo = log.stack(&[main, foo]);
        let at_bar = log.stack(&[main, foo, bar]);
        let in_baz = log.stack(&[main, foo, bar, baz]);
        let in_qux = log.stack(&[main, foo, qux]);
        log.event(10, one, enter(outer, Some(at_foo), None));
        log.event(20, one, enter(inner, Some(at_bar), None));
        log.sample(30, one, in_baz);
        log.sample(40, one, in_qux);
        log.event(50, one, EventKind::Leave);
        log.sample(60, one, in_baz);
        log.event(70, one, EventKind::Leave);
        log.event(80, one, EventKind::Leave);
    });
    assert_eq!(
        seen(&trace, "T0"),
        [
            "10 at main/foo",
            "10 at main/foo/outer",
            "20 at main/foo/outer/bar",
            "20 at main/foo/outer/bar/inner",
            "30 at main/foo/outer/bar/inner/baz",
            "40 at main/foo/outer/qux",
            "50 at main/foo/outer/bar/inner",
            "50 at main/foo/outer/bar",
            "60 at main/foo/outer/bar/baz",
            "70 at main/foo/outer",
            "70 at main/foo",
        ]
    );
}

#[test]
fn a_task_goes_on_from_where_it_was_made_and_depends_on_its_maker_once() {
    let (_folder, trace) = two(|log, _, [maker, runner]| {
        let task = log.mark("tile");
        let making = log.plain(&["main", "plan"]);
        let [pool, next_job, tile, pixel] = ["run_pool", "next_job", "tile_of", "pixel"]
            .map(|name| log.frame("/bin/program", &[name], false));
        let picking = log.stack(&[pool, next_job]);
        let working = log.stack(&[pool, next_job, tile, pixel]);
        log.event(10, maker, EventKind::Spawn { task: 7, stack: Some(making) });
        log.event(20, runner, enter(task, Some(picking), Some(7)));
        log.sample(25, runner, working);
        log.event(30, runner, EventKind::Leave);
        // It is polled a second time.
        log.event(40, runner, enter(task, Some(picking), Some(7)));
        log.sample(45, runner, working);
        log.event(50, runner, EventKind::Leave);
    });
    assert_eq!(
        seen(&trace, "T1"),
        [
            "20 at run_pool/next_job",
            "20 after T0@10 (Spawn)",
            "20 at main/plan/tile",
            "25 at main/plan/tile/tile_of/pixel",
            "30 at main/plan/tile",
            "30 at run_pool/next_job",
            "40 at run_pool/next_job",
            "40 at main/plan/tile",
            "45 at main/plan/tile/tile_of/pixel",
            "50 at main/plan/tile",
            "50 at run_pool/next_job",
        ]
    );
}

#[test]
fn a_chain_of_tasks_has_one_path() {
    let (_folder, trace) = two(|log, _, [one, two]| {
        let task = log.mark("step");
        let (making, running) = (log.plain(&["main"]), log.plain(&["pool"]));
        log.event(1, one, EventKind::Spawn { task: 1, stack: Some(making) });
        for key in 1..40 {
            let time = key * 2;
            log.event(time, two, enter(task, Some(running), Some(key)));
            log.event(time, two, EventKind::Spawn { task: key + 1, stack: None });
            log.event(time + 1, two, EventKind::Leave);
        }
    });
    let deepest = seen(&trace, "T1").iter().map(|line| line.matches('/').count()).max();
    assert_eq!(deepest, Some(1), "main/step");
}

#[test]
fn instrumented_procedures_are_the_path_and_stacks_go_on_from_them() {
    let (_folder, trace) = two(|log, _, [one, _]| {
        let [main, foo, leaf] = ["main", "foo", "leaf"].map(|name| log.frame("/bin/program", &[name], false));
        let start = log.frame("/lib/libc.so.6", &["__libc_start_main"], false);
        let in_leaf = log.stack(&[start, main, foo, leaf]);
        log.event(10, one, enter(main, None, None));
        log.event(20, one, enter(foo, None, None));
        log.sample(25, one, in_leaf);
        // It calls itself.
        log.event(30, one, enter(foo, None, None));
        log.event(40, one, EventKind::Leave);
        log.event(50, one, EventKind::Leave);
        log.event(60, one, EventKind::Leave);
    });
    assert_eq!(
        seen(&trace, "T0"),
        [
            "10 at main",
            "20 at main",
            "20 at main/foo",
            "25 at main/foo/leaf",
            "30 at main/foo",
            "30 at main/foo",
            "40 at main/foo",
            "40 at main/foo",
            "50 at main/foo",
            "50 at main",
            "60 at main",
        ]
    );
}

#[test]
fn a_thread_that_is_made_in_a_region_works_for_the_region() {
    let (_folder, trace) = recording(vec![machine("a", 0)], 100, |logs| {
        let log = &mut logs[0];
        let process = log.process(10, None);
        let (main, other) = (log.thread(process, 10), log.thread(process, 11));
        let region = log.mark("solve");
        let procedure = log.frame("/bin/program", &["main"], false);
        let create = log.frame("/lib/libc.so.6", &["pthread_create"], false);
        let (at, creating) = (log.stack(&[procedure]), log.stack(&[procedure, create]));
        let work = log.plain(&["work"]);
        log.start(0, main, None);
        log.switch_in(0, main);
        log.event(5, main, enter(region, Some(at), None));
        log.start(10, other, Some((main, creating)));
        log.switch_in(12, other);
        log.sample(20, other, work);
    });
    assert_eq!(seen(&trace, "T1"), ["10 after T0@10 (Create)", "20 at main/solve/work"]);
}
