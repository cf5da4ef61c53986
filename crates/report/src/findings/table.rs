//! The table of findings: an entry a kind. What a kind finds, advises and says stands in its own file below `kinds/`.

use super::finding::FindingKind;
use super::kinds::{
    barriers, deliveries, devices, fork_joins, late_processes, late_ranks, locks, open_pipes, outside,
    parallel_regions, pinned, polling_ranks, procedures, processes, processors, requests, services,
    shared_lines, short_processes, sleep, spinning, starved_writers, stuck, synchronisation, time_limits,
    turns, work,
};

/// Every kind of finding. Of findings that are worth the same the one of the earlier kind goes first.
pub(crate) const KINDS: &[&FindingKind] = &[
    &stuck::KIND,
    &spinning::KIND,
    &polling_ranks::KIND,
    &late_ranks::KIND,
    &parallel_regions::KIND,
    &shared_lines::KIND,
    &procedures::KIND,
    &processes::KIND,
    &late_processes::KIND,
    &short_processes::KIND,
    &starved_writers::KIND,
    &locks::KIND,
    &synchronisation::KIND,
    &turns::KIND,
    &barriers::KIND,
    &fork_joins::KIND,
    &devices::KIND,
    &requests::KIND,
    &services::KIND,
    &open_pipes::KIND,
    &deliveries::KIND,
    &sleep::KIND,
    &time_limits::KIND,
    &pinned::KIND,
    &processors::KIND,
    &outside::KIND,
    &work::KIND,
];
