//! Totals over all units where only one in so many was simulated, with an interval that holds the true one.
//!
//! In: of each *group* of units that was followed its count, and of all groups, followed or not, a *limit* that the count
//! cannot exceed. Out: the estimated total, and the interval. Groups are followed by a hash, so the followed ones of any set
//! that the limits alone define are a fair draw of it.
//!
//! Groups are divided into classes by their limits, each four times as high as the one below:
//!
//! ```text
//! class    limits     followed          not followed                    total
//!   0      1          n groups, counts  N groups, limits sum to X       what was counted, and of X the share that was
//!   1      2 … 7      n groups, counts  N groups, limits sum to X         counted of the followed groups' limits
//!   …
//!   9      2^17 …     none              1 group, limit X                nothing to X
//! ```
//! * **Estimate**: the share *r* = counts ÷ limits of the followed groups of a class holds for the others of the class. A class of
//!   which none is followed has the share of the class below it.
//! * **Interval**, of the groups that are not followed: as if one more had been followed, of which everything that its limit permits
//!   was counted (for the lower end: nothing). Then *r* X ± 2 standard errors, from the groups' distances from *r*. The errors of
//!   classes add as squares, since classes are drawn independently. A class of which none is followed adds 0 to X.
//!   The ends are never below what was counted, nor above that and all limits together: where one unit has nearly all,
//!   the interval says that it may.
//!
//! The interval is meant to hold the true total in 9 of 10 draws, and does so in more where counts are alike.
//! First references have no limit; their groups have a few each ([`SampleFrame::first_references`]).

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

/// Counts of followed groups.
pub type FollowedCounts = BTreeMap<u32, u64>;

/// An estimated total.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct SampledTotal {
    /// The estimate.
    pub estimate: f64,
    /// What it is at least.
    pub at_least: f64,
    /// What it is at most.
    pub at_most: f64,
}

impl SampledTotal {
    /// The sum of two totals, whose errors may have one cause.
    #[must_use]
    pub fn plus(self, other: SampledTotal) -> SampledTotal {
        SampledTotal {
            estimate: self.estimate + other.estimate,
            at_least: self.at_least + other.at_least,
            at_most: self.at_most + other.at_most,
        }
    }
}

/// The groups of one class.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct LimitClass {
    /// Groups that are followed, the sum of their limits, and of their squares.
    followed: f64,
    followed_limits: f64,
    followed_squares: f64,
    /// Groups that are not.
    others: f64,
    other_limits: f64,
    /// Limits of groups that the counts of this class stand for: those of classes without followed ones among them.
    stood_for: f64,
}

/// Counts of a class, as sums over its followed groups.
#[derive(Clone, Copy, Debug, Default)]
struct ClassCounts {
    counts: f64,
    squares: f64,
    /// Of counts times limits.
    products: f64,
}

/// Standard errors to each side of an estimate: 9 of 10 draws with room for few and skew groups.
const ERRORS: f64 = 2.0;

/// What is known of all groups of units.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SampleFrame {
    one_of: f64,
    classes: BTreeMap<u32, LimitClass>,
    /// Limits of groups that are followed.
    limits: FxHashMap<u32, u64>,
    /// The limits of groups that are not followed are known.
    is_whole: bool,
}

/// The class of limits of so many bits.
const fn class_of_bits(bits: u32) -> u32 {
    bits / 2
}

const fn bits(limit: u64) -> u32 {
    u64::BITS - limit.leading_zeros()
}

impl SampleFrame {
    /// Of one in so many groups. `followed`: the limit of each group that is followed, where it is not 0; `others`: number of groups
    /// that are not, and the sum of their limits, by the number of a limit's bits; `None` where that is not known.
    #[must_use]
    pub fn new(one_of: u32, followed: &[(u32, u64)], others: Option<&[(u64, u64)]>) -> SampleFrame {
        let mut frame =
            SampleFrame { one_of: one_of.into(), is_whole: others.is_some(), ..SampleFrame::default() };
        for &(group, limit) in followed.iter().filter(|(_, limit)| *limit > 0) {
            if frame.limits.insert(group, limit).is_none() {
                let class = frame.classes.entry(class_of_bits(bits(limit))).or_default();
                class.followed += 1.0;
                class.followed_limits += limit as f64;
                class.followed_squares += (limit as f64).powi(2);
            }
        }
        for (bits, &(groups, limits)) in (0..).zip(others.unwrap_or_default()) {
            if groups > 0 && limits > 0 {
                let class = frame.classes.entry(class_of_bits(bits)).or_default();
                class.others += groups as f64;
                class.other_limits += limits as f64;
            }
        }
        frame.let_stand();
        frame
    }

    /// Lets the counts of each class stand for its own groups, and for those of the classes above without followed ones.
    fn let_stand(&mut self) {
        let mut left = 0.0;
        let mut lowest = None;
        for (&number, class) in self.classes.iter_mut().rev() {
            left += class.other_limits;
            if class.followed > 0.0 {
                class.stood_for = std::mem::take(&mut left);
                lowest = Some(number);
            }
        }
        // The lowest classes have the followed ones above them.
        if let Some(class) = lowest.and_then(|lowest| self.classes.get_mut(&lowest)) {
            class.stood_for += left;
        }
    }

    /// Whether the limits of groups that are not followed are known, without which no total has an upper end.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// For how many transfers of any group one of this group stands.
    #[must_use]
    pub fn weight(&self, group: u32) -> f64 {
        match self.class(group) {
            Some(class) if self.is_whole => 1.0 + class.stood_for / class.followed_limits,
            _ => self.one_of,
        }
    }

    /// For how many first references of any group one stands.
    #[must_use]
    pub fn weight_of_first(&self) -> f64 {
        self.one_of
    }

    fn class(&self, group: u32) -> Option<&LimitClass> {
        self.classes.get(&class_of_bits(bits(*self.limits.get(&group)?)))
    }

    /// The most transfers of the groups that are not followed.
    #[must_use]
    pub fn other_limits(&self) -> f64 {
        if self.is_whole {
            self.classes.values().map(|class| class.other_limits).sum()
        } else {
            f64::INFINITY
        }
    }

    /// The transfers of all groups, from those of the followed ones.
    #[must_use]
    pub fn transfers(&self, counts: &FollowedCounts) -> SampledTotal {
        let counted: u64 = counts.values().sum();
        let counted = counted as f64;
        let estimate = counts.iter().map(|(&group, &count)| self.weight(group) * count as f64).sum();
        let mut by_class: BTreeMap<u32, ClassCounts> = BTreeMap::new();
        for (group, &count) in counts {
            let Some(&limit) = self.limits.get(group) else { continue };
            let of_class = by_class.entry(class_of_bits(bits(limit))).or_default();
            of_class.counts += count as f64;
            of_class.squares += (count as f64).powi(2);
            of_class.products += count as f64 * limit as f64;
        }
        let (mut high, mut low, mut high_variance, mut low_variance) = (0.0, 0.0, 0.0, 0.0);
        for (number, class) in &self.classes {
            let of_class = by_class.get(number).copied().unwrap_or_default();
            let (most, variance) = class.end(of_class, true);
            (high, high_variance) = (high + most, high_variance + variance);
            let (least, variance) = class.end(of_class, false);
            (low, low_variance) = (low + least, low_variance + variance);
        }
        SampledTotal {
            estimate,
            at_least: counted + (low - ERRORS * low_variance.sqrt()).max(0.0),
            at_most: match self.is_whole {
                true => counted + (high + ERRORS * high_variance.sqrt()).min(self.other_limits()),
                false => f64::INFINITY,
            },
        }
    }

    /// First references of all groups; `most`: those of one group, at most.
    #[must_use]
    pub fn first_references(&self, counts: &FollowedCounts, most: u64) -> SampledTotal {
        let (counted, squares) = counts.values().fold((0.0, 0.0), |(counted, squares), &count| {
            (counted + count as f64, squares + (count as f64).powi(2))
        });
        let others = self.one_of - 1.0;
        let most = most as f64;
        let error = |squares: f64| ERRORS * (others * self.one_of * squares).sqrt();
        SampledTotal {
            estimate: self.one_of * counted,
            at_least: (self.one_of * counted - error(squares)).max(counted),
            at_most: self.one_of * counted + others * most + error(squares + most * most),
        }
    }
}

impl LimitClass {
    /// An end of the transfers of the groups that are not followed, without its error, and the square of that.
    fn end(&self, of: ClassCounts, is_high: bool) -> (f64, f64) {
        if self.others == 0.0 {
            return (0.0, 0.0);
        }
        if self.followed == 0.0 {
            return (if is_high { self.other_limits } else { 0.0 }, 0.0);
        }
        // One more, of middle size.
        let limit = self.other_limits / self.others;
        let count = if is_high { limit } else { 0.0 };
        let share = (of.counts + count) / (self.followed_limits + limit);
        let distances = of.squares - 2.0 * share * of.products
            + share * share * self.followed_squares
            + (count - share * limit).powi(2);
        let variance = distances.max(0.0) / self.followed;
        let of_sum = variance * self.others * self.others * (1.0 / (self.followed + 1.0) + 1.0 / self.others);
        (share * self.other_limits, of_sum * (1.0 + 1.0 / self.followed).powi(2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a draw knows and counts of groups with these limits and counts.
    fn draw(groups: &[(u64, u64)], one_of: u64, random: &mut u64) -> (SampleFrame, FollowedCounts) {
        let (mut followed, mut counts) = (Vec::new(), FollowedCounts::new());
        let mut others = vec![(0, 0); 65];
        for (group, &(limit, count)) in (0..).zip(groups) {
            if next(random).is_multiple_of(one_of) {
                followed.push((group, limit));
                counts.insert(group, count);
            } else {
                let class = &mut others[bits(limit) as usize];
                *class = (class.0 + 1, class.1 + limit);
            }
        }
        (SampleFrame::new(one_of as u32, &followed, Some(&others)), counts)
    }

    fn next(random: &mut u64) -> u64 {
        *random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        *random >> 33
    }

    /// How many of 400 draws hold the truth, and the mean of their estimates as a share of it.
    fn held(groups: &[(u64, u64)], one_of: u64) -> (u32, f64) {
        let truth: u64 = groups.iter().map(|(_, count)| count).sum();
        let truth = truth as f64;
        let mut random = 11;
        let mut held = 0;
        let mut estimates = 0.0;
        for _ in 0..400 {
            let (frame, counts) = draw(groups, one_of, &mut random);
            let SampledTotal { estimate, at_least, at_most } = frame.transfers(&counts);
            assert!(at_least <= at_most, "{at_least} to {at_most}");
            held += u32::from(at_least <= truth + 1e-6 && truth <= at_most + 1e-6);
            estimates += estimate / truth / 400.0;
        }
        (held, estimates)
    }

    #[test]
    fn intervals_hold_the_truth_in_9_of_10_draws_whatever_the_groups_are_like() {
        let mut random = 5;
        let mut share = |percent: u64| next(&mut random) % 100 < percent;
        let rare: Vec<_> = (0..4000).map(|_| (30, if share(5) { 30 } else { 0 })).collect();
        let half: Vec<_> = (0..1000).map(|_| (30, if share(50) { 30 } else { 0 })).collect();
        let powers: Vec<_> = (0..3000_u64)
            .map(|at| (30_000 / (at + 1) + 1, 30_000 / (at + 1) * u64::from(share(30))))
            .collect();
        let alike = vec![(300, 100); 1000];
        let one = [vec![(12_000, 3900)], vec![(40, 0); 2000]].concat();
        let three = [vec![(12_000, 3900), (9000, 9000), (14_000, 10)], vec![(40, 4); 5000]].concat();
        let few = [vec![(200, 60); 40], vec![(1, 0); 3000]].concat();
        let sixteen = vec![(300, 100); 16];
        for one_of in [2, 4, 16, 64] {
            for (name, groups) in [
                ("rare", &rare),
                ("half", &half),
                ("powers", &powers),
                ("alike", &alike),
                ("one", &one),
                ("three", &three),
                ("few", &few),
                ("sixteen", &sixteen),
            ] {
                let (held, _) = held(groups, one_of);
                assert!(held >= 352, "{name}, 1/{one_of}: {held} of 400");
            }
        }
    }

    #[test]
    fn estimates_have_no_direction_where_each_class_has_followed_groups() {
        let mut random = 5;
        let groups: Vec<_> = (0..4000).map(|_| (30, next(&mut random) % 31)).collect();
        let (_, mean) = held(&groups, 16);
        assert!((mean - 1.0).abs() < 0.01, "{mean}");
    }

    #[test]
    fn one_group_with_nearly_all_transfers_is_exact_where_it_is_followed_and_possible_where_not() {
        let light: Vec<(u32, u64)> = (1..100).map(|group| (group, 40)).collect();
        let mut others = [(0, 0); 65];
        others[6] = (1500, 1500 * 40);
        let with_heavy = [&light[..], &[(0, 12_000)]].concat();
        let mut counts: FollowedCounts = light.iter().map(|&(group, _)| (group, 0)).collect();
        let frame = SampleFrame::new(16, &with_heavy, Some(&others));
        counts.insert(0, 3900);
        let followed = frame.transfers(&counts);
        assert!((followed.estimate - 3900.0).abs() < 1e-6, "{followed:?}");
        // Of the others less than one in 99 may have some.
        assert!(followed.at_least >= 3900.0 && followed.at_most < 3900.0 + 3000.0, "{followed:?}");

        others[14] = (1, 12_000);
        counts.remove(&0);
        let missed = SampleFrame::new(16, &light, Some(&others)).transfers(&counts);
        assert!(missed.at_least == 0.0 && missed.at_most >= 12_000.0, "{missed:?}");
    }

    #[test]
    fn everything_followed_has_no_error_and_nothing_known_has_no_end() {
        let counts = FollowedCounts::from([(1, 10), (2, 30)]);
        let whole = SampleFrame::new(1, &[(1, 20), (2, 30)], Some(&[])).transfers(&counts);
        assert_eq!(whole, SampledTotal { estimate: 40.0, at_least: 40.0, at_most: 40.0 });
        let unknown = SampleFrame::new(16, &[], None);
        let total = unknown.transfers(&counts);
        assert_eq!((total.estimate, total.at_least, total.at_most), (640.0, 40.0, f64::INFINITY));
    }

    #[test]
    fn first_references_are_counted_with_their_error() {
        let counts: FollowedCounts = (0..100).map(|group| (group, 1 + u64::from(group % 2))).collect();
        let SampledTotal { estimate, at_least, at_most } =
            SampleFrame::new(16, &[], Some(&[])).first_references(&counts, 2);
        assert_eq!(estimate, 2400.0);
        // 16 · √(Σ count²) is a tenth of it.
        assert!(
            (1880.0..1920.0).contains(&at_least) && (2900.0..2960.0).contains(&at_most),
            "{at_least} {at_most}"
        );
        let none = SampleFrame::new(16, &[], Some(&[])).first_references(&FollowedCounts::new(), 1);
        assert!(none.at_least == 0.0 && (45.0..48.0).contains(&none.at_most), "{none:?}");
    }
}
