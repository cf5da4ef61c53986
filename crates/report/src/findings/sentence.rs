//! Sentences of typed spans: text, names of things, times and shares.
//!
//! A sentence is made once, from what it says; text, JSON and the page are made from its spans. Nothing looks a name up
//! that stands in a text, so a name that several things have still leads to the one that was meant.
//!
//! ```text
//!   sentence!["The long pole: ", name, " — ", Share(90.1), "."]
//!     text    The long pole: `update` — 90 %.
//!     JSON    [{"text": "The long pole: "}, {"text": "update", "procedure": "update", …}, …]
//! ```

use longpole_metrics::Node;

use crate::input::ReportTables;
use crate::quantity::{percent_with_error, time_text};
use crate::report::Row;
use crate::views::identity;

/// A piece of a sentence.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum SentenceSpan {
    /// Words.
    Text(String),
    /// A thing, by its name for people.
    Name(Node, String),
    /// A name that is not one thing's, or a command.
    Code(String),
    /// A time, nanoseconds.
    Time(u64),
    /// A share in percent, and its standard error in points.
    Share(f64, Option<f64>),
}

/// What is said, in spans.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Sentence {
    spans: Vec<SentenceSpan>,
}

/// A time in a sentence, nanoseconds.
pub(crate) struct TimeInWords(pub u64);

/// A share in a sentence, percent.
pub(crate) struct ShareInWords(pub f64);

/// Makes a sentence of its parts: text, [`TimeInWords`], [`ShareInWords`], other sentences.
macro_rules! sentence {
    ($($part:expr),* $(,)?) => {{
        let mut sentence = $crate::findings::Sentence::default();
        $(sentence.push($part);)*
        sentence
    }};
}
pub(crate) use sentence;

impl Sentence {
    /// The name of a thing.
    pub(crate) fn name(input: &ReportTables<'_>, node: Node) -> Sentence {
        Sentence { spans: vec![SentenceSpan::Name(node, identity(input, node).1)] }
    }

    /// A thing by a name of its own, as `cc1 f3.c` for a process.
    pub(crate) fn named(node: Node, name: impl Into<String>) -> Sentence {
        Sentence { spans: vec![SentenceSpan::Name(node, name.into())] }
    }

    /// A name that is not one thing's, or a command.
    pub(crate) fn code(text: impl Into<String>) -> Sentence {
        Sentence { spans: vec![SentenceSpan::Code(text.into())] }
    }

    /// A share with its standard error, where there is one.
    pub(crate) fn share(percent: f64, error: Option<f64>) -> Sentence {
        Sentence { spans: vec![SentenceSpan::Share(percent, error)] }
    }

    /// These, with `between` between them.
    pub(crate) fn joined(sentences: impl IntoIterator<Item = Sentence>, between: &str) -> Sentence {
        let mut joined = Sentence::default();
        for sentence in sentences {
            if !joined.spans.is_empty() {
                joined.push(between);
            }
            joined.push(sentence);
        }
        joined
    }

    /// Adds a part.
    pub(crate) fn push(&mut self, part: impl Into<Sentence>) {
        for span in part.into().spans {
            match (self.spans.last_mut(), span) {
                (_, SentenceSpan::Text(text)) if text.is_empty() => {}
                (Some(SentenceSpan::Text(last)), SentenceSpan::Text(text)) => last.push_str(&text),
                (_, span) => self.spans.push(span),
            }
        }
    }

    /// Whether it says nothing.
    pub(crate) fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// The sentence for people, with names between backquotes.
    pub(crate) fn text(&self) -> String {
        let quoted = |span: &SentenceSpan| match span {
            SentenceSpan::Name(_, name) | SentenceSpan::Code(name) => format!("`{name}`"),
            span => span.text(),
        };
        self.spans.iter().map(quoted).collect()
    }

    /// What it names, in its order.
    #[cfg(test)]
    pub(crate) fn names(&self) -> impl Iterator<Item = Node> + '_ {
        self.spans.iter().filter_map(|span| match span {
            SentenceSpan::Name(node, _) => Some(*node),
            _ => None,
        })
    }

    /// The spans as rows of JSON: `text`, and the cells of what it names or measures.
    pub(crate) fn rows(&self, input: &ReportTables<'_>) -> Vec<Row> {
        let row = |span: &SentenceSpan| {
            let row = match *span {
                SentenceSpan::Text(_) => Row::default(),
                SentenceSpan::Code(_) => Row::default().flag("code", true),
                SentenceSpan::Name(node, _) => identity(input, node).0,
                SentenceSpan::Time(time) => Row::default().time("seconds", time),
                SentenceSpan::Share(percent, error) => {
                    Row::default().percent("percent", percent).percent_if("error_percent", error)
                }
            };
            row.text("text", span.text())
        };
        self.spans.iter().map(row).collect()
    }
}

impl SentenceSpan {
    fn text(&self) -> String {
        match self {
            SentenceSpan::Text(text) | SentenceSpan::Name(_, text) | SentenceSpan::Code(text) => text.clone(),
            SentenceSpan::Time(time) => time_text(*time),
            SentenceSpan::Share(percent, error) => percent_with_error(*percent, *error),
        }
    }
}

impl From<&str> for Sentence {
    fn from(text: &str) -> Sentence {
        Sentence { spans: vec![SentenceSpan::Text(text.to_owned())] }
    }
}

impl From<String> for Sentence {
    fn from(text: String) -> Sentence {
        Sentence { spans: vec![SentenceSpan::Text(text)] }
    }
}

impl From<TimeInWords> for Sentence {
    fn from(TimeInWords(time): TimeInWords) -> Sentence {
        Sentence { spans: vec![SentenceSpan::Time(time)] }
    }
}

impl From<ShareInWords> for Sentence {
    fn from(ShareInWords(percent): ShareInWords) -> Sentence {
        Sentence::share(percent, None)
    }
}

impl From<Option<Sentence>> for Sentence {
    fn from(sentence: Option<Sentence>) -> Sentence {
        sentence.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{DrawnRun, LOCK_HOG};

    #[test]
    fn a_sentence_is_text_and_rows_of_what_it_names() {
        let scene = DrawnRun::of(LOCK_HOG);
        let update = Node::Procedure(scene.timelines.procedure("update"));
        scene.with_source(|input| {
            let name = Sentence::name(input, update);
            let said =
                sentence!["It is ", name, " (", ShareInWords(12.34), "), ", TimeInWords(2_500_000), "."];
            assert_eq!(said.text(), "It is `update` (12 %), 2.50 ms.");
            let rows = said.rows(input);
            let texts: Vec<&str> = rows.iter().map(|row| row.words("text")).collect();
            assert_eq!(texts, ["It is ", "update", " (", "12 %", "), ", "2.50 ms", "."]);
            assert_eq!(rows[1].words("procedure"), "update");
            assert_eq!((rows[3].value("percent"), rows[5].value("seconds")), (Some(12.34), Some(0.0025)));
            assert_eq!(said.names().collect::<Vec<_>>(), [update]);
        });
    }

    #[test]
    fn parts_of_text_become_one() {
        let said = sentence!["one", String::from(" "), "", Sentence::from("two"), None];
        assert_eq!(said, Sentence::from("one two"));
        assert_eq!(Sentence::joined(["a", "b"].map(Sentence::from), "; ").text(), "a; b");
    }
}
