//! What a table is: its columns, and the values of its cells.

use std::borrow::Cow;

/// What the values of a column are. Any of them can be absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ColumnKind {
    /// Words: a UTF-8 string.
    #[default]
    Text,
    /// A quantity: a double.
    Number,
    /// A number of things: a 64-bit integer.
    Count,
    /// Yes or no: a boolean.
    Flag,
}

impl ColumnKind {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            ColumnKind::Text => "text",
            ColumnKind::Number => "number",
            ColumnKind::Count => "count",
            ColumnKind::Flag => "flag",
        }
    }
}

/// A column of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableColumn {
    /// Its key, unique in the table.
    pub name: String,
    /// What its values are.
    pub kind: ColumnKind,
    /// Their unit; empty for words and counts.
    pub unit: String,
    /// Title for people.
    pub title: String,
    /// What it means.
    pub explanation: String,
}

/// A table without its rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schema {
    /// Name of the table, and of its file.
    pub name: String,
    /// What it says.
    pub about: String,
    /// Its columns.
    pub columns: Vec<TableColumn>,
}

/// The value of a cell.
#[derive(Clone, Debug, PartialEq)]
pub enum CellValue<'a> {
    /// There is none.
    Nothing,
    /// Words.
    Text(Cow<'a, str>),
    /// A quantity.
    Number(f64),
    /// A number of things.
    Count(i64),
    /// Yes or no.
    Flag(bool),
}

impl CellValue<'_> {
    /// The value as one of this kind: a count is a quantity, too. `None` where it is something else.
    pub(crate) fn into_kind(self, kind: ColumnKind) -> Option<Self> {
        match (kind, self) {
            (ColumnKind::Number, CellValue::Count(count)) => Some(CellValue::Number(count as f64)),
            (_, CellValue::Nothing) => Some(CellValue::Nothing),
            (ColumnKind::Text, value @ CellValue::Text(_))
            | (ColumnKind::Number, value @ CellValue::Number(_))
            | (ColumnKind::Count, value @ CellValue::Count(_))
            | (ColumnKind::Flag, value @ CellValue::Flag(_)) => Some(value),
            _ => None,
        }
    }
}
