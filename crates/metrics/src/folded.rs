//! Charges moved to the owners of their paths (metrics.md §1), and what they were for.
//!
//! ```text
//!   charged    main > encode 3, main > encode > memset 2     folded   main > encode 5, of which `memset` 2
//! ```
//! Invariant: totals by thread stay what they are. Time: one addition per charge.

use std::collections::BTreeMap;

use longpole_event::ThreadId;
use longpole_trace::{CodePlace, Folding, PathId, Paths, ProcedureId};

use crate::analysis::{Analysis, Charge, Measures};
use crate::parallel_regions::parallel_regions;
use crate::synchronisation::site_costs;

/// Work of a procedure that was folded into another.
#[derive(Clone, Debug)]
pub struct FoldedLeaf {
    /// Into which.
    pub owner: CodePlace,
    /// The procedure.
    pub leaf: ProcedureId,
    /// What it did there, in words that follow a name.
    pub action: Option<&'static str>,
    /// What is charged to the owner for it.
    pub measures: Measures,
}

impl Analysis {
    /// The same with each charge at the owner of its path.
    #[must_use]
    pub fn folded(&self, paths: &Paths, folding: &Folding) -> Analysis {
        let mut charges: BTreeMap<(ThreadId, PathId), Measures> = BTreeMap::new();
        let mut leaves: BTreeMap<(CodePlace, ProcedureId, Option<&'static str>), Measures> = BTreeMap::new();
        for Charge { thread, path, measures } in &self.charges {
            let owner = folding.owner(*path);
            charges.entry((*thread, owner)).or_default().add(measures);
            if let (true, Some(of), Some(leaf)) =
                (owner != *path, paths.innermost(owner), paths.innermost(*path))
            {
                let key = (of, leaf.procedure, folding.action(paths, *path));
                leaves.entry(key).or_default().add(measures);
            }
        }
        let charge = |((thread, path), measures)| Charge { thread, path, measures };
        let leaf = |((owner, leaf, action), measures)| FoldedLeaf { owner, leaf, action, measures };
        Analysis {
            charges: charges.into_iter().map(charge).collect(),
            folded: leaves.into_iter().map(leaf).collect(),
            synchronisation: site_costs(&self.charges, paths, folding),
            parallel_regions: parallel_regions(&self.charges, paths),
            precisions: self.precisions.folded(|path| folding.owner(path)),
            ..self.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use longpole_trace::{Fold, FoldedTimelines, Timelines};

    use crate::drawn::Drawn;
    use crate::{MetricOptions, analyse, total};

    const DRAWING: &str = "A = main\nB = main > encode\nC = main > encode > memset\nT1 AABBCC\nT2 CCCB";

    #[test]
    fn leaves_are_charged_to_their_owners_and_named() {
        let drawn = Drawn::new(DRAWING);
        let paths = drawn.timelines.paths();
        let folding = longpole_trace::Folding::new(paths, Fold::Libraries);
        let folded = drawn.analysis.folded(paths, &folding);
        assert_eq!(total(&folded, |_| true), total(&drawn.analysis, |_| true));
        let [leaf] = folded.folded.as_slice() else { panic!("{:?}", folded.folded) };
        assert_eq!((leaf.measures.running, leaf.action), (5, Some("zeroing memory")));
        assert_eq!(leaf.leaf, drawn.timelines.procedure("memset"));
        assert_eq!(leaf.owner.procedure, drawn.timelines.procedure("encode"));
    }

    #[test]
    fn folding_before_the_analysis_or_after_it_is_the_same() {
        let drawn = Drawn::new(DRAWING);
        let paths = drawn.timelines.paths();
        let folding = longpole_trace::Folding::new(paths, Fold::Libraries);
        let Ok(before) =
            analyse(&FoldedTimelines::new(&drawn.timelines, &folding), &MetricOptions::default());
        let after = drawn.analysis.folded(paths, &folding);
        let charges = |analysis: &crate::Analysis| {
            let charge = |charge: &crate::Charge| (charge.thread, charge.path, charge.measures.clone());
            analysis.charges.iter().map(charge).collect::<Vec<_>>()
        };
        assert_eq!(charges(&before), charges(&after));
    }
}
