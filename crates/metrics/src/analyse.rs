//! From timelines to an [`Analysis`]: one pass for all that streams, one along the critical paths that it found.

use std::collections::BTreeMap;

use longpole_graph::sweep;
use longpole_trace::Timelines;

use crate::analysis::{Analysis, Charge, EffectiveSamples, Measures, Options, Weight};
use crate::charges::Entry;
use crate::critical_path::Search;
use crate::idle_blame::IdleBlame;
use crate::npt::Npt;
use crate::parallelism::Parallelism;
use crate::path_charges::PathCharges;
use crate::profile::{Profile, Times};

/// Computes everything that reports are made from. Memory is proportional to the live threads and the distinct
/// call paths, and to the hand-offs on the critical paths.
///
/// # Errors
/// What the timelines say when they cannot be read.
pub fn analyse<T: Timelines>(timelines: &T, options: &Options) -> Result<Analysis, T::Error> {
    let program = timelines.program();
    let mut first = (
        Profile::new(program),
        Npt::new(program, options.io_idle),
        Parallelism::default(),
        Search::new(program, Weight::Cpu),
        Search::new(program, Weight::Elapsed),
        IdleBlame::new(program),
    );
    sweep(timelines, options.io_idle, &mut first)?;
    let (profile, npt, parallelism, critical_cpu, critical_elapsed, idle_blame) = first;
    let critical_cpu = critical_cpu.into_path();
    let critical_elapsed = critical_elapsed.into_path();

    let mut second = (
        PathCharges::new(program, Weight::Cpu, &critical_cpu.segments),
        PathCharges::new(program, Weight::Elapsed, &critical_elapsed.segments),
    );
    sweep(timelines, options.io_idle, &mut second)?;
    let (on_cpu_path, on_elapsed_path) = second;

    let effective_samples = EffectiveSamples {
        cpu: profile.ledger.effective_samples(),
        npt: npt.ledger.effective_samples(),
        critical: on_cpu_path.ledger.effective_samples(),
    };
    let mut table = Table::default();
    table.merge_times(profile.ledger.into_entries());
    table.merge(npt.ledger.into_entries(), |measures, terms| measures.npt_terms = terms.normalised());
    for (key, blame) in idle_blame.into_charges() {
        table.0.entry(key).or_default().idle_blame = blame;
    }
    table.merge(on_cpu_path.ledger.into_entries(), |measures, time| measures.critical_cpu = time);
    table.merge(on_elapsed_path.ledger.into_entries(), |measures, time| measures.critical_elapsed = time);

    Ok(Analysis {
        elapsed: parallelism.busy.iter().sum(),
        busy: parallelism.busy,
        nominal: parallelism.nominal,
        charges: table.into_charges(),
        threads: profile.threads,
        critical_cpu,
        critical_elapsed,
        effective_samples,
    })
}

/// Charges by thread and path.
#[derive(Default)]
struct Table(BTreeMap<(longpole_event::ThreadId, longpole_trace::PathId), Measures>);

impl Table {
    fn merge<V>(&mut self, entries: Vec<Entry<V>>, set: impl Fn(&mut Measures, V)) {
        for Entry { thread, path, value, .. } in entries {
            set(self.0.entry((thread, path)).or_default(), value);
        }
    }

    fn merge_times(&mut self, entries: Vec<Entry<Times>>) {
        for Entry { thread, path, observations, value } in entries {
            let measures = self.0.entry((thread, path)).or_default();
            let Times { running, spinning, overhead, ready, blocked, blocks } = value;
            *measures = Measures {
                running,
                spinning,
                overhead,
                ready,
                blocked,
                blocks,
                observations,
                ..Measures::default()
            };
        }
    }

    fn into_charges(self) -> Vec<Charge> {
        self.0
            .into_iter()
            .filter(|(_, measures)| *measures != Measures::default())
            .map(|((thread, path), measures)| Charge { thread, path, measures })
            .collect()
    }
}
