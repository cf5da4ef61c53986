use longpole_testkit::{MemoryTimelines, draw, random_timelines};
use longpole_trace::{ItemKind, Timelines};
use proptest::prelude::*;

use super::*;
use crate::{Analysis, DetailsDemand, MetricOptions, details};

fn times(made: &MemoryTimelines) -> Vec<ProcessorTime> {
    let demand = DetailsDemand { processors: true, ..DetailsDemand::default() };
    let Ok(found) = details(made, &MetricOptions::default(), &demand, &Analysis::default());
    found.processors.unwrap()
}

fn waited(time: &ProcessorTime, cause: Cause) -> u64 {
    time.waiting[cause.index()]
}

#[test]
fn processors_of_a_program_that_may_only_use_some_have_their_own_numbers() {
    let of = |count, seen: &[u16]| Vec::from_iter(numbers(count, &seen.iter().copied().collect()));
    assert_eq!(of(2, &[2, 3]), [2, 3]);
    assert_eq!(of(4, &[3]), [0, 1, 2, 3]);
    assert_eq!(of(2, &[]), [0, 1]);
    assert_eq!(of(1, &[5, 6]), [5], "more than its number of processors, by what it was later allowed");
}

#[test]
fn a_processor_is_idle_for_what_its_next_thread_waits_for() {
    let all = times(&draw("cpus 2\nT1 AAllAA\nT2 BBBBBB"));
    assert_eq!((all[0].useful, waited(&all[0], Cause::Lock)), (4, 2));
    assert_eq!((all[1].useful, all[1].free()), (6, 0));
}

#[test]
fn workers_that_end_early_leave_a_processor_to_the_join() {
    // T2 works for 6 and T3 for 2; T1 waits for both, then works alone.
    let made = draw("cpus 2\nT1 AjjjjjjAA\nT2 _BBBBBB__\nT3 _CC______\nT1@1 -> T2 create\nT1@1 -> T3 create");
    let all = times(&made);
    assert_eq!(all.iter().map(|time| time.useful).sum::<u64>(), 1 + 6 + 2 + 2);
    let join: u64 = all.iter().map(|time| waited(time, Cause::Join)).sum();
    let serial: u64 = all.iter().map(|time| time.serial).sum();
    // While T3 is gone: 4 for the join. Before and after: 1 and 2 with nothing else to do.
    assert_eq!((join, serial), (4, 3));
}

#[test]
fn a_thread_that_is_ready_elsewhere_explains_the_processor_that_gets_it() {
    let made = draw("cpus 2\nT1 AAAA\nT2 --BB");
    let all = times(&made);
    assert_eq!((all[1].ready, all[1].useful), (2, 2));
}

/// One stay of a thread on a processor.
struct Stay {
    slot: usize,
    thread: usize,
    from: u64,
    to: u64,
}

/// The stays in the order in which they begin: threads stay where they were if that is free, else on the first that is.
fn stays(made: &MemoryTimelines, slots: usize) -> Vec<Stay> {
    let threads = made.program.threads.len();
    let (mut on, mut last) = (vec![None; threads], vec![None; threads]);
    let mut stays: Vec<Stay> = Vec::new();
    for item in &made.items {
        let ItemKind::State(state) = item.what else { continue };
        let (thread, now) = (item.thread.index(), item.time.nanoseconds());
        match (on[thread], state.is_on_cpu()) {
            (Some(stay), false) => {
                let stay: usize = stay;
                stays[stay].to = now;
                on[thread] = None;
            }
            (None, true) => {
                let is_free =
                    |slot: &usize| !on.iter().flatten().any(|&stay: &usize| stays[stay].slot == *slot);
                let slot = last[thread].filter(is_free).or_else(|| (0..slots).find(is_free)).unwrap();
                last[thread] = Some(slot);
                stays.push(Stay { slot, thread, from: now, to: made.program.elapsed_nanoseconds });
                on[thread] = Some(stays.len() - 1);
            }
            _ => {}
        }
    }
    stays
}

/// The state of a thread in a tick; `None` before it is there.
fn state(made: &MemoryTimelines, thread: usize, tick: u64) -> Option<State> {
    let of_thread =
        made.items.iter().filter(|item| item.thread.index() == thread && item.time.nanoseconds() <= tick);
    of_thread
        .filter_map(|item| if let ItemKind::State(state) = item.what { Some(state) } else { None })
        .next_back()
}

fn slow(made: &MemoryTimelines, slots: usize) -> Vec<ProcessorTime> {
    let stays = stays(made, slots);
    let mut all: Vec<_> =
        (0..slots).map(|slot| ProcessorTime::new(MachineId(0), u16::try_from(slot).unwrap())).collect();
    for tick in 0..made.program.elapsed_nanoseconds {
        for (slot, time) in all.iter_mut().enumerate() {
            let of_slot = || stays.iter().filter(|stay| stay.slot == slot);
            if let Some(stay) = of_slot().find(|stay| stay.from <= tick && tick < stay.to) {
                time.add(Activity::State(state(made, stay.thread, tick).unwrap()), 1);
                continue;
            }
            let mut thread = of_slot().find(|stay| stay.from > tick).map_or(0, |stay| stay.thread);
            let explains = |thread| state(made, thread, tick).filter(|state| !state.is_on_cpu());
            let mut found = explains(thread);
            while let (None, Some(creator)) = (found, made.program.threads[thread].creator) {
                thread = creator.index();
                found = explains(thread);
            }
            time.add(found.map_or(Activity::Elsewhere, Activity::State), 1);
        }
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn processors_are_divided_as_tick_by_tick_and_without_rest(made in random_timelines(5, 90), more in 0..3_usize) {
        let mut made = made;
        let slots = made.program.threads.len() + more;
        made.program.machines[0].cpus = u32::try_from(slots).unwrap();
        let fast = times(&made);
        let slow = slow(&made, slots);
        for time in &fast {
            prop_assert_eq!(time.whole(), made.program().elapsed_nanoseconds);
        }
        prop_assert_eq!(fast, slow);
    }
}
