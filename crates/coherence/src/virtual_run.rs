//! Virtual time: one stream of steps for each processor, run in the order in which a machine of so many processors with
//! given costs would run them.
//!
//! Each processor has a clock of its own. The one whose clock is least takes its next step; among equals, the lowest id. An
//! access costs its time and that of the requests that it makes; a lock goes to the processor that asked first *in virtual time*.
//! The order, and with it every count, is the same however the streams were recorded: threads that a busy machine ran
//! one after the other, in long slices, are interleaved here as they would be side by side.
//!
//! ```text
//! p0   lock ====== unlock
//! p1       lock ..........=====      p1 waits until p0's unlock, then pays the lock's cost
//! ```
//!
//! What the model cannot see: a program whose steps depend on the order would make other steps in this one.

use std::collections::{BTreeMap, VecDeque};

use crate::access::{AccessKind, DataAccess, ProcessorId, SiteId, SyncKind, SyncOperation, SyncToken};
use crate::error::{Error, Result};
use crate::result::CommunicationResult;
use crate::settings::CoherenceSettings;
use crate::simulation::CoherenceSimulation;

/// Costs of steps in nanoseconds; those of requests and upgrades are in [`CoherenceSettings::costs`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StepCosts {
    /// An access with a valid copy.
    pub access: u64,
    /// Taking a lock, semaphore or flag, after any wait.
    pub lock: u64,
    /// Passing a barrier, after any wait.
    pub barrier: u64,
}

/// What a processor does next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StreamStep {
    /// Accesses data.
    Access {
        /// First byte.
        address: u64,
        /// Bytes.
        size: u32,
        /// Read, write or update.
        kind: AccessKind,
    },
    /// Computes for so many nanoseconds.
    Compute(u64),
    /// Takes a lock, which one processor holds at a time.
    Lock(SyncToken),
    /// Gives it back.
    Unlock(SyncToken),
    /// Adds 1 to a semaphore.
    Post(SyncToken),
    /// Takes 1 from a semaphore; waits while it is 0.
    Await(SyncToken),
    /// Waits for so many processors at a barrier.
    Barrier(SyncToken, u32),
    /// Lets another processor begin, which has a stream of its own.
    Fork(ProcessorId),
    /// Waits for the end of another processor.
    Join(ProcessorId),
}

/// The steps of one processor, each at its place in the program.
pub type ProcessorStream = Vec<(SiteId, StreamStep)>;

/// Why a processor did not compute.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum VirtualWaitCause {
    /// So many requests and upgrades of one access.
    Protocol,
    /// A lock or semaphore: what was waited for, and what taking it costs.
    Token(SyncToken),
    /// A barrier.
    Barrier(SyncToken),
    /// Another's end.
    Join(ProcessorId),
}

/// An interval in which a processor waited.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct VirtualWait {
    /// Who.
    pub processor: ProcessorId,
    /// Where.
    pub site: SiteId,
    /// Virtual nanoseconds from the begin of the run.
    pub start: u64,
    /// The same.
    pub end: u64,
    /// Why.
    pub cause: VirtualWaitCause,
    /// Who ended it: the last holder, poster, arriver, or the one that was joined.
    pub enabled_by: Option<ProcessorId>,
}

/// A run in virtual time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VirtualRun {
    /// Requests and their causes, at virtual times.
    pub communication: CommunicationResult,
    /// Waits, in the order in which they ended (of equal ends, in the order of the simulation).
    pub waits: Vec<VirtualWait>,
    /// Virtual nanoseconds at which each processor ended.
    pub ends: Vec<u64>,
}

impl VirtualRun {
    /// Runs the streams, one for each processor. Processors that no other creates begin at 0.
    ///
    /// # Errors
    /// [`Error::Unit`], [`Error::Deadlock`], [`Error::NotHeld`], [`Error::NoStream`].
    pub fn of(streams: &[ProcessorStream], settings: CoherenceSettings, costs: StepCosts) -> Result<Self> {
        let mut runner = Runner::new(streams, settings, costs)?;
        while let Some(processor) = runner.next() {
            runner.step(processor)?;
        }
        runner.check_ended()?;
        let mut waits = runner.waits;
        waits.sort_by_key(|wait| wait.end);
        let ends = runner.processors.iter().map(|processor| processor.time).collect();
        Ok(Self { communication: runner.simulation.finish(), waits, ends })
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum VirtualProgress {
    Unborn,
    Ready,
    Blocked,
    Ended,
}

struct VirtualProcessor {
    time: u64,
    next: usize,
    progress: VirtualProgress,
}

#[derive(Default)]
struct VirtualToken {
    /// Holder of a lock.
    holder: Option<ProcessorId>,
    /// Who gave it back or posted last.
    last: Option<ProcessorId>,
    /// Posts that no processor has taken yet.
    posts: u64,
    waiting: VecDeque<ProcessorId>,
}

struct Runner<'a> {
    streams: &'a [ProcessorStream],
    settings: CoherenceSettings,
    costs: StepCosts,
    simulation: CoherenceSimulation,
    processors: Vec<VirtualProcessor>,
    tokens: BTreeMap<SyncToken, VirtualToken>,
    barriers: BTreeMap<SyncToken, Vec<ProcessorId>>,
    joiners: BTreeMap<ProcessorId, Vec<ProcessorId>>,
    waits: Vec<VirtualWait>,
}

impl<'a> Runner<'a> {
    fn new(streams: &'a [ProcessorStream], settings: CoherenceSettings, costs: StepCosts) -> Result<Self> {
        let mut processors: Vec<_> = streams
            .iter()
            .map(|_| VirtualProcessor { time: 0, next: 0, progress: VirtualProgress::Ready })
            .collect();
        find_unborn(streams, &mut processors)?;
        Ok(Self {
            streams,
            settings,
            costs,
            simulation: CoherenceSimulation::new(settings)?,
            processors,
            tokens: BTreeMap::new(),
            barriers: BTreeMap::new(),
            joiners: BTreeMap::new(),
            waits: Vec::new(),
        })
    }

    /// The ready processor whose clock is least.
    fn next(&self) -> Option<ProcessorId> {
        let ready =
            self.processors.iter().enumerate().filter(|(_, state)| state.progress == VirtualProgress::Ready);
        ready.min_by_key(|(index, state)| (state.time, *index)).map(|(index, _)| ProcessorId(index as u16))
    }

    fn state(&mut self, processor: ProcessorId) -> &mut VirtualProcessor {
        &mut self.processors[processor.index()]
    }

    fn step(&mut self, processor: ProcessorId) -> Result<()> {
        let state = &mut self.processors[processor.index()];
        let Some(&(site, step)) = self.streams[processor.index()].get(state.next) else {
            self.end(processor);
            return Ok(());
        };
        state.next += 1;
        match step {
            StreamStep::Compute(duration) => state.time += duration,
            StreamStep::Access { address, size, kind } => {
                let time = state.time;
                self.access(DataAccess { processor, address, size, kind, site, time });
            }
            StreamStep::Lock(token) => self.ask(processor, token, true),
            StreamStep::Await(token) => self.ask(processor, token, false),
            StreamStep::Unlock(token) => self.unlock(processor, token, site)?,
            StreamStep::Post(token) => self.post(processor, token, site),
            StreamStep::Barrier(token, expected) => self.arrive(processor, token, expected, site),
            StreamStep::Fork(child) => self.fork(processor, child, site),
            StreamStep::Join(child) => self.join(processor, child),
        }
        Ok(())
    }

    fn access(&mut self, access: DataAccess) {
        let outcome = self.simulation.access(&access);
        let costs = self.settings.costs;
        let protocol =
            u64::from(outcome.requests) * costs.request + u64::from(outcome.upgrades) * costs.upgrade;
        if protocol > 0 {
            self.waits.push(VirtualWait {
                processor: access.processor,
                site: access.site,
                start: access.time,
                end: access.time + protocol,
                cause: VirtualWaitCause::Protocol,
                enabled_by: None,
            });
        }
        self.state(access.processor).time += protocol + self.costs.access;
    }

    fn synchronise(&mut self, processor: ProcessorId, kind: SyncKind, token: SyncToken, site: SiteId) {
        let time = self.state(processor).time;
        self.simulation.synchronise(&SyncOperation { processor, token, kind, site, time });
    }

    /// The place of the step that was taken last.
    fn site(&self, processor: ProcessorId) -> SiteId {
        let last = self.processors[processor.index()].next - 1;
        self.streams[processor.index()][last].0
    }

    /// Goes on after a wait that ended at `ready`, and its cost.
    fn resume(
        &mut self,
        processor: ProcessorId,
        ready: u64,
        cost: u64,
        (cause, enabled_by): (VirtualWaitCause, Option<ProcessorId>),
    ) {
        let site = self.site(processor);
        let state = self.state(processor);
        let start = state.time;
        state.time = start.max(ready) + cost;
        state.progress = VirtualProgress::Ready;
        let end = state.time;
        if end > start {
            self.waits.push(VirtualWait { processor, site, start, end, cause, enabled_by });
        }
    }

    fn fork(&mut self, processor: ProcessorId, child: ProcessorId, site: SiteId) {
        self.synchronise(processor, SyncKind::Fork { child }, SyncToken(0), site);
        let time = self.state(processor).time;
        *self.state(child) = VirtualProcessor { time, next: 0, progress: VirtualProgress::Ready };
    }

    /// Takes a token, or waits for it.
    fn ask(&mut self, processor: ProcessorId, token: SyncToken, is_lock: bool) {
        let state = self.tokens.entry(token).or_default();
        let is_free = if is_lock { state.holder.is_none() } else { state.posts > 0 };
        if is_free {
            self.take(processor, token, is_lock);
        } else {
            state.waiting.push_back(processor);
            self.state(processor).progress = VirtualProgress::Blocked;
        }
    }

    fn post(&mut self, processor: ProcessorId, token: SyncToken, site: SiteId) {
        self.synchronise(processor, SyncKind::Release, token, site);
        let state = self.tokens.entry(token).or_default();
        state.posts += 1;
        state.last = Some(processor);
        self.wake(token, false);
    }

    /// Takes a lock that is free, or one post.
    fn take(&mut self, processor: ProcessorId, token: SyncToken, is_lock: bool) {
        let state = self.tokens.entry(token).or_default();
        if is_lock {
            state.holder = Some(processor);
        } else {
            state.posts -= 1;
        }
        let (last, cost) = (state.last, self.costs.lock);
        // A post or an unlock is never ahead of the least clock, so a token that is free has been free since then.
        let ready = last.filter(|_| self.state(processor).progress == VirtualProgress::Blocked);
        let ready = ready.map_or(0, |last| self.state(last).time);
        let enabler = last.filter(|_| ready > 0);
        self.resume(processor, ready, cost, (VirtualWaitCause::Token(token), enabler));
        let site = self.site(processor);
        self.synchronise(processor, SyncKind::Acquire, token, site);
    }

    fn unlock(&mut self, processor: ProcessorId, token: SyncToken, site: SiteId) -> Result<()> {
        let state = self.tokens.entry(token).or_default();
        if state.holder != Some(processor) {
            return Err(Error::NotHeld { processor, token });
        }
        state.holder = None;
        state.last = Some(processor);
        self.synchronise(processor, SyncKind::Release, token, site);
        self.wake(token, true);
        Ok(())
    }

    /// Gives a token to the processor that has waited longest.
    fn wake(&mut self, token: SyncToken, is_lock: bool) {
        if let Some(waiter) = self.tokens.entry(token).or_default().waiting.pop_front() {
            self.take(waiter, token, is_lock);
        }
    }

    fn arrive(&mut self, processor: ProcessorId, token: SyncToken, expected: u32, site: SiteId) {
        self.synchronise(processor, SyncKind::Barrier { expected }, token, site);
        self.state(processor).progress = VirtualProgress::Blocked;
        let arrived = self.barriers.entry(token).or_default();
        arrived.push(processor);
        if arrived.len() < expected as usize {
            return;
        }
        let ready = self.state(processor).time;
        for waiter in self.barriers.remove(&token).unwrap_or_default() {
            let cause = (VirtualWaitCause::Barrier(token), Some(processor));
            self.resume(waiter, ready, self.costs.barrier, cause);
        }
    }

    fn join(&mut self, processor: ProcessorId, child: ProcessorId) {
        if self.state(child).progress == VirtualProgress::Ended {
            let ready = self.state(child).time;
            self.resume_joiner(processor, child, ready);
        } else {
            self.state(processor).progress = VirtualProgress::Blocked;
            self.joiners.entry(child).or_default().push(processor);
        }
    }

    fn resume_joiner(&mut self, processor: ProcessorId, child: ProcessorId, ready: u64) {
        self.resume(processor, ready, 0, (VirtualWaitCause::Join(child), Some(child)));
        let site = self.site(processor);
        self.synchronise(processor, SyncKind::Join { child }, SyncToken(0), site);
    }

    fn end(&mut self, processor: ProcessorId) {
        self.state(processor).progress = VirtualProgress::Ended;
        let ready = self.state(processor).time;
        for joiner in self.joiners.remove(&processor).unwrap_or_default() {
            self.resume_joiner(joiner, processor, ready);
        }
    }

    fn check_ended(&self) -> Result<()> {
        let waiting = |state: &VirtualProcessor| state.progress != VirtualProgress::Ended;
        let left = self.processors.iter().enumerate().filter(|(_, state)| waiting(state));
        let (blocked, steps): (Vec<_>, Vec<_>) =
            left.map(|(index, state)| (ProcessorId(index as u16), state.next.saturating_sub(1))).unzip();
        if blocked.is_empty() { Ok(()) } else { Err(Error::Deadlock { blocked, steps }) }
    }
}

/// Processors that another one creates do not begin by themselves.
fn find_unborn(streams: &[ProcessorStream], processors: &mut [VirtualProcessor]) -> Result<()> {
    for (index, stream) in streams.iter().enumerate() {
        let processor = ProcessorId(index as u16);
        for (_, step) in stream {
            let (StreamStep::Fork(child) | StreamStep::Join(child)) = *step else { continue };
            let unknown = Error::NoStream { processor, child };
            let state = processors.get_mut(child.index()).filter(|_| child != processor).ok_or(unknown)?;
            if let StreamStep::Fork(_) = step {
                if state.progress == VirtualProgress::Unborn {
                    return Err(Error::NoStream { processor, child });
                }
                state.progress = VirtualProgress::Unborn;
            }
        }
    }
    Ok(())
}
