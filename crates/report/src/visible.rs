//! Names as text that a terminal shows and does not obey.
//!
//! Names of procedures, threads, files and commands are bytes that a program chose. In: any text. Out: the same text, in
//! which each character that moves the cursor, starts a command of the terminal, reorders its neighbours or has no width
//! is written as an escape.
//!
//! ```text
//!   ESC [ 3 1 m      \x1b[31m
//!   line feed, tab   \n \t
//!   U+202E           \u{202e}
//! ```
//! A backslash stays as it is, because paths and lambdas have some: a name that spells `\x1b` itself looks the same.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Escape sequences that [`Style`](crate::Style) writes: bold, faint, yellow, plain.
pub(crate) const STYLING: [&str; 4] = ["\x1b[1m", "\x1b[2m", "\x1b[33m", "\x1b[0m"];

/// Blanks that begin each further line of a text with several lines, so that a line break in a name is not one of ours.
const CONTINUATION: &str = "\n    ";

/// One line of text in which nothing is hidden, line breaks included.
#[must_use]
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    text.chars().for_each(|character| push(&mut shown, character));
    Cow::Owned(shown)
}

/// Lines of text in which nothing is hidden. A line break stays where at least four blanks follow it, as in an excerpt of
/// a file below an error.
#[must_use]
pub fn visible_excerpt(text: &str) -> String {
    let lines = text.split(CONTINUATION).map(visible);
    lines.collect::<Vec<_>>().join(CONTINUATION)
}

/// A finished output: line breaks and the codes of [`Style`](crate::Style) stay, nothing else is hidden. It is the last
/// defence of a terminal; texts are made visible where they are laid out, because widths depend on it.
#[must_use]
pub fn visible_output(text: &str) -> Cow<'_, str> {
    if !text.contains(|character| character != '\n' && is_hidden(character)) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        let styling = STYLING.into_iter().find(|code| rest.starts_with(code));
        let length = styling.map_or(character.len_utf8(), str::len);
        match styling {
            Some(code) => shown.push_str(code),
            None if character == '\n' => shown.push('\n'),
            None => push(&mut shown, character),
        }
        rest = &rest[length..];
    }
    Cow::Owned(shown)
}

/// JSON with the same values in which nothing is hidden: what is hidden is in strings only, and becomes `\u202e` there.
#[must_use]
pub fn visible_json(json: String) -> String {
    let is_escaped = |character: char| character >= '\x7f' && is_hidden(character);
    if !json.contains(is_escaped) {
        return json;
    }
    let mut shown = String::with_capacity(json.len() + 16);
    for character in json.chars() {
        if is_escaped(character) {
            for unit in character.encode_utf16(&mut [0; 2]) {
                let _ = write!(shown, "\\u{unit:04x}");
            }
        } else {
            shown.push(character);
        }
    }
    shown
}

fn push(shown: &mut String, character: char) {
    let _ = match character {
        '\n' => shown.write_str("\\n"),
        '\r' => shown.write_str("\\r"),
        '\t' => shown.write_str("\\t"),
        _ if !is_hidden(character) => shown.write_char(character),
        '\0'..='\u{ff}' => write!(shown, "\\x{:02x}", u32::from(character)),
        _ => write!(shown, "\\u{{{:x}}}", u32::from(character)),
    };
}

/// Whether a terminal obeys the character, or shows nothing for it: controls, separators of lines, marks and overrides
/// of direction, and what has no width.
pub(crate) fn is_hidden(character: char) -> bool {
    // Nearly all of any text, and answers can be long.
    if matches!(character, ' '..='~') {
        return false;
    }
    character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{180e}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_spelt_out() {
        assert_eq!(visible("\x1b]0;pwned\x07 \u{9b}2J\x7f"), r"\x1b]0;pwned\x07 \x9b2J\x7f");
        assert_eq!(visible("a\nb\tc\rd\0"), r"a\nb\tc\rd\x00");
        assert_eq!(
            visible("a\u{202e}b\u{200f}\u{61c}\u{2066}\u{2028}\u{feff}"),
            r"a\u{202e}b\u{200f}\u{61c}\u{2066}\u{2028}\u{feff}"
        );
    }

    #[test]
    fn other_text_stays_as_it_is() {
        for text in ["", "std::vec::Vec<T>::push", r"C:\work {λ#1}", "größe 名前 🚀 שם"] {
            assert!(matches!(visible(text), Cow::Borrowed(same) if same == text), "{text}");
        }
    }

    #[test]
    fn only_our_own_styling_passes_the_last_defence() {
        let ours = "\x1b[1mbold\x1b[0m\n";
        assert_eq!(visible_output(ours), ours);
        assert_eq!(
            visible_output("\x1b[33mCaution\x1b[0m \x1b[5mblinks\n"),
            "\x1b[33mCaution\x1b[0m \\x1b[5mblinks\n"
        );
    }

    #[test]
    fn a_line_break_in_a_name_is_not_that_of_an_excerpt() {
        let told = "understand a\nlongpole: all is well, line 1\n    x = \x07\n    ^";
        assert_eq!(
            visible_excerpt(told),
            "understand a\\nlongpole: all is well, line 1\n    x = \\x07\n    ^"
        );
    }

    #[test]
    fn json_keeps_its_values() {
        let name = "\x1b\u{9b}\u{202e}\u{e0041}é\\";
        let json = visible_json(serde_json::to_string(name).unwrap());
        assert!(!json.contains(is_hidden), "{json}");
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), name);
    }
}
