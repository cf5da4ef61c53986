//! Functions of Rust that wait busily, and that work.
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

pub static READY: AtomicBool = AtomicBool::new(false);
pub static COUNT: AtomicUsize = AtomicUsize::new(0);

#[unsafe(no_mangle)]
pub fn wait_hint() {
    while !READY.load(Ordering::Acquire) {
        std::hint::spin_loop();
    }
}

#[unsafe(no_mangle)]
pub fn wait_plain() {
    while !READY.load(Ordering::Acquire) {}
}

#[unsafe(no_mangle)]
pub fn wait_yield() {
    while !READY.load(Ordering::Acquire) {
        std::thread::yield_now();
    }
}

#[unsafe(no_mangle)]
pub fn wait_bounded() -> bool {
    let mut tries = 0;
    while COUNT.load(Ordering::Relaxed) == 0 {
        tries += 1;
        if tries > 10_000 {
            return false;
        }
    }
    true
}

#[unsafe(no_mangle)]
pub fn wait_swap() {
    while READY.swap(true, Ordering::Acquire) {}
}

#[unsafe(no_mangle)]
pub fn wait_backoff() {
    let mut step = 0;
    while READY.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_err() {
        for _ in 0..1 << step {
            std::hint::spin_loop();
        }
        if step < 6 {
            step += 1;
        }
    }
}

#[unsafe(no_mangle)]
pub fn work_sum(values: &[u64]) -> u64 {
    let mut sum: u64 = 0;
    for value in values {
        sum ^= sum.wrapping_mul(31).wrapping_add(*value);
    }
    sum
}

#[unsafe(no_mangle)]
pub fn work_until_ready(mut x: u64) -> u64 {
    while !READY.load(Ordering::Relaxed) {
        x = x.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
    }
    x
}

#[unsafe(no_mangle)]
pub fn work_add(n: usize) {
    for _ in 0..n {
        COUNT.fetch_add(1, Ordering::Relaxed);
    }
}
