//! Names of types, and which of them more than one type of the workspace has.
//!
//! A type is a struct, enum, union, trait or type alias of production code, at any depth (also inside a
//! function or a macro's body). Types whose names are only the arguments of a macro are not seen.

use std::collections::BTreeMap;
use std::fmt;

use anyhow::{Context, Result, bail};
use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};

use super::sources::{ProductionFile, is_for_tests};

/// Names that every crate may have once, by convention: one `Error` per crate, and the `Result` with it.
const ONCE_A_CRATE: [&str; 2] = ["Error", "Result"];

/// The macro that tells of types that are defined elsewhere.
const OF_KNOWN_TYPES: &str = "stored";

/// Where the names are kept that are still shared; the list only shrinks.
pub const LIST: &str = "xtask/shared-names.txt";

/// Where a type is defined.
#[derive(Debug, PartialEq, Eq)]
pub struct TypePlace {
    package: String,
    path: String,
    line: usize,
    kind: &'static str,
}

impl fmt::Display for TypePlace {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{} ({})", self.path, self.line, self.kind)
    }
}

/// The types of the workspace by name.
pub struct TypeNames {
    names: BTreeMap<String, Vec<TypePlace>>,
}

impl TypeNames {
    /// The types of these files.
    pub fn of(files: &[ProductionFile]) -> Self {
        let mut names: BTreeMap<String, Vec<TypePlace>> = BTreeMap::new();
        for file in files {
            let mut finder = Finder { found: Vec::new() };
            finder.visit_file(&file.syntax);
            // One type has one definition per condition it is compiled under.
            finder.found.sort();
            finder.found.dedup_by(|later, first| later.name == first.name && later.module == first.module);
            for found in finder.found {
                names.entry(found.name).or_default().push(TypePlace {
                    package: file.package.clone(),
                    path: file.path.display().to_string(),
                    line: found.line,
                    kind: found.kind,
                });
            }
        }
        TypeNames { names }
    }

    /// How many types there are.
    pub fn types(&self) -> usize {
        self.names.values().map(Vec::len).sum()
    }

    /// Names that several types have, with the places of these.
    pub fn shared(&self) -> impl Iterator<Item = (&str, &[TypePlace])> {
        self.names
            .iter()
            .filter(|(name, places)| places.len() > 1 && !is_convention(name, places))
            .map(|(name, places)| (name.as_str(), places.as_slice()))
    }

    /// Fails where a name is shared and not in the list, or in the list and no longer shared.
    pub fn compare(&self, list: &str) -> Result<()> {
        let mut listed: Vec<&str> = list.lines().map(str::trim).collect();
        listed.retain(|line| !line.is_empty() && !line.starts_with('#'));
        let mut faults = Vec::new();
        for (name, places) in self.shared() {
            if let Some(at) = listed.iter().position(|listed| *listed == name) {
                listed.remove(at);
                continue;
            }
            let places: Vec<String> = places.iter().map(ToString::to_string).collect();
            faults.push(format!("{name} is the name of {} types: {}", places.len(), places.join(", ")));
        }
        faults.extend(listed.iter().map(|name| format!("{name} is no longer shared: remove it from {LIST}")));
        if !faults.is_empty() {
            bail!("keep type names apart:\n  {}", faults.join("\n  "));
        }
        Ok(())
    }
}

/// Whether a name may be shared, as every crate has it at most once.
fn is_convention(name: &str, places: &[TypePlace]) -> bool {
    let mut packages: Vec<&str> = places.iter().map(|place| place.package.as_str()).collect();
    packages.sort_unstable();
    ONCE_A_CRATE.contains(&name) && packages.windows(2).all(|pair| pair[0] != pair[1])
}

/// The list of the repository, read.
pub fn kept_list(root: &std::path::Path) -> Result<String> {
    let path = root.join(LIST);
    std::fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))
}

/// One definition in a file.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct FoundType {
    name: String,
    module: String,
    line: usize,
    kind: &'static str,
}

/// Collects definitions of types, but for those of tests.
struct Finder {
    found: Vec<FoundType>,
}

impl Finder {
    fn add(&mut self, name: &proc_macro2::Ident, kind: &'static str) {
        let line = name.span().start().line;
        self.found.push(FoundType { name: name.to_string(), module: String::new(), line, kind });
    }

    /// Definitions in the tokens of a macro: `struct Name`, but not `struct $name`.
    fn add_of_tokens(&mut self, tokens: TokenStream) {
        let mut keyword = None;
        for token in tokens {
            match token {
                TokenTree::Ident(word) => {
                    if let Some(kind) = keyword.take() {
                        self.add(&word, kind);
                    } else {
                        keyword = ["struct", "enum", "union", "trait"].into_iter().find(|kind| word == kind);
                    }
                }
                TokenTree::Group(group) => {
                    keyword = None;
                    self.add_of_tokens(group.stream());
                }
                TokenTree::Punct(_) | TokenTree::Literal(_) => keyword = None,
            }
        }
    }
}

impl<'ast> Visit<'ast> for Finder {
    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if is_for_tests(&module.attrs) {
            return;
        }
        let first = self.found.len();
        visit::visit_item_mod(self, module);
        for found in &mut self.found[first..] {
            found.module = format!("{}::{}", module.ident, found.module);
        }
    }

    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        if !is_for_tests(&function.attrs) {
            visit::visit_item_fn(self, function);
        }
    }

    fn visit_item_impl(&mut self, block: &'ast syn::ItemImpl) {
        if !is_for_tests(&block.attrs) {
            visit::visit_item_impl(self, block);
        }
    }

    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        if !is_for_tests(&item.attrs) {
            self.add(&item.ident, "struct");
        }
    }

    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        if !is_for_tests(&item.attrs) {
            self.add(&item.ident, "enum");
        }
    }

    fn visit_item_union(&mut self, item: &'ast syn::ItemUnion) {
        if !is_for_tests(&item.attrs) {
            self.add(&item.ident, "union");
        }
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        if !is_for_tests(&item.attrs) {
            self.add(&item.ident, "trait");
            visit::visit_item_trait(self, item);
        }
    }

    fn visit_item_type(&mut self, item: &'ast syn::ItemType) {
        if !is_for_tests(&item.attrs) {
            self.add(&item.ident, "type");
        }
    }

    fn visit_macro(&mut self, invocation: &'ast syn::Macro) {
        if !invocation.path.is_ident(OF_KNOWN_TYPES) {
            self.add_of_tokens(invocation.tokens.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names_of(files: &[(&str, &str)]) -> TypeNames {
        let files: Vec<ProductionFile> = files
            .iter()
            .map(|(package, text)| ProductionFile {
                package: (*package).to_owned(),
                path: format!("{package}/src/lib.rs").into(),
                text: (*text).to_owned(),
                syntax: syn::parse_file(text).expect("valid Rust"),
            })
            .collect();
        TypeNames::of(&files)
    }

    fn shared(files: &[(&str, &str)]) -> Vec<String> {
        names_of(files).shared().map(|(name, _)| name.to_owned()).collect()
    }

    #[test]
    fn a_name_of_two_types_is_shared_whatever_kinds_they_are() {
        let found = shared(&[("a", "struct Part; enum Whole {}"), ("b", "trait Part {} type Other = u8;")]);
        assert_eq!(found, ["Part"]);
    }

    #[test]
    fn types_in_functions_macros_and_modules_count() {
        let text = "fn f() { struct A; } mod m { union B { x: u8 } } macro_rules! c { () => { enum C {} } }";
        assert_eq!(shared(&[("a", text), ("b", "struct A; struct B; struct C;")]), ["A", "B", "C"]);
    }

    #[test]
    fn what_a_macro_tells_of_a_type_is_no_other_type() {
        assert_eq!(shared(&[("a", "enum A {}"), ("b", "stored!(enum A { 0: First });")]), [""; 0]);
    }

    #[test]
    fn types_of_tests_do_not_count() {
        let text =
            "#[cfg(test)] mod tests { struct A; } #[cfg(test)] struct B; #[cfg(test)] fn f() { struct C; }";
        assert_eq!(shared(&[("a", text), ("b", "struct A; struct B; struct C;")]), [""; 0]);
    }

    #[test]
    fn one_type_for_each_condition_is_one_type() {
        let names = names_of(&[("a", "#[cfg(loom)] struct A; #[cfg(not(loom))] struct A;")]);
        assert_eq!((names.types(), names.shared().count()), (1, 0));
    }

    #[test]
    fn two_modules_of_a_file_can_share_a_name() {
        assert_eq!(shared(&[("a", "mod x { struct A; } mod y { struct A; }")]), ["A"]);
    }

    #[test]
    fn every_crate_may_have_one_error() {
        assert_eq!(shared(&[("a", "struct Error;"), ("b", "enum Error {}")]), [""; 0]);
        assert_eq!(
            shared(&[("a", "struct Error; mod m { struct Error; }"), ("b", "enum Error {}")]),
            ["Error"]
        );
    }

    #[test]
    fn the_list_has_exactly_the_names_that_are_shared() {
        let names = names_of(&[("a", "struct A; struct B;"), ("b", "struct A; struct B;")]);
        assert!(names.compare("# a comment\nA\nB\n").is_ok());
        let fault = names.compare("A\n").unwrap_err().to_string();
        assert!(fault.contains("B is the name of 2 types: a/src/lib.rs:1 (struct), b/src/lib.rs:1 (struct)"));
        let fault = names.compare("A\nB\nC\n").unwrap_err().to_string();
        assert!(fault.contains("C is no longer shared"));
    }
}
