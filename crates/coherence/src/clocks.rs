//! Vector clocks of the processors, and the history of what each of them acquired.
//!
//! A processor's *epoch* counts its synchronisation operations from 1: accesses of one epoch have the same
//! happens-before relations. `known(p, e, q)` is the newest epoch of *q* that happens before epoch *e* of *p*:
//!
//! ```text
//! q   epoch 1 | release L      epoch 2 ...
//! p   epoch 1 |           acquire L | epoch 2        known(p, 1, q) = 0, known(p, 2, q) = 1
//! ```
//!
//! Invariant: each history ascends in both of its numbers, so both questions are binary searches.

use rustc_hash::FxHashMap;

use crate::access::{ProcessorId, SiteId, SyncKind, SyncObject, SyncOperation, SyncOrigin, SyncToken};

/// The newest known epoch of each processor; 0 where nothing is known.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(crate) struct VectorClock(Vec<u32>);

impl VectorClock {
    pub(crate) fn get(&self, processor: ProcessorId) -> u32 {
        self.0.get(processor.index()).copied().unwrap_or(0)
    }

    fn set(&mut self, processor: ProcessorId, epoch: u32) {
        if self.0.len() <= processor.index() {
            self.0.resize(processor.index() + 1, 0);
        }
        self.0[processor.index()] = epoch;
    }

    fn join(&mut self, other: &Self) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (own, other) in self.0.iter_mut().zip(&other.0) {
            *own = (*own).max(*other);
        }
    }
}

/// Number of a synchronisation at which a processor's clock advanced.
pub(crate) type AcquisitionIndex = u32;

/// From its epoch `own` on, the processor knows the other's epochs up to `known`.
#[derive(Clone, Copy)]
struct EpochStep {
    own: u32,
    known: u32,
    acquisition: AcquisitionIndex,
}

/// A processor's clock and its history by other processor.
#[derive(Default)]
struct ProcessorClock {
    clock: VectorClock,
    history: Vec<Vec<EpochStep>>,
}

#[derive(Default)]
struct BarrierEpisode {
    arrived: Vec<(ProcessorId, SiteId)>,
    joined: VectorClock,
}

/// The epochs `from < e ≤ to` of the releaser now happen before the acquirer's next access.
pub(crate) struct EpochGain {
    pub(crate) acquirer: ProcessorId,
    pub(crate) releaser: ProcessorId,
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) acquisition: AcquisitionIndex,
}

/// What one operation changed.
#[derive(Default)]
pub(crate) struct ClockAdvance {
    /// In order of the acquirer's part in the operation, then by releaser.
    pub(crate) gains: Vec<EpochGain>,
    /// An episode of a barrier is complete.
    pub(crate) is_barrier: bool,
}

/// All clocks.
#[derive(Default)]
pub(crate) struct Clocks {
    processors: Vec<ProcessorClock>,
    tokens: FxHashMap<SyncToken, VectorClock>,
    barriers: FxHashMap<SyncToken, BarrierEpisode>,
    acquisitions: Vec<SyncOrigin>,
}

impl Clocks {
    /// Makes clocks for processors up to this one.
    pub(crate) fn ensure(&mut self, processor: ProcessorId) {
        while self.processors.len() <= processor.index() {
            let next = ProcessorId(self.processors.len() as u16);
            let mut made = ProcessorClock::default();
            made.clock.set(next, 1);
            self.processors.push(made);
        }
    }

    /// The processor's current epoch.
    pub(crate) fn epoch(&self, processor: ProcessorId) -> u32 {
        self.processors[processor.index()].clock.get(processor)
    }

    /// The synchronisation with this number.
    pub(crate) fn origin(&self, acquisition: AcquisitionIndex) -> SyncOrigin {
        self.acquisitions[acquisition as usize]
    }

    /// The newest epoch of `other` that happens before (or is) epoch `own` of the processor.
    pub(crate) fn known(&self, processor: ProcessorId, own: u32, other: ProcessorId) -> u32 {
        if processor == other {
            return own;
        }
        let Some(steps) = self.processors[processor.index()].history.get(other.index()) else { return 0 };
        match steps.partition_point(|step| step.own <= own) {
            0 => 0,
            after => steps[after - 1].known,
        }
    }

    /// The first synchronisation that ordered this epoch of the other before the processor; `None`: unordered.
    pub(crate) fn acquisition_of(
        &self,
        processor: ProcessorId,
        other: ProcessorId,
        epoch: u32,
    ) -> Option<AcquisitionIndex> {
        let steps = self.processors[processor.index()].history.get(other.index())?;
        steps.get(steps.partition_point(|step| step.known < epoch)).map(|step| step.acquisition)
    }

    /// Applies an operation. The processors' epochs end before it; see [`Clocks::enders`].
    pub(crate) fn apply(&mut self, operation: &SyncOperation) -> ClockAdvance {
        let &SyncOperation { processor, token, kind, site, .. } = operation;
        match kind {
            SyncKind::Acquire => {
                let released = self.tokens.get(&token).cloned().unwrap_or_default();
                let origin = SyncOrigin { object: SyncObject::Token(token), site };
                let gains = self.acquire(processor, &released, origin);
                ClockAdvance { gains, is_barrier: false }
            }
            SyncKind::Release => {
                let clock = self.publish(processor);
                self.tokens.entry(token).or_default().join(&clock);
                ClockAdvance::default()
            }
            SyncKind::ReleaseStore => {
                let clock = self.publish(processor);
                self.tokens.insert(token, clock);
                ClockAdvance::default()
            }
            SyncKind::RelaxedStore => {
                self.begin_epoch(processor);
                self.tokens.remove(&token);
                ClockAdvance::default()
            }
            SyncKind::Barrier { expected } => self.arrive(operation, expected),
            SyncKind::Fork { child } => {
                let clock = self.publish(processor);
                let origin = SyncOrigin { object: SyncObject::Fork(processor), site };
                ClockAdvance { gains: self.acquire(child, &clock, origin), is_barrier: false }
            }
            SyncKind::Join { child } => {
                let clock = self.publish(child);
                let origin = SyncOrigin { object: SyncObject::Join(child), site };
                ClockAdvance { gains: self.acquire(processor, &clock, origin), is_barrier: false }
            }
        }
    }

    /// The processors whose epoch ends with an operation, before it is applied.
    pub(crate) fn enders(operation: &SyncOperation) -> [Option<ProcessorId>; 2] {
        let other = match operation.kind {
            SyncKind::Fork { child } | SyncKind::Join { child } => Some(child),
            _ => None,
        };
        [Some(operation.processor), other]
    }

    fn arrive(&mut self, operation: &SyncOperation, expected: u32) -> ClockAdvance {
        let &SyncOperation { processor, token, site, .. } = operation;
        let clock = self.publish(processor);
        let episode = self.barriers.entry(token).or_default();
        episode.arrived.push((processor, site));
        episode.joined.join(&clock);
        if episode.arrived.len() < expected as usize {
            return ClockAdvance::default();
        }
        let BarrierEpisode { arrived, joined } = std::mem::take(episode);
        let object = SyncObject::Barrier(token);
        let acquire = |(acquirer, site)| self.acquire(acquirer, &joined, SyncOrigin { object, site });
        ClockAdvance { gains: arrived.into_iter().flat_map(acquire).collect(), is_barrier: true }
    }

    /// The processor's clock as others acquire it; a new epoch begins.
    fn publish(&mut self, processor: ProcessorId) -> VectorClock {
        let clock = self.processors[processor.index()].clock.clone();
        self.begin_epoch(processor);
        clock
    }

    fn begin_epoch(&mut self, processor: ProcessorId) {
        let clock = &mut self.processors[processor.index()].clock;
        clock.set(processor, clock.get(processor) + 1);
    }

    /// Joins a clock into the processor's, in a new epoch.
    fn acquire(&mut self, acquirer: ProcessorId, clock: &VectorClock, origin: SyncOrigin) -> Vec<EpochGain> {
        self.begin_epoch(acquirer);
        let state = &mut self.processors[acquirer.index()];
        let own = state.clock.get(acquirer);
        let acquisition = self.acquisitions.len() as AcquisitionIndex;
        let mut gains = Vec::new();
        for (index, &to) in clock.0.iter().enumerate() {
            let releaser = ProcessorId(index as u16);
            let from = state.clock.get(releaser);
            if to <= from {
                continue;
            }
            state.clock.set(releaser, to);
            if state.history.len() <= index {
                state.history.resize_with(index + 1, Vec::new);
            }
            state.history[index].push(EpochStep { own, known: to, acquisition });
            gains.push(EpochGain { acquirer, releaser, from, to, acquisition });
        }
        if !gains.is_empty() {
            self.acquisitions.push(origin);
        }
        gains
    }
}
