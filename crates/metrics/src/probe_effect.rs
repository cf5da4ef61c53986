//! Where taking samples changes what they are sorted by (metrics.md §1, rule 1).
//!
//! ```text
//!   not sampled    main   ==== hash ====|            the piece of the other thread is the shorter one: off the critical path
//!                  other  == look_up ==|
//!   sampled        main   ==== hash ====|
//!                  other  == look_up ==↑····|        the sample takes longer than what is left: on the path
//! ```
//! A sample takes tens of microseconds in a virtual machine. Where pieces are as short as that, a piece may be on the critical path,
//! or run alone, *because* it was sampled. Most samples then stand in a stratum that has little time, and the rest of the time would be
//! divided by the few samples that are left, which are no fair draw of it: a procedure with 18 % of the CPU time showed 24 ± 1.5.
//!
//! So the samples of each cell (all pieces between the same two places) are compared with its times. Samples that fall on the parts
//! as their times do may be told apart by them; where they do not, by more than chance explains, the cell is not split in that way.

use crate::pieces::StratumCell;
use crate::strata::{Collected, Stratum};

/// Standard deviations beyond which the difference is not chance.
const NOT_CHANCE: f64 = 4.0;

/// By what a cell may be split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Splits {
    /// How many threads were busy.
    pub by_level: bool,
    /// Whether it was on a critical path.
    pub by_path: bool,
}

/// The parts of a cell: time, and samples, of each.
type Parts<K> = Vec<(K, f64, f64)>;

/// By what the cell of each stratum may be split. The strata come by cell, each with its number.
pub(crate) fn splits(collected: &Collected, by_cell: &[(StratumCell, u32)]) -> Vec<Splits> {
    let mut counts = vec![0_u64; collected.strata.len()];
    for &(stratum, _, tally) in &collected.tallies {
        counts[stratum as usize] += tally.count;
    }
    let mut splits = vec![Splits { by_level: true, by_path: true }; counts.len()];
    let (mut levels, mut paths) = (Vec::new(), Vec::new());
    for cell in by_cell.chunk_by(|one, other| one.0 == other.0) {
        levels.clear();
        paths.clear();
        for &(_, id) in cell {
            let Stratum { level, on, time, .. } = collected.strata[id as usize];
            add(&mut levels, level, time, counts[id as usize]);
            add(&mut paths, on, time, counts[id as usize]);
        }
        let of_cell = Splits { by_level: is_fair(&levels), by_path: is_fair(&paths) };
        cell.iter().for_each(|&(_, id)| splits[id as usize] = of_cell);
    }
    splits
}

fn add<K: PartialEq>(parts: &mut Parts<K>, of: K, time: u64, count: u64) {
    match parts.iter_mut().find(|part| part.0 == of) {
        Some(part) => (part.1, part.2) = (part.1 + time as f64, part.2 + count as f64),
        None => parts.push((of, time as f64, count as f64)),
    }
}

/// Whether samples fall on the parts as their times do, but for chance.
fn is_fair<K>(parts: &[(K, f64, f64)]) -> bool {
    let (time, count) = parts.iter().fold((0.0, 0.0), |sum, part| (sum.0 + part.1, sum.1 + part.2));
    parts.iter().all(|&(_, of_time, of_count)| {
        let expected = count * of_time / time.max(1.0);
        let deviation = (expected * (1.0 - of_time / time.max(1.0))).max(1.0).sqrt();
        (of_count - expected).abs() <= NOT_CHANCE * deviation
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_that_fall_as_time_does_are_fair() {
        let parts = |[one, other]: [(f64, f64); 2]| -> Parts<usize> {
            vec![(0, one.0, one.1), (1, other.0, other.1)]
        };
        assert!(is_fair(&parts([(1000.0, 10.0), (3000.0, 30.0)])));
        assert!(is_fair(&parts([(1000.0, 17.0), (3000.0, 23.0)])), "chance");
        // As recorded: 16 of 605 ms on the path, with 262 of 334 samples.
        assert!(!is_fair(&parts([(16.4, 262.0), (589.1, 72.0)])));
        assert!(is_fair(&parts([(16.4, 0.0), (0.0, 0.0)])), "nothing to compare");
    }
}
