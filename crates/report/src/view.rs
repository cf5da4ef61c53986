//! The views of a recording.

use std::fmt;
use std::str::FromStr;

use longpole_metrics::{By, DetailsDemand, GainsOf};
use longpole_series::did_you_mean;
use longpole_trace::Fold;

use crate::error::Error;
use crate::find::{FoundNodes, NameKind, RecordingNames};
use crate::input::ReportOptions;

macro_rules! views {
    ($($(#[doc = $doc:literal])* $name:ident => $text:literal),* $(,)?) => {
        /// What a report is about.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum View {
            #[default]
            $($(#[doc = $doc])* $name,)*
        }

        impl View {
            /// Every view, in the order of the documentation.
            pub const ALL: &'static [View] = &[$(View::$name),*];

            /// The view's name on the command line and in JSON.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(View::$name => $text,)* }
            }

            /// One sentence about the view.
            #[must_use]
            pub fn about(self) -> &'static str {
                match self { $(View::$name => concat!($($doc),*).trim_ascii_start(),)* }
            }
        }
    };
}

views! {
    /// The short answer: what holds the program back, why, how sure that is, and what to do next.
    Summary => "summary",
    /// Who is on the longest chain of work that depends on each other.
    CriticalPath => "critical-path",
    /// What the run would gain from work that took no time, whichever path it is on.
    Zeroing => "zeroing",
    /// How far work on the critical path can be improved before another path is the longest.
    Slack => "slack",
    /// Normalised processor time: CPU time that counts for more the fewer others are busy.
    Npt => "npt",
    /// CPU time and waiting time: the gprof and the ips2 profile side by side.
    Profile => "profile",
    /// Source lines with what they cost, the waiting suffered there, and the waiting that they caused.
    Source => "source",
    /// Every wait explained: where threads waited, and what those did for whom they waited.
    Waits => "waits",
    /// What threads waited for: each lock, condition, barrier with its waits.
    Objects => "objects",
    /// How long procedures, threads or objects were in each state, and how many threads could run meanwhile.
    States => "states",
    /// Every thread with the time it spent in each state.
    Threads => "threads",
    /// The program's tree: machine, process, thread, procedure.
    Tree => "tree",
    /// The tree of call paths with CPU time, critical path and waiting: what flame graphs are drawn from.
    CallTree => "call-tree",
    /// One procedure with those that call it and those that it calls.
    Callers => "callers",
    /// How much of the run so many threads were busy, and who ran when few were.
    Parallelism => "parallelism",
    /// Where the time of the processors went: work, spinning, other programs, and what was waited for while they were idle.
    Processors => "processors",
    /// Parallelism over time, and the parts of the run between which it changes.
    Phases => "phases",
    /// Every metric of a node over the run: from outside, derived, built in.
    Metrics => "metrics",
    /// Which outside series move with low parallelism, or with waiting.
    Correlation => "correlation",
    /// The metrics side by side on one scale, and where they disagree.
    Rankings => "rankings",
    /// Which ranking to follow for this program, which one misleads, and why.
    Guidance => "guidance",
    /// What the answers rest on: events, samples, losses, and the cost of collecting.
    Evidence => "evidence",
}

impl View {
    /// Kinds of thing of which the view can be asked for alone (`--of`).
    #[must_use]
    pub fn kinds(self) -> &'static [NameKind] {
        match self {
            View::Objects => &[NameKind::Object],
            View::Source => &[NameKind::File],
            View::CallTree => &[NameKind::Procedure, NameKind::Region, NameKind::Thread, NameKind::Process],
            View::Callers => &[NameKind::Procedure, NameKind::Region],
            View::Parallelism => &[NameKind::Procedure, NameKind::Region, NameKind::Object, NameKind::Thread],
            _ => &[],
        }
    }

    /// Whether its rows can be procedures in each process apart.
    const fn has_process_procedures(self) -> bool {
        matches!(self, View::Rankings)
    }

    /// Whether its rows can be of this kind. Most views have the rows that they have whatever is asked for.
    ///
    /// # Errors
    /// [`Error::NotByProcessProcedure`].
    pub fn permit(self, by: By) -> Result<(), Error> {
        if by != By::ProcessProcedure || self.has_process_procedures() {
            return Ok(());
        }
        let with: Vec<&str> =
            View::ALL.iter().filter(|view| view.has_process_procedures()).map(|view| view.name()).collect();
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

    /// What the view folds, where `asked` for that or not: views of call paths and of source lines show everything.
    #[must_use]
    pub fn fold(self, asked: Option<Fold>) -> Fold {
        asked.unwrap_or(match self {
            // The kernel's part is told by the procedures that are its own.
            View::CallTree | View::Callers | View::Source | View::Processors => Fold::None,
            _ => Fold::default(),
        })
    }

    /// Whether the view shows what [findings](crate::findings) say.
    fn has_findings(self) -> bool {
        matches!(self, View::Summary | View::Guidance)
    }

    /// What the view needs beside the [`Analysis`](longpole_metrics::Analysis).
    #[must_use]
    pub fn demand(self, options: &ReportOptions) -> DetailsDemand {
        let gains = matches!(self, View::Zeroing | View::Slack | View::Rankings)
            .then_some(GainsOf { by: options.by, weight: options.weight });
        let chosen = match &options.of {
            Some(FoundNodes::Objects(ids)) => ids.clone(),
            _ => Vec::new(),
        };
        DetailsDemand {
            contention: self == View::Objects
                || (self == View::Rankings && options.by == By::Object)
                || (self == View::Parallelism && !chosen.is_empty()),
            contended: chosen,
            states: (self == View::States).then_some(options.by),
            calls: self == View::Callers,
            phases: self == View::Phases,
            prospects: self.has_findings(),
            processors: self == View::Processors,
            waits: (self == View::Waits).then_some(options.by),
            barriers: self.has_findings(),
            gains,
            path_waits: false,
            replays: (self == View::Rankings).then_some(options.by),
            replays_all: self == View::Rankings && options.all,
        }
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
