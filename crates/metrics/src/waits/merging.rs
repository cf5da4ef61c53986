//! Explained waits on their way to their classes, in a thread of its own where there are many.
//!
//! ```text
//!   the sweep    explains 0 | explains 1 | explains 2 | …
//!   merging                 | adds 0     | adds 1     | …       batches of waits, in their order
//! ```
//! Classes are large, and each wait finds its own of them: that takes as long as explaining it. The thread adds what
//! the sweep would, in the same order, so that sums are the same.

use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::{self, JoinHandle};

use super::class::{Classes, ClassifiedWait, FinishedWait, WaitShares};
use super::explanation::Explained;
use super::limits::Limits;
use super::step::{Category, StepId, StepTable};
use super::verdict::Unwanted;

/// Waits of a batch.
const BATCH: usize = 1024;
/// Batches that may wait.
const WAITING: usize = 4;

/// Waits with their shares, one after the other.
#[derive(Debug, Default)]
struct WaitBatch {
    /// Each with the number of its shares: direct, roots, difference.
    waits: Vec<(ClassifiedWait, [u32; 3])>,
    direct: Vec<(StepId, f64, f64)>,
    roots: Vec<(StepId, f64)>,
    difference: Vec<(StepId, f64, f64)>,
}

impl WaitBatch {
    fn push(&mut self, wait: ClassifiedWait, explained: &Explained) {
        let Explained { direct, roots, difference, .. } = explained;
        let difference = difference.as_deref().unwrap_or_default();
        let counts = [direct.len(), roots.entries.len(), difference.len()].map(|count| count as u32);
        self.waits.push((wait, counts));
        self.direct.extend_from_slice(direct);
        self.roots.extend_from_slice(&roots.entries);
        self.difference.extend_from_slice(difference);
    }

    fn add_to(&self, classes: &mut Classes, limits: Limits, rest: &mut impl FnMut() -> StepId) {
        let (mut direct, mut roots, mut difference) = (&*self.direct, &*self.roots, &*self.difference);
        for (wait, counts) in &self.waits {
            let [of_direct, of_roots, of_difference] = counts.map(|count| count as usize);
            let shares = WaitShares {
                direct: direct.split_off(..of_direct).unwrap_or_default(),
                roots: roots.split_off(..of_roots).unwrap_or_default(),
                difference: difference.split_off(..of_difference).unwrap_or_default(),
            };
            classes.add(wait, shares, limits, rest);
        }
    }

    fn clear(&mut self) {
        self.waits.clear();
        self.direct.clear();
        self.roots.clear();
        self.difference.clear();
    }
}

/// Adds waits to their classes.
#[derive(Debug)]
pub(super) struct ClassMerging {
    limits: Limits,
    batch: WaitBatch,
    /// Once there was more than a batch.
    thread: Option<MergingThread>,
}

#[derive(Debug)]
struct MergingThread {
    to: SyncSender<WaitBatch>,
    /// Batches that are empty again.
    emptied: Receiver<WaitBatch>,
    thread: JoinHandle<Classes>,
}

impl MergingThread {
    /// Begins with no classes.
    fn new(limits: Limits, rest: StepId) -> MergingThread {
        let (to, batches): (_, Receiver<WaitBatch>) = sync_channel(WAITING);
        let (empty, emptied): (Sender<WaitBatch>, _) = channel();
        let thread = thread::spawn(move || {
            let mut classes = Classes::default();
            for mut batch in batches {
                batch.add_to(&mut classes, limits, &mut || rest);
                batch.clear();
                // Nobody wants it where the sweep is over.
                empty.send(batch).ok();
            }
            classes
        });
        MergingThread { to, emptied, thread }
    }

    fn end(self) -> Classes {
        drop(self.to);
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

impl ClassMerging {
    pub(super) fn new(limits: Limits) -> ClassMerging {
        ClassMerging { limits, batch: WaitBatch::default(), thread: None }
    }

    /// Adds a wait.
    pub(super) fn add(&mut self, finished: &FinishedWait, unwanted: Option<Unwanted>, table: &mut StepTable) {
        self.batch.push(ClassifiedWait::of(finished, unwanted, table), &finished.explained);
        if self.batch.waits.len() < BATCH {
            return;
        }
        let begin = || MergingThread::new(self.limits, rest(table));
        let thread = self.thread.get_or_insert_with(begin);
        let next = thread.emptied.try_recv().unwrap_or_default();
        let batch = std::mem::replace(&mut self.batch, next);
        if thread.to.send(batch).is_err() {
            self.thread.take().expect("it was there").end();
            unreachable!("a thread that takes no more batches has panicked");
        }
    }

    /// All classes.
    pub(super) fn into_classes(self, table: &mut StepTable) -> Classes {
        let mut classes = self.thread.map(MergingThread::end).unwrap_or_default();
        self.batch.add_to(&mut classes, self.limits, &mut || rest(table));
        classes
    }
}

/// The step of what is put together.
fn rest(table: &mut StepTable) -> StepId {
    table.intern(None, Category::Rest, None)
}

#[cfg(test)]
mod tests {
    use longpole_event::ThreadId;
    use longpole_trace::{Cause, CodePlace, ObjectId, PlaceId, ProcedureId};

    use super::super::Split;
    use super::super::class::{WaitClassKind, WaitClassSource, WaitClassSubject};
    use super::super::history::Roots;
    use super::*;

    /// A number below `end`, from a sequence.
    fn draw(random: &mut u64, end: u64) -> u64 {
        *random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*random >> 33) % end
    }

    fn wait(random: &mut u64, table: &mut StepTable) -> FinishedWait {
        let mut step = |random: &mut u64| {
            let place = CodePlace { procedure: ProcedureId(draw(random, 300) as u32), line: 0 };
            table.intern(None, Category::Running, Some(place))
        };
        let mut shares = |random: &mut u64, most| {
            let count = draw(random, most);
            (0..count).map(|_| (step(random), draw(random, 100) as f64, 0.1)).collect::<Vec<_>>()
        };
        let (direct, roots) = (shares(random, 5), shares(random, 5));
        let roots = Roots {
            entries: roots.into_iter().map(|(step, gained, lost)| (step, gained - 50.0 * lost)).collect(),
            split: Split::contention(draw(random, 100) as f64 / 3.0),
        };
        let difference = (draw(random, 3) == 0).then(|| shares(random, 4));
        let explained = Explained { direct, roots, is_cut: draw(random, 5) == 0, difference };
        let place = Some(PlaceId(draw(random, 20) as u32));
        let source = WaitClassSource { thread: None, place, object: Some(ObjectId(0)) };
        let subject = WaitClassSubject { source, kind: WaitClassKind::Blocked(Cause::Lock) };
        FinishedWait {
            thread: ThreadId(0),
            subject,
            count: 1,
            time: draw(random, 1000),
            explained,
            surely: None,
            is_most_of_run: false,
        }
    }

    #[test]
    fn batches_come_to_what_waits_come_to_one_by_one() {
        let limits = Limits { classes: 40, shares: 2000, ..Limits::DEFAULT };
        for count in [0, 1, BATCH - 1, BATCH, 20 * BATCH + 7] {
            let (mut random, mut table) = (count as u64, StepTable::default());
            let all = rest(&mut table);
            let (mut one_by_one, mut merging) = (Classes::default(), ClassMerging::new(limits));
            for _ in 0..count {
                let finished = wait(&mut random, &mut table);
                let mut alone = WaitBatch::default();
                alone.push(ClassifiedWait::of(&finished, None, &table), &finished.explained);
                alone.add_to(&mut one_by_one, limits, &mut || all);
                merging.add(&finished, None, &mut table);
            }
            assert_eq!(merging.thread.is_some(), count >= BATCH);
            let batched = merging.into_classes(&mut table);
            assert_eq!((batched.cut, batched.merged), (one_by_one.cut, one_by_one.merged));
            assert_eq!(batched.merged > 0, count > 1, "more classes than are told apart");
            let (batched, one_by_one) = (batched.into_classes(), one_by_one.into_classes());
            assert_eq!(format!("{batched:?}"), format!("{one_by_one:?}"));
            let is_rest = |share: &super::super::StepShare| share.step == all;
            let has_rest = batched.iter().any(|class| class.direct.iter().any(is_rest));
            assert!(has_rest || count <= BATCH, "shares that are put together");
        }
    }
}
