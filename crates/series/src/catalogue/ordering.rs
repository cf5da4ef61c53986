//! The order in which derived metrics can be computed, and the cycles that have none.
//!
//! A depth-first walk along operands with a stack of its own, so that long chains cost no depth. Time: operands in all.
//!
//! ```text
//!   c = a + b      walk from c:  a done, b: its operand c is on the stack:
//!   b = c / 2                    cycle b → c → b
//!   a = 1
//! ```

use rustc_hash::FxHashMap;

use crate::Description;

/// Where the walk has been.
#[derive(Clone, Copy, PartialEq)]
enum Visit {
    Not,
    On,
    Done,
}

/// What the walk found.
#[derive(Debug, Default, PartialEq)]
pub struct Ordering {
    /// Places of all descriptions, each after those of its operands, cycles apart.
    pub order: Vec<usize>,
    /// The first cycle that each description was found on, as the names along it; the last is the first again.
    pub cycles: FxHashMap<usize, Vec<String>>,
}

/// Orders derived metrics by their operands; names that are none of theirs do not matter.
pub fn order(derived: &[Description]) -> Ordering {
    let places: FxHashMap<&str, usize> =
        derived.iter().enumerate().map(|(place, one)| (one.name.as_str(), place)).collect();
    let mut visits = vec![Visit::Not; derived.len()];
    let mut found = Ordering::default();
    for root in 0..derived.len() {
        if visits[root] != Visit::Not {
            continue;
        }
        visits[root] = Visit::On;
        let mut path = vec![(root, 0)];
        while let Some((place, next)) = path.last_mut() {
            let place = *place;
            let operand = derived[place].formula.as_ref().and_then(|formula| formula.operands().get(*next));
            *next += 1;
            let Some(operand) = operand else {
                visits[place] = Visit::Done;
                found.order.push(place);
                path.pop();
                continue;
            };
            match places.get(operand.as_str()).map(|&operand| (operand, visits[operand])) {
                Some((operand, Visit::Not)) => {
                    visits[operand] = Visit::On;
                    path.push((operand, 0));
                }
                Some((operand, Visit::On)) => found.close(operand, &path, derived),
                _ => {}
            }
        }
    }
    found
}

impl Ordering {
    /// Keeps the cycle that ends at `operand`, which is on the path.
    fn close(&mut self, operand: usize, path: &[(usize, usize)], derived: &[Description]) {
        let begin = path.iter().position(|(place, _)| *place == operand).expect("it is on the path");
        let cycle: Vec<usize> = path[begin..].iter().map(|(place, _)| *place).collect();
        for (turn, &place) in cycle.iter().enumerate() {
            let along = cycle[turn..].iter().chain(&cycle[..=turn]);
            let names = || along.map(|&place| derived[place].name.clone()).collect();
            self.cycles.entry(place).or_insert_with(names);
        }
    }
}
