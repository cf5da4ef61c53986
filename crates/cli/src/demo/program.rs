//! The sample program: three classic long poles, one after the other.
//!
//! ```text
//!   main       parse_orders 500 |
//!   worker 1                    | simulate_region 90 | barrier | ... 5 rounds | compute_entry 2, [update_shared_table 4] ...
//!   worker 2                    | simulate_region 30 | barrier   ...          | compute_entry 2, [update_shared_table 4] ...
//!   worker 3                    | simulate_region 30 | barrier   ...          | compute_entry 2, [update_shared_table 4] ...
//! ```
//! 1. a serial start of 500 ms in `parse_orders`, while the other processors idle;
//! 2. five rounds of `simulate_region` that end at a barrier: worker 1 has three times the work of the
//!    others, 450 ms in all;
//! 3. a table behind one mutex: 3 × 40 updates of 4 ms take at least 480 ms, whatever the number of
//!    processors, all in `update_shared_table`.
//!
//! What it works at it tells as regions, so that where nothing but the agent can look (a container without perf events)
//! the work has names too.
//!
//! So the critical path (CPU) is about 1430 ms: parse_orders 35 %, simulate_region 31 %,
//! update_shared_table 34 %.

use std::hint::black_box;
use std::sync::{Barrier, Mutex};
use std::thread;

use longpole_runtime::{name, region};

const WORKERS: usize = 3;
const ROUNDS: usize = 5;
const UPDATES: usize = 40;

/// Does work as a region of this name. A macro, so that nothing else stands in the call path.
macro_rules! marked {
    ($name:literal, $work:expr) => {{
        let _region = region($name);
        $work;
    }};
}

/// Runs the sample program to its end.
pub fn run_program() {
    marked!(c"parse_orders", parse_orders());
    let barrier = Barrier::new(WORKERS);
    let table = Mutex::new([0_u64; 16]);
    name(&barrier, c"the rounds' barrier");
    name(&table, c"the shared table");
    thread::scope(|scope| {
        for number in 1..=WORKERS {
            let (barrier, table) = (&barrier, &table);
            let work = move || {
                simulate(number, barrier);
                update(table);
            };
            let started = thread::Builder::new().name(format!("worker {number}")).spawn_scoped(scope, work);
            started.expect("three threads can be started");
        }
    });
}

/// Uses this many milliseconds of the calling thread's processor time. A macro, so that the time is
/// charged to the procedure it stands in.
macro_rules! work {
    ($milliseconds:expr, $cells:expr) => {{
        let end = thread_nanoseconds() + $milliseconds * 1_000_000;
        let mut value = 1_u64;
        while thread_nanoseconds() < end {
            let mut step = 0;
            // About 0.1 ms between two looks at the clock.
            while step < 50_000 {
                value = (value ^ (value << 13)).rotate_left(7);
                $cells[step & 15] = value;
                step += 1;
            }
            black_box(&mut $cells);
        }
    }};
}

#[inline(never)]
fn parse_orders() {
    let mut cells = [0; 16];
    work!(500, cells);
}

/// Phase 2: rounds that end at a barrier.
#[inline(never)]
fn simulate(number: usize, barrier: &Barrier) {
    for _ in 0..ROUNDS {
        marked!(c"simulate_region", simulate_region(if number == 1 { 90 } else { 30 }));
        barrier.wait();
    }
}

#[inline(never)]
fn simulate_region(milliseconds: u64) {
    let mut cells = [0; 16];
    work!(milliseconds, cells);
}

/// Phase 3: entries that are computed beside each other, and entered one by one.
#[inline(never)]
fn update(table: &Mutex<[u64; 16]>) {
    for _ in 0..UPDATES {
        marked!(c"compute_entry", compute_entry());
        marked!(c"update_shared_table", update_shared_table(table));
    }
}

#[inline(never)]
fn compute_entry() {
    let mut cells = [0; 16];
    work!(2, cells);
}

#[inline(never)]
fn update_shared_table(table: &Mutex<[u64; 16]>) {
    let mut table = table.lock().expect("no thread panics with the lock");
    work!(4, table);
}

/// Processor time of the calling thread.
fn thread_nanoseconds() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec for the call to fill.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned()
}
