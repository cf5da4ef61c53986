//! Damages real inputs at random, so that readers can be fuzzed by plain tests.
//!
//! The same seed yields the same sequence, so a failure names all that is needed to see it again. The
//! targets in `fuzz/` search deeper, guided by coverage; they need a nightly compiler.

use std::time::{Duration, Instant};

/// Values that lengths and offsets are often wrong at.
const CORNERS: [u64; 9] =
    [0, 1, 0x7f, 0xff, 0x7fff, 0xffff_ffff, 0x7fff_ffff_ffff_ffff, u64::MAX - 7, u64::MAX];
/// Damages of one input.
const MOST_DAMAGES: u64 = 6;

/// An endless sequence of damaged inputs.
#[derive(Debug)]
pub struct Mutations {
    inputs: Vec<Vec<u8>>,
    state: u64,
    count: u64,
}

impl Mutations {
    /// Begins with these inputs, of which none is empty, and a seed.
    #[must_use]
    pub fn new(inputs: Vec<Vec<u8>>, seed: u64) -> Self {
        assert!(inputs.iter().all(|input| !input.is_empty()), "an empty input has nothing to damage");
        Mutations { inputs, state: seed | 1, count: 0 }
    }

    /// Gives damaged inputs to `reader` for that time. Returns how many; a reader that panics is told of
    /// with the number of the input.
    pub fn run_for(mut self, time: Duration, mut reader: impl FnMut(&[u8])) -> u64 {
        let end = Instant::now() + time;
        while Instant::now() < end {
            let input = self.next_input();
            let _told = ToldOnPanic(self.count);
            reader(&input);
        }
        self.count
    }

    /// The next damaged input.
    pub fn next_input(&mut self) -> Vec<u8> {
        self.count += 1;
        let chosen = self.below(self.inputs.len());
        let mut input = self.inputs[chosen].clone();
        for _ in 0..=self.random() % MOST_DAMAGES {
            self.damage(&mut input);
        }
        input
    }

    fn damage(&mut self, input: &mut Vec<u8>) {
        if input.is_empty() {
            input.push(self.random() as u8);
            return;
        }
        let at = self.below(input.len());
        match self.random() % 8 {
            0 => input[at] ^= 1 << (self.random() % 8),
            1 => input[at] = self.random() as u8,
            2 | 3 => {
                let corner = CORNERS[self.below(CORNERS.len())].to_le_bytes();
                let width = [1, 2, 4, 8][self.below(4)].min(input.len() - at);
                input[at..at + width].copy_from_slice(&corner[..width]);
            }
            4 => {
                let end = self.end(at, input.len());
                input.drain(at..end);
            }
            5 => {
                let end = self.end(at, input.len());
                let copy = input[at..end].to_vec();
                let to = self.below(input.len());
                input.splice(to..to, copy);
            }
            6 => input.truncate(at),
            _ => {
                let other = self.below(self.inputs.len());
                let from = self.below(self.inputs[other].len());
                let end = self.end(from, self.inputs[other].len());
                let piece = self.inputs[other][from..end].to_vec();
                let until = (at + piece.len()).min(input.len());
                input.splice(at..until, piece);
            }
        }
    }

    /// The end of a short piece that begins at `at`.
    fn end(&mut self, at: usize, length: usize) -> usize {
        (at + 1 + self.below(64)).min(length)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.random() % limit as u64) as usize
    }

    /// Xorshift: fast, and the same everywhere.
    fn random(&mut self) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state
    }
}

struct ToldOnPanic(u64);

impl Drop for ToldOnPanic {
    #[allow(clippy::print_stderr, reason = "said while a test fails")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the reader panicked at input {} of the sequence", self.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_determines_the_sequence() {
        let sequence = |seed| {
            let mut mutations = Mutations::new(vec![vec![1; 50], b"another input".to_vec()], seed);
            (0..200).map(|_| mutations.next_input()).collect::<Vec<_>>()
        };
        assert_eq!(sequence(5), sequence(5));
        assert_ne!(sequence(5), sequence(7));
    }

    #[test]
    fn most_inputs_are_damaged_and_most_of_each_is_left() {
        let original: Vec<u8> = (0..=255).collect();
        let mut mutations = Mutations::new(vec![original.clone()], 3);
        let inputs: Vec<_> = (0..1000).map(|_| mutations.next_input()).collect();
        assert!(inputs.iter().filter(|input| **input != original).count() > 950);
        assert!(inputs.iter().filter(|input| input.len() > 200).count() > 500);
    }
}
