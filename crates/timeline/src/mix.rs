//! Mixes: what fills a bin, in eighths.
//!
//! ```text
//!   running 50 %, blocked 31 %, ready 19 %   exactly 4, 2.5, 1.5 eighths: each its whole ones, then one more for the
//!                                            largest rests; of equal ones for the state with the smaller number
//! ```

use rustc_hash::FxHashMap;

use crate::code::STATES;

/// Parts of a bin.
const PARTS: u64 = 8;

/// States with their eighths of the bin, the largest first; together 8.
pub type Mix = Vec<(u8, u8)>;

/// What one thread did in one bin.
#[derive(Clone, Debug)]
pub(crate) struct StateTally {
    times: [u64; STATES],
    /// A bit for each state that was seen.
    seen: u64,
}

impl Default for StateTally {
    fn default() -> Self {
        StateTally { times: [0; STATES], seen: 0 }
    }
}

impl StateTally {
    /// The thread was in this state for so long.
    pub fn add(&mut self, code: usize, time: u64) {
        self.times[code] += time;
        self.seen |= 1 << code;
    }

    /// The states that were seen, with their times.
    fn parts(&self) -> impl Iterator<Item = (usize, u64)> {
        let mut left = self.seen;
        std::iter::from_fn(move || {
            let code = (left != 0).then(|| left.trailing_zeros() as usize)?;
            left &= left - 1;
            Some((code, self.times[code]))
        })
    }

    /// The states of the eighths, a byte each, the smaller numbers first; empties the tally. A bin without length is
    /// filled by what was seen first.
    pub fn take(&mut self) -> u64 {
        let whole: u64 = self.parts().map(|(_, time)| time).sum();
        let key = if self.seen.is_power_of_two() || whole == 0 {
            full(self.seen.trailing_zeros() as usize)
        } else {
            self.eighths(whole)
        };
        while self.seen != 0 {
            self.times[self.seen.trailing_zeros() as usize] = 0;
            self.seen &= self.seen - 1;
        }
        key
    }

    fn eighths(&self, whole: u64) -> u64 {
        let mut left = PARTS;
        let mut eighths = [(0, 0); STATES];
        let mut rests = [(0, 0); STATES];
        let mut count = 0;
        for (code, time) in self.parts() {
            // Eight times a bin of seventy years is still a number.
            let (part, rest) = (time * PARTS / whole, time * PARTS % whole);
            eighths[count] = (code, part);
            left -= part;
            rests[count] = (u64::MAX - rest, count);
            count += 1;
        }
        rests[..count].sort_unstable();
        for &(_, state) in rests[..count].iter().take(left as usize) {
            eighths[state].1 += 1;
        }
        eighths[..count]
            .iter()
            .fold(0, |key, &(code, part)| (0..part).fold(key, |key, _| key << 8 | code as u64))
    }
}

/// The eighths of a bin that is filled by one state.
pub(crate) const fn full(code: usize) -> u64 {
    u64::from_ne_bytes([code as u8; PARTS as usize])
}

/// The mixes of a frame, each once.
#[derive(Debug, Default)]
pub(crate) struct Mixes {
    numbers: FxHashMap<u64, u32>,
    keys: Vec<u64>,
}

impl Mixes {
    /// The number of the mix with these eighths.
    pub fn number(&mut self, key: u64) -> u32 {
        let next = self.keys.len() as u32;
        let keys = &mut self.keys;
        *self.numbers.entry(key).or_insert_with(|| {
            keys.push(key);
            next
        })
    }

    /// The eighths of all mixes, by their numbers.
    pub fn keys(&self) -> &[u64] {
        &self.keys
    }

    /// All mixes, by their numbers.
    pub fn into_mixes(self) -> Vec<Mix> {
        let mix = |key: u64| {
            let eighths = key.to_be_bytes();
            let mut mix: Mix = eighths.chunk_by(u8::eq).map(|equal| (equal[0], equal.len() as u8)).collect();
            mix.sort_by_key(|part| std::cmp::Reverse(part.1));
            mix
        };
        self.keys.into_iter().map(mix).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mix(parts: &[(usize, u64)]) -> Mix {
        let mut tally = StateTally::default();
        parts.iter().for_each(|&(code, time)| tally.add(code, time));
        let mut mixes = Mixes::default();
        mixes.number(tally.take());
        assert_eq!(tally.seen, 0);
        assert_eq!(tally.times, [0; STATES]);
        mixes.into_mixes().remove(0)
    }

    #[test]
    fn the_largest_rests_get_what_is_left() {
        assert_eq!(mix(&[(0, 50), (3, 19), (6, 31)]), [(0, 4), (3, 2), (6, 2)]);
        // 2.4, 2.4 and 3.2 eighths.
        assert_eq!(mix(&[(0, 3), (1, 3), (2, 4)]), [(0, 3), (2, 3), (1, 2)]);
        // All rests are two thirds: the two smaller numbers get more.
        assert_eq!(mix(&[(4, 1), (9, 1), (24, 1)]), [(4, 3), (9, 3), (24, 2)]);
    }

    #[test]
    fn a_bin_of_one_state_and_a_bin_without_length_are_full() {
        assert_eq!(mix(&[(7, 1)]), [(7, 8)]);
        assert_eq!(mix(&[(STATES - 1, 1)]), [(STATES as u8 - 1, 8)]);
        assert_eq!(mix(&[(STATES - 2, 1), (STATES - 1, 1)]), [(STATES as u8 - 2, 4), (STATES as u8 - 1, 4)]);
        assert_eq!(mix(&[(7, 0)]), [(7, 8)]);
        assert_eq!(mix(&[(0, 1_000_000), (1, 1)]), [(0, 8)]);
    }

    #[test]
    fn equal_mixes_have_one_number() {
        let mut mixes = Mixes::default();
        let mut tally = StateTally::default();
        tally.add(0, 3);
        let first = mixes.number(tally.take());
        tally.add(0, 9);
        assert_eq!(mixes.number(tally.take()), first);
        tally.add(1, 9);
        assert_eq!(mixes.number(tally.take()), first + 1);
    }
}
