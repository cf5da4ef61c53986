//! Errors of this crate's parsers: where, and what was expected there.

use std::borrow::Cow;
use std::ops::Range;

use winnow::error::ParserError;
use winnow::stream::{Location, Stream};

/// What a parser expected, or what it found to be wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Expected {
    at: Range<usize>,
    what: Cow<'static, str>,
    /// Whether `what` is the whole message.
    is_told: bool,
}

impl Expected {
    /// Something else was expected at this byte.
    pub fn here(at: usize, what: impl Into<Cow<'static, str>>) -> Expected {
        Expected { at: at..at, what: what.into(), is_told: false }
    }

    /// What begins at this byte is wrong.
    pub fn wrong(at: usize, message: impl Into<Cow<'static, str>>) -> Expected {
        Expected { at: at..at, what: message.into(), is_told: true }
    }

    /// These bytes are wrong.
    pub fn wrong_in(at: Range<usize>, message: impl Into<Cow<'static, str>>) -> Expected {
        Expected { at, what: message.into(), is_told: true }
    }

    /// The bytes that are meant: where no others were named, the word that begins there.
    pub fn place(&self, text: &str) -> Range<usize> {
        let at = self.at.clone();
        if at.is_empty() { at.start..at.start + found(text, at.start).map_or(0, str::len) } else { at }
    }

    /// The message: what was expected and what is there instead.
    pub fn told(&self, text: &str) -> String {
        if self.is_told {
            return self.what.clone().into_owned();
        }
        match found(text, self.at.start) {
            Some(found) => format!("expected {}, found `{found}`", self.what),
            None => format!("expected {}, found the end", self.what),
        }
    }
}

/// The word or the character that begins there.
fn found(text: &str, at: usize) -> Option<&str> {
    let rest = text.get(at..)?;
    let first = rest.chars().next()?;
    let is_word = |character: char| character.is_alphanumeric() || character == '_';
    let end = rest.find(|character| !is_word(character)).unwrap_or(rest.len());
    Some(&rest[..end.max(first.len_utf8())])
}

impl<I: Stream + Location> ParserError<I> for Expected {
    type Inner = Expected;

    fn from_input(input: &I) -> Expected {
        Expected::here(input.current_token_start(), "something else")
    }

    fn into_inner(self) -> Result<Expected, Expected> {
        Ok(self)
    }
}
