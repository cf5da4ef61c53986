//! Which units of memory are followed, where only one in so many is: the same rule in the program and in the analysis.
//!
//! A *unit* is a range of 2^`shift` bytes. Units fall into [`UNIT_GROUPS`] groups by their address, neighbours into
//! neighbouring ones, and a group is followed or not: all accesses to its units are recorded, or none. Which groups are
//! followed is decided by a hash of the group and a seed, which nothing that the program does can know of.
//!
//! What is known of every group is its *limit*: no more transfers can be in it. The first thread that touches a group owns
//! it. Every transfer is an access by another thread, or an access by the owner after a write by another one. So the
//! accesses of other threads, and their writes a second time, are at least as many as the transfers.

/// Bits of an address that programs use.
const ADDRESS: u64 = (1 << 48) - 1;

/// Neighbouring units whose groups are neighbours.
const NEIGHBOURS: u64 = 32;

/// Groups of units.
pub const UNIT_GROUPS: usize = 1 << 20;

/// The variable that gives the rule: three numbers, with commas between them.
pub const SAMPLE_VARIABLE: &str = "LONGPOLE_ACCESS_SAMPLE";

/// Classes of limits: by the number of their bits.
pub const LIMIT_CLASSES: usize = 65;

/// The rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnitSample {
    /// One group of so many is followed; 1: all.
    pub one_of: u32,
    /// A unit has 2^`shift` bytes.
    pub shift: u32,
    /// What chooses.
    pub seed: u64,
}

impl UnitSample {
    /// The number of the unit at an address.
    #[inline(always)]
    #[must_use]
    pub const fn unit(&self, address: u64) -> u64 {
        (address & ADDRESS) >> self.shift
    }

    /// The group of a unit.
    #[inline(always)]
    #[must_use]
    pub const fn group(unit: u64) -> usize {
        let block = (unit / NEIGHBOURS).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - UNIT_GROUPS.ilog2() + 5);
        (block * NEIGHBOURS + unit % NEIGHBOURS) as usize
    }

    /// Whether a group is followed.
    #[must_use]
    pub const fn follows(&self, group: usize) -> bool {
        let mut mixed = (group as u64).wrapping_add(self.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        ((mixed >> 32) * self.one_of as u64) >> 32 == 0
    }

    /// Whether the unit at an address is followed.
    #[must_use]
    pub const fn follows_address(&self, address: u64) -> bool {
        self.follows(UnitSample::group(self.unit(address)))
    }
}

/// The class of a limit: the number of its bits.
#[must_use]
pub const fn limit_class(limit: u64) -> usize {
    (u64::BITS - limit.leading_zeros()) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_group_in_so_many_is_followed_whatever_the_seed() {
        for one_of in [1, 2, 16, 100] {
            for seed in 0..8 {
                let rule = UnitSample { one_of, shift: 6, seed };
                let followed = (0..UNIT_GROUPS).filter(|&group| rule.follows(group)).count() as f64;
                let expected = UNIT_GROUPS as f64 / f64::from(one_of);
                assert!(
                    (followed - expected).abs() <= 5.0 * expected.sqrt(),
                    "1/{one_of} {seed}: {followed}"
                );
            }
        }
    }

    #[test]
    fn two_neighbours_are_followed_together_as_often_as_any_two() {
        for distance in [1, 2, 31, 32, 64] {
            let both = (0..20_000_u64)
                .filter(|&seed| {
                    let rule = UnitSample { one_of: 4, shift: 6, seed };
                    rule.follows_address(0x7f12_3456_7000)
                        && rule.follows_address(0x7f12_3456_7000 + 64 * distance)
                })
                .count();
            assert!((1250 - 180..1250 + 180).contains(&both), "{distance}: {both}");
        }
    }

    #[test]
    fn groups_keep_neighbours_apart_and_spread_far_units() {
        let groups: std::collections::BTreeSet<usize> =
            (0..100_000).map(|unit| UnitSample::group(0x1fc_0000_0000 + unit)).collect();
        assert!(groups.len() > 90_000, "{}", groups.len());
        assert!(groups.iter().all(|&group| group < UNIT_GROUPS));
        let next = |unit: u64| (UnitSample::group(unit), UnitSample::group(unit + 1));
        assert_eq!(next(64).0 + 1, next(64).1);
    }

    #[test]
    fn a_class_has_limits_of_as_many_bits() {
        assert_eq!([0, 1, 2, 3, 4, 7, 8, u64::MAX].map(limit_class), [0, 1, 2, 2, 3, 3, 4, 64]);
    }
}
