//! The words in the units that moved, simulated as units of their own: whether data was shared, or only its unit.
//!
//! The words get the accesses in the order and at the times of the units' run, which they do not change. Only words of the
//! given units have a shadow, so that memory grows with what was transferred and not with what was touched. A word of a line
//! without transfers has none either: who fetches a word that another one wrote has lost the line around it. Words are
//! simulated as lines are, whatever the protocol of the units, so that a copy that is old by permission of lazy release
//! consistency counts as a word that was fetched.

use rustc_hash::FxHashSet;

use crate::access::{DataAccess, DataObjectId, SyncOperation};
use crate::error::Result;
use crate::result::CommunicationResult;
use crate::settings::CoherenceSettings;
use crate::simulation::CoherenceSimulation;

/// Bytes of a word: the smallest unit of a simulation.
pub(crate) const WORD_BYTES: u64 = 8;

/// Units of words beside a run of larger units.
pub(crate) struct DataWords {
    simulation: CoherenceSimulation,
    /// Numbers of the units whose words are simulated.
    units: FxHashSet<u64>,
    shift: u32,
}

impl DataWords {
    /// The words in the units of so many bytes with these first addresses.
    pub(crate) fn new(unit: u64, addresses: &[u64]) -> Result<Self> {
        // Ranges over all orders are not asked for: epochs need not be kept apart.
        let settings = CoherenceSettings {
            unit: WORD_BYTES,
            records: 0,
            private_epochs: 1,
            shared_epochs: 1,
            ..CoherenceSettings::lines()
        };
        let shift = unit.trailing_zeros();
        let units = addresses.iter().map(|address| address >> shift).collect();
        Ok(Self { simulation: CoherenceSimulation::new(settings)?, units, shift })
    }

    /// Bytes that their tables take.
    pub(crate) fn footprint(&self) -> u64 {
        self.simulation.footprint()
    }

    /// The part of an access in the units.
    #[inline]
    pub(crate) fn access(&mut self, access: &DataAccess) {
        let end = access.address.saturating_add(u64::from(access.size));
        let mut address = access.address;
        while address < end {
            let number = address >> self.shift;
            let until = ((number + 1) << self.shift).min(end);
            // The last unit of all ends where addresses do.
            let until = if until > address { until } else { end };
            if self.units.contains(&number) {
                self.simulation.access(&DataAccess { address, size: (until - address) as u32, ..*access });
            }
            address = until;
        }
    }

    pub(crate) fn synchronise(&mut self, operation: &SyncOperation) {
        self.simulation.synchronise(operation);
    }

    pub(crate) fn place_object(&mut self, start: u64, size: u64, object: DataObjectId) {
        self.simulation.place_object(start, size, object);
    }

    pub(crate) fn finish(self) -> CommunicationResult {
        self.simulation.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::{AccessKind, ProcessorId, SiteId, SyncKind, SyncToken};

    const UNIT: u64 = 64;

    /// A pseudo-random run of three processors on four units, seen by `see`.
    fn run(see: &mut dyn FnMut(std::result::Result<DataAccess, SyncOperation>)) {
        let mut state = 7_u64;
        let mut below = |bound: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % bound
        };
        for time in 0..3000 {
            let (processor, site) = (ProcessorId(below(3) as u16), SiteId(below(4) as u32));
            let kind = [AccessKind::Read, AccessKind::Write, AccessKind::Update][below(3) as usize];
            if below(8) == 0 {
                let kind = if below(2) == 0 { SyncKind::Acquire } else { SyncKind::Release };
                see(Err(SyncOperation { processor, token: SyncToken(1), kind, site, time }));
            } else {
                let (address, size) = (0x1000 + below(4 * UNIT), below(24) as u32);
                see(Ok(DataAccess { processor, address, size, kind, site, time }));
            }
        }
    }

    fn words(units: &[u64]) -> CommunicationResult {
        let mut words = DataWords::new(UNIT, units).expect("a unit");
        run(&mut |event| match event {
            Ok(access) => words.access(&access),
            Err(operation) => words.synchronise(&operation),
        });
        words.finish()
    }

    #[test]
    fn words_of_all_units_are_a_simulation_of_words() {
        let settings = CoherenceSettings { unit: WORD_BYTES, records: 0, ..CoherenceSettings::lines() };
        let settings = CoherenceSettings { private_epochs: 1, shared_epochs: 1, ..settings };
        let mut plain = CoherenceSimulation::new(settings).expect("a unit");
        run(&mut |event| match event {
            Ok(access) => {
                plain.access(&access);
            }
            Err(operation) => plain.synchronise(&operation),
        });
        // The last access may pass the end of the fourth unit.
        let all: Vec<u64> = (0..5).map(|unit| 0x1000 + unit * UNIT).collect();
        let (words, plain) = (words(&all), plain.finish());
        assert!(plain.transfers() > 100);
        assert_eq!((words.patterns(), words.transfers()), (plain.patterns(), plain.transfers()));
        assert_eq!(words.units, plain.units);
    }

    #[test]
    fn other_units_have_no_words_and_change_none() {
        let (all, some) = (words(&[0x1000, 0x1040, 0x1080, 0x10c0]), words(&[0x1040, 0x10c0]));
        let is_there = |address: u64| address & UNIT != 0;
        let expected: Vec<_> = all.units.iter().filter(|unit| is_there(unit.address)).cloned().collect();
        assert_eq!(some.units, expected);
    }
}
