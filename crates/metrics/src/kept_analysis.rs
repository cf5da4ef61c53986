//! The analysis of a recording as bytes, so that the next question about it needs no sweep.
//!
//! Segments of critical paths follow each other closely: each is kept as its distance from the one before, and its length.

use longpole_event::{ThreadId, Time};
use longpole_trace::{Cause, IdCounts, Stored, StoredBytes, restored, stored};

use crate::analysis::{
    Analysis, Charge, CriticalPath, EffectiveSamples, Measures, PathSegment, Precisions, ThreadStates,
};
use crate::parallel_regions::ParallelRegions;
use crate::path_waits::PathWaitKind;
use crate::spin_costs::SpinCosts;

/// More than any run is charged; sums of less do not overflow.
const MOST_CHARGED: u128 = 1 << 62;

stored! {
    Charge { thread, path, measures }
    Measures {
        running, spinning, overhead, ready, blocked, blocks, npt_terms, critical_cpu, critical_elapsed, path_waits, caused_wait,
        idle_blame, observations,
    }
    ThreadStates { running, spinning, overhead, ready, blocked, polled_for_others, switches }
    EffectiveSamples { cpu, npt, critical }
    Precisions { cpu, npt, critical }
    SpinCosts { while_spinning, while_ready, before_work }
}
stored!(enum PathWaitKind { 0: Ready, 1: Spinning, 2: Overhead, 3: Blocked(cause), 4: UnderWay });

impl Analysis {
    /// The analysis, before folding, as bytes.
    #[must_use]
    pub fn kept_bytes(&self) -> Vec<u8> {
        self.stored_bytes()
    }

    /// The analysis of these bytes; `None` where they are none, or one of another recording than one with these ids.
    #[must_use]
    pub fn of_kept_bytes(bytes: &[u8], ids: IdCounts) -> Option<Analysis> {
        restored::<Analysis>(bytes, ids).filter(|analysis| analysis.is_sound(ids))
    }

    fn is_sound(&self, ids: IdCounts) -> bool {
        let has_causes = |thread: &ThreadStates| thread.blocked.len() == Cause::ALL.len();
        let sum = |charge: &Charge| {
            let Measures {
                running, spinning, overhead, ready, blocks, critical_cpu, critical_elapsed, ..
            } = charge.measures;
            let Measures { ref blocked, ref path_waits, caused_wait, idle_blame, observations, .. } =
                charge.measures;
            [running, spinning, overhead, ready, blocks, critical_cpu, critical_elapsed]
                .iter()
                .chain(blocked)
                .chain(path_waits.values())
                .chain(&[caused_wait, idle_blame, observations])
                .map(|&number| u128::from(number))
                .sum::<u128>()
        };
        self.threads.len() == ids.threads
            && self.polls.len() == ids.threads
            && self.polls.iter().all(|polled| polled.in_vain <= polled.slept)
            && self.pinning.times.iter().map(|time| u128::from(time.waited)).sum::<u128>() < MOST_CHARGED
            && self.threads.iter().all(has_causes)
            && self.charges.iter().map(sum).sum::<u128>() < MOST_CHARGED
    }
}

impl Stored for Analysis {
    fn store(&self, bytes: &mut Vec<u8>) {
        let Analysis {
            elapsed,
            busy,
            nominal,
            charges,
            folded: _,
            synchronisation: _,
            parallel_regions: _,
            spun_for_unknown,
            spin_costs,
            threads,
            critical_cpu,
            critical_elapsed,
            effective_samples,
            precisions,
            final_waits,
            pinning,
            polls,
            sample_pairs,
            timer,
            charging,
        } = self;
        elapsed.store(bytes);
        busy.store(bytes);
        nominal.store(bytes);
        charges.store(bytes);
        spun_for_unknown.store(bytes);
        spin_costs.store(bytes);
        threads.store(bytes);
        critical_cpu.store(bytes);
        critical_elapsed.store(bytes);
        effective_samples.store(bytes);
        precisions.store(bytes);
        final_waits.store(bytes);
        pinning.store(bytes);
        polls.store(bytes);
        sample_pairs.store(bytes);
        timer.store(bytes);
        charging.store(bytes);
    }

    fn restore(bytes: &mut StoredBytes<'_>) -> Option<Self> {
        Some(Analysis {
            elapsed: Stored::restore(bytes)?,
            busy: Stored::restore(bytes)?,
            nominal: Stored::restore(bytes)?,
            charges: Stored::restore(bytes)?,
            folded: Vec::new(),
            synchronisation: Vec::new(),
            parallel_regions: ParallelRegions::default(),
            spun_for_unknown: Stored::restore(bytes)?,
            spin_costs: Stored::restore(bytes)?,
            threads: Stored::restore(bytes)?,
            critical_cpu: Stored::restore(bytes)?,
            critical_elapsed: Stored::restore(bytes)?,
            effective_samples: Stored::restore(bytes)?,
            precisions: Stored::restore(bytes)?,
            final_waits: Stored::restore(bytes)?,
            pinning: Stored::restore(bytes)?,
            polls: Stored::restore(bytes)?,
            sample_pairs: Stored::restore(bytes)?,
            timer: Stored::restore(bytes)?,
            charging: Stored::restore(bytes)?,
        })
    }
}

impl Stored for CriticalPath {
    fn store(&self, bytes: &mut Vec<u8>) {
        let CriticalPath { length, segments } = self;
        length.store(bytes);
        segments.len().store(bytes);
        let mut last = 0_u64;
        for &PathSegment { thread, from, to } in segments {
            let (from, to) = (from.nanoseconds(), to.nanoseconds());
            thread.store(bytes);
            from.wrapping_sub(last).store(bytes);
            to.wrapping_sub(from).store(bytes);
            last = to;
        }
    }

    fn restore(bytes: &mut StoredBytes<'_>) -> Option<Self> {
        let length = u64::restore(bytes)?;
        let count = usize::restore(bytes)?;
        let mut segments = Vec::new();
        let mut last = 0_u64;
        for _ in 0..count {
            let thread = ThreadId::restore(bytes)?;
            let from = last.wrapping_add(u64::restore(bytes)?);
            last = from.wrapping_add(u64::restore(bytes)?);
            let time = Time::from_nanoseconds;
            segments.push(PathSegment { thread, from: time(from), to: time(last) });
        }
        Some(CriticalPath { length, segments })
    }
}

#[cfg(test)]
mod tests {
    use longpole_testkit::{MemoryTimelines, Mutations, random_timelines};
    use longpole_trace::Timelines;
    use proptest::prelude::*;

    use super::*;
    use crate::{MetricOptions, analyse};

    fn ids(made: &MemoryTimelines) -> IdCounts {
        IdCounts::of(&made.program, &made.paths, &made.objects)
    }

    proptest! {
        #[test]
        fn an_analysis_comes_back(made in random_timelines(5, 80)) {
            let Ok(analysis) = analyse(&made, &MetricOptions::default());
            let bytes = analysis.kept_bytes();
            let again = Analysis::of_kept_bytes(&bytes, ids(&made)).expect("its own bytes");
            prop_assert_eq!(again.kept_bytes(), bytes);
            // All but the order of hash maps, which is no part of it.
            let told = |analysis: &Analysis| {
                format!("{:?}", Analysis { charging: Default::default(), ..analysis.clone() })
            };
            prop_assert_eq!(told(&again), told(&analysis));
        }
    }

    #[test]
    fn analyses_of_any_bytes_are_refused_or_sound() {
        let made = longpole_testkit::draw("T1 AAAABB--AA\nT2 B..BBB.AAA\nT1@4 -> T2 unlock");
        let Ok(analysis) = analyse(&made, &MetricOptions::default());
        let (bytes, ids) = (analysis.kept_bytes(), ids(&made));
        let folding = longpole_trace::Folding::new(made.paths(), longpole_trace::Fold::Libraries);
        let runs = Mutations::new(vec![bytes], 11).run_for(std::time::Duration::from_secs(2), |bytes| {
            if let Some(analysis) = Analysis::of_kept_bytes(bytes, ids) {
                let _ = analysis.folded(made.paths(), &folding);
                let _ = crate::rows(&analysis, made.program(), made.paths(), crate::By::Procedure, |_| true);
            }
        });
        assert!(runs > 100, "{runs} inputs");
    }
}
