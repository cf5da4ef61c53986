//! Who is heard: requests for this address, with the token in their path and without a body. What goes out is fenced in by headers.

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::token::Token;
use crate::viewers::LastRequest;

/// What a request has to have.
#[derive(Clone)]
pub(crate) struct RequestGuard {
    token: Token,
    port: u16,
    last: LastRequest,
}

/// The page may load its own files, ask its own server, and nothing else. uPlot and the page set styles from scripts by the
/// object model, which needs no `unsafe-inline`.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
    img-src 'self' data:; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const FENCE: [(HeaderName, &str); 5] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CACHE_CONTROL, "no-store"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

impl RequestGuard {
    /// Every request that is heard is noted in `last`.
    pub(crate) fn new(token: Token, port: u16, last: LastRequest) -> RequestGuard {
        RequestGuard { token, port, last }
    }

    /// Why the request is not heard.
    fn refusal(&self, path: &str, headers: &HeaderMap) -> Option<(StatusCode, &'static str)> {
        if !self.is_host(headers) {
            // A page of another name that was made to mean this address (DNS rebinding).
            return Some((StatusCode::MISDIRECTED_REQUEST, "this is not the address of the page\n"));
        }
        let claimed = path.split('/').nth(1).unwrap_or_default();
        let wrong = "the address lacks the right token: open the one that `longpole view` printed\n";
        if !self.token.is(claimed) {
            return Some((StatusCode::FORBIDDEN, wrong));
        }
        has_body(headers).then_some((StatusCode::PAYLOAD_TOO_LARGE, "no request has a body here\n"))
    }

    fn is_host(&self, headers: &HeaderMap) -> bool {
        let mut hosts = headers.get_all(header::HOST).iter();
        let (Some(host), None) = (hosts.next(), hosts.next()) else { return false };
        let Ok(host) = host.to_str() else { return false };
        ["127.0.0.1", "localhost", "[::1]"].iter().any(|name| {
            let port = host.strip_prefix(name);
            // Browsers leave out the port that is HTTP's own.
            port.is_some_and(|port| port == format!(":{}", self.port) || (port.is_empty() && self.port == 80))
        })
    }
}

/// Whether anything follows the header: questions are in the path alone.
fn has_body(headers: &HeaderMap) -> bool {
    let is_empty = headers.get(header::CONTENT_LENGTH).is_none_or(|length| length == "0");
    !is_empty || headers.contains_key(header::TRANSFER_ENCODING)
}

/// Hears the request or refuses it plainly. After a refusal the connection is closed: nothing more of it is read.
pub(crate) async fn pass(State(gate): State<RequestGuard>, request: Request, next: Next) -> Response {
    let mut response = match gate.refusal(request.uri().path(), request.headers()) {
        Some(refusal) => ([(header::CONNECTION, "close")], refusal).into_response(),
        None => {
            gate.last.note();
            let response = next.run(request).await;
            // A question that took long counts from its answer.
            gate.last.note();
            response
        }
    };
    for (name, value) in FENCE {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(gate: &RequestGuard, path: &str, hosts: &[&str]) -> Option<u16> {
        let mut headers = HeaderMap::new();
        for host in hosts {
            headers.append(header::HOST, HeaderValue::from_str(host).unwrap());
        }
        gate.refusal(path, &headers).map(|(status, _)| status.as_u16())
    }

    #[test]
    fn only_requests_for_this_address_are_heard() {
        let token = Token::random().unwrap();
        let path = format!("/{}/", token.text());
        let gate = RequestGuard::new(token, 4321, LastRequest::default());
        for host in ["127.0.0.1:4321", "localhost:4321", "[::1]:4321"] {
            assert_eq!(refused(&gate, &path, &[host]), None, "{host}");
        }
        for host in
            ["127.0.0.1", "127.0.0.1:4322", "evil.example:4321", "localhost.evil.example:4321", ":4321", ""]
        {
            assert_eq!(refused(&gate, &path, &[host]), Some(421), "{host}");
        }
        assert_eq!(refused(&gate, &path, &[]), Some(421));
        assert_eq!(refused(&gate, &path, &["127.0.0.1:4321", "evil.example"]), Some(421));
    }

    #[test]
    fn the_port_may_be_left_out_where_browsers_leave_it_out() {
        let token = Token::random().unwrap();
        let path = format!("/{}/", token.text());
        assert_eq!(
            refused(&RequestGuard::new(token, 80, LastRequest::default()), &path, &["localhost"]),
            None
        );
    }

    #[test]
    fn without_the_token_nothing_is_heard() {
        let token = Token::random().unwrap();
        let text = token.text().to_owned();
        let gate = RequestGuard::new(token, 4321, LastRequest::default());
        for path in [
            "/",
            "",
            "//",
            "/api/help",
            &format!("//{text}/"),
            &format!("/x{text}/"),
            &format!("/{}/", &text[2..]),
        ] {
            assert_eq!(refused(&gate, path, &["127.0.0.1:4321"]), Some(403), "{path}");
        }
        assert_eq!(refused(&gate, &format!("/{text}/api/help"), &["127.0.0.1:4321"]), None);
    }

    #[test]
    fn a_request_with_a_body_is_refused() {
        let token = Token::random().unwrap();
        let path = format!("/{}/", token.text());
        let gate = RequestGuard::new(token, 4321, LastRequest::default());
        let with = |name: HeaderName, value: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, HeaderValue::from_static("127.0.0.1:4321"));
            headers.insert(name, HeaderValue::from_static(value));
            gate.refusal(&path, &headers).map(|(status, _)| status.as_u16())
        };
        assert_eq!(with(header::CONTENT_LENGTH, "0"), None);
        assert_eq!(with(header::CONTENT_LENGTH, "1"), Some(413));
        assert_eq!(with(header::CONTENT_LENGTH, "99999999999999999999999"), Some(413));
        assert_eq!(with(header::TRANSFER_ENCODING, "chunked"), Some(413));
    }
}
