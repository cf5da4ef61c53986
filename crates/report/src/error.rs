//! What can go wrong with a report.

use crate::find::Kind;

/// Result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Completes "failed to …".
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A view's name that is not known.
    #[error("find the view `{name}`: the views are {known}")]
    UnknownView {
        /// What was asked for.
        name: String,
        /// The names there are.
        known: String,
    },
    /// A view that is always about the whole program.
    #[error("show `{view}` of one thing: `--of` goes with the views {known}")]
    NotOfOne {
        /// The view.
        view: &'static str,
        /// Views that can be of one thing.
        known: String,
    },
    /// Nothing has this name.
    #[error("find {} {kinds} named `{name}`{}", article(kinds), nearest_text(nearest))]
    NoSuchName {
        /// The name.
        name: String,
        /// What could have had it.
        kinds: String,
        /// The nearest names.
        nearest: Vec<String>,
    },
    /// Several things have this name.
    #[error("tell which of {count} is meant by `{name}`: {}", candidates.join(", "))]
    AmbiguousName {
        /// The name.
        name: String,
        /// How many have it.
        count: usize,
        /// The names by which each is found; the first few of many.
        candidates: Vec<String>,
    },
    /// A change that is none.
    #[error("change `{text}`: {reason}")]
    BadChange {
        /// What was asked for.
        text: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A phase that is none, or none of this run.
    #[error("use the phase `{text}`: {reason}; the run is {length} long")]
    BadPhase {
        /// What was asked for.
        text: String,
        /// What is wrong with it.
        reason: String,
        /// How long the run is.
        length: String,
    },
    /// A procedure that is in the tables of a recording, but was never seen.
    #[error("use the phase `{name}`: no thread was ever seen there")]
    NeverSeen {
        /// What was asked for.
        name: String,
    },
    /// Something of this kind is no answer here.
    #[error("use `{name}`: {} {kinds} is needed here, not {} {kind}", article(kinds), article(kind.name()))]
    WrongKind {
        /// What was asked for.
        name: String,
        /// Its kind.
        kind: Kind,
        /// Kinds that would do.
        kinds: String,
    },
}

/// `a` or `an`, before the word.
fn article(word: &str) -> &'static str {
    if word.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" }
}

fn nearest_text(nearest: &[String]) -> String {
    match nearest {
        [] => ": the recording has no such names".to_owned(),
        nearest => format!(": the nearest names are {}", nearest.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_has_its_article() {
        let error = Error::NoSuchName { name: "x".into(), kinds: "object".into(), nearest: Vec::new() };
        assert_eq!(error.to_string(), "find an object named `x`: the recording has no such names");
        assert_eq!([article("thread"), article("object")], ["a", "an"]);
    }
}
