//! The page and its answers, over HTTP on the loopback address, or as one file.
//!
//! In: a recording's folder. Out: the files of `ui/`, which are embedded, and the interface that `docs/page.md` defines.
//! Nothing is computed here: [`longpole_answer`] answers, and this crate reads requests and writes replies.
//!
//! Invariants: only the loopback address is listened on; a request is heard only with the token in its path and this
//! server's address as its `Host`; no file is served but the page's own and the sources that the recording names.

mod address;
mod answers;
mod assets;
mod bundle;
mod connection;
mod error;
mod export;
#[cfg(fuzzing)]
pub mod fuzzing;
mod gate;
mod parameters;
mod redirect;
mod refusal;
mod request;
mod server;
mod source;
mod token;
mod viewers;

pub use error::{Error, Result};
pub use export::{ExportedPage, export};
pub use redirect::RedirectFile;
pub use server::{Server, ServerOptions, SessionEnd};
pub use source::{SourceDirectory, SourceMapping};
