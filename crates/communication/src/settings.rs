//! What is simulated: protocol, unit, costs.

use longpole_coherence::{CoherenceProtocol, CoherenceSettings, RequestCosts, StepCosts};
use longpole_recording::SimulatedMachine;

use crate::budget;

/// How copies of units are kept coherent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum UnitProtocol {
    /// Cache lines: a write takes all other copies.
    #[default]
    Lines,
    /// Pages with lazy release consistency.
    LazyRelease,
    /// Pages with sequential consistency.
    Sequential,
}

impl UnitProtocol {
    /// Every protocol, with its name on the command line.
    pub const ALL: [(UnitProtocol, &'static str); 3] = [
        (UnitProtocol::Lines, "lines"),
        (UnitProtocol::LazyRelease, "lrc"),
        (UnitProtocol::Sequential, "sc"),
    ];

    /// Its name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        let found = UnitProtocol::ALL.iter().find(|(protocol, _)| *protocol == self);
        found.map_or("", |(_, name)| name)
    }
}

/// Costs that differ from those of the protocol; nanoseconds, but for those of a byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SimulatedCosts {
    /// An access that needs nothing else.
    pub access: Option<u64>,
    /// A request for a unit.
    pub request: Option<u64>,
    /// Each byte that a request fetches, picoseconds.
    pub byte_picoseconds: Option<u64>,
    /// A write that takes the unit from other copies.
    pub upgrade: Option<u64>,
    /// Taking a lock, a semaphore or a flag.
    pub lock: Option<u64>,
    /// Passing a barrier.
    pub barrier: Option<u64>,
}

/// What is wanted beside the flows, which are always there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CommunicationDemand {
    /// Patterns of the data apart from those of its units.
    pub words: bool,
    /// Causality graphs.
    pub graphs: bool,
    /// Call paths of requests and writes, and the ways back from requests.
    pub chains: bool,
}

/// What is simulated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CommunicationOptions {
    /// The protocol; `None`: that of the recording, if it is of a simulated run, else lines.
    pub protocol: Option<UnitProtocol>,
    /// Bytes of a unit; `None`: 64 of lines, 4096 of pages.
    pub unit: Option<u64>,
    /// Costs.
    pub costs: SimulatedCosts,
}

impl CommunicationOptions {
    /// With what was simulated when the recording was made, where nothing else is asked for.
    pub(crate) fn or(self, recorded: Option<&SimulatedMachine>) -> CommunicationOptions {
        let named = |machine: &SimulatedMachine| {
            UnitProtocol::ALL
                .iter()
                .find(|(_, name)| *name == machine.protocol)
                .map(|&(protocol, _)| protocol)
        };
        let Some((machine, protocol)) = recorded.and_then(|machine| Some((machine, named(machine)?))) else {
            return self;
        };
        if self.protocol.is_some_and(|wanted| wanted != protocol) {
            return self;
        }
        CommunicationOptions {
            protocol: Some(protocol),
            unit: self.unit.or(Some(machine.unit)),
            costs: SimulatedCosts {
                access: self.costs.access.or(Some(machine.access)),
                request: self.costs.request.or(Some(machine.request)),
                byte_picoseconds: self.costs.byte_picoseconds.or(Some(machine.byte_picoseconds)),
                upgrade: self.costs.upgrade.or(Some(machine.upgrade)),
                lock: self.costs.lock.or(Some(machine.lock)),
                barrier: self.costs.barrier.or(Some(machine.barrier)),
            },
        }
    }

    /// The protocol that is simulated.
    pub(crate) fn protocol(self) -> UnitProtocol {
        self.protocol.unwrap_or_default()
    }

    pub(crate) fn settings(self) -> CoherenceSettings {
        let settings = match self.protocol() {
            UnitProtocol::Lines => CoherenceSettings::lines(),
            UnitProtocol::LazyRelease => CoherenceSettings::pages(4096),
            UnitProtocol::Sequential => {
                CoherenceSettings::pages(4096).with_protocol(CoherenceProtocol::Sequential)
            }
        };
        let unit = self.unit.unwrap_or(settings.unit);
        let costs = RequestCosts {
            request: self.costs.request.unwrap_or(settings.costs.request),
            upgrade: self.costs.upgrade.unwrap_or(settings.costs.upgrade),
            byte_picoseconds: self.costs.byte_picoseconds.unwrap_or(settings.costs.byte_picoseconds),
        };
        // The sums of all requests are wanted, not the requests.
        CoherenceSettings { unit, costs, records: 0, memory: budget::for_tables(), ..settings }
    }

    /// Costs of steps: an access that needs nothing takes 1 ns; locks and barriers of a DSM are messages.
    pub(crate) fn step_costs(self) -> StepCosts {
        let (lock, barrier) = match self.protocol() {
            UnitProtocol::Lines => (20, 100),
            UnitProtocol::LazyRelease | UnitProtocol::Sequential => (1_000_000, 1_000_000),
        };
        StepCosts {
            access: self.costs.access.unwrap_or(1),
            lock: self.costs.lock.unwrap_or(lock),
            barrier: self.costs.barrier.unwrap_or(barrier),
        }
    }
}
