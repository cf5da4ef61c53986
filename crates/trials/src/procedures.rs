//! Procedures of a program's files, by name.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use object::{Object, ObjectSymbol, SymbolKind};

/// What compilers add to the names of a procedure's parts and copies: `solve.part.0`, `solve.cold`.
const PARTS: [&str; 5] = ["part", "constprop", "isra", "cold", "lto_priv"];

/// Address and size of the code of all symbols whose names are wanted, in the order of their addresses.
pub(crate) fn code_of(file: &object::File<'_>, is_wanted: impl Fn(&str) -> bool) -> Vec<(u64, u64)> {
    symbols_of(file, SymbolKind::Text, is_wanted)
}

/// The same of symbols of this kind: code, or variables.
pub(crate) fn symbols_of(
    file: &object::File<'_>,
    kind: SymbolKind,
    is_wanted: impl Fn(&str) -> bool,
) -> Vec<(u64, u64)> {
    let is_it = |symbol: &object::Symbol<'_, '_>| {
        symbol.is_definition() && symbol.kind() == kind && symbol.name().is_ok_and(&is_wanted)
    };
    let mut found: Vec<(u64, u64)> = file
        .symbols()
        .chain(file.dynamic_symbols())
        .filter(is_it)
        .map(|symbol| (symbol.address(), symbol.size()))
        .collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// A symbol's name without what compilers add to the names of parts and copies of a procedure.
pub(crate) fn whole_name(symbol: &str) -> &str {
    let mut name = symbol;
    while let Some((before, last)) = name.rsplit_once('.') {
        let is_number = !last.is_empty() && last.bytes().all(|byte| byte.is_ascii_digit());
        match before.rsplit_once('.') {
            Some((own, part)) if is_number && PARTS.contains(&part) => name = own,
            _ if PARTS.contains(&last) => name = before,
            _ => break,
        }
    }
    name
}

/// The file that a command of this name executes.
pub(crate) fn executed(program: &OsStr) -> PathBuf {
    let path = Path::new(program);
    if program.as_bytes().contains(&b'/') {
        return path.to_owned();
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&folders).map(|folder| folder.join(path)).find(|path| path.is_file());
    found.unwrap_or_else(|| path.to_owned())
}

/// Whether a symbol is of a procedure of this name.
pub(crate) fn is_named(symbol: &str, name: &str) -> bool {
    if symbol == name {
        return true;
    }
    let rust = format!("{:#}", rustc_demangle::demangle(symbol));
    // As a part of a path: `solve` is not `program::solve`.
    if rust != symbol {
        return rust == name;
    }
    let cpp = cpp_demangle::Symbol::new(symbol).ok().and_then(|symbol| symbol.demangle().ok());
    cpp.is_some_and(|text| text == name || text.split_once('(').is_some_and(|(before, _)| before == name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain_or_as_their_language_writes_them() {
        assert!(is_named("solve", "solve") && !is_named("solve_all", "solve"));
        assert!(
            is_named("_ZN4grid5solveEii", "grid::solve")
                && is_named("_ZN4grid5solveEii", "grid::solve(int, int)")
        );
        assert!(is_named("_ZN7program5solve17h0123456789abcdefE", "program::solve"));
    }

    #[test]
    fn parts_and_copies_belong_to_their_procedure() {
        for symbol in
            ["solve", "solve.part.0", "solve.cold", "solve.constprop.0.isra.12", "solve.part.0.cold"]
        {
            assert_eq!(whole_name(symbol), "solve");
        }
        assert_eq!(whole_name("solve._omp_fn.0"), "solve._omp_fn.0");
        assert_eq!((whole_name("v1.2"), whole_name("part.0")), ("v1.2", "part.0"));
    }
}
