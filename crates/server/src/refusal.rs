//! A request that is not answered: its status, what failed, and what to do about it.

use axum::http::StatusCode;
use longpole_answer::told;

/// What is replied instead of an answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    /// Completes "failed to …".
    pub(crate) what: String,
    pub(crate) hints: Vec<String>,
}

impl Refusal {
    /// A request that makes no sense.
    pub(crate) fn wrong(what: impl Into<String>) -> Refusal {
        Refusal { status: StatusCode::BAD_REQUEST, what: what.into(), hints: Vec::new() }
    }

    /// A request for what is not there.
    pub(crate) fn missing(what: impl Into<String>) -> Refusal {
        Refusal { status: StatusCode::NOT_FOUND, ..Refusal::wrong(what) }
    }

    /// With what to do about it.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Refusal {
        self.hints.push(hint.into());
        self
    }

    /// Whether another question could be answered.
    pub(crate) fn is_of_the_question(&self) -> bool {
        self.status.is_client_error()
    }

    /// The refusal as JSON.
    pub(crate) fn json(&self) -> String {
        let error = format!("failed to {}", self.what);
        serde_json::json!({ "error": error, "hints": self.hints }).to_string()
    }
}

impl From<longpole_answer::Error> for Refusal {
    fn from(error: longpole_answer::Error) -> Refusal {
        use longpole_answer::Error;
        let status = match &error {
            Error::Report(_) | Error::Timeline(_) | Error::UnknownMetric { .. } | Error::Definition(_) => {
                StatusCode::BAD_REQUEST
            }
            Error::NoSuchWait { .. } | Error::NoSuchMoment { .. } | Error::NoValueThere { .. } => {
                StatusCode::NOT_FOUND
            }
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Refusal { status, what: told(&error), hints: error.hints() }
    }
}
