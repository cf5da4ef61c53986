//! Other layouts of the data, simulated: those that were asked for, or those that are suggested.

use longpole_communication::{LayoutOutcome, LayoutSimulator};
use longpole_recording::RecordingFolder;
use longpole_report::{
    LayoutTrial, NamedLayoutChange, Report, ReportInput, ReportOptions, build_layouts, merge_layouts,
    suggested_layouts,
};

use crate::error::Result;
use crate::question::LayoutQuestion;

/// Accesses of all simulations of suggested layouts together, at most: half a minute.
const MOST_ACCESSES: u64 = 500_000_000;

/// The layouts of a question.
#[derive(Debug)]
pub(crate) struct LayoutAnswers<'a> {
    simulator: LayoutSimulator<'a>,
    trials: Vec<LayoutTrial>,
    /// All changes that were asked for, where there are several.
    together: Option<LayoutOutcome>,
    are_suggested: bool,
}

impl<'a> LayoutAnswers<'a> {
    /// Simulates them.
    pub(crate) fn of(folder: &'a RecordingFolder, question: &LayoutQuestion) -> Result<LayoutAnswers<'a>> {
        let mut simulator = LayoutSimulator::open(folder, question.communication)?;
        let are_suggested = question.changes.is_empty();
        let asked: Vec<Vec<String>> = match are_suggested {
            true => {
                let most = MOST_ACCESSES / simulator.accesses().max(1);
                let all = suggested_layouts(simulator.objects(), simulator.unit());
                all.into_iter().take(most.max(1) as usize).collect()
            }
            false => question.changes.iter().map(|text| vec![text.clone()]).collect(),
        };
        let parse = |texts: &Vec<String>| {
            let parse = |text: &String| NamedLayoutChange::parse(text, simulator.objects());
            texts.iter().map(parse).collect::<longpole_report::Result<Vec<_>>>()
        };
        let changes = asked.iter().map(parse).collect::<longpole_report::Result<Vec<_>>>()?;
        // What contradicts each other is refused before anything is simulated.
        let all =
            (!are_suggested && changes.len() > 1).then(|| merge_layouts(&changes.concat())).transpose()?;
        let mut trials = Vec::new();
        for (texts, changes) in asked.into_iter().zip(&changes) {
            let outcome = simulator.simulate(&merge_layouts(changes)?)?;
            let labels: Vec<&str> = changes.iter().map(|change| change.label.as_str()).collect();
            trials.push(LayoutTrial { texts, label: labels.join(", "), outcome });
        }
        let together = all.map(|all| simulator.simulate(&all)).transpose()?;
        Ok(LayoutAnswers { simulator, trials, together, are_suggested })
    }

    /// What they say.
    pub(crate) fn report(&self, input: &ReportInput<'_>, options: &ReportOptions) -> Report {
        let layouts = (self.trials.as_slice(), self.together.as_ref(), self.are_suggested);
        build_layouts(input, options, &self.simulator, layouts)
    }
}
