//! Production sources of the workspace: the files that a crate's modules reach without `#[cfg(test)]`.
//!
//! A crate's files are followed from its roots (`lib.rs`, `main.rs`, `build.rs`, `src/bin`) by their `mod`
//! lines, as the compiler does. So a test file is what only tests reach, whatever its name is.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use syn::{Attribute, Item};

/// One file of production code.
pub struct ProductionFile {
    /// The crate's folder, from the repository's root: `crates/trace`.
    pub package: String,
    /// Path from the repository's root.
    pub path: PathBuf,
    /// The whole text, its inline test modules included.
    pub text: String,
    /// The text, parsed.
    pub syntax: syn::File,
}

/// Folders of the crates of the workspace, from the repository's root.
pub fn packages(root: &Path) -> Result<Vec<String>> {
    let folder = root.join("crates");
    let mut packages = vec!["runtime/rust".to_owned(), "xtask".to_owned()];
    for entry in fs::read_dir(&folder).with_context(|| format!("list {}", folder.display()))? {
        let name = entry.context("list the crates")?.file_name();
        packages.push(format!("crates/{}", name.to_string_lossy()));
    }
    packages.retain(|package| root.join(package).join("Cargo.toml").is_file());
    packages.sort();
    Ok(packages)
}

/// Production files of all crates.
pub fn production(root: &Path) -> Result<Vec<ProductionFile>> {
    let mut files = Vec::new();
    for package in packages(root)? {
        for path in crate_roots(&root.join(&package))? {
            follow(root, &package, &path, true, &mut files)?;
        }
    }
    Ok(files)
}

/// Files at which the compiler starts to read a crate.
fn crate_roots(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut roots: Vec<PathBuf> =
        ["src/lib.rs", "src/main.rs", "build.rs"].iter().map(|name| folder.join(name)).collect();
    let binaries = folder.join("src/bin");
    if binaries.is_dir() {
        for entry in fs::read_dir(&binaries).with_context(|| format!("list {}", binaries.display()))? {
            roots.push(entry.context("list the binaries")?.path());
        }
    }
    roots.retain(|path| path.is_file());
    roots.sort();
    Ok(roots)
}

/// Adds a file and the files of its modules. The modules of a crate's root and of a `mod.rs` are beside it, the
/// modules of another file are in the folder of its name.
fn follow(
    root: &Path,
    package: &str,
    path: &Path,
    is_root: bool,
    files: &mut Vec<ProductionFile>,
) -> Result<()> {
    let text = fs::read_to_string(path).with_context(|| format!("read {}", path.display()))?;
    let syntax = syn::parse_file(&text).with_context(|| format!("parse {}", path.display()))?;
    let folder = if is_root || path.file_name().is_some_and(|name| name == "mod.rs") {
        path.parent().expect("a file is in a folder").to_owned()
    } else {
        path.with_extension("")
    };
    let mut modules = Vec::new();
    module_files(&syntax.items, &folder, &mut modules);
    let relative = path.strip_prefix(root).unwrap_or(path).to_owned();
    files.push(ProductionFile { package: package.to_owned(), path: relative, text, syntax });
    for module in modules {
        follow(root, package, &module, false, files)?;
    }
    Ok(())
}

/// Files of the modules that are declared here and belong to production code.
fn module_files(items: &[Item], folder: &Path, found: &mut Vec<PathBuf>) {
    for item in items {
        let Item::Mod(module) = item else { continue };
        if is_for_tests(&module.attrs) {
            continue;
        }
        let folder = folder.join(module.ident.to_string());
        match &module.content {
            Some((_, items)) => module_files(items, &folder, found),
            None => {
                let beside = folder.with_extension("rs");
                found.push(if beside.is_file() { beside } else { folder.join("mod.rs") });
            }
        }
    }
}

/// Whether something is compiled for tests only.
pub fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute.parse_args::<syn::Ident>().is_ok_and(|condition| condition == "test")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_are_followed_but_those_of_tests_are_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path();
        for (path, text) in [
            ("Cargo.toml", ""),
            ("crates/one/Cargo.toml", ""),
            ("crates/one/src/lib.rs", "mod a; mod c { mod d; } #[cfg(test)] mod tests;"),
            ("crates/one/src/a.rs", "mod b;"),
            ("crates/one/src/a/b.rs", "struct B;"),
            ("crates/one/src/c/d/mod.rs", ""),
            ("crates/one/src/tests.rs", "struct T;"),
            ("crates/one/src/unused.rs", "struct U;"),
        ] {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let found = production(root).unwrap();
        let mut names: Vec<String> = found.iter().map(|file| file.path.display().to_string()).collect();
        names.sort();
        let expected =
            ["a.rs", "a/b.rs", "c/d/mod.rs", "lib.rs"].map(|name| format!("crates/one/src/{name}"));
        assert_eq!(names, expected);
    }
}
