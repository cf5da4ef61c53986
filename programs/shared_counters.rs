// Counters of threads, one after the other in a vector: nothing is shared, but their line is.
//
// T threads, K rounds: each thread writes 8 bytes of its own. `padded`: each counter has a line of its own, and no thread
// asks for what another one wrote while it counts. All begin at once: none has the memory of one that has ended.
use std::sync::{Barrier, Mutex};
use std::thread;

static TOTAL: Mutex<u64> = Mutex::new(0);

struct Plain(u64);

#[repr(align(128))]
struct Padded(u64);

#[inline(never)]
fn count(counter: &mut u64, rounds: u64) {
    for round in 0..rounds {
        *counter = std::hint::black_box(*counter + round % 2);
    }
}

#[inline(never)]
fn make<Counter>(threads: usize, new: fn() -> Counter) -> Vec<Counter> {
    (0..threads).map(|_| new()).collect()
}

fn run<'a>(counters: impl ExactSizeIterator<Item = &'a mut u64>, rounds: u64) {
    let start = Barrier::new(counters.len());
    let start = &start;
    thread::scope(|scope| {
        for counter in counters {
            scope.spawn(move || {
                start.wait();
                count(counter, rounds);
                *TOTAL.lock().unwrap() += *counter;
            });
        }
    });
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let number = |at: usize| arguments.get(at).and_then(|one| one.parse().ok());
    let (threads, rounds) = (number(1).unwrap_or(4), number(2).unwrap_or(1000));
    if arguments.get(3).is_some_and(|mode| mode == "padded") {
        run(make(threads as usize, || Padded(0)).iter_mut().map(|one| &mut one.0), rounds);
    } else {
        run(make(threads as usize, || Plain(0)).iter_mut().map(|one| &mut one.0), rounds);
    }
    assert_eq!(*TOTAL.lock().unwrap(), threads * (rounds / 2));
}
