//! Procedures of libraries, told by their source files.
//!
//! Programs with line tables only name an inlined procedure without its module: `lock`. The file tells it:
//! `/rustc/HASH/library/std/src/sync/poison/mutex.rs` makes it `std::sync::poison::mutex::lock`.

/// Whether a file belongs to the standard library of a language (Rust, C++). What a compiler inlines from
/// there is no procedure that anybody would look for.
pub(crate) fn is_standard_library(file: &str) -> bool {
    standard_crate(file).is_some() || file.contains("/include/c++/")
}

/// The procedure's name with its module, where the name has none and the file tells it.
pub(crate) fn qualified(name: &str, file: &str) -> String {
    // Generic arguments may have paths where the procedure itself has none: `scope<a::b, ()>`.
    if name.split('<').next().is_none_or(|plain| plain.is_empty() || plain.contains("::")) {
        return name.to_owned();
    }
    match standard_crate(file).or_else(|| registry_crate(file)) {
        Some((library, source)) => {
            let mut path = library.replace('-', "_");
            let source = source.strip_suffix(".rs").unwrap_or(source);
            let modules = source.split('/').filter(|module| !matches!(*module, "lib" | "mod" | "main"));
            modules.for_each(|module| {
                path.push_str("::");
                path.push_str(module);
            });
            format!("{path}::{name}")
        }
        None => name.to_owned(),
    }
}

/// Crate and file of Rust's own libraries: `…/library/CRATE/src/FILE`.
fn standard_crate(file: &str) -> Option<(&str, &str)> {
    let (_, rest) = file.split_once("/library/")?;
    let (library, source) = rest.split_once("/src/")?;
    matches!(library, "core" | "alloc" | "std").then_some((library, source))
}

/// Crate and file of a crate from a registry: `…/registry/src/INDEX/CRATE-VERSION/src/FILE`.
fn registry_crate(file: &str) -> Option<(&str, &str)> {
    let (_, rest) = file.split_once("/registry/src/")?;
    let (_index, rest) = rest.split_once('/')?;
    let (package, source) = rest.split_once("/src/")?;
    let is_version = |text: &str| text.starts_with(|first: char| first.is_ascii_digit());
    let at = package.match_indices('-').map(|(at, _)| at).find(|&at| is_version(&package[at + 1..]))?;
    Some((&package[..at], source))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_tells_the_module_of_a_bare_name() {
        let std = "/rustc/59807616/library/std/src/sync/poison/mutex.rs";
        assert_eq!(qualified("lock", std), "std::sync::poison::mutex::lock");
        let scope = "/rustc/1/library/std/src/thread/scoped.rs";
        assert_eq!(qualified("scope<a::b, ()>", scope), "std::thread::scoped::scope<a::b, ()>");
        let registry = "/home/a/.cargo/registry/src/index-1/parking_lot-core-0.9.1/src/thread_parker/mod.rs";
        assert_eq!(qualified("park", registry), "parking_lot_core::thread_parker::park");
    }

    #[test]
    fn names_with_a_module_and_files_of_the_program_are_left_alone() {
        assert_eq!(qualified("core::fmt::write", "/rustc/1/library/core/src/fmt/mod.rs"), "core::fmt::write");
        assert_eq!(qualified("lock", "/home/a/library/books/src/shelf.rs"), "lock");
        assert_eq!(qualified("main", ""), "main");
    }

    #[test]
    fn standard_libraries_are_told_from_other_code() {
        assert!(is_standard_library("/rustc/1/library/core/src/num/mod.rs"));
        assert!(is_standard_library("/usr/include/c++/12/bits/stl_vector.h"));
        assert!(!is_standard_library("/home/a/src/main.rs"));
    }
}
