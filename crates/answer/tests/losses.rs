//! A recording of which a random part of the events is missing: the ranges of gains hold the truth.
//!
//! The oracle is a closed form. Two threads work in turn, so that without the work of one of them the run is shorter by
//! exactly that. The run is written as a recording, events are dropped at random, and the loss is told as a collector
//! tells it.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test that cannot be set up fails, and says what it found"
)]

use std::fmt::Write;
use std::path::Path;

use longpole_answer::{Question, Recording};
use longpole_event::{Event, EventKind, LossKind, MachineId, ThreadId, Time};
use longpole_recording::{LogBuilder, LogName, RecordingFolder};
use longpole_report::{Cell, Report, View};
use longpole_testkit::{Drawing, define_again, read_log};

const MACHINE: MachineId = MachineId(0);

/// Numbers that look random, the same each time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }
}

/// A run, and what it would gain without each thread's work, as parts of it.
struct Case {
    text: String,
    gains: [(&'static str, f64); 2],
}

/// On one processor, where no work can be done beside other work: `ping` runs A and lets `pong` go on, which runs B and lets `ping` go on.
fn case(dice: &mut Dice) -> Case {
    let lengths = [2 + dice.below(12), 2 + dice.below(12)];
    let mut rows = [String::new(), String::new()];
    let (mut notes, mut worked, mut at) = (String::new(), [0; 2], 0);
    for round in 0..40 {
        let who = round % 2;
        let length = lengths[who] + dice.below(3);
        worked[who] += length;
        for _ in 0..length {
            rows[who].push(['A', 'B'][who]);
            rows[1 - who].push('c');
        }
        for look in (at + 1..at + length).filter(|_| dice.below(3) == 0) {
            writeln!(notes, "{}@{look} look", ["ping", "pong"][who]).unwrap();
        }
        at += length;
        if round < 39 {
            let (from, to) = [("ping", "pong"), ("pong", "ping")][who];
            writeln!(notes, "{from}@{at} -> {to} signal").unwrap();
        }
    }
    let text = format!("unit 200000\ncpus 1\nping {}\npong {}\n{notes}", rows[0], rows[1]);
    let gains = [("A", worked[0] as f64 / at as f64), ("B", worked[1] as f64 / at as f64)];
    Case { text, gains }
}

/// Writes the recording again without some of its events; gives how many of how many are lost.
fn drop_events(from: &Path, to: &Path, dice: &mut Dice, percent: u64) -> (u64, u64) {
    let (whole, manifest) = RecordingFolder::open(from).unwrap();
    let folder = RecordingFolder::create(to, &manifest).unwrap();
    let (tables, events) = read_log(&whole, MACHINE, LogName::Events);
    let mut log = LogBuilder::new(folder.create_log(MACHINE, LogName::Events).unwrap());
    define_again(&tables, &mut log);
    let (mut lost, all) = (0, events.len() as u64);
    let mut last = Time::ZERO;
    for event in events {
        last = event.time;
        let is_needed =
            matches!(event.kind, EventKind::Start { .. } | EventKind::Name { .. } | EventKind::Exit);
        if !is_needed && dice.below(100) < percent {
            lost += 1;
        } else {
            log.event(event).unwrap();
        }
    }
    let kind = EventKind::Lost { kind: LossKind::Events, count: lost };
    log.event(Event { time: last, cpu: 0, thread: ThreadId(0), kind }).unwrap();
    log.flush().unwrap();
    let (symbols, _) = read_log(&whole, MACHINE, LogName::Symbols);
    let mut log = LogBuilder::new(folder.create_log(MACHINE, LogName::Symbols).unwrap());
    define_again(&symbols, &mut log);
    log.flush().unwrap();
    (lost, all)
}

fn number(report: &Report, procedure: &str, column: &str) -> Option<f64> {
    let is_its = |row: &&longpole_report::Row| {
        let text = |column| row.get(column).map(Cell::text).unwrap_or_default();
        text("section") == "change" && text("procedure") == procedure
    };
    match report.rows.iter().find(is_its)?.get(column)? {
        Cell::Number(number) => Some(*number),
        _ => None,
    }
}

/// How many ranges hold the truth, of how many that are told; and the mean width, in percent of the run.
fn held(percent: u64) -> (u64, u64, f64) {
    let (mut held, mut cases, mut width) = (0, 0, 0.0);
    for seed in 0..30 {
        let mut dice = Dice(seed * 7919 + percent);
        let case = case(&mut dice);
        let place = tempfile::tempdir().unwrap();
        let (whole, part) = (place.path().join("whole.longpole"), place.path().join("part.longpole"));
        Drawing::parse(&case.text).unwrap().write(&whole).unwrap();
        drop_events(&whole, &part, &mut dice, percent);
        let report = Recording::open(&part).unwrap().report(View::Summary, &Question::default()).unwrap();
        for (procedure, truth) in case.gains {
            let range = number(&report, procedure, "gain_low_percent").zip(number(
                &report,
                procedure,
                "gain_high_percent",
            ));
            // Of too few observations nothing is promised.
            let Some((low, high)) = range else { continue };
            cases += 1;
            let is_held = (low - 0.5..=high + 0.5).contains(&(100.0 * truth));
            if !is_held {
                eprintln!(
                    "seed {seed}, {percent} % lost: {procedure} is {:.1} %, told {range:?}",
                    100.0 * truth
                );
            }
            width += high - low;
            held += u64::from(is_held);
        }
    }
    (held, cases, width / cases as f64)
}

#[test]
fn ranges_hold_the_truth_where_up_to_a_third_of_the_events_is_lost() {
    let (whole, _, narrow) = held(0);
    assert!(whole >= 54, "without a loss {whole} of 60");
    for percent in [5, 15, 30] {
        let (held, cases, width) = held(percent);
        eprintln!("{percent} % lost: {held} of {cases} ranges hold the truth, {width:.1} % of the run wide");
        assert!(cases >= 30, "{percent} % lost: {cases} of 60 have a range");
        assert!(10 * held >= 9 * cases, "{percent} % lost: {held} of {cases}");
        assert!(width > narrow, "{width} % wide with a loss, {narrow} % without");
    }
}

#[test]
fn of_a_run_of_which_half_is_lost_nothing_is_promised() {
    let (_, cases, _) = held(50);
    assert_eq!(cases, 0, "ranges told");
}

#[test]
fn a_large_loss_is_what_the_answer_begins_with() {
    let mut dice = Dice(1);
    let case = case(&mut dice);
    let place = tempfile::tempdir().unwrap();
    let (whole, part) = (place.path().join("whole.longpole"), place.path().join("part.longpole"));
    Drawing::parse(&case.text).unwrap().write(&whole).unwrap();
    let (lost, all) = drop_events(&whole, &part, &mut dice, 40);
    let report = Recording::open(&part).unwrap().report(View::Summary, &Question::default()).unwrap();
    let text = report.text(&longpole_report::Style::plain(200));
    let share = (100 * lost) as f64 / (all + 1) as f64;
    let first = text.lines().next().unwrap_or_default();
    assert!(first.contains(&format!("{share:.0} % of the events were lost")), "{share}: {text}");
}
