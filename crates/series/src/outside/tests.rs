//! Series through the files of a recording.

use std::path::Path;

use longpole_event::{
    Event, EventKind, MachineId, ProcessId, SeriesId, SeriesKind, SeriesNode, ThreadId, Time,
};
use longpole_recording::{ClockModel, LogBuilder, LogName, Manifest, RecordingFolder};
use longpole_trace::{Machine, Paths, Process, Program, Thread};
use proptest::prelude::*;

use super::*;

/// The run begins at this time on the first machine's clock.
const BEGIN: u64 = 5_000_000_000;
const SECOND: u64 = 1_000_000_000;

fn at(seconds: f64) -> Time {
    Time::from_nanoseconds((seconds * 1e9) as u64)
}

/// A log that tests put values into, at seconds since the begin.
struct Log(LogBuilder);

impl Log {
    fn new(folder: &RecordingFolder, machine: u32) -> Self {
        Log(LogBuilder::new(folder.create_log(MachineId(machine), LogName::Series).unwrap()))
    }

    fn series(&mut self, metric: &str, samples: SeriesKind, node: SeriesNode) -> SeriesId {
        let name = self.0.text(metric).unwrap();
        let (unit, label) = (self.0.text("things").unwrap(), self.0.text("").unwrap());
        let collector = self.0.text("test").unwrap();
        self.0
            .series(longpole_event::SeriesDefinition { name, unit, samples, node, label, collector })
            .unwrap()
    }

    fn put(&mut self, series: SeriesId, seconds: f64, value: f64) {
        let time = Time::from_nanoseconds((BEGIN as f64 + seconds * 1e9) as u64);
        let kind = EventKind::Value { series, value };
        self.0.event(Event { time, cpu: 0, thread: ThreadId(0), kind }).unwrap();
    }

    fn put_all(&mut self, series: SeriesId, values: &[(f64, f64)]) {
        values.iter().for_each(|&(seconds, value)| self.put(series, seconds, value));
    }
}

fn manifest(machines: usize) -> Manifest {
    let machine = |index| longpole_recording::MachineDescription {
        name: format!("m{index}"),
        ..longpole_recording::MachineDescription::default()
    };
    Manifest { machines: (0..machines).map(machine).collect(), ..Manifest::default() }
}

fn thread(process: u32, tid: u32, start: f64, end: Option<f64>) -> Thread {
    Thread {
        process: ProcessId(process),
        tid,
        name: String::new(),
        start: at(start),
        end: end.map(at),
        creator: None,
        prefix: Paths::ROOT,
    }
}

/// Processes 0 (pid 7, to 10 s) and 1 (pid 7 again, from 20 s) on the first machine, 2 (pid 7) on the second.
fn program() -> Program {
    let process = |machine| Process {
        machine: MachineId(machine),
        pid: 7,
        name: String::new(),
        title: String::new(),
        parent: None,
        rank: None,
    };
    Program {
        machines: vec![Machine::default(); 2],
        processes: [0, 0, 1].map(process).to_vec(),
        threads: vec![
            thread(0, 7, 0.0, Some(10.0)),
            thread(0, 8, 1.0, Some(4.0)),
            thread(1, 7, 20.0, None),
            thread(2, 7, 0.0, None),
        ],
        begin_nanoseconds: BEGIN,
        elapsed_nanoseconds: 30 * SECOND,
        ..Program::default()
    }
}

fn read(folder: &RecordingFolder, manifest: &Manifest) -> Outside {
    Outside::read(folder, manifest, &program()).unwrap()
}

fn with_folder<T>(machines: usize, test: impl FnOnce(&RecordingFolder, &Manifest, &Path) -> T) -> T {
    let temporary = tempfile::tempdir().unwrap();
    let path = temporary.path().join("run.longpole");
    let manifest = manifest(machines);
    let folder = RecordingFolder::create(&path, &manifest).unwrap();
    test(&folder, &manifest, &path)
}

#[test]
fn a_pid_that_came_back_splits_its_series() {
    with_folder(1, |folder, manifest, _| {
        let mut log = Log::new(folder, 0);
        let faults = log.series("faults", SeriesKind::Counter, SeriesNode::Process { pid: 7 });
        let thread = log.series("faults", SeriesKind::Counter, SeriesNode::Thread { tid: 8 });
        let stranger = log.series("faults", SeriesKind::Counter, SeriesNode::Process { pid: 99 });
        log.put_all(faults, &[(1.0, 1.0), (9.0, 5.0), (10.5, 6.0), (15.0, 3.0), (20.0, 0.0), (21.0, 9.0)]);
        log.put_all(thread, &[(2.0, 1.0)]);
        log.put_all(stranger, &[(1.0, 1.0), (2.0, 1.0)]);
        log.0.flush().unwrap();
        let outside = read(folder, manifest);
        let found: Vec<_> = outside
            .of("faults")
            .iter()
            .map(|series| (series.node, series.end, series.values.len()))
            .collect();
        assert_eq!(
            found,
            [
                (OutsideNode::Process(ProcessId(0)), Some(at(10.0)), 3),
                (OutsideNode::Process(ProcessId(1)), None, 2),
                (OutsideNode::Thread(ThreadId(1)), Some(at(4.0)), 1),
            ]
        );
        assert_eq!(outside.series[1].values, [(at(20.0), 0.0), (at(21.0), 9.0)]);
        assert_eq!(
            outside.notes,
            [
                "`faults`: 3 values left out: of 2 process or thread numbers that the program did not have then"
            ]
        );
        assert_eq!(outside.of("fault").len() + outside.of("faultss").len(), 0);
    });
}

#[test]
fn machines_have_clocks_and_pids_of_their_own() {
    with_folder(2, |folder, manifest, _| {
        let mut manifest = manifest.clone();
        manifest.machines[1].clock =
            ClockModel { offset_nanoseconds: -(SECOND as i64), ..ClockModel::default() };
        for machine in 0..2 {
            let mut log = Log::new(folder, machine);
            let load = log.series("load", SeriesKind::Gauge, SeriesNode::Machine);
            log.put(load, 3.0, 0.5);
            let own = log.series("own", SeriesKind::Gauge, SeriesNode::Process { pid: 7 });
            log.put(own, 3.0, 0.5);
            let all = log.series("power", SeriesKind::Gauge, SeriesNode::Program);
            log.put(all, 3.0, 0.5);
            log.0.flush().unwrap();
        }
        let outside = read(folder, &manifest);
        let places: Vec<_> = outside.series.iter().map(|series| (series.node, series.values[0].0)).collect();
        assert_eq!(
            places,
            [
                (OutsideNode::Machine(MachineId(0)), at(3.0)),
                (OutsideNode::Machine(MachineId(1)), at(2.0)),
                (OutsideNode::Process(ProcessId(0)), at(3.0)),
                (OutsideNode::Process(ProcessId(2)), at(2.0)),
                (OutsideNode::Program, at(2.0)),
                (OutsideNode::Program, at(3.0)),
            ]
        );
        assert_eq!(outside.metrics().map(<[Series]>::len).collect::<Vec<_>>(), [2, 2, 2]);
        assert_eq!(outside.notes, Vec::<String>::new());
    });
}

#[test]
fn what_was_before_the_run_is_one_value_at_its_begin() {
    with_folder(1, |folder, manifest, _| {
        let mut log = Log::new(folder, 0);
        let counter = log.series("counter", SeriesKind::Counter, SeriesNode::Machine);
        let fallen = log.series("fallen", SeriesKind::Counter, SeriesNode::Machine);
        let gauge = log.series("gauge", SeriesKind::Gauge, SeriesNode::Machine);
        let amount = log.series("amount", SeriesKind::Amount, SeriesNode::Machine);
        let early = log.series("early", SeriesKind::Gauge, SeriesNode::Machine);
        for series in [counter, fallen, gauge, amount] {
            log.put_all(series, &[(-2.0, 50.0), (-1.0, 100.0)]);
        }
        log.put(early, -1.0, 4.0);
        log.put(counter, 3.0, 140.0);
        log.put(fallen, 3.0, 40.0);
        log.put(gauge, 3.0, 7.0);
        log.put(amount, 3.0, 40.0);
        log.0.flush().unwrap();
        let outside = read(folder, manifest);
        let values = |metric: &str| outside.of(metric)[0].values.clone();
        assert_eq!(values("counter"), [(at(0.0), 110.0), (at(3.0), 140.0)]);
        assert_eq!(values("fallen"), [(at(0.0), 10.0), (at(3.0), 40.0)]);
        assert_eq!(values("gauge"), [(at(0.0), 100.0), (at(3.0), 7.0)]);
        assert_eq!(values("amount"), [(at(0.0), 0.0), (at(3.0), 30.0)]);
        assert_eq!(values("early"), [(at(0.0), 4.0)]);
    });
}

#[test]
fn bad_values_are_counted_and_the_rest_stands() {
    with_folder(1, |folder, manifest, _| {
        let mut log = Log::new(folder, 0);
        let odd = log.series("odd", SeriesKind::Counter, SeriesNode::Machine);
        log.put_all(odd, &[(1.0, 1.0), (2.0, f64::NAN), (3.0, 5.0), (2.0, 4.0), (-1.0, 0.0), (4.0, 2.0)]);
        log.put(SeriesId(77), 1.0, 1.0);
        log.0.flush().unwrap();
        let outside = read(folder, manifest);
        assert_eq!(outside.series[0].values, [(at(1.0), 1.0), (at(3.0), 5.0), (at(4.0), 2.0)]);
        assert_eq!(
            outside.notes,
            [
                "1 value of outside series whose description is lost",
                "`odd`: 2 values left out: earlier than the value before",
                "`odd`: 1 value left out: no number",
                "`odd` fell 1 time: each time it is taken to have begun anew from zero",
            ]
        );
    });
}

/// Blocks of ten values of two series each; what is read of it.
fn damaged(change: impl FnOnce(&mut Vec<u8>)) -> Outside {
    with_folder(1, |folder, manifest, path| {
        let mut log = Log::new(folder, 0);
        for block in 0..3 {
            let series = log.series(&format!("metric{block}"), SeriesKind::Amount, SeriesNode::Machine);
            for value in 0..10 {
                log.put(series, f64::from(block * 10 + value), 1.0);
            }
            log.0.flush().unwrap();
        }
        drop(log);
        let file = path.join("machine-0/series.log");
        let mut bytes = std::fs::read(&file).unwrap();
        change(&mut bytes);
        std::fs::write(&file, bytes).unwrap();
        read(folder, manifest)
    })
}

#[test]
fn a_log_cut_anywhere_gives_what_is_whole() {
    let mut whole = 0;
    let length = {
        let mut length = 0;
        damaged(|bytes| length = bytes.len());
        length
    };
    for cut in (0..length).step_by(7) {
        let outside = damaged(|bytes| bytes.truncate(cut));
        let values: Vec<_> = outside.series.iter().map(|series| series.values.len()).collect();
        assert!(values.iter().all(|&values| values == 10), "cut at {cut}: {values:?}");
        assert!(values.len() >= whole && values.len() < 3);
        whole = values.len();
        let is_at_block = outside.notes.is_empty();
        assert!(is_at_block || outside.notes.len() == 1, "{:?}", outside.notes);
    }
    assert_eq!(whole, 2);
}

#[test]
fn a_damaged_block_costs_what_it_held() {
    let outside = damaged(|bytes| bytes[60] ^= 0x10);
    let metrics: Vec<_> = outside.series.iter().map(|series| series.metric.as_str()).collect();
    assert_eq!(metrics, ["metric1", "metric2"]);
    assert_eq!(
        outside.notes,
        ["the outside series of m0 have gaps: 1 damaged blocks, 0 bytes cut off at the end"]
    );
    // Texts that stood in the block are lost for those after it too.
    let rest = |series: &Series| (series.label.is_empty(), series.collector.is_empty(), series.values.len());
    assert!(outside.series.iter().all(|series| rest(series) == (true, true, 10)));
}

#[test]
fn another_file_in_its_place_is_told_and_a_missing_one_is_not() {
    let outside = damaged(|bytes| *bytes = b"name,value\nfoo,3\nbar,4\n".to_vec());
    assert!(outside.series.is_empty());
    assert!(
        outside.notes[0].starts_with("the outside series of m0 are lost: failed to read "),
        "{:?}",
        outside.notes
    );
    with_folder(1, |folder, manifest, _| assert_eq!(read(folder, manifest), Outside::default()));
}

/// Not asserted by time; a minute here would be seen.
#[test]
fn a_million_values_are_read() {
    with_folder(1, |folder, manifest, _| {
        let mut log = Log::new(folder, 0);
        let ids: Vec<_> = (0..10)
            .map(|index| {
                log.series(&format!("metric{index}"), SeriesKind::Counter, SeriesNode::Process { pid: 7 })
            })
            .collect();
        for step in 0..100_000_u32 {
            for &id in &ids {
                log.put(id, f64::from(step) / 20_000.0, f64::from(step));
            }
        }
        log.0.flush().unwrap();
        let outside = read(folder, manifest);
        assert_eq!(outside.series.iter().map(|series| series.values.len()).sum::<usize>(), 1_000_000);
        assert!(outside.notes.is_empty());
    });
}

fn any_event() -> impl Strategy<Value = (u32, u64, f64)> {
    let time = prop_oneof![any::<u64>(), BEGIN - SECOND..BEGIN + 40 * SECOND, Just(0), Just(u64::MAX)];
    let value = prop_oneof![any::<f64>(), (0_u32..100).prop_map(f64::from)];
    (0_u32..10, time, value)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn whatever_a_log_says_is_read_into_ordered_numbers(events in proptest::collection::vec(any_event(), 0..60)) {
        with_folder(1, |folder, manifest, _| {
            let mut log = Log::new(folder, 0);
            let nodes = [
                SeriesNode::Program,
                SeriesNode::Machine,
                SeriesNode::Process { pid: 7 },
                SeriesNode::Process { pid: u32::MAX },
                SeriesNode::Thread { tid: 8 },
            ];
            for (index, node) in nodes.into_iter().enumerate() {
                let samples = [SeriesKind::Gauge, SeriesKind::Counter, SeriesKind::Amount][index % 3];
                log.series(["one", "two"][index % 2], samples, node);
            }
            for &(series, time, value) in &events {
                let (time, series) = (Time::from_nanoseconds(time), SeriesId(series));
                let kind = EventKind::Value { series, value };
                log.0.event(Event { time, cpu: 0, thread: ThreadId(0), kind }).unwrap();
            }
            log.0.flush().unwrap();
            let outside = read(folder, manifest);
            let mut kept = 0;
            for series in &outside.series {
                kept += series.values.len();
                assert!(series.values.is_sorted_by_key(|&(time, _)| time));
                assert!(series.values.iter().all(|(_, value)| value.is_finite()));
            }
            assert!(kept <= events.len());
            let window = crate::Window { from: at(0.0), to: at(30.0), bins: 7 };
            for (series, aggregation) in outside.metrics().zip(crate::Aggregation::ALL.into_iter().cycle()) {
                let course = crate::course(series, &crate::SeriesTree::of(series, &program()), (OutsideNode::Program, None), aggregation, window);
                assert_eq!(course.values.len(), 7);
            }
        });
    }
}
