//! Sets of bytes of one unit, as masks with a bit for each byte.
//!
//! A mask of a unit of B bytes is `max(1, B / 64)` words; byte *i* is bit `i % 64` of word `i / 64`.

use std::ops::Range;

/// Bits of the bytes `[from, from + length)` of one word; `from + length ≤ 64`, `length ≥ 1`.
const fn bits(from: u32, length: u32) -> u64 {
    (u64::MAX >> (64 - length)) << from
}

/// Calls `each(word, bits)` for the words that `[offset, offset + size)` touches.
#[inline(always)]
pub(crate) fn for_words(offset: u32, size: u32, mut each: impl FnMut(usize, u64)) {
    let mut from = offset;
    let end = offset + size;
    while from < end {
        let length = (end - from).min(64 - from % 64);
        each((from / 64) as usize, bits(from % 64, length));
        from += length;
    }
}

/// Bytes in the mask.
pub(crate) fn count(mask: &[u64]) -> u64 {
    mask.iter().map(|word| u64::from(word.count_ones())).sum()
}

/// Bytes in both masks.
pub(crate) fn count_common(one: &[u64], other: &[u64]) -> u64 {
    one.iter().zip(other).map(|(one, other)| u64::from((one & other).count_ones())).sum()
}

/// Words of 8 bytes of which the mask has a byte.
pub(crate) fn count_words(mask: &[u64]) -> u64 {
    let touched = |word: u64| {
        let word = word | word >> 4;
        let word = word | word >> 2;
        let word = word | word >> 1;
        u64::from((word & 0x0101_0101_0101_0101).count_ones())
    };
    mask.iter().map(|&word| touched(word)).sum()
}

/// Adds `from` to `into`.
pub(crate) fn merge(into: &mut [u64], from: &[u64]) {
    for (into, from) in into.iter_mut().zip(from) {
        *into |= from;
    }
}

/// Bytes of one unit, as an answer.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct ByteSet(Box<[u64]>);

impl ByteSet {
    /// The set that a mask describes.
    pub(crate) fn of(mask: &[u64]) -> Self {
        Self(mask.into())
    }

    /// The mask.
    pub(crate) fn words(&self) -> &[u64] {
        &self.0
    }

    /// Number of bytes.
    pub fn count(&self) -> u64 {
        count(&self.0)
    }

    /// Whether the set has the byte at this offset in the unit.
    pub fn contains(&self, offset: u32) -> bool {
        self.0.get((offset / 64) as usize).is_some_and(|word| word >> (offset % 64) & 1 == 1)
    }

    /// The set as ranges of offsets in the unit, ascending, apart from each other.
    pub fn ranges(&self) -> Vec<Range<u32>> {
        let mut ranges: Vec<Range<u32>> = Vec::new();
        for offset in (0..self.0.len() as u32 * 64).filter(|&offset| self.contains(offset)) {
            match ranges.last_mut() {
                Some(last) if last.end == offset => last.end += 1,
                _ => ranges.push(offset..offset + 1),
            }
        }
        ranges
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_pass_the_ends_of_words() {
        let mut mask = [0; 2];
        for_words(60, 8, |word, bits| mask[word] |= bits);
        for_words(126, 2, |word, bits| mask[word] |= bits);
        assert_eq!(ByteSet::of(&mask).ranges(), [60..68, 126..128]);
        assert_eq!((count(&mask), count_words(&mask)), (10, 3));
    }

    #[test]
    fn a_whole_word_is_64_bytes() {
        let mut mask = [0];
        for_words(0, 64, |word, bits| mask[word] |= bits);
        assert_eq!((mask[0], count_words(&mask)), (u64::MAX, 8));
    }
}
