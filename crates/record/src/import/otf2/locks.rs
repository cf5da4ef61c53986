//! Locks: who waits for one, who gives it back, how long it was held.
//!
//! ```text
//!   owner 6    |Acquire(6) ==========|Release(6)
//!   owner 7        |Enter ~~~~~~~~~~~ ==|Acquire(7) =====|Release(7)     that it will be the seventh is looked for at its Enter
//! ```

use longpole_event::{EventKind, PrimitiveKind, StackId};
use longpole_otf2::TraceEvent;
use rustc_hash::FxHashMap;

use super::super::error::ImportResult;
use super::teams::TeamWait;
use super::writer::{LookAhead, TraceWriter};

/// Events of a region in which the lock is looked for that it takes.
const MOST_IN_REGION: usize = 64;
/// Locks that a thread can hold at a time; what is more is not followed.
const MOST_HELD: usize = 256;

/// A lock that a thread holds.
#[derive(Clone, Copy, Debug)]
struct HeldLock {
    lock: u32,
    since: u64,
    stack: Option<StackId>,
    is_contended: bool,
}

/// The locks of all processes.
#[derive(Debug, Default)]
pub(super) struct TracedLocks {
    /// Who has each: which owner of it that is.
    owners: FxHashMap<(usize, u32), u32>,
    /// Who waits to be the so manieth owner.
    wanted: FxHashMap<(usize, u32, u32), usize>,
    held: FxHashMap<usize, Vec<HeldLock>>,
    /// Who had to wait.
    contended: FxHashMap<usize, u32>,
}

impl TraceWriter<'_> {
    /// The thread enters a region in which it may take a lock: it waits where another one has that.
    pub(super) fn want_lock(
        &mut self,
        (thread, time): (usize, u64),
        ahead: &mut LookAhead<'_>,
    ) -> ImportResult<()> {
        let mut depth = 1;
        for place in 0..MOST_IN_REGION {
            match ahead(place)? {
                Some((_, TraceEvent::AcquireLock(lock, order))) => {
                    return self.wait_for_lock((thread, time), (lock, order));
                }
                Some((_, TraceEvent::Enter(_))) => depth += 1,
                Some((_, TraceEvent::Leave(_))) => depth -= 1,
                Some(_) => {}
                None => break,
            }
            if depth == 0 {
                break;
            }
        }
        Ok(())
    }

    fn wait_for_lock(&mut self, (thread, time): (usize, u64), (lock, order): (u32, u32)) -> ImportResult<()> {
        let process = self.process(thread);
        if self.threads[thread].waits.is_some() || !self.locks.owners.contains_key(&(process, lock)) {
            return Ok(());
        }
        let primitive = Some(self.lock_primitive(thread, lock)?);
        let stack = self.threads[thread].path();
        self.event(thread, time, EventKind::Await { primitive, stack })?;
        self.block(thread, time, None)?;
        self.threads[thread].waits = Some(TeamWait::Lock(lock, order));
        self.locks.wanted.insert((process, lock, order), thread);
        self.locks.contended.insert(thread, lock);
        Ok(())
    }

    fn lock_primitive(&mut self, thread: usize, lock: u32) -> ImportResult<longpole_event::PrimitiveId> {
        let name = format!("lock {lock}");
        self.primitive(thread, (PrimitiveKind::Mutex, lock.into()), &name)
    }

    /// The thread has a lock.
    pub(super) fn acquire_lock(
        &mut self,
        (thread, time): (usize, u64),
        (lock, order): (u32, u32),
    ) -> ImportResult<()> {
        self.stop_wanting((thread, time))?;
        self.observe(thread, time)?;
        let process = self.process(thread);
        self.locks.owners.insert((process, lock), order);
        let is_contended = self.locks.contended.remove(&thread) == Some(lock);
        let stack = self.threads[thread].path();
        let held = self.locks.held.entry(thread).or_default();
        if held.len() < MOST_HELD {
            held.push(HeldLock { lock, since: time, stack, is_contended });
        }
        Ok(())
    }

    /// The thread gives a lock back: who is to have it next goes on.
    pub(super) fn release_lock(
        &mut self,
        (thread, time): (usize, u64),
        (lock, order): (u32, u32),
    ) -> ImportResult<()> {
        let process = self.process(thread);
        self.observe(thread, time)?;
        self.locks.owners.remove(&(process, lock));
        self.end_hold((thread, time), lock)?;
        let Some(next) = self.locks.wanted.remove(&(process, lock, order.wrapping_add(1))) else {
            return Ok(());
        };
        self.threads[next].waits = None;
        let path = self.threads[thread].path();
        self.wake(next, time, Some((thread, path)))?;
        self.event(next, time, EventKind::Proceed)
    }

    fn end_hold(&mut self, (thread, time): (usize, u64), lock: u32) -> ImportResult<()> {
        let Some(held) = self.locks.held.get_mut(&thread) else { return Ok(()) };
        let Some(place) = held.iter().rposition(|held| held.lock == lock) else { return Ok(()) };
        let HeldLock { since, stack, is_contended, .. } = held.remove(place);
        let outer = place.checked_sub(1).map(|place| held[place].lock);
        let outer = outer.map(|outer| self.lock_primitive(thread, outer)).transpose()?;
        let primitive = self.lock_primitive(thread, lock)?;
        let nanoseconds = time.saturating_sub(since);
        let held = EventKind::Held {
            primitive,
            stack,
            outer,
            acquisitions: 1,
            contended: is_contended.into(),
            nanoseconds,
            longest: nanoseconds,
        };
        self.event(thread, time, held)
    }

    /// A thread that waits for a lock has it, or leaves without it.
    pub(super) fn stop_wanting(&mut self, (thread, time): (usize, u64)) -> ImportResult<()> {
        let Some(TeamWait::Lock(lock, order)) = self.threads[thread].waits else { return Ok(()) };
        self.threads[thread].waits = None;
        let process = self.process(thread);
        self.locks.wanted.remove(&(process, lock, order));
        self.wake(thread, time, None)?;
        self.event(thread, time, EventKind::Proceed)
    }
}
