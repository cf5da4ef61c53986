//! Primitives that the program's threads told of themselves: they say for sure what a word of memory belongs to.
//!
//! ```text
//!   condition at 0x1028      futexes 0x1028 and 0x102c: waits for either are for this condition
//!   mutex at 0x1040          futex 0x1040
//!   _PyRuntime at 0x2000     futexes within it: Python's global interpreter lock
//! ```
//! The lock of an interpreter is made of a condition and a mutex, and threads wait for it with a time limit, again and again.
//! Whoever wants to know what holds a program back wants to hear of one lock.

use std::collections::BTreeMap;

use longpole_event::{PrimitiveId, PrimitiveKind, ProcessId};
use longpole_recording::DefinitionTables;
use rustc_hash::FxHashMap;

use crate::object_names::WordNames;
use crate::objects::ObjectKind;

/// Variables in which CPython keeps its lock: since 3.7, and before.
const INTERPRETER_LOCKS: [&str; 2] = ["_PyRuntime", "gil_cond"];

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
    /// The locks of interpreters, by process and address of each futex in them.
    interpreter_locks: FxHashMap<(ProcessId, u64), KnownPrimitive>,
}

impl LogPrimitives {
    /// Of the log whose first process is `base` in the recording.
    pub(crate) fn of(tables: &DefinitionTables, words: &WordNames, base: u32) -> Self {
        let mut primitives = LogPrimitives::default();
        primitives.know_interpreter_locks(words);
        for told in &tables.primitives {
            let process = ProcessId(base + told.process.0);
            let address = Some(told.address).filter(|&address| address != 0);
            let known = KnownPrimitive { process, kind: kind(told.kind), address };
            // Its mutex is held for moments, its condition is what threads wait for.
            let condition = address.filter(|_| known.kind == Some(ObjectKind::Condition));
            let interpreter_lock =
                condition.and_then(|address| primitives.interpreter_lock(process, address));
            primitives.by_id.push(interpreter_lock.copied().unwrap_or(known));
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

    /// Finds the locks of interpreters: CPython keeps its own, and no other lock for which threads wait, in one variable.
    fn know_interpreter_locks(&mut self, words: &WordNames) {
        for (&(process, word), variable) in &words.variables {
            if INTERPRETER_LOCKS.contains(&variable.name.as_str()) {
                let address = word - variable.offset;
                let known = KnownPrimitive {
                    process,
                    kind: Some(ObjectKind::InterpreterLock),
                    address: Some(address),
                };
                self.interpreter_locks.insert((process, word), known);
                self.names.insert((process, address), "GIL (global interpreter lock)".to_owned());
            }
        }
    }

    /// The lock of an interpreter that what begins at this address is a part of.
    fn interpreter_lock(&self, process: ProcessId, address: u64) -> Option<&KnownPrimitive> {
        // The second futex of a condition may be the only one that was ever waited on.
        let words = [address, address + 4];
        words.into_iter().find_map(|word| self.interpreter_locks.get(&(process, word)))
    }

    /// The primitive with this id, where the log defines it.
    pub(crate) fn get(&self, id: PrimitiveId) -> Option<&KnownPrimitive> {
        self.by_id.get(id.index())
    }

    /// The primitive that a futex at this address belongs to, of those whose kind is known.
    pub(crate) fn at(&self, process: ProcessId, word: u64) -> Option<&KnownPrimitive> {
        if let Some(known) = self.interpreter_locks.get(&(process, word)) {
            return Some(known);
        }
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
    use crate::object_names::ObjectVariable;

    fn of(primitives: &[(PrimitiveKind, u64)]) -> LogPrimitives {
        with_words(primitives, &WordNames::default())
    }

    fn with_words(primitives: &[(PrimitiveKind, u64)], words: &WordNames) -> LogPrimitives {
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
        LogPrimitives::of(&tables, words, 7)
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

    #[test]
    fn the_words_of_an_interpreter_s_lock_are_one_lock() {
        let process = ProcessId(7);
        let variable = |offset| ObjectVariable { name: "_PyRuntime".to_owned(), offset };
        let variables = [(0x1188, 0x188), (0x11b8, 0x1b8)].map(|(word, at)| ((process, word), variable(at)));
        let words = WordNames { variables: variables.into_iter().collect() };
        let told = [(PrimitiveKind::Condition, 0x1184), (PrimitiveKind::Mutex, 0x2000)];
        let known = with_words(&told, &words);
        let lock = KnownPrimitive { process, kind: Some(ObjectKind::InterpreterLock), address: Some(0x1000) };
        assert_eq!([0x1188, 0x11b8].map(|word| known.at(process, word).copied()), [Some(lock); 2]);
        assert_eq!(known.get(PrimitiveId(0)), Some(&lock), "told of as a condition");
        assert_eq!(known.get(PrimitiveId(1)).and_then(|known| known.kind), Some(ObjectKind::Mutex));
        assert_eq!(known.name(process, 0x1000), Some("GIL (global interpreter lock)"));
    }
}
