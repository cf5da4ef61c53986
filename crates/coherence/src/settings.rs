//! What is simulated: protocol, size of the unit, costs, limits of memory.

use crate::error::{Error, Result};

/// How copies of a unit are kept coherent. Copies are never evicted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CoherenceProtocol {
    /// Cache lines: one writer or many readers; a write invalidates all other copies at once (MESI).
    Lines,
    /// Pages with lazy release consistency: many writers; a copy becomes invalid when its processor acquires a
    /// notice of another's write; a request fetches the diffs of the noticed intervals (TreadMarks, C §3).
    LazyRelease,
    /// Pages with sequential consistency: one writer or many readers, as `Lines`; a write to a copy that can only
    /// be read is a fault of its own (an upgrade).
    Sequential,
}

/// Costs of protocol operations in nanoseconds. They are weights: counts do not depend on them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RequestCosts {
    /// A request: the unit or its diffs are fetched.
    pub request: u64,
    /// An upgrade: other copies are invalidated, nothing is fetched.
    pub upgrade: u64,
    /// Each byte that a request fetches, in picoseconds: the whole unit, or under lazy release consistency, after the first
    /// reference, the bytes of the diffs.
    pub byte_picoseconds: u64,
}

impl RequestCosts {
    /// A request that fetches so many bytes.
    pub(crate) fn of_request(&self, bytes: u64) -> u64 {
        self.request.saturating_add(self.byte_picoseconds.saturating_mul(bytes) / 1000)
    }
}

/// Settings of a simulation. Begin with [`CoherenceSettings::lines`] or [`CoherenceSettings::pages`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CoherenceSettings {
    /// The protocol.
    pub protocol: CoherenceProtocol,
    /// Bytes of a unit: a power of two from 8 to 2^20.
    pub unit: u64,
    /// Costs of requests and upgrades.
    pub costs: RequestCosts,
    /// Requests that are kept as records; later ones are only counted (in flows, patterns and totals).
    pub records: usize,
    /// Longest window of the patterns in nanoseconds. A completed barrier always begins a new window.
    pub window: Option<u64>,
    /// Epochs kept apart in a copy whose unit no other processor has touched (see `ranges`).
    pub private_epochs: usize,
    /// Epochs kept apart in any other copy. Where there are more, ranges become wider, never wrong.
    pub shared_epochs: usize,
    /// Bytes that the tables of a run may take (see `footprint`).
    pub memory: u64,
}

impl CoherenceSettings {
    /// Cache lines of 64 bytes; a transfer of 100 ns, an upgrade of 50 ns.
    pub const fn lines() -> Self {
        Self {
            protocol: CoherenceProtocol::Lines,
            unit: 64,
            costs: RequestCosts { request: 100, upgrade: 50, byte_picoseconds: 0 },
            records: 1 << 20,
            window: None,
            private_epochs: 4,
            shared_epochs: 4096,
            memory: u64::MAX,
        }
    }

    /// Pages of so many bytes under lazy release consistency; a request of 2 ms.
    pub const fn pages(unit: u64) -> Self {
        let costs = RequestCosts { request: 2_000_000, upgrade: 1_000_000, byte_picoseconds: 0 };
        Self { protocol: CoherenceProtocol::LazyRelease, unit, costs, ..Self::lines() }
    }

    /// The same settings with another protocol.
    pub const fn with_protocol(self, protocol: CoherenceProtocol) -> Self {
        Self { protocol, ..self }
    }

    /// Checks the unit.
    pub(crate) fn check(&self) -> Result<()> {
        if self.unit.is_power_of_two() && (8..=1 << 20).contains(&self.unit) {
            return Ok(());
        }
        Err(Error::Unit { bytes: self.unit })
    }
}
