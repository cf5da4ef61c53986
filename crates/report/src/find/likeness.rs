//! How a name can be like another: the same, the same but for what stands around it, a part of it, or nearly.

use std::cmp::Reverse;

use super::candidate::NameCandidate;

/// Names that an error offers.
const OFFERED: usize = 3;

/// How what was asked for is like a name; each weaker than the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Likeness {
    /// The name as it stands.
    Same,
    /// The name without its arguments, or its file.
    WithoutArguments,
    /// The last part of the name's path, without arguments.
    LastPart,
    /// One of these but for the case of letters.
    CaseAside,
    /// A part of the name, but for the case of letters.
    Part,
}

impl Likeness {
    /// From the strongest to the weakest.
    pub(super) const ALL: [Likeness; 5] =
        [Likeness::Same, Likeness::WithoutArguments, Likeness::LastPart, Likeness::CaseAside, Likeness::Part];

    /// Whether `wanted` is so like the candidate's name.
    pub(super) fn holds<F>(self, candidate: &NameCandidate<F>, wanted: &str) -> bool {
        let name = candidate.name.as_str();
        if wanted.is_empty() || name.is_empty() {
            return false;
        }
        if self == Likeness::Same {
            return name == wanted || candidate.others.iter().any(|other| other == wanted);
        }
        if candidate.is_special {
            return false;
        }
        match self {
            Likeness::Same => false,
            Likeness::WithoutArguments => without_arguments(name) == wanted,
            Likeness::LastPart => last_part(name) == wanted,
            Likeness::CaseAside => {
                let wanted = wanted.to_lowercase();
                [name, without_arguments(name), last_part(name)]
                    .iter()
                    .any(|form| form.to_lowercase() == wanted)
            }
            Likeness::Part => name.to_lowercase().contains(&wanted.to_lowercase()),
        }
    }
}

/// `queue::push` of `queue::push(int)`, and `compute` of Python's `compute jobs.py`; another name stays.
fn without_arguments(name: &str) -> &str {
    if let Some((function, file)) = name.split_once(' ')
        && file.ends_with(".py")
    {
        return function;
    }
    let whole = name.strip_suffix(" const").unwrap_or(name);
    if !whole.ends_with(')') {
        return name;
    }
    let mut depth = 0_i32;
    for (at, c) in whole.char_indices().rev() {
        depth += i32::from(c == ')') - i32::from(c == '(');
        if depth == 0 {
            return if at > 0 { &name[..at] } else { name };
        }
    }
    name
}

/// `push` of `queue::push(int)`, `get` of `main.(*Cache).get`.
fn last_part(name: &str) -> &str {
    let name = without_arguments(name);
    let mut depth = 0_i32;
    let mut begin = 0;
    for (at, c) in name.char_indices() {
        match c {
            '<' | '(' | '{' | '[' => depth += 1,
            '>' | ')' | '}' | ']' => depth -= 1,
            ':' | '.' | '/' if depth == 0 => begin = at + 1,
            _ => {}
        }
    }
    &name[begin..]
}

/// How few slips of the pen there are from one text to the other, whatever the case: more is nearer.
pub(crate) fn alike(wanted: &str, known: &str) -> u64 {
    (strsim::normalized_damerau_levenshtein(&known.to_lowercase(), &wanted.to_lowercase()) * 1e6) as u64
}

/// The candidates that are fewest slips of the pen away; none where there are none.
pub(super) fn nearest<'a, F>(wanted: &str, candidates: &'a [NameCandidate<F>]) -> Vec<&'a NameCandidate<F>> {
    let slips = |text: &str| alike(wanted, text);
    let likeness = |candidate: &NameCandidate<F>| {
        let label = candidate.label.split_once(':').map_or("", |(_, name)| name);
        [candidate.name.as_str(), last_part(&candidate.name), label].map(slips).into_iter().max()
    };
    let is_offered = |candidate: &&NameCandidate<F>| !candidate.name.is_empty();
    let mut offered: Vec<(Reverse<Option<u64>>, &NameCandidate<F>)> = candidates
        .iter()
        .filter(is_offered)
        .map(|candidate| (Reverse(likeness(candidate)), candidate))
        .collect();
    offered.sort_by(|(one, a), (other, b)| one.cmp(other).then_with(|| a.label.cmp(&b.label)));
    offered.dedup_by(|(_, a), (_, b)| a.label == b.label);
    offered.into_iter().take(OFFERED).map(|(_, candidate)| candidate).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_part_of_a_name_is_what_people_say() {
        assert_eq!(last_part("queue::push(int, std::string)"), "push");
        assert_eq!(last_part("main.(*Cache).get"), "get");
        assert_eq!(last_part("<alloc::vec::Vec<T> as Extend>::extend"), "extend");
        assert_eq!(last_part("java.util.HashMap.put"), "put");
        assert_eq!(last_part("plain"), "plain");
        assert_eq!(last_part("rt::run::{{closure}}"), "{{closure}}");
    }

    #[test]
    fn arguments_are_told_from_other_parentheses() {
        assert_eq!(without_arguments("push(int)"), "push");
        assert_eq!(without_arguments("size() const"), "size");
        assert_eq!(without_arguments("f(void (*)(int))"), "f");
        assert_eq!(without_arguments("(anonymous namespace)::f"), "(anonymous namespace)::f");
        assert_eq!(without_arguments("main.(*Cache).get"), "main.(*Cache).get");
        assert_eq!(without_arguments("compute jobs.py"), "compute");
        assert_eq!(last_part("Pool.compute jobs.py"), "compute");
    }
}
