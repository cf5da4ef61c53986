//! `longpole export --to html`: the page with its answers in it, as one file.
//!
//! The answers are those that the page asks for of the whole run; their keys are those that it asks with. Windows of the
//! timeline are cut from one frame, so that the file is bounded.

use std::collections::{BTreeMap, BTreeSet};

use longpole_answer::{Choice, CurveRequest, DeviceWaits, Question, Recording, TimeRange, WindowQuestion};
use longpole_metrics::{By, Weight};
use longpole_report::{Report, Row, View};

use crate::answers::Answers;
use crate::assets::compressed;
use crate::bundle::bundled;
use crate::error::{Error, Result};
use crate::refusal::RequestRefusal;
use crate::request::Request;
use crate::source::SourceDirectory;

/// Waits that are explained in full, and objects, procedures and threads that are told of alone.
const EXPLAINED: usize = 50;
const ALONE: usize = 50;
/// Rows of `communication` that are explained, of each kind.
const REQUESTS_EXPLAINED: usize = 12;
/// Rows of a table; waits are long ones.
const MOST_ROWS: usize = 2000;
const MOST_WAITS: usize = 200;
/// Files of which the source is in the file.
const SOURCES: usize = 30;
/// Bins of the timeline's frame at best, and the least that is of use.
const MOST_BINS: u32 = 4096;
const LEAST_BINS: u32 = 256;
/// Most bytes of the frame, compressed; with fewer bins it is smaller.
const FRAME_BYTES: usize = 2 << 20;
/// Most bytes of all else, compressed: answers that no longer find room are left out, the rarest questions first.
const ANSWER_BYTES: usize = 4 << 20;
/// Bins of curves.
const CURVE_BINS: u32 = 1024;
/// Curves of metrics from outside and derived ones, of the program, and their bins.
const OUTSIDE_CURVES: usize = 100;
const OUTSIDE_BINS: u32 = 512;
/// Curves of the program.
const CURVES: [&str; 9] = [
    "effective_parallelism",
    "nominal_parallelism",
    "cpu_seconds",
    "spin_seconds",
    "ready_seconds",
    "wait_seconds",
    "synchronisation_wait_seconds",
    "npt_seconds",
    "critical_path_seconds",
];

/// The page of a recording as one file, compared with the recording before a change where there is one.
///
/// # Errors
/// [`Error::Answer`] when the recording cannot be read.
pub fn export(
    recording: Recording,
    before: Option<Recording>,
    sources: Vec<SourceDirectory>,
) -> Result<ExportedPage> {
    recording.trace()?;
    let mut collection = ExportedAnswers {
        answers: Answers::exported(recording, sources).against(before),
        held: BTreeMap::new(),
        bytes: 0,
        files: vec![],
    };
    collection.ask_what_all_begin_with()?;
    collection.ask_for_tables()?;
    collection.ask_for_outside()?;
    collection.ask_for_single_things()?;
    let text = bundled(&compressed(&collection.json()))?;
    Ok(ExportedPage { text, sources: collection.files })
}

/// A page as one file, with what it holds of other files.
#[derive(Clone, Debug)]
pub struct ExportedPage {
    /// The page.
    pub text: String,
    /// The source files in it: what the recording calls each.
    pub sources: Vec<String>,
}

/// Answers by their keys.
struct ExportedAnswers {
    answers: Answers,
    held: BTreeMap<String, String>,
    /// Compressed, each alone: somewhat more than together.
    bytes: usize,
    /// Source files that are held.
    files: Vec<String>,
}

impl ExportedAnswers {
    /// Asks, and keeps the answer under the request's key; says whether there was room for it. A question that has no
    /// answer in this recording is left out, as the page shows none.
    fn ask(&mut self, request: Request) -> Result<bool> {
        let key = request.key().text().to_owned();
        if self.held.contains_key(&key) {
            return Ok(true);
        }
        match self.answers.answer(shortened(request)) {
            Ok(answer) => {
                let bytes = self.bytes + compressed(&answer).len();
                let has_room = bytes <= ANSWER_BYTES;
                if has_room {
                    self.bytes = bytes;
                    self.held.insert(key, String::from_utf8_lossy(&answer).into_owned());
                }
                Ok(has_room)
            }
            Err(refusal) if refusal.is_of_the_question() => Ok(true),
            Err(refusal) => Err(failed(refusal)),
        }
    }

    fn report(&mut self, view: View, question: Question) -> Result<bool> {
        self.ask(Request::Report(view, question))
    }

    fn ask_what_all_begin_with(&mut self) -> Result<()> {
        self.ask(Request::Recording)?;
        self.ask(Request::Help)?;
        if self.answers.is_compared() {
            self.ask(Request::Diff)?;
        }
        for &view in View::ALL {
            self.report(view, Question::default())?;
        }
        self.ask_for_frame()?;
        for metric in CURVES {
            self.ask_for_curve(metric, CURVE_BINS)?;
        }
        Ok(())
    }

    fn ask_for_curve(&mut self, metric: &str, bins: u32) -> Result<bool> {
        let (metric, node, define) = (metric.to_owned(), "program".to_owned(), Vec::new());
        let stretch = TimeRange::default();
        self.ask(Request::Curve(CurveRequest {
            metric,
            node,
            stretch,
            bins,
            io: DeviceWaits::default(),
            define,
        }))
    }

    /// What metrics from outside and derived ones are, and the curves of the program, as long as there is room.
    fn ask_for_outside(&mut self) -> Result<()> {
        self.ask(Request::Metrics(Vec::new()))?;
        let list = self.answers.recording().metrics(&[]).map_err(|error| failed(error.into()))?;
        let is_program = |node: &String| node == "program";
        let others = list.metrics.into_iter().filter(|metric| metric.class != "built-in");
        let of_program =
            others.filter(|metric| metric.nodes.as_ref().is_none_or(|nodes| nodes.iter().any(is_program)));
        for metric in of_program.take(OUTSIDE_CURVES) {
            if !self.ask_for_curve(&metric.name, OUTSIDE_BINS)? {
                break;
            }
        }
        Ok(())
    }

    /// The frame of the whole run, with as many bins as find room.
    fn ask_for_frame(&mut self) -> Result<()> {
        let mut bins = MOST_BINS;
        loop {
            let stretch = TimeRange::default();
            let question = WindowQuestion {
                stretch,
                bins,
                first: 0,
                count: None,
                weight: Weight::Cpu,
                io: DeviceWaits::default(),
            };
            let request = Request::Timeline(question);
            let key = request.key().text().to_owned();
            let frame = self.answers.answer(request).map_err(failed)?;
            if compressed(&frame).len() <= FRAME_BYTES || bins <= LEAST_BINS {
                self.held.insert(key, String::from_utf8_lossy(&frame).into_owned());
                return Ok(());
            }
            bins /= 2;
        }
    }

    /// Tables at every level, and what they show otherwise.
    fn ask_for_tables(&mut self) -> Result<()> {
        let elapsed = Question { weight: Weight::Elapsed, ..Question::default() };
        self.report(View::CriticalPath, elapsed.clone())?;
        self.report(View::Tree, elapsed)?;
        for view in [View::Objects, View::Waits] {
            self.report(view, Question { all: true, ..Question::default() })?;
        }
        for by in [By::Thread, By::Object, By::Line, By::Process] {
            self.report(View::Rankings, Question { by, ..Question::default() })?;
        }
        for (view, by) in with_levels() {
            self.report(view, Question { by, ..Question::default() })?;
            if view == View::CriticalPath {
                self.report(view, Question { by, weight: Weight::Elapsed, ..Question::default() })?;
            }
        }
        Ok(())
    }

    fn ask_for_single_things(&mut self) -> Result<()> {
        for number in 1..=self.rows(View::Waits).len().min(EXPLAINED) {
            self.report(View::Waits, Question { explain: Some(number), ..Question::default() })?;
        }
        self.ask_for_sources()?;
        self.ask_for_requests()?;
        self.ask_of(
            &[View::Objects, View::Parallelism],
            &self.names(View::Objects, |row| named("object", row)),
        )?;
        self.ask_of(
            &[View::Parallelism, View::CallTree],
            &self.names(View::Npt, |row| named("procedure", row)),
        )?;
        self.ask_of(&[View::Parallelism], &self.names(View::Threads, |row| named("thread", row)))
    }

    /// Asks what views tell of each of these alone, as long as there is room.
    fn ask_of(&mut self, views: &[View], names: &[String]) -> Result<()> {
        for name in names {
            for &view in views {
                if !self.report(view, Question { of: Some(name.clone()), ..Question::default() })? {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// The rows of requests that are the first of their kind, in full.
    fn ask_for_requests(&mut self) -> Result<()> {
        if !self.answers.recording().has_accesses() {
            return Ok(());
        }
        for by in [By::Procedure, By::Object, By::Line] {
            for number in 1..=REQUESTS_EXPLAINED {
                let question = Question { by, explain: Some(number), ..Question::default() };
                if !self.report(View::Communication, question)? {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// The files in which most of the lines stand that the view shows first.
    fn ask_for_sources(&mut self) -> Result<()> {
        let mut files: Vec<String> = Vec::new();
        for row in self.rows(View::Source) {
            let file = row.words("file").to_owned();
            if !file.is_empty() && !files.contains(&file) && files.len() < SOURCES {
                files.push(file);
            }
        }
        for file in files {
            let request = Request::Source(file.clone());
            let key = request.key().text().to_owned();
            self.ask(request)?;
            if self.held.contains_key(&key) {
                self.files.push(file);
            }
        }
        Ok(())
    }

    /// Names of the first things of a view.
    fn names(&self, view: View, name: impl Fn(&Row) -> Vec<String>) -> Vec<String> {
        let rows = self.rows(view);
        let mut names: Vec<String> = rows.iter().take(ALONE).flat_map(name).collect();
        let mut seen = BTreeSet::new();
        names.retain(|name| seen.insert(name.clone()));
        names
    }

    fn rows(&self, view: View) -> Vec<Row> {
        let report: Option<Report> = self.answers.recording().report(view, &Question::default()).ok();
        report.map_or_else(Vec::new, |report| report.rows)
    }

    /// All of it, as the page reads it.
    fn json(&self) -> Vec<u8> {
        let pairs = self
            .held
            .iter()
            .map(|(key, answer)| format!("{}:{answer}", serde_json::Value::from(key.as_str())));
        format!("{{{}}}", pairs.collect::<Vec<_>>().join(",")).into_bytes()
    }
}

/// The same question, with an end to tables that have none: the last rows are of no weight.
fn shortened(request: Request) -> Request {
    match request {
        Request::Report(view, question) => {
            let most = if view == View::Waits { MOST_WAITS } else { MOST_ROWS };
            // A tree without some of its rows would not add up.
            let is_tree = matches!(view, View::Tree | View::CallTree);
            Request::Report(view, Question { top: Some(most).filter(|_| !is_tree), ..question })
        }
        request => request,
    }
}

/// Views whose rows can be of several kinds, with these. Zeroing and slack of one kind are computed together, so they
/// stand together.
fn with_levels() -> impl Iterator<Item = (View, By)> {
    let views = || View::ALL.iter().filter(|view| view.has_levels());
    let levels = By::CHOICES.iter().map(|&(by, ..)| by);
    let others = levels.filter(|by| !matches!(by, By::Procedure | By::ProcessProcedure));
    others.flat_map(move |by| views().map(move |&view| (view, by)))
}

/// The names by which the page asks for what a row is about.
fn named(kind: &str, row: &Row) -> Vec<String> {
    let name = row.words(kind);
    if name.is_empty() {
        return Vec::new();
    }
    let plain = format!("{kind}:{name}");
    match row.value("tid").filter(|_| kind == "thread") {
        Some(tid) => vec![format!("{plain} #{tid}"), plain],
        None => vec![plain],
    }
}

fn failed(refusal: RequestRefusal) -> Error {
    Error::Export { what: refusal.what, hints: refusal.hints }
}
