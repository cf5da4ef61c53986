//! Files that a metric or a view touches: the files of production code that name it.
//!
//! A Rust file names a metric where an identifier, or a word in a string, is the metric's key; it names a view where
//! a string is the view's name, `View::Name` stands, or the file is named after it. A file of the page (`ui/`) names
//! either where its text has the word in quotes or after a dot. Tests, snapshots and documentation do not count.
//! Keys that are everyday words (`count`, `line`) are therefore counted too high; the median says most.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use proc_macro2::{TokenStream, TokenTree};
use serde_json::Value;

use super::sources::ProductionFile;

/// Folders of the page that are not its tests.
const PAGE: [&str; 4] = ["ui", "ui/model", "ui/views", "ui/widgets"];

/// What one file says: its identifiers, its strings, the views it names.
#[derive(Default)]
struct FileWords {
    words: BTreeSet<String>,
    strings: BTreeSet<String>,
    views: BTreeSet<String>,
    stem: String,
}

/// How many files name each metric and each view.
pub struct Mentions {
    /// Metrics, by key.
    pub metrics: BTreeMap<String, usize>,
    /// Views, by name.
    pub views: BTreeMap<String, usize>,
}

/// Counts the files of every metric that has a unit, and of every view.
pub fn count(root: &Path, production: &[ProductionFile], definitions: &Value) -> Result<Mentions> {
    let mut files: Vec<FileWords> = production
        .iter()
        .filter(|file| file.package != "xtask" && file.package != "crates/testkit")
        .map(|file| FileWords::of_rust(&file.path, &file.text))
        .collect::<Result<_>>()?;
    for path in page_files(root)? {
        let text = fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
        files.push(FileWords::of_page(&path, &text));
    }
    let metrics = metric_keys(definitions);
    let views = view_names(root)?;
    let naming_metric = |key: &String| files.iter().filter(|file| file.words.contains(key)).count();
    let naming_view = |view: &String| files.iter().filter(|file| file.names_view(view)).count();
    Ok(Mentions {
        metrics: metrics.into_iter().map(|key| (key.clone(), naming_metric(&key))).collect(),
        views: views.into_iter().map(|view| (view.clone(), naming_view(&view))).collect(),
    })
}

/// Keys of the metrics that are numbers with a unit, from `longpole metrics --format json`.
fn metric_keys(definitions: &Value) -> Vec<String> {
    let metrics = definitions["metrics"].as_array().into_iter().flatten();
    let numbers = metrics.filter(|metric| metric["unit"].as_str().is_some_and(|unit| !unit.is_empty()));
    numbers.filter_map(|metric| metric["name"].as_str().map(str::to_owned)).collect()
}

/// Names of the views: the headings of the generated page about them.
pub fn view_names(root: &Path) -> Result<Vec<String>> {
    let path = root.join("docs/reports.md");
    let text = fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
    let headings = text.lines().filter_map(|line| line.strip_prefix("## `"));
    Ok(headings.filter_map(|heading| heading.strip_suffix('`').map(str::to_owned)).collect())
}

/// The page's own modules.
fn page_files(root: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for folder in PAGE.map(|folder| root.join(folder)).into_iter().filter(|folder| folder.is_dir()) {
        for entry in fs::read_dir(&folder).with_context(|| format!("list {}", folder.display()))? {
            let path = entry.context("list the page")?.path();
            if path.extension().is_some_and(|extension| extension == "js") {
                files.push(path);
            }
        }
    }
    Ok(files)
}

impl FileWords {
    fn named(path: &Path) -> Self {
        let stem = path.file_stem().map(|stem| stem.to_string_lossy().replace('_', "-")).unwrap_or_default();
        FileWords { stem, ..FileWords::default() }
    }

    /// The words of a Rust file without its test module.
    fn of_rust(path: &Path, text: &str) -> Result<Self> {
        let mut words = FileWords::named(path);
        let before_tests = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        let tokens = before_tests
            .parse::<TokenStream>()
            .map_err(|error| anyhow::anyhow!("{error}"))
            .with_context(|| format!("read the tokens of {}", path.display()))?;
        words.add_tokens(tokens);
        Ok(words)
    }

    fn of_page(path: &Path, text: &str) -> Self {
        let mut file = FileWords::named(path);
        for (at, word) in words_of(text) {
            let before = text[..at].chars().next_back();
            let after = text[at + word.len()..].chars().next();
            let is_quoted = matches!(before, Some('\'' | '"' | '`')) && before == after;
            if is_quoted {
                file.strings.insert(word.to_owned());
            }
            if is_quoted || before == Some('.') {
                file.words.insert(word.to_owned());
            }
        }
        file
    }

    fn add_tokens(&mut self, tokens: TokenStream) {
        let mut last = [String::new(), String::new(), String::new()];
        for token in tokens {
            match &token {
                TokenTree::Group(group) => {
                    let is_attribute = last[2] == "#" || (last[1] == "#" && last[2] == "!");
                    // Documentation is no use of a name.
                    if !is_attribute || !group.stream().to_string().starts_with("doc") {
                        self.add_tokens(group.stream());
                    }
                }
                TokenTree::Ident(word) => {
                    let word = word.to_string();
                    if last == ["View", ":", ":"] {
                        self.views.insert(dashed(&word));
                    }
                    self.words.insert(word);
                }
                TokenTree::Literal(literal) => self.add_literal(&literal.to_string()),
                TokenTree::Punct(_) => {}
            }
            last.rotate_left(1);
            last[2] = if matches!(token, TokenTree::Group(_)) { String::new() } else { token.to_string() };
        }
    }

    fn add_literal(&mut self, literal: &str) {
        let Some(text) = literal.strip_suffix('"').and_then(|text| text.split_once('"')) else { return };
        self.strings.insert(text.1.to_owned());
        self.words.extend(words_of(text.1).map(|(_, word)| word.to_owned()));
    }

    fn names_view(&self, view: &str) -> bool {
        self.stem == view || self.views.contains(view) || self.strings.contains(view)
    }
}

/// Words of a text (letters, digits, `_`, `-`) with where they begin.
fn words_of(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.split(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_' || letter == '-'))
        .filter(|word| !word.is_empty())
        .map(|word| (word.as_ptr() as usize - text.as_ptr() as usize, word))
}

/// `CriticalPath` as `critical-path`.
fn dashed(name: &str) -> String {
    let mut dashed = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && !dashed.is_empty() {
            dashed.push('-');
        }
        dashed.push(letter.to_ascii_lowercase());
    }
    dashed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rust(text: &str) -> FileWords {
        FileWords::of_rust(Path::new("a/some_file.rs"), text).expect("valid tokens")
    }

    #[test]
    fn identifiers_and_words_of_strings_name_a_metric_but_comments_do_not() {
        let file = rust("/// In `idle_time`.\nfn f() { let npt = \"cpu_time / wall\"; } // slack");
        assert!(["npt", "cpu_time", "wall"].iter().all(|key| file.words.contains(*key)));
        assert!(!file.words.contains("slack") && !file.words.contains("idle_time"));
    }

    #[test]
    fn a_view_is_named_by_its_variant_its_name_or_the_file() {
        let file = rust("fn f() { g(View::CriticalPath, \"call-tree\", \"not npt\"); }");
        assert!(["critical-path", "call-tree", "some-file"].iter().all(|view| file.names_view(view)));
        assert!(!file.names_view("npt"));
    }

    #[test]
    fn a_module_of_the_page_names_what_it_quotes_or_reads() {
        let file = FileWords::of_page(Path::new("x.js"), "row.npt + row['slack'] // waits");
        assert!(file.words.contains("npt") && file.names_view("slack") && !file.words.contains("waits"));
    }

    #[test]
    fn only_numbers_with_a_unit_are_metrics() {
        let definitions =
            serde_json::json!({"metrics": [{"name": "npt", "unit": "s"}, {"name": "file", "unit": ""}]});
        assert_eq!(metric_keys(&definitions), ["npt"]);
    }
}
