//! A run with its analysis, and the details that were wanted of it so far.

use std::sync::Arc;

use longpole_metrics::{Analysis, Change, Demand, Details, analyse, details, what_if};
use longpole_report::{Beside, Input, NamedChange, Options, Report, View, build, build_what_if};
use longpole_trace::{Evidence, Timelines};

use crate::error::{Error, Result};
use crate::memory::Memory;
use crate::question::{Question, Supposition};
use crate::run::Run;

/// Sets of details that are kept of a run. One of them is what the summary needs.
const DETAILS_KEPT: usize = 6;

/// A recording, or a phase of it, analysed.
#[derive(Debug)]
pub struct Analysed {
    run: Arc<Run>,
    choices: longpole_metrics::Options,
    analysis: Analysis,
    evidence: Evidence,
    details: Memory<Demand, Arc<Details>>,
}

impl Analysed {
    /// Analyses the run.
    pub(crate) fn new(run: Arc<Run>, io_idle: bool) -> Result<Analysed> {
        let choices = longpole_metrics::Options { io_idle };
        let unreadable = Error::unreadable(run.trace().path());
        let mut analysis = analyse(&*run, &choices).map_err(unreadable)?;
        let evidence = run.evidence();
        // What threads said of where they are counts like what a timer found.
        let samples = evidence.samples + evidence.told_observations;
        if samples > 0 {
            // The samples of a phase are not counted apart; they come with the CPU time.
            let samples = samples as f64 * run.cpu_share();
            analysis.effective_samples = analysis.effective_samples.at_most(samples.round() as u64);
        }
        Ok(Analysed { run, choices, analysis, evidence, details: Memory::of(DETAILS_KEPT) })
    }

    /// What was analysed.
    #[must_use]
    pub fn run(&self) -> &Arc<Run> {
        &self.run
    }

    /// The metrics.
    #[must_use]
    pub fn analysis(&self) -> &Analysis {
        &self.analysis
    }

    /// The choices that the metrics were computed with.
    #[must_use]
    pub fn choices(&self) -> longpole_metrics::Options {
        self.choices
    }

    /// What these views say; what they need beside the analysis is computed for all of them together.
    pub(crate) fn reports(
        &self,
        views: &[View],
        question: &Question,
        beside: &Beside,
    ) -> Result<Vec<Report>> {
        let mut options = question.options(self.run.span());
        let mut demand = Demand::default();
        for view in views {
            let find = |of: &String| view.find(of, &self.run.names());
            // Nodes of metrics are more than what has a name: the program, machines.
            let of = question.of.as_ref().filter(|_| *view != View::Metrics);
            options.of = of.map(find).transpose()?;
            demand = demand.or(view.demand(&options));
        }
        let details = self.details(demand)?;
        let report = |&view: &View| {
            self.build((&details, beside), &options, |input, options| build(view, input, options))
        };
        let reports: Vec<Report> = views.iter().map(report).collect();
        match options.explain.filter(|_| reports.iter().all(|report| report.rows.is_empty())) {
            Some(number) => Err(Error::NoSuchWait { number }),
            None => Ok(reports),
        }
    }

    /// What becomes of the run.
    pub(crate) fn what_if(&self, supposition: &Supposition) -> Result<Report> {
        let names = self.run.names();
        let parse = |text: &String| NamedChange::parse(text, &names);
        let changes = supposition.changes.iter().map(parse).collect::<longpole_report::Result<Vec<_>>>()?;
        let plain: Vec<Change> = changes.iter().map(|change| change.change.clone()).collect();
        let found = what_if(&*self.run, &self.choices, &plain).map_err(self.unreadable())?;
        let options = Question { top: supposition.top, ..Question::default() }.options(self.run.span());
        let build = |input: &Input<'_>, options: &Options| build_what_if(input, options, &changes, &found);
        Ok(self.build((&Details::default(), &Beside::default()), &options, build))
    }

    fn build(
        &self,
        (details, beside): (&Details, &Beside),
        options: &Options,
        build: impl FnOnce(&Input<'_>, &Options) -> Report,
    ) -> Report {
        let input = Input {
            program: self.run.program(),
            paths: self.run.paths(),
            objects: self.run.objects(),
            analysis: &self.analysis,
            details,
            evidence: &self.evidence,
            beside,
        };
        build(&input, options)
    }

    fn details(&self, demand: Demand) -> Result<Arc<Details>> {
        // Details that have more would do, too, but views tell more where they find more.
        self.details.get_or(demand.clone(), || {
            let details = details(&*self.run, &self.choices, &demand, &self.analysis);
            details.map(Arc::new).map_err(self.unreadable())
        })
    }

    fn unreadable(&self) -> impl FnOnce(longpole_trace::Error) -> Error + use<> {
        Error::unreadable(self.run.trace().path())
    }
}
