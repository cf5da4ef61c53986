//! A run with its analysis, and the details that were wanted of it so far.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};

use longpole_metrics::{
    Analysis, By, ChangeSubject, Details, DetailsDemand, EarlyDetails, EffectiveSamples, MetricOptions,
    NoRowReplays, Replay, ReplayDemand, RowReplays, WorkChange, change_replays, costs, details_with, replay,
    row_replays, tells_holds, what_if,
};
use longpole_report::{
    Check, CheckCondition, CheckedRecording, EarlierPrediction, NamedChange, OutsideAnswers, Report,
    ReportInput, ReportOptions, View, build, build_check, build_diff, build_replay, build_what_if,
    diff_demand, refusal_text,
};
use longpole_trace::{Evidence, Fold, FoldedTimelines, Folding, Timelines};

use crate::cache::{Cache, LARGEST_KEPT};
use crate::error::{Error, Result};
use crate::layouts::LayoutAnswers;
use crate::memory::ValueCache;
use crate::question::{Question, ReplayQuestion, WhatIfQuestion};
use crate::run::Run;

/// Sets of details that are kept of a run. One of them is what the summary needs.
const DETAILS_KEPT: usize = 6;

/// Events of the longest recording that is replayed row by row unasked.
const MOST_REPLAYED: u64 = 1_000_000;
/// The same for the list of changes, which a short answer waits for.
const MOST_REPLAYED_UNASKED: u64 = 250_000;

/// Ways to fold.
const FOLDS: usize = 3;

/// A recording, or a phase of it, analysed.
#[derive(Debug)]
pub struct Analysed {
    run: Arc<Run>,
    choices: MetricOptions,
    analysis: Analysis,
    evidence: Evidence,
    /// Where details are kept for the next who opens the recording, if they are.
    cache: Option<Cache>,
    folded: ValueCache<Fold, Arc<Folded>>,
    /// What was found of the first details beside the analysis, until they are asked for.
    early: Mutex<Option<(Fold, EarlyDetails)>>,
}

/// What of the details of a question can be found beside the analysis.
#[derive(Clone, Debug)]
pub(crate) struct EarlyDemand {
    pub fold: Fold,
    pub details: DetailsDemand,
}

impl EarlyDemand {
    /// Of these views, as far as it is known before anything is read.
    pub(crate) fn of(views: &[View], question: &Question) -> Option<EarlyDemand> {
        let fold = views.first()?.fold(question.fold);
        let options = question.options(None);
        let is_alike = |view: &View| view.fold(question.fold) == fold && view.permit(options.by).is_ok();
        let of_view = |view: &View| view.demand(&options);
        let details = views.iter().map(of_view).fold(DetailsDemand::default(), DetailsDemand::or);
        (question.of.is_none() && views.iter().all(is_alike)).then_some(EarlyDemand { fold, details })
    }
}

/// The analysis with its charges at the owners of their paths, and the details that were wanted of it so far.
#[derive(Debug)]
struct Folded {
    fold: Fold,
    folding: Folding,
    analysis: Analysis,
    details: ValueCache<DetailsDemand, Arc<Details>>,
}

impl Analysed {
    /// The run with its analysis.
    pub(crate) fn new(
        run: Arc<Run>,
        choices: MetricOptions,
        (mut analysis, early): (Analysis, Option<(Fold, EarlyDetails)>),
        cache: Option<Cache>,
    ) -> Analysed {
        let evidence = run.evidence();
        // What threads said of where they are counts like what a timer found.
        let samples = evidence.samples + evidence.told_observations;
        if evidence.is_exact() {
            analysis.effective_samples = EffectiveSamples::EXACT;
        } else if samples > 0 {
            // The samples of a phase are not counted apart; they come with the CPU time.
            let samples = samples as f64 * run.cpu_share();
            analysis.effective_samples = analysis.effective_samples.at_most(samples.round() as u64);
        }
        let (folded, early) = (ValueCache::of(FOLDS), Mutex::new(early));
        Analysed { run, choices, analysis, evidence, cache, folded, early }
    }

    /// What was analysed.
    #[must_use]
    pub fn run(&self) -> &Arc<Run> {
        &self.run
    }

    /// The metrics, with nothing folded.
    #[must_use]
    pub fn analysis(&self) -> &Analysis {
        &self.analysis
    }

    /// The choices that the metrics were computed with.
    #[must_use]
    pub fn choices(&self) -> MetricOptions {
        self.choices
    }

    /// What these views say; what they need beside the analysis is computed for all of them together.
    pub(crate) fn reports(
        &self,
        views: &[View],
        question: &Question,
        outside_answers: &OutsideAnswers,
    ) -> Result<Vec<Report>> {
        let mut options = question.options(self.run.span());
        let mut demands: BTreeMap<Fold, DetailsDemand> = BTreeMap::new();
        for view in views {
            view.permit(options.by)?;
            let find = |of: &String| view.find(of, &self.run.names());
            // Nodes of metrics are more than what has a name: the program, machines.
            let of = question.of.as_ref().filter(|_| *view != View::Metrics);
            options.of = of.map(find).transpose()?;
            let demand = demands.entry(view.fold(question.fold)).or_default();
            *demand = std::mem::take(demand).or(view.demand(&options));
        }
        let report = |&view: &View| {
            let fold = view.fold(question.fold);
            let folded = self.folded(fold);
            let details = self.details(&folded, &demands[&fold])?;
            let build = |input: &ReportInput<'_>, options: &ReportOptions| build(view, input, options);
            Ok(self.build((&folded, &details, outside_answers), &options, build))
        };
        let reports: Vec<Report> = views.iter().map(report).collect::<Result<_>>()?;
        match options.explain.filter(|_| reports.iter().all(|report| report.rows.is_empty())) {
            // Without accesses the view says how to record them.
            Some(_) if views == [View::Communication] && outside_answers.communication.is_none() => {
                Ok(reports)
            }
            Some(number) => {
                Err(Error::NoSuchRow { view: views.first().map_or("", |view| view.name()), number })
            }
            None => Ok(reports),
        }
    }

    /// What becomes of the run.
    pub(crate) fn what_if(&self, supposition: &WhatIfQuestion) -> Result<Report> {
        let names = self.run.names();
        let parse = |text: &String| NamedChange::parse(text, &names);
        let changes = supposition.changes.iter().map(parse).collect::<longpole_report::Result<Vec<_>>>()?;
        let is_of_holds = |change: &NamedChange| matches!(change.change.subject, ChangeSubject::Holds(_));
        if let Some(change) = changes.iter().find(|change| is_of_holds(change)) {
            if supposition.phase.is_some() || self.choices != MetricOptions::default() {
                let reason = "only a replay of the whole run tells, in which locks have no recorded order";
                return Err(Error::NoReplayOf { change: change.name.clone(), reason });
            }
            return self.replay(&supposition.as_replay());
        }
        let plain: Vec<WorkChange> = changes.iter().map(|change| change.change.clone()).collect();
        let folded = self.folded(supposition.fold);
        let found = what_if(&*self.run, &self.choices, &self.analysis, &plain, &folded.folding);
        let found = found.map_err(self.unreadable())?;
        let replayed = self.replayed_changes(&plain, &folded.folding)?;
        let question = Question { top: supposition.top, order: supposition.order, ..Question::default() };
        let options = question.options(self.run.span());
        let build = |input: &ReportInput<'_>, options: &ReportOptions| {
            build_what_if(input, options, &changes, (&found, replayed.as_ref()))
        };
        let demand = DetailsDemand { contention: true, ..DetailsDemand::default() };
        let details = self.details(&folded, &demand)?;
        Ok(self.build((&folded, &details, &OutsideAnswers::default()), &options, build))
    }

    /// What becomes of the run replayed with these changes, where it can be: not of a phase, not where an order of locks is asked for, and
    /// not with an object whose waits become shorter, which is another thing than its removal.
    fn replayed_changes(&self, changes: &[WorkChange], folding: &Folding) -> Result<Option<Replay>> {
        let is_of_object = |change: &WorkChange| matches!(change.subject, ChangeSubject::Objects(_));
        let is_default = self.choices == MetricOptions::default();
        if !is_default || !self.is_replayed_unasked() || changes.iter().any(is_of_object) {
            return Ok(None);
        }
        let demand = ReplayDemand { changes: changes.to_vec(), ..ReplayDemand::default() };
        let replayed = replay(&*self.run, &self.choices, &self.analysis, &demand, folding);
        Ok(replayed.map_err(self.unreadable())?.ok())
    }

    /// What becomes of the run executed again.
    pub(crate) fn replay(&self, question: &ReplayQuestion) -> Result<Report> {
        let names = self.run.names();
        let parse = |text: &String| NamedChange::parse(text, &names);
        let changes = question.changes.iter().map(parse).collect::<longpole_report::Result<Vec<_>>>()?;
        let is_partly = |change: &&NamedChange| {
            change.change.factor != 0.0 && matches!(change.change.subject, ChangeSubject::Objects(_))
        };
        if let Some(change) = changes.iter().find(is_partly) {
            let reason = "an object can only be removed, with the factor 0";
            return Err(Error::NoReplayOf { change: change.name.clone(), reason });
        }
        let folded = self.folded(question.fold);
        let demand = ReplayDemand {
            changes: changes.iter().map(|change| change.change.clone()).collect(),
            io_is_free: question.io_is_free,
            processors: question.processors.clone(),
            ..ReplayDemand::default()
        };
        let found = replay(&*self.run, &self.choices, &self.analysis, &demand, &folded.folding);
        let refused = |refusal| Error::NotReplayed { reason: refusal_text(&refusal) };
        let found = found.map_err(self.unreadable())?.map_err(refused)?;
        let options = Question::default().options(self.run.span());
        let build = |input: &ReportInput<'_>, options: &ReportOptions| {
            build_replay(input, options, (&changes, question.io_is_free), &found)
        };
        Ok(self.build((&folded, &Details::default(), &OutsideAnswers::default()), &options, build))
    }

    /// What other layouts of the data would change.
    pub(crate) fn layouts(&self, answers: &LayoutAnswers<'_>) -> Report {
        let folded = self.folded(Fold::default());
        let options = Question::default().options(self.run.span());
        let build = |input: &ReportInput<'_>, options: &ReportOptions| answers.report(input, options);
        self.build((&folded, &Details::default(), &OutsideAnswers::default()), &options, build)
    }

    /// What changed from this run to another one.
    pub(crate) fn diff(
        &self,
        earlier: &[EarlierPrediction],
        after: &Analysed,
        question: &Question,
    ) -> Result<Report> {
        let fold = question.fold.unwrap_or_default();
        let ready = |analysed: &Analysed| {
            let folded = analysed.folded(fold);
            let details = analysed.details(&folded, &diff_demand())?;
            Ok::<_, Error>((folded, details))
        };
        let ((folded, details), (folded_after, details_after)) = (ready(self)?, ready(after)?);
        let options = question.options(None);
        let none = OutsideAnswers::default();
        let build = |before: &ReportInput<'_>, options: &ReportOptions| {
            let build = |after: &ReportInput<'_>, options: &ReportOptions| {
                build_diff((before, earlier), after, options)
            };
            after.build((&folded_after, &details_after, &none), options, build)
        };
        Ok(self.build((&folded, &details, &none), &options, build))
    }

    /// What the run says of a check's conditions.
    pub(crate) fn checked(&self, conditions: &[CheckCondition]) -> Result<CheckedRecording> {
        self.with_check(|input, _| CheckedRecording::of(input, conditions))
    }

    /// What became of a check of this and other runs.
    pub(crate) fn check(
        &self,
        conditions: &[CheckCondition],
        sides: (&[CheckedRecording], &[CheckedRecording]),
    ) -> Result<Check> {
        self.with_check(|input, _| build_check(input, conditions, sides))
    }

    fn with_check<R>(
        &self,
        ask: impl FnOnce(&ReportInput<'_>, &ReportOptions) -> longpole_report::Result<R>,
    ) -> Result<R> {
        let folded = self.folded(Fold::default());
        let details = self.details(&folded, &CheckedRecording::demand())?;
        let options = Question::default().options(None);
        Ok(self.build((&folded, &details, &OutsideAnswers::default()), &options, ask)?)
    }

    fn build<R>(
        &self,
        (folded, details, outside_answers): (&Folded, &Details, &OutsideAnswers),
        options: &ReportOptions,
        build: impl FnOnce(&ReportInput<'_>, &ReportOptions) -> R,
    ) -> R {
        let input = ReportInput {
            program: self.run.program(),
            paths: self.run.paths(),
            folding: &folded.folding,
            objects: self.run.objects(),
            analysis: &folded.analysis,
            details,
            evidence: &self.evidence,
            outside_answers,
        };
        build(&input, options)
    }

    fn folded(&self, fold: Fold) -> Arc<Folded> {
        let fold = self.folded.get_or(fold, || {
            let folding = Folding::new(self.run.paths(), fold);
            let analysis = self.analysis.folded(self.run.paths(), &folding);
            let details = ValueCache::of(DETAILS_KEPT);
            Ok::<_, Infallible>(Arc::new(Folded { fold, folding, analysis, details }))
        });
        let Ok(folded) = fold;
        folded
    }

    fn details(&self, folded: &Folded, demand: &DetailsDemand) -> Result<Arc<Details>> {
        // Details that have more would do, too, but views tell more where they find more.
        folded.details.get_or(demand.clone(), || {
            let (mut found, mut missing) = (Details::default(), Vec::new());
            for part in demand.parts(self.run.program(), &folded.analysis) {
                match self.kept(folded, &part) {
                    Some(details) => found.add(details),
                    None => missing.push(part),
                }
            }
            let missed = missing.iter().cloned().fold(DetailsDemand::default(), DetailsDemand::or);
            let timelines = FoldedTimelines::new(&*self.run, &folded.folding);
            let early = self.early.lock().unwrap_or_else(PoisonError::into_inner).take();
            let early =
                early.filter(|&(fold, _)| fold == folded.fold).map_or_else(EarlyDetails::default, |of| of.1);
            let made = details_with(&timelines, &self.choices, &missed, &folded.analysis, early);
            let mut made = made.map_err(self.unreadable())?;
            // Replays come last, and need the contention.
            for part in missing {
                let mut details = made.take(&part);
                if let Some(by) = part.replays {
                    details.replays = Some(self.row_replays(folded, (by, part.replays_all), &found)?);
                }
                if let Some(executions) = &mut details.executions
                    && self.is_replayed_unasked()
                    && tells_holds(found.holds.as_ref())
                {
                    let analyses = (&self.analysis, &folded.folding);
                    let replayed = change_replays(&*self.run, &self.choices, analyses, executions);
                    executions.replayed = Some(replayed.map_err(self.unreadable())?);
                }
                self.keep(folded, &part, &details);
                found.add(details);
            }
            if !demand.prospects {
                found.synchronisation = costs(&timelines, &folded.analysis, &found);
            }
            Ok(Arc::new(found))
        })
    }

    /// A part of the details, as an earlier question left it on disk.
    fn kept(&self, folded: &Folded, part: &DetailsDemand) -> Option<Details> {
        let bytes = self.cache.as_ref()?.get_bytes(&self.key(folded, part))?;
        Details::of_kept_bytes(&bytes, self.run.trace().ids())
    }

    fn keep(&self, folded: &Folded, part: &DetailsDemand, details: &Details) {
        if let Some(cache) = &self.cache {
            let bytes = details.kept_bytes();
            if bytes.len() <= LARGEST_KEPT {
                cache.put_bytes(&self.key(folded, part), &bytes);
            }
        }
    }

    fn key(&self, folded: &Folded, part: &DetailsDemand) -> String {
        format!("details {:?} {:?} {part:?}", folded.fold, self.choices)
    }

    /// Whether replaying it takes no longer than one waits for a short answer.
    fn is_replayed_unasked(&self) -> bool {
        self.run.span().is_none() && self.evidence.events <= MOST_REPLAYED_UNASKED
    }

    fn row_replays(
        &self,
        folded: &Folded,
        (by, replays_all): (By, bool),
        details: &Details,
    ) -> Result<std::result::Result<RowReplays, NoRowReplays>> {
        match self.evidence.events {
            _ if self.run.span().is_some() => return Ok(Err(NoRowReplays::Part)),
            events if events > MOST_REPLAYED && !replays_all => return Ok(Err(NoRowReplays::Long(events))),
            _ => {}
        }
        let analyses = (&self.analysis, &folded.analysis, &folded.folding);
        let of = (by, details.contention.as_ref());
        row_replays(&*self.run, &self.choices, analyses, of).map_err(self.unreadable())
    }

    fn unreadable(&self) -> impl FnOnce(longpole_trace::Error) -> Error + use<> {
        Error::unreadable(self.run.trace().path())
    }
}
