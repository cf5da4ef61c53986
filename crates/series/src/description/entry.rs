//! What both syntaxes are read into: a metric's name and its fields, as texts with their places.

use std::ops::Range;

/// A metric of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct DescriptionEntry {
    /// Its name.
    pub name: Text,
    /// Names and values of its fields, in their order.
    pub fields: Vec<(Text, Text)>,
}

/// A text, and the bytes of the file that it was read from, quotation marks left out where that can be told.
#[derive(Clone, Debug, PartialEq)]
pub struct Text {
    /// The text.
    pub value: String,
    /// Where it stands.
    pub at: Range<usize>,
}

impl Text {
    /// These bytes of a text.
    pub fn of(text: &str, at: Range<usize>) -> Text {
        Text { value: text[at.clone()].to_owned(), at }
    }
}
