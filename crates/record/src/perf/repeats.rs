//! Stacks that are handed over again and again: by name, once they were handed over in full.

use std::hash::{DefaultHasher, Hash, Hasher};

use longpole_symbols::Registers;
use rustc_hash::FxHashSet;

use super::layout::PerfSample;

/// The stacks that were handed over lately. The assembler remembers more of them than this.
#[derive(Debug, Default)]
pub struct Repeats {
    recent: FxHashSet<u64>,
    older: FxHashSet<u64>,
}

impl Repeats {
    /// Keys in one of the two generations.
    const GENERATION: usize = 1 << 15;

    /// Whether the stack was handed over; from now on it was.
    pub(super) fn is_known(&mut self, key: u64) -> bool {
        if self.recent.contains(&key) {
            return true;
        }
        if self.recent.len() >= Self::GENERATION {
            self.older = std::mem::take(&mut self.recent);
        }
        self.recent.insert(key);
        self.older.remove(&key)
    }

    /// Addresses mean something else from now on.
    pub(super) fn forget(&mut self) {
        self.recent.clear();
        self.older.clear();
    }
}

/// Names a stack by all that unwinding depends on: of the memory only words that can be addresses.
pub(super) fn key(pid: u32, sample: &PerfSample<'_>) -> u64 {
    const LOWEST_ADDRESS: u64 = 0x1_0000;
    const HIGHEST_ADDRESS: u64 = 1 << 47;
    let mut hasher = DefaultHasher::new();
    pid.hash(&mut hasher);
    for word in sample.chain.iter() {
        hasher.write_u64(word);
    }
    if let Some(Registers { ip, sp, bp }) = sample.registers {
        [ip, sp, bp].hash(&mut hasher);
    }
    for (position, word) in sample.memory.as_chunks::<8>().0.iter().enumerate() {
        let word = u64::from_ne_bytes(*word);
        if (LOWEST_ADDRESS..HIGHEST_ADDRESS).contains(&word) {
            hasher.write_usize(position);
            hasher.write_u64(word);
        }
    }
    hasher.finish()
}
