//! The code in which samples find threads, looked at once for each place.

use std::sync::Arc;

use longpole_symbols::{Mapping, PlaceWords, PollingCode, maps_of};
use rustc_hash::FxHashMap;

use super::libraries;

/// Places in code that are looked at in a round; a first look takes up to a millisecond.
const NEW_PLACES: u32 = 8;

/// A place in the code of a process.
#[derive(Debug, Default)]
pub(super) struct SampledPlace {
    /// What a thread that is found there waits for or accesses. What the C library accesses is left out: its locks are told by themselves.
    pub(super) words: PlaceWords,
    /// The file.
    pub(super) mapping: Option<Arc<Mapping>>,
}

/// The places that were looked at.
#[derive(Debug, Default)]
pub(super) struct SampledCode {
    code: PollingCode,
    places: FxHashMap<(u32, u64), SampledPlace>,
    maps: FxHashMap<u32, Vec<Arc<Mapping>>>,
    new_places: u32,
}

impl SampledCode {
    /// What a thread of the process does at this address; `None` where that is not known yet.
    pub(super) fn place(&mut self, pid: u32, ip: u64) -> Option<&SampledPlace> {
        if !self.places.contains_key(&(pid, ip)) {
            if self.new_places >= NEW_PLACES {
                return None;
            }
            self.new_places += 1;
            let place = self.look(pid, ip)?;
            self.places.insert((pid, ip), place);
        }
        self.places.get(&(pid, ip))
    }

    fn look(&mut self, pid: u32, ip: u64) -> Option<SampledPlace> {
        if self.maps.get(&pid).and_then(|maps| mapping_at(maps, ip)).is_none() {
            // It may be newer than what is known.
            let maps = maps_of(pid).ok()?.into_iter().map(Arc::new).collect();
            self.maps.insert(pid, maps);
        }
        let Some(mapping) = mapping_at(&self.maps[&pid], ip) else { return Some(SampledPlace::default()) };
        let mut words = self.code.words(pid, mapping, ip);
        if libraries::is_c_library(&mapping.path) {
            words.accessed.clear();
        }
        Some(SampledPlace { words, mapping: Some(mapping.clone()) })
    }

    /// A process is gone, or runs another program.
    pub(super) fn forget(&mut self, pid: u32) {
        self.places.retain(|(of, _), _| *of != pid);
        self.maps.remove(&pid);
    }

    /// Everything up to now was looked at.
    pub(super) fn end_round(&mut self) {
        self.new_places = 0;
    }
}

fn mapping_at(maps: &[Arc<Mapping>], ip: u64) -> Option<&Arc<Mapping>> {
    maps.iter().find(|mapping| (mapping.start..mapping.end).contains(&ip))
}
