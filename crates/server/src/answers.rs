//! What is replied to a request: JSON, made of what the recording answers.

use std::path::{Path, PathBuf};

use longpole_answer::Recording;
use longpole_report::{View, registry_json};
use serde::Serialize;

use crate::refusal::Refusal;
use crate::request::Request;
use crate::source::{self, Place};

/// A recording with what is needed to answer requests about it.
#[derive(Debug)]
pub(crate) struct Answers {
    recording: Recording,
    places: Vec<Place>,
}

/// What was recorded, as the page's head shows it.
#[derive(Serialize)]
struct Head<'a> {
    longpole: &'static str,
    name: String,
    command: &'a [String],
    elapsed_seconds: f64,
    is_export: bool,
    views: Vec<Described>,
}

/// A view of `api/report`.
#[derive(Serialize)]
struct Described {
    name: &'static str,
    about: &'static str,
}

impl Answers {
    /// Of this recording, with sources from these places.
    pub(crate) fn new(recording: Recording, places: Vec<Place>) -> Answers {
        Answers { recording, places }
    }

    /// The recording.
    pub(crate) fn recording(&self) -> &Recording {
        &self.recording
    }

    /// The answer as JSON.
    pub(crate) fn answer(&self, request: &Request) -> Result<String, Refusal> {
        match request {
            Request::Recording => self.head(),
            Request::Help => Ok(registry_json()),
            Request::Report(view, question) => Ok(json(&self.recording.report(*view, question)?)),
            Request::WhatIf(supposition) => Ok(json(&self.recording.what_if(supposition)?)),
            Request::Source(file) => self.source(file),
        }
    }

    fn head(&self) -> Result<String, Refusal> {
        let manifest = self.recording.manifest();
        let path = self.recording.folder().path();
        let views = View::ALL.iter().map(|view| Described { name: view.name(), about: view.about() });
        Ok(json(&Head {
            longpole: env!("CARGO_PKG_VERSION"),
            name: name_of(path),
            command: &manifest.command,
            elapsed_seconds: self.recording.elapsed_seconds()?,
            is_export: false,
            views: views.collect(),
        }))
    }

    fn source(&self, file: &str) -> Result<String, Refusal> {
        let trace = self.recording.trace()?;
        if !trace.paths().procedures().iter().any(|procedure| procedure.file == file) {
            return Err(Refusal::missing(format!("show {file}: the recording names no such source file")));
        }
        let origin = PathBuf::from(&self.recording.manifest().working_directory);
        Ok(json(&source::read(file, None, &self.places, &origin)?))
    }
}

fn json(answer: &impl Serialize) -> String {
    serde_json::to_string(answer).expect("an answer has only JSON types")
}

/// The recording's name: its folder's, even of `.`.
fn name_of(path: &Path) -> String {
    let whole = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    whole.file_name().unwrap_or(whole.as_os_str()).to_string_lossy().into_owned()
}
