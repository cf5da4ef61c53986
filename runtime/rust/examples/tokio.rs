//! Work that tokio's threads do, charged to the procedures that spawned it.
//!
//! ```text
//!   main       accept_queries: spawns 8 queries | accept_reports: spawns 2 reports | waits for all
//!   workers    ... query 10 ms, hand_over, 10 ms more; report 60 ms ...
//! ```
//! A query is polled twice, maybe on two threads. Without tasks all of it is found under tokio's workers. With them the
//! inclusive CPU time is `accept_queries` 160 ms (57 %) and `accept_reports` 120 ms (43 %).

use longpole_runtime::Task;
use tokio::task::{JoinHandle, yield_now};

include!("../../../programs/work.rs");

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().expect("a runtime");
    runtime.block_on(async {
        let mut work = accept_queries();
        work.extend(accept_reports());
        for handle in work {
            handle.await.expect("no task panics");
        }
    });
}

/// The future itself is the task: each of its polls is a part.
#[inline(never)]
fn accept_queries() -> Vec<JoinHandle<()>> {
    (0..8).map(|_| tokio::spawn(Task::spawn().of(c"query", answer()))).collect()
}

#[inline(never)]
fn accept_reports() -> Vec<JoinHandle<()>> {
    (0..2).map(|_| tokio::spawn(Task::spawn().of(c"report", async { write_report() }))).collect()
}

async fn answer() {
    look_up();
    yield_now().await;
    look_up();
}

#[inline(never)]
fn look_up() {
    burn!(10);
}

#[inline(never)]
fn write_report() {
    burn!(60);
}
