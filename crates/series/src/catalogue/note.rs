//! What is said of metrics: that they were refused, or how they were taken.

use std::fmt;

use crate::{Description, TextError};

/// Where definitions come from, in messages.
pub const DEFINE: &str = "--define";

/// What has to be said about the metrics of a recording.
#[derive(Clone, Debug, PartialEq)]
pub enum Note {
    /// A metric is not there as it was described.
    Refused {
        /// Its name, as far as it is known.
        metric: String,
        /// The definition, where it was not in a file.
        define: Option<String>,
        /// Why, and where that stands.
        error: TextError,
    },
    /// A sentence about what is there.
    Said(String),
}

impl Note {
    /// A metric that was refused.
    pub(super) fn refused(description: &Description, error: TextError) -> Note {
        let is_define = description.source.origin() == DEFINE;
        let define = is_define.then(|| description.source.text().to_owned());
        Note::Refused { metric: description.name.clone(), define, error }
    }
}

impl fmt::Display for Note {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Note::Said(text) => out.write_str(text),
            Note::Refused { metric, error, .. } => {
                let name = if metric.is_empty() { "a definition" } else { metric };
                let TextError { origin, line, column, message, .. } = error;
                write!(out, "{name} is left out: {origin}, line {line}, column {column}: {message}")
            }
        }
    }
}

/// The error about a name that is taken.
pub fn taken(description: &Description, class: &str, name: &str) -> TextError {
    let article = if class == "external" { "an" } else { "a" };
    let of = if name == description.name { String::new() } else { format!(", {name},") };
    let told = format!("{article} {class} metric{of} has the name {} already", description.name);
    description.source.error(&description.name_at, told)
}
