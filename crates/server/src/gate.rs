//! Who is heard: requests for this address, with the token in their path. What goes out is fenced in by headers.

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::token::Token;

/// What a request has to have.
#[derive(Clone)]
pub(crate) struct Gate {
    token: Token,
    port: u16,
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

impl Gate {
    pub(crate) fn new(token: Token, port: u16) -> Gate {
        Gate { token, port }
    }

    /// Why the request is not heard.
    fn refusal(&self, path: &str, headers: &HeaderMap) -> Option<(StatusCode, &'static str)> {
        if !self.is_host(headers) {
            // A page of another name that was made to mean this address (DNS rebinding).
            return Some((StatusCode::MISDIRECTED_REQUEST, "this is not the address of the page\n"));
        }
        let claimed = path.split('/').nth(1).unwrap_or_default();
        let wrong = "the address lacks the right token: open the one that `longpole view` printed\n";
        (!self.token.is(claimed)).then_some((StatusCode::FORBIDDEN, wrong))
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

/// Hears the request or refuses it plainly.
pub(crate) async fn pass(State(gate): State<Gate>, request: Request, next: Next) -> Response {
    let mut response = match gate.refusal(request.uri().path(), request.headers()) {
        Some(refusal) => refusal.into_response(),
        None => next.run(request).await,
    };
    for (name, value) in FENCE {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(gate: &Gate, path: &str, hosts: &[&str]) -> Option<u16> {
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
        let gate = Gate::new(token, 4321);
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
        assert_eq!(refused(&Gate::new(token, 80), &path, &["localhost"]), None);
    }

    #[test]
    fn without_the_token_nothing_is_heard() {
        let token = Token::random().unwrap();
        let text = token.text().to_owned();
        let gate = Gate::new(token, 4321);
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
}
