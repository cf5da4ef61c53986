//! What can go wrong with a report.

use longpole_series::is_like;

use crate::find::NameKind;

/// Result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Completes "failed to …".
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A view's name that is not known.
    #[error("find the view `{name}`{near}: the views are {known}")]
    UnknownView {
        /// What was asked for.
        name: String,
        /// What is like it: `; did you mean …?`.
        near: String,
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
    /// Rows of a kind that the view does not have.
    #[error("show `{view}` by process and procedure: that goes with the views {known}")]
    NotByProcessProcedure {
        /// The view.
        view: &'static str,
        /// Views that can be so.
        known: String,
    },
    /// Nothing has this name.
    #[error("find {} {kinds} named `{name}`{}", article(kinds), nearest_text(name, nearest))]
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
    /// A condition of a check that is none, or that cannot be checked.
    #[error("check `{text}`: {reason}")]
    BadCondition {
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
        kind: NameKind,
        /// Kinds that would do.
        kinds: String,
    },
}

/// `a` or `an`, before the word.
fn article(word: &str) -> &'static str {
    if word.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" }
}

fn nearest_text(name: &str, nearest: &[String]) -> String {
    if nearest.is_empty() {
        return ": the recording has no such names".to_owned();
    }
    let of_kind = |label: &str| label.split_once(':').map_or(label.to_owned(), |(_, name)| name.to_owned());
    let like: Vec<&str> =
        nearest.iter().map(String::as_str).filter(|label| is_like(name, &of_kind(label))).collect();
    if like.is_empty() {
        format!(": the nearest names are {}", nearest.join(", "))
    } else {
        format!("; did you mean {}?", like.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_has_its_article() {
        let error = Error::NoSuchName { name: "x".into(), kinds: "object".into(), nearest: Vec::new() };
        assert_eq!(error.to_string(), "find an object named `x`: the recording has no such names");
        let nearest = vec!["object:table_lock".to_owned(), "object:end of thread hog".to_owned()];
        let error = |name: &str| {
            let (name, kinds, nearest) = (name.to_owned(), "object".to_owned(), nearest.clone());
            Error::NoSuchName { name, kinds, nearest }.to_string()
        };
        assert_eq!(error("table_lok"), "find an object named `table_lok`; did you mean object:table_lock?");
        assert!(error("x").ends_with(": the nearest names are object:table_lock, object:end of thread hog"));
        assert_eq!([article("thread"), article("object")], ["a", "an"]);
    }
}
