use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::*;
use crate::raw::{KernelTask, RawKind, RawStack, TakenStack};

/// Hands over a number of events at each look, numbered by their times.
#[derive(Clone, Default)]
struct Counting {
    each: u64,
    stack_bytes: usize,
    round: Duration,
    /// The look at which it fails, and whether that is a panic.
    failing: Option<(u64, bool)>,
    looks: Arc<AtomicU64>,
    is_stopped: Arc<AtomicBool>,
}

impl Counting {
    fn looks(&self) -> u64 {
        self.looks.load(Ordering::SeqCst)
    }

    fn start(&self) -> ReadingThread {
        ReadingThread::start(Box::new(self.clone())).unwrap()
    }
}

impl Collector for Counting {
    fn track(&mut self, _: KernelTask) -> io::Result<()> {
        Ok(())
    }

    fn drain(&mut self, into: &mut Vec<RawEvent>) -> io::Result<()> {
        let look = self.looks.fetch_add(1, Ordering::SeqCst);
        for number in look * self.each..(look + 1) * self.each {
            let taken = TakenStack { memory: vec![0; self.stack_bytes], ..TakenStack::default() };
            let task = KernelTask { pid: 1, tid: 1 };
            let kind = RawKind::Fork { parent: task, child: task, stack: RawStack::Taken(Box::new(taken)) };
            into.push(RawEvent { time: Time::from_nanoseconds(number), cpu: 0, kind });
        }
        match self.failing {
            Some((failing, true)) if failing == look => panic!("this look panics"),
            Some((failing, false)) if failing == look => Err(io::Error::other("the kernel refuses")),
            _ => Ok(()),
        }
    }

    fn stop(&mut self) {
        self.is_stopped.store(true, Ordering::SeqCst);
    }

    fn round(&self) -> Option<Duration> {
        Some(self.round)
    }

    fn alarms(&self) -> Vec<RawFd> {
        Vec::new()
    }
}

fn times(batch: &DrainedBatch) -> impl Iterator<Item = u64> {
    batch.events.iter().map(|event| event.time.nanoseconds())
}

#[test]
fn every_event_comes_once_and_in_the_order_of_the_looks() {
    let collector = Counting { each: 3, ..Counting::default() };
    let mut reading = collector.start();
    let mut found = Vec::new();
    while found.len() < 30 {
        found.extend(times(&reading.wait().unwrap()));
    }
    reading.stop();
    let mut is_last = false;
    while !is_last {
        let batch = reading.wait().unwrap();
        is_last = batch.is_last;
        found.extend(times(&batch));
    }
    assert!(reading.wait().is_none() && reading.take().is_none());
    reading.finish();
    assert!(collector.is_stopped.load(Ordering::SeqCst));
    assert_eq!(found, (0..3 * collector.looks()).collect::<Vec<_>>());
}

#[test]
fn the_buffers_are_read_while_nothing_is_written_down() {
    let collector = Counting { each: 1, ..Counting::default() };
    let mut reading = collector.start();
    while collector.looks() < 100 {
        std::thread::yield_now();
    }
    assert!(times(&reading.take().unwrap().0).eq([0]));
}

#[test]
fn a_full_queue_stops_the_reading_and_room_lets_it_go_on() {
    let collector = Counting { each: 8, stack_bytes: 8 << 20, ..Counting::default() };
    let mut reading = collector.start();
    let wait_until_full = |reading: &ReadingThread| {
        while reading.queue.lock().bytes <= QUEUE_BYTES {
            std::thread::yield_now();
        }
    };
    wait_until_full(&reading);
    std::thread::sleep(Duration::from_millis(20));
    assert_eq!(collector.looks(), 2, "64 MiB of stacks each: the second is the first too many");
    assert_eq!(times(&reading.take().unwrap().0).next(), Some(0));
    wait_until_full(&reading);
    assert_eq!(collector.looks(), 3);
    // What is in the queue is not wanted: nothing waits for room.
    reading.finish();
    assert!(collector.is_stopped.load(Ordering::SeqCst));
}

#[test]
fn who_asks_is_answered_at_once() {
    let collector = Counting { each: 1, round: Duration::from_secs(3600), ..Counting::default() };
    let mut reading = collector.start();
    // The first look comes by itself; the next one would come in an hour.
    assert!(reading.wait().is_some());
    let asked = now();
    reading.ask();
    let batch = reading.wait().unwrap();
    assert!(batch.begun >= asked && !batch.is_last);
    reading.stop();
    assert!(reading.wait().unwrap().is_last);
}

#[test]
fn a_failure_is_the_last_that_comes_with_what_was_read() {
    let collector = Counting { each: 2, failing: Some((1, false)), ..Counting::default() };
    let mut reading = collector.start();
    assert!(reading.wait().unwrap().failure.is_none());
    let batch = reading.wait().unwrap();
    assert!(batch.is_last && times(&batch).eq([2, 3]));
    assert_eq!(batch.failure.unwrap().to_string(), "the kernel refuses");
    assert!(reading.wait().is_none());
    reading.finish();
    assert!(collector.is_stopped.load(Ordering::SeqCst));
}

#[test]
#[should_panic(expected = "this look panics")]
fn a_panic_goes_on_in_the_recorder() {
    let collector = Counting { each: 1, failing: Some((0, true)), ..Counting::default() };
    let mut reading = collector.start();
    let _ = reading.wait();
}
