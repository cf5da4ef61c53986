//! Connections: accepted, read within limits of time and size, and handed to the router.
//!
//! Any user of the machine can connect to the loopback address. Without the token a connection gets a refusal; with these
//! limits it cannot be held open or filled for long either. Bodies are refused where tokens are checked ([`crate::gate`]).

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

/// What a connection may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConnectionLimits {
    /// Time from the first byte of a request, or from the reply to the one before, to the end of its header.
    pub(crate) header_time: Duration,
    /// Bytes of a request's header.
    pub(crate) header_bytes: usize,
    /// Connections at a time; later ones wait.
    pub(crate) connections: usize,
}

/// A browser sends a header at once, and a URL with the largest formulas is a few kilobytes long.
pub(crate) const LIMITS: ConnectionLimits =
    ConnectionLimits { header_time: Duration::from_secs(10), header_bytes: 32 << 10, connections: 256 };

/// Until the system can accept again: it has no descriptor left.
const RECOVERY: Duration = Duration::from_millis(50);

/// Accepts connections for ever, each served by a task of its own.
pub(crate) async fn accept(listener: TcpListener, router: Router, limits: ConnectionLimits) -> Infallible {
    let free = Arc::new(Semaphore::new(limits.connections));
    loop {
        let permit = Arc::clone(&free).acquire_owned().await.expect("the semaphore is never closed");
        match listener.accept().await {
            Ok((stream, _)) => {
                let router = router.clone();
                tokio::spawn(async move {
                    serve(stream, router, limits).await;
                    drop(permit);
                });
            }
            Err(_) => tokio::time::sleep(RECOVERY).await,
        }
    }
}

/// Serves a connection to its end. What fails is of that connection alone.
async fn serve(stream: TcpStream, router: Router, limits: ConnectionLimits) {
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(limits.header_time)
        .max_buf_size(limits.header_bytes);
    let _ = builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router)).await;
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::Ipv4Addr;

    use axum::routing::get;

    use super::*;

    /// Runs a client against a server with these limits; the client runs on a thread of its own.
    fn with_server<T: Send + 'static>(
        limits: ConnectionLimits,
        client: impl FnOnce(u16) -> T + Send + 'static,
    ) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
            let port = listener.local_addr().unwrap().port();
            let router = Router::new().route("/", get(|| async { "hello" }));
            let client = tokio::task::spawn_blocking(move || client(port));
            tokio::select! {
                never = accept(listener, router, limits) => match never {},
                done = client => done.unwrap(),
            }
        })
    }

    fn connect(port: u16) -> std::net::TcpStream {
        let stream = std::net::TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream
    }

    /// What comes until the server closes the connection.
    fn rest(mut stream: std::net::TcpStream) -> String {
        let mut bytes = Vec::new();
        // A reset ends it, too, where something was sent that the server does not read.
        let _ = stream.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    }

    const QUICK: ConnectionLimits = ConnectionLimits { header_time: Duration::from_millis(300), ..LIMITS };

    #[test]
    fn a_header_that_never_ends_is_given_up_however_it_trickles() {
        let told = with_server(QUICK, |port| {
            let mut stream = connect(port);
            stream.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n").unwrap();
            // A byte now and then does not buy more time: writing fails once the server has closed.
            while stream.write_all(b"X").is_ok() {
                std::thread::sleep(Duration::from_millis(50));
            }
            rest(stream)
        });
        assert!(!told.contains("hello"), "{told}");
    }

    #[test]
    fn a_connection_on_which_nothing_is_asked_is_closed() {
        let told = with_server(QUICK, |port| rest(connect(port)));
        assert!(!told.contains("200"), "{told}");
        let told = with_server(QUICK, |port| {
            let mut stream = connect(port);
            stream.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
            rest(stream)
        });
        assert!(told.contains("hello"), "{told}");
    }

    #[test]
    fn a_header_beyond_the_limit_is_refused() {
        let told = with_server(LIMITS, |port| {
            let mut stream = connect(port);
            let header =
                format!("GET / HTTP/1.1\r\nHost: x\r\nX: {}\r\n\r\n", "a".repeat(2 * LIMITS.header_bytes));
            let _ = stream.write_all(header.as_bytes());
            rest(stream)
        });
        assert!(!told.contains("hello"), "{told}");
        assert!(told.is_empty() || told.starts_with("HTTP/1.1 431"), "{told}");
    }

    #[test]
    fn connections_beyond_the_limit_wait_for_their_turn() {
        let limits = ConnectionLimits { connections: 1, ..QUICK };
        let told = with_server(limits, |port| {
            let idle = connect(port);
            let mut stream = connect(port);
            stream.write_all(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
            let told = rest(stream);
            drop(idle);
            told
        });
        assert!(told.ends_with("hello"), "{told}");
    }
}
