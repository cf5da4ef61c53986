//! Reads the collector's buffers in a thread of its own, so that they are emptied however long it takes to write down what was in them.
//!
//! ```text
//!   buffers ──► reading thread ──► queue ──► the recorder: sorter, interpreter, assembler, log
//!               every few ms       at most QUEUE_BYTES
//! ```
//! Buffers hold what a busy program writes in some tens of milliseconds; the queue holds seconds of it. A full queue stops the reading: the
//! buffers fill up then, and their writers count what finds no room.

use std::collections::VecDeque;
use std::io;
use std::os::fd::RawFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use longpole_event::Time;

use crate::clock::now;
use crate::collector::Collector;
use crate::machine::take_short_turns;
use crate::raw::RawEvent;
use crate::wait::{EventCounter, PollSource, Waiter};

/// Time between two looks into the buffers.
pub(crate) const ROUND: Duration = Duration::from_millis(50);
/// Memory of events that were read and not yet written down.
const QUEUE_BYTES: usize = 128 << 20;
/// The recorder looks at the queue every [`ROUND`]; so much makes it look at once.
const URGENT_BYTES: usize = 1 << 20;

/// What one look into the buffers has found.
#[derive(Debug)]
pub(crate) struct DrainedBatch {
    /// In any order.
    pub(crate) events: Vec<RawEvent>,
    /// Everything that happened before this time has been read when the *next* batch has, see [`crate::sorter::Sorter::round`].
    pub(crate) reached: Time,
    /// When the look began.
    pub(crate) begun: Time,
    /// Why there are no more.
    pub(crate) failure: Option<io::Error>,
    /// Nothing follows.
    pub(crate) is_last: bool,
    bytes: usize,
}

/// The thread that reads.
#[derive(Debug)]
pub(crate) struct ReadingThread {
    thread: Option<JoinHandle<Box<dyn Collector>>>,
    queue: Arc<BatchQueue>,
    /// The last batch was taken.
    is_over: bool,
}

/// Between the two threads.
#[derive(Debug)]
struct BatchQueue {
    state: Mutex<QueuedBatches>,
    /// There is more room, a batch, or a request.
    changed: Condvar,
    /// Wakes the recorder.
    filled: EventCounter,
    /// Wakes the reading thread.
    asked: EventCounter,
}

#[derive(Debug, Default)]
struct QueuedBatches {
    batches: VecDeque<DrainedBatch>,
    bytes: usize,
    is_stopping: bool,
}

impl ReadingThread {
    /// Starts to read.
    ///
    /// # Errors
    /// When the system makes no thread or descriptor.
    pub(crate) fn start(collector: Box<dyn Collector>) -> io::Result<ReadingThread> {
        let queue = Arc::new(BatchQueue {
            state: Mutex::default(),
            changed: Condvar::new(),
            filled: EventCounter::new()?,
            asked: EventCounter::new()?,
        });
        let waiter = Waiter::new()?;
        waiter.add(queue.asked.descriptor(), PollSource::Request)?;
        for alarm in collector.alarms() {
            waiter.add(alarm, PollSource::Alarm)?;
        }
        let shared = Arc::clone(&queue);
        let thread = std::thread::Builder::new()
            .name("reader".to_owned())
            .spawn(move || read_until_stopped(collector, &shared, &waiter))?;
        Ok(ReadingThread { thread: Some(thread), queue, is_over: false })
    }

    /// Readable while there is much in the queue.
    pub(crate) fn descriptor(&self) -> RawFd {
        self.queue.filled.descriptor()
    }

    /// The next batch, if one is there, and whether others follow at once.
    ///
    /// # Panics
    /// Where the reading thread has.
    pub(crate) fn take(&mut self) -> Option<(DrainedBatch, bool)> {
        let is_finished = self.has_finished();
        let taken = self.queue.take(self.queue.lock());
        self.see(taken.as_ref().map(|(batch, _)| batch), is_finished);
        taken
    }

    /// Has the buffers read now.
    pub(crate) fn ask(&self) {
        self.queue.asked.add();
    }

    /// The next batch, whenever it comes; `None` after the last one.
    ///
    /// # Panics
    /// Where the reading thread has.
    pub(crate) fn wait(&mut self) -> Option<DrainedBatch> {
        while !self.is_over {
            let is_finished = self.has_finished();
            let mut state = self.queue.lock();
            if state.batches.is_empty() && !is_finished {
                // The time is for a thread that ends without a last batch.
                let waited = self.queue.changed.wait_timeout(state, ROUND);
                state = waited.unwrap_or_else(PoisonError::into_inner).0;
            }
            let batch = self.queue.take(state).map(|(batch, _)| batch);
            self.see(batch.as_ref(), is_finished);
            if batch.is_some() {
                return batch;
            }
        }
        None
    }

    fn has_finished(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// What was taken, and whether the thread had finished before. One that left no last batch has panicked; that goes on here.
    fn see(&mut self, batch: Option<&DrainedBatch>, is_finished: bool) {
        self.is_over |= batch.is_some_and(|batch| batch.is_last);
        if batch.is_none()
            && is_finished
            && !self.is_over
            && let Some(thread) = self.thread.take()
        {
            let panic = thread.join().err().expect("a thread that does not panic leaves a last batch");
            std::panic::resume_unwind(panic);
        }
    }

    /// Stops the collector. What is in the buffers still comes.
    pub(crate) fn stop(&self) {
        self.queue.stop();
    }

    /// The collector, when the last batch was taken or is not wanted.
    ///
    /// # Panics
    /// Where the reading thread has.
    pub(crate) fn finish(mut self) -> Box<dyn Collector> {
        self.stop();
        let thread = self.thread.take().expect("it is taken here and for a panic only");
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

impl Drop for ReadingThread {
    fn drop(&mut self) {
        if let Some(thread) = self.thread.take() {
            self.queue.stop();
            // Its panic has been told.
            let _ = thread.join();
        }
    }
}

impl BatchQueue {
    fn stop(&self) {
        self.lock().is_stopping = true;
        self.changed.notify_all();
        self.asked.add();
    }

    fn lock(&self) -> MutexGuard<'_, QueuedBatches> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, mut state: MutexGuard<'_, QueuedBatches>) -> Option<(DrainedBatch, bool)> {
        self.filled.clear();
        let batch = state.batches.pop_front()?;
        state.bytes -= batch.bytes;
        self.changed.notify_all();
        Some((batch, !state.batches.is_empty()))
    }

    fn push(&self, batch: DrainedBatch) {
        let mut state = self.lock();
        state.bytes += batch.bytes;
        let is_urgent = state.bytes >= URGENT_BYTES || batch.is_last || batch.failure.is_some();
        state.batches.push_back(batch);
        drop(state);
        self.changed.notify_all();
        if is_urgent {
            self.filled.add();
        }
    }

    /// Waits until there is room; whether reading is to end.
    fn wait_for_room(&self) -> bool {
        let mut state = self.lock();
        while state.bytes > QUEUE_BYTES && !state.is_stopping {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.is_stopping
    }
}

fn read_until_stopped(
    mut collector: Box<dyn Collector>,
    queue: &BatchQueue,
    waiter: &Waiter,
) -> Box<dyn Collector> {
    take_short_turns();
    let (mut is_first, mut is_stopped) = (true, false);
    loop {
        let is_behind = collector.behind().is_some();
        let usual = collector.round().unwrap_or(ROUND);
        // The first look is at once: the program runs already.
        if !is_first && !is_behind && !is_stopped {
            // Where waiting fails, the time of a round still passes.
            if waiter.wait(usual).is_err() {
                std::thread::sleep(usual);
            }
            queue.asked.clear();
        }
        is_first = false;
        if queue.wait_for_room() && !is_stopped {
            collector.stop();
            is_stopped = true;
        }
        let begun = now();
        let mut events = Vec::new();
        let failure = collector.drain(&mut events).err();
        let reached =
            [collector.behind(), collector.kept_back()].into_iter().flatten().fold(begun, Time::min);
        let is_last = failure.is_some() || is_stopped && collector.behind().is_none();
        let bytes = bytes_of(&events);
        queue.push(DrainedBatch { events, reached, begun, failure, is_last, bytes });
        if is_last {
            if !is_stopped {
                collector.stop();
            }
            return collector;
        }
    }
}

/// Memory that they take, about.
fn bytes_of(events: &Vec<RawEvent>) -> usize {
    let stacks: usize = events.iter().map(RawEvent::stack_bytes).sum();
    events.capacity() * size_of::<RawEvent>() + stacks
}

#[cfg(test)]
mod tests;
