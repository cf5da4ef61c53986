//! The faults of a process and of its threads, beside what the kernel tells the program itself.
// A failure is a failed test.
#![allow(clippy::unwrap_used)]

#[allow(dead_code, reason = "not every test looks at everything")]
mod collected;

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use collected::{Collected, collect_of};
use longpole_collect::SeriesSourceChoice;
use longpole_event::SeriesNode;

const PAGES: usize = 20_000;
/// The tests are one process, whose faults are counted.
static ALONE: Mutex<()> = Mutex::new(());

/// Maps pages and touches each of them.
fn touch() {
    let length = PAGES * 4096;
    // SAFETY: memory of its own, which is unmapped at its end.
    unsafe {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let begin =
            libc::mmap(std::ptr::null_mut(), length, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0);
        assert_ne!(begin, libc::MAP_FAILED);
        libc::madvise(begin, length, libc::MADV_NOHUGEPAGE);
        for page in 0..PAGES {
            begin.cast::<u8>().add(page * 4096).write_volatile(1);
        }
        libc::munmap(begin, length);
    }
}

fn faults_of(who: libc::c_int) -> i64 {
    // SAFETY: the kernel fills the structure that it is given.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        assert_eq!(libc::getrusage(who, &raw mut usage), 0);
        usage.ru_minflt + usage.ru_majflt
    }
}

/// What a counter grew by.
fn growth(collected: &Collected, metric: &str, node: SeriesNode) -> f64 {
    let series = collected.series.iter().find(|series| series.metric == metric && series.node == node);
    let values = &series.unwrap_or_else(|| panic!("no {metric} of {node:?}")).values;
    values.last().unwrap().1 - values.first().unwrap().1
}

#[test]
fn faults_of_process_and_thread_are_those_that_getrusage_counts() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let (mut process, mut thread, mut tid) = (0, 0, 0);
    let collected = collect_of(SeriesSourceChoice::Process, Some(std::process::id()), || {
        let before = faults_of(libc::RUSAGE_SELF);
        let worker = std::thread::spawn(|| {
            std::thread::sleep(Duration::from_millis(200));
            let before = faults_of(libc::RUSAGE_THREAD);
            touch();
            let faults = faults_of(libc::RUSAGE_THREAD) - before;
            // It is looked at once more before it ends.
            std::thread::sleep(Duration::from_millis(500));
            // SAFETY: asks for a number.
            (faults, unsafe { libc::gettid() })
        });
        (thread, tid) = worker.join().unwrap();
        process = faults_of(libc::RUSAGE_SELF) - before;
    });
    let tid = u32::try_from(tid).unwrap();
    let of_thread = growth(&collected, "page_faults", SeriesNode::Thread { tid });
    let of_process = growth(&collected, "page_faults", SeriesNode::Process { pid: std::process::id() });
    let is_close = |found: f64, wanted: i64| (found / wanted as f64 - 1.0).abs() < 0.01;
    assert!(is_close(of_thread, thread), "{of_thread} of the thread, {thread} in truth");
    assert!(is_close(of_process, process), "{of_process} of the process, {process} in truth");
}

#[test]
fn the_machine_counts_the_faults_too() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let collected = collect_of(SeriesSourceChoice::Kernel, None, touch);
    let machine = growth(&collected, "sys_page_faults", SeriesNode::Machine);
    assert!(machine >= 0.99 * PAGES as f64, "{machine}");
    assert!(collected.account.cpu_seconds > 0.0);
}
