//! What tells apart procedures whose names are the same without their lists of arguments: instances of a template.
//!
//! ```text
//!   Product<Matrix<double, 4, 4>, Dense>::run(Matrix<double, 4, 4>&)      Product<…>::run(…) [with 4]
//!   Product<Matrix<double, 8, 8>, Dense>::run(Matrix<double, 8, 8>&)      Product<…>::run(…) [with 8]
//! ```
//! In: names. Out: the first words in which a name differs from each other one of its kind.
//!
//! Time: the words of all names of a kind, for each of them; the kinds are found once.

use std::collections::{BTreeMap, BTreeSet};

use longpole_trace::{Paths, Procedure, ProcedureId};

use crate::shortening::without_lists;

/// Names up to this length are shown whole.
const SHORT: usize = 40;
/// Names of a kind that are compared.
const MOST_INSTANCES: usize = 256;

/// The mark of such a procedure: ` [with double,4]`; `None` where its name is short, or the only one of its kind.
pub(crate) fn mark(paths: &Paths, id: ProcedureId) -> Option<String> {
    let procedure = paths.procedure_named_by(id);
    let name = procedure.name.as_str();
    if name.len() <= SHORT || !name.contains(['<', '(']) {
        return None;
    }
    let kind = without_lists(name);
    let is_instance =
        |other: &&Procedure| other.module == procedure.module && without_lists(&other.name) == kind;
    let instances = paths.of_same_beginning(id).filter(is_instance);
    let names: BTreeSet<&str> = instances.map(|other| other.name.as_str()).collect();
    let names: Vec<&str> = names.into_iter().take(MOST_INSTANCES).collect();
    let words = differences(&names).into_iter().zip(&names).find(|(_, other)| **other == name)?.0;
    (names.len() > 1).then(|| format!(" [with {words}]"))
}

/// For each of the names what no other one has.
fn differences(names: &[&str]) -> Vec<String> {
    let words: Vec<Vec<&str>> = names.iter().map(|name| words(name)).collect();
    let mut all: Vec<String> = Vec::with_capacity(names.len());
    for own in &words {
        let others = words.iter().filter(|other| *other != own);
        let places: BTreeSet<usize> = others.map(|other| first_difference(own, other)).collect();
        let shown: Vec<String> = places.into_iter().map(|place| shown(own, place)).collect();
        all.push(shown.join(","));
    }
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    for words in &mut all {
        let count = seen.entry(words.clone()).or_default();
        *count += 1;
        if *count > 1 {
            *words = format!("{words}#{count}");
        }
    }
    all
}

/// Words, each with what it is qualified by, and what stands between them, sign for sign.
fn words(name: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = name;
    while let Some(first) = rest.chars().next() {
        let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
        let length = rest.find(|c| !is_word(c)).unwrap_or(rest.len()).max(first.len_utf8());
        let (word, behind) = rest.split_at(length);
        if word != " " {
            words.push(word);
        }
        rest = behind;
    }
    words
}

fn first_difference(own: &[&str], other: &[&str]) -> usize {
    own.iter().zip(other).position(|(one, other)| one != other).unwrap_or(own.len().min(other.len()))
}

/// The word at a place, without what it is qualified by; of a sign the word before it as well.
fn shown(words: &[&str], place: usize) -> String {
    let is_word = |word: &str| word.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    let short = |word: &str| word.rsplit("::").next().unwrap_or(word).to_owned();
    let place = place.min(words.len().saturating_sub(1));
    let Some(&word) = words.get(place) else { return String::new() };
    if is_word(word) {
        return short(word);
    }
    let before = words[..place].iter().rev().find(|word| is_word(word));
    before.map_or(String::new(), |word| short(word)) + word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instances_are_told_apart_by_the_first_words_that_differ() {
        let names = [
            "Eigen::Product<Eigen::Matrix<double, 4, 4>, Eigen::Dense>::run(int)",
            "Eigen::Product<Eigen::Matrix<double, 8, 8>, Eigen::Dense>::run(int)",
            "Eigen::Product<Eigen::Matrix<float, 8, 8>, Eigen::Dense>::run(int)",
            "Eigen::Product<Eigen::Matrix<float, 8, 8>, Eigen::Sparse>::run(int)",
        ];
        assert_eq!(differences(&names), ["double,4", "double,8", "float,Dense", "float,Sparse"]);
    }

    #[test]
    fn one_that_goes_on_where_another_ends_differs_too() {
        assert_eq!(differences(&["f<int>()", "f<int, long>()", "f<int*>()"]), ["int>", "int,", "int*"]);
        assert_eq!(differences(&["f(a) const", "f(a)"]), ["const", "a)"]);
    }

    #[test]
    fn whatever_the_names_are_no_two_differences_are_the_same() {
        let mut names = BTreeSet::new();
        let types = ["int", "a::T", "b::T", "T<int>", "T<long, int>", "char*"];
        for one in types {
            for other in types {
                names.insert(format!("ns::f<{one}, {other}>::run({other})"));
                names.insert(format!("ns::f<{one}>::run({other}, {one})"));
            }
        }
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let differences = differences(&names);
        let distinct: BTreeSet<&String> = differences.iter().collect();
        assert_eq!(distinct.len(), names.len(), "{differences:#?}");
    }
}
