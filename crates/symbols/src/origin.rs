//! What decides how often a loop goes round.
//!
//! In: the steps of a loop without carried variables (see [`crate::round`]). Each variable is followed
//! through one round, from the header to the branches back: it is made of loads, or of what stays the same.
//! Where ways meet, a value may be made of either.

use crate::round::{Set, Step};

/// Whether loads alone decide every exit, and what a compare-and-exchange does is fixed.
pub(crate) fn is_wait(steps: &[Step]) -> bool {
    let mut leaves = false;
    for (step, loaded) in steps.iter().zip(loaded_before(steps)) {
        let Some(loaded) = loaded else { continue };
        if step.exchanged & loaded != 0 {
            return false;
        }
        if step.leaves {
            // What stays the same is tested once, before a wait; here it is found out by the loop.
            if !is_loaded(step, loaded) {
                return false;
            }
            leaves = true;
        }
    }
    leaves
}

/// The variables that may hold something loaded, before each step; `None` where no way from the header leads.
fn loaded_before(steps: &[Step]) -> Vec<Option<Set>> {
    let mut before: Vec<Option<Set>> = vec![None; steps.len()];
    if let Some(first) = before.first_mut() {
        *first = Some(0);
    }
    let mut open = vec![0];
    while let Some(index) = open.pop() {
        let Some((step, loaded)) = steps.get(index).zip(before[index]) else { continue };
        let after = if is_loaded(step, loaded) {
            loaded | step.replaces | step.changes
        } else {
            loaded & !step.replaces
        };
        for &next in &step.next {
            let joined = before[next].unwrap_or(0) | after;
            if before[next] != Some(joined) {
                before[next] = Some(joined);
                open.push(next);
            }
        }
    }
    before
}

/// Whether what a step makes, or decides by, comes from a load.
fn is_loaded(step: &Step, loaded: Set) -> bool {
    step.loads || step.reads & loaded != 0
}
