//! What can go wrong with a question.

use std::path::{Path, PathBuf};

/// Result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Completes "failed to …".
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The recording's folder.
    #[error(transparent)]
    Recording(#[from] longpole_recording::Error),
    /// The recording's logs.
    #[error(transparent)]
    Trace(#[from] longpole_trace::Error),
    /// The recorded accesses to memory.
    #[error(transparent)]
    Communication(#[from] longpole_communication::Error),
    /// The recording could be opened, but not be read again.
    #[error("read the recording {}", path.display())]
    Unreadable {
        /// The recording.
        path: PathBuf,
        /// Why not.
        source: longpole_trace::Error,
    },
    /// Another recording was written in its place since it was opened.
    #[error("answer from {}: it has changed since it was opened", path.display())]
    Replaced {
        /// The recording.
        path: PathBuf,
    },
    /// What is asked for is not there.
    #[error(transparent)]
    Report(#[from] longpole_report::Error),
    /// A curve that cannot be drawn.
    #[error(transparent)]
    Timeline(#[from] longpole_timeline::Error),
    /// A metric of which nothing is known.
    #[error("find a metric named `{name}`{hint}")]
    UnknownMetric {
        /// What was asked for.
        name: String,
        /// What is like it: `; did you mean …?`.
        hint: String,
    },
    /// A description or definition of a metric that cannot be understood.
    #[error(transparent)]
    Definition(longpole_series::TextError),
    /// A metric that the node does not have.
    #[error("show `{metric}` of `{node}`: it is known of {known}")]
    NoValueThere {
        /// The metric.
        metric: String,
        /// What it was asked for.
        node: String,
        /// What has it.
        known: String,
    },
    /// A thread or a time that is not in the recording.
    #[error("tell what thread {thread} does at {seconds} s: there is no such thread or no such time")]
    NoSuchMoment {
        /// The thread's number.
        thread: u32,
        /// Seconds since the begin of the run.
        seconds: f64,
    },
    /// The run executed again is not the recorded one.
    #[error("replay the run: {reason}")]
    NotReplayed {
        /// Why, and by how much.
        reason: String,
    },
    /// A change that replay cannot make.
    #[error("replay `{change}`: {reason}")]
    NoReplayOf {
        /// The change.
        change: String,
        /// Why not.
        reason: &'static str,
    },
    /// A row that is not among those of the view.
    #[error("explain row {number}: the view `{view}` has no such row")]
    NoSuchRow {
        /// Name of the view.
        view: &'static str,
        /// The place that was asked for.
        number: usize,
    },
}

impl Error {
    /// For readings of an opened recording.
    pub(crate) fn unreadable(path: &Path) -> impl FnOnce(longpole_trace::Error) -> Error + use<> {
        let path = path.to_owned();
        move |source| Error::Unreadable { path, source }
    }

    /// What to do about it, a line each.
    #[must_use]
    pub fn hints(&self) -> Vec<String> {
        match self {
            Error::NoSuchRow { view, .. } => {
                let all = if *view == longpole_report::View::Waits.name() { " --all" } else { "" };
                vec![format!("`longpole report --view {view}{all}` lists the rows, the first one is 1")]
            }
            Error::UnknownMetric { .. } => {
                vec!["`longpole report --view metrics --all` lists what this recording has".to_owned()]
            }
            Error::NotReplayed { .. } => vec![
                "`longpole what-if` without --replay predicts from the recorded order".to_owned(),
                "`longpole report --view evidence` says what the recording lacks".to_owned(),
            ],
            Error::Communication(error) => error.hints(),
            Error::Replaced { .. } => vec!["start `longpole view` again".to_owned()],
            _ => Vec::new(),
        }
    }
}

/// What failed, with its causes: `read the recording x: read x/events.log: No such file`. A cause that an error repeats
/// itself stands there once.
#[must_use]
pub fn told(error: &(dyn std::error::Error + 'static)) -> String {
    let mut told = String::new();
    let mut cause = Some(error);
    while let Some(error) = cause {
        let text = error.to_string();
        if !told.ends_with(&text) {
            told.push_str(if told.is_empty() { "" } else { ": " });
            told.push_str(&text);
        }
        cause = error.source();
    }
    told
}
