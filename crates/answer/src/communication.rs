//! The recorded accesses, simulated: once for all views and questions that want them.
//!
//! A view needs the flows and graphs (one reading and simulation of the log), and perhaps patterns of the data, or call paths
//! and ways back (a second one, for each of the two: together they cost as much). What was simulated for more serves for less.

use std::sync::Arc;

use longpole_communication::{CommunicationDemand, CommunicationOptions, RecordedCommunication};
use longpole_recording::RecordingFolder;

use crate::error::Result;
use crate::memory::ValueCache;

/// Simulations that are kept: what is wanted of one run, and a change of its settings.
const KEPT: usize = 4;

/// The simulated accesses; `None` where none were recorded.
type SimulatedAccesses = Option<Arc<RecordedCommunication>>;

/// Simulations of one recording.
#[derive(Debug)]
pub(crate) struct SimulationCache(ValueCache<(CommunicationOptions, CommunicationDemand), SimulatedAccesses>);

impl Default for SimulationCache {
    fn default() -> Self {
        SimulationCache(ValueCache::of(KEPT))
    }
}

impl SimulationCache {
    /// The simulation with what is wanted, and perhaps more.
    pub(crate) fn get(
        &self,
        folder: &RecordingFolder,
        options: CommunicationOptions,
        demand: CommunicationDemand,
    ) -> Result<SimulatedAccesses> {
        // Graphs are made of flows that are there, in no time.
        let demand = CommunicationDemand { graphs: true, ..demand };
        let CommunicationDemand { words, chains, .. } = demand;
        let richer = [(true, true), (words, true), (true, chains)]
            .map(|(words, chains)| CommunicationDemand { words, chains, ..demand });
        if let Some(known) = richer.into_iter().find_map(|richer| self.0.known(&(options, richer))) {
            return Ok(known);
        }
        self.0.get_or((options, demand), || {
            Ok(RecordedCommunication::of(folder, options, demand)?.map(Arc::new))
        })
    }
}
