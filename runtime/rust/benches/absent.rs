//! What the runtime costs where no recorder watches: a call beside the same without it.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use longpole_runtime::{Metric, ProgramObjectKind, Task, acquired, region, released};

static METRIC: Metric = Metric::counter(c"bench");

fn absent(criterion: &mut Criterion) {
    criterion.bench_function("nothing", |bencher| bencher.iter(|| black_box(1)));
    criterion.bench_function("region", |bencher| {
        bencher.iter(|| {
            let _region = region(c"bench");
            black_box(1)
        });
    });
    criterion.bench_function("task", |bencher| {
        bencher.iter(|| Task::spawn().run(c"bench", || black_box(1)));
    });
    criterion.bench_function("acquired and released", |bencher| {
        bencher.iter(|| {
            acquired(&1_u32, ProgramObjectKind::SpinLock);
            black_box(1);
            released(&1_u32);
        });
    });
    // With LONGPOLE_SERIES of a recorder: what it costs where one watches.
    criterion.bench_function("add to a metric", |bencher| {
        bencher.iter(|| {
            METRIC.add(1);
            black_box(1)
        });
    });
    criterion.bench_function("set a metric", |bencher| bencher.iter(|| METRIC.set(black_box(1.0))));
}

criterion_group!(benches, absent);
criterion_main!(benches);
