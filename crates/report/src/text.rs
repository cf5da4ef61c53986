//! A report as text for people.
//!
//! Invariant: what a section says is made visible before it is laid out, so that names of any bytes neither reach the
//! terminal nor change a width; the only control characters of the text are line breaks and the codes of its style.

use std::borrow::Cow;

use crate::name::shorten;
use crate::report::Report;
use crate::style::Style;
use crate::table::TextTable;
use crate::visible::visible;

/// A piece of the text.
#[derive(Clone, Debug)]
pub(crate) enum TextSection {
    /// The answer; wrapped, bold.
    Headline(String),
    /// Sentences; wrapped.
    Paragraph(String),
    /// A remark about the numbers above or below; wrapped, faint.
    Remark(String),
    /// A doubt about the numbers; wrapped.
    Warning(String),
    /// A command to run, with what it shows.
    Command { command: String, shows: String },
    /// A line that is never wrapped.
    Line(String),
    /// A table.
    Table(TextTable),
    /// Two lists beside each other.
    Sides(SideBySide),
    /// Nothing, for the eye.
    Blank,
}

/// Two lists beside each other, each line a name and an amount.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SideBySide {
    /// Above each list.
    pub titles: [String; 2],
    pub left: Vec<(String, String)>,
    pub right: Vec<(String, String)>,
}

impl TextSection {
    /// The section without hidden characters; a table makes its cells visible itself.
    fn visible(&self) -> Cow<'_, TextSection> {
        let shown = |text: &String| visible(text).into_owned();
        let pairs = |side: &[(String, String)]| -> Vec<(String, String)> {
            side.iter().map(|(name, amount)| (shown(name), shown(amount))).collect()
        };
        Cow::Owned(match self {
            TextSection::Headline(text) => TextSection::Headline(shown(text)),
            TextSection::Paragraph(text) => TextSection::Paragraph(shown(text)),
            TextSection::Remark(text) => TextSection::Remark(shown(text)),
            TextSection::Warning(text) => TextSection::Warning(shown(text)),
            TextSection::Line(text) => TextSection::Line(shown(text)),
            TextSection::Command { command, shows } => {
                TextSection::Command { command: shown(command), shows: shown(shows) }
            }
            TextSection::Sides(SideBySide { titles, left, right }) => {
                let titles = [shown(&titles[0]), shown(&titles[1])];
                TextSection::Sides(SideBySide { titles, left: pairs(left), right: pairs(right) })
            }
            TextSection::Table(_) | TextSection::Blank => return Cow::Borrowed(self),
        })
    }
}

pub(crate) fn render(report: &Report, style: Style) -> String {
    let mut lines: Vec<String> = Vec::new();
    for section in &report.sections {
        push(&section.visible(), style, &mut lines);
    }
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    let mut text = lines.join("\n");
    text.push('\n');
    text
}

fn push(section: &TextSection, style: Style, lines: &mut Vec<String>) {
    let width = style.width;
    match section {
        TextSection::Headline(text) => lines.extend(wrap(text, width, 0).iter().map(|line| style.bold(line))),
        TextSection::Paragraph(text) => lines.extend(wrap(text, width, 0)),
        TextSection::Remark(text) => lines.extend(wrap(text, width, 0).iter().map(|line| style.faint(line))),
        TextSection::Warning(text) => {
            let text = format!("Caution: {text}.");
            lines.extend(wrap(&text, width, 2).iter().map(|line| style.warning(line)));
        }
        TextSection::Command { command, shows } => {
            lines.push(format!("  {}  {}", style.bold(command), style.faint(shows)).trim_end().to_owned());
        }
        TextSection::Line(text) => lines.push(text.trim_end().to_owned()),
        TextSection::Table(table) => {
            let mut table = table.lines(width).into_iter();
            lines.extend(table.next().map(|header| style.faint(&header)));
            lines.extend(table);
        }
        TextSection::Sides(SideBySide { titles, left, right }) => {
            push_sides(titles, [left, right], style, lines)
        }
        TextSection::Blank => lines.push(String::new()),
    }
}

/// Two lists beside each other, each in half of the width.
fn push_sides(titles: &[String; 2], sides: [&[(String, String)]; 2], style: Style, lines: &mut Vec<String>) {
    let width = style.width.saturating_sub(3) / 2;
    let text = |side: &[(String, String)], at: usize| match side.get(at) {
        Some((name, amount)) => {
            let room = width.saturating_sub(amount.chars().count() + 2).max(1);
            format!("{:room$}  {amount}", shorten(name, room))
        }
        None if at == 0 => "nothing".to_owned(),
        None => String::new(),
    };
    let line = |left: &str, right: &str| format!("{left:width$} │ {right}").trim_end().to_owned();
    lines.push(style.faint(&line(&shorten(&titles[0], width), &shorten(&titles[1], width))));
    for at in 0..sides[0].len().max(sides[1].len()).max(1) {
        lines.push(line(&text(sides[0], at), &text(sides[1], at)));
    }
}

/// Breaks a text into lines of at most `width` characters; lines after the first are indented. A word
/// longer than a line stands alone. Text within backquotes is kept together.
pub(crate) fn wrap(text: &str, width: usize, indent: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in words(text) {
        let length = line.chars().count();
        if !line.trim().is_empty() && length + 1 + word.chars().count() > width {
            lines.push(std::mem::replace(&mut line, " ".repeat(indent)));
        } else if !line.trim().is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines.push(line);
    lines
}

/// Words at blanks outside backquotes; a number keeps its unit.
fn words(text: &str) -> Vec<&str> {
    let mut is_quoted = false;
    let is_gap = move |c: char| {
        is_quoted ^= c == '`';
        c == ' ' && !is_quoted
    };
    let mut words: Vec<&str> = Vec::new();
    let mut begin = 0;
    for word in text.split(is_gap) {
        let end = begin + word.len();
        match words.last_mut() {
            Some(last) if is_unit(word) => {
                let from = begin - 1 - last.len();
                *last = &text[from..end];
            }
            _ if word.is_empty() => {}
            _ => words.push(word),
        }
        begin = end + 1;
    }
    words
}

/// Whether a word belongs to the number before it.
fn is_unit(word: &str) -> bool {
    matches!(word.trim_end_matches([',', '.', ')', ';', ':']), "%" | "±" | "s" | "ms" | "µs" | "CPU")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_at_words_and_go_on_indented() {
        assert_eq!(wrap("one two three four", 9, 2), ["one two", "  three", "  four"]);
        assert_eq!(wrap("incomprehensibilities", 9, 2), ["incomprehensibilities"]);
    }

    #[test]
    fn names_in_backquotes_are_not_broken() {
        assert_eq!(wrap("it is `a b c` now", 10, 0), ["it is", "`a b c`", "now"]);
    }

    #[test]
    fn numbers_are_not_parted_from_their_units() {
        assert_eq!(wrap("took 12 ms (41 %).", 9, 0), ["took", "12 ms", "(41 %)."]);
    }
}
