//! Recordings of one unit in so many, against the whole ones: what is followed is the same, and the ranges hold the truth.

use std::collections::BTreeMap;

use longpole_access::format::{
    BLOCK, FOLLOWED_LIMITS, LIMITS_BY_CLASS, MessageHeader, NEW_PLACE, OPERATION, Operation, PROTOCOL, READ,
    SAMPLE, SKIPPED, UPDATE, WRITE, place, slot_of,
};
use longpole_access::unit_sample::{LIMIT_CLASSES, UnitSample, limit_class};
use longpole_communication::{
    CommunicationDemand, CommunicationOptions, Error, FollowedRequests, LayoutSimulator,
    RecordedCommunication, SimulationOptions, write_simulated_recording,
};
use longpole_event::MachineId;
use longpole_recording::{AccessSample, Destination, LogName, MachineDescription, Manifest, RecordingFolder};

/// What a thread does.
#[derive(Clone, Copy)]
enum DrawnStep {
    Lock(u64),
    Unlock(u64),
    Access { kind: u64, address: u64 },
    Copy { address: u64, size: u64 },
}

/// A program of threads, of which the first creates the others.
type DrawnProgram = Vec<Vec<DrawnStep>>;

struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

const DATA: u64 = 0x10_0000;
const CODE: u64 = 0x1000;

/// Threads that work on lines of a popularity of their own: the higher `skew`, the more of all accesses are to few lines.
fn program(seed: u64, skew: u32, are_locked: bool) -> DrawnProgram {
    let mut random = Random(seed);
    let thread = |number: u64, random: &mut Random| {
        let mut steps = Vec::new();
        for _ in 0..400 {
            let drawn = (random.below(1 << 20) as f64 / f64::from(1 << 20)).powi(skew as i32);
            let line = (drawn * 500.0) as u64;
            let kind = [READ, WRITE, UPDATE][random.below(3) as usize];
            let private = DATA + 64 * (10_000 + 100 * number + random.below(100));
            steps.push(DrawnStep::Access { kind, address: private });
            let shared = DrawnStep::Access { kind, address: DATA + 64 * line + 8 * random.below(8) };
            match are_locked {
                true => steps.extend([DrawnStep::Lock(line % 7), shared, DrawnStep::Unlock(line % 7)]),
                false => steps.push(shared),
            }
            if random.below(50) == 0 {
                steps.push(DrawnStep::Copy { address: DATA + 64 * line + 40, size: 8 + random.below(400) });
            }
        }
        steps
    };
    (0..4).map(|number| thread(number, &mut random)).collect()
}

/// The stream of a thread, as the library writes it that follows the units of a rule.
fn message(thread: u32, steps: &[DrawnStep], rule: Option<UnitSample>) -> Vec<u8> {
    let (mut records, mut places, mut skipped) = (Vec::new(), Vec::new(), 0);
    let word = |records: &mut Vec<u8>, words: &[u64]| {
        records.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    };
    let operation = |records: &mut Vec<u8>, operation: Operation, words: &[u64]| {
        records.extend((OPERATION << 12 | (words.len() as u16) << 8 | operation as u16).to_le_bytes());
        word(records, words);
    };
    for child in (1..4).filter(|_| thread == 0) {
        operation(&mut records, Operation::Fork, &[child, CODE]);
    }
    for step in steps {
        let (address, size) = match *step {
            DrawnStep::Access { address, .. } => (address, 8),
            DrawnStep::Copy { address, size } => (address, size),
            _ => (0, 0),
        };
        let follows = |rule: UnitSample| (address..address + size).any(|byte| rule.follows_address(byte));
        if size > 0 && rule.is_some_and(|rule| !follows(rule)) {
            skipped += 1;
            continue;
        }
        if skipped > 0 {
            records.extend((SKIPPED << 12 | std::mem::take(&mut skipped)).to_le_bytes());
        }
        match *step {
            DrawnStep::Lock(lock) => operation(&mut records, Operation::Lock, &[lock, CODE]),
            DrawnStep::Unlock(lock) => operation(&mut records, Operation::Unlock, &[lock, CODE]),
            DrawnStep::Copy { .. } => {
                operation(&mut records, Operation::Range, &[address, size, WRITE, CODE + 9])
            }
            DrawnStep::Access { kind, .. } => {
                let place = place(CODE + kind, kind, 3);
                records.extend((slot_of(place) as u16 | NEW_PLACE << 12).to_le_bytes());
                records.extend(address.to_le_bytes());
                places.extend(place.to_le_bytes());
            }
        }
    }
    if skipped > 0 {
        records.extend((SKIPPED << 12 | skipped).to_le_bytes());
    }
    let header = MessageHeader {
        protocol: PROTOCOL,
        kind: BLOCK,
        pid: 7,
        thread,
        bytes: records.len() as u32,
        places: (places.len() / 8) as u32,
        ..MessageHeader::default()
    };
    [&header.encode()[..], &records, &places].concat()
}

/// The limits of the groups, counted in a list: the threads take their steps in turns.
fn limits(program: &DrawnProgram, rule: UnitSample) -> [Vec<u8>; 2] {
    let mut groups: BTreeMap<usize, (usize, u64)> = BTreeMap::new();
    let longest = program.iter().map(Vec::len).max().unwrap_or(0);
    for at in 0..longest {
        for (thread, steps) in program.iter().enumerate() {
            let (address, size, writes) = match steps.get(at) {
                Some(&DrawnStep::Access { kind, address }) => (address, 8, kind != READ),
                Some(&DrawnStep::Copy { address, size }) => (address, size, true),
                _ => continue,
            };
            let mut units: Vec<u64> = (address..address + size).map(|byte| rule.unit(byte)).collect();
            units.dedup();
            for group in units.into_iter().map(UnitSample::group) {
                let (owner, limit) = groups.entry(group).or_insert((thread, 0));
                *limit += if *owner == thread { 0 } else { 1 + u64::from(writes) };
            }
        }
    }
    let mut followed = Vec::new();
    let mut classes = vec![[0_u64; 2]; LIMIT_CLASSES];
    for (group, (_, limit)) in groups {
        if rule.follows(group) {
            followed.push([group as u64, limit]);
        } else {
            let class = &mut classes[limit_class(limit)];
            *class = [class[0] + 1, class[1] + limit];
        }
    }
    [(FOLLOWED_LIMITS, followed), (LIMITS_BY_CLASS, classes)].map(|(number, rows)| {
        let bytes: Vec<u8> = rows.iter().flatten().flat_map(|word| word.to_le_bytes()).collect();
        let bytes_long = bytes.len() as u32;
        let header = MessageHeader {
            protocol: PROTOCOL,
            kind: SAMPLE,
            pid: 7,
            number,
            bytes: bytes_long,
            ..MessageHeader::default()
        };
        [&header.encode()[..], &bytes].concat()
    })
}

/// A recording of these messages.
struct DrawnRecording {
    place: tempfile::TempDir,
    folder: RecordingFolder,
    manifest: Manifest,
}

impl DrawnRecording {
    fn new(messages: &[Vec<u8>], access_sample: Option<AccessSample>) -> DrawnRecording {
        let place = tempfile::tempdir().expect("a folder");
        let machines = vec![MachineDescription { access_sample, ..MachineDescription::default() }];
        let manifest = Manifest { machines, ..Manifest::default() };
        let folder =
            RecordingFolder::create(&place.path().join("x.longpole"), &manifest).expect("a recording");
        let mut log = folder.create_log(MachineId(0), LogName::Accesses).expect("a log");
        messages.iter().for_each(|message| log.push_block(message).expect("room"));
        log.flush().expect("room");
        DrawnRecording { place, folder, manifest }
    }

    fn answer(&self, options: CommunicationOptions) -> Result<RecordedCommunication, Error> {
        let demand = CommunicationDemand { words: true, graphs: true, chains: true };
        Ok(RecordedCommunication::of(&self.folder, options, demand)?.expect("there are blocks"))
    }
}

fn recorded(program: &DrawnProgram, sample: Option<(AccessSample, bool)>) -> DrawnRecording {
    let rule = |sample: AccessSample| UnitSample { one_of: sample.one_of, shift: 6, seed: sample.seed };
    let in_program = sample.filter(|(_, in_program)| *in_program).map(|(sample, _)| rule(sample));
    let mut messages: Vec<_> =
        (0..).zip(program).map(|(thread, steps)| message(thread, steps, in_program)).collect();
    messages.extend(sample.iter().flat_map(|(sample, _)| limits(program, rule(*sample))));
    DrawnRecording::new(&messages, sample.map(|(sample, _)| sample))
}

fn sample(one_of: u32, seed: u64) -> AccessSample {
    AccessSample { one_of, unit: 64, seed }
}

#[test]
fn a_program_that_follows_some_units_is_answered_as_one_that_records_all_of_which_some_are_followed() {
    for seed in 0..4 {
        let program = program(seed, 2, seed % 2 == 0);
        let rule = sample(4, seed);
        let [mut one, mut other] = [false, true].map(|in_program| {
            recorded(&program, Some((rule, in_program)))
                .answer(CommunicationOptions::default())
                .expect("an answer")
        });
        // What the streams hold of other units differs.
        (one.stream_bytes, other.stream_bytes) = (0, 0);
        assert!(one.transfers > 100 && one.sample.is_some());
        assert_eq!(
            (one.accesses(), one.elapsed, one.transfers),
            (other.accesses(), other.elapsed, other.transfers)
        );
        assert_eq!(
            (one.flows, one.units, one.classes, one.graphs),
            (other.flows, other.units, other.classes, other.graphs)
        );
        assert_eq!(one.sample, other.sample);
    }
}

#[test]
fn followed_units_have_the_transfers_that_they_have_where_all_are_recorded() {
    // Locks make one order of all, so that costs do not matter: each thread is alone with its lock's lines at a time.
    let program: DrawnProgram = (0..4)
        .map(|_| {
            (0..200)
                .flat_map(|line| {
                    [
                        DrawnStep::Lock(1),
                        DrawnStep::Access { kind: UPDATE, address: DATA + 64 * (line % 40) },
                        DrawnStep::Unlock(1),
                    ]
                })
                .collect()
        })
        .collect();
    let whole = recorded(&program, None).answer(CommunicationOptions::default()).expect("an answer");
    let of_unit: BTreeMap<u64, u64> = whole.units.iter().map(|unit| (unit.address, unit.transfers)).collect();
    for seed in 0..8 {
        let answer =
            recorded(&program, Some((sample(4, seed), true))).answer(CommunicationOptions::default());
        let Ok(answer) = answer else { continue };
        assert!(answer.units.iter().all(|unit| of_unit[&unit.address] == unit.transfers), "seed {seed}");
        let followed: u64 = answer.units.iter().map(|unit| unit.transfers).sum();
        let all = answer.sample.as_ref().map(|sample| sample.followed.transfers.values().sum::<u64>());
        assert_eq!(all, Some(followed), "seed {seed}");
        // All lines are alike, and so is what each says of all.
        assert!(answer.transfers.abs_diff(whole.transfers) <= 1, "{} {}", answer.transfers, whole.transfers);
    }
}

/// In how many samples the ranges hold the truth: of all transfers, of all requests, and of the transfers of each pair of threads.
#[derive(Default, Debug)]
struct HeldRanges {
    answers: u32,
    transfers: u32,
    requests: u32,
    pairs: u32,
    pairs_held: u32,
}

/// What is requested by one thread for another's writes.
fn pairs(answer: &RecordedCommunication) -> BTreeMap<(usize, usize), (u64, FollowedRequests)> {
    let mut pairs: BTreeMap<_, (u64, FollowedRequests)> = BTreeMap::new();
    for flow in &answer.flows {
        let Some(writer) = flow.writer else { continue };
        let (count, followed) = pairs.entry((flow.reader, writer.thread)).or_default();
        *count += flow.contributions;
        followed.merge(&flow.followed);
    }
    pairs
}

#[test]
fn ranges_hold_the_truth_in_9_of_10_samples() {
    let mut held = HeldRanges::default();
    for (seed, skew, are_locked) in [(1, 1, true), (2, 3, true), (3, 8, true), (4, 1, false), (5, 3, false)] {
        let program = program(seed, skew, are_locked);
        let whole = recorded(&program, None).answer(CommunicationOptions::default()).expect("an answer");
        let truths = pairs(&whole);
        for one_of in [4, 16] {
            for choice in 0..12 {
                let rule = sample(one_of, choice);
                let answer = recorded(&program, Some((rule, true))).answer(CommunicationOptions::default());
                let answer = answer.expect("some unit is followed");
                let sample = answer.sample.as_ref().expect("a sample");
                let holds = |range: longpole_communication::SampledTotal, truth: u64| {
                    range.at_least <= truth as f64 + 0.5 && truth as f64 <= range.at_most + 0.5
                };
                held.answers += 1;
                held.transfers += u32::from(holds(sample.transfers(&sample.followed), whole.transfers));
                held.requests += u32::from(holds(sample.requests(&sample.followed), whole.requests));
                for (pair, (truth, _)) in &truths {
                    let found = pairs(&answer).remove(pair).unwrap_or_default();
                    held.pairs += 1;
                    held.pairs_held += u32::from(holds(sample.contributions(&found.1), *truth));
                }
            }
        }
    }
    let least = |of: u32| 9 * of / 10;
    assert!(held.transfers >= least(held.answers) && held.requests >= least(held.answers), "{held:?}");
    assert!(held.pairs_held >= least(held.pairs), "{held:?}");
}

#[test]
fn what_needs_all_units_is_refused_with_what_to_do() {
    let program = program(1, 2, true);
    let recording = recorded(&program, Some((sample(4, 1), true)));
    let error =
        recording.answer(CommunicationOptions { unit: Some(4096), ..CommunicationOptions::default() });
    let error = error.expect_err("pages are larger than lines");
    assert!(matches!(error, Error::LargeUnit { unit: 4096, .. }), "{error}");
    assert!(
        error.hints()[0].contains("--access-sample 1/4 --access-sample-unit 4096"),
        "{:?}",
        error.hints()
    );
    let error =
        LayoutSimulator::open(&recording.folder, CommunicationOptions::default()).expect_err("a layout");
    assert!(matches!(error, Error::NeedsAllUnits { one_of: 4, .. }), "{error}");
    let output = Destination::New(recording.place.path().join("simulated.longpole"));
    let parts = (&recording.folder, &recording.manifest);
    let error =
        write_simulated_recording(parts, SimulationOptions::default(), &output).expect_err("a machine");
    assert!(matches!(error, Error::NeedsAllUnits { one_of: 4, .. }), "{error}");
    // Smaller units are parts of those that were followed.
    let words = recording.answer(CommunicationOptions { unit: Some(8), ..CommunicationOptions::default() });
    assert!(words.is_ok_and(|answer| answer.sample.is_some_and(|sample| sample.unit == 64)));
    // A program of one line, which is not among 1 of 65,536.
    let one = vec![vec![DrawnStep::Access { kind: WRITE, address: DATA }; 5]; 2];
    let none = (0..).map(|seed| sample(65_536, seed)).find(|sample| {
        let rule = UnitSample { one_of: sample.one_of, shift: 6, seed: sample.seed };
        !rule.follows_address(DATA)
    });
    let error = recorded(&one, none.map(|sample| (sample, true))).answer(CommunicationOptions::default());
    let error = error.expect_err("nothing is followed");
    assert!(matches!(error, Error::NothingFollowed { accesses: 10, one_of: 65_536 }), "{error}");
    assert!(error.hints()[0].contains("--access-sample 1/8192"), "{:?}", error.hints());
}

#[test]
fn without_limits_there_is_no_upper_end() {
    let program = program(1, 2, true);
    let rule = UnitSample { one_of: 4, shift: 6, seed: 1 };
    let messages: Vec<_> =
        (0..).zip(&program).map(|(thread, steps)| message(thread, steps, Some(rule))).collect();
    let answer = DrawnRecording::new(&messages, Some(sample(4, 1))).answer(CommunicationOptions::default());
    let sample = answer.expect("an answer").sample.expect("a sample");
    let range = sample.transfers(&sample.followed);
    assert!(range.at_least > 0.0 && range.at_most == f64::INFINITY, "{range:?}");
    assert_eq!(sample.unfollowed_at_most(), None);
}
