//! The server: listens, routes, and answers until it is interrupted.

use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, RawQuery, State};
use axum::http::{StatusCode, header};
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use longpole_answer::Recording;
use tokio::signal::unix::{SignalKind, signal};

use crate::answers::Answers;
use crate::assets::asset;
use crate::error::{Error, Result};
use crate::gate::{Gate, pass};
use crate::refusal::Refusal;
use crate::request::Request;
use crate::source::Place;
use crate::token::Token;

/// What is served, and where.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The recording's folder.
    pub recording: PathBuf,
    /// The port; 0 for any that is free.
    pub port: u16,
    /// Where sources may lie beside the places that the recording names.
    pub sources: Vec<Place>,
}

/// A server that listens already.
pub struct Server {
    listener: TcpListener,
    port: u16,
    token: Token,
    answers: Arc<Answers>,
}

impl Server {
    /// Opens the recording and listens.
    ///
    /// # Errors
    /// [`Error::Answer`], [`Error::Listen`], [`Error::Random`].
    pub fn bind(options: Options) -> Result<Server> {
        let recording = Recording::open(&options.recording)?;
        let refused = |source| Error::Listen { port: options.port, source };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, options.port)).map_err(refused)?;
        listener.set_nonblocking(true).map_err(refused)?;
        let port = listener.local_addr().map_err(refused)?.port();
        let answers = Arc::new(Answers::new(recording, options.sources));
        Ok(Server { listener, port, token: Token::random()?, answers })
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

    /// Serves until the process is interrupted or told to end.
    ///
    /// # Errors
    /// [`Error::Serve`].
    pub fn run(self) -> Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(Error::Serve)?;
        let done = runtime.block_on(self.serve());
        // What is still being computed is for nobody.
        runtime.shutdown_background();
        done
    }

    async fn serve(self) -> Result<()> {
        let mut interrupt = signal(SignalKind::interrupt()).map_err(Error::Serve)?;
        let mut terminate = signal(SignalKind::terminate()).map_err(Error::Serve)?;
        let listener = tokio::net::TcpListener::from_std(self.listener).map_err(Error::Serve)?;
        let answers = Arc::clone(&self.answers);
        // The first question that needs the events finds them read, or being read. What fails here fails there, too.
        tokio::task::spawn_blocking(move || _ = answers.recording().trace());
        let router = router(self.answers, Gate::new(self.token, self.port));
        tokio::select! {
            served = axum::serve(listener, router) => served.map_err(Error::Serve),
            _ = interrupt.recv() => Ok(()),
            _ = terminate.recv() => Ok(()),
        }
    }
}

fn router(answers: Arc<Answers>, gate: Gate) -> Router {
    Router::new()
        .route(
            "/{token}",
            get(|Path(token): Path<String>| async move { Redirect::permanent(&format!("/{token}/")) }),
        )
        .route("/{token}/", get(|| async { file("index.html") }))
        .route("/{token}/api/{request}", get(api))
        .route("/{token}/{*file}", get(|Path((_, name)): Path<(String, String)>| async move { file(&name) }))
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
        Err(Refusal {
            status: StatusCode::INTERNAL_SERVER_ERROR,
            ..Refusal::wrong("answer: longpole has a defect")
        })
    };
    let (status, body) = match answer.await.unwrap_or_else(lost) {
        Ok(answer) => (StatusCode::OK, answer),
        Err(refusal) => (refusal.status, refusal.json().into()),
    };
    (status, [(header::CONTENT_TYPE, "application/json")], body).into_response()
}

fn file(name: &str) -> Response {
    match asset(name) {
        Some(asset) => ([(header::CONTENT_TYPE, asset.content_type)], asset.bytes).into_response(),
        None => plain(StatusCode::NOT_FOUND),
    }
}

fn plain(status: StatusCode) -> Response {
    (status, "there is no such file\n").into_response()
}
