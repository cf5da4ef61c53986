//! Primitives that the program's threads told of themselves: they say for sure what a word of memory belongs to.
//!
//! ```text
//!   condition at 0x1028      futexes 0x1028 and 0x102c: waits for either are for this condition
//!   mutex at 0x1040          futex 0x1040
//! ```

use std::collections::BTreeMap;

use longpole_event::{PrimitiveId, PrimitiveKind, ProcessId};
use longpole_recording::DefinitionTables;
use rustc_hash::FxHashMap;

use crate::objects::ObjectKind;

/// A primitive; its process is one of the recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KnownPrimitive {
    pub(crate) process: ProcessId,
    /// `None`: a futex whose use is not known.
    pub(crate) kind: Option<ObjectKind>,
    /// Address of its first futex; `None` where the log could not tell it from others of its kind.
    pub(crate) address: Option<u64>,
}

impl KnownPrimitive {
    /// Whether a futex at this address is one of its own.
    pub(crate) fn covers(&self, word: u64) -> bool {
        let reach = self.kind.map_or(0, reach);
        self.address.is_some_and(|address| address <= word && word - address <= reach)
    }
}

/// The primitives of one machine's log.
#[derive(Debug, Default)]
pub(crate) struct LogPrimitives {
    by_id: Vec<KnownPrimitive>,
    /// Of a known kind, by process and address; of several at one address the last that was told of.
    by_address: BTreeMap<(ProcessId, u64), KnownPrimitive>,
    names: FxHashMap<(ProcessId, u64), String>,
}

impl LogPrimitives {
    /// Of the log whose first process is `base` in the recording.
    pub(crate) fn of(tables: &DefinitionTables, base: u32) -> Self {
        let mut primitives = LogPrimitives::default();
        for told in &tables.primitives {
            let process = ProcessId(base + told.process.0);
            let address = Some(told.address).filter(|&address| address != 0);
            let known = KnownPrimitive { process, kind: kind(told.kind), address };
            primitives.by_id.push(known);
            let Some(address) = address else { continue };
            if known.kind.is_some() {
                primitives.by_address.insert((process, address), known);
            }
            if let Some(name) = told.name {
                primitives.names.insert((process, address), tables.text(name).to_owned());
            }
        }
        primitives
    }

    /// The primitive with this id, where the log defines it.
    pub(crate) fn get(&self, id: PrimitiveId) -> Option<&KnownPrimitive> {
        self.by_id.get(id.index())
    }

    /// The primitive that a futex at this address belongs to, of those whose kind is known.
    pub(crate) fn at(&self, process: ProcessId, word: u64) -> Option<&KnownPrimitive> {
        let (_, known) = self.by_address.range((process, 0)..=(process, word)).next_back()?;
        known.covers(word).then_some(known)
    }

    /// The name that the program gave what begins at this address.
    pub(crate) fn name(&self, process: ProcessId, address: u64) -> Option<&str> {
        self.names.get(&(process, address)).map(String::as_str)
    }
}

fn kind(kind: PrimitiveKind) -> Option<ObjectKind> {
    Some(match kind {
        PrimitiveKind::Mutex => ObjectKind::Mutex,
        PrimitiveKind::ReadWriteLock => ObjectKind::RwLock,
        PrimitiveKind::SpinLock => ObjectKind::SpinLock,
        PrimitiveKind::Condition => ObjectKind::Condition,
        PrimitiveKind::Barrier => ObjectKind::Barrier,
        PrimitiveKind::Semaphore => ObjectKind::Semaphore,
        PrimitiveKind::Once => ObjectKind::Once,
        PrimitiveKind::Futex => return None,
    })
}

/// How far behind the first futex of a primitive its last one lies at most, bytes.
fn reach(kind: ObjectKind) -> u64 {
    match kind {
        // glibc's have a pair of them.
        ObjectKind::Condition | ObjectKind::RwLock => 4,
        // glibc's `current_round` and `out`.
        ObjectKind::Barrier => 12,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use longpole_event::{Primitive, TextId};

    use super::*;

    fn of(primitives: &[(PrimitiveKind, u64)]) -> LogPrimitives {
        let primitive = |&(kind, address): &(PrimitiveKind, u64)| Primitive {
            process: ProcessId(0),
            kind,
            address,
            name: Some(TextId(0)),
        };
        let tables = DefinitionTables {
            texts: vec!["table_lock".to_owned()],
            primitives: primitives.iter().map(primitive).collect(),
            ..DefinitionTables::default()
        };
        LogPrimitives::of(&tables, 7)
    }

    #[test]
    fn both_futexes_of_a_condition_belong_to_it_and_its_neighbour_s_do_not() {
        let known = of(&[(PrimitiveKind::Condition, 0x1028), (PrimitiveKind::Mutex, 0x1030)]);
        let kind = |word| known.at(ProcessId(7), word).and_then(|known| known.kind);
        assert_eq!(kind(0x1028), Some(ObjectKind::Condition));
        assert_eq!(kind(0x102c), Some(ObjectKind::Condition));
        assert_eq!(kind(0x1030), Some(ObjectKind::Mutex));
        assert_eq!(kind(0x1034), None);
        assert_eq!(known.at(ProcessId(8), 0x1030), None);
    }

    #[test]
    fn a_futex_of_unknown_use_explains_no_other_wait_but_can_have_a_name() {
        let known = of(&[(PrimitiveKind::Futex, 0x1000)]);
        assert_eq!(known.at(ProcessId(7), 0x1000), None);
        assert_eq!(known.name(ProcessId(7), 0x1000), Some("table_lock"));
    }

    #[test]
    fn what_the_log_did_not_tell_apart_has_no_address() {
        let known = of(&[(PrimitiveKind::Mutex, 0)]);
        assert_eq!(known.get(PrimitiveId(0)).and_then(|known| known.address), None);
        assert_eq!(known.at(ProcessId(7), 0), None);
    }
}
