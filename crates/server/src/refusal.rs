//! A request that is not answered: its status, what failed, and what to do about it.

use axum::http::StatusCode;
use longpole_answer::told;

/// What is replied instead of an answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RequestRefusal {
    pub(crate) status: StatusCode,
    /// Completes "failed to …".
    pub(crate) what: String,
    pub(crate) hints: Vec<String>,
}

impl RequestRefusal {
    /// A request that makes no sense.
    pub(crate) fn wrong(what: impl Into<String>) -> RequestRefusal {
        RequestRefusal { status: StatusCode::BAD_REQUEST, what: what.into(), hints: Vec::new() }
    }

    /// A request for what is not there.
    pub(crate) fn missing(what: impl Into<String>) -> RequestRefusal {
        RequestRefusal { status: StatusCode::NOT_FOUND, ..RequestRefusal::wrong(what) }
    }

    /// With what to do about it.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> RequestRefusal {
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

impl From<longpole_answer::Error> for RequestRefusal {
    fn from(error: longpole_answer::Error) -> RequestRefusal {
        use longpole_answer::Error;
        let status = match &error {
            Error::Report(_) | Error::Timeline(_) | Error::UnknownMetric { .. } | Error::Definition(_) => {
                StatusCode::BAD_REQUEST
            }
            Error::NoSuchRow { .. } | Error::NoSuchMoment { .. } | Error::NoValueThere { .. } => {
                StatusCode::NOT_FOUND
            }
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        RequestRefusal { status, what: told(&error), hints: error.hints() }
    }
}
