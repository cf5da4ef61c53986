//! The manifest of all parts, and what is to be said of them.

use std::collections::{BTreeMap, BTreeSet};

use longpole_recording::{MachineDescription, Manifest, RunOutcome};

use super::placing::{ClockPlacing, PartClocks, PlacedBy};
use super::{JoinedParts, RunPart};
use crate::clocks::ClockCurve;

/// The manifest of all parts, and what is to be said of them.
pub(super) fn joined(
    parts: &[RunPart],
    clocks: &PartClocks,
    placing: &ClockPlacing,
    sizes: &BTreeMap<u64, u32>,
) -> JoinedParts {
    let mut manifest = Manifest { machines: Vec::new(), ..parts[0].manifest.clone() };
    let mut run: Option<RunOutcome> = None;
    let mut first_of_clock: BTreeMap<usize, u32> = BTreeMap::new();
    for (index, (part, &clock)) in parts.iter().zip(&clocks.of_part).enumerate() {
        let curve = part.own_clock().then(&placing.clocks[clock].curve, part.span);
        let mut machine = part.machine().clone();
        show_by(&mut machine, &curve, part.span);
        machine.part_of = first_of_clock.get(&clock).copied();
        first_of_clock.entry(clock).or_insert(index as u32);
        if let Some(outcome) = part.manifest.outcome {
            let own = RunOutcome {
                begin_nanoseconds: curve.shown(outcome.begin_nanoseconds),
                end_nanoseconds: curve.shown(outcome.end_nanoseconds),
                ..outcome
            };
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
    notes.extend((1..clocks.len()).map(|clock| of_clock(parts, clocks, placing, clock)));
    notes.extend(of_reversed(parts, clocks, placing));
    notes.extend(missing(parts, sizes));
    manifest.machines[0].collector.notes.extend(notes.iter().cloned());
    JoinedParts { manifest, notes }
}

/// Writes the clock down: as a line where that is enough.
fn show_by(machine: &mut MachineDescription, curve: &ClockCurve, span: (u64, u64)) {
    machine.clock_error_nanoseconds = curve.error();
    match curve.pieces() {
        [piece] => (machine.clock, machine.clock_pieces) = (piece.line, Vec::new()),
        pieces => {
            machine.clock = curve.through_ends(span);
            machine.clock_pieces = pieces.to_vec();
        }
    }
}

fn of_parts(parts: &[RunPart], clocks: &PartClocks) -> String {
    let machines = clocks.len();
    let plural = if machines == 1 { "" } else { "s" };
    format!(
        "joined of {} recordings on {machines} machine{plural}; what a thread of one did to a thread of another is known by messages of MPI and TCP only",
        parts.len()
    )
}

fn name(parts: &[RunPart], clocks: &PartClocks, clock: usize) -> String {
    clocks.first_part(parts, clock).map_or_else(String::new, |part| part.machine().name.clone())
}

fn microseconds(nanoseconds: u64) -> u64 {
    nanoseconds.div_ceil(1000)
}

/// How sure a clock's place is.
fn of_clock(parts: &[RunPart], clocks: &PartClocks, placing: &ClockPlacing, clock: usize) -> String {
    let place = &placing.clocks[clock];
    let of = name(parts, clocks, clock);
    match place.by {
        PlacedBy::Messages(_) => {
            let sure = match place.curve.error() {
                Some(error) => format!("give or take {} µs", microseconds(error)),
                None => format!(
                    "off by {} µs or more somewhere, as clocks did not run evenly",
                    microseconds(place.loosened)
                ),
            };
            format!(
                "the clock of {of} is {}, {sure}: by {} bounds from messages to it and {} from it",
                ahead(&place.curve, &placing.clocks[0].curve),
                place.bounds.0,
                place.bounds.1
            )
        }
        PlacedBy::TimeOfDay => {
            let sure = match place.curve.error() {
                Some(error) => {
                    format!("give or take {} µs by what their kernels say of it", microseconds(error))
                }
                None => "its error is not known".to_owned(),
            };
            format!(
                "the clock of {of} is placed by the time of day, {sure}: no messages went both ways between it and another machine"
            )
        }
        PlacedBy::Nothing | PlacedBy::Itself => format!(
            "nothing tells how the clock of {of} differs from the first one: what happened at one time is not known"
        ),
    }
}

/// By how much a clock is ahead of the first one at its begin, and by how much faster.
fn ahead(curve: &ClockCurve, first: &ClockCurve) -> String {
    let pieces = curve.pieces();
    let offset = |of: &ClockCurve| of.pieces().first().map_or(0, |piece| piece.line.offset_nanoseconds);
    let seconds = (offset(first) - offset(curve)) as f64 / 1e9;
    let faster = || pieces.iter().map(|piece| -1e6 * piece.line.drift);
    let (least, most) = (faster().fold(f64::INFINITY, f64::min), faster().fold(f64::NEG_INFINITY, f64::max));
    match pieces.len() {
        1 => format!("{seconds:.6} s ahead and {most:+.2} ppm fast"),
        count => {
            format!("{seconds:.6} s ahead and from {least:+.2} to {most:+.2} ppm fast in {count} pieces")
        }
    }
}

/// What the logical clock did.
fn of_reversed(parts: &[RunPart], clocks: &PartClocks, placing: &ClockPlacing) -> Option<String> {
    let mended = &placing.mended;
    let moved = mended.most_moved.iter().enumerate().filter(|(_, moved)| **moved > 0);
    let moved: Vec<String> = moved
        .map(|(clock, &by)| format!("{} by up to {} µs", name(parts, clocks, clock), microseconds(by)))
        .collect();
    let rest = match mended.contradicting {
        0 => String::new(),
        count => format!("; {count} of them contradict each other by any clock and are reversed still"),
    };
    (mended.reversed > 0).then(|| {
        format!(
            "by these clocks {} of what was sent to another machine {} received before, by {} µs at worst: the logical clock moved what happened on {}{rest}",
            mended.reversed,
            if mended.reversed == 1 { "was" } else { "were" },
            microseconds(mended.most_reversed),
            moved.join(", ")
        )
    })
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
