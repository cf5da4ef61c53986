//! Contention, blame and the state table agree with the slow oracles on random runs.

use std::collections::BTreeMap;

use longpole_metrics::{
    Analysis, By, Condition, Contention, DetailsDemand, MetricOptions, Node, Spreads, StateTable, analyse,
    details,
};
use longpole_testkit::contended::{self, Holding, TickLevels};
use longpole_testkit::{MemoryTimelines, random_timelines};
use longpole_trace::{ObjectId, PathId, PlaceId, State};
use proptest::prelude::*;

fn objects(made: &MemoryTimelines) -> impl Iterator<Item = ObjectId> + use<> {
    (0..made.objects.all().len() as u32).map(ObjectId)
}

fn contention(made: &MemoryTimelines, io_idle: bool) -> Contention {
    let demand =
        DetailsDemand { contention: true, contended: objects(made).collect(), ..DetailsDemand::default() };
    let Ok(found) =
        details(made, &MetricOptions { io_idle, ..MetricOptions::default() }, &demand, &Analysis::default());
    found.contention.expect("it was demanded")
}

fn states(made: &MemoryTimelines, io_idle: bool, by: By) -> StateTable {
    let demand = DetailsDemand { states: Some(by), ..DetailsDemand::default() };
    let Ok(found) =
        details(made, &MetricOptions { io_idle, ..MetricOptions::default() }, &demand, &Analysis::default());
    found.states.expect("it was demanded")
}

fn condition(state: State) -> Condition {
    match state {
        State::Running => Condition::Running,
        State::Spinning => Condition::Spinning,
        State::Overhead => Condition::Overhead,
        State::Ready => Condition::Ready,
        State::Blocked(cause) => Condition::Blocked(cause),
        State::Absent => panic!("nothing is charged to those who are not there"),
    }
}

fn levels(spreads: &Spreads) -> TickLevels {
    let of = |levels: &[(u32, u64)]| levels.iter().copied().filter(|(_, time)| *time > 0).collect();
    TickLevels { nominal: of(spreads.nominal.levels()), effective: of(spreads.effective.levels()) }
}

fn merge(into: &mut TickLevels, from: &TickLevels) {
    from.nominal.iter().for_each(|(&level, time)| *into.nominal.entry(level).or_default() += time);
    from.effective.iter().for_each(|(&level, time)| *into.effective.entry(level).or_default() += time);
}

fn innermost(made: &MemoryTimelines, path: PathId) -> Option<PlaceId> {
    made.paths.innermost_id(path)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn waits_are_caused_by_who_ended_each(made in random_timelines(4, 60)) {
        let Ok(analysis) = analyse(&made, &MetricOptions::default());
        let fast: BTreeMap<_, _> = analysis
            .charges
            .iter()
            .filter(|charge| charge.measures.caused_wait > 0)
            .map(|charge| ((charge.thread, charge.path), charge.measures.caused_wait))
            .collect();
        prop_assert_eq!(fast, contended::caused_waits(&made));
    }

    #[test]
    fn all_waits_that_are_caused_are_the_waiting_time_that_a_dependence_ended(made in random_timelines(5, 90)) {
        let Ok(analysis) = analyse(&made, &MetricOptions::default());
        let blame: u64 = analysis.charges.iter().map(|charge| charge.measures.caused_wait).sum();
        let ended = contended::waits(&made);
        let ended: u64 = ended.iter().filter(|wait| wait.waker.is_some()).map(|wait| wait.to - wait.from).sum();
        prop_assert_eq!(blame, ended);
        let waited = analysis.charges.iter().map(|charge| &charge.measures);
        let waited: u64 =
            waited.map(|measures| measures.blocked_in_all() + measures.spinning + measures.ready).sum();
        prop_assert!(blame <= waited);
    }

    #[test]
    fn blame_is_the_idle_processors_time_tick_by_tick(made in random_timelines(5, 90), cpus in 1..5_u32) {
        let mut made = made;
        made.program.machines[0].cpus = cpus;
        let Ok(analysis) = analyse(&made, &MetricOptions::default());
        let slow = contended::idle_blame(&made);
        for charge in &analysis.charges {
            let expected = slow.get(&(charge.thread, charge.path)).copied().unwrap_or(0.0);
            prop_assert!((charge.measures.idle_blame as f64 - expected).abs() <= 0.51, "{} for {expected}", charge.measures.idle_blame);
        }
        let whole: f64 = slow.values().sum();
        prop_assert!(whole <= f64::from(cpus) * made.program.elapsed_nanoseconds as f64 + 1e-6);
    }

    #[test]
    fn queues_and_waits_equal_those_counted_tick_by_tick(made in random_timelines(5, 90)) {
        let fast = contention(&made, false);
        let waits = contended::waits(&made);
        for object in objects(&made) {
            let found = &fast.objects[object.index()];
            let of_object: Vec<_> = waits.iter().filter(|wait| wait.object == Some(object)).collect();
            prop_assert_eq!(found.waits(), of_object.len() as u64);
            prop_assert_eq!(found.waited(), of_object.iter().map(|wait| wait.to - wait.from).sum::<u64>());
            let longest = of_object.iter().map(|wait| wait.to - wait.from).max();
            prop_assert_eq!(found.lengths.largest(), longest.unwrap_or(0));
            let mut queue = vec![0; 8];
            for tick in 0..made.program.elapsed_nanoseconds {
                queue[contended::waiting_in(&waits, object, tick)] += 1;
            }
            let mut measured = found.queue.clone();
            measured.resize(8, 0);
            prop_assert_eq!(measured, queue);
        }
        let ended = waits.iter().filter(|wait| wait.object.is_some()).count() as u64;
        prop_assert_eq!(fast.threads.values().map(|pair| pair.count).sum::<u64>(), ended);
        for (&(thread, waker), pair) in &fast.threads {
            let is_it = |wait: &&contended::ContendedWait| {
                wait.object.is_some() && wait.thread == thread && wait.waker.map(|(by, _)| by) == waker
            };
            let waited: u64 = waits.iter().filter(is_it).map(|wait| wait.to - wait.from).sum();
            prop_assert_eq!(pair.waited, waited);
        }
    }

    #[test]
    fn holders_do_what_is_counted_tick_by_tick(made in random_timelines(5, 90), io_idle: bool) {
        let fast = contention(&made, io_idle);
        let mut wanted = 0;
        for object in objects(&made) {
            let mut slow: BTreeMap<Option<PlaceId>, Holding> = BTreeMap::new();
            for ((_, path), holding) in contended::holdings(&made, io_idle, object) {
                let sum = slow.entry(innermost(&made, path)).or_default();
                sum.held += holding.held;
                sum.cpu += holding.cpu;
                sum.npt += holding.npt;
            }
            for (&(_, place), found) in fast.handovers.iter().filter(|((id, _), _)| *id == object) {
                let slow = slow.remove(&place).unwrap_or_default();
                prop_assert_eq!((found.held, found.cpu), (slow.held, slow.cpu));
                prop_assert!((found.npt - slow.npt).abs() < 1e-6, "{} is not {}", found.npt, slow.npt);
            }
            prop_assert!(slow.is_empty(), "{slow:?}");
            let found = &fast.objects[object.index()];
            prop_assert!(found.handed.held <= found.contended());
            wanted += found.contended();
        }
        let spread: u64 = fast.wanted.values().map(longpole_metrics::Spread::time).sum();
        prop_assert_eq!(spread, wanted);
    }

    #[test]
    fn the_state_table_equals_that_counted_tick_by_tick(made in random_timelines(4, 60), io_idle: bool) {
        let mut slow: BTreeMap<(Node, Condition), TickLevels> = BTreeMap::new();
        for ((path, state), ticks) in contended::states(&made, io_idle) {
            if let Some(place) = made.paths.innermost(path) {
                merge(slow.entry((Node::Procedure(place.procedure), condition(state))).or_default(), &ticks);
            }
        }
        let mut fast = BTreeMap::new();
        for (node, row) in &states(&made, io_idle, By::Procedure).rows {
            for (&condition, spreads) in row.own.iter().filter(|(_, spreads)| spreads.nominal.time() > 0) {
                fast.insert((*node, condition), levels(spreads));
            }
        }
        prop_assert_eq!(fast, slow);
    }

    #[test]
    fn the_state_table_of_objects_equals_that_counted_tick_by_tick(made in random_timelines(4, 60)) {
        let waits = contended::waits(&made);
        let mut slow: BTreeMap<ObjectId, [TickLevels; 2]> = BTreeMap::new();
        for object in objects(&made) {
            for tick in 0..made.program.elapsed_nanoseconds {
                let waiting = contended::waiting_in(&waits, object, tick);
                let [blocked, wanted] = slow.entry(object).or_default();
                (0..waiting).for_each(|_| blocked.add(&made, false, tick));
                (0..waiting.min(1)).for_each(|_| wanted.add(&made, false, tick));
            }
        }
        let table = states(&made, false, By::Object);
        for (object, [blocked, wanted]) in slow {
            let row = table.rows.get(&Node::Object(object)).cloned().unwrap_or_default().own;
            let found = |is_wanted: bool| {
                let mut sum = TickLevels::default();
                for (condition, spreads) in &row {
                    if (*condition == Condition::Wanted) == is_wanted {
                        merge(&mut sum, &levels(spreads));
                    }
                }
                sum
            };
            prop_assert_eq!(found(false), blocked);
            prop_assert_eq!(found(true), wanted);
        }
    }
}
