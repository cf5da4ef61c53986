use longpole_testkit::altered::{Altered, gain};
use longpole_testkit::oracle::{longest_path, path_of_work};
use longpole_testkit::{MemoryTimelines, draw, random_timelines};
use longpole_trace::ItemKind;
use proptest::prelude::*;

use super::*;
use crate::Order;

/// Oracles follow every arc of a random graph, whatever it stands for.
const RECORDED: MetricOptions = MetricOptions { io_idle: false, order: Order::Recorded };
use crate::{PathSegment, analyse};

fn gains_of(made: &MemoryTimelines, by: By, weight: Weight) -> Gains {
    let options = RECORDED;
    let Ok(analysis) = analyse(made, &options);
    let Ok(foresight) = LaneLookahead::of(made, RECORDED.order);
    let Ok(gains) = gains(made, &options, GainsOf { by, weight }, &analysis, &foresight);
    gains
}

/// The gains of a drawing's procedures, by CPU weight: zeroing, inclusive, slack, inclusive.
fn drawn(text: &str, name: &str) -> [f64; 4] {
    let made = draw(text);
    let gains = gains_of(&made, By::Procedure, Weight::Cpu);
    let node = Node::Procedure(made.procedure(name));
    let gain = gains.gains.iter().find(|gain| gain.node == node).expect("it has work");
    [gain.zeroing, gain.zeroing_inclusive, gain.slack, gain.slack_inclusive]
}

const FIGURE_2: &str = "\
unit 6
T1 AAAAAABBBBBB
T2 CCCCCCcccccc
T3 CCCCCCcccccc
T1@12 -> T2, T3 signal";

#[test]
fn figure_2_of_the_comparison() {
    // The path is A 36, B 36. Without A: T1 has 36 at the signal, the others 36 of C; 72 − 36. Without B the same.
    // Without C: T1 still has 72.
    assert_eq!(drawn(FIGURE_2, "A"), [36.0; 4]);
    assert_eq!(drawn(FIGURE_2, "B"), [36.0; 4]);
    assert_eq!(drawn(FIGURE_2, "C"), [0.0; 4]);
}

#[test]
fn a_spin_gains_by_elapsed_time_what_a_blocked_wait_would() {
    // T2 waits 1..4 for A; without A it goes on at 1, and the run takes 1 + 4.
    let gain = |row: &str| {
        let made = draw(&format!("1 = spin lock m\nT1 AAAABB\n{row}\nT1@4 -> T2 unlock"));
        let gains = gains_of(&made, By::Procedure, Weight::Elapsed);
        let node = Node::Procedure(made.procedure("A"));
        gains.gains.iter().find(|gain| gain.node == node).map_or(0.0, |gain| gain.zeroing)
    };
    assert_eq!(gain("T2 C111DDDD"), 3.0);
    assert_eq!(gain("T2 C¹¹1DDDD"), 3.0);
    assert_eq!(gain("T2 C¹-¹DDDD"), 3.0);
    assert_eq!(gain("T2 C~~~DDDD"), 3.0);
}

#[test]
fn figure_3_of_the_comparison_fixes_d_rather_than_the_larger_b() {
    // The path: B 5, D 4, E 1 = 10. B is its largest part, but C 4 runs beside it: without B 4 + 4 + 1 = 9.
    // Beside all of it runs F 7: without D 5 + 1 = 6, so 7.
    let text = "T1 BBBBB\nT2 CCCCcDDDDE\nT3 FFFFFFF\nT1@5 -> T2 signal";
    assert_eq!(drawn(text, "D"), [3.0; 4]);
    assert_eq!(drawn(text, "B"), [1.0; 4]);
    assert_eq!(drawn(text, "E"), [1.0; 4]);
    assert_eq!(drawn(text, "C"), [0.0; 4]);
}

#[test]
fn what_lies_on_the_second_longest_path_too_has_zeroing_but_no_slack() {
    // Both threads have 8. Without A T1 has 4 and T2 6: 2 are gained. On the path (T2's, the later of two equal
    // ends) there is A 2, without which T1 still has 8.
    let text = "T1 AAAABBBB....\nT2 CCCAADDD";
    let made = draw(text);
    let Ok(analysis) = analyse(&made, &RECORDED);
    let ends: Vec<&str> = analysis
        .critical_cpu
        .segments
        .iter()
        .map(|segment| made.program.threads[segment.thread.index()].name.as_str())
        .collect();
    assert_eq!(ends.len(), 1, "{ends:?}");
    assert_eq!(drawn(text, "A"), [2.0, 2.0, 0.0, 0.0]);
}

#[test]
fn a_pipeline_is_as_fast_as_its_slowest_stage() {
    // The producer makes four pieces of 2, the consumer needs 1 for each: 8 + 1.
    let text =
        "P PPPPPPPP\nQ ppCpCpCpC\nP@2 -> Q message\nP@4 -> Q message\nP@6 -> Q message\nP@8 -> Q message";
    // Without P the consumer has its own 4 to do; without C the producer its 8.
    assert_eq!(drawn(text, "P"), [5.0; 4]);
    // On the path there is only the last C.
    assert_eq!(drawn(text, "C"), [1.0; 4]);
}

const CONVOY: &str = "\
1 = mutex m
T1 SSI
T2 11SSI
T3 1111SSI
T1@2 -> T2 unlock
T2@4 -> T3 unlock";

#[test]
fn a_lock_convoy_gains_all_but_one_turn_when_the_lock_is_gone() {
    // 2 + 2 + 2 under the lock, then 1.
    assert_eq!(drawn(CONVOY, "S"), [6.0; 4]);
    assert_eq!(drawn(CONVOY, "I"), [1.0; 4]);
    let made = draw(CONVOY);
    for weight in [Weight::Cpu, Weight::Elapsed] {
        let gains = gains_of(&made, By::Object, weight);
        // Each thread alone has 3.
        assert_eq!(gains.length, 7);
        assert_eq!(gains.gains.iter().map(|gain| gain.zeroing).collect::<Vec<_>>(), [4.0], "{weight:?}");
    }
}

#[test]
fn imbalance_at_a_barrier_is_gained_from_the_heavy_side_only() {
    let text = "\
heavy AAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
light AAAbbbbbbbAAAbbbbbbbAAAbbbbbbb
heavy@10 -> light barrier
heavy@20 -> light barrier
heavy@30 -> light barrier";
    let made = draw(text);
    let gains = gains_of(&made, By::Thread, Weight::Cpu);
    // Without the heavy thread's 30 there are the light one's 9.
    let of = |name: &str| {
        let node = Node::Thread(made.thread(name));
        let gain = gains.gains.iter().find(|gain| gain.node == node).expect("it has work");
        (gain.zeroing, gain.slack)
    };
    assert_eq!(of("heavy"), (21.0, 21.0));
    assert_eq!(of("light"), (0.0, 0.0));
    assert_eq!(drawn(text, "A"), [30.0, 30.0, 21.0, 21.0]);
}

#[test]
fn elapsed_weight_keeps_what_no_work_explains() {
    // A 4, a device 3, A 2; T2's B 3 beside it. Without A 3 of the device remain, and B, which is 3 too.
    let made = draw("T1 AAAA:::AA\nT2 BBB");
    let gains = gains_of(&made, By::Procedure, Weight::Elapsed);
    assert_eq!(gains.length, 9);
    let of = |name: &str| {
        let node = Node::Procedure(made.procedure(name));
        gains.gains.iter().find(|gain| gain.node == node).expect("it has work").zeroing
    };
    assert_eq!((of("A"), of("B")), (6.0, 0.0));
}

#[test]
fn a_message_under_way_carries_what_its_sender_had_done_when_it_left() {
    // T1 sends at 2, in the midst of A; T2 receives at 6 and runs B 3. By CPU: T2 has max(2, 1) + 3 = 5, T1 8.
    let text = "T1 AAAAAAAA\nT2 CmmmmmBBB\nT1@2 -> T2@6 message";
    // Without A: C 1 + B 3 = 4. On T1 lies the path: without its A there are 2 sent + B 3 still, as that is
    // the same work: 8 − max(0, 1 + 3).
    assert_eq!(drawn(text, "A"), [4.0; 4]);
    let mut made = draw(text);
    made.items.retain(|item| !matches!(item.what, ItemKind::Observe { .. }) || item.time.nanoseconds() >= 8);
    let gains = gains_of(&made, By::Procedure, Weight::Cpu);
    let node = Node::Procedure(made.procedure("A"));
    let of_a = gains.gains.iter().find(|gain| gain.node == node).expect("it has work");
    assert_eq!(of_a.zeroing, 4.0, "though nobody looked when it left");
}

#[test]
fn what_has_next_to_no_work_is_left_out_and_counted() {
    let made = draw(&format!("unit 1000\nT1 {}B", "A".repeat(20_000)));
    let gains = gains_of(&made, By::Procedure, Weight::Cpu);
    assert_eq!((gains.gains.len(), gains.left_out), (1, 1));
    assert!(gains.smallest >= 1000.0);
}

/// Whether the path is of the node, innermost or at all.
fn has(made: &MemoryTimelines, node: Node, thread: ThreadId, path: PathId, inclusive: bool) -> bool {
    let is = |place: longpole_trace::CodePlace| match node {
        Node::Procedure(procedure) => place.procedure == procedure,
        Node::Line(procedure, line) => (place.procedure, place.line) == (procedure, line),
        _ => false,
    };
    match node {
        Node::Thread(id) => id == thread,
        _ if inclusive => made.paths.places_of(path).any(is),
        _ => made.paths.innermost(path).is_some_and(is),
    }
}

fn is_on(segments: &[PathSegment], thread: ThreadId, tick: u64) -> bool {
    segments.iter().any(|segment| {
        segment.thread == thread && (segment.from.nanoseconds()..segment.to.nanoseconds()).contains(&tick)
    })
}

proptest! {
    #[test]
    fn every_lane_is_what_following_every_path_finds(made in random_timelines(4, 30)) {
        let Ok(analysis) = analyse(&made, &RECORDED);
        let segments = &analysis.critical_cpu.segments;
        for by in [By::Procedure, By::Line, By::Thread] {
            let gains = gains_of(&made, by, Weight::Cpu);
            prop_assert_eq!(gains.length, longest_path(&made, &|_, _| true));
            for found in gains.gains {
                let slow = |inclusive: bool, on_path: bool| {
                    let stays = |thread, tick| {
                        let is_its = has(&made, found.node, thread, path_of_work(&made, thread, tick), inclusive);
                        !(is_its && (!on_path || is_on(segments, thread, tick)))
                    };
                    (gains.length - longest_path(&made, &stays)) as f64
                };
                prop_assert_eq!(found.zeroing, slow(false, false));
                prop_assert_eq!(found.zeroing_inclusive, slow(true, false));
                prop_assert_eq!(found.slack, slow(false, true));
                prop_assert_eq!(found.slack_inclusive, slow(true, true));
            }
        }
    }

    #[test]
    fn every_lane_by_elapsed_weight_is_what_a_walk_through_time_finds(made in random_timelines(5, 60)) {
        let gains = gains_of(&made, By::Procedure, Weight::Elapsed);
        for found in gains.gains {
            for (fast, inclusive) in [(found.zeroing, false), (found.zeroing_inclusive, true)] {
                let work = |thread, path, _| {
                    if has(&made, found.node, thread, path, inclusive) { 0.0 } else { 1.0 }
                };
                let altered = Altered { elapsed: true, work: &work, object: &|_| 1.0 };
                prop_assert_eq!(fast, gain(&made, &altered));
            }
        }
    }

    #[test]
    fn every_object_s_lane_is_what_a_walk_through_time_finds(made in random_timelines(5, 60)) {
        for weight in [Weight::Cpu, Weight::Elapsed] {
            for found in gains_of(&made, By::Object, weight).gains {
                let Node::Object(id) = found.node else { panic!("rows are objects") };
                let object = made.objects.get(id);
                let altered = Altered {
                    elapsed: weight == Weight::Elapsed,
                    work: &|_, _, _| 1.0,
                    object: &|other| if made.objects.get(other) == object { 0.0 } else { 1.0 },
                };
                prop_assert_eq!(found.zeroing, gain(&made, &altered));
            }
        }
    }

    #[test]
    fn zeroing_is_at_least_slack_and_at_most_what_is_on_the_path(made in random_timelines(5, 80)) {
        let Ok(analysis) = analyse(&made, &RECORDED);
        for by in [By::Procedure, By::Line, By::Thread, By::Process, By::Machine] {
            let gains = gains_of(&made, by, Weight::Cpu);
            let rows = rows(&analysis, &made.program, &made.paths, by, |_| true);
            for found in gains.gains {
                let row = rows.iter().find(|row| row.node == found.node).expect("it was charged");
                prop_assert!(found.slack >= 0.0 && found.slack_inclusive >= 0.0);
                prop_assert!(found.zeroing >= found.slack);
                prop_assert!(found.zeroing_inclusive >= found.zeroing.max(found.slack_inclusive));
                prop_assert!(found.zeroing <= row.own.critical_cpu as f64);
                prop_assert!(found.zeroing_inclusive <= row.inclusive.critical_cpu as f64);
                prop_assert!(row.own.critical_cpu <= row.own.running);
            }
        }
    }

    #[test]
    fn how_many_lanes_a_sweep_has_changes_nothing(made in random_timelines(5, 60)) {
        let Ok(analysis) = analyse(&made, &RECORDED);
        let Ok(mut foresight) = LaneLookahead::of(&made, RECORDED.order);
        let of = GainsOf { by: By::Line, weight: Weight::Cpu };
        let Ok(whole) = gains(&made, &RECORDED, of, &analysis, &foresight);
        foresight.peak = usize::MAX;
        let Ok(parts) = gains(&made, &RECORDED, of, &analysis, &foresight);
        prop_assert_eq!(whole, parts);
    }
}

/// Much work beside the path is executed, too, if a trace of it lies on the path.
#[test]
fn work_with_a_trace_on_the_path_is_executed() {
    let made = draw(&format!("T1 {}U\nT2 {}", "A".repeat(20_000), "U".repeat(1000)));
    let Ok(analysis) = analyse(&made, &RECORDED);
    let demand = crate::DetailsDemand { prospects: true, ..Default::default() };
    let Ok(found) = crate::details(&made, &RECORDED, &demand, &analysis);
    let gains = found.executions.expect("it is short").gains;
    let of = |name: &str| gains.get(&Node::Procedure(made.procedure(name))).map(|gain| gain.free.round());
    assert_eq!(of("U"), Some(1.0));
    assert_eq!(of("A"), Some(19_001.0));
}
