//! The document of the format of logs (`docs/format.md`), out of the table of records.

use std::fmt::Write;

use crate::record::RECORD_FORMS;

/// What a record is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum RecordClass {
    Definition,
    Event,
    Extended,
}

impl RecordClass {
    /// Its heading, and what numbers its kinds.
    fn heading(self) -> (&'static str, &'static str) {
        match self {
            RecordClass::Definition => ("Definitions", "tag"),
            RecordClass::Event => ("Events", "tag"),
            RecordClass::Extended => ("Extended events", "kind"),
        }
    }
}

/// A kind of record.
pub(crate) struct RecordForm {
    pub class: RecordClass,
    /// The low bits of its first byte; of an extended event the byte after that.
    pub number: u8,
    /// The flag that tells it from another one of the same tag.
    pub flag: Option<u8>,
    pub name: &'static str,
    pub lines: &'static [&'static str],
    pub fields: &'static [FieldForm],
}

/// A field of a record.
pub(crate) struct FieldForm {
    pub name: &'static str,
    /// What stands there.
    pub text: &'static str,
    pub lines: &'static [&'static str],
}

const HEAD: &str = include_str!("format.md");

/// The document of the format, Markdown.
#[must_use]
pub fn format_document() -> String {
    let mut document = HEAD.to_owned();
    let mut section = None;
    for form in RECORD_FORMS {
        if section.replace(form.class) != Some(form.class) {
            let (heading, number) = form.class.heading();
            let _ = write!(
                document,
                "\n## {heading}\n\n| {number} | name | what stands there |\n|---:|---|---|\n"
            );
        }
        let flag = form.flag.map_or_else(String::new, |flag| format!(" with flag {flag}"));
        let fields: Vec<String> = form
            .fields
            .iter()
            .map(|field| {
                format!(
                    "<br>`{}` ({}): {}",
                    field.name,
                    field.text.trim_end_matches(','),
                    sentence(field.lines)
                )
            })
            .collect();
        let _ = writeln!(
            document,
            "| {}{flag} | `{}` | {}{} |",
            form.number,
            form.name,
            sentence(form.lines),
            fields.concat()
        );
    }
    document
}

/// Lines of documentation as one line of a table, without links.
fn sentence(lines: &[&str]) -> String {
    let lines = lines.iter().map(|line| line.trim()).filter(|line| !line.is_empty());
    let text = lines.collect::<Vec<_>>().join(" ");
    text.replace("[`", "`").replace("`]", "`").replace('|', "\\|").trim().to_owned()
}
