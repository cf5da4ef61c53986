//! Recordings of one run by several recorders, on one machine or several, put together: which clocks they have in common, how
//! the others map onto the first one, and what is missing.
//!
//! ```text
//!   part 0   boot A ─┐ one clock, exactly        the axis
//!   part 1   boot A ─┘
//!   part 2   boot B ─── messages with boot A, both ways ─► a line, or pieces, give or take an error each
//!   part 3   boot C ─── messages with boot B only ──────► by way of B; errors add up
//!   part 4   boot D ─── no messages both ways ──────────► the time of day, give or take what the kernels say of it
//! ```
//! What is received before it was sent even then is mended by the logical clock.

mod joined;
mod placing;

use std::collections::BTreeSet;
use std::path::PathBuf;

use longpole_event::{MachineId, ThreadId, Time};
use longpole_recording::{MachineDescription, Manifest, RecordingFolder};

use crate::clocks::ClockCurve;
use crate::connections::{CarriedEvent, LoggedConnections};
use crate::error::Result;
use crate::inventory::Inventory;
use crate::messages::LoggedMessages;
use joined::joined;
use placing::PartClocks;

/// What the communicator of all ranks is called.
const WORLD: &str = "MPI_COMM_WORLD";

/// A recording of a part of a run.
#[derive(Clone, Debug)]
pub struct RunPart {
    folder: RecordingFolder,
    manifest: Manifest,
    /// Ranks in it.
    ranks: BTreeSet<u32>,
    /// Jobs that its ranks are of.
    jobs: BTreeSet<u64>,
    /// From its begin to its end, on the clock of its log.
    span: (u64, u64),
}

/// All parts of a run, as they are to be joined.
#[derive(Clone, Debug)]
pub struct JoinedParts {
    /// The manifest of the whole: a machine for each part, in their order.
    pub manifest: Manifest,
    /// What is missing or not sure, in sentences; they stand in the manifest too.
    pub notes: Vec<String>,
}

/// Why parts cannot be joined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JoinRefusal {
    /// There is none.
    Nothing,
    /// It is a recording of several machines already.
    IsJoined(PathBuf),
    /// Its program has not ended, or its recorder was stopped before it had.
    IsUnfinished(PathBuf),
    /// Two are of different jobs.
    OtherRun(PathBuf, PathBuf),
    /// A rank is in both.
    Twice(u32, PathBuf, PathBuf),
}

impl std::fmt::Display for JoinRefusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            JoinRefusal::Nothing => write!(f, "there is no recording to join"),
            JoinRefusal::IsJoined(path) => {
                write!(f, "{} is a recording of several machines already", path.display())
            }
            JoinRefusal::IsUnfinished(path) => {
                write!(f, "{} is not finished: its recorder runs still, or was killed", path.display())
            }
            JoinRefusal::OtherRun(one, other) => {
                write!(f, "{} and {} are of different runs of MPI", one.display(), other.display())
            }
            JoinRefusal::Twice(rank, one, other) => {
                write!(f, "rank {rank} is in {} and in {}", one.display(), other.display())
            }
        }
    }
}

/// Reads the parts and finds out how they belong together.
///
/// # Errors
/// [`Error::Recording`](crate::Error::Recording) where one cannot be read.
pub fn join_parts(
    paths: &[PathBuf],
) -> Result<std::result::Result<(Vec<RunPart>, JoinedParts), JoinRefusal>> {
    let (mut parts, mut logged) = (Vec::new(), LoggedMessages::default());
    let mut connections = LoggedConnections::default();
    let mut of_thread: Vec<usize> = Vec::new();
    for path in paths {
        let (folder, manifest) = RecordingFolder::open(path)?;
        if manifest.machines.len() != 1 {
            return Ok(Err(JoinRefusal::IsJoined(path.clone())));
        }
        if manifest.outcome.is_none() {
            return Ok(Err(JoinRefusal::IsUnfinished(path.clone())));
        }
        let mut inventory = Inventory::read(&folder, MachineId(0), true)?;
        let base = of_thread.len() as u32;
        of_thread.resize(of_thread.len() + inventory.threads.len(), parts.len());
        let own = ClockCurve::of(&manifest.machines[0]);
        let (mut last, mut jobs) = (0, BTreeSet::new());
        for (time, thread, kind) in std::mem::take(&mut inventory.messages) {
            last = own.shown(time.nanoseconds()).max(last);
            if let longpole_event::EventKind::CommunicatorName { communicator, name } = kind
                && inventory.tables.text(name) == WORLD
            {
                jobs.insert(communicator);
            }
            logged.take(ThreadId(base + thread.0), Time::from_nanoseconds(last), kind);
        }
        for CarriedEvent { time, thread, kind, .. } in std::mem::take(&mut inventory.carried) {
            let time = Time::from_nanoseconds(own.shown(time.nanoseconds()));
            connections.take(ThreadId(base + thread.0), time, kind);
        }
        let ranks = inventory.threads.iter().filter_map(|thread| thread.rank).collect();
        let run = manifest.outcome.map_or((u64::MAX, 0), |run| (run.begin_nanoseconds, run.end_nanoseconds));
        let first = inventory.first.map_or(run.0, |first| first.nanoseconds().min(run.0));
        let span = (first, inventory.last.nanoseconds().max(run.1));
        parts.push(RunPart { folder, manifest, ranks, jobs, span });
    }
    if let Some(refusal) = refused(&parts) {
        return Ok(Err(refusal));
    }
    let clocks = PartClocks::of(&parts);
    let machine = |thread: ThreadId| clocks.of_part[of_thread[thread.index()]];
    let mut precedences = logged.precedences(machine);
    precedences.extend(connections.precedences(|thread| of_thread[thread.index()], machine));
    let placing = clocks.place(&parts, &precedences);
    let joined = joined(&parts, &clocks, &placing, &logged.sizes());
    Ok(Ok((parts, joined)))
}

impl RunPart {
    /// Its folder.
    #[must_use]
    pub fn folder(&self) -> &RecordingFolder {
        &self.folder
    }

    fn machine(&self) -> &MachineDescription {
        &self.manifest.machines[0]
    }

    /// The clock of its log as its machine's.
    fn own_clock(&self) -> ClockCurve {
        ClockCurve::of(self.machine())
    }
}

fn refused(parts: &[RunPart]) -> Option<JoinRefusal> {
    if parts.is_empty() {
        return Some(JoinRefusal::Nothing);
    }
    let path = |part: &RunPart| part.folder.path().to_owned();
    let with_ranks: Vec<&RunPart> = parts.iter().filter(|part| !part.jobs.is_empty()).collect();
    for (at, part) in with_ranks.iter().enumerate() {
        if let Some(other) = with_ranks[..at].iter().find(|other| other.jobs.is_disjoint(&part.jobs)) {
            return Some(JoinRefusal::OtherRun(path(other), path(part)));
        }
        for other in &with_ranks[..at] {
            if let Some(&rank) = other.ranks.intersection(&part.ranks).next() {
                return Some(JoinRefusal::Twice(rank, path(other), path(part)));
            }
        }
    }
    None
}
