//! The names of an answer, each once: flows, classes and graphs refer to them by number.

use std::collections::BTreeMap;

use longpole_coherence::{CommunicationResult, DataObjectId, SiteId, SyncObject, SyncOrigin};
use rustc_hash::FxHashMap;

use crate::answer::{DataObject, DataPlace};
use crate::names::ProcessNames;
use crate::sample::{FollowedRequests, SampleInUse};

/// The names of the answer, each once.
pub(crate) struct AnswerNames<'a> {
    pub(crate) names: ProcessNames<'a>,
    pub(crate) places: NumberedNames<DataPlace>,
    pub(crate) objects: NumberedNames<DataObject>,
    pub(crate) synchronisations: NumberedNames<(String, usize)>,
    /// Which units the flows stand for, where not all are followed.
    pub(crate) sample: Option<SampleInUse>,
    known_places: FxHashMap<SiteId, usize>,
    known_objects: FxHashMap<Option<DataObjectId>, usize>,
}

/// Names by their numbers, each once.
pub(crate) struct NumberedNames<T> {
    pub(crate) names: Vec<T>,
    numbers: BTreeMap<T, usize>,
}

impl<T> Default for NumberedNames<T> {
    fn default() -> Self {
        NumberedNames { names: Vec::new(), numbers: BTreeMap::new() }
    }
}

impl<T: Clone + Ord> NumberedNames<T> {
    /// The number of a name, new or known.
    pub(crate) fn number(&mut self, name: T) -> usize {
        if let Some(&number) = self.numbers.get(&name) {
            return number;
        }
        self.names.push(name.clone());
        self.numbers.insert(name, self.names.len() - 1);
        self.names.len() - 1
    }
}

impl<'a> AnswerNames<'a> {
    pub(crate) fn new(names: ProcessNames<'a>) -> Self {
        Self {
            names,
            places: NumberedNames::default(),
            objects: NumberedNames::default(),
            synchronisations: NumberedNames::default(),
            sample: None,
            known_places: FxHashMap::default(),
            known_objects: FxHashMap::default(),
        }
    }

    pub(crate) fn place(&mut self, site: SiteId) -> usize {
        let (names, places) = (self.names, &mut self.places);
        *self.known_places.entry(site).or_insert_with(|| places.number(names.place(site)))
    }

    pub(crate) fn object(&mut self, object: Option<DataObjectId>) -> usize {
        let (names, objects) = (self.names, &mut self.objects);
        *self.known_objects.entry(object).or_insert_with(|| objects.number(names.object(object)))
    }

    pub(crate) fn synchronisation(&mut self, result: &CommunicationResult, origin: SyncOrigin) -> usize {
        let name = self.names.synchronisation(origin, |token| self.unnamed(result, token));
        self.number_synchronisation(name, origin.site)
    }

    /// The same without the number of a thread: threads that do the same have the same name.
    pub(crate) fn synchronisation_of_any_thread(
        &mut self,
        result: &CommunicationResult,
        origin: SyncOrigin,
    ) -> usize {
        match origin.object {
            SyncObject::Fork(_) => self.number_synchronisation("creation of a thread".into(), origin.site),
            SyncObject::Join(_) => self.number_synchronisation("end of a thread".into(), origin.site),
            SyncObject::Token(_) | SyncObject::Barrier(_) => self.synchronisation(result, origin),
        }
    }

    /// For how many units one stands, with transfers or without: 1 where all are followed.
    pub(crate) fn weight_of_unit(&self, address: u64, is_moved: bool) -> f64 {
        self.sample.as_ref().map_or(1.0, |sample| sample.weight_of_unit(address, is_moved))
    }

    /// Adds what a flow of the result counts of followed units, where not all are.
    pub(crate) fn add_followed(&self, row: &mut FollowedRequests, flow: usize) {
        self.sample.iter().for_each(|sample| sample.add_to(row, flow));
    }

    fn number_synchronisation(&mut self, name: String, site: SiteId) -> usize {
        let entry = (name, self.place(site));
        self.synchronisations.number(entry)
    }

    /// What synchronises without being a variable: by the memory that it is in, else by its address.
    fn unnamed(&self, result: &CommunicationResult, token: u64) -> String {
        match result.object_at(token).map(|object| self.names.object(Some(object))) {
            Some(DataObject { name, kind: "heap", .. }) => format!("memory {name}"),
            Some(DataObject { name, kind: "stack", .. }) => format!("memory on the {name}"),
            _ => format!("{token:#x}"),
        }
    }
}
