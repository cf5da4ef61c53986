//! The server: listens, routes, and answers until it is interrupted.

use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use axum::Router;
use axum::extract::{Path, RawQuery, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use longpole_answer::{MetricFile, Recording};
use tokio::signal::unix::{SignalKind, signal};

use crate::answers::Answers;
use crate::assets::{asset, compressed_asset};
use crate::connection::{LIMITS, accept};
use crate::error::{Error, Result};
use crate::gate::{RequestGuard, pass};
use crate::refusal::RequestRefusal;
use crate::request::Request;
use crate::source::SourceDirectory;
use crate::token::Token;
use crate::viewers::{LastRequest, keep_alive};

/// How long the address waits for the events. Longer readings do not keep anybody from answers that are remembered.
const PATIENCE: Duration = Duration::from_millis(300);

/// What is served, and where.
#[derive(Clone, Debug, Default)]
pub struct ServerOptions {
    /// The recording's folder.
    pub recording: PathBuf,
    /// The folder of the recording before a change, that this one is compared with.
    pub against: Option<PathBuf>,
    /// The port; 0 for any that is free.
    pub port: u16,
    /// Where sources may lie beside the places that the recording names.
    pub sources: Vec<SourceDirectory>,
    /// Files that describe metrics, beside those of the recording.
    pub metric_files: Vec<MetricFile>,
    /// Time after the last request of a page after which serving ends; `None` for never.
    pub idle_exit: Option<Duration>,
}

/// Why serving ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionEnd {
    /// The process was interrupted or told to end.
    Interrupted,
    /// No page has been open for [`ServerOptions::idle_exit`].
    Idle,
}

/// A server that listens already.
pub struct Server {
    listener: TcpListener,
    port: u16,
    token: Token,
    answers: Arc<Answers>,
    idle_exit: Option<Duration>,
}

impl Server {
    /// Opens the recording and listens.
    ///
    /// # Errors
    /// [`Error::Answer`], [`Error::Listen`], [`Error::Random`]. A large recording that cannot be read to its end is found
    /// out later, by those who ask.
    pub fn bind(options: ServerOptions) -> Result<Server> {
        let recording = Recording::open(&options.recording)?.with_metric_files(options.metric_files);
        let before = options.against.as_deref().map(Recording::open).transpose()?;
        let refused = |source| Error::Listen { port: options.port, source };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, options.port)).map_err(refused)?;
        listener.set_nonblocking(true).map_err(refused)?;
        let port = listener.local_addr().map_err(refused)?.port();
        let answers = Answers::new(recording, options.sources)
            .against(before)
            .kept_alive(options.idle_exit.map(keep_alive));
        let answers = Arc::new(answers);
        begin_to_read(&answers)?;
        Ok(Server { listener, port, token: Token::random()?, answers, idle_exit: options.idle_exit })
    }

    /// The page's address.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/{}/", self.port, self.token.text())
    }

    /// The recording that is served.
    #[must_use]
    pub fn recording(&self) -> &Recording {
        self.answers.recording()
    }

    /// Serves until the process is interrupted or told to end, or no page is open any more.
    ///
    /// # Errors
    /// [`Error::Serve`].
    pub fn run(self) -> Result<SessionEnd> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(Error::Serve)?;
        let done = runtime.block_on(self.serve());
        // What is still being computed is for nobody.
        runtime.shutdown_background();
        done
    }

    async fn serve(self) -> Result<SessionEnd> {
        let mut interrupt = signal(SignalKind::interrupt()).map_err(Error::Serve)?;
        let mut terminate = signal(SignalKind::terminate()).map_err(Error::Serve)?;
        let listener = tokio::net::TcpListener::from_std(self.listener).map_err(Error::Serve)?;
        let last = LastRequest::default();
        let router = router(self.answers, RequestGuard::new(self.token, self.port, last.clone()));
        tokio::select! {
            never = accept(listener, router, LIMITS) => match never {},
            _ = interrupt.recv() => Ok(SessionEnd::Interrupted),
            _ = terminate.recv() => Ok(SessionEnd::Interrupted),
            () = last.idle(self.idle_exit) => Ok(SessionEnd::Idle),
        }
    }
}

/// Begins to read the events, so that the first question that needs them finds them read, or being read. What fails at
/// once, as of a broken recording, is told before anybody opens the page.
fn begin_to_read(answers: &Arc<Answers>) -> Result<()> {
    let answers = Arc::clone(answers);
    let (tell, told) = mpsc::channel();
    // Who does not wait any more does not listen either.
    std::thread::spawn(move || _ = tell.send(answers.recording().trace().map(drop)));
    match told.recv_timeout(PATIENCE) {
        Ok(read) => Ok(read?),
        Err(_) => Ok(()),
    }
}

fn router(answers: Arc<Answers>, gate: RequestGuard) -> Router {
    Router::new()
        .route(
            "/{token}",
            get(|Path(token): Path<String>| async move { Redirect::permanent(&format!("/{token}/")) }),
        )
        .route("/{token}/", get(|headers: HeaderMap| async move { file("index.html", &headers) }))
        .route("/{token}/api/{request}", get(api))
        .route("/{token}/{*file}", get(page_file))
        .fallback(|| async { plain(StatusCode::NOT_FOUND) })
        .layer(from_fn_with_state(gate, pass))
        .with_state(answers)
}

/// Answers on a thread of its own: what is computed for one request keeps no other one waiting.
async fn api(
    State(answers): State<Arc<Answers>>,
    Path((_, name)): Path<(String, String)>,
    RawQuery(query): RawQuery,
) -> Response {
    let answer = tokio::task::spawn_blocking(move || {
        let request = Request::parse(&name, query.as_deref().unwrap_or_default())?;
        answers.answer(request)
    });
    let lost = |_| {
        Err(RequestRefusal {
            status: StatusCode::INTERNAL_SERVER_ERROR,
            ..RequestRefusal::wrong("answer: longpole has a defect")
        })
    };
    let (status, body) = match answer.await.unwrap_or_else(lost) {
        Ok(answer) => (StatusCode::OK, answer),
        Err(refusal) => (refusal.status, refusal.json().into()),
    };
    (status, [(header::CONTENT_TYPE, "application/json")], body).into_response()
}

async fn page_file(Path((_, name)): Path<(String, String)>, headers: HeaderMap) -> Response {
    file(&name, &headers)
}

/// A file of the page, compressed where the browser takes that.
fn file(name: &str, headers: &HeaderMap) -> Response {
    let Some(asset) = asset(name) else { return plain(StatusCode::NOT_FOUND) };
    let accepted = headers.get(header::ACCEPT_ENCODING).and_then(|accepted| accepted.to_str().ok());
    let takes_gzip = accepted.is_some_and(|accepted| accepted.contains("gzip"));
    let kind = (header::CONTENT_TYPE, asset.content_type);
    match compressed_asset(name).filter(|_| takes_gzip) {
        Some(bytes) => ([kind, (header::CONTENT_ENCODING, "gzip")], bytes).into_response(),
        None => ([kind], asset.bytes).into_response(),
    }
}

fn plain(status: StatusCode) -> Response {
    (status, "there is no such file\n").into_response()
}
