//! The document of the format of logs (`docs/format.md`), out of the table of records.

use std::fmt::Write;

use crate::record::RECORD_FORMS;

/// A kind of record.
pub(crate) struct RecordForm {
    /// The low bits of its first byte.
    pub tag: u8,
    /// The byte after the tag, of an extended event.
    pub extended: Option<u8>,
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
    let mut section = "";
    for form in RECORD_FORMS {
        let (number, of) = match form.extended {
            Some(kind) => (kind, "Extended events"),
            None if is_event(form) => (form.tag, "Events"),
            None => (form.tag, "Definitions"),
        };
        if of != section {
            let _ = write!(
                document,
                "\n## {of}\n\n| {} | name | what stands there |\n|---:|---|---|\n",
                if form.extended.is_some() { "kind" } else { "tag" }
            );
            section = of;
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
            "| {number}{flag} | `{}` | {}{} |",
            form.name,
            sentence(form.lines),
            fields.concat()
        );
    }
    document
}

/// Events have the tags from 9 to 20 and from 26 on.
fn is_event(form: &RecordForm) -> bool {
    matches!(form.tag, 9..=20 | 26..)
}

/// Lines of documentation as one line of a table, without links.
fn sentence(lines: &[&str]) -> String {
    let lines = lines.iter().map(|line| line.trim()).filter(|line| !line.is_empty());
    let text = lines.collect::<Vec<_>>().join(" ");
    text.replace("[`", "`").replace("`]", "`").replace('|', "\\|").trim().to_owned()
}
