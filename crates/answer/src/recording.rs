//! A recording that is asked questions, by many threads at once.

use std::path::Path;
use std::sync::Arc;

use longpole_recording::{Folder, Manifest, MetricFile};
use longpole_report::{Report, Span, View};
use longpole_series::Outside;
use longpole_timeline::Index;
use longpole_trace::Trace;

use crate::analysed::Analysed;
use crate::cache::Cache;
use crate::error::{Error, Result};
use crate::figures::Gauges;
use crate::memory::{Memory, Slot};
use crate::question::{Question, Supposition};
use crate::run::{self, Run};
use crate::version::{Change, Version};

/// Analyses and phases that are kept: whoever looks at a recording goes to and fro between a few parts of it.
const KEPT: usize = 8;
/// Names of phases of which is kept where they lie.
const SPANS_KEPT: usize = 256;

/// Indexes that are kept: with waits for devices as work, and as idleness.
const INDEXES_KEPT: usize = 2;

/// Begin and end of a phase; `None` for the whole run.
type Stretch = Option<(u64, u64)>;

/// A recording with what was found out about it so far.
#[derive(Debug)]
pub struct Recording {
    folder: Folder,
    manifest: Manifest,
    version: Version,
    trace: Slot<Arc<Trace>>,
    spans: Memory<String, Span>,
    runs: Memory<Stretch, Arc<Run>>,
    analysed: Memory<(Stretch, bool), Arc<Analysed>>,
    indexes: Memory<bool, Arc<Index>>,
    outside: Slot<Arc<Outside>>,
    gauges: Memory<(Vec<String>, bool), Arc<Gauges>>,
    metric_files: Vec<MetricFile>,
    has_files: bool,
}

impl Recording {
    /// Opens the folder and reads its manifest; events are read when a question needs them.
    ///
    /// # Errors
    /// [`Error::Recording`](crate::Error::Recording).
    pub fn open(path: &Path) -> Result<Recording> {
        let (folder, manifest) = Folder::open(path)?;
        Ok(Recording {
            version: Version::of(&folder, manifest.machines.len()),
            manifest,
            trace: Slot::default(),
            spans: Memory::of(SPANS_KEPT),
            runs: Memory::of(KEPT),
            analysed: Memory::of(KEPT),
            indexes: Memory::of(INDEXES_KEPT),
            outside: Slot::default(),
            gauges: Memory::of(KEPT),
            metric_files: folder.metric_files()?,
            folder,
            has_files: false,
        })
    }

    /// The same with metrics described by these files too; what they say goes before what the recording says itself.
    #[must_use]
    pub fn with_metric_files(mut self, files: Vec<MetricFile>) -> Recording {
        self.has_files = !files.is_empty();
        self.metric_files.splice(0..0, files);
        self
    }

    /// Where it lies.
    #[must_use]
    pub fn folder(&self) -> &Folder {
        &self.folder
    }

    /// What was run, where, and how it was collected.
    #[must_use]
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Length of the run, as the manifest has it; of a recording that was cut short, its events have to be read for that.
    ///
    /// # Errors
    /// [`Error::Trace`](crate::Error::Trace).
    pub fn elapsed_seconds(&self) -> Result<f64> {
        let nanoseconds = match &self.manifest.outcome {
            Some(outcome) => outcome.end_nanoseconds.saturating_sub(outcome.begin_nanoseconds),
            None => self.trace()?.program().elapsed_nanoseconds,
        };
        Ok(nanoseconds as f64 / 1e9)
    }

    /// The opened recording; the first one who asks waits until its events are read once.
    ///
    /// # Errors
    /// [`Error::Trace`](crate::Error::Trace); [`Error::Replaced`](crate::Error::Replaced) where another recording lies in
    /// its place now.
    pub fn trace(&self) -> Result<Arc<Trace>> {
        let path = || self.folder.path().to_owned();
        match self.version.change(&Version::of(&self.folder, self.manifest.machines.len())) {
            None => self.opened(),
            Some(Change::Gone) => Err(longpole_recording::Error::Missing { path: path() }.into()),
            Some(Change::Replaced) => Err(Error::Replaced { path: path() }),
        }
    }

    /// The same where only names are needed, which stay what they are whatever becomes of the files.
    pub(crate) fn opened(&self) -> Result<Arc<Trace>> {
        self.trace.get_or(|| Ok(Arc::new(Trace::open(self.folder.path())?)))
    }

    /// What a view says.
    ///
    /// # Errors
    /// All of [`Error`](crate::Error).
    pub fn report(&self, view: View, question: &Question) -> Result<Report> {
        let mut reports = self.reports(&[view], question)?;
        Ok(reports.pop().expect("one report of one view"))
    }

    /// What several views say. What they need beside the analysis is computed for all of them together; where two want
    /// the same in different ways, the first one's way.
    ///
    /// # Errors
    /// All of [`Error`](crate::Error).
    pub fn reports(&self, views: &[View], question: &Question) -> Result<Vec<Report>> {
        let analysed = self.analysed(question.phase.as_deref(), question.io_idle)?;
        let beside = self.beside(views, question)?;
        analysed.reports(views, question, &beside)
    }

    /// What would become of the run.
    ///
    /// # Errors
    /// All of [`Error`](crate::Error).
    pub fn what_if(&self, supposition: &Supposition) -> Result<Report> {
        self.analysed(supposition.phase.as_deref(), false)?.what_if(supposition)
    }

    /// The recording, or the phase of it that `phase` names, analysed.
    ///
    /// # Errors
    /// All of [`Error`](crate::Error).
    pub fn analysed(&self, phase: Option<&str>, io_idle: bool) -> Result<Arc<Analysed>> {
        let trace = self.trace()?;
        let span = phase.map(|text| self.span(&trace, text)).transpose()?;
        let stretch = span.map(|span| (span.from, span.to));
        let key = (stretch, io_idle);
        self.analysed.get_or(key, || {
            let run = self.runs.get_or(stretch, || Run::new(Arc::clone(&trace), span).map(Arc::new))?;
            Analysed::new(run, io_idle).map(Arc::new)
        })
    }

    /// Where answers can be remembered for the next one who opens the recording; `None` where builds of this program cannot be
    /// told apart.
    #[must_use]
    pub fn cache(&self) -> Option<Cache> {
        // Answers with other descriptions of metrics are others.
        if self.has_files {
            return None;
        }
        Some(Cache::new(self.folder.cache(), self.version.line()?))
    }

    /// The timelines of all threads, ready to be drawn. Of the whole run: a phase is a window of them.
    pub(crate) fn index(&self, io_idle: bool) -> Result<Arc<Index>> {
        self.indexes.get_or(io_idle, || {
            let trace = self.trace()?;
            let analysed = self.analysed(None, io_idle)?;
            let index = Index::of(&*trace, &analysed.choices(), analysed.analysis());
            index.map(Arc::new).map_err(Error::unreadable(self.folder.path()))
        })
    }

    /// The series from outside.
    ///
    /// # Errors
    /// All of [`Error`](crate::Error).
    pub fn outside(&self) -> Result<Arc<Outside>> {
        self.outside.get_or(|| {
            let trace = self.trace()?;
            Ok(Arc::new(Outside::read(&self.folder, &self.manifest, trace.program())?))
        })
    }

    /// What computes any metric, with these defined too.
    pub(crate) fn gauges(&self, define: &[String], io_idle: bool) -> Result<Arc<Gauges>> {
        self.gauges.get_or((define.to_vec(), io_idle), || {
            let (trace, outside) = (self.trace()?, self.outside()?);
            let index = self.index(io_idle)?;
            Gauges::new((trace, index, outside), &self.metric_files, define).map(Arc::new)
        })
    }

    /// Where a phase lies.
    ///
    /// # Errors
    /// All of [`Error`](crate::Error).
    pub fn stretch(&self, phase: &str) -> Result<crate::Stretch> {
        let span = self.span(&*self.trace()?, phase)?;
        let seconds = |time: longpole_event::Time| crate::Seconds::new(time.nanoseconds() as f64 / 1e9);
        Ok(crate::Stretch { from: seconds(span.begin()), to: span.end().and_then(seconds) })
    }

    pub(crate) fn span(&self, trace: &Trace, text: &str) -> Result<Span> {
        self.spans.get_or(text.to_owned(), || run::span(trace, text))
    }
}
