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

use rustc_hash::FxHashMap;

use crate::on_path::Membership;
use crate::pieces::StratumCell;
use crate::strata::Collected;

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

/// Time, and samples, of the parts of a cell.
type Parts<K> = FxHashMap<K, (f64, f64)>;

/// By what the cell of each stratum may be split.
pub(crate) fn splits(collected: &Collected) -> Vec<Splits> {
    let mut counts = vec![0_u64; collected.strata.len()];
    for &(stratum, _, tally) in &collected.tallies {
        counts[stratum as usize] += tally.count;
    }
    let mut cells: FxHashMap<StratumCell, (Parts<u32>, Parts<Membership>)> = FxHashMap::default();
    for (stratum, &count) in collected.strata.iter().zip(&counts) {
        let (levels, paths) = cells.entry(stratum.cell).or_default();
        add(levels.entry(stratum.level).or_default(), stratum.time, count);
        add(paths.entry(stratum.on).or_default(), stratum.time, count);
    }
    let judged: FxHashMap<StratumCell, Splits> = cells
        .into_iter()
        .map(|(cell, (levels, paths))| {
            (cell, Splits { by_level: is_fair(&levels), by_path: is_fair(&paths) })
        })
        .collect();
    collected.strata.iter().map(|stratum| judged[&stratum.cell]).collect()
}

fn add(part: &mut (f64, f64), time: u64, count: u64) {
    part.0 += time as f64;
    part.1 += count as f64;
}

/// Whether samples fall on the parts as their times do, but for chance.
fn is_fair<K>(parts: &Parts<K>) -> bool {
    let (time, count) = parts.values().fold((0.0, 0.0), |sum, part| (sum.0 + part.0, sum.1 + part.1));
    parts.values().all(|&(of_time, of_count)| {
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
        let parts = |parts: [(f64, f64); 2]| parts.into_iter().enumerate().collect::<Parts<usize>>();
        assert!(is_fair(&parts([(1000.0, 10.0), (3000.0, 30.0)])));
        assert!(is_fair(&parts([(1000.0, 17.0), (3000.0, 23.0)])), "chance");
        // As recorded: 16 of 605 ms on the path, with 262 of 334 samples.
        assert!(!is_fair(&parts([(16.4, 262.0), (589.1, 72.0)])));
        assert!(is_fair(&parts([(16.4, 0.0), (0.0, 0.0)])), "nothing to compare");
    }
}
