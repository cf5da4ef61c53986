//! Mangled names made readable.

use cpp_demangle::DemangleOptions;

/// Parts of a name that are tried where the whole is not understood: a name may be long and hostile.
const MOST_ENDS: usize = 256;

/// The name as its programmer wrote it: C++ and Rust names are demangled, Rust's without the hash; the
/// suffixes that compilers add to parts and copies of a function (`.cold`, `.part.0`) are dropped, so that
/// a function is one row.
pub(crate) fn readable(mangled: &str) -> String {
    let mangled = without_version(mangled);
    let whole = without_clone_suffix(mangled);
    if let Ok(name) = rustc_demangle::try_demangle(whole) {
        // `{{closure}}` of the older mangling.
        return format!("{name:#}").replace("{{", "{").replace("}}", "}");
    }
    if whole.starts_with("_Z") || whole.starts_with("___Z") {
        // Where the types of a function cannot be read, its name may be: that of a template ends with `E`.
        let ends = whole.rmatch_indices('E').map(|(at, _)| &whole[..=at]).take(MOST_ENDS);
        if let Some(name) = std::iter::once(whole).chain(ends).find_map(demangled) {
            return name;
        }
    }
    whole.to_owned()
}

fn demangled(symbol: &str) -> Option<String> {
    let options = DemangleOptions::default().no_return_type();
    cpp_demangle::Symbol::new(symbol).ok()?.demangle_with_options(&options).ok()
}

/// `memcpy@@GLIBC_2.14` is `memcpy`.
fn without_version(name: &str) -> &str {
    name.split_once('@').map_or(name, |(name, _)| if name.is_empty() { "@" } else { name })
}

/// Cuts `.cold`, `.part.0`, `.isra.0`, `.constprop.0`, `.llvm.123`, `.lto_priv.0` off the end.
pub(crate) fn without_clone_suffix(name: &str) -> &str {
    const MARKS: [&str; 7] =
        [".cold", ".part.", ".isra.", ".constprop.", ".llvm.", ".lto_priv.", ".localalias"];
    MARKS.iter().filter_map(|mark| name.find(mark)).filter(|&at| at > 0).min().map_or(name, |at| &name[..at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_as_written() {
        let cases = [
            ("main", "main"),
            ("_ZN4core3ptr13drop_in_place17h0123456789abcdefE", "core::ptr::drop_in_place"),
            ("_RNvCs1234_7mycrate3foo", "mycrate::foo"),
            ("_ZN3app5serve28_$u7b$$u7b$closure$u7d$$u7d$17h0123456789abcdefE", "app::serve::{closure}"),
            (
                "_ZNSt6vectorIiSaIiEE9push_backERKi",
                "std::vector<int, std::allocator<int> >::push_back(int const&)",
            ),
            (
                "_ZN3SetIiE6insertIPiEENSt9enable_ifIXsrSt7is_sameIiNSt15iterator_traitsIT_E10value_typeEE5valueEvE4typeES6_S6_",
                "Set<int>::insert<int*>",
            ),
            ("_ZN1A1fEv.cold", "A::f()"),
            ("work.constprop.0.isra.0", "work"),
            ("memcpy@@GLIBC_2.14", "memcpy"),
            ("runtime.mallocgc", "runtime.mallocgc"),
            ("main.(*T).run.func1", "main.(*T).run.func1"),
            ("_Znonsense", "_Znonsense"),
        ];
        for (mangled, expected) in cases {
            assert_eq!(readable(mangled), expected);
        }
    }
}
