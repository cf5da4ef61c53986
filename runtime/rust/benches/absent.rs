//! What the runtime costs where no recorder watches: a call beside the same without it.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use longpole_runtime::{Kind, Task, acquired, region, released};

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
            acquired(&1_u32, Kind::SpinLock);
            black_box(1);
            released(&1_u32);
        });
    });
}

criterion_group!(benches, absent);
criterion_main!(benches);
