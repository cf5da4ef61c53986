//! Functions of which the name says what they do in a loop that waits.

use std::ops::Range;

use iced_x86::{Decoder, DecoderOptions, Mnemonic};
use object::{Object, ObjectSymbol, RelocationTarget, SymbolIndex};
use rustc_hash::FxHashMap;

use crate::image::Image;

/// What a known function does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KnownFunction {
    /// It gives the processor away, and does nothing else.
    Yields,
    /// It waits for some time.
    Sleeps,
    /// It tries to take something, without waiting, or reads something that changes by itself.
    Polls,
    /// It reads the clock that its first argument names.
    ReadsClock,
    /// It takes a lock or gives it back.
    Locks,
}

const NAMES: &[(&str, KnownFunction)] = &[
    ("sched_yield", KnownFunction::Yields),
    ("__sched_yield", KnownFunction::Yields),
    ("thrd_yield", KnownFunction::Yields),
    ("pthread_yield", KnownFunction::Yields),
    ("sleep", KnownFunction::Sleeps),
    ("__sleep", KnownFunction::Sleeps),
    ("usleep", KnownFunction::Sleeps),
    ("nanosleep", KnownFunction::Sleeps),
    ("__nanosleep", KnownFunction::Sleeps),
    ("clock_nanosleep", KnownFunction::Sleeps),
    ("thrd_sleep", KnownFunction::Sleeps),
    ("g_usleep", KnownFunction::Sleeps),
    // Of libstdc++, where a program was not compiled with it.
    (
        "_ZNSt11this_thread11__sleep_forENSt6chrono8durationIlSt5ratioILl1ELl1EEEENS1_IlS2_ILl1ELl1000000000EEEE",
        KnownFunction::Sleeps,
    ),
    ("pthread_mutex_trylock", KnownFunction::Polls),
    ("__pthread_mutex_trylock", KnownFunction::Polls),
    ("pthread_rwlock_tryrdlock", KnownFunction::Polls),
    ("pthread_rwlock_trywrlock", KnownFunction::Polls),
    ("pthread_spin_trylock", KnownFunction::Polls),
    ("mtx_trylock", KnownFunction::Polls),
    ("sem_trywait", KnownFunction::Polls),
    ("sem_getvalue", KnownFunction::Polls),
    ("omp_test_lock", KnownFunction::Polls),
    ("omp_test_nest_lock", KnownFunction::Polls),
    ("clock_gettime", KnownFunction::ReadsClock),
    ("__clock_gettime", KnownFunction::ReadsClock),
    ("gettimeofday", KnownFunction::Polls),
    ("__gettimeofday", KnownFunction::Polls),
    ("time", KnownFunction::Polls),
    ("timespec_get", KnownFunction::Polls),
    ("omp_get_wtime", KnownFunction::Polls),
    ("_ZNSt6chrono3_V212steady_clock3nowEv", KnownFunction::Polls),
    ("_ZNSt6chrono3_V212system_clock3nowEv", KnownFunction::Polls),
    ("pthread_mutex_lock", KnownFunction::Locks),
    ("pthread_mutex_unlock", KnownFunction::Locks),
    ("pthread_rwlock_rdlock", KnownFunction::Locks),
    ("pthread_rwlock_wrlock", KnownFunction::Locks),
    ("pthread_rwlock_unlock", KnownFunction::Locks),
    ("pthread_spin_lock", KnownFunction::Locks),
    ("pthread_spin_unlock", KnownFunction::Locks),
    ("mtx_lock", KnownFunction::Locks),
    ("mtx_unlock", KnownFunction::Locks),
];

/// Those of Rust's `std::thread`, whatever module they lie in: the ends of their names, mangled in the old way and in the new one.
const OF_RUST: &[([&str; 2], KnownFunction)] = &[
    (["5sleep17h", "5sleep"], KnownFunction::Sleeps),
    (["8sleep_ms17h", "8sleep_ms"], KnownFunction::Sleeps),
    (["9yield_now17h", "9yield_now"], KnownFunction::Yields),
];

fn known(name: &str) -> Option<KnownFunction> {
    NAMES.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind).or_else(|| of_rust(name))
}

fn of_rust(name: &str) -> Option<KnownFunction> {
    let (_, of_thread) = name.split_once("3std6thread")?;
    let (is_old, is_new) = (name.starts_with("_ZN"), name.starts_with("_RNv"));
    let is =
        |[old, new]: [&str; 2]| (is_old && of_thread.contains(old)) || (is_new && of_thread.ends_with(new));
    OF_RUST.iter().find(|(ends, _)| is(*ends)).map(|(_, kind)| *kind)
}

/// Where a file has known functions, its own and imported ones.
#[derive(Debug, Default)]
pub(crate) struct KnownFunctions {
    functions: FxHashMap<u64, KnownFunction>,
    /// Where the loader puts their addresses.
    slots: FxHashMap<u64, KnownFunction>,
    /// Where the loader puts addresses of all kinds.
    tables: Vec<Range<u64>>,
    /// The functions of the file itself among these.
    own: FxHashMap<u64, u64>,
}

impl KnownFunctions {
    /// Looks a file's symbols and relocations through.
    pub fn of(image: &Image) -> Self {
        let mut found = KnownFunctions::default();
        let Some(elf) = image.elf() else { return found };
        let table = |name: &str| image.section(name).map(|section| section.addresses);
        found.tables = [".got", ".got.plt"].into_iter().filter_map(table).collect();
        for symbol in elf.symbols().chain(elf.dynamic_symbols()).filter(ObjectSymbol::is_definition) {
            let known = symbol.name().ok().and_then(known);
            found.functions.extend(known.map(|known| (symbol.address(), known)));
        }
        let undefined = elf.dynamic_symbols().filter(ObjectSymbol::is_undefined);
        let imported: FxHashMap<SymbolIndex, KnownFunction> =
            undefined.filter_map(|symbol| Some((symbol.index(), known(symbol.name().ok()?)?))).collect();
        for (offset, relocation) in elf.dynamic_relocations().into_iter().flatten() {
            match relocation.target() {
                RelocationTarget::Symbol(index) => {
                    found.slots.extend(imported.get(&index).map(|&known| (offset, known)));
                }
                _ if found.is_in_table(offset) => {
                    found.own.insert(offset, relocation.addend().cast_unsigned());
                }
                _ => {}
            }
        }
        found
    }

    /// Whether a function that yields begins at the address.
    pub fn yields(&self, address: u64) -> bool {
        self.functions.get(&address) == Some(&KnownFunction::Yields)
    }

    /// The function that begins at the address, or that the stub there jumps to.
    pub fn at(&self, image: &Image, address: u64) -> Option<KnownFunction> {
        const LONGEST_STUB: usize = 3;
        const STUB_BYTES: usize = 16;
        if let Some(&known) = self.functions.get(&address) {
            return Some(known);
        }
        let code = image.code(address, STUB_BYTES);
        let mut stub =
            Decoder::with_ip(64, code, address, DecoderOptions::NONE).into_iter().take(LONGEST_STUB);
        let jump = stub.find(|instruction| instruction.mnemonic() == Mnemonic::Jmp)?;
        jump.is_ip_rel_memory_operand().then(|| self.behind(jump.ip_rel_memory_address()))?
    }

    /// Whether the loader puts the address of a function there.
    pub fn is_in_table(&self, slot: u64) -> bool {
        self.tables.iter().any(|table| table.contains(&slot))
    }

    /// The function of the file itself whose address the loader puts there.
    pub fn own_function(&self, slot: u64) -> Option<u64> {
        self.own.get(&slot).copied()
    }

    /// The function whose address the loader puts there.
    pub fn behind(&self, slot: u64) -> Option<KnownFunction> {
        self.slots.get(&slot).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sleeps_and_yields_of_rust_are_known_by_their_mangled_names() {
        for name in
            ["_ZN3std6thread5sleep17h0123456789abcdefE", "_ZN3std6thread9functions5sleep17h0123456789abcdefE"]
        {
            assert_eq!(known(name), Some(KnownFunction::Sleeps), "{name}");
        }
        let new = "_RNvNtNtCs4iWbT2PjeTV_3std6thread9functions5sleep";
        assert_eq!(known(new), Some(KnownFunction::Sleeps));
        assert_eq!(known("_ZN3std6thread9yield_now17h0123456789abcdefE"), Some(KnownFunction::Yields));
        assert_eq!(known("_ZN3std6thread4park17h0123456789abcdefE"), None);
        assert_eq!(known("_ZN4tool5sleep17h0123456789abcdefE"), None);
        assert_eq!(known("nanosleep"), Some(KnownFunction::Sleeps));
    }
}
