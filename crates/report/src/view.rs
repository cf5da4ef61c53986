//! The views of a recording.

use std::fmt;
use std::str::FromStr;

use longpole_metrics::{By, DetailsDemand};
use longpole_series::did_you_mean;
use longpole_trace::Fold;

use crate::error::Error;
use crate::find::{FoundNodes, NameKind, RecordingNames};
use crate::input::{ReportOptions, ReportTables};
use crate::needs::RecordingNeed;
use crate::report::Report;
pub use crate::views::View;

/// A view: how it is called, what it needs and how it is made. Each one is in its file under `views/`, and has one line in the
/// list there; help, documents, exports and the page's menu come from that list.
pub(crate) struct ViewDefinition {
    /// Its name on the command line and in JSON.
    pub(crate) name: &'static str,
    /// One sentence about it.
    pub(crate) about: &'static str,
    /// Kinds of thing of which it can be asked for alone (`--of`).
    pub(crate) kinds: &'static [NameKind],
    /// What it folds unless the reader says: views of call paths and of source lines show everything.
    pub(crate) fold: Fold,
    /// Whether it has rows of each kind (`--by`). Other views have the rows that they have whatever is asked for.
    pub(crate) has_levels: bool,
    /// Whether its rows can be procedures in each process apart.
    pub(crate) has_process_procedures: bool,
    /// Whether it counts work, so that objects have no rows.
    pub(crate) counts_work_only: bool,
    /// Whether the run stands above it, and doubts below.
    pub(crate) has_frame: bool,
    /// What it cannot say without.
    pub(crate) needs: fn(By) -> &'static [RecordingNeed],
    /// What it needs beside the analysis.
    pub(crate) demand: fn(&ReportOptions) -> DetailsDemand,
    /// What it shows of outside series.
    pub(crate) outside: &'static [OutsideAnswerKind],
    /// Makes it.
    pub(crate) build: fn(&ReportTables<'_>, &ReportOptions) -> Report,
}

impl ViewDefinition {
    /// What most views have, and no name.
    pub(crate) const PLAIN: ViewDefinition = ViewDefinition {
        name: "",
        about: "",
        kinds: &[],
        fold: Fold::Libraries,
        has_levels: false,
        has_process_procedures: false,
        counts_work_only: false,
        has_frame: true,
        needs: |_| &[],
        demand: |_| DetailsDemand::default(),
        outside: &[],
        build: |_, _| unreachable!("every view has a builder of its own"),
    };
}

/// What is computed of outside series for a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutsideAnswerKind {
    /// Every metric over the run.
    Figures,
    /// The time of idle processors by the kernel's accounts.
    IdleProcessors,
    /// Which series move with low parallelism or waiting.
    Correlations,
    /// The same, where outside series were recorded.
    CorrelationsWhereRecorded,
    /// The recorded accesses to memory, simulated.
    Communication,
    /// The patterns of the data in them, beside those of its units.
    DataPatterns,
    /// Their causality graphs.
    CausalityGraphs,
    /// What leaving something out was measured to gain.
    Zeroings,
}

/// The demand of a view that shows what [findings](crate::findings) say.
pub(crate) fn findings_demand(_: &ReportOptions) -> DetailsDemand {
    DetailsDemand { prospects: true, barriers: true, ..DetailsDemand::default() }
}

impl View {
    /// The view's name on the command line and in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.definition().name
    }

    /// One sentence about the view.
    #[must_use]
    pub fn about(self) -> &'static str {
        self.definition().about
    }

    /// Kinds of thing of which the view can be asked for alone (`--of`).
    #[must_use]
    pub fn kinds(self) -> &'static [NameKind] {
        self.definition().kinds
    }

    /// Whether it has rows of each kind (`--by`).
    #[must_use]
    pub fn has_levels(self) -> bool {
        self.definition().has_levels
    }

    /// What it shows of outside series.
    #[must_use]
    pub fn outside(self) -> &'static [OutsideAnswerKind] {
        self.definition().outside
    }

    /// Whether its rows can be of this kind. Most views have the rows that they have whatever is asked for.
    ///
    /// # Errors
    /// [`Error::NotByProcessProcedure`].
    pub fn permit(self, by: By) -> Result<(), Error> {
        if by != By::ProcessProcedure || self.definition().has_process_procedures {
            return Ok(());
        }
        let with: Vec<&str> = View::ALL
            .iter()
            .map(|view| view.definition())
            .filter(|view| view.has_process_procedures)
            .map(|view| view.name)
            .collect();
        Err(Error::NotByProcessProcedure { view: self.name(), known: with.join(", ") })
    }

    /// What `wanted` names, where the view can be asked for that alone.
    ///
    /// # Errors
    /// [`Error::NotOfOne`], and those of [`RecordingNames::find`].
    pub fn find(self, wanted: &str, names: &RecordingNames<'_>) -> Result<FoundNodes, Error> {
        if self.kinds().is_empty() {
            let with: Vec<&str> =
                View::ALL.iter().filter(|view| !view.kinds().is_empty()).map(|view| view.name()).collect();
            return Err(Error::NotOfOne { view: self.name(), known: with.join(", ") });
        }
        names.find(wanted, self.kinds())
    }

    /// What the view folds, where `asked` for that or not.
    #[must_use]
    pub fn fold(self, asked: Option<Fold>) -> Fold {
        asked.unwrap_or(self.definition().fold)
    }

    /// What the view needs beside the [`Analysis`](longpole_metrics::Analysis).
    #[must_use]
    pub fn demand(self, options: &ReportOptions) -> DetailsDemand {
        (self.definition().demand)(options)
    }
}

impl fmt::Display for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for View {
    type Err = Error;

    fn from_str(name: &str) -> Result<View, Error> {
        let unknown = || {
            let known: Vec<&str> = View::ALL.iter().map(|view| view.name()).collect();
            let near = did_you_mean(name, known.iter().copied());
            Error::UnknownView { name: name.to_owned(), near, known: known.join(", ") }
        };
        View::ALL.iter().copied().find(|view| view.name() == name).ok_or_else(unknown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_view_is_found_by_its_name_and_says_what_it_is() {
        for &view in View::ALL {
            assert_eq!(view.name().parse::<View>().unwrap(), view);
            assert!(view.about().ends_with('.') && !view.about().starts_with(' '), "{view}");
        }
    }

    #[test]
    fn an_unknown_view_is_answered_with_the_known_ones() {
        let error = "profil".parse::<View>().unwrap_err().to_string();
        assert!(
            error.contains("`profil`; did you mean profile?")
                && error.contains("critical-path, zeroing, slack, npt, profile"),
            "{error}"
        );
    }
}
