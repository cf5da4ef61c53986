//! Mangled names made readable.

use cpp_demangle::DemangleOptions;

use crate::d_names::of_d;

/// Parts of a name that are tried where the whole is not understood: a name may be long and hostile.
const MOST_ENDS: usize = 256;

/// The name as its programmer wrote it: C++, Rust, Fortran and D names are demangled, Rust's without the hash; the
/// suffixes that compilers add to parts and copies of a function (`.cold`, `.part.0`) are dropped, so that
/// a function is one row.
pub(crate) fn readable(mangled: &str) -> String {
    let mangled = without_version(mangled);
    let whole = without_clone_suffix(mangled);
    if let Ok(name) = rustc_demangle::try_demangle(whole) {
        // `{{closure}}` of the older mangling.
        let name = format!("{name:#}").replace("{{", "{").replace("}}", "}");
        return of_rust_type(&name).unwrap_or(name);
    }
    if whole.starts_with("_Z") || whole.starts_with("___Z") {
        // Where the types of a function cannot be read, its name may be: that of a template ends with `E`.
        let ends = whole.rmatch_indices('E').map(|(at, _)| &whole[..=at]).take(MOST_ENDS);
        if let Some(name) = std::iter::once(whole).chain(ends).find_map(demangled) {
            return name;
        }
    }
    of_fortran_module(whole).or_else(|| of_d(whole)).unwrap_or_else(|| whole.to_owned())
}

/// `Cache::get` for `<Cache>::get`, as the older mangling has it: a method of the type itself, not by a trait.
fn of_rust_type(name: &str) -> Option<String> {
    let inside = name.strip_prefix('<').filter(|inside| inside.starts_with(char::is_alphabetic))?;
    let mut depth = 1_usize;
    let end = inside.char_indices().find(|&(at, c)| {
        match c {
            '<' => depth += 1,
            '>' if !inside[..at].ends_with('-') => depth -= 1,
            _ => {}
        }
        depth == 0
    })?;
    let (of_type, method) = (&inside[..end.0], inside[end.0 + 1..].strip_prefix("::")?);
    (!of_type.contains(" as ") && !of_type.starts_with("dyn ")).then(|| format!("{of_type}::{method}"))
}

/// A procedure or variable of a Fortran module, `module::name`: gfortran writes `__module_MOD_name`, flang `_QMmodulePname`
/// (variables `E`). Names of Fortran have no capital letters there.
fn of_fortran_module(symbol: &str) -> Option<String> {
    let is_name = |name: &str| {
        !name.is_empty()
            && name
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_.".contains(&byte))
    };
    let (module, name) = match symbol.strip_prefix("_QM") {
        Some(rest) => rest.split_once(['P', 'E'])?,
        None => symbol.strip_prefix("__")?.split_once("_MOD_")?,
    };
    (is_name(module) && is_name(name)).then(|| format!("{module}::{name}"))
}

fn demangled(symbol: &str) -> Option<String> {
    let options = DemangleOptions::default().no_return_type();
    let name = cpp_demangle::Symbol::new(symbol).ok()?.demangle_with_options(&options).ok()?;
    // Which of the library's strings a function returns is a linker's matter; programmers do not write it.
    Some(name.replace("[abi:cxx11]", ""))
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
            ("_RNvMCs1234_7mycrateNtB2_5Cache3get", "mycrate::Cache::get"),
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
            ("_Z8generateB5cxx11i", "generate(int)"),
            ("work.constprop.0.isra.0", "work"),
            ("memcpy@@GLIBC_2.14", "memcpy"),
            ("runtime.mallocgc", "runtime.mallocgc"),
            ("main.(*T).run.func1", "main.(*T).run.func1"),
            ("_Znonsense", "_Znonsense"),
            ("__fft_parallel_MOD_tg_cft3s", "fft_parallel::tg_cft3s"),
            ("__solver_MOD_relax._omp_fn.0", "solver::relax._omp_fn.0"),
            ("_QMsolverPrelax", "solver::relax"),
            ("__kernel_MOD_", "__kernel_MOD_"),
            ("_QManagers", "_QManagers"),
        ];
        for (mangled, expected) in cases {
            assert_eq!(readable(mangled), expected);
        }
    }

    #[test]
    fn methods_of_a_rust_type_begin_with_it_and_those_of_a_trait_keep_both() {
        for (name, expected) in [
            ("<app::Cache>::get", Some("app::Cache::get")),
            (
                "<app::Map<fn(u8) -> u8, Vec<u8>>>::get::{closure#0}",
                Some("app::Map<fn(u8) -> u8, Vec<u8>>::get::{closure#0}"),
            ),
            ("<app::Cache as core::ops::drop::Drop>::drop", None),
            ("<dyn app::Shape>::area", None),
            ("<[u8]>::sort", None),
            ("<app::Cache", None),
            ("app::Cache::get", None),
        ] {
            assert_eq!(of_rust_type(name).as_deref(), expected, "{name}");
        }
    }
}
