//! What areas have lost, read while their threads go on.

use longpole_ring::Area;

/// Events of an area that found no room.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LostEvents {
    /// Calls of instrumented procedures, and returns.
    pub(super) calls: u64,
    /// All others.
    pub(super) others: u64,
    /// Calls of MPI, of which the events are among the others.
    pub(super) communications: u64,
}

impl LostEvents {
    /// What the area has lost by now. Calls that are lost while this looks are not taken for others.
    pub(super) fn now(self, area: &Area) -> LostEvents {
        let all = area.losses.all();
        let calls = area.losses.calls();
        LostEvents {
            calls: calls.max(self.calls),
            others: all.saturating_sub(calls).max(self.others),
            communications: area.losses.communications().max(self.communications),
        }
    }
}
