//! The kinds of findings, a file each.

pub(super) mod barriers;
pub(super) mod deliveries;
pub(super) mod devices;
pub(super) mod fork_joins;
mod held_locks;
pub(super) mod late_ranks;
pub(super) mod locks;
pub(super) mod outside;
pub(super) mod parallel_regions;
mod passed_on;
pub(super) mod pinned;
pub(super) mod procedures;
pub(super) mod processes;
pub(super) mod processors;
pub(super) mod requests;
pub(super) mod serial_work;
pub(super) mod services;
pub(super) mod shared_lines;
pub(super) mod short_processes;
pub(super) mod sleep;
pub(super) mod spinning;
pub(super) mod starved_writers;
pub(super) mod stuck;
pub(super) mod synchronisation;
pub(super) mod time_limits;
pub(super) mod turns;
pub(super) mod work;
