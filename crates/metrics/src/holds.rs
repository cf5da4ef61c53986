//! How locks were held (metrics.md §3): acquisitions, those that found the lock taken, and the length of holds, as the
//! threads themselves told of them.
//!
//! ```text
//!   T1  =m==m=====.m=     3 acquisitions of m, held 1 + 4 + 1; the second found it taken
//!                         held 6 in all, 2 on average, at most 4; 33 % contended
//! ```
//! A thread tells of its holds at one place of a lock together, when the last of them ends; so in a part of a run what
//! was told within it counts.
//!
//! Constant time per item; memory per object and per (object, place of acquisition).
//!
//! It cannot see what the program does not tell: without an agent in it, it tells nothing.

use std::collections::BTreeMap;

use longpole_event::{ThreadId, Time};
use longpole_graph::Sweep;
use longpole_trace::{LockHold, ObjectId, Objects, Paths, PlaceId};
use rustc_hash::FxHashMap;

/// What holds of a lock came to; times are nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LockHoldSums {
    /// Acquisitions whose hold is over.
    pub acquisitions: u64,
    /// How many of these found the lock taken.
    pub contended: u64,
    /// Time for which threads held it, all together.
    pub held: u64,
    /// The longest hold.
    pub longest: u64,
}

impl LockHoldSums {
    /// Mean length of a hold; 0 of none.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.held as f64 / self.acquisitions.max(1) as f64
    }

    /// Takes in others.
    pub fn add(&mut self, other: &LockHoldSums) {
        self.acquisitions += other.acquisitions;
        self.contended += other.contended;
        self.held += other.held;
        self.longest = self.longest.max(other.longest);
    }
}

/// How each lock was held.
#[derive(Clone, Debug, Default)]
pub struct LockHolds {
    /// By object id.
    pub objects: Vec<LockHoldSums>,
    /// By the place of acquisition. `None`: not known.
    pub places: BTreeMap<(ObjectId, Option<PlaceId>), LockHoldSums>,
    /// Acquisitions of the second while the first was held: of several locks that were, the one acquired last.
    pub orders: BTreeMap<(ObjectId, ObjectId), u64>,
}

impl LockHolds {
    /// Whether any thread told of any hold.
    #[must_use]
    pub fn is_told(&self) -> bool {
        !self.places.is_empty()
    }
}

/// The sweep of holds.
#[derive(Debug)]
pub(crate) struct HoldSums<'a> {
    paths: &'a Paths,
    objects: Vec<LockHoldSums>,
    places: FxHashMap<(ObjectId, Option<PlaceId>), LockHoldSums>,
    orders: BTreeMap<(ObjectId, ObjectId), u64>,
}

impl<'a> HoldSums<'a> {
    pub fn new(objects: &Objects, paths: &'a Paths) -> Self {
        HoldSums {
            paths,
            objects: vec![LockHoldSums::default(); objects.all().len()],
            places: FxHashMap::default(),
            orders: BTreeMap::new(),
        }
    }

    /// The sums, once the sweep is finished.
    pub fn into_holds(self) -> LockHolds {
        LockHolds { objects: self.objects, places: self.places.into_iter().collect(), orders: self.orders }
    }
}

impl Sweep for HoldSums<'_> {
    fn hold(&mut self, _thread: ThreadId, _time: Time, hold: LockHold) {
        let LockHold { object, path, outer, acquisitions, contended, nanoseconds, longest } = hold;
        let held = LockHoldSums { acquisitions, contended, held: nanoseconds, longest };
        if let Some(outer) = outer {
            *self.orders.entry((outer, object)).or_default() += acquisitions;
        }
        self.objects[object.index()].add(&held);
        self.places.entry((object, self.paths.innermost_id(path))).or_default().add(&held);
    }
}

#[cfg(test)]
mod tests {
    use longpole_testkit::{draw, random_timelines};
    use longpole_trace::{Item, ItemKind};
    use proptest::prelude::*;

    use super::*;
    use crate::{Analysis, DetailsDemand, MetricOptions, details};

    fn holds(made: &longpole_testkit::MemoryTimelines) -> LockHolds {
        let demand = DetailsDemand { contention: true, ..DetailsDemand::default() };
        let Ok(found) = details(made, &MetricOptions::default(), &demand, &Analysis::default());
        found.holds.expect("it was demanded")
    }

    #[test]
    fn holds_add_up_by_lock_and_by_place() {
        let made = draw(
            "1 = mutex m
             A = main > put:3
             B = main > get:7
             T1 AAABBBBBBA
             T1@2 held 1 1/0 1
             T1@8 held 1 2/1 5 4",
        );
        let found = holds(&made);
        let (m, get) = (made.object("m"), made.procedure("get"));
        let all = LockHoldSums { acquisitions: 3, contended: 1, held: 6, longest: 4 };
        assert_eq!(found.objects[m.index()], all);
        assert!((all.mean() - 2.0).abs() < 1e-12);
        let place = found.places.iter().find(|((_, place), _)| {
            place.is_some_and(|place| made.paths.all_places()[place.0 as usize].procedure == get)
        });
        let of_get = LockHoldSums { acquisitions: 2, contended: 1, held: 5, longest: 4 };
        assert_eq!(place.map(|(_, held)| *held), Some(of_get));
    }

    proptest! {
        #[test]
        fn sums_of_places_are_those_of_the_items(made in random_timelines(4, 60)) {
            let found = holds(&made);
            for (index, held) in found.objects.iter().enumerate() {
                let of_object = |item: &Item| match item.what {
                    ItemKind::Held(hold) if hold.object.index() == index => Some(hold),
                    _ => None,
                };
                let told: Vec<LockHold> = made.items.iter().filter_map(of_object).collect();
                let mut by_place = LockHoldSums::default();
                found.places.iter().filter(|((id, _), _)| id.index() == index).for_each(|(_, held)| by_place.add(held));
                prop_assert_eq!(*held, by_place);
                prop_assert_eq!(held.held, told.iter().map(|hold| hold.nanoseconds).sum::<u64>());
                prop_assert_eq!(held.longest, told.iter().map(|hold| hold.longest).max().unwrap_or(0));
                prop_assert_eq!(held.acquisitions, told.iter().map(|hold| hold.acquisitions).sum::<u64>());
            }
        }
    }
}
