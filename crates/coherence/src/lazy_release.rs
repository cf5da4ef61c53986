//! Pages with lazy release consistency: many writers, write notices, diffs (C §3; TreadMarks).
//!
//! ```text
//! q   write page | release L             an interval ends at each synchronisation; its notices name its pages
//! p   read page        | acquire L       p receives the notice: its copy becomes invalid here (I)
//!                        read page       R: p fetches the diffs of all noticed intervals
//! ```
//!
//! A diff holds exactly what its interval wrote. Writes that are unordered with an access never make its copy invalid.

use std::rc::Rc;

use crate::access::ProcessorId;
use crate::bytes::ByteSet;
use crate::clocks::EpochGain;
use crate::simulation::{AccessOutcome, CoherenceSimulation, UnitAccess};
use crate::store::{CopyIndex, Mask, PendingWrite, WriteNotice};

impl CoherenceSimulation {
    /// An access that the fast path could not do.
    pub(crate) fn access_lazily(
        &mut self,
        copy: CopyIndex,
        is_first: bool,
        access: &UnitAccess,
    ) -> AccessOutcome {
        let unit = self.store.hot[copy as usize].unit as usize;
        let mut outcome = AccessOutcome::default();
        if is_first {
            // The next write of each other processor is the first one that is shared.
            for index in 0..self.store.units[unit].copies.len() {
                let other = self.store.units[unit].copies[index];
                self.store.hot[other as usize].is_writable = false;
            }
        }
        if !self.store.hot[copy as usize].is_valid {
            self.take_predecessor(copy);
            outcome.cost = self.fetch(copy, is_first, access);
            outcome.requests = 1;
        }
        if access.kind.is_write() {
            let state = &mut self.processors[access.processor.index()];
            let detail = &mut self.store.details[copy as usize];
            if detail.listed != state.epoch {
                detail.listed = state.epoch;
                state.written.push(copy);
            }
            self.store.hot[copy as usize].is_writable = true;
            let record = &mut self.store.units[unit];
            record.is_written_shared |= record.copies.len() > 1;
            self.note_write_site(copy, access.site);
        }
        outcome
    }

    /// What the holder before read and then wrote. There is one if one of the intervals comes after all others.
    fn take_predecessor(&mut self, copy: CopyIndex) {
        let notices = std::mem::take(&mut self.store.details[copy as usize].notices);
        let is_after = |one: &WriteNotice, other: &WriteNotice| {
            self.clocks.known(one.processor, one.epoch, other.processor) >= other.epoch
        };
        // The last among equals: an interval comes after itself.
        let last = notices.iter().rev().find(|one| notices.iter().all(|other| is_after(one, other)));
        if let Some(last) = last {
            self.store.add(copy, Mask::Before, last.rewritten.words());
        }
    }

    /// Ends the processor's interval: a notice for each page that it wrote.
    pub(crate) fn end_interval(&mut self, processor: ProcessorId) {
        let epoch = self.processors[processor.index()].epoch;
        for copy in std::mem::take(&mut self.processors[processor.index()].written) {
            let detail = &mut self.store.details[copy as usize];
            let notice = WriteNotice {
                unit: self.store.hot[copy as usize].unit,
                processor,
                epoch,
                sites: std::mem::take(&mut detail.sites),
                obtained: detail.open.map(|open| (open.id, open.flow)),
                bytes: ByteSet::of(self.store.mask(copy, Mask::Dirty)),
                rewritten: ByteSet::of(self.store.mask(copy, Mask::Rewritten)),
            };
            self.clear_dirty(copy);
            self.processors[processor.index()].notices.push(Rc::new(notice));
        }
    }

    /// The notices of the intervals that a processor acquired make its copies invalid.
    pub(crate) fn take_notices(&mut self, gain: &EpochGain) {
        let notices = &self.processors[gain.releaser.index()].notices;
        let first = notices.partition_point(|notice| notice.epoch <= gain.from);
        let last = notices.partition_point(|notice| notice.epoch <= gain.to);
        for index in first..last {
            let notice = Rc::clone(&self.processors[gain.releaser.index()].notices[index]);
            let Some(copy) = self.store.copy_of(notice.unit, gain.acquirer) else { continue };
            self.close(copy);
            self.store.add(copy, Mask::Stale, notice.bytes.words());
            let detail = &mut self.store.details[copy as usize];
            for &(site, epoch) in &notice.sites {
                detail.add_pending(PendingWrite {
                    processor: notice.processor,
                    site,
                    epoch,
                    acquisition: Some(gain.acquisition),
                    obtained: notice.obtained,
                });
            }
            detail.notices.push(notice);
        }
    }
}
