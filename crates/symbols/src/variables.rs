//! From addresses of data to the variables that hold them.
//!
//! In: a module, and addresses in its file. Out: names, by the symbols of the file and of its separate debug
//! file. Names do not change from run to run, wherever the loader puts the file.

use object::{Object, ObjectSymbol, SymbolKind};

use crate::elf_names::{debug_files, reopened};
use crate::image::Image;
use crate::module::CodeModule;
use crate::name::readable;

/// A variable, and where in it an address is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedVariable {
    /// Demangled name.
    pub name: String,
    /// Bytes from its beginning.
    pub offset: u64,
}

/// A variable of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileVariable {
    /// Its address in the file's own address space.
    pub address: u64,
    /// Bytes.
    pub size: u64,
    /// Demangled name.
    pub name: String,
}

/// All variables of a module that have names, by their addresses; of several at one address the largest first.
#[must_use]
pub fn variables_of(module: &CodeModule) -> Vec<FileVariable> {
    let mut variables: Vec<FileVariable> = sorted_extents(module)
        .into_iter()
        .map(|one| FileVariable { address: one.start, size: one.size, name: variable_name(&one.name) })
        .collect();
    variables.dedup();
    variables
}

fn sorted_extents(module: &CodeModule) -> Vec<Extent> {
    let own = module.image().cloned().or_else(|| reopened(module).map(std::sync::Arc::new));
    let debug = debug_files(&module.build_id).into_iter().filter_map(|path| Image::open(&path).ok());
    let mut variables: Vec<Extent> = own.as_deref().map(extents).unwrap_or_default();
    variables.extend(debug.flat_map(|image| extents(&image)));
    // Of symbols at one address the smallest comes last, and of those of one size the first by name.
    variables.sort_by(|a, b| (a.start, b.size, &b.name).cmp(&(b.start, a.size, &a.name)));
    variables
}

/// Names addresses of one module's data: one answer for each address, in their order; `None` where no variable
/// that has a name holds it.
#[must_use]
pub fn name_variables(module: &CodeModule, addresses: &[u64]) -> Vec<Option<NamedVariable>> {
    let variables = sorted_extents(module);
    addresses.iter().map(|&address| find(&variables, address)).collect()
}

/// A symbol of a variable.
#[derive(Debug)]
struct Extent {
    start: u64,
    size: u64,
    name: String,
}

fn extents(image: &Image) -> Vec<Extent> {
    let Some(elf) = image.elf() else { return Vec::new() };
    (elf.symbols().chain(elf.dynamic_symbols()))
        .filter(|symbol| symbol.kind() == SymbolKind::Data && symbol.is_definition() && symbol.size() > 0)
        .filter_map(|symbol| {
            let name = symbol.name().ok().filter(|name| !name.is_empty())?;
            Some(Extent { start: symbol.address(), size: symbol.size(), name: name.to_owned() })
        })
        .collect()
}

fn find(variables: &[Extent], address: u64) -> Option<NamedVariable> {
    /// Symbols may nest; this many are looked at before giving up.
    const NESTED: usize = 8;
    let after = variables.partition_point(|variable| variable.start <= address);
    let holds = |variable: &&Extent| address - variable.start < variable.size;
    let Extent { start, name, .. } = variables[..after].iter().rev().take(NESTED).find(holds)?;
    Some(NamedVariable { name: variable_name(name), offset: address - start })
}

/// The name as its programmer wrote it: without the number that tells local variables of one name apart, and
/// the critical sections of OpenMP by the name that they have in the program.
fn variable_name(symbol: &str) -> String {
    if let Some(section) = symbol.strip_prefix(".gomp_critical_user_") {
        return format!("critical section {}", section.trim_end_matches(".var"));
    }
    let name = readable(symbol);
    // Parts of a variable that an optimiser took apart are called clones.
    let name = name.split_once(" [clone ").map_or(name.as_str(), |(plain, _)| plain).to_owned();
    match name.rsplit_once('.') {
        Some((plain, number)) if !plain.is_empty() && is_number(number) => plain.to_owned(),
        _ => name,
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extent(start: u64, size: u64, name: &str) -> Extent {
        Extent { start, size, name: name.to_owned() }
    }

    fn at(variables: &[Extent], address: u64) -> Option<(String, u64)> {
        find(variables, address).map(|found| (found.name, found.offset))
    }

    #[test]
    fn an_address_belongs_to_the_innermost_variable_that_holds_it() {
        let variables = [extent(0x100, 0x100, "pool"), extent(0x140, 8, "inner"), extent(0x200, 4, "next")];
        assert_eq!(at(&variables, 0x100), Some(("pool".into(), 0)));
        assert_eq!(at(&variables, 0x144), Some(("inner".into(), 4)));
        assert_eq!(at(&variables, 0x150), Some(("pool".into(), 0x50)));
        assert_eq!(at(&variables, 0x204), None);
        assert_eq!(at(&variables, 0xff), None);
    }

    #[test]
    fn variables_have_the_names_that_their_programmers_gave_them() {
        let cases = [
            ("cache_lock", "cache_lock"),
            ("lock.0", "lock"),
            ("table_lock.lto_priv.0", "table_lock"),
            ("_ZL5queue", "queue"),
            ("_ZL4turn.0", "turn"),
            ("_ZZ4fillvE4lock", "fill()::lock"),
            ("_ZN7mycrate5CACHE17h0123456789abcdefE", "mycrate::CACHE"),
            ("runtime.sched", "runtime.sched"),
            (".gomp_critical_user_stats", "critical section stats"),
            (".gomp_critical_user_stats.var", "critical section stats"),
            ("stdout@@GLIBC_2.2.5", "stdout"),
        ];
        for (symbol, name) in cases {
            assert_eq!(variable_name(symbol), name);
        }
    }
}
