//! A program with metrics of its own: two clients commit transactions, a third of which fail, out of a queue of 600.
//!
//!     cargo build -p longpole-runtime --example transactions
//!     longpole record -- target/debug/examples/transactions
//!
//! Prints its totals.
#![allow(clippy::print_stdout)]

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use longpole_runtime::{Metric, MetricNode, now};

static COMMITS: Metric = Metric::counter(c"commits").unit(c"transactions");
static ABORTS: Metric = Metric::counter(c"aborts").unit(c"transactions");
static QUEUED: Metric = Metric::gauge(c"queued").unit(c"orders");
static LATENCY: Metric = Metric::gauge(c"latency").unit(c"s").at(MetricNode::Program);

const ORDERS: u64 = 600;
static TAKEN: AtomicU64 = AtomicU64::new(0);
static COMMITTED: AtomicU64 = AtomicU64::new(0);

fn client() {
    loop {
        let order = TAKEN.fetch_add(1, Relaxed);
        if order >= ORDERS {
            return;
        }
        QUEUED.add(-1);
        let begin = Instant::now();
        thread::sleep(Duration::from_micros(500));
        if order.is_multiple_of(3) {
            ABORTS.add(1);
        } else {
            COMMITTED.fetch_add(1, Relaxed);
            COMMITS.add(1);
        }
        LATENCY.sample_at(begin.elapsed().as_secs_f64(), now());
    }
}

fn main() {
    QUEUED.set(ORDERS as f64);
    thread::scope(|scope| {
        scope.spawn(client);
        scope.spawn(client);
    });
    let committed = COMMITTED.load(Relaxed);
    println!("commits {committed}\naborts {}\nqueued 0", ORDERS - committed);
}
