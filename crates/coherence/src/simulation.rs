//! The simulation: accesses and synchronisation in, requests with their causes out.
//!
//! Events come one by one, in an order that respects each processor's own order and the synchronisation. An access that needs
//! nothing of the protocol costs a look into a directory of the processor's copies, and a few bits.

use std::rc::Rc;

use crate::access::{AccessKind, DataAccess, DataObjectId, ProcessorId, SiteId, SyncOperation};
use crate::clocks::Clocks;
use crate::directory::CopyDirectory;
use crate::error::Result;
use crate::objects::DataObjects;
use crate::requests::{DataRequest, RequestLedger};
use crate::result::CommunicationResult;
use crate::settings::{CoherenceProtocol, CoherenceSettings};
use crate::store::{CopyIndex, Mask, NO_SITE, ShadowStore, WriteNotice};

/// What the protocol had to do for an access; counts over the units that it touches.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct AccessOutcome {
    /// Requests.
    pub requests: u32,
    /// Upgrades: other copies were invalidated, nothing was fetched.
    pub upgrades: u32,
    /// What both cost, nanoseconds.
    pub cost: u64,
}

/// The part of an access in one unit.
pub(crate) struct UnitAccess {
    pub(crate) processor: ProcessorId,
    pub(crate) unit: u64,
    pub(crate) offset: u32,
    pub(crate) size: u32,
    pub(crate) kind: AccessKind,
    pub(crate) site: SiteId,
    pub(crate) time: u64,
}

/// What belongs to one processor.
pub(crate) struct ProcessorShadow {
    pub(crate) epoch: u32,
    pub(crate) copies: CopyDirectory,
    /// Copies written in this epoch (lazy release).
    pub(crate) written: Vec<CopyIndex>,
    /// Notices of ended intervals, by epoch (lazy release).
    pub(crate) notices: Vec<Rc<WriteNotice>>,
}

impl ProcessorShadow {
    fn new() -> Self {
        Self { epoch: 1, copies: CopyDirectory::new(), written: Vec::new(), notices: Vec::new() }
    }
}

/// A simulation of coherence. See the crate's documentation for an example.
pub struct CoherenceSimulation {
    pub(crate) settings: CoherenceSettings,
    shift: u32,
    pub(crate) store: ShadowStore,
    pub(crate) clocks: Clocks,
    pub(crate) ledger: RequestLedger,
    pub(crate) processors: Vec<ProcessorShadow>,
    pub(crate) objects: DataObjects,
    pub(crate) window: u32,
    pub(crate) window_start: u64,
}

impl CoherenceSimulation {
    /// A simulation of untouched memory.
    ///
    /// # Errors
    /// [`crate::Error::Unit`].
    pub fn new(settings: CoherenceSettings) -> Result<Self> {
        settings.check()?;
        Ok(Self {
            settings,
            shift: settings.unit.trailing_zeros(),
            store: ShadowStore::new(settings.unit),
            clocks: Clocks::default(),
            ledger: RequestLedger::new(settings.records),
            processors: Vec::new(),
            objects: DataObjects::default(),
            window: 0,
            window_start: 0,
        })
    }

    /// Keeps requests until [`Self::take_recent`] takes them.
    pub(crate) fn keep_recent(&mut self) {
        self.ledger.recent = Some(Vec::new());
    }

    /// The requests since the last call, in their order, with what each costs; none where they are not kept.
    pub(crate) fn take_recent(&mut self) -> Vec<(DataRequest, u64)> {
        self.ledger.recent.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Records requests for these units only.
    pub(crate) fn record_units(&mut self, addresses: &[u64]) {
        self.ledger.record_units(addresses);
    }

    /// Places an object at `[start, start + size)`; it replaces the objects there.
    pub fn place_object(&mut self, start: u64, size: u64, object: DataObjectId) {
        self.objects.place(start, size, object);
    }

    /// Removes the objects at `[start, start + size)`. Copies of its units stay as they are.
    pub fn remove_objects(&mut self, start: u64, size: u64) {
        self.objects.remove(start, size);
    }

    /// Simulates an access; one that passes the ends of units is an access to each of them, in order. Bytes beyond the last
    /// address are left out.
    #[inline]
    pub fn access(&mut self, access: &DataAccess) -> AccessOutcome {
        let offset = access.address & (self.settings.unit - 1);
        if access.size == 0 || offset + u64::from(access.size) > self.settings.unit {
            return self.access_units(access);
        }
        self.access_unit(&UnitAccess {
            processor: access.processor,
            unit: access.address >> self.shift,
            offset: offset as u32,
            size: access.size,
            kind: access.kind,
            site: access.site,
            time: access.time,
        })
    }

    #[inline]
    fn access_unit(&mut self, access: &UnitAccess) -> AccessOutcome {
        let state = self.processors.get_mut(access.processor.index());
        let found = state.and_then(|state| Some((state.copies.find(access.unit)?, state.epoch)));
        if let Some((copy, epoch)) = found {
            let hot = &self.store.hot[copy as usize];
            let is_free = hot.is_valid && (hot.is_writable || !access.kind.is_write());
            if is_free && hot.epoch == epoch {
                if access.kind.is_write() && hot.write_site != access.site {
                    self.note_write_site(copy, access.site);
                }
                self.store.mark(copy, access.offset, access.size, access.kind);
                return AccessOutcome::default();
            }
        }
        self.access_slowly(access)
    }

    #[cold]
    fn access_units(&mut self, access: &DataAccess) -> AccessOutcome {
        let mut outcome = AccessOutcome::default();
        let mut address = access.address;
        // The last address itself is never touched, so that the end has an address.
        let end = address.saturating_add(u64::from(access.size));
        while address < end {
            let offset = address & (self.settings.unit - 1);
            let size = (self.settings.unit - offset).min(end - address);
            let DataAccess { processor, kind, site, time, .. } = *access;
            let (unit, offset, size) = (address >> self.shift, offset as u32, size as u32);
            let part = self.access_unit(&UnitAccess { processor, unit, offset, size, kind, site, time });
            outcome.requests += part.requests;
            outcome.upgrades += part.upgrades;
            outcome.cost += part.cost;
            let Some(next) = address.checked_add(u64::from(size)) else { break };
            address = next;
        }
        outcome
    }

    #[inline(never)]
    fn access_slowly(&mut self, access: &UnitAccess) -> AccessOutcome {
        self.ensure(access.processor);
        let epoch = self.processors[access.processor.index()].epoch;
        let state = &mut self.processors[access.processor.index()];
        let known = state.copies.find(access.unit);
        let copy = known.unwrap_or_else(|| {
            let unit = self.store.unit(access.unit);
            let copy = self.store.add_copy(unit, access.processor);
            state.copies.insert(access.unit, copy);
            copy
        });
        let unit = self.store.hot[copy as usize].unit;
        self.store.begin_block(copy, epoch, self.block_limit(unit));
        let outcome = match self.settings.protocol {
            CoherenceProtocol::LazyRelease => self.access_lazily(copy, known.is_none(), access),
            CoherenceProtocol::Lines | CoherenceProtocol::Sequential => {
                self.access_exclusively(copy, known.is_none(), access)
            }
        };
        self.store.mark(copy, access.offset, access.size, access.kind);
        outcome
    }

    /// Epochs that are kept apart in copies of this unit.
    pub(crate) fn block_limit(&self, unit: u32) -> usize {
        match self.store.units[unit as usize].copies.len() {
            0 | 1 => self.settings.private_epochs,
            _ => self.settings.shared_epochs,
        }
    }

    fn ensure(&mut self, processor: ProcessorId) {
        self.clocks.ensure(processor);
        while self.processors.len() <= processor.index() {
            self.processors.push(ProcessorShadow::new());
        }
    }

    /// A write at this place, since the copy's written bytes were last handed on.
    pub(crate) fn note_write_site(&mut self, copy: CopyIndex, site: SiteId) {
        let hot = &mut self.store.hot[copy as usize];
        hot.write_site = site;
        let sites = &mut self.store.details[copy as usize].sites;
        if !sites.iter().any(|(known, _)| *known == site) {
            sites.push((site, hot.epoch));
        }
    }

    /// The bytes that the copy wrote have been handed on: the next write is a new one.
    pub(crate) fn clear_dirty(&mut self, copy: CopyIndex) {
        self.store.clear(copy, Mask::Dirty);
        self.store.details[copy as usize].sites.clear();
        let hot = &mut self.store.hot[copy as usize];
        hot.write_site = NO_SITE;
        hot.is_writable = false;
    }

    /// Applies a synchronisation operation.
    pub fn synchronise(&mut self, operation: &SyncOperation) {
        let is_lazy = self.settings.protocol == CoherenceProtocol::LazyRelease;
        for processor in Clocks::enders(operation).into_iter().flatten() {
            self.ensure(processor);
            if is_lazy {
                self.end_interval(processor);
            }
        }
        let advance = self.clocks.apply(operation);
        for gain in advance.gains.iter().filter(|_| is_lazy) {
            self.take_notices(gain);
        }
        for processor in Clocks::enders(operation).into_iter().flatten() {
            self.processors[processor.index()].epoch = self.clocks.epoch(processor);
        }
        for gain in &advance.gains {
            self.processors[gain.acquirer.index()].epoch = self.clocks.epoch(gain.acquirer);
        }
        if advance.is_barrier {
            self.window += 1;
            self.window_start = operation.time;
        }
    }

    /// Ends the run: copies that are still valid end their lifetimes.
    pub fn finish(mut self) -> CommunicationResult {
        for copy in 0..self.store.hot.len() as CopyIndex {
            self.close(copy);
            let limit = self.block_limit(self.store.hot[copy as usize].unit);
            self.store.end_block(copy, limit);
        }
        for unit in 0..self.store.units.len() as u32 {
            self.end_window(unit);
        }
        CommunicationResult::of(self)
    }
}
