//! How sure an estimated share is (metrics.md §1).
//!
//! Shares are estimated from observations. With n equal observations the standard error of a share p is
//! sqrt(p (1 − p) / n). Observations here have unequal weights w (each is charged the work since the one before);
//! they tell as much as n = (Σw)² / Σw² equal ones. What is exact adds to the first sum only: it makes no error.
//!
//! ```text
//!   observations that charged 4, 4, 4, 4      n = 16² / 64  = 4
//!   observations that charged 13, 1, 1, 1     n = 16² / 172 = 1.49
//!   share 50 % of n = 100 observations        error = sqrt(0.25 / 100) = 5 percentage points
//! ```
//! It cannot see bias: a timer in step with the program, or code that no observation can hit.

/// Standard error of `share` (0 to 1) estimated from `samples` observations; the largest possible, ½, when there
/// are none.
#[must_use]
pub fn standard_error(share: f64, samples: f64) -> f64 {
    if samples <= 0.0 {
        return 0.5;
    }
    let share = share.clamp(0.0, 1.0);
    (share * (1.0 - share) / samples.max(1.0)).sqrt()
}

/// Whether two shares of the same whole are so close that their order may be chance: their difference is within
/// its standard error, sqrt((p + q − (p − q)²) / n) for shares of one sample.
#[must_use]
pub fn are_tied(one: f64, other: f64, samples: f64) -> bool {
    if samples <= 0.0 {
        return true;
    }
    let difference = one - other;
    let variance = ((one + other - difference * difference) / samples.max(1.0)).max(0.0);
    difference.abs() <= variance.sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_of_half_of_a_hundred_is_five_points() {
        assert!((standard_error(0.5, 100.0) - 0.05).abs() < 1e-12);
    }

    #[test]
    fn nothing_observed_means_nothing_known() {
        assert!((standard_error(0.3, 0.0) - 0.5).abs() < 1e-12);
        assert!(are_tied(1.0, 0.0, 0.0));
    }

    #[test]
    fn a_share_of_all_or_nothing_has_no_error() {
        assert!(standard_error(1.0, 10.0).abs() < 1e-12);
        assert!(standard_error(0.0, 10.0).abs() < 1e-12);
    }

    #[test]
    fn shares_within_their_error_are_tied() {
        // p = 0.30, q = 0.25, n = 100: sqrt((0.55 − 0.0025) / 100) = 0.074 > 0.05.
        assert!(are_tied(0.30, 0.25, 100.0));
        // n = 1000: 0.0234 < 0.05.
        assert!(!are_tied(0.30, 0.25, 1000.0));
    }
}
