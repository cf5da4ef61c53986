//! What is wrong with a text that a user wrote, and where.

use std::fmt;
use std::ops::Range;

/// Characters of a line that are shown at most, so that a file of one long line stays readable.
const SHOWN: usize = 100;

/// A text that could not be understood: a metric description or a definition. It completes “failed to …”; the lines after
/// the first show the place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct TextError {
    /// The file's name, or the option that the text stood in.
    pub origin: String,
    /// Line, from one.
    pub line: usize,
    /// Column, from one, in characters.
    pub column: usize,
    /// What was expected or is wrong.
    pub message: String,
    /// The line.
    pub excerpt: String,
    /// Characters that are wrong, at least one.
    pub length: usize,
}

impl TextError {
    /// An error about the bytes `at` of `text`.
    #[must_use]
    pub fn new(origin: &str, text: &str, at: &Range<usize>, message: impl Into<String>) -> TextError {
        let start = floor(text, at.start);
        let begin = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
        let end = text[start..].find('\n').map_or(text.len(), |newline| start + newline);
        let marked = floor(text, at.end.clamp(start, end));
        TextError {
            origin: origin.to_owned(),
            line: text[..begin].matches('\n').count() + 1,
            column: text[begin..start].chars().count() + 1,
            message: message.into(),
            excerpt: text[begin..end].trim_end_matches('\r').to_owned(),
            length: text[start..marked].chars().count().max(1),
        }
    }
}

/// The largest boundary of characters that is not after `at`.
fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
}

impl fmt::Display for TextError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TextError { origin, line, column, message, excerpt, length } = self;
        writeln!(out, "understand {origin}, line {line}, column {column}: {message}")?;
        // A line that is longer than what is shown begins near the place.
        let skipped =
            if excerpt.chars().count() > SHOWN { (column - 1).saturating_sub(SHOWN / 2) } else { 0 };
        let shown: String = excerpt.chars().skip(skipped).take(SHOWN).map(plain).collect();
        let before = column - 1 - skipped;
        let carets = (*length).min(SHOWN.saturating_sub(before)).max(1);
        write!(out, "    {shown}\n    {}{}", " ".repeat(before), "^".repeat(carets))
    }
}

/// The character, or a blank for what would move the cursor.
fn plain(character: char) -> char {
    if character.is_control() { ' ' } else { character }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_is_shown_below_its_line() {
        let text = "one\n\tlevel mashine;\nthree";
        let error = TextError::new("a.metrics", text, &(11..18), "expected machine");
        assert_eq!((error.line, error.column, error.length), (2, 8, 7));
        assert_eq!(
            error.to_string(),
            "understand a.metrics, line 2, column 8: expected machine\n     level mashine;\n           ^^^^^^^"
        );
    }

    #[test]
    fn columns_are_characters() {
        let error = TextError::new("f", "größe = 1", &("größ".len().."größe".len()), "x");
        assert_eq!((error.column, error.length), (5, 1));
        // In the middle of a character, and beyond the end.
        assert_eq!(TextError::new("f", "ö", &(1..9), "x").column, 1);
        assert_eq!(TextError::new("f", "ö\n", &(90..91), "x").line, 2);
    }

    #[test]
    fn of_a_long_line_the_place_is_shown() {
        let text = format!("{}?{}", "a".repeat(5000), "b".repeat(5000));
        let told = TextError::new("f", &text, &(5000..5001), "x").to_string();
        let lines: Vec<_> = told.lines().collect();
        assert_eq!((lines[1].len(), lines[1].find('?'), lines[2].find('^')), (104, Some(54), Some(54)));
    }
}
