//! A recording that is asked questions, by many threads at once.

use std::path::Path;
use std::sync::Arc;

use longpole_event::MachineId;
use longpole_metrics::{Analysis, EarlyDetails, MetricOptions, analyse, analyse_beside};
use longpole_recording::{LogName, Manifest, MetricFile, PredictedChange, RecordingFolder};
use longpole_report::{Check, CheckCondition, CheckedRecording, EarlierPrediction, Report, Span, View};
use longpole_series::Outside;
use longpole_timeline::Index;
use longpole_trace::{Fold, FoldedTimelines, Folding, ItemCache, LONG_RECORDING, Timelines, Trace};

use crate::analysed::{Analysed, EarlyDemand};
use crate::cache::{Cache, LARGEST_KEPT};
use crate::communication::SimulationCache;
use crate::error::{Error, Result};
use crate::evaluator::MetricEvaluator;
use crate::layouts::LayoutAnswers;
use crate::memory::{LazyValue, ValueCache};
use crate::metric_table::MetricTable;
use crate::question::{LayoutQuestion, Question, ReplayQuestion, WhatIfQuestion};
use crate::run::{self, Run};
use crate::version::{FileChange, Version};

/// Analyses and phases that are kept: whoever looks at a recording goes to and fro between a few parts of it.
const KEPT: usize = 8;
/// Names of phases of which is kept where they lie.
const SPANS_KEPT: usize = 256;

/// Indexes that are kept: with waits for devices as work, and as idleness.
const INDEXES_KEPT: usize = 2;

/// Begin and end of a phase; `None` for the whole run.
type PhaseBounds = Option<(u64, u64)>;

/// A recording with what was found out about it so far.
#[derive(Debug)]
pub struct Recording {
    folder: RecordingFolder,
    manifest: Manifest,
    version: Version,
    trace: LazyValue<Arc<Trace>>,
    spans: ValueCache<String, Span>,
    runs: ValueCache<PhaseBounds, Arc<Run>>,
    analysed: ValueCache<(PhaseBounds, MetricOptions), Arc<Analysed>>,
    indexes: ValueCache<bool, Arc<Index>>,
    outside: LazyValue<Arc<Outside>>,
    metrics: ValueCache<Vec<String>, Arc<MetricTable>>,
    simulations: SimulationCache,
    metric_files: Vec<MetricFile>,
    has_files: bool,
    keeps: bool,
    /// Events from which on what is computed of the recording is kept.
    least: u64,
}

impl Recording {
    /// Opens the folder and reads its manifest; events are read when a question needs them.
    ///
    /// # Errors
    /// [`Error::Recording`](crate::Error::Recording).
    pub fn open(path: &Path) -> Result<Recording> {
        let (folder, manifest) = RecordingFolder::open(path)?;
        // Who bounds the bytes of a recording wants no more of them from its answers.
        let is_bounded = manifest.window.as_ref().is_some_and(|window| window.bytes.is_some());
        Ok(Recording {
            version: Version::of(&folder, manifest.machines.len()),
            manifest,
            trace: LazyValue::default(),
            spans: ValueCache::of(SPANS_KEPT),
            runs: ValueCache::of(KEPT),
            analysed: ValueCache::of(KEPT),
            indexes: ValueCache::of(INDEXES_KEPT),
            outside: LazyValue::default(),
            metrics: ValueCache::of(KEPT),
            simulations: SimulationCache::default(),
            metric_files: folder.metric_files()?,
            folder,
            has_files: false,
            keeps: !is_bounded,
            least: LONG_RECORDING,
        })
    }

    /// The same with metrics described by these files too; what they say goes before what the recording says itself.
    #[must_use]
    pub fn with_metric_files(mut self, files: Vec<MetricFile>) -> Recording {
        self.has_files = !files.is_empty();
        self.metric_files.splice(0..0, files);
        self
    }

    /// The same from what was recorded alone: what was computed of it before is deleted, and nothing is kept.
    #[must_use]
    pub fn without_cache(self) -> Recording {
        if let Some(line) = self.version.line() {
            ItemCache::new(self.folder.cache(), line.clone()).clear();
            Cache::new(self.folder.cache(), line).clear();
        }
        Recording { keeps: false, ..self }
    }

    /// The same where what is computed is kept of recordings of so many events and more.
    #[must_use]
    pub fn kept_from_events(self, least: u64) -> Recording {
        Recording { least, ..self }
    }

    /// Where it lies.
    #[must_use]
    pub fn folder(&self) -> &RecordingFolder {
        &self.folder
    }

    /// What was run, where, and how it was collected.
    #[must_use]
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Whether it has a log of accesses to memory, be it empty or damaged.
    #[must_use]
    pub fn has_accesses(&self) -> bool {
        !matches!(self.folder.open_log(MachineId(0), LogName::Accesses), Ok(None))
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
            Some(FileChange::Gone) => Err(longpole_recording::Error::Missing { path: path() }.into()),
            Some(FileChange::Replaced) => Err(Error::Replaced { path: path() }),
        }
    }

    /// The same where only names are needed, which stay what they are whatever becomes of the files.
    pub(crate) fn opened(&self) -> Result<Arc<Trace>> {
        self.trace.get_or(|| Ok(Arc::new(Trace::open_with(self.folder.path(), self.item_cache())?)))
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
        let early = EarlyDemand::of(views, question);
        let analysed = self.analysed_for(question.phase.as_deref(), question.choices(), early.as_ref())?;
        let outside_answers = self.outside_answers(views, question)?;
        analysed.reports(views, question, &outside_answers)
    }

    /// What would become of the run.
    ///
    /// # Errors
    /// All of [`Error`](crate::Error).
    pub fn what_if(&self, supposition: &WhatIfQuestion) -> Result<Report> {
        let choices = MetricOptions { order: supposition.order, ..MetricOptions::default() };
        self.analysed(supposition.phase.as_deref(), choices)?.what_if(supposition)
    }

    /// What would become of the run if it were executed again.
    ///
    /// # Errors
    /// All of [`Error`](crate::Error); [`Error::NotReplayed`](crate::Error::NotReplayed) where the unchanged run does not come
    /// out as recorded.
    pub fn replay(&self, question: &ReplayQuestion) -> Result<Report> {
        self.analysed(None, MetricOptions::default())?.replay(question)
    }

    /// What would become of the transfers if data lay in another layout.
    ///
    /// # Errors
    /// All of [`Error`](crate::Error).
    pub fn layouts(&self, question: &LayoutQuestion) -> Result<Report> {
        let answers = LayoutAnswers::of(&self.folder, question)?;
        Ok(self.analysed(None, MetricOptions::default())?.layouts(&answers))
    }

    /// What changed from this recording to another one, and why the elapsed time differs.
    ///
    /// # Errors
    /// All of [`Error`](crate::Error).
    pub fn diff(&self, after: &Recording, question: &Question) -> Result<Report> {
        let earlier = |kept: PredictedChange| EarlierPrediction {
            change: kept.change,
            percent: kept.gain_percent,
            range: kept.range_percent,
        };
        let earlier: Vec<EarlierPrediction> = self.folder.predicted().into_iter().map(earlier).collect();
        let before = self.analysed(None, question.choices())?;
        let after = after.analysed(None, question.choices())?;
        before.diff(&earlier, &after, question)
    }

    /// Whether the recordings after have become worse than those before, by these conditions. There is at least one on each side.
    ///
    /// # Errors
    /// All of [`Error`](crate::Error).
    pub fn check(after: &[Recording], before: &[Recording], conditions: &[CheckCondition]) -> Result<Check> {
        let analysed = |recording: &Recording| recording.analysed(None, MetricOptions::default());
        let checked = |side: &[Recording]| -> Result<Vec<CheckedRecording>> {
            side.iter().map(|recording| analysed(recording)?.checked(conditions)).collect()
        };
        let sides = (checked(before)?, checked(after)?);
        let first = after.first().expect("a check is of at least one recording");
        analysed(first)?.check(conditions, (&sides.0, &sides.1))
    }

    /// The recording, or the phase of it that `phase` names, analysed.
    ///
    /// # Errors
    /// All of [`Error`](crate::Error).
    pub fn analysed(&self, phase: Option<&str>, choices: MetricOptions) -> Result<Arc<Analysed>> {
        self.analysed_for(phase, choices, None)
    }

    /// The same for a question that demands these details too; where an analysis has to be made, they are begun beside it.
    fn analysed_for(
        &self,
        phase: Option<&str>,
        choices: MetricOptions,
        early: Option<&EarlyDemand>,
    ) -> Result<Arc<Analysed>> {
        let trace = self.trace()?;
        let span = phase.map(|text| self.span(&trace, text)).transpose()?;
        let stretch = span.map(|span| (span.from, span.to));
        let key = (stretch, choices);
        self.analysed.get_or(key, || {
            let run = self.runs.get_or(stretch, || Run::new(Arc::clone(&trace), span).map(Arc::new))?;
            let is_kept = stretch.is_none() && trace.evidence().events >= self.least;
            let cache = is_kept.then(|| self.kept_cache()).flatten();
            let analysis = self.kept_analysis(&trace, &run, (choices, cache.as_ref()), early)?;
            Ok(Arc::new(Analysed::new(run, choices, analysis, cache)))
        })
    }

    /// The analysis: as it is remembered on disk, else computed, and remembered where it is to be; with what was then found beside it.
    fn kept_analysis(
        &self,
        trace: &Trace,
        run: &Run,
        (choices, cache): (MetricOptions, Option<&Cache>),
        early: Option<&EarlyDemand>,
    ) -> Result<(Analysis, Option<(Fold, EarlyDetails)>)> {
        let key = format!("analysis?io_idle={}&order={:?}", choices.io_idle, choices.order);
        let kept = cache.and_then(|cache| cache.get_bytes(&key));
        if let Some(analysis) = kept.and_then(|bytes| Analysis::of_kept_bytes(&bytes, trace.ids())) {
            return Ok((analysis, None));
        }
        let unreadable = |error| Error::unreadable(self.folder.path())(error);
        let keep = |analysis: &Analysis| {
            let Some(cache) = cache else { return };
            let bytes = analysis.kept_bytes();
            if bytes.len() <= LARGEST_KEPT {
                cache.put_bytes(&key, &bytes);
            }
        };
        let Some(EarlyDemand { fold, details }) = early else {
            let analysis = analyse(run, &choices).map_err(unreadable)?;
            keep(&analysis);
            return Ok((analysis, None));
        };
        let folding = Folding::new(run.paths(), *fold);
        let timelines = FoldedTimelines::new(run, &folding);
        let contention = || EarlyDetails::contention(&timelines, &choices, details);
        let begun = analyse_beside(run, &choices, contention);
        let (analysis, early) = begun.map_err(unreadable)?;
        let early = early.map_err(unreadable)?;
        let early = std::thread::scope(|scope| {
            let keeping = scope.spawn(|| keep(&analysis));
            let early = early.looking_ahead(&timelines, &choices, details);
            keeping.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            early
        });
        Ok((analysis, Some((*fold, early.map_err(unreadable)?))))
    }

    /// Whether its events are so many that answers are worth remembering.
    #[must_use]
    pub fn is_long(&self) -> bool {
        self.opened().is_ok_and(|trace| trace.evidence().events >= self.least)
    }

    /// Where answers can be remembered for the next one who opens the recording; `None` where builds of this program cannot be
    /// told apart.
    #[must_use]
    pub fn cache(&self) -> Option<Cache> {
        // Answers with other descriptions of metrics are others, and so are those beside measured gains.
        self.kept_cache().filter(|_| !self.has_files && self.folder.measured().is_empty())
    }

    /// Where that is remembered which is the same with other descriptions of metrics.
    fn kept_cache(&self) -> Option<Cache> {
        Some(Cache::new(self.folder.cache(), self.kept_line()?))
    }

    /// Where the items are kept.
    fn item_cache(&self) -> Option<ItemCache> {
        Some(ItemCache::new(self.folder.cache(), self.kept_line()?).from_events(self.least))
    }

    /// What tells this recording and this program from others, where anything is to be kept.
    fn kept_line(&self) -> Option<String> {
        self.version.line().filter(|_| self.keeps)
    }

    /// The timelines of all threads, ready to be drawn. Of the whole run: a phase is a window of them.
    pub(crate) fn index(&self, io_idle: bool) -> Result<Arc<Index>> {
        self.indexes.get_or(io_idle, || {
            let trace = self.trace()?;
            let analysed = self.analysed(None, MetricOptions { io_idle, ..MetricOptions::default() })?;
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

    /// The recorded accesses, simulated.
    pub(crate) fn simulations(&self) -> &SimulationCache {
        &self.simulations
    }

    /// Every metric, with these defined too.
    pub(crate) fn metric_table(&self, define: &[String]) -> Result<Arc<MetricTable>> {
        self.metrics.get_or(define.to_vec(), || {
            MetricTable::new((self.trace()?, self.outside()?), &self.metric_files, define).map(Arc::new)
        })
    }

    /// What computes any metric, with these defined too.
    pub(crate) fn evaluator(&self, define: &[String], io_idle: bool) -> Result<MetricEvaluator> {
        Ok(MetricEvaluator { metrics: self.metric_table(define)?, index: self.index(io_idle)? })
    }

    /// Where a phase lies.
    ///
    /// # Errors
    /// All of [`Error`](crate::Error).
    pub fn stretch(&self, phase: &str) -> Result<crate::TimeRange> {
        let span = self.span(&*self.trace()?, phase)?;
        let seconds = |time: longpole_event::Time| crate::Seconds::new(time.nanoseconds() as f64 / 1e9);
        Ok(crate::TimeRange { from: seconds(span.begin()), to: span.end().and_then(seconds) })
    }

    pub(crate) fn span(&self, trace: &Trace, text: &str) -> Result<Span> {
        self.spans.get_or(text.to_owned(), || run::span(trace, text))
    }
}
