//! What the fuzzer calls: requests, from their path and query to their key.

use crate::request::Request;

/// The key of a request, if it is one.
#[must_use]
pub fn request_key(name: &str, query: &str) -> Option<String> {
    Some(Request::parse(name, query).ok()?.key().text().to_owned())
}
