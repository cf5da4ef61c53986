//! How executions differ from each other: pieces of work, latencies and turns are a little longer or shorter, and pieces that samples divide
//! among procedures are of one of them.

use longpole_trace::ObjectId;

use super::{PlanReplayer, scaled};

impl<F: Fn(ObjectId) -> bool> PlanReplayer<'_, F> {
    /// The time of a piece of work.
    pub(super) fn piece(&self, thread: u32, place: u32, time: u64) -> u64 {
        let factor = self.factors.work[place as usize];
        let factor = match self.conditions.draws {
            Some(changed) if self.conditions.seed != 0 && (factor - 1.0) * (factor - changed) < 0.0 => {
                let part = (1.0 - factor) / (1.0 - changed);
                if self.drawn(thread, !0) < part { changed } else { 1.0 }
            }
            _ => factor,
        };
        self.varied(scaled(time, factor), thread, VARIATION)
    }

    /// The same time, a little longer or shorter.
    pub(super) fn varied(&self, time: u64, thread: u32, variation: f64) -> u64 {
        if self.conditions.seed == 0 {
            return time;
        }
        let part = self.drawn(thread, 0) - 0.5;
        (time as f64 * (1.0 + variation * 2.0 * part)).round() as u64
    }

    /// A turn, likewise: kernels end turns at the ticks of a clock, which come when they come.
    pub(super) fn varied_turn(&self, thread: u32) -> u64 {
        if self.conditions.seed == 0 {
            return self.conditions.quantum;
        }
        let part = self.drawn(thread, mixed(self.now)) - 0.5;
        (self.conditions.quantum as f64 * (1.0 + LATENCY_VARIATION * 2.0 * part)).round() as u64
    }

    /// A number from 0 to 1 for the thread's present step.
    fn drawn(&self, thread: u32, purpose: u64) -> f64 {
        let own = &self.threads[thread as usize];
        let seed = self.conditions.seed ^ purpose;
        mixed(seed ^ mixed((own.planned as u64) << 40 | own.next as u64)) as f64 / u64::MAX as f64
    }
}

/// By how much of its length a piece of work is varied at most.
const VARIATION: f64 = 0.01;
/// The same of a latency.
pub(super) const LATENCY_VARIATION: f64 = 0.5;

/// A number that looks as if drawn (splitmix64).
fn mixed(number: u64) -> u64 {
    let mut word = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}
