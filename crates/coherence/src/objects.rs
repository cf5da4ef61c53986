//! The data object at an address: allocations, globals with their fields, stack variables.

use std::collections::BTreeMap;

use crate::access::DataObjectId;

/// Ranges of addresses of objects, apart from each other. What is placed last is what is there.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(crate) struct DataObjects {
    /// First address → address after the last, object.
    ranges: BTreeMap<u64, (u64, DataObjectId)>,
}

impl DataObjects {
    /// Puts an object at `[start, start + size)`.
    pub(crate) fn place(&mut self, start: u64, size: u64, object: DataObjectId) {
        self.remove(start, size);
        if size > 0 {
            self.ranges.insert(start, (start.saturating_add(size), object));
        }
    }

    /// Removes the parts of objects in `[start, start + size)`; parts outside of it stay.
    pub(crate) fn remove(&mut self, start: u64, size: u64) {
        let end = start.saturating_add(size);
        let starts: Vec<u64> = self
            .ranges
            .range(..end)
            .rev()
            .take_while(|(_, range)| range.0 > start)
            .map(|(&at, _)| at)
            .collect();
        for at in starts {
            let Some((until, object)) = self.ranges.remove(&at) else { continue };
            if at < start {
                self.ranges.insert(at, (start, object));
            }
            if until > end {
                self.ranges.insert(end, (until, object));
            }
        }
    }

    /// First byte and end of the object at an address.
    pub(crate) fn range(&self, address: u64) -> Option<(u64, u64)> {
        let (&start, &(end, _)) = self.ranges.range(..=address).next_back()?;
        (address < end).then_some((start, end))
    }

    /// The object at an address.
    pub(crate) fn find(&self, address: u64) -> Option<DataObjectId> {
        let (_, &(end, object)) = self.ranges.range(..=address).next_back()?;
        (address < end).then_some(object)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_object_replaces_what_it_covers_and_nothing_else() {
        let mut objects = DataObjects::default();
        objects.place(0, 100, DataObjectId(1));
        objects.place(100, 50, DataObjectId(2));
        objects.place(40, 80, DataObjectId(3));
        let found: Vec<_> = [0, 39, 40, 119, 120, 149, 150].map(|at| objects.find(at).map(|id| id.0)).into();
        assert_eq!(found, [Some(1), Some(1), Some(3), Some(3), Some(2), Some(2), None]);
        objects.remove(10, 5);
        assert_eq!([9, 10, 14, 15].map(|at| objects.find(at).is_some()), [true, false, false, true]);
    }
}
