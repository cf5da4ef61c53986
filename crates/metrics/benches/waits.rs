//! Time of explaining all waits by the number of items, for three ways of waiting.
//!
//! * *relay*: eight running threads of 64; in turn one hands a lock to the thread that has waited longest, and blocks.
//! * *rounds*: 64 threads of many different steps meet at a barrier, where 63 wait for the last one.
//! * *strangers*: a thread waits again and again for others that it never met, each of which has long done other things.
//!
//! `cargo bench -p longpole-metrics --bench waits`. With `LONGPOLE_BENCH_ITEMS=10000000` one analysis of that many items
//! of each kind is timed instead, and the peak memory shown.

mod made;

use std::hint::black_box;
use std::time::Instant;

use criterion::{BenchmarkId, Criterion, Throughput};
use longpole_metrics::{Analysis, By, Details, DetailsDemand, MetricOptions, details};
use longpole_trace::{Cause, DependenceKind, ItemKind, ObservationKind, State};
use made::{Emit, Made, Random, THREADS, depend, items_of_one_run, peak_mebibytes, relay};

const PROCEDURES: u64 = 1000;

#[derive(Clone, Copy, Debug)]
enum Shape {
    Relay,
    Rounds,
    Strangers,
}

impl Shape {
    fn made(self, items: u64) -> Made {
        let make = match self {
            Shape::Relay => relay,
            Shape::Rounds => rounds,
            Shape::Strangers => strangers,
        };
        Made::new(items, (PROCEDURES, 1), make)
    }
}

/// In a round each thread is looked at `LOOKS` times; thread `round % THREADS` comes last.
fn rounds(made: &Made, emit: Emit<'_>) {
    const LOOKS: u64 = 40;
    let mut random = Random::default();
    for thread in 0..THREADS {
        emit(0, thread, ItemKind::State(State::Running));
    }
    let per_round = u64::from(THREADS) * (LOOKS + 4);
    for round in 0..made.items / per_round {
        let last = (round % u64::from(THREADS)) as u32;
        let begin = round * 100_000;
        for look in 1..=LOOKS {
            for thread in 0..THREADS {
                let path = made.path(&mut random);
                emit(
                    begin + look * 1000,
                    thread,
                    ItemKind::Observe { path, kind: ObservationKind::Sample { gap: 0 } },
                );
            }
        }
        let early = begin + LOOKS * 1000 + 10;
        for thread in (0..THREADS).filter(|&thread| thread != last) {
            emit(early, thread, ItemKind::State(State::Blocked(Cause::Barrier)));
        }
        for thread in (0..THREADS).filter(|&thread| thread != last) {
            emit(begin + 90_000, thread, depend(last, begin + 90_000, DependenceKind::Barrier));
            emit(begin + 90_000, thread, ItemKind::State(State::Running));
        }
    }
}

fn strangers(made: &Made, emit: Emit<'_>) {
    let mut random = Random::default();
    for thread in 0..THREADS {
        emit(0, thread, ItemKind::State(State::Running));
    }
    for step in 0..made.items / 5 {
        let time = 1 + step * 1000;
        let other = 1 + random.below(u64::from(THREADS) - 1) as u32;
        emit(time, 0, ItemKind::Observe { path: made.path(&mut random), kind: ObservationKind::Site });
        emit(time, 0, ItemKind::State(State::Blocked(Cause::Condition)));
        emit(
            time + 500,
            other,
            ItemKind::Observe { path: made.path(&mut random), kind: ObservationKind::Site },
        );
        // What is under way for long is no recent meeting of the two.
        emit(time + 500, 0, depend(other, time + 500, DependenceKind::Signal));
        emit(time + 500, 0, ItemKind::State(State::Running));
    }
}

fn explain(made: &Made) -> Details {
    let demand = DetailsDemand { waits: Some(By::Procedure), ..DetailsDemand::default() };
    let Ok(details) = details(made, &MetricOptions::default(), &demand, &Analysis::default());
    details
}

#[allow(clippy::print_stderr, reason = "a benchmark tells its result")]
fn time_once(shape: Shape, items: u64) {
    let made = shape.made(items);
    let begin = Instant::now();
    let waits = explain(&made).waits.expect("they were asked for");
    let time = begin.elapsed().as_secs_f64();
    let (classes, cut, peak) = (waits.classes.len(), waits.cut, peak_mebibytes());
    eprintln!(
        "{shape:?}, {items} items: {time:.2} s, {:.0} ns per item, peak {peak} MiB, {classes} classes, {cut} cut",
        time * 1e9 / items as f64
    );
}

fn main() {
    let shapes = [Shape::Relay, Shape::Rounds, Shape::Strangers];
    if let Some(items) = items_of_one_run() {
        return shapes.into_iter().for_each(|shape| time_once(shape, items));
    }
    let mut criterion = Criterion::default().configure_from_args().sample_size(10);
    for shape in shapes {
        let mut group = criterion.benchmark_group(format!("waits/{shape:?}"));
        for items in [10_000_u64, 100_000, 1_000_000] {
            let made = shape.made(items);
            group.throughput(Throughput::Elements(items));
            group.bench_function(BenchmarkId::from_parameter(items), |bencher| {
                bencher.iter(|| explain(black_box(&made)));
            });
        }
        group.finish();
    }
    criterion.final_summary();
}
