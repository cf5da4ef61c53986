//! The units of each object by their pattern, and the patterns of the data in them (C §2.2).
//!
//! A unit is of the class of the pattern that most of its transfers' cost has; one without transfers is read-only or cold.
//! It counts in each object of which data in it was requested.

use std::collections::{BTreeMap, BTreeSet};

use longpole_coherence::{AccessPattern, CommunicationResult, FlowOrigin, PatternTallies};

use crate::numbered::AnswerNames;
use crate::sample::FollowedRequests;

/// Transfers of data: of words of 8 bytes that are fetched by themselves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DataTransfers {
    /// Transfers by pattern, in the order of [`AccessPattern::ALL`]; first references are none.
    pub patterns: [u64; 8],
}

impl DataTransfers {
    /// All of them.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.patterns.iter().sum()
    }

    /// Adds another's transfers.
    pub fn merge(&mut self, other: &DataTransfers) {
        for (own, other) in self.patterns.iter_mut().zip(other.patterns) {
            *own += other;
        }
    }
}

/// Units of an object that have the same pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitClass {
    /// Index of the object.
    pub object: usize,
    /// The pattern of most of the transfers' cost.
    pub pattern: AccessPattern,
    /// Units with requests for the object.
    pub units: u64,
    /// What is counted of followed units, where not all are; the other counts are of all.
    pub followed: FollowedRequests,
    /// Requests for the object by pattern, with their cost.
    pub patterns: PatternTallies,
    /// Bytes used of what was fetched.
    pub used: u64,
    /// Bytes fetched.
    pub fetched: u64,
    /// Indexes of the threads that asked.
    pub readers: BTreeSet<usize>,
    /// Indexes of those whose writes were behind transfers.
    pub writers: BTreeSet<usize>,
    /// What of the object's data was transferred; `None` where that was not simulated.
    pub data: Option<DataTransfers>,
}

impl UnitClass {
    fn new(object: usize, pattern: AccessPattern) -> UnitClass {
        UnitClass {
            object,
            pattern,
            units: 0,
            followed: FollowedRequests::default(),
            patterns: PatternTallies::default(),
            used: 0,
            fetched: 0,
            readers: BTreeSet::new(),
            writers: BTreeSet::new(),
            data: None,
        }
    }

    /// The classes of all objects, in the order of objects and patterns. `words`: whether the data's transfers are wanted, and
    /// the simulation of the words of those units that were transferred, if there were any.
    pub(crate) fn all(
        result: &CommunicationResult,
        words: (bool, Option<&CommunicationResult>),
        (unit, namer): (u64, &mut AnswerNames<'_>),
    ) -> Vec<UnitClass> {
        // Flows by object and unit, so that one unit is in memory at a time.
        let mut flows: Vec<(usize, u64, u32)> = (0..)
            .zip(&result.flows)
            .map(|(index, flow)| (namer.object(flow.key.object), flow.key.unit, index))
            .collect();
        flows.sort_unstable();
        let mut classes: BTreeMap<(usize, AccessPattern), UnitClass> = BTreeMap::new();
        let mut units: BTreeMap<(usize, AccessPattern), f64> = BTreeMap::new();
        let mut class_of_moved: BTreeMap<(usize, u64), AccessPattern> = BTreeMap::new();
        for of_unit in flows.chunk_by(|one, other| (one.0, one.1) == (other.0, other.1)) {
            let (object, address, _) = of_unit[0];
            let mut patterns = PatternTallies::default();
            of_unit.iter().for_each(|&(_, _, index)| patterns.merge(&result.patterns_of(index as usize)));
            let pattern = leading(&patterns);
            if pattern.is_transfer() {
                class_of_moved.insert((object, address), pattern);
            }
            let class = classes.entry((object, pattern)).or_insert_with(|| UnitClass::new(object, pattern));
            *units.entry((object, pattern)).or_default() +=
                namer.weight_of_unit(address, pattern.is_transfer());
            class.patterns.merge(&patterns);
            for &(_, _, index) in of_unit {
                let flow = &result.flows[index as usize];
                class.used += 8 * flow.totals.words_used;
                class.fetched += unit * flow.totals.requests;
                namer.add_followed(&mut class.followed, index as usize);
                class.readers.insert(flow.key.reader.index());
                if let FlowOrigin::Written { writer, .. } = flow.key.origin {
                    class.writers.insert(writer.index());
                }
            }
        }
        for (key, units) in units {
            classes.entry(key).and_modify(|class| class.units = units.round() as u64);
        }
        if words.0 {
            classes.values_mut().for_each(|class| class.data = Some(DataTransfers::default()));
        }
        if let Some(words) = words.1 {
            let class_of = |object: usize, word: u64| {
                // Data that came along with other data of its unit.
                let beside = || [AccessPattern::Cold, AccessPattern::ReadOnly];
                let own = class_of_moved.get(&(object, word & !(unit - 1))).copied();
                own.into_iter().chain(beside()).collect::<Vec<_>>()
            };
            add_words(words, &mut classes, class_of, namer);
        }
        classes.into_values().collect()
    }
}

/// Adds the transfers of words to the class of their unit: the first one that the object has of those that `class_of` names.
fn add_words(
    words: &CommunicationResult,
    classes: &mut BTreeMap<(usize, AccessPattern), UnitClass>,
    class_of: impl Fn(usize, u64) -> Vec<AccessPattern>,
    namer: &mut AnswerNames<'_>,
) {
    for (index, flow) in words.flows.iter().enumerate() {
        if flow.key.origin == FlowOrigin::Cold {
            continue;
        }
        let object = namer.object(flow.key.object);
        let wanted = class_of(object, flow.key.unit);
        let found = wanted.iter().find(|&&pattern| classes.contains_key(&(object, pattern)));
        let pattern = found.copied().unwrap_or(AccessPattern::Cold);
        let class = classes.entry((object, pattern)).or_insert_with(|| UnitClass::new(object, pattern));
        let patterns = words.patterns_of(index);
        let data = class.data.get_or_insert_default();
        for (sum, pattern) in data.patterns.iter_mut().zip(AccessPattern::ALL) {
            *sum += patterns.of(pattern).requests;
        }
    }
}

/// The pattern of most of the transfers' cost, else of most of the rest; the first one of equals.
fn leading(patterns: &PatternTallies) -> AccessPattern {
    let weight = |pattern: AccessPattern| {
        let tally = patterns.of(pattern);
        (pattern.is_transfer() && tally.requests > 0, tally.cost, tally.requests)
    };
    let most = AccessPattern::ALL.into_iter().rev().max_by_key(|&pattern| weight(pattern));
    most.unwrap_or(AccessPattern::Cold)
}
