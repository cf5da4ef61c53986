//! Threads that poll by sleeping: they look whether there is something to do, sleep, and look again.
//!
//! ```text
//!   polls     work ▉▉▉▉ sleep ──── ▏ sleep ──── ▏ sleep ──── work ▉▉▉▉
//!   does not  work ▉▉▉▉ sleep ──── work ▉▉▉ sleep ──── work ▉▉▉
//!   nor this  ▏ sleep ──── item! ─┐ ▏ sleep ──── item! ─┐       a device takes its time for each item
//! ```
//! What such a thread looks for comes from another thread, which nothing shows: its sleeps would be fewer or more in a changed run. Two
//! sleeps in a row are polls where the thread works between them for less than a tenth of the shorter one, and lets nobody go on who waits for
//! that: who looks and finds nothing has nothing to hand on. A thread that hands something on after half of such sleeps
//! or more does not poll by the others either: nobody waited for that then. One that does
//! nothing else, such as one that only watches the run, holds up no work, unless another thread waits for what it does after them:
//!
//! ```text
//!   first thread  work ▉▉▉▉▉▉▉▉▉▉▉▉▉▉▉▉▉▉▉▉▉▉▉ stop! join ──┐
//!   watcher       ▏ sleep ──── ▏ sleep ──── ▏ sleep ──── ▏ends    fewer sleeps if stop! comes earlier
//! ```
//! Nor does the first thread of the program, with which the run ends, unless another thread or process ended in its last such sleep: that
//! may be what it looked for (`waitpid` with `WNOHANG`, a flag that a worker sets last).

use longpole_event::{ProcessId, ThreadId, Time};
use longpole_trace::{LOOK, Program, Thread};
use rustc_hash::{FxHashMap, FxHashSet};

use super::plan::{ExecutionPlan, NodeId, PlanStep};
use super::watcher::Watcher;

/// The part of the run that a thread works, beside its looks, from which on its polls are for work.
const WORKS: f64 = 0.01;

/// For how long the threads of the plan poll by sleeping, all together, nanoseconds. What a runtime's `watcher` lets go on did not wait for
/// its looks.
pub(super) fn polled(plan: &ExecutionPlan, program: &Program, watcher: &Watcher) -> u64 {
    let awaited = plan.threads.iter().flat_map(|thread| &thread.steps).filter_map(|step| match *step {
        PlanStep::Wait { node, .. } => Some(node),
        _ => None,
    });
    let (awaited, none) = (awaited.collect(), FxHashSet::default());
    let polled = plan.threads.iter().enumerate().map(|(index, thread)| {
        let awaited = if watcher.is(ThreadId::from_index(index)) { &none } else { &awaited };
        let sees_an_end = |last: LastPoll| index == 0 && ends_within(program, last);
        polled_by(&thread.steps, awaited, plan.elapsed, sees_an_end)
    });
    polled.sum()
}

/// The last sleep of a thread that polls: how long it was, and what the thread did after it; nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct LastPoll {
    time: u64,
    after: u64,
}

/// Whether a thread ended in the last sleep in which the program's first one polled, and that then went on.
fn ends_within(program: &Program, last: LastPoll) -> bool {
    let run = Time::from_nanoseconds(program.elapsed_nanoseconds);
    let end = program.threads[0].end.unwrap_or(run).since(Time::ZERO);
    let woke = end.saturating_sub(last.after);
    let slept = woke.saturating_sub(last.time);
    let mut ends = program.threads[1..].iter().filter_map(|thread| thread.end);
    last.after > 0 && ends.any(|end| (slept..woke).contains(&end.since(Time::ZERO)))
}

/// For how long scripts poll by processes that sleep, all together, nanoseconds: they start one, look, and start the next.
pub(super) fn polled_by_processes(program: &Program) -> u64 {
    let is_sleep = |thread: &&Thread| program.processes[thread.process.index()].name == "sleep";
    let sleeps = program.threads.iter().filter(is_sleep);
    // By the process that created it: when the last one ended, how long it was, and whether that is counted.
    let mut last: FxHashMap<ProcessId, (Time, u64, bool)> = FxHashMap::default();
    let mut polled = 0;
    for sleep in sleeps {
        let (Some(parent), Some(end)) = (program.processes[sleep.process.index()].parent, sleep.end) else {
            continue;
        };
        let length = end.since(sleep.start);
        let before = last.get(&parent).filter(|(ended, before, _)| {
            *ended <= sleep.start && (sleep.start.since(*ended) as f64) < LOOK * length.min(*before) as f64
        });
        if let Some(&(_, before, is_counted)) = before {
            polled += length + if is_counted { 0 } else { before };
        }
        last.insert(parent, (end, length, before.is_some()));
    }
    polled
}

/// Takes away the sleeps of the row that ends these steps, before a last sleep that was so long, nanoseconds: the thread waits in them
/// for an end that is known. How long they were.
pub(super) fn take_row(steps: &mut [PlanStep], last: u64) -> u64 {
    let (mut next, mut work, mut taken) = (last, 0, 0);
    for step in steps.iter_mut().rev() {
        match *step {
            PlanStep::Work { time, .. } | PlanStep::Spin { time, .. } | PlanStep::Busy(time) => work += time,
            PlanStep::Displaced { .. } => {}
            PlanStep::Sleep { time, .. } if (work as f64) < LOOK * next.min(time.nanoseconds()) as f64 => {
                (next, work) = (time.nanoseconds(), 0);
                taken += next;
                *step = PlanStep::Busy(0);
            }
            _ => break,
        }
    }
    taken
}

fn polled_by(
    steps: &[PlanStep],
    awaited: &FxHashSet<NodeId>,
    elapsed: u64,
    sees_an_end: impl Fn(LastPoll) -> bool,
) -> u64 {
    // The last sleep, the work since then, and whether the sleep is counted.
    let (mut last, mut work, mut is_counted) = (0, 0, false);
    let mut last_poll = LastPoll::default();
    let (mut polled, mut all_work, mut looks) = (0, 0, 0);
    let (mut is_awaited, mut has_handed_on, mut served) = (false, false, 0);
    for step in steps {
        match *step {
            PlanStep::Work { time, .. } | PlanStep::Spin { time, .. } | PlanStep::Busy(time) => {
                work += time;
                all_work += time;
                last_poll.after += time;
            }
            PlanStep::Sleep { time, .. } => {
                let time = time.nanoseconds();
                let is_look = last > 0 && (work as f64) < LOOK * last.min(time) as f64;
                let is_poll = is_look && !has_handed_on;
                if is_look && has_handed_on {
                    served += time;
                }
                if is_poll {
                    polled += time + if is_counted { 0 } else { last };
                    looks += work;
                    last_poll = LastPoll { time, after: 0 };
                } else {
                    last_poll.after += time;
                }
                (last, work, is_counted) = (time, 0, is_poll);
                has_handed_on = false;
            }
            PlanStep::Release(node) if awaited.contains(&node) => {
                is_awaited |= polled > 0;
                has_handed_on = true;
            }
            PlanStep::Away { time, .. } => {
                (last, work, is_counted) = (0, 0, false);
                last_poll.after += time;
            }
            PlanStep::Until { .. } | PlanStep::Look { .. } => (last, work, is_counted) = (0, 0, false),
            _ => {}
        }
    }
    let works = (all_work - looks) as f64 > WORKS * elapsed as f64;
    let is_for_others = works || is_awaited || polled > 0 && sees_an_end(last_poll);
    if served < polled && is_for_others { polled } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::super::plan::SleepTime;
    use super::*;

    fn sleep(time: u64) -> PlanStep {
        PlanStep::Sleep { time: SleepTime::new(time).unwrap(), moment: 0 }
    }

    fn work(time: u64) -> PlanStep {
        PlanStep::Work { place: 0, time }
    }

    /// What a thread polls in a run of 1,000 in which others wait for node 1.
    fn polls(steps: &[PlanStep]) -> u64 {
        polled_by(steps, &FxHashSet::from_iter([NodeId(1)]), 1_000, |_| false)
    }

    #[test]
    fn a_thread_that_only_watches_polls_if_another_one_waits_for_its_end() {
        let watch = [work(1), sleep(100), work(1), sleep(100), work(1)];
        let ends = |node| [&watch[..], &[PlanStep::Release(NodeId(node))]].concat();
        assert_eq!(polls(&ends(1)), 200);
        assert_eq!(polls(&ends(2)), 0);
        // What it does before its first look is not a matter of its polls.
        assert_eq!(polls(&[&[PlanStep::Release(NodeId(1))], &watch[..]].concat()), 0);
    }

    #[test]
    fn the_first_thread_polls_if_another_one_ends_in_its_last_sleep() {
        let watch = [work(1), sleep(100), work(1), sleep(90), work(2)];
        let seen = |sees| polled_by(&watch, &FxHashSet::default(), 1_000, |last| last == sees);
        assert_eq!((seen(LastPoll { time: 90, after: 2 }), seen(LastPoll::default())), (190, 0));
        let ends = |end: &str, last| {
            let program =
                longpole_testkit::draw(&format!("unit 1\np/main AAAAAAAAAAAA\nq/child {end}")).program;
            ends_within(&program, last)
        };
        let last = LastPoll { time: 4, after: 2 };
        assert!(ends("BBBBBBB_____", last) && !ends("BBBB________", last) && !ends("BBBBBBBBBBBB", last));
        // Who is killed in its sleep does not go on.
        assert!(!ends("BBBBBBBBB___", LastPoll { time: 4, after: 0 }));
    }

    #[test]
    fn a_script_polls_by_processes_that_sleep_one_after_the_other() {
        let drawing =
            "unit 1000000\nsh/main AAAAAAAAAAAAAAAAAAAAAAAA\ns1/a zzzzzzzzzA\ns2/b __________zzzzzzzzzA";
        let mut program = longpole_testkit::draw(drawing).program;
        for process in &mut program.processes[1..] {
            (process.name, process.parent) = ("sleep".to_owned(), Some(ProcessId(0)));
        }
        assert_eq!(polled_by_processes(&program), 20_000_000);
        // Work between them, and sleeps at the same time, are no polls.
        for start in [13, 5] {
            let mut apart = program.clone();
            let moment = |at: u64| Time::from_nanoseconds(1_000_000 * at);
            (apart.threads[2].start, apart.threads[2].end) = (moment(start), Some(moment(start + 10)));
            assert_eq!(polled_by_processes(&apart), 0, "{start}");
        }
    }

    #[test]
    fn sleeps_with_hardly_any_work_between_them_are_polls() {
        let steps = [work(300), sleep(100), work(2), sleep(100), work(2), sleep(100), work(300)];
        assert_eq!(polls(&steps), 300);
    }

    #[test]
    fn the_sleeps_of_a_row_are_taken_up_to_what_is_none_of_it() {
        let mut steps = [sleep(100), work(50), sleep(80), work(2), sleep(100), work(2)];
        assert_eq!(take_row(&mut steps, 60), 180);
        assert_eq!(steps, [sleep(100), work(50), PlanStep::Busy(0), work(2), PlanStep::Busy(0), work(2)]);
        // It creates what it waits for after a sleep of its own.
        let mut steps = [sleep(100), PlanStep::Release(NodeId(1)), sleep(100), work(2)];
        assert_eq!(take_row(&mut steps, 100), 100);
    }

    #[test]
    fn a_thread_that_works_between_its_sleeps_does_not_poll() {
        let steps = [work(50), sleep(100), work(50), sleep(100), work(50), sleep(100), work(10), sleep(100)];
        assert_eq!(polls(&steps), 0);
    }

    #[test]
    fn a_thread_that_hands_an_item_on_after_each_sleep_does_not_poll() {
        let item = [sleep(100), work(1), PlanStep::Release(NodeId(1))];
        let unwanted = [sleep(100), work(1), PlanStep::Release(NodeId(2))];
        let stage = |item: &[PlanStep]| polls(&[&[work(300)], item, item, item].concat());
        assert_eq!((stage(&item), stage(&unwanted)), (0, 300));
        // Nor where nobody waits for some of them.
        let some = [[item; 2].concat(), [unwanted; 2].concat(), [item; 2].concat()].concat();
        assert_eq!(polls(&[&[work(300)], &some[..]].concat()), 0);
    }

    #[test]
    fn a_thread_that_only_watches_does_not_poll() {
        let steps = [work(1), sleep(100), work(1), sleep(100), work(1), sleep(100)];
        assert_eq!(polls(&steps), 0);
    }

    #[test]
    fn waits_for_others_between_sleeps_are_no_polls() {
        let other = PlanStep::Away { time: 5, io: true, request: None };
        assert_eq!(polls(&[work(300), sleep(100), other, sleep(100), work(300)]), 0);
    }
}
