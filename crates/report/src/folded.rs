//! What a row did in the procedures that are folded into it, and for whom a helper works (metrics.md §1).
//!
//! ```text
//!   encode_frame, zeroing pages        most of the row's own work is of one kind
//!   burn: in extra_step 74 %, in common_step 26 %
//! ```

use std::collections::BTreeMap;

use longpole_metrics::{FoldedLeaf, Measures, Node};
use longpole_trace::ProcedureId;

use crate::column::column;
use crate::findings::threshold::{MENTIONED, MOSTLY_FOLDED};
use crate::findings::{Sentence, ShareInWords, sentence};
use crate::input::ReportTables;
use crate::quantity::{percent, percent_text};
use crate::report::{Report, Row};

/// Callers that are named.
const CALLERS: usize = 3;
/// The column.
const FOLDED: &str = "folded";

/// A measure of work.
pub(crate) type MeasureOf<'a> = &'a dyn Fn(&Measures) -> f64;

/// CPU time of the kernel's procedures, nanoseconds: those that no procedure of the program asked for, and those that are folded
/// into the procedures that did.
pub(crate) fn kernel_time(input: &ReportTables<'_>) -> u64 {
    let is_kernel = |procedure| input.paths.procedure_named_by(procedure).module == "[kernel]";
    let charges =
        input.analysis.charges.iter().filter(|charge| {
            input.paths.innermost(charge.path).is_some_and(|place| is_kernel(place.procedure))
        });
    let leaves = input.analysis.folded.iter().filter(|leaf| {
        // What the kernel has of its own is among the charges.
        is_kernel(leaf.leaf) && !is_kernel(leaf.owner.procedure)
    });
    charges.map(|charge| charge.measures.cpu()).sum::<u64>()
        + leaves.map(|leaf| leaf.measures.cpu()).sum::<u64>()
}

/// Useful CPU time of each procedure in those that are folded into it for which this holds, nanoseconds.
pub(crate) fn folded_work(
    input: &ReportTables<'_>,
    is_it: impl Fn(&FoldedLeaf) -> bool,
) -> BTreeMap<ProcedureId, u64> {
    let mut work = BTreeMap::new();
    for leaf in input.analysis.folded.iter().filter(|leaf| is_it(leaf)) {
        *work.entry(leaf.owner.procedure).or_default() += leaf.measures.running;
    }
    work
}

/// What was folded into a row: the leaves and their kinds of work as shares of the row's own, the largest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct FoldedWork {
    leaves: Vec<((ProcedureId, &'static str), f64)>,
    actions: Vec<(&'static str, f64)>,
}

impl FoldedWork {
    /// Of the node, by a measure of which its own is `own`.
    pub(crate) fn of(input: &ReportTables<'_>, node: Node, own: f64, measure: MeasureOf<'_>) -> FoldedWork {
        let mut leaves: BTreeMap<(ProcedureId, &'static str), f64> = BTreeMap::new();
        let mut actions: BTreeMap<&'static str, f64> = BTreeMap::new();
        for FoldedLeaf { leaf, action, measures, .. } in input.folded_into(node) {
            let time = measure(measures);
            *leaves.entry((*leaf, action.unwrap_or_default())).or_default() += time;
            action.iter().for_each(|action| *actions.entry(action).or_default() += time);
        }
        FoldedWork { leaves: shares(leaves, own), actions: shares(actions, own) }
    }

    /// `, zeroing pages` where that is most of it; empty else.
    pub(crate) fn suffix(&self) -> String {
        match self.actions.first() {
            Some((action, share)) if *share >= MOSTLY_FOLDED => format!(", {action}"),
            _ => String::new(),
        }
    }

    /// Whether most of it is this action.
    pub(crate) fn is_mostly(&self, action: &str) -> bool {
        self.actions.first().is_some_and(|&(largest, share)| largest == action && share >= MOSTLY_FOLDED)
    }

    /// The leaf that has most of it, and its share.
    pub(crate) fn leaf(&self) -> Option<(ProcedureId, f64)> {
        self.leaves.first().filter(|&&(_, share)| share >= MOSTLY_FOLDED).map(|&((id, _), share)| (id, share))
    }

    /// `41 % zeroing pages` for a part of it.
    pub(crate) fn evidence(&self) -> Option<String> {
        let &(action, share) = self.actions.first().filter(|&&(_, share)| share >= MENTIONED)?;
        Some(format!("{} {action}", percent_text(share)))
    }

    /// The row with the column `folded`.
    pub(crate) fn add_to(&self, input: &ReportTables<'_>, row: Row) -> Row {
        if self.leaves.is_empty() {
            return row;
        }
        let leaf = |&((id, action), share): &((ProcedureId, &str), f64)| {
            let procedure = input.paths.procedure_named_by(id);
            Row::default()
                .text("procedure", &procedure.name)
                .text("module", &procedure.module)
                .text("action", action)
                .percent("percent", share)
        };
        row.list(FOLDED, self.leaves.iter().map(leaf).collect())
    }
}

/// Parts of a whole in percent, the largest first; none of nothing.
fn shares<K: Ord>(times: BTreeMap<K, f64>, whole: f64) -> Vec<(K, f64)> {
    let share = |(key, time): (K, f64)| (key, percent(time, whole));
    let mut shares: Vec<(K, f64)> = times.into_iter().map(share).filter(|&(_, share)| share > 0.0).collect();
    shares.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    shares
}

/// Adds the column to a report in which a row has it.
pub(crate) fn add_column(report: &mut Report) {
    if report.rows.iter().any(|row| row.get(FOLDED).is_some()) {
        report.columns.push(column(FOLDED));
    }
}

/// Which procedures a procedure works for, where there are several: `extra_step` 74 %, `common_step` 26 %.
pub(crate) fn callers(
    input: &ReportTables<'_>,
    id: ProcedureId,
    measure: MeasureOf<'_>,
) -> Vec<(Sentence, f64)> {
    let mut callers: BTreeMap<ProcedureId, f64> = BTreeMap::new();
    let mut whole = 0.0;
    for charge in &input.analysis.charges {
        let mut places = input.paths.places_of(charge.path).map(|place| place.procedure);
        let time = measure(&charge.measures);
        if time > 0.0 && places.next() == Some(id) {
            whole += time;
            let caller = places.find(|&caller| caller != id && !input.folding.is_folded(caller));
            caller.into_iter().for_each(|caller| *callers.entry(caller).or_default() += time);
        }
    }
    let mut shares = shares(callers, whole);
    shares.retain(|&(_, share)| share >= MENTIONED);
    if shares.len() < 2 {
        return Vec::new();
    }
    let named = |(id, share)| (Sentence::name(input, Node::Procedure(id)), share);
    shares.into_iter().take(CALLERS).map(named).collect()
}

/// The callers as `in X 74 %, in Y 26 %`.
pub(crate) fn callers_text(callers: &[(Sentence, f64)]) -> Sentence {
    let text = |(name, share): &(Sentence, f64)| sentence!["in ", name.clone(), " ", ShareInWords(*share)];
    Sentence::joined(callers.iter().map(text), ", ")
}
