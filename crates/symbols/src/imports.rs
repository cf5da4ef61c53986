//! The functions of a file, its own and imported ones, that give the processor away.

use object::{Object, ObjectSymbol, RelocationTarget, SymbolIndex};
use rustc_hash::FxHashSet;

use crate::image::Image;

/// Names of functions that yield the processor and do nothing else.
const YIELDS: [&str; 4] = ["sched_yield", "__sched_yield", "thrd_yield", "pthread_yield"];

/// Where a file's yielding functions lie.
#[derive(Debug, Default)]
pub(crate) struct Yields {
    functions: FxHashSet<u64>,
    slots: FxHashSet<u64>,
}

impl Yields {
    /// Looks a file's symbols and relocations through.
    pub fn of(image: &Image) -> Self {
        let mut found = Yields::default();
        let Some(elf) = image.elf() else { return found };
        let is_yield = |name: &str| YIELDS.contains(&name);
        for symbol in elf.symbols().chain(elf.dynamic_symbols()) {
            if symbol.is_definition() && symbol.name().is_ok_and(is_yield) {
                found.functions.insert(symbol.address());
            }
        }
        let imported: FxHashSet<SymbolIndex> = elf
            .dynamic_symbols()
            .filter(|symbol| symbol.is_undefined() && symbol.name().is_ok_and(is_yield))
            .map(|symbol| symbol.index())
            .collect();
        if imported.is_empty() {
            return found;
        }
        for (offset, relocation) in elf.dynamic_relocations().into_iter().flatten() {
            if let RelocationTarget::Symbol(index) = relocation.target()
                && imported.contains(&index)
            {
                found.slots.insert(offset);
            }
        }
        found
    }

    /// Whether a yielding function begins at the address.
    pub fn is_function(&self, address: u64) -> bool {
        self.functions.contains(&address)
    }

    /// Whether the loader puts the address of a yielding function at this address.
    pub fn is_slot(&self, address: u64) -> bool {
        self.slots.contains(&address)
    }
}
