//! What a suite's run came to.

use std::collections::BTreeSet;
use std::fmt;

/// Counts, and the names of what failed.
#[derive(Debug, Default)]
pub struct SuiteOutcome {
    /// Tests that passed.
    pub passed: usize,
    /// Tests that failed.
    pub failed: BTreeSet<String>,
    /// Exit status of the suite, where it says something.
    pub status: Option<i32>,
    /// Time it took.
    pub seconds: f64,
}

impl SuiteOutcome {
    /// Reads the verbose output of Python's unittest.
    pub fn of_unittest(output: &str, status: Option<i32>) -> SuiteOutcome {
        let passed = output.lines().filter(|line| line.ends_with("... ok") || *line == "ok").count();
        let failed = |line: &&str| line.starts_with("FAIL: ") || line.starts_with("ERROR: ");
        let failed = output.lines().filter(failed).map(str::to_owned).collect();
        SuiteOutcome { passed, failed, status, seconds: 0.0 }
    }

    /// Reads one line a test: `NAME passed` or anything else.
    pub fn of_lines(output: &str, status: Option<i32>) -> SuiteOutcome {
        let lines: Vec<&str> = output.lines().filter(|line| !line.is_empty()).collect();
        let is_passed = |line: &&&str| line.ends_with(" passed");
        let passed = lines.iter().filter(is_passed).count();
        let failed = lines.iter().filter(|line| !is_passed(line)).map(|&line| line.to_owned()).collect();
        SuiteOutcome { passed, failed, status, seconds: 0.0 }
    }

    /// What fails here and not in the other run; empty where nothing does.
    pub fn beyond(&self, other: &SuiteOutcome) -> String {
        let mut lines: Vec<String> = self.failed.difference(&other.failed).cloned().collect();
        if self.status != other.status {
            lines.push(format!("status {:?} instead of {:?}", self.status, other.status));
        }
        lines.join("; ")
    }
}

impl fmt::Display for SuiteOutcome {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} passed, {} failed in {:.1} s", self.passed, self.failed.len(), self.seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_fails_more_counts() {
        let bare =
            SuiteOutcome::of_unittest("test_a (x) ... ok\ntest_b (x) ... FAIL\nFAIL: test_b (x)\n", Some(2));
        let same =
            SuiteOutcome::of_unittest("test_b (x) ... FAIL\ntest_a (x) ... ok\nFAIL: test_b (x)\n", Some(2));
        let worse = SuiteOutcome::of_unittest("ERROR: test_a (x)\nFAIL: test_b (x)\n", Some(3));
        assert_eq!((bare.passed, same.beyond(&bare).as_str()), (1, ""));
        assert_eq!(worse.beyond(&bare), "ERROR: test_a (x); status Some(3) instead of Some(2)");
    }
}
