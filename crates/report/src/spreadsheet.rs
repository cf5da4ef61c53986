//! Texts as cells of CSV, which spreadsheets open.
//!
//! A spreadsheet takes a cell that begins with `=`, `+`, `-` or `@` for a formula, and runs it. Names are chosen by
//! programs: such a text gets an apostrophe before it, which spreadsheets read as "this is a text".

use crate::visible::visible;

/// What a text becomes in a cell of CSV.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CellText {
    /// No formula, and nothing hidden.
    #[default]
    Plain,
    /// As it is.
    Raw,
}

impl CellText {
    /// The text of a cell. Numbers do not pass here.
    #[must_use]
    pub fn of(self, text: &str) -> String {
        if self == CellText::Raw {
            return text.to_owned();
        }
        let shown = visible(text);
        let is_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
        if is_formula { format!("'{shown}") } else { shown.into_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_are_marked_as_texts() {
        let plain = |text| CellText::Plain.of(text);
        assert_eq!(plain("=cmd|'/c calc'!A1"), "'=cmd|'/c calc'!A1");
        assert_eq!(
            (plain("+1"), plain("-[NSObject init]"), plain("@SUM(A1)")),
            ("'+1".into(), "'-[NSObject init]".into(), "'@SUM(A1)".into())
        );
        assert_eq!((plain("\t=1"), plain("\r=1")), ("'\\t=1".into(), "'\\r=1".into()));
        assert_eq!(
            (plain("a=b"), plain("\x1b[7m"), plain("")),
            ("a=b".into(), r"\x1b[7m".into(), String::new())
        );
        assert_eq!(CellText::Raw.of("=1\x1b"), "=1\x1b");
    }
}
