//! How many accesses a second one thread simulates, in its own CPU time.
//!
//! `cargo test --release -p longpole-coherence --test speed -- --ignored --nocapture`. It asserts counts, not times.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a measurement")]

mod programs;

use longpole_coherence::{
    AccessKind, CoherenceProtocol, CoherenceSettings, CoherenceSimulation, DataAccess, ProcessorId, SiteId,
};
use programs::Random;

const ROUNDS: usize = 7;
const ACCESSES: u64 = 10_000_000;

/// CPU time of this thread in seconds. The scheduler's account may be a timer tick (4 ms) old.
fn cpu_time() -> f64 {
    let account = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    account.split(' ').next().unwrap().parse::<f64>().unwrap() / 1e9
}

/// An access of one workload by number.
type Workload = fn(u64) -> (u16, AccessKind, u64);

fn kind(number: u64) -> AccessKind {
    if number.is_multiple_of(3) { AccessKind::Write } else { AccessKind::Read }
}

const WORKLOADS: [(&str, Workload); 5] = [
    ("the generator alone", |_| (u16::MAX, AccessKind::Read, 0)),
    ("4 processors, 4 KiB each", |number| {
        (number as u16 % 4, kind(number), ((number % 4) << 20) + number * 8 % 4096)
    }),
    ("1 processor, 4 KiB", |number| (0, kind(number), number * 8 % 4096)),
    ("1 processor, 16 MiB in order", |number| (0, kind(number), number * 8 % (16 << 20))),
    ("4 processors, shared 1 KiB, each 8th access a transfer", |number| {
        ((number / 128 % 4) as u16, kind(number), number * 8 % 1024)
    }),
];

fn measure(settings: CoherenceSettings, workload: Workload, random: &mut Random) -> (f64, u64) {
    let mut simulation = CoherenceSimulation::new(settings).unwrap();
    let offset = random.below(8) * 4096;
    let mut run = |accesses: u64| {
        let mut kept = 0;
        for number in 0..accesses {
            let (processor, kind, address) = workload(std::hint::black_box(number));
            let processor = ProcessorId(processor);
            let (address, site) = (address + offset, SiteId(number as u32 / 1024 % 2));
            let access = DataAccess { processor, address, size: 8, kind, site, time: number };
            if processor.0 == u16::MAX {
                kept += std::hint::black_box(access).address;
            } else {
                simulation.access(&access);
            }
        }
        kept
    };
    // First references are not the fast path.
    std::hint::black_box(run(ACCESSES));
    let start = cpu_time();
    std::hint::black_box(run(ACCESSES));
    let speed = ACCESSES as f64 / (cpu_time() - start) / 1e6;
    (speed, simulation.finish().total_requests)
}

#[test]
#[ignore = "a measurement, for a release build"]
fn accesses_a_second() {
    let lines = CoherenceSettings { records: 1000, ..CoherenceSettings::lines() };
    let pages = CoherenceSettings { unit: 8192, ..lines.with_protocol(CoherenceProtocol::LazyRelease) };
    println!("| units | workload | median | least | most | requests |\n|---|---|--:|--:|--:|--:|");
    for (units, settings) in [("lines of 64 B", lines), ("lazy pages of 8 KiB", pages)] {
        let mut found = vec![Vec::new(); WORKLOADS.len()];
        let mut requests = [0; WORKLOADS.len()];
        // In turn, so that a change of the machine's speed meets all of them.
        for round in 0..ROUNDS {
            for (index, (_, workload)) in WORKLOADS.iter().enumerate() {
                let (speed, count) = measure(settings, *workload, &mut Random(round as u64));
                found[index].push(speed);
                requests[index] = count;
            }
        }
        for (((name, _), found), requests) in WORKLOADS.iter().zip(&mut found).zip(requests) {
            found.sort_by(f64::total_cmp);
            let [least, median, most] = [found[0], found[ROUNDS / 2], found[ROUNDS - 1]];
            println!("| {units} | {name} | {median:.0} | {least:.0} | {most:.0} | {requests} |");
        }
    }
}

/// Resident memory of this process in bytes.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

#[test]
#[ignore = "a measurement, for a release build"]
fn memory_of_a_line() {
    const LINES: u64 = 400_000;
    for processors in [1, 2, 4, 8] {
        let before = resident();
        let settings = CoherenceSettings { records: 0, ..CoherenceSettings::lines() };
        let mut simulation = CoherenceSimulation::new(settings).unwrap();
        for (processor, line) in (0..processors).flat_map(|one| (0..LINES).map(move |line| (one, line))) {
            let (processor, address) = (ProcessorId(processor), line * 64);
            let kind = AccessKind::Read;
            simulation.access(&DataAccess { processor, address, size: 8, kind, site: SiteId(1), time: 0 });
        }
        println!("{processors} processors: {} bytes a line", (resident() - before) / LINES);
    }
}
