//! What regions mean beyond their place in call paths.

use longpole_otf2::{Paradigm, RegionRole, TraceDefinitions};
use rustc_hash::FxHashMap;

use super::code::is_mpi;

/// What a region is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RegionUse {
    /// A part of the path.
    Plain,
    /// A call that passes messages.
    Message(MessageCall),
    /// Threads of a team wait there for each other.
    Barrier,
    /// A thread can wait there for a lock.
    Lock,
    /// A thread waits there for the end of another.
    ThreadWait,
}

/// What is known of a call of MPI by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MessageCall {
    /// Its events say what it does.
    Told,
    /// All ranks come to it.
    Finalise,
    /// It may wait for others, and no event says for whom.
    Opaque,
}

/// Beginnings of names of calls that may wait for others, though a trace says nothing of that.
const OPAQUE: &[&str] = &[
    "MPI_Probe",
    "MPI_Mprobe",
    "MPI_Win_",
    "MPI_File_open",
    "MPI_File_close",
    "MPI_File_set_",
    "MPI_File_sync",
    "MPI_File_preallocate",
    "MPI_File_read_all",
    "MPI_File_read_at_all",
    "MPI_File_read_ordered",
    "MPI_File_write_all",
    "MPI_File_write_at_all",
    "MPI_File_write_ordered",
    "MPI_Comm_spawn",
    "MPI_Comm_accept",
    "MPI_Comm_connect",
    "MPI_Comm_disconnect",
    "MPI_Comm_join",
    "MPI_Comm_create_group",
    "MPI_Intercomm_",
    "MPI_Neighbor_",
    "MPI_Buffer_detach",
];

/// Calls of these beginnings that do not wait.
const LOCAL: &[&str] = &[
    "MPI_Win_get_",
    "MPI_Win_set_",
    "MPI_Win_attach",
    "MPI_Win_detach",
    "MPI_Win_shared_query",
    "MPI_Win_test",
];

/// What each region is.
#[derive(Clone, Debug, Default)]
pub(super) struct RegionUses {
    by_number: FxHashMap<u32, RegionUse>,
}

impl RegionUses {
    pub(super) fn of(definitions: &TraceDefinitions) -> RegionUses {
        let of_region = |region| {
            if is_mpi(definitions, region) {
                return RegionUse::Message(message_call(definitions.text(region.name)));
            }
            match region.role {
                RegionRole::Barrier if region.paradigm == Paradigm::OpenMp => RegionUse::Barrier,
                RegionRole::ThreadWait => RegionUse::ThreadWait,
                RegionRole::Critical => RegionUse::Lock,
                _ if acquires(definitions.text(region.name)) => RegionUse::Lock,
                _ => RegionUse::Plain,
            }
        };
        let by_number = definitions.regions.iter().map(|(&number, region)| (number, of_region(region)));
        RegionUses { by_number: by_number.filter(|(_, found)| *found != RegionUse::Plain).collect() }
    }

    #[inline]
    pub(super) fn of_region(&self, region: u32) -> RegionUse {
        self.by_number.get(&region).copied().unwrap_or(RegionUse::Plain)
    }
}

fn message_call(name: &str) -> MessageCall {
    let begins = |names: &[&str]| names.iter().any(|begin| name.starts_with(begin));
    match name {
        "MPI_Finalize" => MessageCall::Finalise,
        _ if begins(OPAQUE) && !begins(LOCAL) => MessageCall::Opaque,
        _ => MessageCall::Told,
    }
}

/// Whether a procedure takes a lock.
fn acquires(name: &str) -> bool {
    const NAMES: &[&str] = &[
        "omp_set_lock",
        "omp_set_nest_lock",
        "pthread_mutex_lock",
        "pthread_rwlock_rdlock",
        "pthread_rwlock_wrlock",
        "pthread_spin_lock",
    ];
    NAMES.contains(&name)
}
