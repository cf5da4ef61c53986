//! What all protocols do when a copy is fetched and when it is lost.

use crate::access::ProcessorId;
use crate::bytes::{self, ByteSet};
use crate::patterns::{AccessPattern, PatternTally, SharingKind, UnitWindow, is_false_sharing, is_migratory};
use crate::requests::{DataRequest, InvalidatingWrite, LifetimeUse, RequestCause, pattern_of};
use crate::settings::CoherenceProtocol;
use crate::simulation::{CoherenceSimulation, UnitAccess};
use crate::store::{CopyIndex, Mask, OpenRequest, PendingWrite};

impl CoherenceSimulation {
    /// Makes a copy valid by a request, the cause of which is in `pending` and `Stale` unless it is the first. Gives its cost.
    pub(crate) fn fetch(&mut self, copy: CopyIndex, is_first: bool, access: &UnitAccess) -> u64 {
        let pending = std::mem::take(&mut self.store.details[copy as usize].pending);
        let (cause, obtained) = match is_first {
            // What others wrote before is not the reason of a first reference.
            true => (RequestCause::Cold, Vec::new()),
            false => self.cause(copy, &pending),
        };
        let producers = pending.iter().map(|write| write.processor).collect();
        let unit = access.unit * self.settings.unit;
        let request = DataRequest {
            id: 0,
            processor: access.processor,
            site: access.site,
            time: access.time,
            unit,
            offset: access.offset,
            kind: access.kind,
            object: self.objects.find(unit + u64::from(access.offset)),
            cause,
            outcome: None,
        };
        let bytes = match &request.cause {
            RequestCause::Invalidated { stale, .. }
                if self.settings.protocol == CoherenceProtocol::LazyRelease =>
            {
                stale.count()
            }
            _ => self.settings.unit,
        };
        let cost = self.settings.costs.of_request(bytes);
        let (id, flow) = self.ledger.add(request, cost, &obtained);
        self.open(copy, OpenRequest { id, flow, cost, is_cold: is_first, shape: None }, producers, access);
        cost
    }

    fn cause(&self, copy: CopyIndex, pending: &[PendingWrite]) -> (RequestCause, Vec<Option<u32>>) {
        let reader = self.store.hot[copy as usize].processor;
        let write = |write: &PendingWrite| {
            let acquisition = || self.clocks.acquisition_of(reader, write.processor, write.epoch);
            InvalidatingWrite {
                processor: write.processor,
                site: write.site,
                ordered_by: write.acquisition.or_else(acquisition).map(|index| self.clocks.origin(index)),
                request: write.obtained.map(|(id, _)| id),
            }
        };
        let writes: Vec<_> = pending.iter().map(write).collect();
        let synchronisation = writes.first().and_then(|write| write.ordered_by);
        let stale = ByteSet::of(self.store.mask(copy, Mask::Stale));
        let obtained = pending.iter().map(|write| write.obtained.map(|(_, flow)| flow)).collect();
        (RequestCause::Invalidated { synchronisation, writes, stale }, obtained)
    }

    fn open(&mut self, copy: CopyIndex, open: OpenRequest, producers: Vec<ProcessorId>, access: &UnitAccess) {
        if self.settings.window.is_some_and(|length| access.time >= self.window_start.saturating_add(length))
        {
            self.window += 1;
            self.window_start = access.time;
        }
        let unit = self.store.hot[copy as usize].unit;
        if !open.is_cold {
            if self.store.units[unit as usize].window.number != self.window {
                self.end_window(unit);
            }
            self.store.units[unit as usize].window.note(access.processor, producers.into_iter());
        }
        self.store.units[unit as usize].words_fetched += self.settings.unit / 8;
        self.store.details[copy as usize].open = Some(open);
        self.store.hot[copy as usize].is_valid = true;
    }

    /// Ends the unit's window: its shape is the pattern of those requests that bytes do not decide.
    pub(crate) fn end_window(&mut self, unit: u32) {
        let record = &mut self.store.units[unit as usize];
        let window = std::mem::replace(&mut record.window, UnitWindow::new(self.window));
        let shape = window.shape();
        for (flow, tally) in window.into_plain() {
            record.patterns.add(shape, tally);
            self.ledger.decide(flow, shape, tally);
        }
        for &copy in &record.copies {
            if let Some(open) = &mut self.store.details[copy as usize].open {
                open.shape = open.shape.or(Some(shape));
            }
        }
    }

    /// Ends the lifetime of a copy: what its request was good for is known now.
    pub(crate) fn close(&mut self, copy: CopyIndex) {
        let Some(open) = self.store.details[copy as usize].open.take() else { return };
        let outcome = self.outcome(copy, open.is_cold);
        self.ledger.close(open.id, open.flow, outcome);
        let unit = self.store.hot[copy as usize].unit;
        let record = &mut self.store.units[unit as usize];
        record.words_used += outcome.words;
        match pattern_of(&outcome).or(open.shape) {
            Some(pattern) => {
                let tally = PatternTally { requests: 1, cost: open.cost };
                record.patterns.add(pattern, tally);
                self.ledger.decide(open.flow, pattern, tally);
            }
            None => record.window.add_plain(open.flow, open.cost),
        }
        self.store.merge((copy, Mask::EverWritten), (copy, Mask::Written));
        for mask in [Mask::Read, Mask::Written, Mask::Rewritten, Mask::Stale, Mask::Before] {
            self.store.clear(copy, mask);
        }
        let hot = &mut self.store.hot[copy as usize];
        hot.is_valid = false;
        hot.is_writable = false;
    }

    fn outcome(&self, copy: CopyIndex, is_cold: bool) -> LifetimeUse {
        let used = self.store.used(copy);
        let mask = |mask| self.store.mask(copy, mask);
        let sharing = match is_cold {
            true => SharingKind::Cold,
            false if is_false_sharing(&used, mask(Mask::Stale)) => SharingKind::False,
            false => SharingKind::True,
        };
        let is_migratory = !is_cold && is_migratory(mask(Mask::Rewritten), mask(Mask::Before));
        LifetimeUse { words: bytes::count_words(&used), sharing, is_migratory }
    }

    /// Cold requests of later processors, in a unit that was only read since the second one came.
    pub(crate) fn read_only(&self, unit: u32) -> Option<(AccessPattern, PatternTally)> {
        let record = &self.store.units[unit as usize];
        let requests = record.copies.len() as u64 - 1;
        let tally =
            PatternTally { requests, cost: requests * self.settings.costs.of_request(self.settings.unit) };
        (!record.is_written_shared && requests > 0).then_some((AccessPattern::ReadOnly, tally))
    }
}
