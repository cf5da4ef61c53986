//! The documents and the help that come from the registry: `docs/metrics.md`, `longpole metrics`,
//! `longpole explain`, and the help of the page.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::LazyLock;

use longpole_metrics::registry::{METRICS, MetricDefinition, MetricGroup, TOPICS, Topic, metric, topic};
use serde_json::{Value, json};

use crate::column::{Column, STRUCTURE};
use crate::find::alike;
use crate::findings::with_tables;
use crate::style::Style;
use crate::text::wrap;
use crate::view::View;

/// The numbered sections that code and registry cite as "metrics.md §n", with the tables that come from the code.
static DEFINITIONS: LazyLock<String> = LazyLock::new(|| with_tables(include_str!("definitions.md")));

const INTRODUCTION: &str = "# What is measured, exactly

Every number that longpole shows is defined here. Sources: Q, Quartz (Anderson and Lazowska 1990); I, IPS-2 (Miller and others
1990); M, the comparison of critical path metrics (Hollingsworth and Miller 1992); C, Carnival (Meira, LeBlanc and Poulos 1996). This file is made from the registry of metrics:
`UPDATE=1 cargo test -p longpole-report` writes it anew.
";

/// The text of `docs/metrics.md`: the definitions, then every metric.
#[must_use]
pub fn metrics_markdown() -> String {
    let mut text = format!("{INTRODUCTION}\n{}\n# Every column\n", *DEFINITIONS);
    for &group in MetricGroup::ALL {
        let _ = write!(
            text,
            "\n## {}\n\n| key | title | unit | meaning | defined in |\n|---|---|---|---|---|\n",
            group.title()
        );
        for metric in METRICS.iter().filter(|metric| metric.group == group) {
            let MetricDefinition { name, title, explanation, source, .. } = metric;
            let unit = metric.unit.name();
            let _ = writeln!(
                text,
                "| `{name}` | {title} | {unit} | {} | {source} |",
                explanation.replace('|', "\\|")
            );
        }
    }
    text
}

/// Every metric with its title, by group: what `longpole metrics` shows.
#[must_use]
pub fn list_metrics() -> String {
    let style = Style::of_stdout();
    let mut lines = Vec::new();
    let width = METRICS.iter().map(|metric| metric.name.len()).max().unwrap_or(0);
    for &group in MetricGroup::ALL {
        lines.push(style.bold(group.title()));
        for metric in METRICS.iter().filter(|metric| metric.group == group) {
            let unit = metric.unit.name();
            let unit = if unit.is_empty() { String::new() } else { format!(" ({unit})") };
            lines.push(format!("  {:width$}  {}{unit}", metric.name, metric.title));
        }
        lines.push(String::new());
    }
    lines.push("longpole explain NAME says what one of them means.".to_owned());
    finished(&lines)
}

/// Everything that explains a number, as one JSON object with a line break at its end: `metrics`, each with its
/// `name`, `title`, `unit`, `explanation`, `source` and `group`, and `topics`, the ideas that they rest on.
///
/// Columns that structure reports (ranks, texts, parts) come last among the metrics and have no source.
#[must_use]
pub fn registry_json() -> String {
    let metrics = METRICS.iter().map(|metric| {
        let MetricDefinition { name, title, explanation, source, .. } = metric;
        let (unit, group) = (metric.unit.name(), metric.group.title());
        json!({"name": name, "title": title, "unit": unit, "explanation": explanation, "source": source, "group": group})
    });
    let structure = STRUCTURE.iter().map(|column| {
        let Column { name, title, explanation, .. } = column;
        let unit = column.unit.name();
        json!({"name": name, "title": title, "unit": unit, "explanation": explanation, "source": "", "group": PARTS_OF_REPORTS})
    });
    let topics = TOPICS.iter().map(|topic| {
        let Topic { name, title, explanation, source } = topic;
        json!({"name": name, "title": title, "explanation": explanation, "source": source})
    });
    let metrics: Vec<Value> = metrics.chain(structure).collect();
    let registry = json!({"metrics": metrics, "topics": topics.collect::<Vec<Value>>()});
    format!("{registry:#}\n")
}

/// Heading of the columns that structure reports.
const PARTS_OF_REPORTS: &str = "Parts of reports";

/// What a metric, an idea, a view or a numbered section of the definitions (`§4`) is.
///
/// # Errors
/// The words nearest to one that is not known.
pub fn explain(word: &str) -> Result<String, Vec<&'static str>> {
    let style = Style::of_stdout();
    let word = word.trim();
    let mut lines = Vec::new();
    if let Some(topic) = topic(word) {
        push_entry(&mut lines, style, topic.title, topic.explanation, topic.source);
    }
    if let Some(metric) = metric(&word.to_lowercase()) {
        let title = match metric.unit.name() {
            "" => format!("{} ({})", metric.title, metric.name),
            unit => format!("{} ({}, {unit})", metric.title, metric.name),
        };
        push_entry(&mut lines, style, &title, metric.explanation, metric.source);
    }
    if let Some(column) = STRUCTURE.iter().find(|column| column.name == word.to_lowercase()) {
        let title = format!("{} ({})", column.title, column.name);
        push_entry(&mut lines, style, &title, column.explanation, "");
    }
    if let Ok(view) = word.to_lowercase().parse::<View>() {
        let title = format!("The view {view}");
        push_entry(&mut lines, style, &title, view.about(), &format!("longpole report --view {view}"));
    }
    if let Some(section) = word.strip_prefix('§').and_then(section) {
        lines.extend(filled(section, style.width));
    }
    if lines.is_empty() { Err(nearest(word)) } else { Ok(finished(&lines)) }
}

/// Every word that [`explain`] knows but the numbers of sections.
fn known_words() -> impl Iterator<Item = &'static str> {
    let ideas = TOPICS.iter().map(|topic| topic.name);
    let views = View::ALL.iter().map(|view| view.name());
    let metrics = METRICS.iter().map(|metric| metric.name);
    ideas.chain(views).chain(metrics)
}

/// The three known words that are fewest slips of the pen away from this one.
fn nearest(word: &str) -> Vec<&'static str> {
    let words: BTreeSet<&'static str> = known_words().collect();
    let mut words: Vec<&'static str> = words.into_iter().collect();
    words.sort_by_key(|known| std::cmp::Reverse(alike(word, known)));
    words.truncate(3);
    words
}

/// A numbered section of the definitions, its heading included.
fn section(number: &str) -> Option<&'static str> {
    let heading = format!("## {number}. ");
    let start = DEFINITIONS.find(&heading)?;
    let rest = &DEFINITIONS[start..];
    let end = rest[3..].find("\n## ").map_or(rest.len(), |end| end + 3);
    Some(rest[3..end].trim_end())
}

/// A section with its paragraphs filled to the width; tables and drawings stay as they are.
fn filled(section: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut is_drawing = false;
    for block in section.split("\n\n") {
        is_drawing |= block.starts_with("```");
        if is_drawing || block.starts_with('|') {
            lines.extend(block.lines().map(str::to_owned));
        } else {
            let items = block.replace("\n* ", "\n\n* ");
            let items = items.split("\n\n").map(|item| item.replace('\n', " "));
            lines
                .extend(items.flat_map(|item| wrap(&item, width, if item.starts_with('*') { 2 } else { 0 })));
        }
        is_drawing &= !block.ends_with("```");
        lines.push(String::new());
    }
    lines.pop();
    lines
}

fn push_entry(lines: &mut Vec<String>, style: Style, title: &str, explanation: &str, source: &str) {
    if !lines.is_empty() {
        lines.push(String::new());
    }
    lines.push(style.bold(title));
    lines.extend(wrap(explanation, style.width, 0));
    lines.extend((!source.is_empty()).then(|| style.faint(source)));
}

fn finished(lines: &[String]) -> String {
    let mut text = lines.join("\n");
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::documents::assert_is_current;
    use crate::fixture::{DrawnRun, LOCK_HOG};
    use crate::input::ReportOptions;

    #[test]
    fn the_document_of_metrics_is_current() {
        assert_is_current("metrics.md", &metrics_markdown());
    }

    #[test]
    fn the_document_of_the_format_is_current() {
        assert_is_current("format.md", &longpole_event::format_document());
    }

    #[test]
    fn every_section_that_is_cited_is_there() {
        for entry in METRICS.iter().map(|metric| metric.source).chain(TOPICS.iter().map(|topic| topic.source))
        {
            let number = entry.strip_prefix('§').unwrap().split([',', ' ']).next().unwrap();
            assert!(section(number).is_some(), "{entry}");
        }
        assert!(section("4").unwrap().starts_with("4. The critical path"));
        assert!(!section("4").unwrap().contains("Slack"));
        assert_eq!(section("99"), None);
    }

    #[test]
    fn metrics_ideas_views_and_sections_are_explained() {
        assert!(explain("npt_percent").unwrap().contains("Normalised processor time"));
        assert!(explain("§10").unwrap().contains("A 12, B 36, C 24"));
        // Both an idea and a view.
        let path = explain("critical-path").unwrap();
        assert!(path.contains("longest chain of work") && path.contains("--view critical-path"), "{path}");
        for word in known_words() {
            assert!(explain(word).is_ok(), "{word}");
        }
        for metric in METRICS {
            assert!(list_metrics().contains(metric.name));
        }
    }

    #[test]
    fn the_registry_as_json_explains_every_column_and_idea_once() {
        let value: Value = serde_json::from_str(&registry_json()).unwrap();
        let names = |key: &str| -> Vec<String> {
            let entries = value[key].as_array().unwrap();
            entries.iter().map(|entry| entry["name"].as_str().unwrap().to_owned()).collect()
        };
        let (metrics, topics) = (names("metrics"), names("topics"));
        assert_eq!(metrics.len(), METRICS.len() + STRUCTURE.len());
        assert_eq!(metrics.iter().collect::<BTreeSet<_>>().len(), metrics.len());
        assert_eq!(topics, TOPICS.iter().map(|topic| topic.name).collect::<Vec<_>>());
        for view in View::ALL {
            let report = DrawnRun::of(LOCK_HOG).report(*view, &ReportOptions::default());
            for column in report.columns {
                assert!(metrics.contains(&column.name.to_owned()), "{view}: {}", column.name);
            }
        }
        let npt = &value["metrics"][metrics.iter().position(|name| name == "npt_percent").unwrap()];
        assert_eq!((&npt["unit"], &npt["group"]), (&json!("%"), &json!("Normalised processor time")));
        assert!(npt["source"].as_str().unwrap().starts_with("§3") && npt["title"] == "NPT %");
    }

    #[test]
    fn a_misspelt_word_is_answered_with_the_nearest() {
        assert!(explain("critical-pathh").unwrap_err().contains(&"critical-path"));
        assert_eq!(explain("ntp").unwrap_err()[0], "npt");
        assert!(explain("npt_percnt").unwrap_err().contains(&"npt_percent"));
    }
}
