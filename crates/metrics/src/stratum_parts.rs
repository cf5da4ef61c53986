//! The time of each thread in each stratum.
//!
//! ```text
//!   stratum    0         1         2             most strata are of one thread: its time stands at the stratum
//!   first      T3 40     T1 12     T3 7
//!   others     (T4, 0) 5                         other threads' in a table
//! ```
//! Memory: 16 bytes per stratum, and a table of what several threads share.

use longpole_event::ThreadId;
use rustc_hash::FxHashMap;

/// Times by thread and stratum.
#[derive(Debug, Default)]
pub(crate) struct StratumParts {
    /// By stratum: the thread that came into it first.
    first: Vec<Option<(ThreadId, u64)>>,
    others: FxHashMap<(ThreadId, u32), u64>,
    firsts: usize,
}

impl StratumParts {
    /// How many pairs of a thread and a stratum there are.
    pub fn len(&self) -> usize {
        self.firsts + self.others.len()
    }

    /// Whether the thread has been in the stratum.
    pub fn has(&self, thread: ThreadId, stratum: u32) -> bool {
        match self.first.get(stratum as usize) {
            Some(&Some((first, _))) if first == thread => true,
            Some(Some(_)) => self.others.contains_key(&(thread, stratum)),
            _ => false,
        }
    }

    /// The thread was in the stratum so long.
    pub fn add(&mut self, thread: ThreadId, stratum: u32, time: u64) {
        if self.first.len() <= stratum as usize {
            self.first.resize(stratum as usize + 1, None);
        }
        match &mut self.first[stratum as usize] {
            Some((first, sum)) if *first == thread => *sum += time,
            Some(_) => *self.others.entry((thread, stratum)).or_default() += time,
            empty => {
                *empty = Some((thread, time));
                self.firsts += 1;
            }
        }
    }

    /// Thread, stratum, time; in this order.
    pub fn into_sorted(self) -> Vec<(ThreadId, u32, u64)> {
        let StratumParts { first, others, .. } = self;
        let first = (0..).zip(first).filter_map(|(stratum, part)| {
            let (thread, time) = part?;
            Some((thread, stratum, time))
        });
        let others = others.into_iter().map(|((thread, stratum), time)| (thread, stratum, time));
        let mut parts: Vec<_> = first.chain(others).collect();
        parts.sort_unstable_by_key(|&(thread, stratum, _)| (thread, stratum));
        parts
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn times_add_up_by_thread_and_stratum_whoever_comes_first() {
        let (mut parts, mut expected) = (StratumParts::default(), BTreeMap::new());
        let mut random = 1_u64;
        for time in 0..5_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let (thread, stratum) = (ThreadId((random >> 62) as u32), (random >> 40) as u32 % 500);
            assert_eq!(parts.has(thread, stratum), expected.contains_key(&(thread, stratum)));
            parts.add(thread, stratum, time);
            *expected.entry((thread, stratum)).or_insert(0) += time;
            assert_eq!(parts.len(), expected.len());
        }
        let expected: Vec<_> =
            expected.into_iter().map(|((thread, stratum), time)| (thread, stratum, time)).collect();
        assert_eq!(parts.into_sorted(), expected);
    }
}
