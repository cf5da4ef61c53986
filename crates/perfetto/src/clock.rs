//! Clocks of a trace, brought onto the one that counts since the machine's start.
//!
//! A snapshot is what several clocks say at one moment. A time by another clock is the last snapshot's difference away from the common one.
//! Clocks of a sequence (64 to 127) may count in other units, and from the packet before.

use rustc_hash::FxHashMap;

use crate::wire::WireFields;

/// The common clock.
pub(crate) const BOOT_TIME: u32 = 6;
/// The kernel's clock that is not adjusted.
pub(crate) const MONOTONIC_RAW: u32 = 5;
const OF_SEQUENCE: std::ops::Range<u32> = 64..128;
/// Clocks that are known at a time.
const MOST_CLOCKS: usize = 1 << 16;

/// How a clock compares with the common one.
#[derive(Clone, Copy, Debug)]
struct PerfettoClock {
    /// To be added to its nanoseconds.
    offset: i64,
    unit: u64,
    is_incremental: bool,
    /// What it last said, in nanoseconds.
    last: u64,
}

/// The clocks, as far as the file is read.
#[derive(Clone, Debug, Default)]
pub(crate) struct PerfettoClocks {
    /// By sequence (0 for clocks of the whole trace) and number.
    clocks: FxHashMap<(u32, u32), PerfettoClock>,
}

impl PerfettoClocks {
    /// Takes a snapshot that a sequence wrote.
    pub(crate) fn take(&mut self, sequence: u32, snapshot: &[u8]) {
        let mut said = Vec::new();
        for (number, value) in WireFields::of(snapshot) {
            if number != 1 {
                continue;
            }
            let (mut id, mut time, mut is_incremental, mut unit) = (0, 0, false, 1);
            for (number, value) in WireFields::of(value.bytes()) {
                match number {
                    1 => id = value.id(),
                    2 => time = value.number(),
                    3 => is_incremental = value.number() != 0,
                    4 => unit = value.number().max(1),
                    _ => {}
                }
            }
            said.push((id, time, is_incremental, unit));
        }
        let Some(&(_, common, ..)) = said.iter().find(|&&(id, ..)| id == BOOT_TIME) else { return };
        for (id, time, is_incremental, unit) in said {
            let last = time.saturating_mul(unit);
            let clock =
                PerfettoClock { offset: common.wrapping_sub(last) as i64, unit, is_incremental, last };
            if self.clocks.len() < MOST_CLOCKS {
                self.clocks.insert(key(sequence, id), clock);
            }
        }
    }

    /// What is to be added to a clock's nanoseconds, as far as is known.
    pub(crate) fn offset(&self, id: u32) -> Option<i64> {
        self.clocks.get(&key(0, id)).map(|clock| clock.offset)
    }

    /// A time by a clock as one by the common clock; `None` where nothing compares the two.
    pub(crate) fn common(&mut self, sequence: u32, id: u32, time: u64) -> Option<u64> {
        if id == BOOT_TIME {
            return Some(time);
        }
        let clock = self.clocks.get_mut(&key(sequence, id))?;
        let time = time.saturating_mul(clock.unit);
        let time = if clock.is_incremental { clock.last.saturating_add(time) } else { time };
        clock.last = time;
        Some(time.saturating_add_signed(clock.offset))
    }
}

fn key(sequence: u32, id: u32) -> (u32, u32) {
    (if OF_SEQUENCE.contains(&id) { sequence } else { 0 }, id)
}
