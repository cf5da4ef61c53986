//! Metric descriptions (IPS-2 §4.1 and §5, figures 2 and 3): what a metric is called, where it belongs, how it is to be
//! added up and, if it is derived, what it is computed of.
//!
//! In: the text of a file, in TOML or in IPS-2's own syntax. Out: [`Descriptions`]. Both syntaxes are read into entries
//! (names and texts with their places); what the texts mean is decided once for both.

mod entry;
mod fields;
mod ips2_syntax;
mod level;
mod source;
#[cfg(test)]
pub(crate) mod tests;
mod toml_syntax;

use std::ops::Range;

use longpole_event::SeriesKind;

pub use level::{MetricClass, TreeLevel};
pub(crate) use source::DescriptionText;

use crate::{Aggregation, Formula, TableCalculation, TextError, Unit};

/// A description of a metric. What it does not say is absent.
#[derive(Clone, Debug, PartialEq)]
pub struct Description {
    /// The metric's name.
    pub name: String,
    /// External, or derived when there is a formula.
    pub class: MetricClass,
    /// Below which level of the tree it has no value.
    pub level: Option<TreeLevel>,
    /// How values go up the tree.
    pub aggregation: Option<Aggregation>,
    /// How a curve becomes the number of a table.
    pub calculation: Option<TableCalculation>,
    /// Its name in menus and headings.
    pub title: Option<String>,
    /// Its name at the axis of a histogram.
    pub axis_title: Option<String>,
    /// Its name at the head of a table's column.
    pub table_title: Option<String>,
    /// Its unit.
    pub unit: Option<StatedUnit>,
    /// How the numbers of its series are to be read.
    pub samples: Option<SeriesKind>,
    /// What it is computed of.
    pub formula: Option<Formula>,
    /// Where it stands.
    pub(crate) source: DescriptionText,
    /// The bytes of its name there.
    pub(crate) name_at: Range<usize>,
    /// The bytes of its formula there.
    pub(crate) formula_at: Range<usize>,
}

/// A unit as somebody wrote it, and where.
#[derive(Clone, Debug, PartialEq)]
pub struct StatedUnit {
    /// As it was written.
    pub label: String,
    /// What it means.
    pub unit: Unit,
    /// The bytes of it in its file.
    pub(crate) at: Range<usize>,
}

/// The descriptions of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Descriptions {
    /// The file's name.
    pub file: String,
    /// The descriptions, in their order.
    pub descriptions: Vec<Description>,
    /// What was accepted but has to be said.
    pub notes: Vec<String>,
}

impl Descriptions {
    /// Reads a file's text; which of the two syntaxes it is in, the text tells.
    ///
    /// # Errors
    /// The first place that cannot be understood, and what was expected there.
    pub fn parse(text: &str, file: &str) -> Result<Descriptions, TextError> {
        let source = DescriptionText::new(file, text);
        let entries = if is_toml(text) { toml_syntax::read(&source)? } else { ips2_syntax::read(&source)? };
        let mut notes = Vec::new();
        let mut descriptions = Vec::with_capacity(entries.len());
        for entry in entries {
            descriptions.push(fields::describe(entry, &source, &mut notes)?);
        }
        Ok(Descriptions { file: file.to_owned(), descriptions, notes })
    }
}

impl Description {
    /// Reads a definition, `NAME = FORMULA`: a derived metric of which nothing else is said.
    ///
    /// # Errors
    /// The place that cannot be understood; `origin` says which option it came from.
    pub fn define(text: &str, origin: &str) -> Result<Description, TextError> {
        let source = DescriptionText::new(origin, text);
        let wrong = |at: Range<usize>| {
            source.error(&at, "expected NAME = FORMULA, such as busy = cpu_time + spin_time")
        };
        let equals = text.find('=').ok_or_else(|| wrong(text.trim_end().len()..text.len()))?;
        let part = |from: usize, to: usize| {
            let start = from + (text[from..to].len() - text[from..to].trim_start().len());
            start..start.max(from + text[from..to].trim_end().len())
        };
        let mut name_at = part(0, equals);
        if text[name_at.clone()].len() > 2 && text[name_at.clone()].starts_with('"') {
            let end = if text[name_at.clone()].ends_with('"') { name_at.end - 1 } else { name_at.end };
            name_at = name_at.start + 1..end;
        } else if !crate::formula::is_bare_name(&text[name_at.clone()]) {
            return Err(wrong(name_at));
        }
        let formula_at = part(equals + 1, text.len());
        let entry = entry::DescriptionEntry {
            name: entry::Text::of(text, name_at),
            fields: vec![(entry::Text::of("formula", 0..7), entry::Text::of(text, formula_at))],
        };
        fields::describe(entry, &source, &mut Vec::new())
    }

    /// An error about a part of its formula.
    pub(crate) fn formula_error(&self, at: &Range<usize>, message: impl Into<String>) -> TextError {
        let is_verbatim =
            self.formula.as_ref().is_some_and(|formula| formula.text().len() == self.formula_at.len());
        let start = self.formula_at.start;
        let at = if is_verbatim { start + at.start..start + at.end } else { self.formula_at.clone() };
        self.source.error(&at, message)
    }
}

/// Whether the first line that says something is TOML: a table's head or a key with its value.
fn is_toml(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.next().is_some_and(|line| {
        let before_value = line.split(['"', '{', ';']).next().unwrap_or_default();
        line.starts_with('[') || before_value.contains('=')
    })
}
