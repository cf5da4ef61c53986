//! A text that descriptions come from, shared by all of them for their messages.

use std::ops::Range;
use std::sync::Arc;

use crate::TextError;

/// A text and where it comes from.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct DescriptionText {
    origin: Arc<str>,
    text: Arc<str>,
}

impl DescriptionText {
    pub fn new(origin: &str, text: &str) -> DescriptionText {
        DescriptionText { origin: origin.into(), text: text.into() }
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// The file, or the option.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// An error about some bytes of it.
    pub fn error(&self, at: &Range<usize>, message: impl Into<String>) -> TextError {
        TextError::new(&self.origin, &self.text, at, message)
    }

    /// File and line of these bytes.
    pub fn place(&self, at: &Range<usize>) -> String {
        format!("{}, line {}", self.origin, self.error(at, "").line)
    }
}
