//! Columns of block characters, in eighths of a character: a curve in a line of text.

/// What stands where there is no value.
const NO_VALUE: char = ' ';

/// One character of a bar upwards, filled by so many eighths.
pub(crate) fn upwards(eighths: usize) -> char {
    [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'][eighths.min(8)]
}

/// The values as a line of exactly `width` characters: `▁▁▄█ ▁`.
///
/// Each character stands for an equal part of the values and shows their mean there. The lowest block is zero (or the
/// least mean, where that is negative), the full one is the largest mean; a part without a finite value is blank.
#[must_use]
pub fn sparkline(values: &[f64], width: usize) -> String {
    let means: Vec<Option<f64>> = (0..width).map(|column| mean(values, column, width)).collect();
    let known = || means.iter().flatten().copied();
    let least = known().fold(0.0, f64::min);
    // Halves, because the distance of two finite numbers need not be one.
    let range = known().fold(0.0, f64::max) / 2.0 - least / 2.0;
    let block = |mean: f64| {
        let share = if range > 0.0 { (mean / 2.0 - least / 2.0) / range } else { 0.0 };
        upwards(1 + (share * 7.0).round() as usize)
    };
    means.into_iter().map(|mean| mean.map_or(NO_VALUE, block)).collect()
}

/// Mean of the finite values in one of `width` equal parts, each by the share of it that lies in the part.
fn mean(values: &[f64], column: usize, width: usize) -> Option<f64> {
    let edge = |column: usize| column as f64 * values.len() as f64 / width as f64;
    let (from, to) = (edge(column), edge(column + 1));
    let (mut shares, mut sum) = (0.0, 0.0);
    let touched = from.floor() as usize..(to.ceil() as usize).min(values.len());
    for index in touched {
        let share = to.min(index as f64 + 1.0) - from.max(index as f64);
        if values[index].is_finite() && share > 0.0 {
            shares += share;
            sum += values[index] * share;
        }
    }
    (shares > 0.0).then(|| sum / shares).filter(|mean| mean.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_filled_by_eighths() {
        assert_eq!([0, 1, 4, 8, 9].map(upwards), [' ', '▁', '▄', '█', '█']);
    }

    #[test]
    fn the_lowest_block_is_zero_and_the_full_one_the_largest() {
        assert_eq!(sparkline(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], 8), "▁▂▃▄▅▆▇█");
        assert_eq!(sparkline(&[5.0, 5.0], 2), "██");
        assert_eq!(sparkline(&[0.0, 0.0], 2), "▁▁");
        assert_eq!(sparkline(&[-7.0, 0.0], 2), "▁█");
    }

    #[test]
    fn what_has_no_value_is_blank_and_counts_in_no_mean() {
        let none = f64::NAN;
        assert_eq!(sparkline(&[none, 7.0, none, 0.0], 4), " █ ▁");
        assert_eq!(sparkline(&[none, 7.0, none, 0.0], 2), "█▁");
        assert_eq!(sparkline(&[f64::INFINITY, 7.0], 2), " █");
        assert_eq!(sparkline(&[none], 3), "   ");
        assert_eq!(sparkline(&[], 3), "   ");
        assert_eq!(sparkline(&[1.0], 0), "");
    }

    #[test]
    fn the_line_is_as_wide_as_wanted_whatever_the_number_of_values() {
        // Two and a half values a character: 0 0 ½·7 | ½·7 7 7.
        assert_eq!(sparkline(&[0.0, 0.0, 7.0, 7.0, 7.0], 2), "▂█");
        assert_eq!(sparkline(&[0.0, 7.0], 6), "▁▁▁███");
        for count in 1..100 {
            let line = sparkline(&vec![1.0; count], 40);
            assert_eq!(line, "█".repeat(40), "{count}");
        }
    }

    #[test]
    fn numbers_of_any_size_are_drawn() {
        assert_eq!(sparkline(&[f64::MIN, f64::MAX], 2), "▁█");
        assert_eq!(sparkline(&[f64::MIN_POSITIVE, 0.0], 2), "█▁");
    }
}
