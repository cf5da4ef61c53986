//! Who calls a procedure and what it calls, with what was charged through each (gprof's call graph entry of one procedure).
//!
//! ```text
//!   charged   main > f > g 5, main > g > h 3, main > f > g > g 2        of g: own 7, inclusive 10
//!             callers of g   f 7 (own 7), main 3 (own 0)                 add up to the inclusive time
//!             callees of g   h 3                                         add up to it with the own time
//! ```
//! A procedure that calls itself counts once: its caller is that of the outermost call on the path, its callee that of the
//! innermost one.
//!
//! Calls are counted where threads tell of entries (`record --calls`): an entry is an observation at a path that goes on by one
//! procedure from where the thread was.
//!
//! Time: the length of each charged path. Memory: per neighbour of the procedure.

use std::collections::BTreeMap;

use longpole_event::{ThreadId, Time};
use longpole_graph::Sweep;
use longpole_trace::{ObservationKind, PathId, Paths, ProcedureId};

use crate::analysis::{Analysis, Measures};

/// A procedure beside another in call paths.
#[derive(Clone, Debug, Default)]
pub struct Neighbour {
    /// Charged to paths that end in the procedure that is asked about, where this one called it.
    pub own: Measures,
    /// Charged to all paths through both.
    pub inclusive: Measures,
}

/// The neighbours of a procedure.
#[derive(Clone, Debug, Default)]
pub struct Neighbours {
    /// What was charged to it.
    pub all: Neighbour,
    /// Who called it; `None`: it is the outermost procedure of its path.
    pub callers: BTreeMap<Option<ProcedureId>, Neighbour>,
    /// What it called; of these the own part is 0.
    pub callees: BTreeMap<ProcedureId, Neighbour>,
}

/// The callers and callees of a procedure.
#[must_use]
pub fn neighbours(analysis: &Analysis, paths: &Paths, procedure: ProcedureId) -> Neighbours {
    let mut found = Neighbours::default();
    for charge in &analysis.charges {
        // Innermost first.
        let path: Vec<ProcedureId> = paths.places_of(charge.path).map(|place| place.procedure).collect();
        let Some(innermost) = path.iter().position(|&it| it == procedure) else { continue };
        let outermost = path.iter().rposition(|&it| it == procedure).unwrap_or(innermost);
        let caller = found.callers.entry(path.get(outermost + 1).copied()).or_default();
        for sum in [&mut found.all, caller] {
            sum.inclusive.add(&charge.measures);
            if innermost == 0 {
                sum.own.add(&charge.measures);
            }
        }
        if let Some(callee) = innermost.checked_sub(1) {
            found.callees.entry(path[callee]).or_default().inclusive.add(&charge.measures);
        }
    }
    found
}

/// How often one procedure called another, where threads told of it. `None` calls the outermost ones.
pub type CallCounts = BTreeMap<(Option<ProcedureId>, ProcedureId), u64>;

/// The sweep that counts calls.
#[derive(Debug)]
pub(crate) struct CallCounter<'a> {
    paths: &'a Paths,
    at: Vec<PathId>,
    counts: CallCounts,
}

impl<'a> CallCounter<'a> {
    pub fn new(paths: &'a Paths) -> Self {
        CallCounter { paths, at: Vec::new(), counts: CallCounts::new() }
    }

    pub fn into_counts(self) -> CallCounts {
        self.counts
    }
}

impl Sweep for CallCounter<'_> {
    fn observe(&mut self, thread: ThreadId, _time: Time, path: PathId, kind: ObservationKind) {
        if kind != ObservationKind::Boundary {
            return;
        }
        if thread.index() >= self.at.len() {
            self.at.resize(thread.index() + 1, Paths::ROOT);
        }
        let before = std::mem::replace(&mut self.at[thread.index()], path);
        let procedure = |path| self.paths.innermost(path).map(|place| place.procedure);
        if let (Some(caller), Some(callee)) = (self.paths.caller(path), procedure(path))
            && caller == before
        {
            *self.counts.entry((procedure(caller), callee)).or_default() += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use longpole_trace::Timelines;

    use super::*;
    use crate::drawn::Drawn;

    #[test]
    fn callers_add_up_to_the_whole_and_callees_to_the_rest() {
        let drawn =
            Drawn::new("A = main > f > g\nB = main > g > h\nC = main > f > g > g\nD = main\nT1 AAAAABBBCCD");
        let id = |name: &str| drawn.timelines.procedure(name);
        let found = neighbours(&drawn.analysis, drawn.timelines.paths(), id("g"));
        let times = |it: &Neighbour| (it.own.running, it.inclusive.running);
        assert_eq!(times(&found.all), (7, 10));
        let callers: Vec<_> = found.callers.iter().map(|(&caller, sums)| (caller, times(sums))).collect();
        let mut expected = vec![(Some(id("f")), (7, 7)), (Some(id("main")), (0, 3))];
        expected.sort();
        assert_eq!(callers, expected);
        let callees: Vec<_> = found.callees.iter().map(|(&callee, sums)| (callee, times(sums))).collect();
        assert_eq!(callees, [(id("h"), (0, 3))]);
        let of_main = neighbours(&drawn.analysis, drawn.timelines.paths(), id("main"));
        assert_eq!(of_main.callers.keys().copied().collect::<Vec<_>>(), [None]);
    }
}
