//! Lines of Rust: of production code, of tests, of comments.
//!
//! Production code is what `sources` finds, less its items under `#[cfg(test)]`; every other Rust file of the
//! repository is a test (the crate `testkit`, benchmarks, examples and fuzz targets too). A comment is a line that
//! begins with `//`. Blank lines are counted apart.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use super::sources::{ProductionFile, is_for_tests};

/// The crate that only tests use.
const TESTKIT: &str = "crates/testkit";

/// Numbers of lines.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct LineCounts {
    /// Code of production.
    pub code: usize,
    /// Comments of production.
    pub comments: usize,
    /// Blank lines of production.
    pub blank: usize,
    /// All lines of tests.
    pub tests: usize,
}

/// Counts the lines of the repository.
pub fn count(root: &Path, production: &[ProductionFile]) -> Result<LineCounts> {
    let mut counts = LineCounts::default();
    let mut counted = BTreeSet::new();
    for file in production.iter().filter(|file| file.package != TESTKIT) {
        counted.insert(file.path.clone());
        counts.add(file);
    }
    for path in rust_files(root)? {
        if !counted.contains(&path) {
            let path = root.join(path);
            let text = fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
            counts.tests += text.lines().count();
        }
    }
    Ok(counts)
}

impl LineCounts {
    fn add(&mut self, file: &ProductionFile) {
        let mut tests = TestLines(BTreeSet::new());
        tests.visit_file(&file.syntax);
        for (line, text) in (1..).zip(file.text.lines()) {
            let text = text.trim_start();
            if tests.0.contains(&line) {
                self.tests += 1;
            } else if text.is_empty() {
                self.blank += 1;
            } else if text.starts_with("//") {
                self.comments += 1;
            } else {
                self.code += 1;
            }
        }
    }
}

/// The Rust files that git knows.
fn rust_files(root: &Path) -> Result<Vec<PathBuf>> {
    let output = Command::new("git")
        .current_dir(root)
        .args(["ls-files", "--", "*.rs"])
        .output()
        .context("run git ls-files")?;
    if !output.status.success() {
        bail!("run git ls-files: {}", String::from_utf8_lossy(&output.stderr));
    }
    let paths = String::from_utf8_lossy(&output.stdout);
    Ok(paths.lines().map(PathBuf::from).filter(|path| root.join(path).is_file()).collect())
}

/// Lines of items that are compiled for tests only.
struct TestLines(BTreeSet<usize>);

impl<'ast> Visit<'ast> for TestLines {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        let attributes = match item {
            syn::Item::Mod(module) => &module.attrs,
            syn::Item::Fn(function) => &function.attrs,
            syn::Item::Impl(block) => &block.attrs,
            syn::Item::Use(import) => &import.attrs,
            syn::Item::Struct(item) => &item.attrs,
            _ => return visit::visit_item(self, item),
        };
        if is_for_tests(attributes) {
            self.0.extend(item.span().start().line..=item.span().end().line);
        } else {
            visit::visit_item(self, item);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_comments_blank_lines_and_tests_are_counted_apart() {
        let text = "//! Doc.\n\nfn f() {\n    // Why.\n}\n\n#[cfg(test)]\nmod tests {\n    fn g() {}\n}\n";
        let file = ProductionFile {
            package: "a".to_owned(),
            path: "a/src/lib.rs".into(),
            text: text.to_owned(),
            syntax: syn::parse_file(text).expect("valid Rust"),
        };
        let mut counts = LineCounts::default();
        counts.add(&file);
        assert_eq!(counts, LineCounts { code: 2, comments: 2, blank: 2, tests: 4 });
    }
}
