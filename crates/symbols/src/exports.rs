//! The names that a file gives its functions to the outside.
//!
//! Libraries have several names for one function; inside, one such as `__GI___pthread_mutex_lock` may
//! stand first. The name that programs call it by is the one that is shown.

use std::cmp::Reverse;

use object::{Object, ObjectSymbol, SymbolKind};
use rustc_hash::FxHashMap;

use crate::image::Image;

/// The best name of each exported function, by its beginning.
#[derive(Debug, Default)]
pub(crate) struct Exports {
    names: FxHashMap<u64, String>,
}

impl Exports {
    /// Reads the dynamic symbols of a file.
    pub fn of(image: &Image) -> Self {
        let mut names: FxHashMap<u64, String> = FxHashMap::default();
        let Some(elf) = image.elf() else { return Exports::default() };
        for symbol in elf.dynamic_symbols() {
            let Ok(name) = symbol.name() else { continue };
            if symbol.kind() != SymbolKind::Text || !symbol.is_definition() || name.is_empty() {
                continue;
            }
            let best = names.entry(symbol.address()).or_insert_with(|| name.to_owned());
            if plainness(name) > plainness(best) {
                name.clone_into(best);
            }
        }
        Exports { names }
    }

    /// The name under which the function that begins there is exported.
    pub fn name(&self, address: u64) -> Option<&str> {
        self.names.get(&address).map(String::as_str)
    }
}

/// Fewer underscores before the name are better, then shorter names, then the alphabet.
fn plainness(name: &str) -> impl Ord {
    let underscores = name.bytes().take_while(|&byte| byte == b'_').count();
    // All C++ names begin with `_Z`.
    let underscores = if name.starts_with("_Z") { 0 } else { underscores };
    (Reverse(underscores), Reverse(name.len()), Reverse(name.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_that_programs_use_is_the_best() {
        assert!(plainness("pthread_mutex_lock") > plainness("__pthread_mutex_lock"));
        assert!(plainness("malloc") > plainness("__libc_malloc"));
        assert!(plainness("sched_yield") > plainness("thrd_yield_again"));
    }
}
