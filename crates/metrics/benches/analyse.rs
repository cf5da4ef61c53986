//! Time of a whole analysis by the number of items: threads that hand work to each other.
//!
//! `cargo bench -p longpole-metrics`. With `LONGPOLE_BENCH_ITEMS=10000000` one analysis of that many items is timed
//! instead, and its peak memory shown.

mod made;

use std::hint::black_box;
use std::time::Instant;

use criterion::{BenchmarkId, Criterion, Throughput};
use longpole_metrics::{By, DetailsDemand, GainsOf, MetricOptions, Weight, analyse, details};
use made::{Made, items_of_one_run, peak_mebibytes, relay};

const PROCEDURES: u64 = 200;
const OBJECTS: u32 = 16;

fn made(items: u64) -> Made {
    Made::new(items, (PROCEDURES, OBJECTS), relay)
}

#[allow(clippy::print_stderr, reason = "a benchmark tells its result")]
fn time_once(items: u64) {
    let relay = made(items);
    let begin = Instant::now();
    let Ok(analysis) = analyse(&relay, &MetricOptions::default());
    let time = begin.elapsed();
    eprintln!(
        "{items} items: {:.2} s, {:.0} ns per item, peak {} MiB, {} hand-offs on the critical path",
        time.as_secs_f64(),
        time.as_secs_f64() * 1e9 / items as f64,
        peak_mebibytes(),
        analysis.critical_cpu.segments.len()
    );
    for (name, demand) in parts() {
        let begin = Instant::now();
        let Ok(_) = details(&relay, &MetricOptions::default(), &demand, &analysis);
        eprintln!("{name}: {:.2} s, peak {} MiB", begin.elapsed().as_secs_f64(), peak_mebibytes());
    }
}

/// Parts that views want beside the analysis.
fn parts() -> [(&'static str, DetailsDemand); 7] {
    let phases = DetailsDemand { phases: true, ..DetailsDemand::default() };
    let prospects = DetailsDemand { prospects: true, ..DetailsDemand::default() };
    let contention = DetailsDemand { contention: true, ..DetailsDemand::default() };
    let states = |by| DetailsDemand { states: Some(by), ..DetailsDemand::default() };
    let gains =
        |by| DetailsDemand { gains: Some(GainsOf { by, weight: Weight::Cpu }), ..DetailsDemand::default() };
    [
        ("gains of procedures", gains(By::Procedure)),
        ("gains of lines", gains(By::Line)),
        ("phases", phases),
        ("prospects", prospects),
        ("contention", contention),
        ("states", states(By::Procedure)),
        ("states of objects", states(By::Object)),
    ]
}

fn main() {
    if let Some(items) = items_of_one_run() {
        return time_once(items);
    }
    let mut criterion = Criterion::default().configure_from_args().sample_size(10);
    let mut group = criterion.benchmark_group("analyse");
    for items in [10_000_u64, 100_000, 1_000_000] {
        let relay = made(items);
        group.throughput(Throughput::Elements(items));
        group.bench_function(BenchmarkId::from_parameter(items), |bencher| {
            bencher.iter(|| analyse(black_box(&relay), &MetricOptions::default()));
        });
    }
    group.finish();
    for (name, demand) in parts() {
        let mut group = criterion.benchmark_group(name);
        for items in [10_000_u64, 100_000, 1_000_000] {
            let relay = made(items);
            let Ok(analysis) = analyse(&relay, &MetricOptions::default());
            group.throughput(Throughput::Elements(items));
            group.bench_function(BenchmarkId::from_parameter(items), |bencher| {
                bencher.iter(|| details(black_box(&relay), &MetricOptions::default(), &demand, &analysis));
            });
        }
        group.finish();
    }
    criterion.final_summary();
}
