//! Documents in `docs/` that tests keep current.

use std::fmt::Write;
use std::path::Path;

use longpole_metrics::{By, Weight};

use crate::fixture::{DrawnRun, LOCK_HOG};
use crate::input::ReportOptions;
use crate::style::Style;
use crate::view::View;

/// Asserts that the document is what the code makes now; with `UPDATE=1` in the environment, writes it.
pub(crate) fn assert_is_current(name: &str, made: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
    if std::env::var_os("UPDATE").is_some_and(|value| value == "1") {
        std::fs::write(&path, made).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == made,
        "docs/{name} is not current; UPDATE=1 cargo test -p longpole-report writes it"
    );
}

const INTRODUCTION: &str = include_str!("documents/introduction.md");

/// What a reader has to know about a view, after its one sentence.
fn reading(view: View) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("src/documents/{view}.md"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The text of `docs/reports.md`.
fn reports_markdown() -> String {
    let mut text = INTRODUCTION.replace("{drawing}", LOCK_HOG);
    let scene = DrawnRun::of(LOCK_HOG);
    for &view in View::ALL {
        let report = scene.report(view, &ReportOptions::default());
        let example = report.text(&Style::plain(96));
        let _ = write!(text, "\n## `{view}`\n\n{}\n\n{}", view.about(), reading(view));
        let _ = write!(text, "\n```text\n$ longpole report --view {view}\n{example}```\n\n");
        text.push_str("| key | title | unit | meaning |\n|---|---|---|---|\n");
        let is_own = |name: &str| !name.starts_with("blocked_");
        for column in report.columns.iter().filter(|column| is_own(column.name)) {
            let (name, title, unit) = (column.name, column.title, column.unit.name());
            let meaning = column.explanation.replace('|', "\\|");
            let _ = writeln!(text, "| `{name}` | {title} | {unit} | {meaning} |");
        }
        if report.columns.iter().any(|column| !is_own(column.name)) {
            text.push_str(
                "| `blocked_lock_seconds`, … | Blocked: lock, … | s | Time blocked, a column for each cause that occurred. |\n",
            );
        }
    }
    text
}

#[test]
fn the_document_of_reports_is_current() {
    assert_is_current("reports.md", &reports_markdown());
}

#[test]
fn every_choice_that_the_document_names_is_one() {
    for by in [By::Procedure, By::Line, By::Thread, By::Process, By::Machine, By::Object] {
        let name = format!("{by:?}").to_lowercase();
        assert!(INTRODUCTION.contains(&format!("`{name}`")), "{name}");
    }
    for weight in [Weight::Cpu, Weight::Elapsed] {
        let name = format!("{weight:?}").to_lowercase();
        assert!(INTRODUCTION.contains(&format!("--weight {name}")), "{name}");
    }
}

#[test]
fn the_readme_names_every_view() {
    let readme = include_str!("../../../README.md");
    for &view in View::ALL {
        let name = view.name();
        let is_named = |c: char| !c.is_ascii_lowercase() && c != '-';
        let all: Vec<&str> = readme.split(is_named).collect();
        assert!(view == View::Summary || all.contains(&name), "{name}");
    }
}
