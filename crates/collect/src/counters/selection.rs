//! Which counters there are, by the names of `perf list` with `_` for `-`.

use perf_event_open_sys::bindings::{
    PERF_COUNT_HW_BRANCH_INSTRUCTIONS, PERF_COUNT_HW_BRANCH_MISSES, PERF_COUNT_HW_CACHE_DTLB,
    PERF_COUNT_HW_CACHE_LL, PERF_COUNT_HW_CACHE_MISSES, PERF_COUNT_HW_CACHE_REFERENCES,
    PERF_COUNT_HW_CPU_CYCLES, PERF_COUNT_HW_INSTRUCTIONS, PERF_COUNT_HW_STALLED_CYCLES_BACKEND,
    PERF_COUNT_HW_STALLED_CYCLES_FRONTEND, PERF_COUNT_SW_ALIGNMENT_FAULTS, PERF_COUNT_SW_CONTEXT_SWITCHES,
    PERF_COUNT_SW_CPU_MIGRATIONS, PERF_COUNT_SW_EMULATION_FAULTS, PERF_COUNT_SW_PAGE_FAULTS,
    PERF_COUNT_SW_PAGE_FAULTS_MAJ, PERF_COUNT_SW_PAGE_FAULTS_MIN, PERF_COUNT_SW_TASK_CLOCK,
    PERF_TYPE_HARDWARE, PERF_TYPE_HW_CACHE, PERF_TYPE_SOFTWARE,
};

/// A counter that can be asked for.
#[derive(Debug, PartialEq)]
pub(super) struct CounterChoice {
    pub(super) name: &'static str,
    pub(super) unit: &'static str,
    /// What the kernel calls it: type and configuration.
    pub(super) kind: u32,
    pub(super) config: u64,
    /// Our unit in its.
    pub(super) scale: f64,
}

impl CounterChoice {
    pub(super) fn is_hardware(&self) -> bool {
        self.kind != PERF_TYPE_SOFTWARE
    }
}

const fn software(name: &'static str, unit: &'static str, config: u32) -> CounterChoice {
    CounterChoice { name, unit, kind: PERF_TYPE_SOFTWARE, config: config as u64, scale: 1.0 }
}

const fn hardware(name: &'static str, unit: &'static str, config: u32) -> CounterChoice {
    CounterChoice { name, unit, kind: PERF_TYPE_HARDWARE, config: config as u64, scale: 1.0 }
}

/// Reads of a cache; those that missed have result 1.
const fn cache(name: &'static str, unit: &'static str, cache: u32, result: u64) -> CounterChoice {
    CounterChoice { name, unit, kind: PERF_TYPE_HW_CACHE, config: cache as u64 | result << 16, scale: 1.0 }
}

const CHOICES: &[CounterChoice] = &[
    software("page_faults", "faults", PERF_COUNT_SW_PAGE_FAULTS),
    software("minor_faults", "faults", PERF_COUNT_SW_PAGE_FAULTS_MIN),
    software("major_faults", "faults", PERF_COUNT_SW_PAGE_FAULTS_MAJ),
    software("context_switches", "switches", PERF_COUNT_SW_CONTEXT_SWITCHES),
    software("cpu_migrations", "migrations", PERF_COUNT_SW_CPU_MIGRATIONS),
    CounterChoice { scale: 1e-9, ..software("task_clock", "s", PERF_COUNT_SW_TASK_CLOCK) },
    software("alignment_faults", "faults", PERF_COUNT_SW_ALIGNMENT_FAULTS),
    software("emulation_faults", "faults", PERF_COUNT_SW_EMULATION_FAULTS),
    hardware("cycles", "cycles", PERF_COUNT_HW_CPU_CYCLES),
    hardware("instructions", "instructions", PERF_COUNT_HW_INSTRUCTIONS),
    hardware("cache_references", "references", PERF_COUNT_HW_CACHE_REFERENCES),
    hardware("cache_misses", "misses", PERF_COUNT_HW_CACHE_MISSES),
    hardware("branches", "branches", PERF_COUNT_HW_BRANCH_INSTRUCTIONS),
    hardware("branch_misses", "misses", PERF_COUNT_HW_BRANCH_MISSES),
    hardware("stalled_cycles_frontend", "cycles", PERF_COUNT_HW_STALLED_CYCLES_FRONTEND),
    hardware("stalled_cycles_backend", "cycles", PERF_COUNT_HW_STALLED_CYCLES_BACKEND),
    cache("llc_loads", "loads", PERF_COUNT_HW_CACHE_LL, 0),
    cache("llc_load_misses", "misses", PERF_COUNT_HW_CACHE_LL, 1),
    cache("dtlb_loads", "loads", PERF_COUNT_HW_CACHE_DTLB, 0),
    cache("dtlb_load_misses", "misses", PERF_COUNT_HW_CACHE_DTLB, 1),
];

/// The names of all, in a row.
pub(super) fn names() -> String {
    CHOICES.iter().map(|choice| choice.name).collect::<Vec<_>>().join(", ")
}

/// The counters of these names, of none all; and the names that are none.
pub(super) fn selected(names: &[String]) -> (Vec<&'static CounterChoice>, Vec<String>) {
    if names.is_empty() {
        return (CHOICES.iter().collect(), Vec::new());
    }
    let (mut choices, mut unknown) = (Vec::new(), Vec::new());
    for name in names {
        let plain = name.trim().replace('-', "_").to_ascii_lowercase();
        match CHOICES.iter().find(|choice| choice.name == plain) {
            Some(choice) if choices.contains(&choice) => {}
            Some(choice) => choices.push(choice),
            None => unknown.push(name.clone()),
        }
    }
    (choices, unknown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_as_perf_writes_them_and_once() {
        let names = ["LLC-load-misses", "cycles", "llc_load_misses", "speed"].map(str::to_owned);
        let (choices, unknown) = selected(&names);
        let found: Vec<_> = choices.iter().map(|choice| (choice.name, choice.config)).collect();
        assert_eq!(found, [("llc_load_misses", 0x1_0002), ("cycles", 0)]);
        assert_eq!(unknown, ["speed"]);
    }

    #[test]
    fn without_names_all_are_meant() {
        assert_eq!(selected(&[]).0.len(), CHOICES.len());
    }
}
