//! Names that a misspelt one may have meant.

/// Names that are offered at most.
const OFFERED: usize = 3;
/// Likeness from which on a name is offered, 0 to 1.
const ALIKE: f64 = 0.6;

/// A hint for an unknown name: `; did you mean faults?`, or nothing where no name is like it.
#[must_use]
pub fn did_you_mean<'name>(wanted: &str, known: impl IntoIterator<Item = &'name str>) -> String {
    let mut near: Vec<(f64, &str)> = known.into_iter().map(|name| (likeness(wanted, name), name)).collect();
    near.retain(|(likeness, _)| *likeness >= ALIKE);
    near.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(other.1)));
    near.dedup_by_key(|near| near.1);
    let names: Vec<_> = near.iter().take(OFFERED).map(|(_, name)| *name).collect();
    if names.is_empty() { String::new() } else { format!("; did you mean {}?", names.join(", ")) }
}

/// Whether a name is so like another one that it may be a misspelling of it.
#[must_use]
pub fn is_like(wanted: &str, known: &str) -> bool {
    likeness(wanted, known) >= ALIKE
}

fn likeness(wanted: &str, known: &str) -> f64 {
    strsim::normalized_damerau_levenshtein(&known.to_lowercase(), &wanted.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn like_names_are_offered_the_nearest_first() {
        assert_eq!(
            did_you_mean("page_fault", ["cpu", "page_faults", "major_faults"]),
            "; did you mean page_faults?"
        );
        assert_eq!(did_you_mean("Titel", ["xlabel", "title", "units"]), "; did you mean title?");
        assert_eq!(did_you_mean("zzz", ["cpu"]), "");
    }
}
