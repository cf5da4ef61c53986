//! What is replied to a request: JSON, made of what the recording answers.

use std::path::Path;
use std::time::Duration;

use axum::body::Bytes;
use longpole_answer::{Cache, CurveRequest, Question, Recording, TimeRange, ValueCache, WindowQuestion};
use longpole_report::{Fold, Report, View, registry_json};
use serde::Serialize;

use crate::address::RequestKey;
use crate::refusal::RequestRefusal;
use crate::request::Request;
use crate::source::{self, SourceAnswer, SourceDirectory};

/// A recording with what is needed to answer requests about it.
#[derive(Debug)]
pub(crate) struct Answers {
    recording: Recording,
    /// The one before a change, that this one is compared with.
    before: Option<Recording>,
    places: Vec<SourceDirectory>,
    /// Answers given before, in this process and on disk.
    given: ValueCache<RequestKey, Bytes>,
    cache: Option<Cache>,
    is_export: bool,
    keep_alive: Option<Duration>,
}

/// Answers that are kept in memory, and the most bytes of one that is kept there and on disk.
const KEPT: usize = 64;
const LARGEST_KEPT: usize = 4 << 20;

/// Why there is nothing to be kept.
enum NotCached {
    /// An answer that would push out many others.
    Large(Bytes),
    /// No answer.
    Refused(RequestRefusal),
}

/// What was recorded, as the page's head shows it.
#[derive(Serialize)]
struct PageHead<'a> {
    longpole: &'static str,
    name: String,
    command: &'a [String],
    elapsed_seconds: f64,
    /// Whether accesses to memory were recorded.
    has_accesses: bool,
    is_export: bool,
    /// The recording that this one is compared with.
    #[serde(skip_serializing_if = "Option::is_none")]
    against: Option<String>,
    /// How often an open page asks for this, so that it is known to be open.
    #[serde(skip_serializing_if = "Option::is_none")]
    keep_alive_seconds: Option<f64>,
    views: Vec<ViewDescription>,
}

/// A view of `api/report`.
#[derive(Serialize)]
struct ViewDescription {
    name: &'static str,
    about: &'static str,
}

impl Answers {
    /// Of this recording, with sources from these places.
    pub(crate) fn new(recording: Recording, places: Vec<SourceDirectory>) -> Answers {
        let cache = recording.cache();
        Answers {
            recording,
            before: None,
            places,
            given: ValueCache::of(KEPT),
            cache,
            is_export: false,
            keep_alive: None,
        }
    }

    /// The same, compared with a recording of the program before a change.
    pub(crate) fn against(self, before: Option<Recording>) -> Answers {
        Answers { before, ..self }
    }

    /// The same, where an open page has to ask every so often.
    pub(crate) fn kept_alive(self, keep_alive: Option<Duration>) -> Answers {
        Answers { keep_alive, ..self }
    }

    /// The same for a file that holds its answers.
    pub(crate) fn exported(recording: Recording, places: Vec<SourceDirectory>) -> Answers {
        Answers { is_export: true, ..Answers::new(recording, places) }
    }

    /// Whether there is a recording that this one is compared with.
    pub(crate) fn is_compared(&self) -> bool {
        self.before.is_some()
    }

    /// The recording.
    pub(crate) fn recording(&self) -> &Recording {
        &self.recording
    }

    /// The answer as JSON. What takes a reading of the recording, and can be asked for again, is remembered.
    pub(crate) fn answer(&self, request: Request) -> Result<Bytes, RequestRefusal> {
        let request = self.simplified(request)?;
        let is_remembered = match &request {
            Request::Report(..) | Request::WhatIf(_) | Request::Metrics(_) => true,
            // Who pans and zooms asks for a window once; the whole run is what all begin with.
            Request::Timeline(question) => question.stretch == TimeRange::default(),
            Request::Curve(course) => course.stretch == TimeRange::default(),
            _ => false,
        };
        if is_remembered { self.remembered(&request) } else { self.made(&request).map(Bytes::from) }
    }

    fn remembered(&self, request: &Request) -> Result<Bytes, RequestRefusal> {
        let key = request.key();
        let given = self.given.get_or(key.clone(), || {
            if let Some(answer) = self.cache.as_ref().and_then(|cache| cache.get(key.text())) {
                return Ok(Bytes::from(answer));
            }
            let answer = self.made(request).map_err(NotCached::Refused)?;
            if answer.len() > LARGEST_KEPT {
                return Err(NotCached::Large(answer.into()));
            }
            // Who exports asks for more than anybody looks at.
            if let Some(cache) = self.cache.as_ref().filter(|_| !self.is_export) {
                cache.put(key.text(), &answer);
            }
            Ok(answer.into())
        });
        match given {
            Ok(answer) | Err(NotCached::Large(answer)) => Ok(answer),
            Err(NotCached::Refused(refusal)) => Err(refusal),
        }
    }

    fn made(&self, request: &Request) -> Result<String, RequestRefusal> {
        Ok(match request {
            Request::Recording => json(&self.head()?),
            Request::Help => registry_json(),
            Request::Metrics(define) => json(&self.recording.metrics(define)?),
            Request::Report(view, question) => json(&self.recording.report(*view, question)?),
            Request::Diff => json(&self.diff()?),
            Request::WhatIf(supposition) => json(&self.recording.what_if(supposition)?),
            Request::Timeline(question) => json(&self.recording.frame(question)?),
            Request::Wakes(stretch) => json(&self.recording.wakes(*stretch)?),
            Request::Moment(thread, time) => json(&self.recording.moment(*thread, *time)?),
            Request::Curve(course) => json(&self.recording.curve(course)?),
            Request::Source(file) => json(&self.source(file)?),
        })
    }

    /// The request without ends of a window that are the run's own, so that all ask the same who ask for all of it.
    fn simplified(&self, request: Request) -> Result<Request, RequestRefusal> {
        let elapsed = self.recording.elapsed_seconds()?;
        let simple = |TimeRange { from, to }: TimeRange| TimeRange {
            from: from.filter(|from| from.value() > 0.0),
            to: to.filter(|to| to.value() < elapsed),
        };
        Ok(match request {
            Request::Timeline(question) => {
                Request::Timeline(WindowQuestion { stretch: simple(question.stretch), ..question })
            }
            Request::Curve(course) => {
                Request::Curve(CurveRequest { stretch: simple(course.stretch), ..course })
            }
            request => request,
        })
    }

    fn head(&self) -> Result<PageHead<'_>, RequestRefusal> {
        let manifest = self.recording.manifest();
        let views = View::ALL.iter().map(|view| ViewDescription { name: view.name(), about: view.about() });
        Ok(PageHead {
            longpole: env!("CARGO_PKG_VERSION"),
            name: name_of(self.recording.folder().path()),
            command: &manifest.command,
            elapsed_seconds: self.recording.elapsed_seconds()?,
            has_accesses: self.recording.has_accesses(),
            is_export: self.is_export,
            against: self.before.as_ref().map(|before| name_of(before.folder().path())),
            keep_alive_seconds: self.keep_alive.map(|time| time.as_secs_f64()),
            views: views.collect(),
        })
    }

    /// As `longpole diff` has it.
    fn diff(&self) -> Result<Report, RequestRefusal> {
        let before = self.before.as_ref().ok_or_else(|| {
            RequestRefusal::missing("compare: the page has one recording only")
                .hint("`longpole view AFTER --against BEFORE` compares two")
        })?;
        let question = Question { fold: Some(Fold::Libraries), ..Question::default() };
        Ok(before.diff(&self.recording, &question)?)
    }

    fn source(&self, file: &str) -> Result<SourceAnswer, RequestRefusal> {
        let trace = self.recording.trace()?;
        if !trace.paths().procedures().iter().any(|procedure| procedure.file == file) {
            return Err(RequestRefusal::missing(format!(
                "show {file}: the recording names no such source file"
            )));
        }
        let folder = self.recording.folder();
        // A damaged list of copies is no reason not to look elsewhere.
        if let Ok(Some(kept)) = folder.source(file) {
            return Ok(source::shown(file, &folder.path().join("sources"), &kept));
        }
        let sources = folder.sources().ok().flatten().unwrap_or_default();
        let refused = sources.refused.iter().find(|refused| refused.path == file);
        source::read(file, &self.places, refused.map(|refused| refused.reason.as_str()))
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

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use longpole_testkit::Drawing;
    use tempfile::TempDir;

    use super::*;

    fn recorded() -> (TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.longpole");
        Drawing::example().write(&path).unwrap();
        (folder, path)
    }

    fn ask(answers: &Answers, name: &str, query: &str) -> Result<String, RequestRefusal> {
        let answer = answers.answer(Request::parse(name, query).unwrap())?;
        Ok(String::from_utf8(answer.to_vec()).unwrap())
    }

    #[test]
    fn what_is_remembered_is_answered_without_the_events() {
        let (_folder, path) = recorded();
        fs::remove_dir_all(path.join("machine-0")).unwrap();
        let recording = Recording::open(&path).unwrap();
        recording.cache().unwrap().put("report?view=npt", "[1]");
        recording.cache().unwrap().put("timeline?bins=9", "[2]");
        let answers = Answers::new(recording, Vec::new());
        assert_eq!(ask(&answers, "report", "view=npt"), Ok("[1]".to_owned()));
        assert_eq!(ask(&answers, "timeline", "bins=9"), Ok("[2]".to_owned()));
        let refusal = ask(&answers, "report", "view=waits").unwrap_err();
        assert!(refusal.what.contains("find any event"), "{}", refusal.what);
    }

    #[test]
    fn a_window_of_all_is_the_same_however_its_ends_are_given() {
        let (_folder, path) = recorded();
        let answers = Answers::new(Recording::open(&path).unwrap(), Vec::new());
        let elapsed = answers.recording().elapsed_seconds().unwrap();
        let key = |query: &str| {
            let request = Request::parse("timeline", query).unwrap();
            answers.simplified(request).unwrap().key().text().to_owned()
        };
        for query in ["bins=9", "bins=9&from=0", &format!("bins=9&from=0&to={elapsed}"), "bins=9&to=1e9"] {
            assert_eq!(key(query), "timeline?bins=9", "{query}");
        }
        assert!(key(&format!("bins=9&to={}", elapsed / 2.0)).contains("to="));
    }
}
