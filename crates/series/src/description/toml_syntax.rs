//! Descriptions in TOML: a table `[metric.NAME]` per metric, whose fields are texts.

use std::ops::Range;

use toml::de::{DeTable, DeValue};

use super::entry::{DescriptionEntry, Text};
use super::source::DescriptionText;
use crate::TextError;

/// What is said where something else than a metric stands.
const EXPECTED: &str = "expected a table [metric.NAME]";

pub fn read(source: &DescriptionText) -> Result<Vec<DescriptionEntry>, TextError> {
    let text = source.text();
    let table = DeTable::parse(text).map_err(|error| {
        let at = error.span().unwrap_or(text.len()..text.len());
        source.error(&at, error.message())
    })?;
    let mut entries = Vec::new();
    for (key, value) in table.get_ref() {
        let DeValue::Table(metrics) = value.get_ref() else {
            return Err(source.error(&key.span(), EXPECTED));
        };
        if key.get_ref() != "metric" {
            let hint = crate::nearest::did_you_mean(key.get_ref(), ["metric"]);
            return Err(source.error(&key.span(), format!("{EXPECTED}{hint}")));
        }
        for (name, value) in metrics {
            let DeValue::Table(fields) = value.get_ref() else {
                return Err(source.error(&name.span(), EXPECTED));
            };
            entries.push(DescriptionEntry {
                name: placed(text, name.get_ref(), name.span()),
                fields: texts(source, fields)?,
            });
        }
    }
    entries.sort_by_key(|entry| entry.name.at.start);
    Ok(entries)
}

fn texts(source: &DescriptionText, table: &DeTable<'_>) -> Result<Vec<(Text, Text)>, TextError> {
    let mut fields = Vec::new();
    for (key, value) in table {
        let field = placed(source.text(), key.get_ref(), key.span());
        match value.get_ref() {
            DeValue::String(value_text) => {
                fields.push((field, placed(source.text(), value_text, value.span())));
            }
            DeValue::Table(_) => {
                let told = "a metric has no tables within it: a name with dots stands in quotation marks, [metric.\"a.b\"]";
                return Err(source.error(&key.span(), told));
            }
            _ => return Err(source.error(&value.span(), "expected a text in quotation marks")),
        }
    }
    fields.sort_by_key(|(field, _)| field.at.start);
    Ok(fields)
}

/// The text without its quotation marks, where it stands there as it is.
fn placed(text: &str, value: &str, at: Range<usize>) -> Text {
    let inner = text.get(at.clone()).and_then(|raw| raw.find(value)).map(|offset| at.start + offset);
    let at = inner.map_or(at, |start| start..start + value.len());
    Text { value: value.to_owned(), at }
}
