//! Spins before waits last as long as they do, however seldom a sample falls into them (metrics.md §1).

#![allow(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

mod support;

use longpole_event::{StackId, ThreadId};
use longpole_trace::{Item, ItemKind, ObservationKind, PathId, State, Timelines, Trace};
use support::{Log, machine, recording};

const MICROSECOND: u64 = 1_000;
const MILLISECOND: u64 = 1_000_000;
/// Mean time between two looks of the timer.
const PERIOD: u64 = 2 * MILLISECOND;
const END: u64 = 12_000 * MILLISECOND;

/// Numbers that look random, the same every time.
struct Draw(u64);

impl Draw {
    /// Up to `end`, which it never is.
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((u128::from(self.0) * u128::from(end)) >> 64) as u64
    }

    fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }
}

/// The stacks of a thread that works, spins and blocks.
struct Places {
    works: StackId,
    spins: StackId,
    blocks: StackId,
    wakes: StackId,
}

impl Places {
    fn in_log(log: &mut Log) -> Places {
        let [worker, wait] =
            [("worker", false), ("wait", true)].map(|(name, spins)| log.frame("/bin/p", &[name], spins));
        let blocks = log.frame("/lib/libc.so.6", &["pthread_mutex_lock"], false);
        Places {
            works: log.plain(&["worker", "work"]),
            spins: log.stack(&[worker, wait]),
            blocks: log.stack(&[worker, blocks]),
            wakes: log.plain(&["main", "pthread_mutex_unlock"]),
        }
    }
}

/// A thread that, turn for turn, does what `turn` draws: pieces of work and of spinning, one after the other, and then
/// blocks. Gives the time that it spun, the number of samples that found it so, and the recording.
fn recorded(turn: impl Fn(&mut Draw) -> Vec<(bool, u64)>) -> (u64, u64, tempfile::TempDir, Trace) {
    let mut draw = Draw(7);
    let (mut spun, mut found) = (0, 0);
    let mut machine = machine("a", 0);
    machine.collector.sample_hertz = 500;
    let (folder, trace) = recording(vec![machine], END, |logs| {
        let log = &mut logs[0];
        let process = log.process(10, None);
        let [main, worker]: [ThreadId; 2] = [10, 11].map(|tid| log.thread(process, tid));
        let places = Places::in_log(log);
        for thread in [main, worker] {
            log.start(0, thread, None);
            log.switch_in(0, thread);
        }
        let mut look = PERIOD;
        let mut now = 0;
        while now < END - 100 * MILLISECOND {
            for (spins, length) in turn(&mut draw) {
                while look < now + length {
                    log.sample(look, worker, if spins { places.spins } else { places.works });
                    found += u64::from(spins);
                    look += draw.between(PERIOD * 3 / 5, PERIOD * 7 / 5);
                }
                now += length;
                spun += if spins { length } else { 0 };
            }
            log.futex(now, worker, places.blocks);
            now += draw.between(50 * MICROSECOND, 400 * MICROSECOND);
            log.wake(now, worker, main, places.wakes);
            log.switch_in(now, worker);
            while look < now {
                look += draw.between(PERIOD * 3 / 5, PERIOD * 7 / 5);
            }
        }
        log.dead(now, worker);
        log.dead(now, main);
    });
    (spun, found, folder, trace)
}

/// Time that threads spin in the timelines.
fn spinning(trace: &Trace) -> u64 {
    let mut since = [None; 2];
    let mut sum = 0;
    let mut take = |item: &Item| {
        if let ItemKind::State(state) = item.what {
            let time = item.time.nanoseconds();
            if let Some(since) = since[item.thread.index()].take() {
                sum += time - since;
            }
            since[item.thread.index()] = (state == State::Spinning).then_some(time);
        }
    };
    trace.for_each(&mut take).unwrap();
    sum
}

fn assert_spinning(what: &str, turn: impl Fn(&mut Draw) -> Vec<(bool, u64)>) {
    let (truth, found, _folder, trace) = recorded(turn);
    let told = spinning(&trace);
    // Three standard errors of what so many samples say.
    let error = 3.0 / (found.max(1) as f64).sqrt();
    let ratio = told as f64 / truth as f64;
    let (told, truth) = (told / MILLISECOND, truth / MILLISECOND);
    assert!((ratio - 1.0).abs() < error, "{what}: {told} ms of {truth}, {found} samples");
}

#[test]
fn a_spin_before_a_wait_has_its_length() {
    for spin in [20, 100, 500, 2_000, 5_000].map(|spin| spin * MICROSECOND) {
        assert_spinning(&format!("spins of {spin} ns"), |draw| {
            vec![(false, draw.between(200 * MICROSECOND, 3 * MILLISECOND)), (true, spin)]
        });
    }
}

#[test]
fn spins_of_different_lengths_add_up_too() {
    assert_spinning("up to 1 ms", |draw| {
        vec![(false, draw.between(200 * MICROSECOND, MILLISECOND)), (true, draw.between(0, MILLISECOND))]
    });
    assert_spinning("one turn in four", |draw| {
        let spin = if draw.below(4) == 0 { 800 * MICROSECOND } else { 0 };
        vec![(false, draw.between(500 * MICROSECOND, MILLISECOND)), (true, spin)]
    });
}

/// What samples found inside of runs is charged as ever: the time before each of them.
#[test]
fn spins_in_the_midst_of_work_are_not_moved_to_its_end() {
    assert_spinning("in the midst", |draw| {
        let mut pieces = Vec::new();
        for _ in 0..20 {
            pieces.push((false, draw.between(500 * MICROSECOND, 3 * MILLISECOND)));
            pieces.push((true, draw.between(100 * MICROSECOND, MILLISECOND)));
        }
        pieces.push((false, draw.between(2 * MILLISECOND, 6 * MILLISECOND)));
        pieces
    });
}

/// A sample that finds a spin finds the thread spinning; and what is seen last of a spin is its place, so that it is charged there.
#[test]
fn the_time_is_charged_to_the_place_of_the_spin() {
    let (_, _, _folder, trace) = recorded(|draw| {
        vec![(false, draw.between(200 * MICROSECOND, MILLISECOND)), (true, 100 * MICROSECOND)]
    });
    let is_wait = |path: PathId| {
        let innermost = trace.paths().innermost(path).unwrap();
        trace.paths().procedure_named_by(innermost.procedure).name == "wait"
    };
    let (mut spins, mut ends) = (false, Vec::new());
    let mut take = |item: &Item| match item.what {
        _ if item.thread != ThreadId(1) => {}
        ItemKind::State(state) => spins = state == State::Spinning,
        ItemKind::Observe { path, kind: ObservationKind::Sample { .. } } => assert_eq!(spins, is_wait(path)),
        ItemKind::Observe { path, .. } if spins => ends.push(path),
        _ => {}
    };
    trace.for_each(&mut take).unwrap();
    // Each spin ends with that place, and then with the site where the thread blocks.
    let waits = ends.iter().filter(|&&path| is_wait(path)).count();
    assert!(waits > 5_000 && 2 * waits + 200 > ends.len(), "{waits} of {}", ends.len());
}
