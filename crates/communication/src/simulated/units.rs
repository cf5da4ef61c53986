//! Names of the units that are requested: `page 3 of grid`, the same in the next run.
//!
//! Units of a variable are numbered from the one that its first byte is in; of other data, which has no place that is the same
//! in the next run, in the order of their addresses. Neighbours that are only requested for the first time have one name
//! (`pages 0-6 of grid`), and so have neighbours of data with many other units.

use std::collections::{BTreeMap, BTreeSet};

use longpole_coherence::{CommunicationResult, DataObjectId, FlowOrigin};
use rustc_hash::FxHashMap;

use crate::names::ProcessNames;

/// Names that the units of one object have at most.
const MOST_NAMES: usize = 16;

/// A unit and what is requested of it.
pub(super) type RequestedUnit = (u64, Option<DataObjectId>);

/// The names.
#[derive(Debug, Default)]
pub(super) struct UnitNames {
    names: FxHashMap<RequestedUnit, String>,
    firsts: FxHashMap<u64, String>,
}

impl UnitNames {
    /// Those of all units that a run requested, of so many bytes, each of which is called `noun`.
    pub(super) fn of(
        result: &CommunicationResult,
        names: ProcessNames<'_>,
        (noun, bytes): (&str, u64),
    ) -> UnitNames {
        // Several objects have one name: the blocks of one place that allocates.
        let mut units: BTreeMap<_, BTreeSet<u64>> = BTreeMap::new();
        let (mut objects, mut transferred) = (BTreeSet::new(), BTreeSet::new());
        for flow in &result.flows {
            let object = names.object(flow.key.object);
            units.entry(object.clone()).or_default().insert(flow.key.unit);
            if flow.key.origin != FlowOrigin::Cold {
                transferred.insert((object, flow.key.unit));
            }
            objects.insert((flow.key.unit, flow.key.object));
        }
        let mut by_unit: BTreeMap<_, String> = BTreeMap::new();
        for (object, units) in &units {
            let first = units.first().map_or(0, |&first| first);
            let base = if object.kind == "variable" { object.address & !(bytes - 1) } else { first };
            let numbers: Vec<(u64, u64)> = match object.kind {
                "variable" => units.iter().map(|&unit| ((unit - base.min(unit)) / bytes, unit)).collect(),
                _ => (0..).zip(units.iter().copied()).collect(),
            };
            let is_transferred = |unit: u64| transferred.contains(&(object.clone(), unit));
            for part in parts(&numbers, is_transferred) {
                let name = match (part.first(), part.last()) {
                    (Some((first, _)), Some((last, _))) if first < last => {
                        format!("{noun}s {first}-{last} of {}", object.name)
                    }
                    (Some((first, _)), _) => format!("{noun} {first} of {}", object.name),
                    _ => continue,
                };
                by_unit.extend(part.iter().map(|&(_, unit)| ((object.clone(), unit), name.clone())));
            }
        }
        let name = |(unit, object): RequestedUnit| {
            Some(((unit, object), by_unit.get(&(names.object(object), unit))?.clone()))
        };
        let names: Vec<(RequestedUnit, String)> = objects.into_iter().filter_map(name).collect();
        let firsts = names.iter().rev().map(|((unit, _), name)| (*unit, name.clone())).collect();
        UnitNames { firsts, names: names.into_iter().collect() }
    }

    /// The name of a unit of which it does not matter what data is in it: that of the first data that is requested there.
    pub(super) fn of_unit(&self, unit: u64) -> &str {
        self.firsts.get(&unit).map_or("unknown data", String::as_str)
    }

    /// The name of a unit.
    pub(super) fn get(&self, unit: RequestedUnit) -> &str {
        self.names.get(&unit).map_or("unknown data", String::as_str)
    }
}

/// The units of an object, numbered and in the order of their addresses, in parts with one name each.
fn parts(numbers: &[(u64, u64)], is_transferred: impl Fn(u64) -> bool) -> Vec<&[(u64, u64)]> {
    let alike = numbers.chunk_by(|&(one, first), &(other, second)| {
        other == one + 1 && is_transferred(first) == is_transferred(second)
    });
    let count = numbers.iter().filter(|&&(_, unit)| is_transferred(unit)).count();
    let longest = count.div_ceil(MOST_NAMES).max(1);
    alike
        .flat_map(|part| {
            let is_transferred = part.first().is_some_and(|&(_, unit)| is_transferred(unit));
            part.chunks(if is_transferred { longest } else { part.len() })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_that_are_transferred_have_names_of_their_own_and_others_share_one() {
        let numbers: Vec<(u64, u64)> = (0..6).map(|number| (number, 4096 * number)).collect();
        let lengths = |transferred: &[u64]| -> Vec<usize> {
            let is_transferred = |unit| transferred.contains(&(unit / 4096));
            parts(&numbers, is_transferred).iter().map(|part| part.len()).collect()
        };
        assert_eq!(lengths(&[2, 3]), [2, 1, 1, 2]);
        assert_eq!(lengths(&[]), [6]);
        let many: Vec<(u64, u64)> = (0..40).map(|number| (number, number)).collect();
        assert_eq!(parts(&many, |_| true).iter().map(|part| part.len()).max(), Some(3));
        assert_eq!(parts(&[(0, 0), (2, 8192)], |_| false).len(), 2, "they are no neighbours");
    }
}
