//! Which of a procedure's closures a name of Rust's older mangling means.
//!
//! ```text
//!   linkage name         _ZN3app4main28_$u7b$$u7b$closure$u7d$$u7d$17hc05173228ec75174E
//!   debug information    DW_AT_name {closure#1}
//!   name                 app::main::{closure#1}
//! ```
//! That mangling tells closures of one procedure apart by a hash alone. Threads are most often begun with closures, so that all threads of
//! a program would seem to execute one procedure `app::main::{closure}`. The number is the one that the newer mangling (`v0`) writes.

use rustc_hash::FxHashMap;

use crate::image::Image;
use crate::subprograms::each_subprogram;

/// How the older mangling writes the name of a closure.
const MANGLED: &str = "$u7b$$u7b$closure$u7d$$u7d$";
/// The same demangled.
const CLOSURE: &str = "{closure}";
/// What the hash at the end of a mangled name begins with.
const HASH: &str = "17h";

/// Whether a mangled name says nothing but that the function is a closure.
pub(crate) fn is_unnumbered(mangled: &str) -> bool {
    mangled.contains(MANGLED)
}

/// The numbers of closures, by the hashes of their names.
#[derive(Debug, Default)]
pub(crate) struct Closures(FxHashMap<u64, u32>);

impl Closures {
    /// Reads the functions of a file's debug information; none without it.
    pub fn of(image: &Image) -> Self {
        let mut closures = Closures::default();
        each_subprogram(image, |subprogram| {
            let hash = subprogram.linkage_name.and_then(hash_of);
            closures.0.extend(hash.zip(subprogram.name.and_then(number_of)));
        });
        closures
    }

    /// The readable name of a function with its number, where that is known.
    pub fn numbered(&self, mangled: &str, readable: String) -> String {
        let number = hash_of(mangled.as_bytes()).and_then(|hash| self.0.get(&hash));
        match number.zip(readable.strip_suffix(CLOSURE)) {
            Some((number, outer)) => format!("{outer}{{closure#{number}}}"),
            None => readable,
        }
    }
}

/// The hash of a closure's mangled name.
fn hash_of(mangled: &[u8]) -> Option<u64> {
    let mangled = std::str::from_utf8(mangled).ok().filter(|name| is_unnumbered(name))?;
    let (_, hash) = mangled.rsplit_once(HASH)?;
    u64::from_str_radix(hash.get(..16)?, 16).ok()
}

/// 1 of `{closure#1}`; of `{async_block#1}` and other bodies of their own kind too.
fn number_of(name: &[u8]) -> Option<u32> {
    let name = std::str::from_utf8(name).ok()?.strip_prefix('{')?.strip_suffix('}')?;
    name.rsplit_once('#')?.1.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: &str = "_ZN3app4main28_$u7b$$u7b$closure$u7d$$u7d$17hc05173228ec75174E";

    #[test]
    fn a_closure_has_its_number_after_the_procedure_around_it() {
        let closures = Closures([(0xc051_7322_8ec7_5174, 1)].into_iter().collect());
        let numbered = |mangled: &str| closures.numbered(mangled, crate::name::readable(mangled));
        assert_eq!(numbered(SECOND), "app::main::{closure#1}");
        assert_eq!(numbered(&format!("{SECOND}.llvm.123")), "app::main::{closure#1}");
        // Not what a closure is an argument of, nor one that the file does not tell of.
        for other in [
            "_ZN4core3ptr40drop_in_place$LT$app..main..$u7b$$u7b$closure$u7d$$u7d$$GT$17hc05173228ec75174E",
            "_ZN3app4main28_$u7b$$u7b$closure$u7d$$u7d$17h0000000000000001E",
            "_ZN3app4main17hc05173228ec75174E",
            "main",
        ] {
            assert_eq!(numbered(other), crate::name::readable(other), "{other}");
        }
    }

    #[test]
    fn numbers_are_those_of_the_debug_information() {
        assert_eq!(number_of(b"{closure#12}"), Some(12));
        assert_eq!(number_of(b"{async_fn#0}"), Some(0));
        for other in [&b"main"[..], b"{closure}", b"{closure#}", b"{closure#x}", b"\xff"] {
            assert_eq!(number_of(other), None, "{other:?}");
        }
        for damaged in ["", "17h", "$u7b$$u7b$closure$u7d$$u7d$17hé"] {
            assert_eq!(hash_of(damaged.as_bytes()), None, "{damaged}");
        }
    }
}
