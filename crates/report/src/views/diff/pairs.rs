//! The same thing in two runs: amounts with their errors, and what makes a change one.

use std::collections::{BTreeMap, BTreeSet};

use longpole_metrics::{By, Node};
use longpole_trace::ProcedureId;

use super::BothRuns;
use crate::findings::threshold::{LEAST_GAIN, SHORTEST_GAIN};
use crate::input::ReportTables;
use crate::name::program_file;
use crate::quantity::percent;
use crate::report::Row;
use crate::share::{Estimate, PrecisionBehind, standard_error};

/// Standard errors beyond which a change is one.
const ERRORS: f64 = 2.0;

/// An amount with its standard error, nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct ComparedAmount {
    pub value: f64,
    /// 0 where it is exact.
    pub error: f64,
}

impl ComparedAmount {
    /// Of what was not estimated.
    pub fn exact(value: f64) -> ComparedAmount {
        ComparedAmount { value, error: 0.0 }
    }

    /// Adds another one, of the same samples.
    pub fn add(&mut self, other: ComparedAmount) {
        self.value += other.value;
        self.error = self.error.hypot(other.error);
    }
}

/// The amounts of both runs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct ComparedPair {
    pub before: ComparedAmount,
    pub after: ComparedAmount,
}

impl ComparedPair {
    pub fn change(&self) -> f64 {
        self.after.value - self.before.value
    }

    /// Standard error of the change: the runs know nothing of each other.
    pub fn error(&self) -> f64 {
        self.before.error.hypot(self.after.error)
    }

    /// Whether it is more than errors and chance make.
    pub fn is_changed(&self) -> bool {
        let most = self.before.value.max(self.after.value);
        let least = (ERRORS * self.error()).max(SHORTEST_GAIN).max(LEAST_GAIN / 100.0 * most);
        self.change().abs() > least
    }

    /// Fills the columns of both runs, of the change, and of what to think of it.
    pub fn fill(&self, row: Row) -> Row {
        let verdict = match self.change() {
            _ if !self.is_changed() => "none",
            change if change > 0.0 => "more",
            _ => "less",
        };
        let row = row
            .fraction("before_seconds", self.before.value)
            .fraction("after_seconds", self.after.value)
            .fraction("change_seconds", self.change())
            .text("verdict", verdict);
        let row = if self.error() > 0.0 { row.fraction("change_error_seconds", self.error()) } else { row };
        match self.before.value {
            before if before > 0.0 => row.percent("change_percent", percent(self.change(), before)),
            _ => row,
        }
    }
}

/// A procedure's name and its module; the program's own file is one module, whatever it is called.
pub(super) type ProcedureName = (String, String);

/// Under what a procedure is found in the other run.
pub(super) fn name_of_procedure(run: &ReportTables<'_>, id: ProcedureId) -> ProcedureName {
    let procedure = run.paths.procedure_named_by(id);
    let is_own = procedure.module == program_file(run.program);
    (procedure.name.clone(), if is_own { String::new() } else { procedure.module.clone() })
}

/// The cells and the name for people of a procedure.
pub(super) fn with_procedure(row: Row, (name, module): &ProcedureName) -> (Row, String) {
    let shown =
        if module.is_empty() || module == "[kernel]" { name.clone() } else { format!("{name} ({module})") };
    (row.text("procedure", name).text("module", module), shown)
}

/// How many procedures with work the runs have in common, and how many there are in all.
pub(super) fn common_procedures(runs: BothRuns<'_, '_>) -> (usize, usize) {
    let [before, after] = runs.map(|run| {
        let is_procedure = |row: &longpole_metrics::NodeRow| match row.node {
            Node::Procedure(id) if row.own.running > 0 => Some(name_of_procedure(run, id)),
            _ => None,
        };
        run.rows(By::Procedure).iter().filter_map(is_procedure).collect::<BTreeSet<_>>()
    });
    (before.intersection(&after).count(), before.union(&after).count())
}

/// Puts what both runs have under the same key together, in the order of the keys.
pub(super) fn paired<K: Ord>(
    [before, after]: [BTreeMap<K, ComparedAmount>; 2],
) -> BTreeMap<K, (ComparedPair, &'static str)> {
    let mut pairs: BTreeMap<K, (ComparedPair, &'static str)> = BTreeMap::new();
    for (key, before) in before {
        pairs.insert(key, (ComparedPair { before, ..ComparedPair::default() }, "before"));
    }
    for (key, after) in after {
        let (pair, only) = pairs.entry(key).or_insert((ComparedPair::default(), "after"));
        pair.after = after;
        if *only == "before" {
            *only = "";
        }
    }
    pairs
}

/// Sorts rows: what changed comes first, the largest change before the others.
pub(super) fn largest_first(rows: &mut [(Row, String)]) {
    let key = |row: &Row| (row.words("verdict") == "none", row.value("change_seconds").unwrap_or(0.0).abs());
    rows.sort_by(|(a, one), (b, other)| {
        let (a, b) = (key(a), key(b));
        a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)).then(one.cmp(other))
    });
}

/// Errors of the procedures' estimated times of one figure.
pub(super) struct ProcedureErrors {
    estimate: Option<Estimate>,
    samples: f64,
    whole: f64,
}

impl ProcedureErrors {
    /// Of a figure that adds up to `whole`, nanoseconds.
    pub fn of(run: &ReportTables<'_>, behind: PrecisionBehind<'_>, whole: f64) -> ProcedureErrors {
        let estimate = Estimate::of(run, By::Procedure, behind, whole);
        ProcedureErrors { estimate, samples: behind.1, whole }
    }

    /// The amount with its error; where too few samples are behind it, that of as many samples in all.
    pub fn amount(&self, id: ProcedureId, value: f64) -> ComparedAmount {
        let share = percent(value, self.whole).min(100.0);
        let of_row = self.estimate.as_ref().and_then(|estimate| estimate.error(Node::Procedure(id), share));
        // Where the figure has no work of it the samples agree, which is no certainty.
        let of_share = standard_error(share.max(100.0 / self.samples.max(1.0)).min(100.0), self.samples);
        let error = of_row.or(of_share).unwrap_or(0.0);
        ComparedAmount { value, error: error / 100.0 * self.whole }
    }
}
