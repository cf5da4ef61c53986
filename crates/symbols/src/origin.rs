//! What the values in a round of a loop are made of, and what follows from it.
//!
//! In: the steps of a loop and its carried variables (see [`crate::round`]). Each variable is followed
//! through one round, from the header to the branches back; where ways meet, a value may be made of either.

use crate::round::{Set, Step, VECTORS};

/// What a value is made of: bit 0 for loads, bit 1 + n for the carried variable number n.
type Sources = u64;
const LOAD: Sources = 1;

/// The sources of every variable at one point.
type Values = [Sources; Set::BITS as usize];

/// Whether a loop with these carried variables waits.
pub(crate) fn is_wait(steps: &[Step], carried: Set) -> bool {
    let carried: Vec<u32> = (0..Set::BITS).filter(|variable| carried >> variable & 1 == 1).collect();
    let before = values_before(steps, &carried);
    let mut after_round: Values = [0; Set::BITS as usize];
    let mut bounds = 0;
    let mut load_decides = false;
    for (step, values) in steps.iter().zip(&before) {
        let Some(values) = values else { continue };
        if made_of(values, step.addresses) & !LOAD != 0 || made_of(values, step.exchanged) & LOAD != 0 {
            return false;
        }
        if step.leaves {
            let sources = read(step, values);
            bounds |= sources & !LOAD;
            load_decides |= sources == LOAD;
        }
        if step.returns {
            join(&mut after_round, &after(step, values));
        }
    }
    load_decides
        && carried.iter().all(|&variable| is_bounded_counter(variable, &carried, &after_round, bounds))
}

/// The sources of all variables before each step; `None` where no way from the header leads.
fn values_before(steps: &[Step], carried: &[u32]) -> Vec<Option<Values>> {
    let mut start: Values = [0; Set::BITS as usize];
    for (number, &variable) in carried.iter().enumerate() {
        start[variable as usize] = 2 << number;
    }
    let mut before: Vec<Option<Values>> = vec![None; steps.len()];
    if let Some(first) = before.first_mut() {
        *first = Some(start);
    }
    let mut open = vec![0];
    while let Some(index) = open.pop() {
        let Some((step, values)) = steps.get(index).zip(before[index].as_ref()) else { continue };
        let after = after(step, values);
        for &next in &step.next {
            let changed = match &mut before[next] {
                Some(values) => join(values, &after),
                unset => {
                    *unset = Some(after);
                    true
                }
            };
            if changed {
                open.push(next);
            }
        }
    }
    before
}

/// Made of itself and constants only, and an exit depends on it. The parts of a register count as one.
fn is_bounded_counter(variable: u32, carried: &[u32], after_round: &Values, bounds: Sources) -> bool {
    let same = |other: u32| other == variable || (other < VECTORS && other / 2 == variable / 2);
    let numbers = carried.iter().enumerate().filter(|(_, other)| same(**other));
    let itself = numbers.fold(0, |set, (number, _)| set | 2 << number);
    after_round[variable as usize] & !itself == 0 && bounds & itself != 0
}

fn read(step: &Step, values: &Values) -> Sources {
    made_of(values, step.reads) | if step.loads { LOAD } else { 0 }
}

fn after(step: &Step, values: &Values) -> Values {
    let sources = read(step, values);
    let mut after = *values;
    for (variable, value) in after.iter_mut().enumerate() {
        if step.replaces >> variable & 1 == 1 {
            *value = sources;
        } else if step.changes >> variable & 1 == 1 {
            *value |= sources;
        }
    }
    after
}

fn made_of(values: &Values, variables: Set) -> Sources {
    let mut rest = variables;
    let mut sources = 0;
    while rest != 0 {
        sources |= values[rest.trailing_zeros() as usize];
        rest &= rest - 1;
    }
    sources
}

/// Adds the sources of one point to another; whether that changed anything.
fn join(values: &mut Values, other: &Values) -> bool {
    let mut changed = false;
    for (value, other) in values.iter_mut().zip(other) {
        changed |= *value | other != *value;
        *value |= other;
    }
    changed
}
