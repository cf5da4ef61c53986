//! Courses against a slow twin that asks each nanosecond.

use longpole_event::{MachineId, ProcessId, SeriesKind, ThreadId, Time};
use longpole_trace::{Machine, Paths, Process, Program, Thread};
use proptest::prelude::*;

use super::*;

const PROGRAM: OutsideNode = OutsideNode::Program;

fn at(nanoseconds: u64) -> Time {
    Time::from_nanoseconds(nanoseconds)
}

/// Two machines, a process on the first and two on the second, two threads in each.
fn program() -> Program {
    let process = |(machine, pid)| Process {
        machine: MachineId(machine),
        pid,
        name: String::new(),
        title: String::new(),
        parent: None,
        rank: None,
    };
    let thread = |index: u32| Thread {
        process: ProcessId(index / 2),
        tid: index,
        name: String::new(),
        start: Time::ZERO,
        end: None,
        creator: None,
        prefix: Paths::ROOT,
    };
    Program {
        machines: vec![Machine::default(); 2],
        processes: [(0, 1), (1, 1), (1, 2)].map(process).to_vec(),
        threads: (0..6).map(thread).collect(),
        ..Program::default()
    }
}

fn series(
    samples: SeriesKind,
    node: OutsideNode,
    label: &str,
    end: Option<u64>,
    values: &[(u64, f64)],
) -> Series {
    Series {
        metric: "m".into(),
        unit: String::new(),
        samples,
        node,
        label: label.into(),
        collector: "test".into(),
        end: end.map(at),
        values: values.iter().map(|&(time, value)| (at(time), value)).collect(),
    }
}

/// Of the whole program in bins of the window, a nanosecond being a second.
fn values(series: &[Series], aggregation: Aggregation, window: (u64, u64, usize)) -> Vec<f64> {
    let window = Window { from: at(window.0), to: at(window.1), bins: window.2 };
    let course = course(series, &SeriesTree::of(series, &program()), (PROGRAM, None), aggregation, window);
    let scale = if course.is_gauge { 1.0 } else { 1e-9 };
    course.values.iter().map(|value| value * scale).collect()
}

fn machine(index: u32) -> OutsideNode {
    OutsideNode::Machine(MachineId(index))
}

#[test]
fn a_counter_is_spread_between_its_numbers_and_begins_anew_when_it_falls() {
    let counter =
        [series(SeriesKind::Counter, machine(0), "", None, &[(0, 5.0), (10, 25.0), (15, 10.0), (20, 10.0)])];
    assert_eq!(values(&counter, Aggregation::Sum, (0, 20, 4)), [2.0, 2.0, 2.0, 0.0]);
    assert!(values(&counter, Aggregation::Sum, (0, 40, 2))[1].is_nan());
    let whole = Window { from: at(0), to: at(30), bins: 3 };
    let course =
        course(&counter, &SeriesTree::of(&counter, &program()), (PROGRAM, None), Aggregation::Sum, whole);
    assert_eq!(course.table_value(TableCalculation::Total), Some(30.0));
    assert_eq!(course.table_value(TableCalculation::Average), Some(30.0 / 30e-9));
    assert_eq!(course.table_value(TableCalculation::Minimum), Some(10.0 / 10e-9));
    assert_eq!(course.table_value(TableCalculation::Last), Some(10.0 / 10e-9));
}

#[test]
fn a_gauge_is_its_mean_while_its_process_lives() {
    let gauge = [series(
        SeriesKind::Gauge,
        OutsideNode::Process(ProcessId(0)),
        "",
        Some(14),
        &[(4, 10.0), (12, 40.0)],
    )];
    let found = values(&gauge, Aggregation::Sum, (0, 20, 4));
    assert_eq!(found[1..3], [10.0, 25.0]);
    // From 4 to 5 it has a value, and that is the mean of the bin; after its process there is none.
    assert_eq!(found[0], 10.0);
    assert!(found[3].is_nan());
}

#[test]
fn processes_one_after_another_do_not_add_up() {
    let one = |index: u32| {
        let values = [(u64::from(index) * 10, 7.0)];
        series(
            SeriesKind::Gauge,
            OutsideNode::Process(ProcessId(index)),
            "",
            Some(u64::from(index) * 10 + 10),
            &values,
        )
    };
    let all = [one(0), one(1), one(2)];
    assert_eq!(values(&all, Aggregation::Sum, (0, 30, 1)), [7.0]);
    assert_eq!(values(&all, Aggregation::Average, (0, 30, 1)), [7.0]);
}

#[test]
fn an_average_is_of_the_parts_of_each_level() {
    let gauge = |node, value| series(SeriesKind::Gauge, node, "", None, &[(0, value)]);
    let thread = |index, value| gauge(OutsideNode::Thread(ThreadId(index)), value);
    // The second process has two threads, the third one; the first machine has none.
    let threads = [thread(2, 10.0), thread(3, 20.0), thread(4, 45.0)];
    assert_eq!(values(&threads, Aggregation::Average, (0, 10, 1)), [30.0]);
    assert_eq!(values(&threads, Aggregation::Sum, (0, 10, 1)), [75.0]);
    assert_eq!(SeriesTree::of(&threads, &program()).nodes().len(), 7);
}

#[test]
fn the_whole_of_a_node_hides_its_parts_and_a_label_asks_for_one() {
    let gauge = |label, value| series(SeriesKind::Gauge, machine(0), label, None, &[(0, value)]);
    let cpus = [gauge("cpu0", 1.0), gauge("cpu1", 2.0)];
    assert_eq!(values(&cpus, Aggregation::Sum, (0, 10, 1)), [3.0]);
    let all = [gauge("", 5.0), gauge("cpu0", 1.0), gauge("cpu1", 2.0)];
    assert_eq!(values(&all, Aggregation::Sum, (0, 10, 1)), [5.0]);
    let window = Window { from: at(0), to: at(10), bins: 1 };
    let labelled = |label| {
        course(&all, &SeriesTree::of(&all, &program()), (machine(0), Some(label)), Aggregation::Sum, window)
            .values[0]
    };
    assert_eq!(labelled("cpu1"), 2.0);
    assert!(labelled("cpu2").is_nan());
}

#[test]
fn amounts_at_one_moment_are_all_there() {
    let amount =
        [series(SeriesKind::Amount, PROGRAM, "", None, &[(0, 1.0), (10, 2.0), (10, 3.0), (20, 4.0)])];
    let window = Window { from: at(0), to: at(20), bins: 2 };
    let course =
        course(&amount, &SeriesTree::of(&amount, &program()), (PROGRAM, None), Aggregation::Sum, window);
    assert_eq!(course.total, 10.0);
    assert_eq!(course.values.iter().map(|value| (value * 1e-8).round()).collect::<Vec<_>>(), [6.0, 4.0]);
}

#[test]
fn a_window_without_length_or_series_has_no_values() {
    let gauge = [series(SeriesKind::Gauge, PROGRAM, "", None, &[(0, 1.0)])];
    assert!(values(&gauge, Aggregation::Average, (5, 5, 3)).iter().all(|value| value.is_nan()));
    assert!(values(&[], Aggregation::Sum, (0, 5, 3)).iter().all(|value| value.is_nan()));
    let window = Window { from: at(0), to: at(9), bins: 2 };
    let nothing = course(&[], &SeriesTree::of(&[], &program()), (PROGRAM, None), Aggregation::Sum, window);
    assert_eq!(nothing.table_value(TableCalculation::Total), None);
}

/// The value of a series in the nanosecond after `tick`: of counters and amounts per nanosecond.
fn value_in(series: &Series, tick: u64) -> Option<f64> {
    let numbers: Vec<_> = series.values.iter().map(|&(time, value)| (time.nanoseconds(), value)).collect();
    if series.samples == SeriesKind::Gauge {
        let is_over = series.end.is_some_and(|end| end.nanoseconds() <= tick);
        return numbers.iter().rfind(|number| number.0 <= tick && !is_over).map(|number| number.1);
    }
    let mut found = None;
    for (index, &(time, value)) in numbers.iter().enumerate() {
        let (from, came) = match (series.samples, index.checked_sub(1).map(|before| numbers[before])) {
            (SeriesKind::Counter, None) => continue,
            (SeriesKind::Counter, Some((from, last))) => {
                (from, if value < last { value } else { value - last })
            }
            (_, None) => (time, value),
            (_, Some((from, _))) => (from, value),
        };
        // What has no time comes in the nanosecond before, or in the first.
        let (from, to) = if from < time { (from, time) } else { (time.max(1) - 1, time.max(1)) };
        if (from..to).contains(&tick) {
            *found.get_or_insert(0.0) += came / (to - from) as f64;
        }
    }
    found
}

/// The value of a node, from the definition: its own series, or the nodes below it.
fn node_in(all: &[Series], node: OutsideNode, aggregation: Aggregation, tick: u64) -> Option<f64> {
    let program = program();
    let own: Vec<_> = all.iter().filter(|series| series.node == node).collect();
    let has_whole = own.iter().any(|series| series.label.is_empty());
    let parts: Vec<f64> = if own.is_empty() {
        let machines = (0..2).map(|index| OutsideNode::Machine(MachineId(index)));
        let processes = (0..3).map(|index| OutsideNode::Process(ProcessId(index)));
        let threads = (0..6).map(|index| OutsideNode::Thread(ThreadId(index)));
        let below = machines.chain(processes).chain(threads).filter(|below| match (node, below) {
            (OutsideNode::Program, OutsideNode::Machine(_)) => true,
            (OutsideNode::Machine(above), OutsideNode::Process(process)) => {
                program.processes[process.index()].machine == above
            }
            (OutsideNode::Process(above), OutsideNode::Thread(thread)) => {
                program.threads[thread.index()].process == above
            }
            _ => false,
        });
        below.filter_map(|below| node_in(all, below, aggregation, tick)).collect()
    } else {
        let own = own.into_iter().filter(|series| !has_whole || series.label.is_empty());
        own.filter_map(|series| value_in(series, tick)).collect()
    };
    let sum: f64 = parts.iter().sum();
    match aggregation {
        _ if parts.is_empty() => None,
        Aggregation::Sum => Some(sum),
        Aggregation::Average => Some(sum / parts.len() as f64),
    }
}

fn any_node() -> impl Strategy<Value = OutsideNode> {
    prop_oneof![
        1 => Just(OutsideNode::Program),
        2 => (0_u32..2).prop_map(machine),
        3 => (0_u32..3).prop_map(|index| OutsideNode::Process(ProcessId(index))),
        5 => (0_u32..6).prop_map(|index| OutsideNode::Thread(ThreadId(index))),
    ]
}

fn any_series(is_gauge: bool) -> impl Strategy<Value = Series> {
    let numbers = proptest::collection::vec((0_u64..12, 0_u32..100), 1..8);
    let samples = if is_gauge {
        Just(SeriesKind::Gauge).boxed()
    } else {
        prop_oneof![Just(SeriesKind::Counter), Just(SeriesKind::Amount)].boxed()
    };
    let label = prop_oneof![Just(""), Just("a"), Just("b")];
    let end = proptest::option::of(20_u64..60);
    (samples, any_node(), label, end, 0_u64..30, numbers).prop_map(
        |(samples, node, label, end, first, numbers)| {
            let mut time = first;
            let values: Vec<_> = numbers
                .into_iter()
                .map(|(step, value)| {
                    time += step;
                    (time, f64::from(value))
                })
                .collect();
            series(samples, node, label, end, &values)
        },
    )
}

fn close(one: f64, other: f64) -> bool {
    (one.is_nan() && other.is_nan()) || (one - other).abs() <= 1e-9 * (1.0 + other.abs())
}

proptest! {
    #[test]
    fn every_bin_is_the_mean_of_its_nanoseconds(
        all in any::<bool>().prop_flat_map(|is_gauge| proptest::collection::vec(any_series(is_gauge), 1..8)),
        node in any_node(),
        is_sum: bool,
        window in (0_u64..40, 0_u64..70, 1_usize..30),
    ) {
        let aggregation = if is_sum { Aggregation::Sum } else { Aggregation::Average };
        let window = Window { from: at(window.0), to: at(window.0 + window.1), bins: window.2 };
        let found = course(&all, &SeriesTree::of(&all, &program()), (node, None), aggregation, window);
        let mut total = 0.0;
        for (bin, &value) in found.values.iter().enumerate() {
            let (from, to) = (window.edge(bin).nanoseconds(), window.edge(bin + 1).nanoseconds());
            let ticks: Vec<f64> =
                (from..to).filter_map(|tick| node_in(&all, node, aggregation, tick)).collect();
            let sum: f64 = ticks.iter().sum();
            total += sum;
            let over = if found.is_gauge { ticks.len() as f64 } else { (to - from) as f64 / 1e9 };
            let expected = if ticks.is_empty() { f64::NAN } else { sum / over };
            prop_assert!(close(value, expected), "bin {bin}: {value} for {expected}");
        }
        let expected = if found.is_gauge { total / 1e9 } else { total };
        prop_assert!(close(found.total, expected), "total: {} for {expected}", found.total);
    }
}
