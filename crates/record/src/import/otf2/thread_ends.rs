//! Threads that others create and wait for.
//!
//! ```text
//!   creator    ==|CreateThread(1) ====|Enter(pthread_join) ~~~~~~~~~|WaitThread(1) ====
//!   created       |BeginThread(1) ==================================|EndThread(1)
//! ```

use longpole_event::{CallDefinition, EventKind, FileKind, StackId, ThreadId};
use longpole_otf2::TraceEvent;
use rustc_hash::FxHashMap;

use super::super::error::ImportResult;
use super::teams::TeamWait;
use super::writer::{LookAhead, TraceWriter};

/// Events of a region in which the thread is looked for that is waited for.
const MOST_IN_REGION: usize = 64;
/// By what glibc waits for the end of a thread.
const FUTEX: i32 = 202;
const SHARED_WAIT: u64 = 9 | 256;

/// A thread, by its process, what kind of threads it is of, and its number among these.
type ThreadKey = (usize, u32, u64);

/// Threads that were created.
#[derive(Debug, Default)]
pub(super) struct TracedEnds {
    creators: FxHashMap<ThreadKey, (usize, Option<StackId>)>,
    /// Threads that have not ended, as far as they have begun.
    alive: FxHashMap<ThreadKey, usize>,
    ended: FxHashMap<ThreadKey, ThreadId>,
    /// Who waits for the end.
    waiting: FxHashMap<ThreadKey, usize>,
}

impl TraceWriter<'_> {
    fn key(&self, thread: usize, (kind, number): (u32, u64)) -> ThreadKey {
        (self.process(thread), kind, number)
    }

    /// The thread creates another one.
    pub(super) fn create_thread(
        &mut self,
        (thread, time): (usize, u64),
        created: (u32, u64),
    ) -> ImportResult<()> {
        self.observe(thread, time)?;
        let (key, path) = (self.key(thread, created), self.threads[thread].path());
        self.ends.creators.insert(key, (thread, path));
        Ok(())
    }

    /// Who created the thread that begins, and where.
    pub(super) fn creator(
        &mut self,
        thread: usize,
        began: (u32, u64),
    ) -> (Option<ThreadId>, Option<StackId>) {
        let key = self.key(thread, began);
        self.ends.alive.insert(key, thread);
        match self.ends.creators.remove(&key) {
            Some((creator, path)) => (self.threads[creator].id, path),
            None => (None, None),
        }
    }

    /// The thread ends: who waits for that goes on.
    pub(super) fn end_thread(&mut self, (thread, time): (usize, u64), ended: (u32, u64)) -> ImportResult<()> {
        let key = self.key(thread, ended);
        let (id, path) = (self.threads[thread].id, self.threads[thread].path());
        if let Some(waiting) = self.ends.waiting.remove(&key) {
            self.threads[waiting].waits = None;
            self.wake(waiting, time, Some((thread, path)))?;
        }
        self.ends.alive.remove(&key);
        self.ends.ended.extend(id.map(|id| (key, id)));
        self.end(thread, time)
    }

    /// The thread enters a region in which it may wait for the end of another.
    pub(super) fn want_end(
        &mut self,
        (thread, time): (usize, u64),
        ahead: &mut LookAhead<'_>,
    ) -> ImportResult<()> {
        for place in 0..MOST_IN_REGION {
            match ahead(place)? {
                Some((_, TraceEvent::WaitThread(kind, number))) => {
                    let key = self.key(thread, (kind, number));
                    return self.wait_for_end((thread, time), key);
                }
                Some((_, TraceEvent::Leave(_) | TraceEvent::LeaveContext(_))) | None => break,
                Some(_) => {}
            }
        }
        Ok(())
    }

    fn wait_for_end(&mut self, (thread, time): (usize, u64), key: ThreadKey) -> ImportResult<()> {
        let Some(&awaited) = self.ends.alive.get(&key) else { return Ok(()) };
        if self.threads[thread].waits.is_some() || self.ends.waiting.contains_key(&key) {
            return Ok(());
        }
        let tid = self.layout.threads[awaited].tid;
        let arguments = [u64::from(tid) << 3, SHARED_WAIT, tid.into()];
        let call = CallDefinition { number: FUTEX, arguments, file: FileKind::None };
        let call = Some(self.system_call(thread, call)?);
        self.block(thread, time, call)?;
        self.threads[thread].waits = Some(TeamWait::End);
        self.ends.waiting.insert(key, thread);
        Ok(())
    }

    /// The thread has waited for the end of another.
    pub(super) fn wait_thread(
        &mut self,
        (thread, time): (usize, u64),
        awaited: (u32, u64),
    ) -> ImportResult<()> {
        let key = self.key(thread, awaited);
        if self.ends.waiting.get(&key) == Some(&thread) {
            self.ends.waiting.remove(&key);
            self.threads[thread].waits = None;
            self.wake(thread, time, None)?;
        }
        match self.ends.ended.remove(&key) {
            Some(ended) => self.event(thread, time, EventKind::Joined { ended }),
            None => Ok(()),
        }
    }
}
