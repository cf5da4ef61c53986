//! Tokens in all lanes: what their releases have come to, kept until the last acquisition.
//!
//! ```text
//!                          base   lane of A        A token that two threads release holds, in each lane, the longer
//!   T1  AAAA release       4      0                of the two; nobody need have waited for it.
//!   T2  BBB  release       3      3
//!   token                  4      max(0, 3) = 3
//! ```
//! Memory: a copy of the lanes for each token that will be acquired.

use longpole_event::{ThreadId, Time};
use longpole_trace::{Acquisition, TokenId};
use rustc_hash::FxHashMap;

use super::buffers::{Buffers, raise, raise_to};
use super::{Arrival, LaneLife, LaneReach, Lanes};
use crate::marks::Rules;
use crate::path_hand_offs::PathHandOffId;

/// Tokens that have been released and will be acquired.
#[derive(Debug, Default)]
pub(super) struct LaneTokens(FxHashMap<TokenId, LaneToken>);

#[derive(Debug)]
struct LaneToken {
    reach: LaneReach,
    /// Where the followed lane's longest path left its thread.
    source: ThreadId,
    left: Time,
    acquisitions: u32,
}

impl LaneTokens {
    pub(super) fn path_hand_offs(&mut self) -> impl Iterator<Item = &mut PathHandOffId> {
        self.0.values_mut().map(|token| &mut token.reach.hand_off)
    }
}

/// The longer of both in each lane.
fn merge(kept: &mut LaneReach, other: &LaneReach, buffers: &mut Buffers) {
    let longest = kept.length.max(other.length);
    let (own_shift, other_shift) =
        (kept.length as f64 - longest as f64, other.length as f64 - longest as f64);
    if kept.lanes.is_some() || other.lanes.is_some() {
        let lanes = kept.lanes.get_or_insert_with(|| buffers.zeros());
        match &other.lanes {
            Some(other) => raise(lanes, own_shift, other, other_shift),
            None => raise_to(lanes, own_shift, other_shift),
        }
    }
    kept.length = longest;
}

impl<R: Rules> Lanes<'_, R> {
    pub(super) fn release_token(&mut self, thread: ThreadId, time: Time, token: TokenId) {
        // Also where nobody acquires it, samples claim no time behind it.
        self.pieces.cut(thread);
        let Some(&acquisitions) = self.foresight.acquisitions.get(&token) else { return };
        self.cut(thread, time);
        self.settle(thread);
        let LaneReach { length, ref lanes, hand_off } = self.per_thread[thread.index()].reach;
        if self.per_thread[thread.index()].life == LaneLife::NotBegun {
            return;
        }
        let lanes = self.buffers.copy(lanes.as_deref());
        let reach = LaneReach { length, lanes, hand_off };
        let followed = self.trail.as_ref().map(|trail| trail.lane);
        let Some(kept) = self.tokens.0.get_mut(&token) else {
            self.tokens.0.insert(token, LaneToken { reach, source: thread, left: time, acquisitions });
            return;
        };
        if followed.is_some_and(|lane| reach.of(lane) > kept.reach.of(lane)) {
            (kept.reach.hand_off, kept.source, kept.left) = (hand_off, thread, time);
        }
        merge(&mut kept.reach, &reach, &mut self.buffers);
        self.buffers.take_back(reach.lanes);
    }

    pub(super) fn acquire_token(&mut self, thread: ThreadId, time: Time, acquisition: Acquisition) {
        self.cut(thread, time);
        let Some(mut token) = self.tokens.0.remove(&acquisition.token) else { return };
        let arrival = Arrival {
            thread,
            time,
            source: token.source,
            left: token.left,
            object: acquisition.object,
            way: 0,
            is_hand_off: false,
        };
        self.arrive(&arrival, &token.reach);
        token.acquisitions -= 1;
        if token.acquisitions > 0 && !acquisition.last {
            self.tokens.0.insert(acquisition.token, token);
        } else {
            self.buffers.take_back(token.reach.lanes);
        }
        self.collect_trail();
    }
}
