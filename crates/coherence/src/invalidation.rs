//! One writer or many readers: cache lines, and pages with sequential consistency.
//!
//! ```text
//! owner writes   a a a          b          the tenures of an owner: [a a a] and [b]
//! reader              r  (downgrade)  r    each ends when another asks for the unit; what was written in it is
//!                                          then charged to every copy that is invalid, and the dirty mask is cleared
//! ```
//!
//! Invariant: a unit has an owner only while no other copy of it is valid.

use crate::simulation::{AccessOutcome, CoherenceSimulation, UnitAccess};
use crate::store::{CopyIndex, Mask, PendingWrite};

impl CoherenceSimulation {
    /// An access that the fast path could not do.
    pub(crate) fn access_exclusively(
        &mut self,
        copy: CopyIndex,
        is_first: bool,
        access: &UnitAccess,
    ) -> AccessOutcome {
        let unit = self.store.hot[copy as usize].unit as usize;
        let mut outcome = AccessOutcome::default();
        if !self.store.hot[copy as usize].is_valid {
            if let Some(owner) = self.store.units[unit].owner {
                self.end_tenure(owner);
            }
            if let (false, Some(writer)) = (is_first, self.store.units[unit].last_writer) {
                self.store.merge((copy, Mask::Before), (writer, Mask::Rewritten));
            }
            outcome.cost = self.fetch(copy, is_first, access);
            outcome.requests = 1;
        }
        if access.kind.is_write() {
            if !self.store.hot[copy as usize].is_writable && self.own(copy) && outcome.requests == 0 {
                outcome.upgrades = 1;
                outcome.cost += self.settings.costs.upgrade;
                self.store.units[unit].upgrades += 1;
            }
            self.note_write_site(copy, access.site);
        }
        outcome
    }

    /// Makes a copy the only one. Returns whether another copy was lost.
    fn own(&mut self, copy: CopyIndex) -> bool {
        let unit = self.store.hot[copy as usize].unit as usize;
        let others: Vec<CopyIndex> =
            self.store.units[unit].copies.iter().copied().filter(|&other| other != copy).collect();
        let mut is_lost = false;
        for &other in &others {
            is_lost |= self.store.hot[other as usize].is_valid;
            self.close(other);
        }
        self.store.hot[copy as usize].is_writable = true;
        let record = &mut self.store.units[unit];
        record.owner = Some(copy);
        record.last_writer = Some(copy);
        record.is_written_shared |= !others.is_empty();
        is_lost
    }

    /// Ends the owner's tenure: it may read on, and the copies that are invalid are charged with what it wrote.
    fn end_tenure(&mut self, owner: CopyIndex) {
        let unit = self.store.hot[owner as usize].unit as usize;
        let processor = self.store.hot[owner as usize].processor;
        let obtained = self.store.details[owner as usize].open.map(|open| (open.id, open.flow));
        let sites = std::mem::take(&mut self.store.details[owner as usize].sites);
        for index in 0..self.store.units[unit].copies.len() {
            let copy = self.store.units[unit].copies[index];
            if self.store.hot[copy as usize].is_valid {
                continue;
            }
            self.store.merge((copy, Mask::Stale), (owner, Mask::Dirty));
            for &(site, epoch) in &sites {
                let write = PendingWrite { processor, site, epoch, acquisition: None, obtained };
                self.store.details[copy as usize].add_pending(write);
            }
        }
        self.clear_dirty(owner);
        self.store.units[unit].owner = None;
    }
}
