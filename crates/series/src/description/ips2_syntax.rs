//! Descriptions in IPS-2's own syntax (figures 2 and 3).
//!
//! ```text
//!   file    { metric NAME "{" { field } "}" [ ; ] }
//!   field   formula EVERYTHING UP TO ; ;   |   NAME ( WORD | "TEXT" ) ;
//! ```
//! Comments, `/* … */` and `#` up to the line's end, may stand wherever a blank may; they are replaced by blanks first, so that
//! all places stay those of the file.

use winnow::combinator::{alt, opt, preceded};
use winnow::stream::{Location, Stream};
use winnow::token::{any, literal, none_of, take_while};
use winnow::{LocatingSlice, Parser};

use super::entry::{DescriptionEntry, Text};
use super::source::DescriptionText;
use crate::TextError;
use crate::expected::Expected;

type Ips2Input<'text> = LocatingSlice<&'text str>;

pub fn read(source: &DescriptionText) -> Result<Vec<DescriptionEntry>, TextError> {
    let told = |expected: Expected, text: &str| source.error(&expected.place(text), expected.told(text));
    let text = without_comments(source.text()).map_err(|expected| told(expected, source.text()))?;
    let mut input = LocatingSlice::new(text.as_str());
    let mut entries = Vec::new();
    loop {
        entries.push(match metric(&mut input).map_err(|expected| told(expected, &text))? {
            Some(entry) => entry,
            None => return Ok(entries),
        });
    }
}

/// The text with blanks for its comments.
fn without_comments(text: &str) -> Result<String, Expected> {
    let mut cleared = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let at = text.len() - rest.len();
        let (length, is_comment) = if let Some(inside) = rest.strip_prefix("/*") {
            let unclosed =
                || Expected::wrong_in(at..at + 2, "this comment does not end: expected */".to_owned());
            (inside.find("*/").ok_or_else(unclosed)? + 4, true)
        } else if first == '#' {
            (rest.find('\n').unwrap_or(rest.len()), true)
        } else if first == '"' {
            (quoted_length(rest), false)
        } else {
            (first.len_utf8(), false)
        };
        let (part, after) = rest.split_at(length);
        if is_comment {
            cleared.extend(part.bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }));
        } else {
            cleared.push_str(part);
        }
        rest = after;
    }
    Ok(cleared)
}

/// How long the text in quotation marks is that `rest` begins with, at most to the line's end.
fn quoted_length(rest: &str) -> usize {
    let mut is_escaped = true;
    for (at, character) in rest.char_indices() {
        match character {
            '\n' => return at,
            '"' if !is_escaped => return at + 1,
            _ => is_escaped = character == '\\' && !is_escaped,
        }
    }
    rest.len()
}

fn metric(input: &mut Ips2Input<'_>) -> Result<Option<DescriptionEntry>, Expected> {
    blanks(input)?;
    if input.is_empty() {
        return Ok(None);
    }
    if opt((literal::<_, _, Expected>("metric"), any.verify(|next: &char| next.is_whitespace())))
        .parse_next(input)?
        .is_none()
    {
        return Err(here(input, "metric NAME {"));
    }
    blanks(input)?;
    let name = value(input, "the metric's name")?;
    expect(input, "{")?;
    let mut fields = Vec::new();
    loop {
        blanks(input)?;
        if opt(literal::<_, _, Expected>("}")).parse_next(input)?.is_some() {
            opt(preceded(blanks, literal::<_, _, Expected>(";"))).parse_next(input)?;
            return Ok(Some(DescriptionEntry { name, fields }));
        }
        fields.push(field(input)?);
    }
}

fn field(input: &mut Ips2Input<'_>) -> Result<(Text, Text), Expected> {
    let name = opt(take_while(1.., is_name).with_span()).parse_next(input)?;
    let Some((name, at)) = name else { return Err(here(input, "a field or }")) };
    let name = Text { value: String::from(name), at };
    blanks(input)?;
    let value = if name.value == "formula" { formula(input)? } else { value(input, "the field's value")? };
    expect(input, ";")?;
    Ok((name, value))
}

/// Everything up to the semicolon, names in quotation marks taken whole.
fn formula(input: &mut Ips2Input<'_>) -> Result<Text, Expected> {
    let start = input.current_token_start();
    let text = **input;
    let mut end = 0;
    while let Some(next) = text[end..].chars().next().filter(|next| !matches!(next, ';' | '{' | '}')) {
        end += if next == '"' { quoted_length(&text[end..]) } else { next.len_utf8() };
    }
    let taken = input.next_slice(end).trim_end();
    Ok(Text { value: taken.to_owned(), at: start..start + taken.len() })
}

fn value(input: &mut Ips2Input<'_>, what: &'static str) -> Result<Text, Expected> {
    let start = input.current_token_start();
    if opt(literal::<_, _, Expected>("\"")).parse_next(input)?.is_some() {
        return quoted(input, start);
    }
    let word = take_while::<_, _, Expected>(1.., |character: char| {
        !character.is_whitespace() && !matches!(character, ';' | '{' | '}' | '"')
    });
    match opt(word.with_span()).parse_next(input)? {
        Some((word, at)) => Ok(Text { value: String::from(word), at }),
        None => Err(here(input, what)),
    }
}

/// What stands between quotation marks; `\"` and `\\` are what follows the backslash.
fn quoted(input: &mut Ips2Input<'_>, start: usize) -> Result<Text, Expected> {
    let mut value = String::new();
    let escaped = || preceded(literal::<_, _, Expected>("\\"), alt((literal("\""), literal("\\"))));
    loop {
        let end = input.current_token_start();
        if opt(literal::<_, _, Expected>("\"")).parse_next(input)?.is_some() {
            return Ok(Text { value, at: start + 1..end });
        }
        if let Some(character) = opt(escaped()).parse_next(input)? {
            value.push_str(character);
            continue;
        }
        match opt(none_of::<_, _, Expected>(['\n'])).parse_next(input)? {
            Some(character) => value.push(character),
            None => {
                return Err(Expected::wrong_in(
                    start..end,
                    "this text does not end: expected \" before the line's end".to_owned(),
                ));
            }
        }
    }
}

fn expect(input: &mut Ips2Input<'_>, sign: &'static str) -> Result<(), Expected> {
    blanks(input)?;
    match opt(literal::<_, _, Expected>(sign)).parse_next(input)? {
        Some(_) => Ok(()),
        None => Err(here(input, sign)),
    }
}

fn is_name(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '_' | '-')
}

fn blanks(input: &mut Ips2Input<'_>) -> Result<(), Expected> {
    take_while(0.., char::is_whitespace).void().parse_next(input)
}

fn here(input: &Ips2Input<'_>, what: &'static str) -> Expected {
    Expected::here(input.current_token_start(), what)
}
