//! Searches that begin near what they look for.

/// The last number from `first` on up to which `holds` is true, as it is for `first`. Time: logarithmic in how far
/// that is away.
pub(crate) fn last_from(first: usize, holds: impl Fn(usize) -> bool) -> usize {
    let mut step = 1;
    while holds(first + step) {
        step *= 2;
    }
    // It holds at first + step / 2, which is first where step is 1, and not at first + step.
    let (mut low, mut high) = (first + step / 2, first + step);
    while low + 1 < high {
        let middle = usize::midpoint(low, high);
        if holds(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_is_found_wherever_it_is() {
        for first in 0..5 {
            for last in first..70 {
                assert_eq!(last_from(first, |number| number <= last), last);
            }
        }
    }
}
