//! How text is dressed: its width, and whether it has colours.

use std::io::IsTerminal;

/// Width of text that does not go to a terminal.
const WIDTH_OF_A_FILE: usize = 100;
/// Width of a terminal that does not tell its own.
const WIDTH_OF_A_TERMINAL: usize = 80;
const NARROWEST: usize = 40;

/// Width and colours of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Columns of text.
    pub width: usize,
    /// Whether to use colours.
    pub colour: bool,
}

impl Style {
    /// Text without colours.
    #[must_use]
    pub fn plain(width: usize) -> Style {
        Style { width: width.max(NARROWEST), colour: false }
    }

    /// What suits standard output: a terminal's width and colours, unless `NO_COLOR` is set (to anything
    /// but nothing) or the terminal is `dumb`; `COLUMNS` overrides the width.
    #[must_use]
    pub fn of_stdout() -> Style {
        #[expect(clippy::disallowed_methods, reason = "is only looked at")]
        let stdout = std::io::stdout();
        Style::of(stdout.is_terminal(), terminal_size::terminal_size_of(stdout))
    }

    /// The same for standard error.
    #[must_use]
    pub fn of_stderr() -> Style {
        #[expect(clippy::disallowed_methods, reason = "is only looked at")]
        let stderr = std::io::stderr();
        Style::of(stderr.is_terminal(), terminal_size::terminal_size_of(stderr))
    }

    fn of(is_terminal: bool, size: Option<(terminal_size::Width, terminal_size::Height)>) -> Style {
        let columns = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
        let width = columns
            .or_else(|| size.filter(|_| is_terminal).map(|(width, _)| usize::from(width.0)))
            .unwrap_or(if is_terminal { WIDTH_OF_A_TERMINAL } else { WIDTH_OF_A_FILE });
        let is_refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
            || std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        Style { colour: is_terminal && !is_refused, ..Style::plain(width) }
    }

    pub(crate) fn bold(self, text: &str) -> String {
        self.paint("1", text)
    }

    pub(crate) fn faint(self, text: &str) -> String {
        self.paint("2", text)
    }

    pub(crate) fn warning(self, text: &str) -> String {
        self.paint("33", text)
    }

    fn paint(self, code: &str, text: &str) -> String {
        if self.colour && !text.is_empty() { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}
