//! `/proc/PID/stat` and `/proc/PID/task/TID/stat`.

use crate::kept_file::{number, words};

/// What is read of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Stat {
    pub(super) parent: u32,
    pub(super) minor_faults: u64,
    pub(super) major_faults: u64,
    /// In ticks of 10 ms.
    pub(super) user: u64,
    /// In ticks of 10 ms.
    pub(super) system: u64,
    pub(super) threads: u64,
    /// Ticks of 10 ms from the machine's start to the task's.
    pub(super) start: u64,
    pub(super) resident_pages: u64,
}

impl Stat {
    /// `None` where it is cut short.
    pub(super) fn parse(text: &[u8]) -> Option<Stat> {
        // The name may hold anything, parentheses too.
        let end = text.iter().rposition(|&byte| byte == b')')?;
        let mut stat = Stat::default();
        // Counted as proc(5) does: the state, after the name, is the third.
        for (field, word) in (3..=24).zip(words(&text[end + 1..])) {
            let to = match field {
                4 => {
                    stat.parent = number(word).and_then(|pid| u32::try_from(pid).ok())?;
                    continue;
                }
                10 => &mut stat.minor_faults,
                12 => &mut stat.major_faults,
                14 => &mut stat.user,
                15 => &mut stat.system,
                20 => &mut stat.threads,
                22 => &mut stat.start,
                24 => {
                    stat.resident_pages = number(word)?;
                    return Some(stat);
                }
                _ => continue,
            };
            *to = number(word)?;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_hold_anything() {
        let text = b"77 (a) R (b c) S 12 77 77 0 -1 4194304 5600 9 3 1 150 40 7 8 20 0 64 0 123456 9000000 2500 18446744073709551615 1 1";
        let wanted = Stat {
            parent: 12,
            minor_faults: 5600,
            major_faults: 3,
            user: 150,
            system: 40,
            threads: 64,
            start: 123_456,
            resident_pages: 2500,
        };
        assert_eq!(Stat::parse(text), Some(wanted));
    }

    #[test]
    fn a_text_cut_anywhere_is_none_or_whole() {
        let text = b"77 (name) S 12 77 77 0 -1 4194304 5600 9 3 1 150 40 7 8 20 0 64 0 123456 9000000 2500 ";
        for length in 0..text.len() - 5 {
            assert_eq!(Stat::parse(&text[..length]), None, "{length}");
        }
    }
}
