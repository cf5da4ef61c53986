//! What a simulation takes of memory, and its end where that is more than it may take.
//!
//! Tables are counted by their room, so that it is known before they are grown again: one that grows is there twice for a moment.

use std::collections::HashMap;

use crate::directory::CopyDirectory;
use crate::error::{Error, Result};
use crate::simulation::CoherenceSimulation;
use crate::store::ShadowStore;

/// Bytes of a vector's room.
pub(crate) fn room<T>(rows: &Vec<T>) -> u64 {
    (rows.capacity() * size_of::<T>()) as u64
}

/// Bytes of a map's room: a byte of its own for each place.
pub(crate) fn room_of_map<K, V, S>(map: &HashMap<K, V, S>) -> u64 {
    (map.capacity() * (size_of::<(K, V)>() + 1)) as u64
}

impl CoherenceSimulation {
    /// Bytes that the tables take, which grow with units, copies, epochs and flows.
    pub(crate) fn footprint(&self) -> u64 {
        let directories =
            self.processors.iter().map(|one| CopyDirectory::footprint(&one.copies)).sum::<u64>();
        ShadowStore::footprint(&self.store) + directories + self.ledger.footprint()
    }

    /// Refuses to go on with more than the settings permit.
    pub(crate) fn check_footprint(&self, others: u64) -> Result<()> {
        let limit = self.settings.memory;
        if self.footprint() + others <= limit {
            return Ok(());
        }
        let (units, unit) = (self.store.units.len() as u64, self.settings.unit);
        Err(Error::Memory { mebibytes: limit >> 20, units, unit })
    }
}
