//! The objects of a program's data: variables, allocations by their place, stacks.

use longpole_coherence::{DataObjectId, SiteId};
use longpole_recording::AccessVariable;
use rustc_hash::FxHashMap;

/// What an object is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum ObjectOrigin {
    /// A variable of a file, by its index.
    Variable(u32),
    /// Memory that was allocated at this place.
    Heap(SiteId),
    /// The stack of a thread.
    Stack(u32),
}

/// Every object, as dense numbers.
#[derive(Debug, Default)]
pub(crate) struct AccessObjects {
    ids: FxHashMap<ObjectOrigin, u32>,
    pub(crate) origins: Vec<ObjectOrigin>,
}

impl AccessObjects {
    pub(crate) fn id(&mut self, origin: ObjectOrigin) -> DataObjectId {
        let next = self.origins.len() as u32;
        let id = *self.ids.entry(origin).or_insert(next);
        if id == next {
            self.origins.push(origin);
        }
        DataObjectId(id)
    }

    /// The variables as objects that are there from the beginning. The innermost one of several comes last, so that it
    /// replaces the part of the others that it lies in.
    pub(crate) fn place_variables(&mut self, variables: &[AccessVariable]) -> Vec<(u64, u64, DataObjectId)> {
        let place = |(index, variable): (usize, &AccessVariable)| {
            (variable.address, variable.size, self.id(ObjectOrigin::Variable(index as u32)))
        };
        variables.iter().enumerate().map(place).collect()
    }
}
