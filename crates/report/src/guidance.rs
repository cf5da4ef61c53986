//! Which ranking to follow for this program, and why (metrics.md §11; M §4.4).
//!
//! No metric is the best one for every program. What the program is like is measured ([`Character`]), and rules
//! that the definitions list say what follows from that: the first rule of those that *lead* and hold decides what
//! to follow; every other rule that holds adds its remark.

mod character;
mod rules;

pub(crate) use character::Character;
pub(crate) use rules::{Ranking, Verdict};

use crate::input::Source;
use crate::view::View;
use rules::{RULES, Rule};

/// What to follow, and what misleads.
#[derive(Clone, Debug)]
pub(crate) struct Guidance {
    /// What was measured.
    pub character: Character,
    /// What to follow, in a sentence or two.
    pub lead: String,
    /// What else to know, the weightiest first.
    pub remarks: Vec<String>,
    /// What to think of each ranking, and why.
    pub verdicts: Vec<(Ranking, Verdict, &'static str)>,
}

/// Applies the rules.
pub(crate) fn guidance(input: &Source<'_>) -> Guidance {
    let character = Character::of(input);
    let holding: Vec<&Rule> = RULES.iter().filter(|rule| (rule.holds)(&character)).collect();
    let lead = holding.iter().find(|rule| rule.leads);
    let others = holding.iter().filter(|rule| !rule.leads);
    let said: Vec<&Rule> = lead.into_iter().chain(others).copied().collect();
    Guidance {
        lead: lead.map_or(String::new(), |rule| (rule.sentence)(&character)),
        remarks: said.iter().filter(|rule| !rule.leads).map(|rule| (rule.sentence)(&character)).collect(),
        verdicts: verdicts(&said),
        character,
    }
}

/// The least favourable that any rule says of each ranking there is a view for.
fn verdicts(said: &[&Rule]) -> Vec<(Ranking, Verdict, &'static str)> {
    let is_shown = |ranking: &&Ranking| ranking.view().parse::<View>().is_ok();
    let verdict = |&ranking: &Ranking| {
        let all = said.iter().flat_map(|rule| rule.says).filter(|(of, ..)| *of == ranking);
        // Of equal ones the first, which is the leading rule's.
        let (_, verdict, why) = all.rev().max_by_key(|(_, verdict, _)| *verdict)?;
        Some((ranking, *verdict, *why))
    };
    Ranking::ALL.iter().filter(is_shown).filter_map(verdict).collect()
}

#[cfg(test)]
mod tests;
