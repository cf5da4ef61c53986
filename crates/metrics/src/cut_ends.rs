//! At which sites the cut pieces of a thread's work end, in a few bytes each.
//!
//! ```text
//!   index   | time of the first cut, where its block begins | ...        16 cuts a block
//!   bytes   | +0, end | +1210, end | +380, end | ...                     the time since the cut before, and the end, as varints
//! ```
//! Cuts come in the order of time. A look-up finds the block by bisection and reads it.

use longpole_event::Time;
use longpole_trace::PathId;

use crate::pieces::PieceEnd;

/// Cuts in a block.
const BLOCK: usize = 16;

/// Cuts of a thread's work, each with what ends the piece.
#[derive(Clone, Debug, Default)]
pub(crate) struct CutEnds {
    /// By block: the time of its first cut, and where it begins.
    index: Vec<(Time, usize)>,
    bytes: Vec<u8>,
    /// The newest cut, and cuts in the newest block.
    last: Time,
    in_block: usize,
}

impl CutEnds {
    /// A piece was cut first at this time, and ends so.
    pub fn push(&mut self, time: Time, end: PieceEnd) {
        if self.index.is_empty() || self.in_block == BLOCK || time < self.last {
            self.index.push((time, self.bytes.len()));
            (self.in_block, self.last) = (0, time);
        }
        self.in_block += 1;
        put(&mut self.bytes, time.since(self.last));
        put(&mut self.bytes, code(end));
        self.last = time;
    }

    /// What ends the piece that was cut last at this time or before.
    pub fn at(&self, time: Time) -> Option<PieceEnd> {
        let next = self.index.partition_point(|&(first, _)| first <= time);
        let (first, begin) = self.index[next.checked_sub(1)?];
        let until = self.index.get(next).map_or(self.bytes.len(), |block| block.1);
        let mut block = self.bytes[begin..until].iter();
        let (mut cut, mut found) = (first, None);
        while let Some(passed) = take(&mut block) {
            cut = cut + passed;
            if cut > time {
                break;
            }
            found = take(&mut block);
        }
        found.map(end)
    }
}

fn code(end: PieceEnd) -> u64 {
    match end {
        PieceEnd::Site(path) => u64::from(path.0) << 2,
        PieceEnd::Boundary(path) => u64::from(path.0) << 2 | 1,
        PieceEnd::Nothing { is_sampled } => 2 | u64::from(is_sampled),
    }
}

fn end(code: u64) -> PieceEnd {
    let path = PathId((code >> 2) as u32);
    match code & 3 {
        0 => PieceEnd::Site(path),
        1 => PieceEnd::Boundary(path),
        rest => PieceEnd::Nothing { is_sampled: rest == 3 },
    }
}

fn put(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

fn take(bytes: &mut std::slice::Iter<'_, u8>) -> Option<u64> {
    let (mut value, mut shift) = (0, 0);
    loop {
        let byte = *bytes.next()?;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
        shift += 7;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn any_end() -> impl Strategy<Value = PieceEnd> {
        let path = prop_oneof![0..300_u32, any::<u32>()].prop_map(PathId);
        (path, 0..4).prop_map(|(path, kind)| match kind {
            0 => PieceEnd::Site(path),
            1 => PieceEnd::Boundary(path),
            kind => PieceEnd::Nothing { is_sampled: kind == 3 },
        })
    }

    proptest! {
        /// Against a list of all cuts.
        #[test]
        fn the_last_cut_before_a_time_is_found(
            cuts in proptest::collection::vec((prop_oneof![0..3_u64, 0..1_000_u64, 0..1_u64 << 40], any_end()), 0..100),
            begin in 0..100_u64,
        ) {
            let (mut ends, mut all, mut time) = (CutEnds::default(), Vec::new(), begin);
            for (passed, end) in cuts {
                time += passed;
                ends.push(Time::from_nanoseconds(time), end);
                all.push((time, end));
            }
            for asked in all.iter().flat_map(|&(time, _)| [time.saturating_sub(1), time, time + 1]).chain([0]) {
                let before = all.iter().rev().find(|&&(time, _)| time <= asked).map(|&(_, end)| end);
                prop_assert_eq!(ends.at(Time::from_nanoseconds(asked)), before);
            }
        }
    }
}
