//! Recordings of one run by several recorders, on one machine or several, put together: which clocks they have in common, how
//! the others map onto the first one, and what is missing.
//!
//! ```text
//!   part 0   boot A ─┐ one clock, exactly        the axis
//!   part 1   boot A ─┘
//!   part 2   boot B ─── messages with boot A, both ways ─► a line, give or take its error
//!   part 3   boot C ─── messages with boot B only ──────► by way of B; errors add up
//!   part 4   boot D ─── no messages both ways ──────────► the time of day, whose error nothing bounds
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use longpole_event::{MachineId, ThreadId, Time};
use longpole_recording::{ClockModel, MachineDescription, Manifest, RecordingFolder, RunOutcome};

use crate::clock_fit::{ClockFit, OffsetBound, OffsetBounds, line_through, placed};
use crate::connections::LoggedConnections;
use crate::error::Result;
use crate::inventory::Inventory;
use crate::messages::LoggedMessages;

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
    /// From its first event to its last, on its own clock.
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

/// The clocks of all parts, of which some are the same one.
struct PartClocks {
    /// The clock of each part.
    of_part: Vec<usize>,
    /// From the first event to the last, by clock.
    spans: Vec<(u64, u64)>,
}

/// A clock that has its place on the axis.
#[derive(Clone, Copy, Debug)]
struct PlacedClock {
    model: ClockModel,
    error: Option<u64>,
    loosened: u64,
    by: PlacedBy,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PlacedBy {
    Itself,
    Messages(usize),
    TimeOfDay,
    Nothing,
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
        let own = manifest.machines[0].clock;
        let (mut last, mut jobs) = (0, BTreeSet::new());
        for (time, thread, kind) in std::mem::take(&mut inventory.messages) {
            last = shown(own, time.nanoseconds()).max(last);
            if let longpole_event::EventKind::CommunicatorName { communicator, name } = kind
                && inventory.tables.text(name) == WORLD
            {
                jobs.insert(communicator);
            }
            logged.take(ThreadId(base + thread.0), Time::from_nanoseconds(last), kind);
        }
        for (time, thread, kind) in std::mem::take(&mut inventory.carried) {
            let time = Time::from_nanoseconds(shown(own, time.nanoseconds()));
            connections.take(ThreadId(base + thread.0), time, kind);
        }
        let ranks = inventory.threads.iter().filter_map(|thread| thread.rank).collect();
        let first = inventory.first.map_or(0, Time::nanoseconds);
        let span = (shown(own, first), shown(own, inventory.last.nanoseconds()));
        parts.push(RunPart { folder, manifest, ranks, jobs, span });
    }
    if let Some(refusal) = refused(&parts) {
        return Ok(Err(refusal));
    }
    let clocks = PartClocks::of(&parts);
    let machine = |thread: ThreadId| clocks.of_part[of_thread[thread.index()]];
    let mut precedences = logged.precedences(machine);
    precedences.extend(connections.precedences(|thread| of_thread[thread.index()], machine));
    let mut bounds: BTreeMap<(usize, usize), OffsetBounds> = BTreeMap::new();
    for precedence in precedences {
        let ((from, sent), (to, received)) = (precedence.before, precedence.after);
        let (sent, received) = (sent.nanoseconds(), received.nanoseconds());
        let at_least = sent.cast_signed() - received.cast_signed();
        bounds.entry((to, from)).or_default().lower.push(OffsetBound { time: received, offset: at_least });
        bounds.entry((from, to)).or_default().upper.push(OffsetBound { time: sent, offset: -at_least });
    }
    let placed = clocks.placed(&parts, &bounds);
    let joined = joined(&parts, &clocks, &placed, &bounds, &logged.sizes());
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
}

fn shown(model: ClockModel, time: u64) -> u64 {
    u64::try_from(placed(model, time)).unwrap_or(0)
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

impl PartClocks {
    fn of(parts: &[RunPart]) -> PartClocks {
        let (mut boots, mut clocks): (Vec<&str>, _) =
            (Vec::new(), PartClocks { of_part: Vec::new(), spans: Vec::new() });
        for part in parts {
            let boot = part.machine().boot_id.as_str();
            let known = boots.iter().position(|known| !boot.is_empty() && *known == boot);
            let clock = known.unwrap_or_else(|| {
                boots.push(boot);
                clocks.spans.push(part.span);
                boots.len() - 1
            });
            let span = &mut clocks.spans[clock];
            *span = (span.0.min(part.span.0), span.1.max(part.span.1));
            clocks.of_part.push(clock);
        }
        clocks
    }

    /// The place of each clock: from those that have one, the one with the smallest error next.
    fn placed(&self, parts: &[RunPart], bounds: &BTreeMap<(usize, usize), OffsetBounds>) -> Vec<PlacedClock> {
        let own = ClockModel::default();
        let first = PlacedClock { model: own, error: Some(0), loosened: 0, by: PlacedBy::Itself };
        let mut all: Vec<Option<PlacedClock>> = vec![None; self.spans.len()];
        all[0] = Some(first);
        loop {
            let mut best: Option<(usize, PlacedClock)> = None;
            for (&(clock, other), bounds) in bounds {
                let (None, Some(other_place)) = (all[clock], all[other]) else { continue };
                let (begin, end) = self.spans[clock];
                let Some(fit) = bounds.fit(begin, end) else { continue };
                let found = by_way_of(fit, other, other_place, (begin, end));
                let rank = |place: &PlacedClock| (place.error.is_none(), place.error, place.loosened);
                if best.as_ref().is_none_or(|(_, before)| rank(&found) < rank(before)) {
                    best = Some((clock, found));
                }
            }
            let Some((clock, found)) = best else { break };
            all[clock] = Some(found);
        }
        let place = |(clock, known): (usize, Option<PlacedClock>)| {
            known.unwrap_or_else(|| self.by_time_of_day(clock, parts))
        };
        all.into_iter().enumerate().map(place).collect()
    }

    /// A clock that no messages tie to the others in both directions.
    fn by_time_of_day(&self, clock: usize, parts: &[RunPart]) -> PlacedClock {
        let of = |clock: usize| {
            let part = parts.iter().zip(&self.of_part).find(|(_, of)| **of == clock);
            part.and_then(|(part, _)| {
                let moment = part.machine().wall_clock?;
                Some((shown(part.machine().clock, moment.event_nanoseconds), moment.unix_nanoseconds))
            })
        };
        let nowhere =
            PlacedClock { model: ClockModel::default(), error: None, loosened: 0, by: PlacedBy::Nothing };
        let (Some(first), Some(own)) = (of(0), of(clock)) else { return nowhere };
        let ahead = |(event, unix): (u64, u64)| unix.cast_signed() - event.cast_signed();
        let offset_nanoseconds = ahead(own) - ahead(first);
        let model = ClockModel { offset_nanoseconds, ..ClockModel::default() };
        PlacedClock { model, by: PlacedBy::TimeOfDay, ..nowhere }
    }
}

/// The clock's place where it is known relative to another one that has a place.
fn by_way_of(fit: ClockFit, other: usize, place: PlacedClock, (begin, end): (u64, u64)) -> PlacedClock {
    let on_axis = |time: u64| placed(place.model, u64::try_from(placed(fit.model, time)).unwrap_or(0));
    PlacedClock {
        model: line_through((begin, on_axis(begin)), (end, on_axis(end))),
        error: place.error.zip(fit.error).map(|(one, other)| one + other),
        loosened: place.loosened.max(fit.loosened),
        by: PlacedBy::Messages(other),
    }
}

/// The manifest of all parts, and what is to be said of them.
fn joined(
    parts: &[RunPart],
    clocks: &PartClocks,
    places: &[PlacedClock],
    bounds: &BTreeMap<(usize, usize), OffsetBounds>,
    sizes: &BTreeMap<u64, u32>,
) -> JoinedParts {
    let mut manifest = Manifest { machines: Vec::new(), ..parts[0].manifest.clone() };
    let mut run: Option<RunOutcome> = None;
    let mut first_of_clock: BTreeMap<usize, u32> = BTreeMap::new();
    for (index, (part, &clock)) in parts.iter().zip(&clocks.of_part).enumerate() {
        let mut machine = part.machine().clone();
        let (begin, end) =
            part.manifest.outcome.map_or((0, 0), |run| (run.begin_nanoseconds, run.end_nanoseconds));
        let on_axis = |time: u64| placed(places[clock].model, shown(part.machine().clock, time));
        let is_own = places[clock].by == PlacedBy::Itself && machine.clock == ClockModel::default();
        if !is_own {
            machine.clock = line_through((begin, on_axis(begin)), (end, on_axis(end)));
        }
        machine.clock_error_nanoseconds = places[clock].error;
        machine.part_of = first_of_clock.get(&clock).copied();
        first_of_clock.entry(clock).or_insert(index as u32);
        if let Some(outcome) = part.manifest.outcome {
            let time = |time: u64| u64::try_from(on_axis(time)).unwrap_or(0);
            let own = RunOutcome { begin_nanoseconds: time(begin), end_nanoseconds: time(end), ..outcome };
            run = Some(run.map_or(own, |run| RunOutcome {
                begin_nanoseconds: run.begin_nanoseconds.min(own.begin_nanoseconds),
                end_nanoseconds: run.end_nanoseconds.max(own.end_nanoseconds),
                exit_code: run.exit_code.filter(|&code| code != 0).or(own.exit_code),
                signal: run.signal.or(own.signal),
                truncated: run.truncated || own.truncated,
            }));
        }
        manifest.machines.push(machine);
    }
    manifest.outcome = run;
    let mut notes = vec![of_parts(parts, clocks)];
    notes.extend((1..places.len()).map(|clock| of_clock(parts, clocks, places, bounds, clock)));
    notes.extend(missing(parts, sizes));
    manifest.machines[0].collector.notes.extend(notes.iter().cloned());
    JoinedParts { manifest, notes }
}

fn of_parts(parts: &[RunPart], clocks: &PartClocks) -> String {
    let machines = clocks.spans.len();
    let plural = if machines == 1 { "" } else { "s" };
    format!(
        "joined of {} recordings on {machines} machine{plural}; what a thread of one did to a thread of another is known by messages of MPI and TCP only",
        parts.len()
    )
}

fn name(parts: &[RunPart], clocks: &PartClocks, clock: usize) -> String {
    let part = parts.iter().zip(&clocks.of_part).find(|(_, of)| **of == clock);
    part.map_or_else(String::new, |(part, _)| part.machine().name.clone())
}

/// How sure a clock's place is.
fn of_clock(
    parts: &[RunPart],
    clocks: &PartClocks,
    places: &[PlacedClock],
    bounds: &BTreeMap<(usize, usize), OffsetBounds>,
    clock: usize,
) -> String {
    let PlacedClock { model, error, loosened, by } = places[clock];
    let of = name(parts, clocks, clock);
    let micro = |nanoseconds: u64| nanoseconds.div_ceil(1000);
    match by {
        PlacedBy::Messages(other) => {
            let count = bounds.get(&(clock, other)).map_or((0, 0), |of| (of.lower.len(), of.upper.len()));
            let ahead = -(model.offset_nanoseconds as f64) / 1e9;
            let sure = match error {
                Some(error) => format!("give or take {} µs", micro(error)),
                None => {
                    format!("off by {} µs or more somewhere, as clocks did not run evenly", micro(loosened))
                }
            };
            format!(
                "the clock of {of} is {ahead:.6} s ahead and {:+.2} ppm fast, {sure}: by {} bounds from messages to it and {} from it",
                -1e6 * model.drift,
                count.0,
                count.1
            )
        }
        PlacedBy::TimeOfDay => format!(
            "the clock of {of} is placed by the time of day, whose error is not known: no messages went both ways between it and another machine"
        ),
        PlacedBy::Nothing | PlacedBy::Itself => format!(
            "nothing tells how the clock of {of} differs from the first one: what happened at one time is not known"
        ),
    }
}

/// Ranks that are in no part.
fn missing(parts: &[RunPart], sizes: &BTreeMap<u64, u32>) -> Option<String> {
    let seen: BTreeSet<u32> = parts.iter().flat_map(|part| &part.ranks).copied().collect();
    let jobs: BTreeSet<u64> = parts.iter().flat_map(|part| &part.jobs).copied().collect();
    let size = jobs.iter().filter_map(|job| sizes.get(job)).max()?;
    let missing: Vec<String> =
        (0..*size).filter(|rank| !seen.contains(rank)).map(|rank| rank.to_string()).collect();
    let plural = if missing.len() == 1 { "" } else { "s" };
    (!missing.is_empty()).then(|| {
        format!(
            "rank{plural} {} of {size} {} not recorded: messages with them have one end",
            missing.join(", "),
            if missing.len() == 1 { "was" } else { "were" }
        )
    })
}
