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
mod error;
mod export;
mod gate;
mod parameters;
mod refusal;
mod request;
mod server;
mod source;
mod token;

pub use error::{Error, Result};
pub use export::export;
pub use server::{Options, Server};
pub use source::{Mapping, Place};
