//! Threads that are not recorded and do what a collector could take for the program's doing.

use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};

/// Threads that pass bytes to each other, and threads that map and unmap code.
pub struct Bystanders {
    stop: Arc<AtomicBool>,
    passed: Arc<AtomicU64>,
    threads: Vec<JoinHandle<()>>,
}

impl Bystanders {
    pub fn start() -> Bystanders {
        let (stop, passed): (Arc<AtomicBool>, Arc<AtomicU64>) = Default::default();
        let mut threads = Vec::new();
        let (mut from_left, mut to_right) = std::io::pipe().expect("a pipe");
        let (mut from_right, mut to_left) = std::io::pipe().expect("a pipe");
        let (left_stop, count) = (Arc::clone(&stop), Arc::clone(&passed));
        threads.push(thread::spawn(move || {
            let mut byte = [0];
            while !left_stop.load(Ordering::Relaxed) {
                to_right.write_all(&byte).expect("the other end is there");
                from_right.read_exact(&mut byte).expect("the other end is there");
                count.fetch_add(2, Ordering::Relaxed);
            }
        }));
        threads.push(thread::spawn(move || {
            let mut byte = [0];
            while from_left.read_exact(&mut byte).is_ok() && to_left.write_all(&byte).is_ok() {}
        }));
        let map_stop = Arc::clone(&stop);
        threads.push(thread::spawn(move || {
            while !map_stop.load(Ordering::Relaxed) {
                map_and_unmap();
            }
        }));
        Bystanders { stop, passed, threads }
    }

    /// Ends them; returns how many bytes were passed.
    pub fn stop(self) -> u64 {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads {
            thread.join().expect("a bystander ends");
        }
        self.passed.load(Ordering::Relaxed)
    }
}

fn map_and_unmap() {
    const PAGE: usize = 4096;
    let protection = libc::PROT_READ | libc::PROT_EXEC;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a new mapping at an address of the kernel's choice, which nobody else knows.
    unsafe {
        let address = libc::mmap(std::ptr::null_mut(), PAGE, protection, flags, -1, 0);
        assert_ne!(address, libc::MAP_FAILED);
        libc::munmap(address, PAGE);
    }
}
